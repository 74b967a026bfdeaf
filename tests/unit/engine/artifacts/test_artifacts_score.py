"""From evidence to scores: nothing is averaged over what is missing, and the reason is told."""

import numpy as np
import pytest

from assay.core.evidence import Evidence
from assay.core.records import Record
from assay.engine.artifacts.desk import Desk
from assay.engine.execute.grid import grid
from yard_study import finish


def given(store, row, values):
    """Records of hand-made evidence: ``values[seed][block]`` are the rows of that block, or a record of another end."""
    records = {}
    for blocks, of_seed in zip(row.score.evidence, values, strict=True):
        for block, value in zip(blocks, of_seed, strict=True):
            if isinstance(value, Record):
                records[block.key] = Record("evidence", block.key, value.status, reason=value.reason)
            else:
                arrays = Evidence({"value": np.array(value, dtype=np.float64)}).to_arrays()
                records[block.key] = Record("evidence", block.key, "ok", arrays=store.save(arrays))
    return records


def scored(store, study, values, metric=0):
    row = grid(study).rows[metric]
    return Desk(store).compute(row.score, given(store, row, values))


def test_blocks_are_merged_and_seeds_are_kept_apart(study, store):
    score = scored(store, study(seeds=[0, 1]), [[[1, 2], [3, 4]], [[10, 10], [10, 10]]])
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
    data = scored(store, study(environments=[environment], seeds=list(range(len(values)))), values).data
    assert data["basis"] == basis
    assert (data["low"] is None) == (basis in ("two", "equal"))
    if data["low"] is not None:
        assert data["low"] < data["value"] < data["high"]


def test_a_yes_or_no_about_each_model_gets_the_interval_of_a_share(study, store):
    untrained = "two_objects(network='resnet8', width=2, side=16, epochs=0)"
    table = {"environments": [untrained], "methods": ["random_map"], "metrics": ["ignores_part"], "samples": 2}
    data = next(record for record in finish(study(**table, seeds=[0, 1, 2]), store) if record.kind == "score").data
    assert (data["per_seed"], data["basis"]) == ([0.0, 0.0, 0.0], "seeds")
    assert (data["low"], data["high"]) == (0.0, pytest.approx(1 - 0.025 ** (1 / 3)))


@pytest.mark.parametrize(
    ("table", "unit", "samples"),
    [
        ({"environments": ["yard:Meadow"], "seeds": [0, 1]}, "seeds", None),
        ({"environments": ["yard:Field"], "seeds": [0, 1]}, "samples", [1, 2, 3, 4, 10, 12, 11, 13]),
        ({"environments": ["yard:Field"], "seeds": [0, 1], "data_seed": 0}, "samples", [5.5, 7, 7, 8.5]),
        ({"environments": ["yard:Field(rows=4)"], "seeds": [0, 1]}, "samples", None),  # shared, in another order
        ({"environments": ["yard:Field"], "metrics": ["yard:Prepares"], "seeds": [0, 1]}, "seeds", None),
    ],
)
def test_methods_are_compared_on_what_the_seed_draws(study, store, table, unit, samples):
    score = scored(store, study(**table), [SPREAD, HIGHER])
    assert score.data["unit"] == unit
    arrays = store.load(score)
    assert ("samples" in arrays) == (unit == "samples")
    if unit == "samples":
        assert arrays["samples_defined"].all()
        assert arrays["samples"].mean() == score.data["value"]
        assert len(arrays["samples"]) == (8 if samples and len(samples) == 8 else 4)
    if samples:
        assert arrays["samples"].tolist() == samples


def test_a_metric_that_prepares_makes_the_seed_a_unit(study, store):
    """What it prepares, as by training anew, is drawn once a seed, whatever the environment draws."""
    asked = study(environments=["yard:Field"], metrics=["yard:Prepares"], seeds=[0, 1])
    assert scored(store, asked, [SPREAD, HIGHER]).data["basis"] == "two"


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
        data = scored(store, asked, [SPREAD] * len(asked.seeds)).data
        widths.append(data["high"] - data["low"])
    assert widths[0] == pytest.approx(widths[1]) == pytest.approx(widths[2])
    assert widths[3] < 0.5 * widths[0]


def test_an_interval_ends_where_the_metric_s_range_does(study, store):
    asked = study(metrics=["yard:Share", "yard:Share(cut=False)"])
    kept, lost = (scored(store, asked, [[[0.95, 0.9], [0.3, 1.0]]], metric).data for metric in (0, 1))
    assert kept["value"] == lost["value"]
    assert kept["high"] == 1.0 < lost["high"]
    assert kept["low"] == lost["low"]


def test_samples_beyond_the_asked_number_do_not_count(study, store):
    score = scored(store, study(samples=3), [[[1, 2], [3, 1000]]])
    assert (score.data["value"], score.data["count"]) == (2.0, 3)


@pytest.mark.parametrize(("status", "reason"), [("failed", "RuntimeError: oh"), ("skipped", "needs a garden")])
def test_one_block_that_is_missing_is_no_score_and_its_reason_is_told(study, store, status, reason):
    score = scored(store, study(), [[[1, 2], Record("evidence", "", status, reason=reason)]])
    assert (score.status, score.reason) == (status, reason)
    assert (score.data, score.arrays) == ({}, "")


def test_one_seed_that_is_missing_is_no_score(study, store):
    bad = Record("evidence", "", "skipped", reason="no garden")
    score = scored(store, study(seeds=[0, 1]), [SPREAD, [bad, bad]])
    assert (score.status, score.reason) == ("skipped", "no garden")


@pytest.mark.parametrize("turned", [False, True])
def test_a_failure_is_told_before_a_skip(study, store, turned):
    bad = [
        Record("evidence", "", "skipped", reason="no garden"),
        Record("evidence", "", "failed", reason="broke"),
    ]
    score = scored(store, study(), [bad[::-1] if turned else bad])
    assert (score.status, score.reason) == ("failed", "broke")


def test_a_failed_score_is_made_again_and_an_answer_is_kept(study, store):
    row = grid(study()).rows[0]
    store.put(Record("score", row.score.key, "failed", reason="oh"))
    score = finish(study(), store)[-1]
    assert (score.key, score.status) == (row.score.key, "ok")
    assert finish(study(), store) == []
    assert store.get(row.score.key).origin == score.origin


def test_undefined_samples_are_counted_and_a_curve_is_kept(study, store):
    score = finish(study(metrics=["yard:Picky"]), store)[-1]
    assert (score.data["value"], score.data["count"], score.data["defined"]) == (0.5, 4, 2)
    arrays = store.load(score)
    assert arrays["curve"].tolist() == [0.5, 1.0]
    assert arrays["axis"].tolist() == [0.0, 1.0]


def test_nothing_defined_is_a_score_without_a_value(study, store):
    score = finish(study(metrics=["yard:Picky(below=0)"]), store)[-1]
    assert score.status == "ok"
    assert (score.data["value"], score.data["low"], score.data["count"], score.data["defined"]) == (None, None, 4, 0)


def test_methods_stay_apart(study, store):
    double = study(methods=["yard:Copy", "yard:Copy(k=3)", "yard:Refuses(start=2)"])
    finish(double, store)
    scores = [store.get(row.score.key) for row in grid(double).rows]
    assert [score.status for score in scores] == ["ok", "ok", "skipped"]
    assert scores[1].data["value"] == 3 * scores[0].data["value"] == 3 * (0.5 + 2.5 + 4.5 + 6.5) / 4
    assert scores[2].reason == "needs a garden"


def test_more_samples_are_another_score_of_the_same_evidence(study, store):
    finish(study(samples=4), store)
    fewer = finish(study(samples=3), store)
    assert [(record.kind, record.data["count"]) for record in fewer] == [("score", 3)]


# Faults.


@pytest.mark.parametrize("how", ["nan", "float32", "int64"])
def test_a_reduce_of_an_odd_kind_is_a_score_or_a_failed_one(study, store, how):
    both = study(metrics=[f"yard:Ends(how='{how}')", "yard:Total"])
    finish(both, store)
    odd, plain = (store.get(row.score.key) for row in grid(both).rows)
    assert odd.status == ("failed" if how == "nan" else "ok")
    assert plain.status == "ok"


def test_evidence_that_cannot_be_used_fails_its_own_score_only(study, store):
    double = study(metrics=["yard:Total", "yard:Picky"])
    finish(double, store)
    first, second = grid(double).rows
    records = {block.key: store.get(block.key) for block in first.score.needs}
    last = first.score.evidence[0][1].key
    records[last] = Record("evidence", last, "ok", arrays=store.save({"rows.other": np.ones(2)}))
    assert Desk(store).compute(first.score, records).status == "failed"
    assert store.get(second.score.key).status == "ok"


def test_evidence_that_is_damaged_after_planning_fails_its_score(study, store):
    finish(study(), store)
    row = grid(study()).rows[0]
    records = {block.key: store.get(block.key) for block in row.score.needs}
    store.arrays.path(records[row.score.needs[1].key].arrays).write_bytes(b"rubbish")
    score = Desk(store).compute(row.score, records)
    assert (score.status, "StoreError" in score.reason) == ("failed", True)
