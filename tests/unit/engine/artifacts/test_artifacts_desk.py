"""A worker's desk: what it has at hand, the streams it names, and the memory it works within."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

from assay.core.errors import BadAttribution, NotApplicable
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.records import Record
from assay.core.rng import Stream
from assay.engine.artifacts.artifact import Block, Computed, Group
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.desk import CACHE_SIZES, Desk
from assay.engine.artifacts.fit import FitArtifact
from assay.engine.artifacts.outcome import Blocked
from assay.engine.artifacts.trial import TrialArtifact
from assay.engine.store.memory import MemoryStore
from yard_study import component, finish, here, kinds


@pytest.fixture
def desk():
    return Desk(MemoryStore())


# What is at hand.


def test_a_desk_makes_everything_once(desk, yard):
    place = here()
    assert desk.component(component("methods", "yard:Copy")) is desk.component(component("methods", "yard:Copy"))
    assert desk.component(component("methods", "yard:Copy")) == yard.Copy()
    assert desk.setting(place.model) is desk.setting(here().model)
    assert desk.samples(place, range(2)) is desk.samples(here(), range(2))
    assert desk.samples(place, range(2)) is not desk.samples(place, range(2, 4))
    assert desk.samples(here(data_seed=1), range(2)).x[0, 2] == 1
    assert desk.setting(here(seed=1).model) is not desk.setting(place.model)


def test_specs_with_different_keys_are_different_components(desk, yard):
    first, second = component("methods", "yard:Copy(k=1)"), component("methods", "yard:Copy(k=2)")
    assert (desk.component(first).k, desk.component(second).k) == (1, 2)


def test_a_desk_keeps_the_latest_and_lets_the_oldest_go(desk):
    made = []
    most = CACHE_SIZES["samples"]
    for name in (*range(most), 0, most, 0, 1):
        desk._cached("samples", name, lambda name=name: made.append(name))
    assert made == [*range(most), most, 1]  # 0 was used again in time, 1 had to be made again


def test_what_is_at_hand_stays_when_the_memory_budget_changes(yard):
    """Each attempt has another machine, and the same things."""
    desk, place = Desk(MemoryStore(), Machine(memory=2**22)), here()
    before = desk.setting(place.model)
    trial = TrialArtifact(FitArtifact(place, component("methods", "yard:Hungry"), Question()), Block(0, 2))
    assert desk.compute(trial, {}).data["memory_halved"] == 2
    assert desk.setting(place.model) is before


def test_arrays_go_to_the_store_and_back_as_tensors_of_their_own(desk):
    artifact = FitArtifact(here(), component("methods", "yard:Fits"), Question())
    record = Record("fit", artifact.key, "ok", arrays=desk.store.save({"a": np.arange(3.0)}))
    own = Desk(desk.store, records={artifact.key: record})
    own.tensors(artifact)["a"].zero_()
    assert own.tensors(artifact)["a"].tolist() == [0, 1, 2]
    assert Desk(desk.store, records={artifact.key: Record("fit", artifact.key, "ok")}).load(artifact) == {}


@pytest.mark.parametrize("status", ["skipped", "failed"])
def test_what_did_not_end_well_cannot_be_loaded(desk, status):
    artifact = FitArtifact(here(), component("methods", "yard:Fits"), Question())
    record = Record("fit", artifact.key, status, reason="oh")
    with pytest.raises(Blocked) as blocked:
        Desk(desk.store, records={artifact.key: record}).load(artifact)
    assert blocked.value.record is record


def test_the_number_format_of_the_machine_is_used(study, store):
    (first, *_) = finish(study(methods=["gradient"]), store, Machine(dtype="float64"))
    assert store.load(first)["attribution"].dtype == np.float64


# Streams.


def test_what_a_metric_draws_does_not_depend_on_the_method_or_its_question(desk):
    place = here()
    samples = desk.samples(place, range(2))
    first = desk.scene(place, samples, Question(), component("metrics", "yard:Total"))
    second = desk.scene(place, samples, Question(baseline=1.0), component("metrics", "yard:Total"))
    other = desk.scene(place, samples, Question(), component("metrics", "yard:Total(k=2)"))
    assert first.stream == second.stream != other.stream
    assert second.question == Question("logit", 1.0, 1.0, "label")


def test_a_stream_names_who_draws_and_where(desk):
    found = desk.stream("method", component("methods", "yard:Copy"), here("yard:Meadow(scale=2)", 3, 4))
    assert found == Stream("method", "yard:Copy(k=1.0)", "yard:Meadow(scale=2.0)", 3, 4)


# Memory.

OUT_OF_MEMORY = [
    MemoryError(),
    torch.OutOfMemoryError("CUDA out of memory"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:119] err == 0. DefaultCPUAllocator: can't allocate memory: you tried"),
]


@dataclass(frozen=True, eq=False)
class Hungry:
    """An artifact that ends with an error so many times."""

    error: Exception
    times: int
    seen: list[int] = field(default_factory=list)
    key: str = "k"
    needs: tuple[Any, ...] = ()
    kind: str = "probe"

    @property
    def group(self):
        return Group(self.kind, Component("metrics", instance=self))

    def compute(self, desk):
        self.seen.append(desk.machine.memory)
        if len(self.seen) <= self.times:
            raise self.error
        return Computed({}, {"found": 1})


def small_desk():
    return Desk(MemoryStore(), Machine(memory=1024))


@pytest.mark.parametrize("error", OUT_OF_MEMORY)
@pytest.mark.parametrize("times", [0, 1, 2, 3])
def test_a_budget_is_halved_until_it_fits_and_that_is_counted(error, times):
    hungry = Hungry(error, times)
    record = small_desk().compute(hungry, {})
    assert (record.status, record.data) == ("ok", {"found": 1, **({"memory_halved": times} if times else {})})
    assert hungry.seen == [1024, 512, 256, 128][: times + 1]


def test_when_halving_does_not_help_rows_go_one_by_one():
    hungry = Hungry(MemoryError(), 4)
    assert small_desk().compute(hungry, {}).data["memory_halved"] == -1  # flagged, though not by a count
    assert hungry.seen == [1024, 512, 256, 128, 1]


@pytest.mark.parametrize(
    ("machine", "remedies"),
    [
        (Machine(memory=1024), "fewer --workers, smaller inputs or"),
        (Machine("cuda", "float64", 1024), "fewer --workers, smaller inputs, --dtype float32, --device cpu or"),
    ],
)
def test_what_never_fits_fails_with_advice(machine, remedies, monkeypatch):
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    hungry = Hungry(RuntimeError("can't allocate memory: you tried"), 9)
    record = Desk(MemoryStore(), machine).compute(hungry, {})
    assert (record.status, record.reason) == (
        "failed",
        f"MemoryError: not even one row a call fits into memory: try {remedies} a machine with more memory "
        "(RuntimeError: can't allocate memory: you tried)",
    )
    assert len(hungry.seen) == 5


def test_a_training_that_does_not_fit_is_not_tried_again():
    training = Hungry(MemoryError("too large"), 9, kind="model")
    record = small_desk().compute(training, {})
    assert "a training does not fit into memory: try fewer --workers" in record.reason
    assert training.seen == [1024]


@pytest.mark.parametrize(("device", "emptied"), [("cuda:1", [1, 2, 3, 4]), ("cpu", [])])
def test_cuda_gives_its_cache_back_before_each_further_try(device, emptied, monkeypatch):
    hungry, tries = Hungry(torch.OutOfMemoryError("CUDA out of memory"), 4), []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: tries.append(len(hungry.seen)))
    assert Desk(MemoryStore(), Machine(device, memory=1024)).compute(hungry, {}).status == "ok"
    assert tries == emptied


@pytest.mark.parametrize("error", [RuntimeError("shapes do not match"), NotApplicable("no"), BadAttribution("nan")])
def test_another_error_is_not_tried_again(error):
    hungry = Hungry(error, 9)
    assert small_desk().compute(hungry, {}).status != "ok"
    assert hungry.seen == [1024]


def test_errors_pass_through_where_that_is_asked_for():
    with pytest.raises(RuntimeError, match="oh"):
        small_desk().compute(Hungry(RuntimeError("oh"), 9), {}, raises=True)


def test_a_halved_budget_is_flagged_in_the_record_of_a_trial(study, store):
    machine = Machine(memory=2**22)
    records = finish(
        study(methods=["yard:Hungry", f"yard:Hungry(most={2**18})", "yard:Hungry(most=1)"]), store, machine
    )
    trials = [record for record in records if record.kind == "trial"]
    assert sorted(record.data["memory_halved"] for record in trials) == [-1, -1, -1, -1, 2, 2]  # in the order of times
    assert finish(study(methods=["yard:Hungry(most=4194304)"]), store, machine)[0].data.get("memory_halved") is None


def test_a_halved_budget_is_flagged_for_probes_and_evidence_too(study, store):
    records = finish(study(metrics=["yard:HungryMetric"]), store, Machine(memory=2**22))
    assert {status for _, status in kinds(records)} == {"ok"}
    halved = {record.kind: record.data.get("memory_halved") for record in records}
    assert halved == {"probe": 2, "trial": None, "evidence": 2, "score": None}


# What a record says about its making.


def test_a_record_says_with_what_it_was_made_outside_of_its_result(study, store):
    machine = Machine(memory=2**25, threads=2)
    records = finish(study(metrics=["yard:HungryMetric"]), store, machine)
    for record in records:
        made = {name: record.origin[name] for name in ("device", "dtype", "memory", "threads")}
        assert made == {"device": "cpu", "dtype": "float32", "memory": 2**25, "threads": 2}
        assert "origin" not in record.result


def test_the_first_artifact_of_a_group_in_a_process_is_marked(study, store):
    records = finish(study(methods=["yard:Copy", "yard:Fits"], samples=6), store)
    trials = [record for record in records if record.kind == "trial"]
    groups = {record.origin["group"] for record in trials}
    assert len(groups) == 2
    for group in groups:
        assert sorted(record.origin["first"] for record in trials if record.origin["group"] == group) == [False] * 2 + [
            True
        ]
