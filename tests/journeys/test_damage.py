"""From a study with damaged maps to its outputs: how far a metric's curves of original and damaged maps lie apart."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import directed_hausdorff
from typer.testing import CliRunner

from assay.cli.main import app

STUDY = """
samples = 4
seeds = [0, 1, 2]
block = 2
gallery = 1
environments = ["color_count(side=12, sizes=(3, 5))"]
methods = [
    { use = "damaged(of=occlusion, change='none')", label = "Occlusion" },
    { use = "damaged(of=occlusion, change='remove', scheme='random')", label = "Occlusion, Remove" },
    { use = "damaged(of=occlusion, change='introduce', scheme='random')", label = "Occlusion, Introduce" },
    { use = "damaged(of=occlusion, change='remove', scheme='partial')", label = "without a sibling" },
    { use = "damaged(of=gradient, change='introduce', scheme='partial')", label = "of another method" },
    "random_map",
]
metrics = [
    { use = "completeness(transform='clamp', indicator='sample', canvas='zero')", label = "completeness" },
    { use = "deletion(steps=6)", label = "deletion" },
    { use = "pointing_game", label = "pointing" },
]
"""
STATES = {"original": "Occlusion", "remove": "Occlusion, Remove", "introduce": "Occlusion, Introduce"}
PAIRS = [("original", "remove"), ("original", "introduce"), ("remove", "introduce")]


def assay(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("damage")
    (folder / "study.toml").write_text(STUDY)
    assay("run", folder / "study.toml", "--store", folder / "all", "--workers", "0")
    return folder


def damage(folder, *options):
    run = ("run", folder / "study.toml", "--store", folder / "all", "--workers", "0")
    return json.loads(assay(*run, *options, "--json"))["damage"]


def distances(folder, seed):
    """By metric: of each pair, from the exported curves of one seed, with SciPy."""
    store = folder / f"seed{seed}"
    assay("run", folder / "study.toml", "--store", store, "--workers", "0", "--seeds", seed)
    assay("export", store, "--output", store / "out.csv")
    curves = pd.read_csv(store / "out.curves.csv").groupby(["metric", "method"])
    found = {}
    for metric in ("completeness", "deletion"):
        points = {state: curves.get_group((metric, label))[["x", "y"]].to_numpy() for state, label in STATES.items()}
        found[metric] = [
            max(directed_hausdorff(points[a], points[b])[0], directed_hausdorff(points[b], points[a])[0])
            for a, b in PAIRS
        ]
    return found


def test_the_distances_of_each_seed_are_scipys_between_its_exported_curves(folder):
    (table,) = damage(folder)
    expected = [distances(folder, seed) for seed in range(3)]
    rows = {row["metric"]: row for row in table["rows"]}
    for metric in ("completeness", "deletion"):
        row = rows[metric]
        assert (row["original"], row["scheme"], row["curve"]) == ("Occlusion", "random", True)
        for place, (left, right) in enumerate(PAIRS):
            by_seed = [of_seed[metric][place] for of_seed in expected]
            assert row["distances"][f"{left}-{right}"]["per_seed"] == pytest.approx(by_seed, abs=1e-9)
        minima = [min(of_seed[metric]) for of_seed in expected]
        assert row["minimum"]["per_seed"] == pytest.approx(minima, abs=1e-9)
        assert row["minimum"]["value"] == pytest.approx(np.mean(minima), abs=1e-9)
    assert max(rows["completeness"]["minimum"]["per_seed"]) > 0.1


def test_a_metric_without_a_curve_has_differences_of_values(folder):
    (table,) = damage(folder)
    row = next(row for row in table["rows"] if row["metric"] == "pointing")
    assay("export", folder / "all", "--output", folder / "all.csv")
    scores = pd.read_csv(folder / "all.scores.csv").set_index(["metric", "method"])["per_seed"].map(json.loads)
    values = {state: np.array(scores["pointing", label]) for state, label in STATES.items()}
    assert not row["curve"]
    for left, right in PAIRS:
        found = row["distances"][f"{left}-{right}"]["per_seed"]
        assert found == pytest.approx(np.abs(values[left] - values[right]))


def test_methods_without_both_siblings_are_no_triplet(folder):
    (table,) = damage(folder)
    assert {(row["original"], row["remove"], row["introduce"]) for row in table["rows"]} == {tuple(STATES.values())}


def test_every_field_of_the_json_is_on_the_page_about_it(folder):
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text()
    (table,) = damage(folder)
    row = table["rows"][0]
    for name in {*table, *row, *row["minimum"]}:
        assert f"`{name}`" in page


def test_one_seed_has_its_distance_and_no_interval(folder):
    (table,) = damage(folder, "--seeds", "1")
    row = next(row for row in table["rows"] if row["metric"] == "completeness")
    assert (row["minimum"]["basis"], row["minimum"]["low"]) == ("one", None)
    assert row["minimum"]["value"] == pytest.approx(row["minimum_of_means"])


def test_terminal_page_and_tables_begin_with_the_answer_in_words(folder):
    (table,) = damage(folder)
    assert len(table["sentences"]) >= 3
    assert any(sentence.startswith("deletion: smallest distances") for sentence in table["sentences"])
    assert any(sentence.startswith("completeness notices") for sentence in table["sentences"])
    shown = assay("run", folder / "study.toml", "--store", folder / "all", "--workers", "0", "--full")
    assay("report", folder / "all", "--output", folder / "page")
    assay("export", folder / "all", "--output", folder / "all.md")
    assay("export", folder / "all", "--output", folder / "all.tex")
    page, text = (folder / "page" / "index.html").read_text(), (folder / "all.md").read_text()
    for sentence in table["sentences"]:
        assert sentence in shown
        assert sentence in page
    assert shown.index(table["sentences"][0]) < shown.index("Response to damage")
    assert "Occlusion, random" in text
    assert "Response of deletion to damage" in text
    assert "Response of deletion to damage" in (folder / "all.tex").read_text()
    exported = pd.read_csv(folder / "all.damage.csv")
    assert set(exported["of"]) == {"original-remove", "original-introduce", "remove-introduce", "minimum"}
    assert len(exported) == 4 * len(table["rows"])
