"""A method whose layer is too coarse for the test is not testable, and every output says so."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import assay
from assay.cli.main import app

STUDY = """
samples = 4
block = 2
gallery = 0
environments = ["color_count(side=24, sizes=[3, 6])"]
methods = ["grad_cam", "gradient"]
metrics = [{ use = "f1(sign='positive')", label = "F1" }]
faithfulness = [{ metric = "F1", gamma = 0.9, require = ["grad_cam"], strict = STRICT }]
"""
SENTENCE = "not testable at this size: color_count(side=24, sizes=[3, 6]) (F1: the best map of its 3x3 grid scores 0."


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("ceiling")


def ran(folder, strict, *options):
    (folder / "study.toml").write_text(STUDY.replace("STRICT", str(strict).lower()))
    return CliRunner().invoke(
        app, ["run", str(folder / "study.toml"), "--store", str(folder / "s"), "--workers", "0", *options]
    )


def test_the_terminal_shows_ceilings_and_what_is_not_testable(store):
    done = ran(store, False, "--full")
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    assert f"grad_cam: {SENTENCE}" in text
    assert "gradient: not refuted (ceiling 1.000)" in text
    assert "ceiling of F1: grad_cam 0." in text


def test_a_strict_test_fails(store):
    assert ran(store, True).exit_code == 1


def test_json_has_the_ceiling_of_every_check(store):
    told = json.loads(ran(store, False, "--json").stdout)
    coarse, fine = sorted(told["faithfulness"]["F1"], key=lambda verdict: verdict["method"])
    assert coarse["verdict"].startswith(SENTENCE)
    assert (coarse["outcome"], fine["outcome"]) == ("not testable", "not refuted")
    (check,) = coarse["checks"]
    assert check["value"] <= check["ceiling"] == coarse["ceiling"] < 0.9
    assert (check["outcome"], check["grid"]) == ("not testable", "3x3 grid")
    assert (fine["ceiling"], fine["checks"][0]["grid"]) == (1.0, "")


def test_the_page_shows_the_ceiling_beside_the_value(store):
    ran(store, False)
    page = store / "page"
    done = CliRunner().invoke(app, ["report", str(store / "s"), "-o", str(page)])
    assert done.exit_code == 0
    html = (page / "index.html").read_text(encoding="utf-8")
    assert "the best map of its 3x3 grid scores 0." in html
    assert 'title="ceiling of its 3x3 grid"' in html
    assert "cannot test 1 at this size" in html


def test_an_assertion_that_cannot_be_decided_fails_with_the_reason():
    place = assay.environment("color_count", side=24, sizes=(3, 6))
    with pytest.raises(
        AssertionError, match=r"not testable at this size: .* the best map of its 3x3 grid scores 0\.\d"
    ):
        assay.assert_faithful("grad_cam", place, gamma=0.9, n=4)
    assay.assert_faithful("gradient", place, gamma=0.9, n=4, metric="f1(sign='positive')")
