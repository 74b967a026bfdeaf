"""The number that is explained, against the formula written out."""

import math

import pytest
import torch
from torch import nn

from assay.core.errors import NotApplicable
from assay.core.question import Question
from assay.core.readout import Margin, explained_module, readout
from streams import seeded

LOGITS = torch.tensor([[1.0, -2.0, 0.5], [3.0, 3.0, -7.0], [1000.0, 0.0, -1000.0]], dtype=torch.float64)


def softmax(row, temperature):
    powers = [math.exp((value - max(row)) / temperature) for value in row]
    return [power / sum(powers) for power in powers]


@pytest.mark.parametrize("temperature", [1.0, 0.5, 3.0, 1, None])
def test_probability_is_the_softmax_of_logits_over_temperature(temperature):
    found = readout(Question("probability", temperature))(LOGITS)
    expected = [softmax(row, temperature or 1.0) for row in LOGITS.tolist()]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-9, atol=1e-300)


def test_a_colder_question_is_a_surer_answer():
    cold, warm = (readout(Question("probability", temperature))(LOGITS)[0, 0] for temperature in (0.5, 2.0))
    assert cold > warm


def test_the_margin_is_the_lead_over_the_best_other_class():
    expected = [[0.5, -3.0, -0.5], [0.0, 0.0, -10.0], [1000.0, -1000.0, -2000.0]]
    assert Margin()(LOGITS).tolist() == expected
    assert readout(Question("margin", 9.0))(LOGITS).tolist() == expected  # a temperature belongs to the softmax


def test_the_gradient_of_a_margin_is_one_for_its_class_and_minus_one_for_the_runner_up():
    logits = LOGITS[:1].clone().requires_grad_()
    (gradient,) = torch.autograd.grad(Margin()(logits)[0, 0], logits)
    assert gradient.tolist() == [[1.0, 0.0, -1.0]]


def test_a_margin_needs_two_classes():
    with pytest.raises(NotApplicable, match="at least two outputs"):
        Margin()(torch.zeros(4, 1))


@pytest.mark.parametrize("name", ["logit", "value"])
def test_logit_and_value_leave_the_output_alone(name):
    assert torch.equal(readout(Question(name, 5.0))(LOGITS), LOGITS)


def test_a_model_that_answers_with_probabilities_is_not_softmaxed_again():
    probabilities = torch.tensor([[0.2, 0.8]])
    assert torch.equal(readout(Question("probability", 1.0), "probabilities")(probabilities), probabilities)
    assert torch.equal(readout(Question("value", 1.0), "probabilities")(probabilities), probabilities)


@pytest.mark.parametrize("name", ["logit", "margin"])
def test_a_model_without_logits_is_not_asked_for_them(name):
    with pytest.raises(
        NotApplicable, match=f"the {name} readout needs logits, and this model answers with probabilities"
    ):
        readout(Question(name), "probabilities")


@pytest.mark.parametrize("name", ["logit", "margin", "probability"])
def test_a_model_that_answers_with_a_value_is_asked_for_nothing_else(name):
    with pytest.raises(NotApplicable, match="answers with value"):
        readout(Question(name), "value")


@seeded()
def test_the_softmax_is_a_module_that_rewriting_methods_can_see():
    kinds = {type(module) for module in explained_module(nn.Linear(2, 2), Question("probability", 2.0)).modules()}
    assert nn.Softmax in kinds
    assert "Temperature" in {kind.__name__ for kind in kinds}


@seeded()
def test_the_model_is_shared_and_not_copied():
    model = nn.Linear(2, 2)
    assert explained_module(model, Question("logit")).model is model


def test_a_temperature_that_cannot_be_applied_is_not_ignored():
    with pytest.raises(NotApplicable):
        readout(Question("probability", 2.0), "probabilities")


@pytest.mark.parametrize("question", [Question("logit"), Question("probability", 2.0), Question("margin")], ids=str)
@seeded()
def test_everything_around_the_model_is_in_evaluation_mode_and_the_model_as_it_was(question):
    whole = explained_module(nn.Linear(2, 2).eval(), question)
    assert not [name for name, module in whole.named_modules() if module.training]
    assert explained_module(nn.Linear(2, 2), question).model.training


@seeded()
def test_a_model_without_gradients_answers_and_says_so_to_whoever_asks_for_one():
    blind = explained_module(nn.Linear(2, 2).requires_grad_(False), Question("logit"), differentiable=False)
    x = torch.ones(1, 2, requires_grad=True)
    assert torch.equal(blind(x), blind.model(x))
    assert not blind(x.detach()).requires_grad
    with pytest.raises(NotApplicable, match="needs gradients, and this model has none"):
        torch.autograd.grad(blind(x).sum(), x)
