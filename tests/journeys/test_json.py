"""Every JSON field that is printed is documented on the page about JSON."""

import json
import re
from pathlib import Path

from typer.testing import CliRunner

from assay.cli.main import app

STUDY = """
samples = 2
seeds = [0, 1]
block = 2
gallery = 0
environments = ["color_count(side=8)"]
methods = ["gradient", "random_map", "constant"]
metrics = ["f1", "spearman"]
faithfulness = [{ metric = "f1", gamma = 0.1 }]
agreement = [{ truth = "f1", methods = ["gradient, question.baseline=zero", "random_map", "constant"] }]
slope = [{ left = "f1", right = "spearman", methods = ["gradient, question.baseline=zero", "random_map", "constant"] }]

[sweep]
of = "methods"
parameter = "question.baseline"
values = ["zero", "true"]
only = ["gradient"]

[full]
samples = 4
"""
OWN = """
samples = 8
block = 8
gallery = 0
environments = ["own"]
methods = ["gradient", "input_x_gradient"]
metrics = ["sensitivity_n(sets=10, sizes=2)", "unfamiliar_share"]
"""
PAGE = set(re.findall(r"`(\w+)`", (Path(__file__).parents[2] / "docs" / "json.md").read_text()))


def parsed_output(*arguments):
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_every_field_is_on_the_page(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    run = ("run", tmp_path / "study.toml", "--store", tmp_path / "st", "--workers", "0")
    planned, result = parsed_output(*run, "--dry-run"), parsed_output(*run)
    (board,) = result["boards"]
    line = board["methods"][0]
    (verdict, *_), (cell, *_) = result["faithfulness"]["f1"], line["metrics"].values()
    exported = parsed_output("export", tmp_path / "st", "-o", tmp_path / "out.csv")
    reported = parsed_output("report", tmp_path / "st", "-o", tmp_path / "page")
    comparison = board["comparisons"]["f1"]
    findings = (planned["largest"][0], comparison, comparison["pairs"][0], comparison["mean_ranks"][0])
    shown = parsed_output("show", tmp_path / "study.toml")
    assert set(shown["full"]) - set(shown) | {"full"} <= PAGE
    sweep = result["sweep"]
    findings += (sweep, sweep["curves"][0], sweep["curves"][0]["points"][0])
    findings = (*findings, result["agreement"][0], result["slope"][0], result["slope"][0]["moves_by_resampling"])
    for part in (planned, result, board, line, verdict, cell, *findings, exported, reported):
        assert set(part) <= PAGE


def test_every_field_of_an_answer_is_on_the_page(tmp_path):
    (tmp_path / "study.toml").write_text(OWN)
    result = parsed_output("run", tmp_path / "study.toml", "--store", tmp_path / "st", "--workers", "0")
    (answer,) = result["answers"].values()
    verdicts = answer["verdicts"]
    (method, *_) = verdicts["methods"]
    (cell, *_) = method["cells"]
    for part in (answer, verdicts, method, cell, cell["leads"][0], verdicts["counts"]):
        assert set(part) <= PAGE
    assert answer["outcomes"] == {row["method"]: row["outcome"] for row in verdicts["methods"]}
