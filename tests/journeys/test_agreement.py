"""From a study file to the report: which metrics rank methods by truth, with and without the unseen-data effect."""

import json

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from typer.testing import CliRunner

from assay.cli.main import app

STUDY = """
samples = 2
seeds = [0, 1, 2]
block = 2
gallery = 0
environments = [
    { use = "color_count(side=16, sizes=(3, 6))", label = "unseen" },
    { use = "color_count(side=16, sizes=(3, 6), unseen=False)", label = "seen" },
]
methods = ["gradient", "occlusion", "deep_shap", "grad_cam", "attention_rollout", "random_map"]
metrics = [
    { use = "f1(sign='positive', truth='signed')", label = "F1" },
    { use = "deletion(steps=4, readout='probability')", label = "deletion" },
]

[[agreement]]
truth = "F1"
"""


def assay(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.stdout


def test_agreement_is_in_the_store_and_follows_from_the_exported_scores(tmp_path):
    study, store = tmp_path / "study.toml", tmp_path / "store"
    study.write_text(STUDY)
    printed = json.loads(assay("run", study, "--store", store, "--workers", "0", "--json"))["agreement"]
    study.unlink()  # what follows needs the store alone
    assay("export", store, "-o", tmp_path / "out.csv")
    scores = pd.read_csv(tmp_path / "out.scores.csv").set_index(["environment", "metric", "method"])
    assert [row["environment"] for row in printed] == ["unseen", "seen"]
    for row in printed:
        assert sorted(row["methods"]) == ["deep_shap", "grad_cam", "gradient", "occlusion"]
        assert row["left_out"] == {"attention_rollout": "skipped"}
        columns = {
            metric: [json.loads(scores.loc[row["environment"], metric, method].per_seed) for method in row["methods"]]
            for metric in ("F1", "deletion")
        }
        for seed, value in enumerate(row["per_seed"]):
            deletion, truth = ([values[seed] for values in columns[metric]] for metric in ("deletion", "F1"))
            assert abs(value - spearmanr(-np.round(deletion, 6), np.round(truth, 6)).statistic) < 1e-9
    exported = pd.read_csv(tmp_path / "out.agreement.csv")
    assert exported.value.tolist() == [row["value"] for row in printed]
    assay("report", store, "-o", tmp_path / "page")
    html = (tmp_path / "page" / "index.html").read_text()
    assert all(f"{row['value']:.3f}".replace("-", "−") in html for row in printed)
