"""A method's answer about one block."""

import numpy as np
import pytest

from assay.core.question import Question
from assay.engine.artifacts.artifact import split_blocks
from assay.engine.artifacts.trial import make_trials
from yard_study import component, finish, here, kinds, realised


def asked(text, where=None, question=Question(), samples=4):
    return make_trials(where or here(), component("methods", text), question, split_blocks(samples, 2))


def test_a_trial_is_the_attribution_of_a_block_and_says_what_was_asked():
    first, second = found = asked("yard:Copy(k=2)")
    memory = realised(*found)
    assert memory.arrays(first)["attribution"].tolist() == [[0.0, 1.0, 0.0], [2.0, 3.0, 0.0]]
    assert memory.arrays(second)["attribution"].tolist() == [[4.0, 5.0, 0.0], [6.0, 7.0, 0.0]]
    question = {"readout": "logit", "temperature": 1.0, "baseline": "zero", "target": "label"}
    assert memory[second].data == {
        "environment": "yard:Meadow(scale=1.0)",
        "method": "yard:Copy(k=2.0)",
        "seed": 0,
        "block": [2, 4],
        "question": question,
        "environment_question": question,
        "outputs": "logits",
    }


def test_a_method_s_own_question_is_asked():
    (first,) = asked("gradient", question=Question(readout="margin"), samples=2)
    found = realised(first)[first].data
    assert (found["question"]["readout"], found["environment_question"]["readout"]) == ("margin", "logit")


def test_a_trial_needs_its_model_and_its_fit_where_there_are_any():
    def needs(method, environment):
        return [need.kind for need in asked(method, here(environment))[0].needs]

    assert needs("yard:Copy", "yard:Meadow") == []
    assert needs("yard:Fits", "yard:Meadow") == ["fit"]
    assert needs("yard:Copy", "yard:Orchard") == ["model"]
    assert needs("yard:Fits", "yard:Orchard") == ["model", "fit"]


def test_a_promise_and_its_gap_are_kept_with_the_map(study, store):
    records = finish(study(methods=["integrated_gradients(steps=3)", "gradient"]), store)
    kept = [record for record in records if record.kind == "trial"]
    promising = [record for record in kept if record.data["method"].startswith("integrated_gradients")]
    assert promising
    for record in promising:
        arrays = store.load(record)
        sums = arrays["attribution"].astype(np.float64).reshape(2, -1).sum(axis=1)
        assert np.allclose(arrays["gap"], sums - arrays["promised"])
        assert np.abs(arrays["promised"]).max() > 0.1
        assert np.abs(arrays["gap"]).max() < 1e-5  # the model is linear
        assert record.data["completeness"]["promised"] == np.abs(arrays["promised"]).sum()
    for record in [one for one in kept if one not in promising]:
        assert set(store.load(record)) == {"attribution"}
        assert "completeness" not in record.data


@pytest.mark.parametrize(
    ("method", "status", "reason"),
    [("yard:Refuses", "skipped", "needs a garden"), ("yard:Breaks", "failed", "RuntimeError: the spade broke")],
)
def test_evidence_and_score_of_a_trial_that_did_not_end_well_say_the_same(study, store, method, status, reason):
    records = finish(study(methods=[method]), store)
    assert kinds(records) == [(kind, status) for kind in ("trial", "evidence", "trial", "evidence", "score")]
    assert {record.reason for record in records} == {reason}
    assert all(bool(record.traceback) == (status == "failed") for record in records)


def test_one_bad_block_spoils_no_other(study, store):
    records = finish(study(methods=["yard:Breaks(start=2)"]), store)
    assert kinds(records) == [
        ("trial", "ok"),
        ("evidence", "ok"),
        ("trial", "failed"),
        ("evidence", "failed"),
        ("score", "failed"),
    ]


def test_a_method_s_random_numbers_are_its_own_and_the_sample_s():
    """Another block size, another method beside it: the same numbers for the same sample."""
    method, question = component("methods", "random_map"), Question()
    two, four = (make_trials(here(), method, question, split_blocks(4, size)) for size in (2, 4))
    memory = realised(*asked("yard:Copy"), *two, *four)
    parts = [memory.arrays(trial)["attribution"] for trial in two]
    assert np.array_equal(np.concatenate(parts), memory.arrays(four[0])["attribution"])
    assert not np.array_equal(parts[0], parts[1])
    (other,) = make_trials(here(data_seed=1), method, question, split_blocks(2, 2))
    assert not np.array_equal(realised(other).arrays(other)["attribution"], parts[0])
