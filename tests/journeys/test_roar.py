"""A study that retrains: every method's models once, the same beginning for all, curves in the export."""

import numpy as np
import pandas as pd

from assay.core.evidence import Evidence
from assay.engine.execute.run import run
from assay.engine.store.store import Store
from assay.report.export import write
from assay.studies.file import read

PLACE = "tabular_rule(d=8, informative=3, train_rows=256, hidden=(16, 8), epochs=12, batch=32, lr=0.01)"
SHARES = (0.0, 0.25, 0.5)


def test_remove_and_retrain_in_a_study(tmp_path):
    metrics = [f"roar(shares={SHARES}, ranking='{ranking}', repeats=2)" for ranking in ("sample", "global")]
    metrics.append(f"roar(shares={SHARES}, ranking='global', repeats=2, measure='balanced_accuracy')")
    labels = ("sample", "global", "balanced")
    study = read(
        {
            "environments": [{"use": PLACE, "label": "table"}],
            "methods": ["agop", "random_map"],
            "metrics": [{"use": use, "label": label} for use, label in zip(metrics, labels, strict=True)],
            "samples": 60,
            "block": 20,
            "seeds": [0],
            "gallery": 0,
        },
        "retrained",
    )
    run(study, tmp_path / "s")
    store = Store.open(tmp_path / "s", create=False)
    prepared = store.records("prepared")
    assert [record.status for record in prepared] == ["ok"] * 4  # per method and ranking, not per block or measure
    assert {f"{share}.{repeat}" for share in range(3) for repeat in range(2)} == {
        ".".join(name.split(".")[:2]) for name in store.load(prepared[0]) if name != "order"
    }
    evidence = [Evidence.from_arrays(store.load(record)) for record in store.records("evidence")]
    assert len(evidence) == 18
    assert all(found["right"].shape == (20, 3, 2) for found in evidence)

    write(store, tmp_path / "out.csv")
    curves = pd.read_csv(tmp_path / "out.curves.csv").pivot_table(index=["metric", "x"], columns="method", values="y")
    assert curves.index.get_level_values("x").unique().tolist() == list(SHARES)
    np.testing.assert_array_equal(curves["agop"].xs(0.0, level="x"), curves["random_map"].xs(0.0, level="x"))
    less = curves["agop"] - curves["random_map"]
    assert less["sample", 0.25] < -0.1  # it finds what the rule reads
    lost = curves["agop"]["global", 0.0] - curves["agop"]["global", 0.5]
    assert lost > 0.3  # one random order for all rows may find it by chance, so that the two are not compared here
    scores = pd.read_csv(tmp_path / "out.scores.csv").set_index(["metric", "method"])
    for metric in labels:
        drawn = curves.loc[metric]["agop"].to_numpy()
        assert np.isclose(scores.loc[(metric, "agop"), "value"], np.trapezoid(drawn, SHARES) / 0.5)
        assert scores.loc[(metric, "agop"), "low"] < scores.loc[(metric, "agop"), "high"]

    balanced = [found for found in evidence if "label" in found.rows]
    assert len(balanced) == 6
    as_rated = {found["right"].tobytes() for found in evidence if "label" not in found.rows}
    assert {found["right"].tobytes() for found in balanced} <= as_rated  # by the same models

    before = store.dump()
    run(study, tmp_path / "s")
    assert Store.open(tmp_path / "s", create=False).dump() == before
