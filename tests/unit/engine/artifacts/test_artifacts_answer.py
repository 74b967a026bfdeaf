"""What happens to a method: it sees copies, it is asked everything, and its answer is checked."""

from dataclasses import replace

import pytest
import torch

from assay.core.errors import BadAttribution, NotApplicable
from assay.core.machine import Machine
from assay.core.map_grid import Cells, read_grid
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.setting import Samples
from assay.engine.artifacts.answer import (
    Explainer,
    answer,
    answer_with_promise,
    attribute,
    fit,
    make_explainer,
    make_query,
)
from scenes import ask, data, mlp

MACHINE = Machine(memory=1024)
STREAM = Stream("method", "m", "e", 1, 2)


def query():
    return ask(mlp(), data(4, 6), machine=MACHINE)


def samples(x):
    return Samples(x, torch.tensor([0, 1, 2, 0]), None, (8, 9, 10, 11))


def test_a_question_is_posed_with_nothing_left_open():
    place, x = query().setting, data(4, 6)
    asked = make_query(place, samples(x), Question(readout="margin", baseline=0.5), STREAM, MACHINE)
    assert asked.question == Question("margin", 1.0, 0.5, "label")
    assert torch.equal(asked.x, x)
    assert asked.target.tolist() == [0, 1, 2, 0]
    assert torch.equal(asked.baseline, torch.full((4, 6), 0.5))
    assert (asked.indices, asked.stream, asked.machine) == ((8, 9, 10, 11), STREAM, MACHINE)
    predicted = make_query(place, samples(x), Question(target="predicted"), STREAM, MACHINE)
    assert torch.equal(predicted.target, asked.outputs(x).argmax(dim=1))


def test_a_baseline_that_is_not_there_is_not_applicable():
    with pytest.raises(NotApplicable, match="true baseline"):
        make_query(query().setting, samples(data(4, 6)), Question(baseline="true"), STREAM, MACHINE)


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


def test_a_promise_works_on_copies_too():
    class Method:
        def __call__(self, own):
            return own.x

        def promised(self, own):
            assert own.setting.reference is None
            for tensor in (own.x, own.target, own.baseline):
                tensor.zero_()
            return own.x.sum(dim=1)

    asked = query()
    asked = replace(asked, baseline=asked.x + 1)
    before = [tensor.clone() for tensor in (asked.x, asked.target, asked.baseline)]
    assert answer_with_promise(Method(), asked).promised.tolist() == [0, 0, 0, 0]
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


def test_a_smaller_budget_gives_the_same_gradient():
    asked = query()
    whole = answer(lambda own: own.gradient(own.x), asked).attribution
    tight = replace(asked, machine=Machine(memory=1))
    small = answer(lambda own: own.gradient(own.x), tight).attribution
    torch.testing.assert_close(whole, small, rtol=1e-5, atol=1e-6)


def test_what_a_method_says_about_its_answer_is_kept_with_it():
    def talkative(own):
        for part in own.blocks():
            part.note("layer one")
        own.note("rounded", samples=1)
        own.remarks.resolution = torch.ones_like(own.x)
        return own.x

    found = answer(talkative, query())
    assert found.notes == {"layer one": len(query().x), "rounded": 1}
    assert torch.equal(found.resolution, torch.ones_like(query().x))
    assert answer(lambda own: own.x, query()).notes == {}


def test_maps_that_are_zero_everywhere_are_noted():
    def mostly_silent(own):
        return own.x * torch.tensor([0.0, 1.0, 0.0, 0.0])[:, None]

    assert answer(mostly_silent, query()).notes == {"0 everywhere": 3}


def test_a_resolution_of_another_map_is_not_kept():
    def within(own):
        own.remarks.resolution = torch.ones(1)
        return own.x

    assert answer(within, query()).resolution is None


def test_the_grid_of_the_maps_is_kept_with_its_name():
    def in_halves(own):
        own.remarks.grid = Cells(torch.arange(own.x.shape[1])[None] % 2, "halves")
        return torch.tensor([[1.0, -2.0]]).repeat(len(own.x), own.x.shape[1] // 2)

    found = answer(in_halves, query())
    assert found.facts() == {"grid": "halves"}
    assert torch.equal(read_grid(found.tensors()).cells, found.grid.cells)
    assert answer(lambda own: own.x, query()).tensors().keys() == {"attribution"}


@pytest.mark.parametrize("cells", [torch.arange(6)[None] % 2, torch.zeros(2, 6).long(), torch.zeros(1, 5).long()])
def test_a_grid_that_the_maps_do_not_lie_on_is_not_kept(cells):
    """It is an inner method's: of other maps, of some of the samples, of other features."""

    def within(own):
        own.remarks.grid = Cells(cells, "inner")
        return torch.arange(6.0).repeat(len(own.x), 1)

    found = answer(within, query())
    assert found.grid is None
    assert found.facts() == {}


def test_a_method_may_write_its_next_answer_into_the_same_tensor():
    """A metric that asks again compares the two."""
    asked = query()
    buffer = torch.empty_like(asked.x)
    again = make_explainer(lambda own: buffer.copy_(own.x), asked)
    first = again(asked.x, asked.target, asked.setting)
    again(asked.x + 1, asked.target, asked.setting)
    assert torch.equal(first, asked.x)


def test_a_fit_is_asked_about_the_reference_rows():
    seen = {}

    class Method:
        def fit(self, own):
            seen["query"] = own
            return {"rows": torch.tensor(len(own.x))}

    place = query().setting
    assert fit(Method(), place, Question(baseline=2.0), STREAM.for_fit(), MACHINE)["rows"] == 32
    asked = seen["query"]
    assert torch.equal(asked.x, place.reference.x)
    assert torch.equal(asked.target, place.reference.label)
    assert torch.equal(asked.baseline, torch.full((32, 6), 2.0))
    assert (asked.indices, asked.stream) == (tuple(range(32)), STREAM.for_fit())


def test_a_fit_without_reference_rows_is_not_applicable():
    with pytest.raises(NotApplicable, match="needs reference data to fit"):
        fit(None, replace(query().setting, reference=None), Question(), STREAM, MACHINE)


def test_reference_rows_are_for_fit_alone():
    asked, seen = query(), []
    attribute(lambda own: seen.append(own.setting.reference) or own.x, asked)
    assert seen == [None]
    assert asked.setting.reference is not None


# A method that is asked again, by a metric.


def test_numbers_that_were_given_cannot_be_asked_for_again():
    class Given:
        given = True

    assert make_explainer(Given(), query()) is None
    assert isinstance(make_explainer(lambda own: own.x, query()), Explainer)


def test_copies_of_the_samples_have_the_indices_of_the_samples():
    seen = []
    again = make_explainer(lambda own: seen.append(own.indices) or own.x, query())
    again(data(8, 6), torch.zeros(8, dtype=torch.long), query().setting)
    assert seen == [(0, 1, 2, 3) * 2]


def test_a_method_is_fitted_again_where_the_model_is_another_one():
    fits = []

    class Method:
        def fit(self, own):
            fits.append((own.setting.model, own.stream))
            return {"at": torch.tensor(len(fits))}

        def __call__(self, own):
            return own.x * own.fitted["at"]

    asked = replace(query(), fitted={"at": torch.tensor(7.0)}, stream=STREAM)
    again, other = make_explainer(Method(), asked), replace(asked.setting, model=mlp(seed=1))
    assert torch.equal(again(asked.x, asked.target, asked.setting), 7 * asked.x)
    assert not fits
    assert torch.equal(again(asked.x, asked.target, other), asked.x)
    ((model, stream),) = fits
    assert torch.equal(model[0].weight, other.model[0].weight)
    assert stream == STREAM.for_fit()


def test_somebody_else_s_method_that_is_asked_again_gets_a_copy_of_the_model_each_time():
    models = []

    def spoils(own):
        found = own.gradient(own.x)
        own.setting.model[0].weight.data.zero_()
        models.append(own.setting.model)
        return found

    asked = query()
    again = make_explainer(spoils, asked)
    first, second = (again(asked.x, asked.target, asked.setting) for _ in range(2))
    assert torch.equal(first, second)
    assert first.abs().sum() > 0
    assert asked.setting.model not in models
