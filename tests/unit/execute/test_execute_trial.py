"""What happens to a method: it sees copies, it is asked everything, and its memory is halved when it must be."""

from dataclasses import replace

import pytest
import torch

from assay.artifacts.asking import answer_within, attribute, fit, pose
from assay.core.errors import BadAttribution, NotApplicable
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.setting import Samples
from scenes import ask, data, mlp

MACHINE = Machine(memory=1024)


def query():
    return ask(mlp(), data(4, 6), machine=MACHINE)


def samples(x):
    return Samples(x, torch.tensor([0, 1, 2, 0]), None, (8, 9, 10, 11))


def test_a_question_is_posed_with_nothing_left_open():
    place, x = query().setting, data(4, 6)
    asked = pose(place, samples(x), Question(readout="margin", baseline=0.5), ("s", 1), MACHINE)
    assert asked.question == Question("margin", 1.0, 0.5, "label")
    assert torch.equal(asked.x, x)
    assert asked.target.tolist() == [0, 1, 2, 0]
    assert torch.equal(asked.baseline, torch.full((4, 6), 0.5))
    assert (asked.indices, asked.stream, asked.machine) == ((8, 9, 10, 11), ("s", 1), MACHINE)
    predicted = pose(place, samples(x), Question(target="predicted"), (), MACHINE)
    assert torch.equal(predicted.target, asked.outputs(x).argmax(dim=1))


def test_a_baseline_that_is_not_there_is_not_applicable():
    with pytest.raises(NotApplicable, match="true baseline"):
        pose(query().setting, samples(data(4, 6)), Question(baseline="true"), (), MACHINE)


def test_a_method_works_on_copies():
    asked = query()
    before = [tensor.clone() for tensor in (asked.x, asked.target, asked.baseline)]

    def tramples(own):
        own.x.zero_()
        own.target.zero_()
        own.baseline.add_(1)
        return own.x

    attribute(tramples, asked)
    for tensor, copy in zip((asked.x, asked.target, asked.baseline), before, strict=True):
        assert torch.equal(tensor, copy)


def test_a_baseline_that_is_one_row_for_all_is_a_copy_too():
    asked = query()
    shared = torch.zeros(6)
    asked = replace(asked, baseline=shared.expand_as(asked.x))
    attribute(lambda own: own.baseline.add_(1), asked)
    assert torch.equal(shared, torch.zeros(6))


def test_an_answer_is_checked():
    asked = query()
    with pytest.raises(BadAttribution, match="shape"):
        attribute(lambda own: own.x[:, :2], asked)
    with pytest.raises(BadAttribution, match="4 of 4"):
        attribute(lambda own: own.x / 0, asked)
    assert attribute(lambda own: own.x.double(), asked).dtype == torch.float32


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:119] err == 0. DefaultCPUAllocator: can't allocate memory: you tried"
        ),
    ],
)
@pytest.mark.parametrize("halvings", [0, 1, 2, 3])
def test_a_budget_is_halved_until_it_fits_and_that_is_counted(error, halvings):
    seen = []

    def hungry(own):
        seen.append(own.machine.memory)
        if len(seen) <= halvings:
            raise error
        return own.x

    found = answer_within(hungry, query())
    assert found.halved == halvings
    assert seen == [1024, 512, 256, 128][: halvings + 1]
    assert torch.equal(found.attribution, query().x)


def test_when_halving_does_not_help_rows_go_one_by_one():
    def hungry(own):
        if own.machine.memory > 1:
            raise MemoryError
        return own.x * own.machine.rows(100)

    found = answer_within(hungry, query())
    assert found.halved == -1  # flagged, though not by a count
    assert torch.equal(found.attribution, query().x)


def test_a_method_that_never_fits_fails_as_what_it_is():
    def hungry(own):
        raise MemoryError("at every size")

    with pytest.raises(MemoryError, match="at every size"):
        answer_within(hungry, query())


@pytest.mark.parametrize("error", [RuntimeError("shapes do not match"), NotApplicable("no"), BadAttribution("nan")])
def test_another_error_is_not_tried_again(error):
    seen = []

    def method(own):
        seen.append(own.machine.memory)
        raise error

    with pytest.raises(type(error)):
        answer_within(method, query())
    assert seen == [1024]


def test_a_smaller_budget_gives_the_same_gradient():
    asked = query()
    whole = answer_within(lambda own: own.gradient(own.x), asked).attribution
    tight = replace(asked, machine=Machine(memory=1))
    small = answer_within(lambda own: own.gradient(own.x), tight).attribution
    torch.testing.assert_close(whole, small, rtol=1e-5, atol=1e-6)


def test_what_a_method_says_about_its_answer_is_kept_with_it():
    def talkative(own):
        for part in own.blocks():
            part.note("layer one")
        own.note("rounded", samples=1)
        own.remarks.resolution = torch.ones_like(own.x)
        return own.x

    found = answer_within(talkative, query())
    assert found.notes == {"layer one": len(query().x), "rounded": 1}
    assert torch.equal(found.resolution, torch.ones_like(query().x))
    assert answer_within(lambda own: own.x, query()).notes == {}


def test_a_resolution_of_another_map_is_not_kept():
    def within(own):
        own.remarks.resolution = torch.ones(1)
        return own.x

    assert answer_within(within, query()).resolution is None


def test_a_fit_is_asked_about_the_reference_rows():
    seen = {}

    class Method:
        def fit(self, own):
            seen["query"] = own
            return {"rows": torch.tensor(len(own.x))}

    place = query().setting
    assert fit(Method(), place, Question(baseline=2.0), ("fit",), MACHINE)["rows"] == 32
    asked = seen["query"]
    assert torch.equal(asked.x, place.reference.x)
    assert torch.equal(asked.target, place.reference.label)
    assert torch.equal(asked.baseline, torch.full((32, 6), 2.0))
    assert (asked.indices, asked.stream) == (tuple(range(32)), ("fit",))


def test_a_fit_without_reference_rows_is_not_applicable():
    with pytest.raises(NotApplicable, match="needs reference data to fit"):
        fit(None, replace(query().setting, reference=None), Question(), (), MACHINE)


def test_reference_rows_are_for_fit_alone():
    asked, seen = query(), []
    attribute(lambda own: seen.append(own.setting.reference) or own.x, asked)
    assert seen == [None]
    assert asked.setting.reference is not None
