"""`assay show` needs no data and trains nothing."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from assay.cli.main import app


@pytest.mark.parametrize(
    ("name", "layers"), [("cifar", None), ("tabular_rule", None), ("token_count", 12), ("lime_image", None)]
)
def test_a_card_is_shown_without_data(name, layers, monkeypatch, tmp_path):
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    result = CliRunner().invoke(app, ["show", name, "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.output)
    assert told["name"] == name
    assert (told["network"] or {}).get("layers") == layers


@pytest.mark.parametrize("name, kind", [("size", "metrics"), ("Explainer", "methods")])
def test_somebody_s_component_is_what_it_takes(name, kind):
    told = json.loads(CliRunner().invoke(app, ["show", f"journeys.yours:{name}", "--json"]).output)
    assert told["kind"] == kind
