"""What cannot be asked is refused with lines that work: those of each refusal are run here, as a user would do it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import captum.attr as captum
import numpy as np
import pytest
import sklearn.ensemble
import sklearn.linear_model
import torch
from torch import nn

import assay
from assay.core.errors import SpecError
from assay.methods.tree_shap import _import_shap as shap  # without its warnings
from scenes import cnn, data, mlp
from streams import seeded

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of other packages
    pytest.mark.draws("explainers of other packages draw as they are made"),
]

X = data(12, 6)
IMAGES = data(12, 2, 8, 8)


def forest():
    rows = X.numpy()
    return sklearn.ensemble.RandomForestClassifier(4, random_state=0).fit(rows, rows[:, 0] > 0)


def logistic():
    rows = X.numpy()
    return sklearn.linear_model.LogisticRegression().fit(rows, rows[:, 0] > 0)


class Kept:
    """An explainer that was made by hand, and keeps nothing of what it was made of."""

    def attribute(self, inputs, target):
        return inputs


class RowsFirst:
    """Maps for rows, as toolboxes of class activation maps have it."""

    def __call__(self, input_tensor, targets=None):
        return input_tensor


class OneRow:
    """LIME's interface."""

    def explain_instance(self, data_row, predict_fn, labels=(1,)):
        raise AssertionError


class OneImage:
    def explain_instance(self, image, classifier_fn, labels=(1,)):
        raise AssertionError


def saliency(inputs):
    return inputs


def flipped(model, inputs):
    return inputs


def loss(prediction, target):
    return 0.0


def changed():
    explainer = captum.KernelShap(mlp())
    explainer.inf_weight = 5.0
    return explainer


@dataclass
class Case:
    """What is given, a part of the refusal, and the names that its lines use besides those of every notebook."""

    given: Any
    words: str
    names: dict[str, Any] = field(default_factory=dict)
    model: Any = mlp
    x: Any = X
    metric: bool = False


KEPT, ROWS = Kept(), RowsFirst()
CASES = {
    "an explainer that keeps no model": Case(KEPT, "does not keep the model that it was made for", {"explainer": KEPT}),
    "an explainer that was changed": Case(changed, "'inf_weight' was changed since it was made"),
    "rows first": Case(
        ROWS, "cannot be called as f(model, inputs, targets): takes 'input_tensor' first", {"explainer": ROWS}
    ),
    "one argument": Case(saliency, "takes 'inputs' first", {"saliency": saliency}),
    "two arguments": Case(flipped, "too many positional arguments", {"flipped": flipped}),
    "one row at a time": Case(OneRow(), "explains one row at a time"),
    "one image at a time": Case(OneImage(), "explains one row at a time", model=cnn, x=IMAGES),
    "a class of shap": Case(
        lambda: shap().TreeExplainer, "bound to a model and to data: make one", model=forest, x=X.numpy()
    ),
    "a class for functions": Case(
        lambda: shap().KernelExplainer, "bound to a model and to data", model=logistic, x=X.numpy()
    ),
    "a class for networks": Case(lambda: shap().DeepExplainer, "bound to a model and to data"),
    "a model": Case(nn.Identity(), "'Identity' is no method: expected a name, a class or"),
    "a class of models": Case(nn.Identity, "makes a Identity, which is no method"),
    "a number": Case(3, "'int' is no method: expected a name, a class or"),
    "nothing": Case(None, "'NoneType' is no method: expected a name, a class or"),
    "no layer": Case(captum.LayerGradCam, "needs a value for 'layer'", model=cnn, x=IMAGES),
    "no explainer inside": Case("captum.attr:NoiseTunnel(nt_samples=2)", "needs a value for 'attribution_method'"),
    "no window": Case(captum.Occlusion(mlp()), "needs a value for 'sliding_window_shapes'"),
    "no window in an image": Case(
        "captum.attr:Occlusion(strides=2)", "needs a value for 'sliding", model=cnn, x=IMAGES
    ),
    "no answer of the model": Case("captum.attr:LayerActivation(layer='0')", "takes no target: it explains a layer or"),
    "no metric": Case(loss, "takes prediction, target: a metric takes a trial, or", metric=True),
    "a number for a metric": Case(3, "is int: a metric takes a trial, or", metric=True),
    "a module for a metric": Case(nn.MSELoss(), "is MSELoss: a metric takes a trial, or", metric=True),
}


@seeded()
def refused(case: Case) -> tuple[str, dict[str, Any]]:
    """The message, and what a user's notebook holds."""
    model = case.model()
    given = case.given() if getattr(case.given, "__name__", "") in ("<lambda>", "changed") else case.given
    names = {"explainer": given} if case.given is changed else case.names
    asked = {"metrics": [given], "methods": ["random_map"]} if case.metric else {"methods": [given]}
    with pytest.raises(SpecError) as told:
        assay.evaluate(model, case.x, **asked)
    background = case.x[:4]
    return str(told.value), {
        "assay": assay,
        "shap": shap(),
        "model": model,
        "x": case.x,
        "background": background,
        **names,
    }


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_lines_of_a_refusal_work(case):
    message, notebook = refused(case)
    sentence, *lines = message.split("\n")
    assert case.words in sentence
    assert sentence.endswith("Write, for example:")
    assert 1 <= len(lines) <= 3
    assert all(line.startswith("    ") for line in lines)
    *before, call = [line.removeprefix("    ") for line in lines]
    assert call.startswith("assay.evaluate(model, x, ")
    quick = call.removesuffix(")") + ", budget=None" + ("" if case.metric else ", metrics=['single_deletion']") + ")"
    np.random.seed(0)
    exec("\n".join([*before, f"result = {quick}"]), notebook)
    cells = notebook["result"].cells
    assert [cell.status for cell in cells] == ["ok"] * len(cells), [cell.reason for cell in cells]
    assert torch.is_tensor(next(iter(notebook["result"].attributions.values())))
