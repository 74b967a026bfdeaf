"""XGBoost's and LightGBM's own models and their estimators; TreeSHAP of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.core.features import Columns
from assay.core.query import Query
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.setting import Setting, model_copy
from assay.foreign.models import default_readout
from assay.methods.tree_shap import TreeShap
from assay.users.known import known
from assay.users.rows import Rows
from assay.users.saved import load_saved
from assay.users.take import take_model, takes_missing

NUMBERS = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
TWO = (NUMBERS[:, 0] * NUMBERS[:, 1] > 0).astype(int)
THREE = NUMBERS[:, :3].argmax(axis=1)
NAMES = list("abcd")
X = torch.from_numpy(NUMBERS)
PLAIN = Rows(X, Columns.plain(4), "table")
FRAMED = replace(PLAIN, given=lambda x: pd.DataFrame(x.numpy(), columns=NAMES))


@pytest.fixture(params=["xgboost", "lightgbm"])
def package(request):
    return pytest.importorskip(request.param)


def estimator(package, kind="Classifier", **options):
    name, quiet = ("XGB", {}) if package.__name__ == "xgboost" else ("LGBM", {"verbosity": -1})
    return getattr(package, f"{name}{kind}")(n_estimators=5, n_jobs=1, **quiet, **options)


def booster(package, objective, label, rows=NUMBERS, **options):
    if package.__name__ == "xgboost":
        names = {"binary": "binary:logistic", "multiclass": "multi:softmax", "regression": "reg:squarederror"}
        params = {"objective": names.get(objective, objective), "nthread": 1, **options}
        return package.train(params, package.DMatrix(rows, label), 5)
    return package.train(
        {"objective": objective, "verbosity": -1, "num_threads": 1, **options}, package.Dataset(rows, label), 5
    )


def answers(package, model, rows, margins):
    """The package's own answers."""
    if package.__name__ == "lightgbm":
        return model.predict(rows, raw_score=margins)
    return model.predict(package.DMatrix(rows), output_margin=margins)


@pytest.mark.parametrize(
    "rows, data", [(PLAIN, NUMBERS), (FRAMED, pd.DataFrame(NUMBERS, columns=NAMES))], ids=["array", "frame"]
)
def test_a_booster_of_two_classes_answers_with_probabilities_or_margins(package, rows, data):
    model = booster(package, "binary", TWO, data)
    taken = take_model(model, rows)
    np.testing.assert_allclose(taken.module(X)[:, 1].numpy(), answers(package, model, data, False), rtol=1e-6)
    assert (taken.outputs, taken.count, taken.classes) == ("probabilities", 2, ("0", "1"))
    scores = take_model(model, rows, outputs="logits")
    found = scores.module(X)
    np.testing.assert_allclose(
        (found[:, 1] - found[:, 0]).numpy(), answers(package, model, data, True), rtol=1e-5, atol=1e-6
    )
    assert "logits of 2 classes (0, 1); by its margins" in scores.notes[0]
    assert known(model).columns == (() if rows is PLAIN else tuple(NAMES))


def test_a_booster_of_three_classes_answers_with_three(package):
    model = booster(package, "multiclass", THREE, num_class=3)
    scores = take_model(model, PLAIN, outputs="logits").module(X)
    np.testing.assert_allclose(scores.numpy(), answers(package, model, NUMBERS, True), rtol=1e-5, atol=1e-6)
    assert_close(take_model(model, PLAIN).module(X), scores.softmax(dim=1), rtol=1e-5, atol=1e-6)


def test_a_booster_of_a_value_answers_with_it(package):
    model = booster(package, "regression", NUMBERS[:, 0].copy())
    taken = take_model(model, FRAMED)
    np.testing.assert_allclose(taken.module(X)[:, 0].numpy(), answers(package, model, NUMBERS, False), rtol=1e-5)
    assert taken.outputs == "value"


@pytest.mark.parametrize("objective", ["binary:logitraw", "binary:hinge"])
def test_margins_are_never_taken_for_probabilities(objective):
    xgboost = pytest.importorskip("xgboost")
    model = booster(xgboost, objective, TWO)
    margins = answers(xgboost, model, NUMBERS, True)
    taken = take_model(model, PLAIN)
    expected = torch.from_numpy(margins).sigmoid() if objective == "binary:logitraw" else torch.from_numpy(margins)
    assert_close(taken.module(X)[:, -1], expected)
    assert taken.outputs == ("probabilities" if objective == "binary:logitraw" else "value")


@pytest.mark.parametrize(
    "rows, data", [(PLAIN, NUMBERS), (FRAMED, pd.DataFrame(NUMBERS, columns=NAMES))], ids=["array", "frame"]
)
@pytest.mark.parametrize("label", [TWO, THREE], ids=["two", "three"])
def test_estimators_answer_with_probabilities_or_margins(package, rows, data, label):
    model = estimator(package).fit(data, label)
    np.testing.assert_allclose(take_model(model, rows).module(X).numpy(), model.predict_proba(data), rtol=1e-6)
    scores = take_model(model, rows, outputs="logits").module(X)
    assert_close(scores.softmax(dim=1), take_model(model, rows).module(X), rtol=1e-5, atol=1e-6)
    assert_close(model_copy(take_model(model, rows).module)(X), take_model(model, rows).module(X))


def test_an_estimator_that_is_not_fitted_is_refused(package):
    with pytest.raises(SpecError, match="is not fitted: call its fit"):
        take_model(estimator(package), PLAIN)


def test_trees_read_missing_numbers(package):
    holes = NUMBERS.copy()
    holes[:3, 0] = np.nan
    assert takes_missing(estimator(package).fit(NUMBERS, TWO), holes)
    assert takes_missing(booster(package, "binary", TWO), holes)


@pytest.mark.parametrize("suffix", [".json", ".ubj", ".txt"])
def test_a_saved_booster_is_data_and_needs_no_trust(suffix, tmp_path):
    package = pytest.importorskip("lightgbm" if suffix == ".txt" else "xgboost")
    model = booster(package, "binary", TWO)
    path = str(tmp_path / f"model{suffix}")
    model.save_model(path)
    assert_close(take_model(load_saved(path), PLAIN).module(X), take_model(model, PLAIN).module(X))


def asked(model, rows, outputs):
    taken = take_model(model, rows, outputs=outputs)
    question = Question(default_readout(taken.outputs, None), 1.0, "zero", "predicted")
    setting = Setting(taken.module, rows.features, "table", question, outputs=taken.outputs, differentiable=False)
    x = rows.x[:6]
    return Query(
        setting, question, x, taken.module(x).argmax(dim=1), torch.zeros_like(x), tuple(range(6)), Stream("test")
    )


@pytest.mark.parametrize("label", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("is_booster", [True, False], ids=["booster", "estimator"])
def test_tree_shap_of_margins_adds_up_to_them_and_is_the_package_s_own(package, label, is_booster):
    pytest.importorskip("shap")
    objective = {"objective": "binary"} if label is TWO else {"objective": "multiclass", "num_class": 3}
    model = booster(package, label=label, **objective) if is_booster else estimator(package).fit(NUMBERS, label)
    query = asked(model, PLAIN, "logits")
    found = TreeShap()(query)
    assert_close(found.sum(dim=1), TreeShap().promised(query), rtol=1e-4, atol=1e-5)
    own = model if is_booster else getattr(model, "get_booster", lambda: getattr(model, "booster_", None))()
    theirs = contributions(package, own, query.x.numpy(), 3 if label is THREE else 1)[:, :, :-1]
    target = query.target.numpy()
    expected = theirs[np.arange(6), target] if label is THREE else theirs[:, 0] * (target - 0.5)[:, None]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5)


def contributions(package, model, rows, classes):
    """(rows, classes, columns + 1), by the package."""
    if package.__name__ == "xgboost":
        return model.predict(package.DMatrix(rows), pred_contribs=True).reshape(len(rows), classes, -1)
    return np.asarray(model.predict(rows, pred_contrib=True)).reshape(len(rows), classes, -1)


def test_tree_shap_of_probabilities_needs_a_background(package):
    pytest.importorskip("shap")
    with pytest.raises(NotApplicable, match="something else, such as log-odds"):
        TreeShap()(asked(estimator(package).fit(NUMBERS, TWO), PLAIN, None))


def test_tree_shap_explains_a_category_as_one_column():
    pytest.importorskip("shap")
    lightgbm = pytest.importorskip("lightgbm")
    entries = torch.cat([X[:, :2], X[:, 2:3] > 0, X[:, 2:3] <= 0], dim=1)

    def frame(x):
        sign = pd.Categorical.from_codes(x[:, 2:].argmax(dim=1).numpy(), categories=["up", "down"])
        return pd.DataFrame({"a": x[:, 0].numpy(), "b": x[:, 1].numpy(), "sign": sign})

    label = ((X[:, 0] > 0) ^ (X[:, 2] > 0)).long().numpy()
    model = estimator(lightgbm, min_child_samples=5).fit(frame(entries), label)
    rows = Rows(entries, Columns((0, 1, 2, 2), ("a", "b", "sign")), "table", given=frame)
    query = asked(model, rows, "logits")
    found = TreeShap()(query)
    assert found.shape == (6, 3)
    assert bool((found[:, 2] != 0).any())
    assert_close(found.sum(dim=1), TreeShap().promised(query), rtol=1e-4, atol=1e-5)
