"""`assay show` needs no data and trains nothing; it shows components and studies."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from assay.cli.main import app
from assay.core.errors import AssayError
from assay.studies.shipped import shipped_studies


@pytest.mark.parametrize(
    ("name", "layers"), [("cifar", None), ("tabular_rule", None), ("token_count", 12), ("lime_image", None)]
)
def test_a_card_is_shown_without_data(name, layers, monkeypatch, tmp_path):
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    result = CliRunner().invoke(app, ["show", name, "--json"])
    assert result.exit_code == 0, result.output
    output = json.loads(result.output)
    assert output["name"] == name
    assert (output["network"] or {}).get("layers") == layers


def test_brackets_are_no_markup():
    result = CliRunner().invoke(app, ["show", "own(model='[/red]:x')"])
    assert result.exit_code == 0, result.exception
    assert "[/red]:x" in result.output


@pytest.mark.parametrize("name, kind", [("size", "metrics"), ("Explainer", "methods")])
def test_the_kind_of_a_foreign_component_follows_from_its_arguments(name, kind):
    output = json.loads(CliRunner().invoke(app, ["show", f"journeys.yours:{name}", "--json"]).output)
    assert output["kind"] == kind


@pytest.mark.parametrize("name", shipped_studies())
def test_every_study_that_is_listed_can_be_shown(name):
    output = json.loads(CliRunner().invoke(app, ["show", name, "--json"]).output)
    assert (output["kind"], output["name"]) == ("studies", name)
    cells = {
        (environment["label"], method["label"])
        for environment in output["environments"]
        for method in output["methods"]
    }
    assert (
        0
        < output["blocks"]
        <= len(output["seeds"])
        * len(cells)
        * max(-(-environment["samples"] // environment["block"]) for environment in output["environments"])
    )
    assert CliRunner().invoke(app, ["show", name]).exit_code == 0


STUDY = """
title = "Which baseline?"
seeds = [3, 5]
samples = 12
environments = ["pixel_count(side=16)", { use = "tabular_rule", label = "a table", samples = 4 }]
methods = [
    "gradient",
    { use = "integrated_gradients(steps=20)", label = "IG*", question = { baseline = "true" }, only = ["a table"] },
]
metrics = ["deletion", { use = "f1(sign='positive')", label = "F1" }]
faithfulness = [{ metric = "F1", gamma = 0.25, require = ["gradient"] }]
"""


def test_a_study_is_shown_with_all_that_it_runs(tmp_path):
    (tmp_path / "which.toml").write_text(STUDY)
    lines = CliRunner().invoke(app, ["show", str(tmp_path / "which.toml")]).output.splitlines()
    shown_lines = [" ".join(line.split()) for line in lines]
    for line in (
        "Which baseline?",
        "pixel_count(side=16) 12 in blocks of 8",
        "a table tabular_rule 4 in blocks of 8",
        "gradient as the environment asks",
        "IG* integrated_gradients(steps=20) baseline true a table",
        "F1 f1(sign='positive')",
        "seeds: 3, 5",
        "faithfulness test: F1 at least 0.25; required of gradient",
        "8 blocks of attributions",  # two seeds: gradient has two blocks and one, IG* one
    ):
        assert line in shown_lines, line


@pytest.mark.parametrize(
    ("name", "meant"),
    [("demoo", "demo"), ("attributionlab/basline", "attributionlab/baseline"), ("baseline", "attributionlab/baseline")],
)
def test_a_study_is_suggested_where_one_was_meant(name, meant):
    error = CliRunner().invoke(app, ["show", name]).exception
    assert isinstance(error, AssayError)
    assert f"Did you mean '{meant}'?" in str(error)


def test_a_study_is_not_suggested_where_a_component_is_checked():
    assert "Did you mean" not in str(CliRunner().invoke(app, ["check", "demoo"]).exception)
