"""What a run costs, before it starts: measured where nothing is known, from the store where it has times."""

import json

import pytest
from typer.testing import CliRunner

from assay.cli.main import app

STUDY = """
samples = 6
block = 2
gallery = 0
environments = ["color_count(side=8)"]
methods = ["gradient", "integrated_gradients(steps=8)"]
metrics = ["f1", "deletion"]
"""


@pytest.fixture
def command(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)

    def invoke(*arguments):
        done = CliRunner().invoke(app, [*map(str, arguments)])
        assert done.exit_code == 0, done.output
        return done

    return invoke


def test_a_first_dry_run_measures_and_a_second_one_after_a_run_with_another_seed_knows(command, tmp_path):
    root = tmp_path / "st"
    run = ("run", tmp_path / "study.toml", "--store", root)
    first = command(*run, "--dry-run", "--workers", "3")
    assert "Measuring the time of 4 kinds of work" in first.stderr
    assert "study: 6 blocks of attributions, 0 complete with all their scores.\n" in first.stdout
    assert "To compute: 6 trial, 12 evidence, 4 score.\nAbout " in first.stdout
    assert " of one core, " in first.stdout
    assert " with 3 workers.\nMost of it: " in first.stdout
    assert not root.exists()
    command(*run, "--workers", "0", "--seeds", "5")
    second = command(*run, "--dry-run", "--json")
    estimate = json.loads(second.stdout)
    assert (second.stderr, estimate["measured"], estimate["complete"]) == ("", 0, True)
    assert {row["label"] for row in estimate["largest"]} == {
        "gradient",
        "integrated_gradients(steps=8)",
        "f1",
        "deletion",
    }
    assert estimate["seconds"] == pytest.approx(sum(row["seconds"] for row in estimate["largest"]))
