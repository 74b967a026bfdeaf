"""Explainers in shap's manner: which class their values belong to, and which number they add up to."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from assay.catalogue.build import method_and_name
from assay.core.errors import BadAttribution, NotApplicable
from assay.core.features import Columns
from assay.engine.artifacts.answer import answer, attribute, make_explainer
from assay.foreign.given import given_array
from scenes import ask, data
from streams import seeded

X = data(6, 4)


@seeded()
def linear(outputs):
    layer = nn.Linear(4, outputs)
    nn.init.normal_(layer.weight, generator=torch.Generator().manual_seed(3))
    return layer.eval()


def query(outputs=3, readout="logit", answers="logits", model=None):
    asked = ask(model or linear(outputs), X, readout)
    return replace(asked, setting=replace(asked.setting, outputs=answers))


class Soft(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.layer = linear(outputs)

    def forward(self, x):
        return self.layer(x).softmax(dim=1)


def exact(layer, x):
    """Values (N, D, K) and base values (K,) of the linear layer's outputs."""
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    return np.asarray(x)[:, :, None] * weight.T, bias


class Explainer:
    """Values with an axis of classes, or some of them, in shap's manner."""

    def __init__(self, layer, pick=lambda values: values, shift=0.0):
        self.layer, self.pick, self.shift = layer, pick, shift

    def shap_values(self, x):
        self.asked = x
        return self.pick(exact(self.layer, x)[0])

    def __call__(self, x):
        return SimpleNamespace(values=self.shap_values(x), base_values=self.pick(exact(self.layer, x)[1]) + self.shift)


def told(explainer, asked):
    found = answer(method_and_name(explainer)[0], asked)
    return found.attribution, list(found.notes)


def test_the_values_of_the_target_are_picked():
    asked = query()
    found, notes = told(Explainer(asked.setting.model), asked)
    torch.testing.assert_close(found, asked.x * asked.setting.model.weight[asked.target].detach())
    assert notes == ["adds up to the logit"]


def test_values_in_a_list_by_class_are_those_of_older_versions():
    asked = query()
    listed = Explainer(asked.setting.model)
    listed.shap_values = lambda x: list(np.moveaxis(exact(listed.layer, x)[0], -1, 0))
    torch.testing.assert_close(told(listed, asked)[0], told(Explainer(asked.setting.model), asked)[0])


def test_an_explainer_without_a_call_is_asked_for_its_values():
    class Older:
        def __init__(self, layer):
            self.layer, self.expected_value = layer, exact(layer, X)[1]

        def shap_values(self, x):
            return exact(self.layer, x)[0]

    asked = query()
    found, notes = told(Older(asked.setting.model), asked)
    torch.testing.assert_close(found, told(Explainer(asked.setting.model), asked)[0])
    assert notes == ["adds up to the logit"]


def test_the_number_that_is_explained_is_named_where_the_question_is_about_another():
    asked = query(readout="probability")
    assert told(Explainer(asked.setting.model), asked)[1] == [
        "adds up to the logit, and the question is about the probability"
    ]
    model = Soft(3)
    asked = query(readout="probability", answers="probabilities", model=model)
    assert told(Explainer(model.layer), asked)[1] == [
        "adds up to the log-odds, and the question is about the probability"
    ]
    asked = query()
    off = told(Explainer(asked.setting.model, shift=np.array([0.5, 0, 0])), asked)[1]
    assert off == ["adds up to none of the model's numbers: was it made for this model?"]


def margin(values):
    """The second of two classes against the first, as shap has it for scores of two classes."""
    return values[..., 1] - values[..., 0]


@pytest.mark.parametrize("sign", [1, -1])
def test_one_number_for_two_classes_explains_the_other_by_its_negative(sign):
    model = Soft(2)
    asked = query(readout="probability", answers="probabilities", model=model)
    found, notes = told(Explainer(model.layer, lambda values: sign * margin(values)), asked)
    expected = torch.tensor(margin(exact(model.layer, X)[0])) * (2 * asked.target - 1)[:, None]
    torch.testing.assert_close(found, expected)  # whichever class the one number is of
    assert notes == ["adds up to the log-odds, and the question is about the probability"]


def test_the_log_odds_of_two_classes_are_their_margin():
    asked = query(2, "margin")
    assert told(Explainer(asked.setting.model, margin), asked)[1] == ["adds up to the log-odds"]


def test_one_number_for_several_classes_explains_one_of_them():
    asked = query()
    second = Explainer(asked.setting.model, lambda values: values[..., 1])
    with pytest.raises(NotApplicable, match="explains class 1 only, and other classes were asked about"):
        told(second, asked)
    only = replace(asked, target=torch.ones(6, dtype=torch.long))
    torch.testing.assert_close(told(second, only)[0], asked.x * asked.setting.model.weight[1].detach())


def test_one_number_that_is_none_of_the_model_s_is_refused():
    asked = query(2)
    with pytest.raises(NotApplicable, match="not clear which class it explains, or it was made for another model"):
        told(Explainer(linear(2), lambda values: 2 * values[..., 0]), asked)


def test_a_model_with_one_value_has_one_number():
    asked = query(1, "value", "value")
    found, notes = told(Explainer(asked.setting.model, lambda values: values[..., 0]), asked)
    torch.testing.assert_close(found, asked.x * asked.setting.model.weight.detach())
    assert notes == ["adds up to the value"]
    assert told(Explainer(asked.setting.model), asked)[1] == notes


def test_classes_that_the_model_does_not_have_are_told():
    with pytest.raises(
        BadAttribution, match=r"rows of shape \(4, 2\), 2 classes at the end, and the model has 3 outputs"
    ):
        told(Explainer(linear(2)), query())


def test_rows_have_the_form_of_the_user_s_data():
    asked = query()
    explainer = Explainer(asked.setting.model)
    told(explainer, asked)
    assert isinstance(explainer.asked, np.ndarray)
    named = replace(asked, setting=replace(asked.setting, features=Columns.plain(4, tuple("abcd"))))
    told(explainer, named)
    assert isinstance(explainer.asked, pd.DataFrame)
    assert list(explainer.asked.columns) == list("abcd")
    form = replace(asked, setting=replace(asked.setting, given=lambda x: x.double().tolist()))
    told(explainer, form)
    assert explainer.asked == X.double().tolist()


def test_an_explainer_with_a_torch_module_inside_gets_tensors():
    asked = query()
    explainer = Explainer(asked.setting.model)
    explainer.explainer = SimpleNamespace(model=asked.setting.model)
    told(explainer, asked)
    assert isinstance(explainer.asked, torch.Tensor)


def test_random_explainers_draw_the_same_numbers_for_the_same_rows():
    asked = query()
    noisy = Explainer(asked.setting.model, lambda values: values + np.random.random(values.shape))
    assert torch.equal(told(noisy, asked)[0], told(noisy, asked)[0])


def test_an_explainer_explains_no_other_model():
    asked = query()
    again = make_explainer(method_and_name(Explainer(asked.setting.model))[0], asked)
    moved = again(asked.x + 1, asked.target, asked.setting)
    torch.testing.assert_close(moved, (asked.x + 1) * asked.setting.model.weight[asked.target].detach())
    with pytest.raises(NotApplicable, match="needs the method for another model, and this explainer was made for one"):
        again(asked.x, asked.target, replace(asked.setting, model=linear(3)))


@pytest.mark.parametrize("per_row", [True, False])
def test_an_explanation_is_read_as_its_explainer(per_row):
    asked = query()
    values, base = exact(asked.setting.model, X)
    base = np.tile(base, (6, 1)) if per_row else base
    drawn = replace(asked, data_rows=(5, 0, 1, 2, 3, 4), x=X[[5, 0, 1, 2, 3, 4]])
    found = answer(given_array(SimpleNamespace(values=values, base_values=base, data=X.numpy())), drawn)
    torch.testing.assert_close(found.attribution, told(Explainer(asked.setting.model), drawn)[0])
    assert list(found.notes) == ["adds up to the logit"]


def test_without_a_base_value_nothing_is_said_about_the_number():
    asked = query()
    values = attribute(given_array(SimpleNamespace(values=exact(asked.setting.model, X)[0], base_values=None)), asked)
    torch.testing.assert_close(values, told(Explainer(asked.setting.model), asked)[0])
