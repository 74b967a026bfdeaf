"""Metrics that ask the method again, in studies: with its fit, also when the attribution was there before."""

from assay.engine.execute.run import run
from assay.engine.store.store import Store
from assay.studies.file import read

PLACE = "tabular_rule(d=8, informative=3, train_rows=128, hidden=(8,), epochs=2, batch=32, lr=0.01)"


def study(environments, metrics):
    table = {
        "environments": environments,
        "methods": ["agop", "gradient"],
        "metrics": metrics,
        "samples": 8,
        "block": 8,
        "seeds": [0],
        "gallery": 0,
    }
    return read(table, "again")


def statuses(root, kind):
    return [(record.status, record.reason) for record in Store.open(root, create=False).records(kind)]


def test_a_metric_that_asks_again_is_added_to_known_attributions(tmp_path):
    run(study([PLACE], ["deletion"]), tmp_path / "s")
    run(study([PLACE], ["deletion", "max_sensitivity(samples=2)", "ids(again=True, steps=4)"]), tmp_path / "s")
    assert statuses(tmp_path / "s", "evidence") == [("ok", "")] * 6
    assert len(statuses(tmp_path / "s", "trial")) == 2


def test_one_place_under_two_labels_keeps_its_fit(tmp_path):
    labelled = [{"use": PLACE, "label": label} for label in "ab"]
    run(study(labelled, ["deletion"]), tmp_path / "s")
    metrics = [{"use": "max_sensitivity(samples=2)", "only": ["a"]}, {"use": "insertion", "only": ["b"]}]
    run(study(labelled, metrics), tmp_path / "s")
    assert {status for status, _ in statuses(tmp_path / "s", "evidence")} == {"ok"}


def test_one_choice_is_made_otherwise_where_a_method_has_it(tmp_path):
    run(study([PLACE], ["choice_sensitivity(parameter='form', value='diagonal')"]), tmp_path / "s")
    assert sorted(statuses(tmp_path / "s", "evidence")) == [
        ("ok", ""),
        ("skipped", "the method has no parameter 'form'"),
    ]
