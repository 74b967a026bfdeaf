"""Estimators in scikit-learn's manner as a user's model, in a notebook and on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import assay
from assay.cli.main import app
from assay.core.errors import AssayError
from assay.environments.own import Own
from journeys import estimators as theirs

ASKED = {"methods": ["occlusion", "by_differences(of=input_x_gradient)", "gradient"], "metrics": ["deletion"]}


@pytest.fixture
def data(tmp_path):
    np.savez(tmp_path / "d.npz", x=theirs.X[:12], y=theirs.Y[:12], reference_x=theirs.X)
    return tmp_path / "d.npz"


def command(*arguments):
    return CliRunner().invoke(app, ["evaluate", *map(str, arguments), "--workers", "0"])


@pytest.mark.parametrize("name", ["logistic", "boosted", "pipeline", "regression"])
def test_an_estimator_is_evaluated_and_differences_stand_in_for_its_gradients(name):
    found = assay.evaluate(getattr(theirs, name), theirs.X[:12], reference=theirs.X, **ASKED)
    assert [cell.status for cell in found.cells] == ["ok", "ok", "skipped"]
    assert found["gradient", "deletion"].reason == "needs gradients, and this model has none"


def test_differences_of_a_linear_regression_are_its_coefficients():
    found = assay.evaluate(
        theirs.regression, theirs.X[:12], reference=theirs.X, **{**ASKED, "methods": ["by_differences"]}
    )
    expected = torch.from_numpy(theirs.regression.coef_).expand(12, -1)
    torch.testing.assert_close(found.attributions["by_differences"], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "name, outputs, kind, answer",
    [
        ("logistic", None, "probabilities", "predict_proba"),
        ("logistic", "logits", "logits", "decision_function"),
        ("make", None, "probabilities", "predict_proba"),
        ("boosted", None, "probabilities", "predict_proba"),
        ("boosted", "logits", "logits", "decision_function"),
        ("pipeline", None, "logits", "decision_function"),
        ("regression", None, "value", "predict"),
    ],
)
def test_a_study_asks_an_estimator_for_what_it_has(data, name, outputs, kind, answer):
    own = Own(model=f"journeys.estimators:{name}", data=str(data), outputs=outputs, dtype="float64")
    setting, estimator = own.setting(0, {}), theirs.make() if name == "make" else getattr(theirs, name)
    assert (setting.outputs, setting.differentiable) == (kind, False)
    expected = getattr(estimator, answer)(theirs.X[:12]).reshape(12, -1)
    np.testing.assert_allclose(setting.model(torch.from_numpy(theirs.X[:12])).numpy(), expected)


def test_a_command_evaluates_an_estimator(data, tmp_path):
    asked = ("--data", data, "--store", tmp_path / "st", "-m", "by_differences(of=agop)", "-s", "deletion", "--json")
    found = command("--model", "journeys.estimators:boosted", *asked)
    assert found.exit_code == 0, found.output
    (method,) = json.loads(found.output)["boards"][0]["methods"]
    assert method["metrics"]["deletion"]["value"] is not None


@pytest.mark.parametrize(
    "name, options, words",
    [
        ("unfitted", (), "is not fitted: call its fit"),
        ("X", (), "is ndarray, not a torch.nn.Module and no estimator"),
        ("regression", ("--outputs", "probabilities"), "are they logits"),
        ("logistic", ("--readout", "logit"), "answers with probabilities has no readout 'logit'"),
    ],
)
def test_estimators_that_cannot_answer_are_refused_in_a_sentence(data, tmp_path, name, options, words):
    found = command("--model", f"journeys.estimators:{name}", "--data", data, "--store", tmp_path / "st", *options)
    assert isinstance(found.exception, AssayError)
    assert words in str(found.exception)
