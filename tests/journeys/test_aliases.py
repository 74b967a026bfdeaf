"""Names that stand for a metric with a parameter set work wherever a metric is named, and stay as they were written."""

import json

import numpy as np
import pytest
import torch
from scipy.stats import rankdata
from typer.testing import CliRunner

import assay
from assay.catalogue.registry import aliases
from assay.cli.main import app
from assay.engine.store.store import Store
from assay.report.board import latest_run
from assay.studies.file import read
from streams import seeded

PLACE = "color_count(side=8, unseen=False)"
ROAD = "canvas='zero', by='probability'"
METRICS = {  # as they are written, and whether higher is better
    "insertion(steps=4)": True,
    "deletion(steps=4)": False,
    f"road_lerf({ROAD})": True,
    f"road({ROAD})": False,
    "ids": True,
    "ids_descending": False,
}
STUDY = f"""
environments = ["{PLACE}"]
methods = ["input_x_gradient", "gradient", "random_map"]
metrics = {json.dumps(list(METRICS))}
samples = 8
"""


def told(*arguments):
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """The board of a study with both directions of three metrics."""
    folder = tmp_path_factory.mktemp("aliases")
    (folder / "both.toml").write_text(STUDY)
    (board,) = told("run", folder / "both.toml", "--store", folder / "store", "--workers", "0")["boards"]
    return board["methods"], folder / "store"


@pytest.mark.parametrize(("metric", "higher"), METRICS.items())
def test_every_direction_is_ranked_as_it_is_better(lines, metric, higher):
    cells = [line["metrics"][metric] for line in lines[0]]
    values = np.array([cell["value"] for cell in cells])
    assert len(set(values)) > 1
    assert [cell["rank"] for cell in cells] == list(rankdata(-values if higher else values))


def test_tables_have_the_name_that_was_written_and_keys_the_component(lines):
    assert [*lines[0][0]["metrics"]] == [*METRICS]
    run = latest_run(Store(lines[1]))
    assert {name for name in run.data["cards"] if name.startswith("metrics/")} == {
        "metrics/deletion",
        "metrics/road",
        "metrics/ids",
    }


def test_a_test_of_faithfulness_knows_the_direction_of_an_alias():
    table = {"environments": [PLACE], "methods": ["gradient"], "metrics": ["insertion", "deletion"]}
    assert read({**table, "faithfulness": [{"metric": "insertion", "signs": False}]}, "name").faithfulness
    with pytest.raises(assay.AssayError, match="'deletion' is better when lower"):
        read({**table, "faithfulness": [{"metric": "deletion"}]}, "name")
    assay.assert_faithful("gradient", PLACE, -1e6, "insertion(steps=2)", n=2, signs=False)
    with pytest.raises(assay.AssayError, match="is better when lower"):
        assay.assert_faithful("gradient", PLACE, metric="deletion")


def test_an_attribution_is_scored_under_both_names():
    found = assay.attribute(PLACE, "input_x_gradient", n=6)
    scored, same = found.score("insertion", steps=5), found.score("deletion", direction="insert", steps=5)
    assert scored.metric == "insertion(steps=5)"
    assert scored.value == same.value
    assert scored.value != found.score("deletion", steps=5).value


@seeded()
def test_evaluate_takes_an_alias_and_calls_it_by_its_name():
    model, x = torch.nn.Linear(6, 3), torch.randn(5, 6, generator=torch.Generator().manual_seed(0))
    found = assay.evaluate(model, x, methods=["gradient"], metrics=["insertion", "deletion(direction='insert')"])
    assert found["gradient", "insertion"].value == found["gradient", "deletion(direction='insert')"].value


def test_the_list_of_metrics_says_what_an_alias_stands_for():
    listed = {item["name"]: item for item in told("ls", "metrics")}
    assert {name for name, item in listed.items() if "alias_of" in item} == set(aliases("metrics"))
    assert listed["road_lerf"]["alias_of"] == "road(order='lerf')"
    assert listed["road_lerf"]["higher_is_better"] is True
    assert listed["road"]["higher_is_better"] is False
    plain = CliRunner().invoke(app, ["ls", "metrics"]).output
    assert "alias of road(order='lerf')" in plain


def test_an_alias_can_be_shown():
    shown = told("show", "road_lerf(ratios=(0.5,))")
    assert (shown["name"], shown["higher_is_better"], shown["ideal"]) == ("road", True, 1.0)
    assert "order='lerf'" in shown["spec"]
    assert "ratios=(0.5,)" in shown["spec"]
    assert told("show", "road")["higher_is_better"] is False
    plain = " ".join(CliRunner().invoke(app, ["show", "insertion"]).output.split())
    assert "higher is better: True" in plain
    assert "alias: insertion, for direction='insert'" in plain
    assert "with absolute=True: best on linear: False" in plain
