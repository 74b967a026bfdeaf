"""Kept results are guarded against the code: which of them it may no longer give, and how they are verified again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pages
import pytest
import renew
from keeping import shortened
from verified import changes, computed, differences, stamp, touched, values_digest, witness

import assay
from assay.studies.shipped import find

DEMO = "demo"


def test_what_readme_quotes_is_verified(record_property: Callable[[str, object], None]) -> None:
    others = [name for name, _ in renew.unverified("experiments")]
    record_property("told", f"unverified results of docs/experiments.md: {', '.join(others) or 'none'}")
    found = [f"{name} (changed: {', '.join(changed)})" for name, changed in renew.unverified("README")]
    assert not found, f"README quotes {'; '.join(found)}: run 'make renew PAGE=README'"


def test_the_demo_gives_the_digits_that_are_kept(tmp_path: Path) -> None:
    study = find(DEMO)
    quick = replace(study, environments=study.environments[:1])
    now = witness(quick, tmp_path, workers=0)
    assert sum(map(len, now[study.environments[0].label].values())) > 50
    assert list(differences(pages.kept(DEMO)["witness"], now)) == []


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, to be edited."""
    folder = tmp_path_factory.mktemp("copied")
    shutil.copytree(assay.__path__[0], folder / "assay", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def listed(folder: Path) -> list[str]:
    """Names of unverified results, as the command tells them with the package of this folder."""
    command = [sys.executable, str(pages.ROOT / "docs" / "renew.py"), "--list"]
    told = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True)
    assert not told.stderr
    names = [line.partition(": ")[2].partition(" ")[0] for line in told.stdout.splitlines()]
    assert told.returncode == (1 if {*names} & {*renew.PAGES["README"]} else 0)
    return names


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_docstring_in_kit_leaves_every_page_verified_and_a_line_of_a_method_does_not(copied: Path) -> None:
    before = listed(copied)
    edit(copied / "assay/kit/curves.py", '"""', '"""Reworded: ')
    edit(copied / "assay/kit/curves.py", "\n\n", "\n\n# a reason\n")
    assert listed(copied) == before
    edit(copied / "assay/methods/lrp.py", "return query.x *", "return 1.0 * query.x *")
    now = listed(copied)
    assert DEMO in now
    assert "attributionlab/baseline" not in now  # it has no such method


def test_a_result_is_stamped_if_every_digit_agrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pages, "KEPT", tmp_path)
    study = find(DEMO)
    before = {"place": {"IG": {"F1": 0.25, "deletion": "undefined"}}}
    pages.keep(DEMO, {**stamp(study), "components": {}, "processor": "another one", "witness": before})
    for now, agrees in (({"F1": 0.2502, "deletion": 0.5}, False), ({"F1": 0.25001, "deletion": "undefined"}, True)):
        monkeypatch.setattr(renew, "witness", lambda *_, now=now: {"place": {"IG": now}})
        assert renew.verify(DEMO) is agrees
        assert (changes(pages.kept(DEMO), study) == []) is agrees
    told = capsys.readouterr().out
    assert "place, IG, F1: 0.25 is now 0.2502" in told
    assert "place, IG, deletion: undefined is now 0.5" in told
    assert "kept on another one, which may be why" in told
    assert pages.kept(DEMO)["witness"] == before


def test_only_what_a_change_can_reach_is_computed_again() -> None:
    study = find(DEMO)
    part = touched(study, ["methods/lrp"])
    assert [entry.label for entry in part.methods] == ["LRP"]
    assert part.metrics == study.metrics
    inner = touched(study, ["methods/gradient"])  # inside smoothed(of=gradient())
    assert [entry.label for entry in inner.methods] == ["SmoothGrad"]
    assert [entry.label for entry in touched(study, ["metrics/f1"]).metrics] == ["F1", "F1 positive", "F1 negative"]
    assert touched(study, ["methods/lrp", "metrics/f1"]) == touched(study, ["environments/color_count"]) == study


def test_another_grid_is_a_change_and_another_label_is_none() -> None:
    study = find(DEMO)
    kept = stamp(study)
    first = replace(study.methods[0], label="another label")
    assert changes(kept, replace(study, title="another", gallery=0, methods=(first, *study.methods[1:]))) == []
    assert changes(kept, replace(study, seeds=(1,))) == ["study"]


def test_a_digest_of_values_tells_results_apart_and_nothing_else() -> None:
    kept = pages.kept(DEMO)
    assert values_digest({**kept, "commit": "another", "seconds": 1, "components": {}}) == values_digest(kept)
    board = {**kept["boards"][0], "environment": "elsewhere"}
    assert values_digest({**kept, "boards": [board]}) != values_digest(kept)


@pytest.mark.full
@pytest.mark.parametrize("name", renew.PAGES["README"])
def test_what_readme_quotes_is_what_the_studies_give(name: str, tmp_path: Path) -> None:
    """Every environment, sample and seed."""
    now = shortened(computed(find(name), tmp_path), comparisons=False)
    kept = pages.kept(name)
    assert list(differences(*(table_of(found["boards"]) for found in (kept, now)))) == []
    assert outcomes(now) == outcomes(kept)


def table_of(boards: list[dict]) -> dict:
    return {
        board["environment"]: {
            method: {metric: cell.get("value", cell["status"]) for metric, cell in line["metrics"].items()}
            for method, line in board["methods"].items()
        }
        for board in boards
    }


def outcomes(found: dict) -> list[str]:
    return [verdict["outcome"] for verdicts in found["faithfulness"].values() for verdict in verdicts]
