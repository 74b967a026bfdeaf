"""From a study file to the report: which methods change rank between two metrics, and bars by family."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pages
import pandas as pd
import pytest
from experiments import idsds, idsds_claims
from keeping import shortened
from scipy.stats import rankdata, spearmanr
from typer.testing import CliRunner

from assay.cli.main import app
from assay.report.table import piped

STUDY = """
samples = 6
block = 4
gallery = 0
environments = [{ use = "color_count(side=16, sizes=(3, 6))", label = "unseen" }]
methods = [
    { use = "gradient", label = "Gradient", family = "<gradients>" },
    { use = "occlusion", label = "Occlusion", family = "perturbation" },
    { use = "grad_cam", label = "Grad-CAM" },
    { use = "random_map", label = "Random" },
]
metrics = [
    { use = "f1(sign='positive')", label = "F1" },
    { use = "single_deletion(canvas='zero')", label = "drops" },
]

[[slope]]
left = "drops"
right = "F1"
"""
ASKED = ["Gradient", "Occlusion", "Grad-CAM"]


def assay(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slope")
    (folder / "study.toml").write_text(STUDY)
    assay("run", folder / "study.toml", "--store", folder / "store", "--workers", "0")
    return folder / "store"


@pytest.fixture(scope="module")
def row(store):
    (found,) = json.loads(run(store, "--json"))["slope"]
    return found


def run(store, *options):
    return assay("run", store.parent / "study.toml", "--store", store, "--workers", "0", *options)


def test_every_number_follows_from_the_exported_scores_and_samples(store, row, tmp_path):
    assay("export", store, "-o", tmp_path / "out.csv")
    scores = pd.read_csv(tmp_path / "out.scores.csv").set_index(["metric", "method"])["value"]
    values = {metric: [scores[metric, method] for method in row["methods"]] for metric in ("drops", "F1")}
    before, after = (rankdata(np.negative(values[metric])) for metric in ("drops", "F1"))
    assert sorted(row["methods"]) == sorted(ASKED)
    assert row["ranks"] == {name: list(pair) for name, *pair in zip(row["methods"], before, after, strict=True)}
    assert row["moves"] == row["moves_without_coinciding"] == sum(before != after)
    assert row["correlation"] == pytest.approx(spearmanr(before, after).statistic)
    long = pd.read_csv(tmp_path / "out.csv").query("metric == 'drops'").pivot_table("value", "method", "sample")
    assert row["moves_by_resampling"]["value"] == pytest.approx(literal(long.loc[row["methods"]].to_numpy()), abs=0.15)
    exported = pd.read_csv(tmp_path / "out.slope.csv").iloc[0]
    assert (exported.moves, exported.resampling_value) == (row["moves"], row["moves_by_resampling"]["value"])
    assert json.loads(exported.ranks) == row["ranks"]


def literal(values, resamples=1000):
    random = np.random.default_rng(5)
    before, moved = rankdata(np.round(values.mean(axis=1), 9)), []
    for _ in range(resamples):
        means = values[:, random.integers(0, values.shape[1], values.shape[1])].mean(axis=1)
        moved.append((rankdata(np.round(means, 9)) != before).sum())
    return np.mean(moved)


def test_the_terminal_tells_it_in_words_and_as_a_table(store, row):
    drawn = row["moves_by_resampling"]
    text = f"{drawn['value']:.1f} [{drawn['low']:g}, {drawn['high']:g}]"
    sentence = (
        f"From drops to F1, {row['moves']} of 3 methods change rank in unseen ({text} by resampling samples alone)."
    )
    assert sentence in run(store)
    table = run(store, "--full")
    assert sentence in table
    (line,) = re.findall(r"Ranks of 3 methods: drops against F1 *\n.*\n *(unseen .*)\n", table)
    assert re.split(r" {2,}", line.strip()) == [
        "unseen",
        f"{row['moves']} of 3",
        f"{row['moves_without_coinciding']} of 3",
        text,
        f"{row['correlation']:.3f}",
    ]


def test_page_and_figures_have_a_line_for_each_method_and_a_bar_for_each_score(store, row, tmp_path):
    assay("report", store, "-o", tmp_path / "page", "--figures", tmp_path / "figures")
    html = (tmp_path / "page" / "index.html").read_text()
    slope, bars = (html.split(f'<section id="{name}">')[1].split("</section>")[0] for name in ("slope", "families"))
    assert slope.count("<polyline") == 3 + 2  # and two families in the legend
    assert slope.count('<g class="still">') == 3 - row["moves"]
    assert len(re.findall(r'class="thick ', bars)) == 2 * 4
    assert re.findall(r'font-weight="bold">(.*?)<', bars)[:3] == [
        "&lt;gradients&gt;",
        "perturbation",
        "other methods",
    ]
    names = {path.name: ElementTree.parse(path) for path in (tmp_path / "figures").glob("*.svg")}
    assert {"families-01-unseen-f1.svg", "families-02-unseen-drops.svg", "slope-01-unseen-drops-against-f1.svg"} <= set(
        names
    )


@pytest.mark.parametrize("suffix", ["md", "tex"])
def test_documents_have_the_table(store, row, tmp_path, suffix):
    assay("export", store, "-o", tmp_path / f"out.{suffix}")
    text = (tmp_path / f"out.{suffix}").read_text()
    assert "Ranks of 3 methods: drops against F1" in text
    assert f"{row['moves']} of 3" in text


def test_the_study_is_shown_with_families_and_slope(store):
    shown = assay("show", store.parent / "study.toml")
    assert "<gradients>" in shown
    assert "slope: drops against F1, over Gradient, Occlusion, Grad-CAM" in " ".join(shown.split())


READOUTS = """
samples = 4
block = 4
gallery = 0
seeds = [0, 1]
environments = [{ use = "color_count(side=16, sizes=(3, 6))", label = "a network" }]
methods = [
    { use = "gradient", label = "Gradient" },
    { use = "input_x_gradient", label = "IxG" },
    { use = "occlusion", label = "Occlusion" },
    { use = "gradient", label = "Gradient, softmax", question = { readout = "probability" } },
    { use = "input_x_gradient", label = "IxG, softmax", question = { readout = "probability" } },
    { use = "occlusion", label = "Occlusion, softmax", question = { readout = "probability" } },
]
metrics = [
    { use = "single_deletion(canvas='zero', readout='logit')", label = "IDSDS" },
    { use = "single_deletion(canvas='zero', readout='probability')", label = "IDSDS, softmax" },
    { use = "accuracy", label = "logit falls, probability rises" },
]

[[slope]]
left = "IDSDS"
right = "IDSDS, softmax"
suffix = ", softmax"
"""


def test_kept_results_have_what_the_tables_of_the_experiments_print(tmp_path, monkeypatch):
    (tmp_path / "study.toml").write_text(READOUTS)
    told = json.loads(assay("run", tmp_path / "study.toml", "--store", tmp_path / "st", "--workers", "0", "--json"))
    (row,) = told["slope"]
    right = {line["method"]: line["metrics"]["IDSDS, softmax"]["value"] for line in told["boards"][0]["methods"]}
    after = rankdata([-round(right[f"{name}, softmax"], 7) for name in row["methods"]])
    assert [ranks[1] for ranks in row["ranks"].values()] == after.tolist()
    assert len(row["moves_per_seed"]) == 2
    monkeypatch.setattr(pages, "KEPT", tmp_path)
    pages.keep("idsds/readouts", shortened(told, comparisons=False))
    texts = idsds_claims.moves(pages.kept("idsds/readouts")["slope"][0])
    assert texts[0] == f"{row['moves']} of 3 (mean of 2 seeds: {row['mean_moves']:.1f})"
    assert list(idsds.TABLES["idsds-slopes"]())[2:] == [piped("a network", *texts)]
    claims = {claim: number for claim, _, number, _ in idsds_claims._readouts("readouts")}
    assert claims["D03, a network"].startswith(f"methods that change place: {texts[0]}; without coinciding ones: ")
    assert all(text in claims["D03, a network"] for text in texts)
