"""Other people's code as a method: Captum's classes, plain callables, functions of a query."""

import random
from dataclasses import replace

import captum.attr
import numpy as np
import pytest
import torch

from assay.core.errors import BadAttribution, NotApplicable, SpecError
from assay.engine.artifacts.answer import attribute
from assay.foreign.adapt import CallableMethod, QueryMethod, adapt
from assay.foreign.explainers import CaptumMethod
from scenes import ask, data, mlp


def query(readout="logit"):
    return ask(mlp(), data(3, 6), readout, baseline=0.25)


def blind(asked):
    return replace(asked, setting=replace(asked.setting, differentiable=False))


@pytest.mark.parametrize("readout", ["logit", "probability"])
def test_a_captum_class_is_asked_our_question(readout):
    asked = query(readout)
    found = attribute(CaptumMethod(captum.attr.Saliency, {"abs": False}), asked)
    torch.testing.assert_close(found, asked.gradient(asked.x), rtol=1e-5, atol=1e-7)


def test_a_captum_class_that_takes_baselines_gets_ours_unless_told_otherwise():
    asked = query()
    found = attribute(CaptumMethod(captum.attr.IntegratedGradients, {"n_steps": 200}), asked)
    gap = asked.score(asked.x) - asked.score(asked.baseline)
    torch.testing.assert_close(found.sum(dim=1), gap, rtol=1e-2, atol=1e-2)
    told = attribute(CaptumMethod(captum.attr.IntegratedGradients, {"n_steps": 200, "baselines": 0}), asked)
    gap = asked.score(asked.x) - asked.score(torch.zeros_like(asked.x))
    torch.testing.assert_close(told.sum(dim=1), gap, rtol=1e-2, atol=1e-2)


def test_a_plain_callable_gets_model_inputs_and_targets():
    seen = {}

    def method(model, inputs, targets, scale=1.0):
        seen.update(model=model, inputs=inputs, targets=targets)
        return inputs * scale

    asked = query("probability")
    found = attribute(adapt("methods", "m:f", method, {"scale": 3.0}), asked)
    assert torch.equal(found, asked.x * 3)
    assert torch.equal(seen["inputs"], asked.x)
    assert seen["targets"].tolist() == [0, 1, 2]
    torch.testing.assert_close(seen["model"](asked.x).sum(dim=1), torch.ones(3))  # the readout is in the model


@pytest.mark.parametrize("readout", ["logit", "probability", "margin"])
def test_the_model_that_others_get_is_in_evaluation_mode(readout):
    training = []

    def method(model, inputs, targets):
        training.extend(name for name, module in model.named_modules() if module.training)
        return inputs

    attribute(CallableMethod(method), query(readout))
    assert not training


def backward(model, inputs, targets):
    inputs.requires_grad_()
    model(inputs).gather(1, targets[:, None]).sum().backward()
    return inputs.grad


def test_a_plain_callable_that_takes_gradients_does_not_apply_where_there_are_none():
    asked = query()
    torch.testing.assert_close(attribute(CallableMethod(backward), asked), asked.gradient(asked.x))
    with pytest.raises(NotApplicable, match="needs gradients, and this model has none"):
        attribute(CallableMethod(backward), blind(asked))


def test_a_plain_callable_says_itself_that_it_does_not_apply():
    def method(model, inputs, targets):
        raise NotApplicable("needs images")

    with pytest.raises(NotApplicable, match="needs images"):
        attribute(CallableMethod(method), query())


def test_a_function_of_a_query_gets_the_query():
    asked = query()
    made = adapt("methods", "m:f", lambda query, k: query.gradient(query.x) * k, {"k": 2})
    assert isinstance(made, QueryMethod)
    assert torch.equal(attribute(made, asked), 2 * asked.gradient(asked.x))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64])
def test_arrays_are_taken_for_tensors(dtype):
    asked = query()
    found = attribute(CallableMethod(lambda model, x, y: np.full((3, 6), 2, dtype=dtype)), asked)
    assert torch.equal(found, torch.full((3, 6), 2.0))


def test_what_a_callable_does_to_its_input_stays_with_it():
    asked = query()
    before = asked.x.clone()
    attribute(CallableMethod(lambda model, x, y: x.zero_()), asked)
    assert torch.equal(asked.x, before)


@pytest.mark.parametrize("result", [[[1.0] * 6] * 3, None, 1.0])
def test_what_is_no_array_is_named_by_the_check(result):
    with pytest.raises(BadAttribution, match=f"returned {type(result).__name__}"):
        attribute(CallableMethod(lambda model, x, y: result), query())


def test_a_class_is_made_and_a_class_with_attribute_is_captum_s():
    class Ours:
        def __init__(self, k=1):
            self.k = k

        def __call__(self, query): ...

    class Theirs:
        def attribute(self, inputs, target): ...

    assert adapt("methods", "m:Ours", Ours, {"k": 2}).k == 2
    assert isinstance(adapt("methods", "m:Theirs", Theirs, {}), CaptumMethod)
    assert isinstance(adapt("environments", "m:Theirs", Theirs, {}), Theirs)
    with pytest.raises(SpecError, match="'m:Theirs' is Theirs: a metric takes a trial"):
        adapt("metrics", "m:Theirs", Theirs, {})
    with pytest.raises(SpecError, match=r"cannot make 'm:Ours': .*unexpected keyword argument 'z'"):
        adapt("methods", "m:Ours", Ours, {"z": 2})


@pytest.mark.parametrize(
    ("kind", "thing", "words"),
    [
        ("methods", 3, "is int: expected a name, a class or, for a method, a callable"),
        ("metrics", len, "is builtin_function_or_method: expected a class"),
        ("environments", lambda query: query, "is function: expected a class"),
    ],
)
def test_what_can_be_no_component_is_told(kind, thing, words):
    with pytest.raises(SpecError, match=words):
        adapt(kind, "m:x", thing, {})


@pytest.mark.parametrize("name", ["Saliency", "IntegratedGradients", "DeepLift", "GuidedBackprop", "LRP"])
def test_a_captum_gradient_needs_a_model_with_gradients(name):
    with pytest.raises(NotApplicable, match="needs gradients"):
        attribute(CaptumMethod(getattr(captum.attr, name)), blind(query()))


@pytest.mark.parametrize("name", ["FeatureAblation", "ShapleyValueSampling"])
def test_a_captum_perturbation_needs_none(name):
    assert attribute(CaptumMethod(getattr(captum.attr, name)), blind(query())).shape == (3, 6)


def test_a_class_in_captum_s_shape_needs_what_it_uses():
    class Theirs:
        def __init__(self, model):
            self.model = model

        def attribute(self, inputs, target):
            with torch.no_grad():
                return inputs * self.model(inputs).gather(1, target[:, None])

    assert attribute(CaptumMethod(Theirs), blind(query())).shape == (3, 6)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: np.ones((3, 6))[:, ::-1], id="a view from the right (np.flip)"),
        pytest.param(lambda: np.ones((3, 6), dtype=">f4"), id="another byte order"),
    ],
)
def test_any_array_of_numbers_is_taken(make):
    assert torch.equal(attribute(CallableMethod(lambda model, x, y: make()), query()), torch.ones(3, 6))


def noisy(model, x, y):
    return torch.rand(3, 6) + x


def test_code_that_draws_from_the_global_stream_draws_the_same_for_the_same_block():
    asked = query()
    found = [attribute(CallableMethod(noisy), asked) for _ in range(2)]
    assert torch.equal(*found)
    elsewhere = replace(asked, indices=(3, 4, 5))
    assert not torch.equal(found[0], attribute(CallableMethod(noisy), elsewhere))


def test_code_that_draws_from_the_global_stream_leaves_it_as_it_was():
    asked, before = query(), torch.get_rng_state()
    attribute(CallableMethod(noisy), asked)
    with pytest.raises(BadAttribution):
        attribute(CallableMethod(lambda model, x, y: torch.rand(3)), asked)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    "draw", [lambda: np.random.rand(3, 6), lambda: np.full((3, 6), random.random())], ids=["numpy", "random"]
)
def test_code_that_draws_from_another_global_stream_is_held_to_the_same(draw):
    found = [attribute(CallableMethod(lambda model, x, y: draw()), query()) for _ in range(2)]
    assert torch.equal(*found)
