"""What is printed for machines is what the page about it says."""

import json
import re
from pathlib import Path

from typer.testing import CliRunner

from assay.cli.main import app

STUDY = """
samples = 2
block = 2
gallery = 0
environments = ["color_count(side=8)"]
methods = ["gradient", "random_map"]
metrics = ["f1", "spearman"]
faithfulness = [{ metric = "f1", gamma = 0.1 }]
"""
PAGE = set(re.findall(r"`(\w+)`", (Path(__file__).parents[2] / "docs" / "json.md").read_text()))


def told(*arguments):
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_every_field_is_on_the_page(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    run = ("run", tmp_path / "study.toml", "--store", tmp_path / "st", "--workers", "0")
    planned, found = told(*run, "--dry-run"), told(*run)
    (board,) = found["boards"]
    line = board["methods"][0]
    (verdict, *_), (cell, *_) = found["faithfulness"]["f1"], line["metrics"].values()
    exported = told("export", tmp_path / "st", "-o", tmp_path / "out.csv")
    reported = told("report", tmp_path / "st", "-o", tmp_path / "page")
    for part in (planned, found, board, line, verdict, cell, exported, reported):
        assert set(part) <= PAGE
