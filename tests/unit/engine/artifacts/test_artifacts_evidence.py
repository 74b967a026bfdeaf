"""Evidence is what a metric says about one trial, checked."""

import pytest

from assay.catalogue.build import build
from assay.catalogue.registry import card, catalogue, resolve
from assay.core.question import Question
from assay.core.spec import Spec
from assay.core.trial import Trial
from assay.engine.artifacts.artifact import Block
from assay.engine.artifacts.desk import Desk
from assay.engine.artifacts.evidence import make_evidence
from assay.engine.artifacts.trial import make_trials
from oracles.metrics.scenes import image_scene, numbers
from yard_study import component, finish, here, kinds, realised, todo


def judged(metric, method="yard:Copy", environment="yard:Meadow"):
    (trial,) = make_trials(here(environment), component("methods", method), Question(), (Block(0, 2),))
    return make_evidence(trial, component("metrics", metric))


def test_a_trial_comes_first_and_then_its_evidence(study, store):
    records = finish(study(), store)
    assert kinds(records) == [("trial", "ok"), ("evidence", "ok")] * 2 + [("score", "ok")]
    assert store.load(records[1])["rows.value"].tolist() == [0.5, 2.5]
    assert records[1].data == {"metric": "yard:Total(k=1.0)", "trial": records[0].key}


def test_evidence_needs_what_its_metric_uses():
    def needs(*asked):
        return [need.kind for need in judged(*asked).needs]

    assert needs("yard:Calm") == ["trial"]
    assert needs("yard:Calm", "yard:Fits", "yard:Orchard") == ["trial", "model"]
    assert needs("yard:Total", "yard:Fits", "yard:Orchard") == ["trial", "model", "fit"]  # it may ask again
    assert needs("yard:Probes") == ["trial", "probe"]
    assert needs("yard:Prepares") == ["trial", "prepared"]


def test_metrics_that_differ_only_in_what_reduce_reads_share_their_evidence():
    plain, strict, fewer = (judged(use) for use in ("soundness", "soundness(start=-1, lag=True)", "soundness(steps=9)"))
    assert plain.key == strict.key != fewer.key


OTHERS = {  # of metrics that share evidence: other values of the parameters that only ``reduce`` reads
    "soundness": {"threshold": 0.4, "strict": False, "start": -1.0, "lag": True, "levels": (0.3,)},
    "mask_leakage": {"folds": 3},
}


@pytest.mark.parametrize("name", [name for name, card in catalogue("metrics").items() if card.fact("after_evidence")])
def test_evidence_does_not_depend_on_the_parameters_that_its_metric_names(name):
    others = OTHERS[name]
    assert set(card("metrics", name).fact("after_evidence")) == set(others)
    trial = Trial(image_scene(4), numbers(1, 4, 6, 6))
    found = [build("metrics", resolve("metrics", spec))(trial) for spec in (Spec(name), Spec.of(name, **others))]
    assert {key: rows.tolist() for key, rows in found[0].rows.items()} == {
        key: rows.tolist() for key, rows in found[1].rows.items()
    }


@pytest.mark.parametrize(
    ("how", "said"),
    [("short", "returned 1 rows of 'value' for 2 samples"), ("nan", "NaN"), ("inf", "infinite")],
)
def test_evidence_is_checked(study, store, how, said):
    records = finish(study(metrics=[f"yard:Wrong(how='{how}')", "yard:Total"]), store)
    by_kind = {kind: [record for record in records if record.kind == kind] for kind in ("trial", "evidence", "score")}
    assert {record.status for record in by_kind["trial"]} == {"ok"}
    assert [record.status for record in by_kind["evidence"]] == ["failed", "ok"] * 2
    assert sorted(record.status for record in by_kind["score"]) == ["failed", "ok"]
    assert said in by_kind["evidence"][0].reason
    assert {said in record.reason for record in by_kind["score"]} == {True, False}


def test_a_known_trial_is_judged_without_being_computed_again(study, store, monkeypatch):
    finish(study(), store)
    monkeypatch.setattr("assay.engine.artifacts.answer.answer_with_promise", lambda *_: pytest.fail("computed again"))
    records = finish(study(metrics=["yard:Total", "yard:Picky"]), store)
    assert kinds(records) == [("evidence", "ok")] * 2 + [("score", "ok")]


@pytest.mark.parametrize("how", ["gone", "damaged"])
def test_a_trial_whose_arrays_are_lost_after_planning_fails_its_evidence(study, store, how):
    finish(study(), store)
    first = todo(study(metrics=["yard:Picky"]), store).artifacts[0]
    known = store.get(first.trial.key)
    path = store.arrays.path(known.arrays)
    path.unlink() if how == "gone" else path.write_bytes(b"rubbish")
    record = Desk(store).compute(first, {known.key: known})
    assert (record.kind, record.status) == ("evidence", "failed")
    assert "StoreError" in record.reason


def test_a_metric_may_ask_the_method_again_and_gets_its_answers():
    found = judged("yard:AsksAgain", "yard:Fits")
    memory = realised(found, raises=True)
    assert memory.arrays(found)["rows.value"].tolist() == [0.0, 0.0]  # the difference between the two answers


def test_a_metric_is_told_how_well_the_method_knows_its_answer():
    stated, silent = judged("yard:Resolution", "yard:Rounds"), judged("yard:Resolution")
    memory = realised(stated, silent)
    assert memory.arrays(stated)["rows.value"].tolist() == [0.75, 0.75]
    assert memory.arrays(silent)["rows.value"].tolist() == [0.0, 0.0]


def test_somebody_else_s_metric_draws_the_same_numbers_for_every_method():
    """Its numbers are the block's, not the run's."""
    first, second = judged("strangers:noisy_mean", "yard:Copy(k=0)"), judged("strangers:noisy_mean", "yard:Copy(k=2)")
    memory = realised(first, second)
    noise = memory.arrays(first)["rows.value"]
    means = memory.arrays(second.trial)["attribution"].mean(axis=1)
    assert memory.arrays(second)["rows.value"] == pytest.approx(noise + means)
    assert len(set(noise.tolist())) == 2
