"""What a metric prepares for a method sees reference rows only, once for all blocks."""

import numpy as np
import pytest

from assay.core.question import Question
from assay.engine.artifacts.artifact import Block
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.evidence import make_evidence
from assay.engine.artifacts.trial import make_trials
from assay.metrics.roar import Roar
from yard_study import component, finish, here, kinds, realised

ROWS = np.arange(12.0).reshape(4, 3)  # the reference rows of the yard


def prepared(method="yard:Copy(k=2)", where=None, block=Block(0, 2)):
    (trial,) = make_trials(where or here(), component("methods", method), Question(), (block,))
    return make_evidence(trial, component("metrics", "yard:DrawsFirst")).prepared


def test_it_is_the_method_s_attribution_of_the_reference_rows():
    found = prepared()
    memory = realised(found)
    assert memory.arrays(found)["x"].tolist() == ROWS.tolist()
    assert memory.arrays(found)["map"].tolist() == (2 * ROWS).tolist()
    assert memory[found].data == {"metric": "yard:DrawsFirst", "method": "yard:Copy(k=2.0)"}


def test_it_is_made_once_for_all_blocks_and_used(study, store):
    records = finish(study(methods=["yard:Copy(k=0)", "yard:Copy(k=2)"], metrics=["yard:DrawsFirst"]), store)
    assert kinds(records).count(("prepared", "ok")) == 2
    judged = {record.data["trial"]: store.load(record)["rows.value"] for record in records if record.kind == "evidence"}
    trials = [record for record in records if record.kind == "trial"]
    for trial in trials:
        factor = 2.0 if "k=2" in trial.data["method"] else 0.0
        map_sums = store.load(trial)["attribution"].sum(axis=1)
        assert judged[trial.key].tolist() == (map_sums + factor * ROWS.sum()).tolist()


def test_blocks_and_data_seeds_share_it_and_what_it_draws():
    first, later, other_data = prepared(), prepared(block=Block(2, 4)), prepared(where=here(data_seed=1))
    assert first.key == later.key == other_data.key
    arrays = [realised(found).arrays(found)["random"].tolist() for found in (first, later, other_data)]
    assert arrays[0] == arrays[1] == arrays[2]


def test_what_the_method_draws_for_it_does_not_depend_on_the_evaluated_samples():
    first, other_data, other_model = (
        prepared("random_map", where) for where in (here(), here(data_seed=1), here(seed=1))
    )
    maps = [realised(found).arrays(found)["map"].tolist() for found in (first, other_data, other_model)]
    assert maps[0] == maps[1] != maps[2]


@pytest.mark.parametrize("where", [here(seed=1), here("yard:Meadow(scale=2)")])
def test_another_model_has_another_one(where):
    first, other = prepared(), prepared(where=where)
    assert first.key != other.key
    assert realised(first).arrays(first)["random"].tolist() != realised(other).arrays(other)["random"].tolist()


def test_what_it_draws_does_not_depend_on_the_method():
    first, other = prepared(), prepared("yard:Fits")
    assert first.key != other.key
    assert realised(first).arrays(first)["random"].tolist() == realised(other).arrays(other)["random"].tolist()


def test_without_reference_rows_it_does_not_apply():
    found = prepared(where=here("yard:Desert"))
    record = realised(found)[found]
    assert (record.status, record.reason) == (
        "skipped",
        "needs reference data to prepare, and this environment has none",
    )


def test_metrics_that_differ_only_in_what_is_not_prepared_share_it():
    (trial,) = make_trials(here(), component("methods", "yard:Copy(k=2)"), Question(), (Block(0, 2),))
    accuracy, auroc, other = (
        make_evidence(trial, component("metrics", use))
        for use in ("roar(repeats=2)", "roar(repeats=2, measure='auroc')", "roar(repeats=3)")
    )
    assert accuracy.prepared.key == auroc.prepared.key != other.prepared.key
    assert accuracy.key != auroc.key


def test_an_object_prepares_as_its_spec_does():
    given = Component("metrics", instance=Roar(repeats=2, measure="auroc"))
    assert given.preparing.instance == Roar(repeats=2)
    assert component("metrics", "roar(repeats=2, measure='auroc')").preparing.build() == Roar(repeats=2)
