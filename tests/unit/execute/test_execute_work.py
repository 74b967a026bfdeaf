"""A job becomes records: what a worker does, and what it has at hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from assay.core.build import describe
from assay.core.machine import Machine
from assay.core.registry import resolve
from assay.core.spec import Spec
from assay.execute.desk import Desk
from assay.execute.inline import Inline
from assay.execute.jobs import TrialJob
from assay.execute.plan import plan
from assay.execute.work import perform
from assay.study.keys import Block, Place


def finish(study, store, machine=Machine()):
    """Run all jobs here; the records, in order."""
    records = []
    for record in Inline(machine).run(plan(study, store, machine.dtype).jobs, store):
        store.put(record)
        records.append(record)
    return records


def kinds(records):
    return [(record.kind, record.status) for record in records]


def test_a_trial_comes_first_and_then_its_evidence(study, store):
    records = finish(study(), store)
    assert kinds(records) == [("trial", "ok"), ("evidence", "ok")] * 2
    attribution = store.load(records[0])["attribution"]
    assert attribution.tolist() == [[0.0, 0.5, 0.0], [1.0, 1.5, 0.0]]
    assert store.load(records[1])["rows.value"].tolist() == [0.5, 2.5]
    assert records[0].data["block"] == [0, 2]
    question = records[0].data["question"]
    assert question == {
        "readout": "logit",
        "temperature": 1.0,
        "baseline": "zero",
        "target": "label",
    }
    assert "memory_halved" not in records[0].data
    assert records[1].data["trial"] == records[0].key


def test_a_model_is_trained_and_then_used(study, store, yard):
    records = finish(study(environments=["yard:Orchard"], methods=["gradient"], seeds=[3], data_seed=0), store)
    assert yard.trained == [3]
    model, trial = records[0], records[1]
    assert (model.kind, model.data["seed"]) == ("model", 3)
    assert store.load(model)["weight"].tolist() == [[4.0, 5.0, 6.0], [2.0, 3.0, 4.0]]
    assert store.load(trial)["attribution"].tolist() == [[4.0, 5.0, 6.0], [2.0, 3.0, 4.0]]  # targets 0 and 1


def test_a_fit_and_a_probe_are_made_once_and_used(study, store):
    records = finish(study(methods=["yard:Fits", "yard:Copy"], metrics=["yard:Probes"]), store)
    assert kinds(records).count(("fit", "ok")) == 1
    assert kinds(records).count(("probe", "ok")) == 2
    mean = store.load(next(record for record in records if record.kind == "fit"))["mean"]
    assert mean.tolist() == [4.5, 5.5, 6.5]
    fitted = next(record for record in records if record.data.get("method") == "yard:Fits" and record.kind == "trial")
    assert store.load(fitted)["attribution"].tolist() == [[-4.5, -5.0, -6.5], [-3.5, -4.0, -6.5]]


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


def test_gallery_samples_say_what_they_are(study, store):
    records = finish(study(gallery=3), store)
    kept = records[0]
    assert kept.kind == "samples"
    arrays = store.load(kept)
    assert {name: array.shape for name, array in arrays.items()} == {"x": (3, 3), "label": (3,), "effect": (3, 3)}
    assert kept.data["names"] == ["a", "b", "c"]
    assert kept.data["classes"] == ["no", "yes"]
    assert (kept.data["kind"], kept.data["entries"], kept.data["features"]) == ("table", [3], [3])


def test_a_trial_that_is_skipped_or_failed_is_not_judged(study, store):
    records = finish(study(methods=["yard:Refuses", "yard:Breaks"]), store)
    assert kinds(records) == [("trial", "skipped")] * 2 + [("trial", "failed")] * 2
    assert records[0].reason == "needs a garden"
    assert records[2].reason == "RuntimeError: the spade broke"


def test_a_model_that_failed_fails_what_needs_it_and_says_so(study, store):
    records = finish(study(environments=["yard:Orchard(fails=True)"], methods=["yard:Fits"], gallery=1), store)
    assert kinds(records) == [("model", "failed"), ("samples", "failed"), ("fit", "failed"), *[("trial", "failed")] * 2]
    assert records[-1].reason == "its model failed: RuntimeError: no fruit this year"


@pytest.mark.parametrize(
    ("how", "said"),
    [("short", "returned 1 rows of 'value' for 2 samples"), ("nan", "NaN"), ("inf", "infinite")],
)
def test_evidence_is_checked(study, store, how, said):
    records = finish(study(metrics=[f"yard:Wrong(how='{how}')", "yard:Total"]), store)
    assert kinds(records) == [("trial", "ok"), ("evidence", "failed"), ("evidence", "ok")] * 2
    assert said in records[1].reason


def test_a_halved_budget_is_flagged_in_the_record(study, store):
    machine = Machine(memory=2**22)
    records = finish(
        study(methods=["yard:Hungry", f"yard:Hungry(most={2**18})", "yard:Hungry(most=1)"]), store, machine
    )
    trials = [record for record in records if record.kind == "trial"]
    assert [record.data["memory_halved"] for record in trials] == [2, 2, -1, -1, -1, -1]
    assert finish(study(methods=["yard:Hungry(most=4194304)"]), store, machine)[0].data.get("memory_halved") is None


def test_the_number_format_of_the_machine_is_used(study, store):
    (first, *_) = finish(study(methods=["gradient"]), store, Machine(dtype="float64"))
    assert store.load(first)["attribution"].dtype == np.float64


def test_a_known_trial_is_judged_without_being_computed_again(study, store, monkeypatch):
    finish(study(), store)
    monkeypatch.setattr("assay.execute.work.answered", lambda *_: pytest.fail("computed again"))
    records = finish(study(metrics=["yard:Total", "yard:Picky"]), store)
    assert kinds(records) == [("evidence", "ok")] * 2


def test_threads_are_given_back(study, store):
    before = torch.get_num_threads()
    run = Inline(Machine(threads=2)).run(plan(study(), store).jobs, store)
    next(run)
    run.close()
    assert torch.get_num_threads() == before


# The desk.


def full(text, kind="methods"):
    return resolve(kind, Spec.parse(text))


def test_a_desk_makes_everything_once(tmp_path, yard):
    desk = Desk(tmp_path)
    place = Place(full("yard:Meadow", "environments"), 0, 0)
    assert desk.component("methods", full("yard:Copy")) is desk.component("methods", full("yard:Copy"))
    assert desk.component("methods", full("yard:Copy")) == yard.Copy()
    assert desk.setting(place, "", {}) is desk.setting(place, "", {})
    assert desk.samples(place, Block(0, 2)) is desk.samples(place, Block(0, 2))
    assert desk.samples(place, Block(0, 2)) is not desk.samples(place, Block(2, 4))
    assert desk.samples(replace(place, data_seed=1), Block(0, 2)).x[0, 2] == 1
    assert desk.setting(replace(place, seed=1), "", {}) is not desk.setting(place, "", {})


def test_a_desk_keeps_the_latest_and_lets_the_oldest_go(tmp_path):
    desk = Desk(tmp_path)
    made = []
    for name in (*range(64), 0, 64, 0, 1):
        desk._keep(name, lambda name=name: made.append(name))
    assert made == [*range(64), 64, 1]  # 0 was used again in time, 1 had to be made again


def test_what_a_metric_draws_does_not_depend_on_the_method(tmp_path, yard):
    desk = Desk(tmp_path)
    place = Place(full("yard:Meadow", "environments"), 0, 0)
    setting, samples = desk.setting(place, "", {}), desk.samples(place, Block(0, 2))
    from assay.core.question import Question

    first = desk.scene(place, setting, samples, Question(), full("yard:Total", "metrics"))
    second = desk.scene(place, setting, samples, Question(baseline=1.0), full("yard:Total", "metrics"))
    other = desk.scene(place, setting, samples, Question(), full("yard:Total(k=2)", "metrics"))
    assert first.stream == second.stream != other.stream
    assert second.question == Question("logit", 1.0, 1.0, "label")


def test_arrays_go_to_the_store_and_back(tmp_path):
    from assay.core.records import Record

    desk = Desk(tmp_path)
    digest = desk.save({"a": np.arange(3.0)})
    assert desk.tensors(Record("fit", "k", "ok", arrays=digest))["a"].tolist() == [0, 1, 2]
    assert desk.load(Record("fit", "k", "ok")) == {}


# A component that was made by hand.


@pytest.mark.parametrize(
    "text",
    ["gradient", "smoothed(of=integrated_gradients(steps=3))", "yard:Copy(k=2.0)", "yard:Around(of=lrp)"],
)
def test_describe_is_the_inverse_of_build(text):
    from assay.core.build import build

    assert str(describe(build("methods", full(text)))) == str(full(text))


def test_a_component_made_by_hand_has_the_spec_that_a_study_gives_it():
    from assay.methods.smoothed import Smoothed

    assert str(describe(Smoothed(noise=1))) == str(full("smoothed(noise=1)"))


# Faults.


def test_specs_with_different_keys_are_different_components(tmp_path):
    desk = Desk(tmp_path)
    specs = [Spec.of("foreign_functions:f", k=k) for k in (1, True, 1.0)]
    (tmp_path / "foreign_functions.py").write_text("def f(query, k): ...\n")
    import sys

    sys.path.insert(0, str(tmp_path))
    try:
        found = [desk.component("methods", spec).params["k"] for spec in specs]
    finally:
        sys.path.remove(str(tmp_path))
    assert [type(k) for k in found] == [int, bool, float]


@pytest.mark.parametrize("how", ["gone", "damaged"])
def test_a_known_trial_without_its_arrays_is_a_failed_record(study, store, tmp_path, how):
    finish(study(), store)
    more = [job for job in plan(study(metrics=["yard:Picky"]), store).jobs if isinstance(job, TrialJob)]
    known = store.get(more[0].key)
    path = store.arrays.path(known.arrays)
    path.unlink() if how == "gone" else path.write_bytes(b"rubbish")
    records = list(perform(replace(more[0], known=True), {known.key: known}, Desk(store.root)))
    assert [record.status for record in records] == ["failed"]


def test_a_metric_cannot_change_what_the_next_one_sees(study, store):
    records = finish(study(metrics=["yard:Tramples", "yard:Total"]), store)
    judged = [store.load(record)["rows.value"].tolist() for record in records if record.kind == "evidence"]
    assert judged[0] == judged[1]
