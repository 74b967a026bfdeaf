"""A sweep and a full scale, from the command line to the page, on tiny instances."""

import json
import re

import pandas as pd
import pytest
from typer.testing import CliRunner

import assay
from assay.cli.main import app
from assay.core.errors import AssayError

STUDY = """
title = "Warmth"
seeds = [0]
samples = 2
block = 2
gallery = 0
environments = [
    { use = "color_count(side=8)", label = "colours" },
    { use = "color_count(side=8, unseen=False)", label = "reference" },
]
methods = ["input_x_gradient", "tree_shap", "random_map"]
metrics = [{ use = "f1", label = "F1" }]

[sweep]
of = "environments"
parameter = "temperature"
values = [1, 10, 100]
only = ["colours"]
label = "warmth"

[full]
samples = 4
"""


def call(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "warm.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def test_a_sweep_reaches_terminal_json_and_page_without_its_file(study):
    printed = call("run", study, "--workers", "0", "--full")
    assert printed.exit_code == 0, printed.output
    assert "F1 over warmth: colours" in printed.output
    assert "tree_shap has no score (skipped: needs trees" in printed.output
    result = json.loads(call("run", study, "--workers", "0", "--json").stdout)
    sweep = result["sweep"]
    assert (result["scale"], sweep["of"], sweep["parameter"], sweep["values"]) == (
        "quick",
        "environments",
        "temperature",
        [1, 10, 100],
    )
    scores = {
        (board["environment"], line["method"]): line["metrics"]["F1"]["value"]
        for board in result["boards"]
        for line in board["methods"]
    }
    curves = {curve["method"]: curve for curve in sweep["curves"]}
    assert [(point["at"], point["value"]) for point in curves["input_x_gradient"]["points"]] == [
        (value, scores[f"colours, temperature={value}", "input_x_gradient"]) for value in (1, 10, 100)
    ]
    assert curves["random_map in reference"]["varied"] is False
    assert {point["status"] for point in curves["tree_shap"]["points"]} == {"skipped"}
    study.unlink()
    assert call("report", "runs/warm", "--figures", "figures").exit_code == 0
    page = (study.parent / "runs/warm/report/index.html").read_text(encoding="utf-8")
    section = re.search(r'<section id="sweep">.*?</section>', page, re.DOTALL).group()
    assert section.count("<figure>") == 1
    assert section.count('<circle class="dot ') == 6  # two methods have scores, at three values each
    assert "warmth (log scale)" in section
    assert "tree_shap has no score (skipped: needs trees" in section
    (figure,) = (study.parent / "figures").glob("sweep-*.svg")
    drawn = figure.read_text(encoding="utf-8")
    assert drawn.count('<circle class="dot ') == 6
    assert "colours: F1 ↑" in drawn
    assert "tree_shap has no score (skipped: needs trees" in drawn


def test_exported_tables_have_the_failure_curves(study):
    result = json.loads(call("run", study, "--workers", "0", "--json").stdout)
    for name in ("out.csv", "out.md", "out.tex"):
        assert call("export", "runs/warm", "-o", name).exit_code == 0
    scores, long = (pd.read_csv(study.parent / name) for name in ("out.scores.csv", "out.csv"))
    for curve in result["sweep"]["curves"]:
        method = curve["method"].removesuffix(" in reference")
        rows = scores[
            (scores.method == method)
            & (scores.sweep_item == "colours" if curve["varied"] else scores.sweep_item.isna())
        ]
        points = curve["points"] if curve["varied"] else curve["points"][:1]
        assert rows.value.fillna(-1).tolist() == [-1 if point["value"] is None else point["value"] for point in points]
        assert rows.sweep_value.dropna().tolist() == ([1, 10, 100] if curve["varied"] else [])
    assert set(long.sweep_value.dropna()) == {1, 10, 100}
    markdown, tex = ((study.parent / name).read_text(encoding="utf-8") for name in ("out.md", "out.tex"))
    assert "## F1 over warmth: colours" in markdown
    assert "| temperature | 1 | 10 | 100 |" in markdown
    assert "| tree\\_shap | skipped | skipped | skipped |" in markdown
    assert r"temperature & 1 & 10 & 100 \\" in tex
    line = next(curve for curve in result["sweep"]["curves"] if curve["method"] == "random_map")
    values = [f"{point['value']:.3f} [{point['low']:.3f}, {point['high']:.3f}]" for point in line["points"]]
    assert f"| random\\_map | {' | '.join(values)} |" in markdown
    assert tex.count(r"random\_map in reference (not varied) & ") == 1


def test_the_full_scale_has_a_store_of_its_own_and_shares_what_is_equal(study):
    quick = json.loads(call("run", study, "--workers", "0", "--store", "one", "--json").stdout)
    planned = json.loads(call("run", study, "--scale", "full", "--store", "one", "--dry-run", "--json").stdout)
    assert (planned["trials"], planned["jobs"]["trial"]) == (24, 12)  # the first of two blocks each is there
    full = json.loads(call("run", study, "--workers", "0", "--scale", "full", "--store", "one", "--json").stdout)
    assert (quick["study"], full["study"], full["scale"]) == ("warm", "full/warm", "full")
    reported = json.loads(call("report", "one", "--json").stdout)
    assert (reported["study"], sorted(reported["studies"])) == ("full/warm", ["full/warm", "warm"])
    assert "Warmth (full scale)" in (study.parent / "one/report/index.html").read_text(encoding="utf-8")
    run = assay.run(study, scale="full")
    assert run.store.as_posix() == "runs/full/warm"


def test_a_study_without_a_full_scale_is_refused(study):
    study.write_text(STUDY.partition("[full]")[0], encoding="utf-8")
    refused = call("run", study, "--scale", "full", "--dry-run")
    assert isinstance(refused.exception, AssayError)  # which main() turns into exit code 2
    assert "warm has no full scale" in str(refused.exception)


def test_show_says_what_the_full_scale_replaces_and_what_is_varied(study):
    shown = call("show", study).output
    assert "sweep: temperature = 1, 10, 100 of colours" in shown
    assert "--scale full: samples 4: 24 blocks of attributions" in shown
    as_json = json.loads(call("show", study, "--json").stdout)
    assert (as_json["blocks"], as_json["full"]["blocks"], as_json["full"]["replaces"]) == (12, 24, ["samples"])
    assert json.loads(call("show", study, "--scale", "full", "--json").stdout)["name"] == "full/warm"
