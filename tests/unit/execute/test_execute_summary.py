"""From evidence to scores: nothing is averaged over what is missing, and the reason is told."""

import numpy as np
import pytest

from assay.core.errors import AssayError
from assay.core.evidence import Evidence
from assay.core.records import Record
from assay.execute.forecast import forecast
from assay.execute.inline import Inline
from assay.execute.plan import plan
from assay.execute.run import run
from assay.execute.summary import summarise
from assay.store.store import Store
from assay.study import grid


def put_evidence(store, study, values, metric=0, **rows):
    """Hand-put evidence: ``values[seed][block]`` becomes the rows of that block, and its trial is ok."""
    for cell, of_seed in zip(grid.cells(study), values, strict=True):
        for block, value in zip(cell.blocks, of_seed, strict=True):
            store.put(Record("trial", cell.trial(block), "ok"))
            if value is not None:
                arrays = Evidence({"value": np.array(value, dtype=np.float64), **rows}).to_arrays()
                key = cell.evidence(study.metrics[metric], block)
                store.put(Record("evidence", key, "ok", arrays=store.save(arrays)))


def only_score(store, study):
    (row,) = summarise(study, store)
    return store.get(row.key)


def test_blocks_are_merged_and_seeds_are_kept_apart(study, store):
    two = study(seeds=[0, 1])
    put_evidence(store, two, [[[1, 2], [3, 4]], [[10, 10], [10, 10]]])
    score = only_score(store, two)
    assert score.status == "ok"
    assert score.data["value"] == 6.25
    assert score.data["per_seed"] == [2.5, 10.0]
    assert (score.data["count"], score.data["defined"]) == (8, 8)
    assert (score.data["basis"], score.data["low"], score.data["high"]) == ("two", None, None)


SPREAD = [[1, 2], [3, 4]]
HIGHER = [[10, 12], [11, 13]]


@pytest.mark.parametrize(
    ("environment", "values", "basis"),
    [
        ("yard:Meadow", [SPREAD], "draw"),  # it does not say what its seed draws
        ("yard:Meadow", [SPREAD, HIGHER], "two"),
        ("yard:Meadow", [SPREAD, HIGHER, HIGHER], "seeds"),
        ("yard:Meadow", [SPREAD, SPREAD, SPREAD], "equal"),
        ("yard:Field", [SPREAD], "samples"),  # it says: samples only
        ("yard:Field", [SPREAD, HIGHER], "samples"),
        ("yard:Field", [SPREAD, HIGHER, HIGHER], "samples"),
        ("yard:Field", [SPREAD, SPREAD, SPREAD], "samples"),  # seeds agree, samples do not
        ("yard:Field", [[[5, 5], [5, 5]]], "equal"),
    ],
)
def test_an_interval_is_over_what_the_seed_draws(study, store, environment, values, basis):
    asked = study(environments=[environment], seeds=list(range(len(values))))
    put_evidence(store, asked, values)
    data = only_score(store, asked).data
    assert data["basis"] == basis
    assert (data["low"] is None) == (basis in ("two", "equal"))
    if data["low"] is not None:
        assert data["low"] < data["value"] < data["high"]


def test_a_metric_that_prepares_makes_the_seed_a_unit(study, store):
    """What it prepares, as by training anew, is drawn once a seed, whatever the environment draws."""
    asked = study(environments=["yard:Field"], metrics=["yard:Prepares"], seeds=[0, 1])
    put_evidence(store, asked, [SPREAD, HIGHER])
    assert only_score(store, asked).data["basis"] == "two"


def test_samples_that_come_again_with_other_seeds_count_once(study, store):
    """With a fixed data seed, or where an environment says so: more seeds then make no interval narrower."""
    widths = []
    for table in (
        {"environments": ["yard:Field"], "seeds": [0]},
        {"environments": ["yard:Field"], "seeds": [0, 1, 2], "data_seed": 0},
        {"environments": ["yard:Field(rows=4)"], "seeds": [0, 1, 2]},
        {"environments": ["yard:Field"], "seeds": [0, 1, 2]},
    ):
        asked = study(**table)
        put_evidence(store, asked, [SPREAD] * len(asked.seeds))
        data = only_score(store, asked).data
        widths.append(data["high"] - data["low"])
    assert widths[0] == pytest.approx(widths[1]) == pytest.approx(widths[2])
    assert widths[3] < 0.5 * widths[0]


def test_an_interval_ends_where_the_metric_s_range_does(study, store):
    asked = study(metrics=["yard:Share", "yard:Share(cut=False)"])
    for metric in (0, 1):
        put_evidence(store, asked, [[[0.95, 0.9], [0.3, 1.0]]], metric)
    kept, lost = (store.get(row.key).data for row in summarise(asked, store))
    assert kept["value"] == lost["value"]
    assert kept["high"] == 1.0 < lost["high"]
    assert kept["low"] == lost["low"]


def test_a_score_is_made_again_when_the_rule_of_intervals_changes(study, store, monkeypatch):
    put_evidence(store, study(), [SPREAD])
    first = only_score(store, study()).key
    monkeypatch.setattr("assay.execute.summary.RULE", 99)
    assert only_score(store, study()).key != first


def test_samples_beyond_the_asked_number_do_not_count(study, store):
    three = study(samples=3)
    put_evidence(store, three, [[[1, 2], [3, 1000]]])
    score = only_score(store, three)
    assert (score.data["value"], score.data["count"]) == (2.0, 3)


def test_a_row_names_its_labels(study, store):
    labelled = study(methods=[{"use": "yard:Copy", "label": "C"}], metrics=[{"use": "yard:Total", "label": "T"}])
    (row,) = summarise(labelled, store)
    assert row.to_json() == {"environment": "yard:Meadow", "method": "C", "metric": "T", "key": row.key}


@pytest.mark.parametrize(("status", "reason"), [("failed", "RuntimeError: oh"), ("skipped", "needs a garden")])
@pytest.mark.parametrize("kind", ["trial", "evidence"])
def test_one_block_that_is_missing_is_no_score_and_its_reason_is_told(study, store, status, reason, kind):
    put_evidence(store, study(), [[[1, 2], None]])
    (cell,) = grid.cells(study())
    block = cell.blocks[1]
    key = cell.trial(block) if kind == "trial" else cell.evidence(study().metrics[0], block)
    if kind == "trial":  # a failure never replaces an answer: a store of its own
        store = Store.open(store.root / "other", sync=False)
        first = cell.evidence(study().metrics[0], cell.blocks[0])
        store.put(Record("evidence", first, "ok", arrays=store.save({"rows.value": np.ones(2)})))
    store.put(Record(kind, key, status, reason=reason))
    score = only_score(store, study())
    assert (score.status, score.reason) == (status, reason)
    assert "value" not in score.data


def test_a_failure_is_told_before_a_skip(study, store):
    (cell,) = grid.cells(study())
    first, second = cell.blocks
    store.put(Record("trial", cell.trial(first), "skipped", reason="no garden"))
    store.put(Record("trial", cell.trial(second), "failed", reason="broke"))
    score = only_score(store, study())
    assert (score.status, score.reason) == ("failed", "broke")


def test_what_was_never_computed_says_so(study, store):
    score = only_score(store, study())
    assert (score.status, score.reason) == ("failed", "was not computed: run the study again")


def test_a_failed_score_is_made_again_and_an_answer_is_kept(study, store):
    assert only_score(store, study()).status == "failed"
    put_evidence(store, study(), [[[1, 2], [3, 4]]])
    score = only_score(store, study())
    assert score.status == "ok"
    assert only_score(store, study()).origin == score.origin


def test_undefined_samples_are_counted_and_a_curve_is_kept(study, store):
    picky = study(metrics=["yard:Picky"])
    for record in Inline().run(plan(picky, store).jobs, store):
        store.put(record)
    score = only_score(store, picky)
    assert (score.data["value"], score.data["count"], score.data["defined"]) == (0.5, 4, 2)
    arrays = store.load(score)
    assert arrays["curve"].tolist() == [0.5, 1.0]
    assert arrays["axis"].tolist() == [0.0, 1.0]


def test_nothing_defined_is_a_score_without_a_value(study, store):
    picky = study(metrics=["yard:Picky(below=0)"])
    for record in Inline().run(plan(picky, store).jobs, store):
        store.put(record)
    score = only_score(store, picky)
    assert score.status == "ok"
    assert (score.data["value"], score.data["low"], score.data["count"], score.data["defined"]) == (None, None, 4, 0)


def test_methods_stay_apart(study, store):
    double = study(methods=["yard:Copy", "yard:Copy(k=3)", "yard:Refuses(start=2)"])
    for record in Inline().run(plan(double, store).jobs, store):
        store.put(record)
    scores = [store.get(row.key) for row in summarise(double, store)]
    assert [score.status for score in scores] == ["ok", "ok", "skipped"]
    assert scores[1].data["value"] == 3 * scores[0].data["value"] == 3 * (0.5 + 2.5 + 4.5 + 6.5) / 4
    assert scores[2].reason == "needs a garden"


def test_a_run_leaves_a_store_that_explains_itself(study, tmp_path):
    watched = []
    finished = run(study(gallery=1), tmp_path / "s", watch=lambda record, todo: watched.append(record))
    store = Store.open(tmp_path / "s", create=False)
    assert watched[0] is None
    assert [record.kind for record in watched[1:]] == ["samples", "trial", "evidence", "trial", "evidence"]
    (record,) = store.records("run")
    assert record.data["rows"] == [row.to_json() for row in finished.rows]
    assert store.get(finished.rows[0].key).data["value"] == 3.5
    assert set(record.data["cards"]) == {"environments/yard:Meadow", "methods/yard:Copy", "metrics/yard:Total"}
    again = run(study(gallery=1), tmp_path / "s")
    assert again.plan.jobs == ()
    assert again.rows == finished.rows


# The forecast.


def test_a_forecast_of_a_store_that_is_not_there_counts_and_writes_nothing(study, tmp_path):
    found = forecast(study(environments=["yard:Orchard"], gallery=1), tmp_path / "s", "float32")
    assert found == {"jobs": {"model": 1, "samples": 1, "trial": 2}, "trials": 2, "reused": 0, "seconds": None}
    assert not (tmp_path / "s").exists()


def test_a_forecast_adds_up_the_times_of_what_is_known(study, store):
    jobs = plan(study(), store).jobs
    (_, trial), (_, evidence) = jobs[0].makes
    store.put(Record("trial", trial, "ok", cost={"cpu": 3.0, "wall": 9.0}))
    store.put(Record("evidence", evidence, "ok", cost={"cpu": 1.0, "wall": 9.0}))
    store.put(Record("trial", "x", "ok", cost={"cpu": 5.0}))
    store.put(Record("trial", "y", "ok", cost={"cpu": 100.0}))
    found = forecast(study(samples=6), store.root, "float32")
    assert found == {"jobs": {"trial": 2}, "trials": 3, "reused": 1, "seconds": 2 * (5.0 + 1.0)}  # medians
    assert forecast(study(samples=2), store.root, "float32")["seconds"] == 0.0


def test_a_forecast_of_a_finished_study_is_nothing(study, tmp_path):
    run(study(), tmp_path / "s")
    assert forecast(study(), tmp_path / "s", "float32") == {"jobs": {}, "trials": 2, "reused": 2, "seconds": 0}
    assert forecast(study(), tmp_path / "s", "float64")["jobs"] == {"trial": 2}


# Faults.


def test_evidence_that_is_missing_says_so(study, store):
    put_evidence(store, study(), [[[1, 2], None]])
    score = only_score(store, study())
    assert (score.status, score.reason) == ("failed", "was not computed: run the study again")


@pytest.mark.parametrize("how", ["nan", "float32", "int64"])
def test_a_reduce_of_an_odd_kind_is_a_score_or_a_failed_one(study, tmp_path, how):
    finished = run(study(metrics=[f"yard:Ends(how='{how}')", "yard:Total"]), tmp_path / "s")
    store = Store.open(tmp_path / "s", create=False)
    odd, plain = (store.get(row.key) for row in finished.rows)
    assert odd.status == ("failed" if how == "nan" else "ok")
    assert plain.status == "ok"


@pytest.mark.parametrize("how", ["damaged", "other rows"])
def test_evidence_that_cannot_be_used_fails_its_own_score_only(study, tmp_path, how):
    double = study(metrics=["yard:Total", "yard:Picky"])
    store = Store.open(tmp_path / "s", sync=False)
    for record in Inline().run(plan(double, store).jobs, store):
        store.put(record)
    (cell,) = grid.cells(double)
    record = store.get(cell.evidence(double.metrics[0], cell.blocks[1]))
    if how == "damaged":
        store.arrays.path(record.arrays).write_bytes(b"rubbish")
    else:
        store.put(Record("evidence", record.key, "ok", arrays=store.save({"rows.other": np.ones(2)})))
    first, second = (store.get(row.key) for row in summarise(double, store))
    assert first.status == "failed"
    assert second.status == "ok"


def test_a_study_of_no_samples_is_refused(study):
    with pytest.raises(AssayError, match="a limit of 0 samples leaves nothing to evaluate"):
        study().narrowed(0, None)


def test_two_labels_of_one_environment_have_the_scores_of_both(study, tmp_path):
    double = study(
        environments=[{"use": "yard:Meadow", "label": "A"}, {"use": "yard:Meadow", "label": "B"}],
        metrics=[{"use": "yard:Total", "only": ["A"]}, {"use": "yard:Picky", "only": ["B"]}],
    )
    finished = run(double, tmp_path / "s")
    store = Store.open(tmp_path / "s", create=False)
    assert [store.get(row.key).status for row in finished.rows] == ["ok", "ok"]


def test_a_combinator_that_fits_itself_runs(study, tmp_path):
    finished = run(study(methods=["yard:Around"]), tmp_path / "s")
    score = Store.open(tmp_path / "s", create=False).get(finished.rows[0].key)
    assert (score.status, score.reason) == ("ok", "")


def test_a_model_from_the_cache_is_the_model_that_was_trained(study, tmp_path, yard):
    orchard = study(environments=["yard:Orchard"], metrics=["yard:Probes"])
    values = []
    for name in ("first", "second"):
        finished = run(orchard, tmp_path / name)
        values.append(Store.open(tmp_path / name, create=False).get(finished.rows[0].key).data["value"])
    assert yard.trained == [0]
    assert values[0] == values[1]
