from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.ensemble import GradientBoostingClassifier, IsolationForest, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from torch import Tensor

from assay.core.errors import AssayError, NotApplicable
from assay.core.features import Columns
from assay.core.query import Query
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.setting import Setting
from assay.train.estimator import Estimator

X = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
THREE = np.argmax(X[:, :3], axis=1)
TWO = (X[:, 0] > 0).astype(int)
POINTS = torch.from_numpy(X[:7])


def outputs(estimator: Any, label: Any, points: Tensor = POINTS) -> Tensor:
    output: Tensor = Estimator(estimator.fit(X, label))(points)
    return output


def test_a_classifier_answers_with_its_probabilities() -> None:
    model = GaussianNB().fit(X, THREE)
    output = Estimator(model)(POINTS)
    np.testing.assert_array_equal(output.numpy(), model.predict_proba(X[:7]).astype(np.float32))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_answer_has_the_number_format_of_the_input(dtype: torch.dtype) -> None:
    assert outputs(GaussianNB(), THREE, POINTS.to(dtype)).dtype == dtype


def test_points_that_want_gradients_are_answered_without() -> None:
    assert not outputs(GaussianNB(), THREE, POINTS.clone().requires_grad_()).requires_grad


def test_images_reach_the_estimator_as_rows() -> None:
    flat, image = outputs(GaussianNB(), THREE), outputs(GaussianNB(), THREE, POINTS.view(7, 1, 2, 2))
    assert torch.equal(flat, image)


def test_a_pipeline_answers_like_the_estimator_at_its_end() -> None:
    model = make_pipeline(StandardScaler(), GaussianNB()).fit(X, THREE)
    np.testing.assert_allclose(Estimator(model)(POINTS).numpy(), model.predict_proba(X[:7]), rtol=1e-6)


def test_two_classes_without_probabilities_get_opposite_scores() -> None:
    model = RidgeClassifier().fit(X, TWO)
    score = model.decision_function(X[:7]) / 2
    np.testing.assert_allclose(Estimator(model)(POINTS).numpy(), np.stack([-score, score], axis=1), rtol=1e-6)
    np.testing.assert_array_equal(Estimator(model)(POINTS).argmax(dim=1).numpy(), model.predict(X[:7]))


def test_three_classes_without_probabilities_get_a_score_each() -> None:
    model = SVC(random_state=0).fit(X, THREE)
    np.testing.assert_allclose(Estimator(model)(POINTS).numpy(), model.decision_function(X[:7]), rtol=1e-6)


def test_scores_of_pairs_of_classes_are_refused_even_where_their_number_fits() -> None:
    with pytest.raises(AssayError, match="SVC scores pairs of classes"):
        outputs(SVC(decision_function_shape="ovo", random_state=0), THREE)
    with pytest.raises(AssayError, match="pairs"):
        outputs(SVC(decision_function_shape="ovo", random_state=0), np.arange(60) % 4)


def test_a_classifier_that_only_names_a_class_votes_with_one_and_zero() -> None:
    names = np.array(["ant", "bee", "cat"])[THREE]
    output = outputs(VotingClassifier([("tree", DecisionTreeClassifier(random_state=0))]), names)
    assert torch.equal(output, torch.eye(3)[torch.from_numpy(THREE[:7])])


def test_a_regressor_answers_with_one_column_per_predicted_number() -> None:
    single, double = X @ [1.0, 2.0, 0.0, -1.0], X[:, :2]
    np.testing.assert_allclose(outputs(LinearRegression(), single).numpy(), single[:7, None], atol=1e-5)
    np.testing.assert_allclose(outputs(LinearRegression(), double).numpy(), double[:7], atol=1e-5)


def test_an_outlier_score_is_one_column() -> None:
    model = IsolationForest(n_estimators=3, random_state=0).fit(X)
    np.testing.assert_allclose(Estimator(model)(POINTS).numpy()[:, 0], model.decision_function(X[:7]), rtol=1e-6)


def test_an_estimator_that_was_fitted_on_named_columns_gets_them_back() -> None:
    model = GaussianNB().fit(pd.DataFrame(X, columns=list("abcd")), THREE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        output = Estimator(model)(POINTS)
    assert torch.equal(output, outputs(GaussianNB(), THREE))


def test_a_class_that_training_never_saw_has_probability_zero_in_its_own_column() -> None:
    model = GaussianNB().fit(X, 2 * TWO)
    output = Estimator(model, classes=4)(POINTS)
    np.testing.assert_allclose(output[:, [0, 2]].numpy(), model.predict_proba(X[:7]), rtol=1e-6)
    assert bool((output[:, [1, 3]] == 0).all())


def test_scores_cannot_be_invented_for_a_class_that_training_never_saw() -> None:
    with pytest.raises(AssayError, match="saw 2 of 3 classes"):
        Estimator(RidgeClassifier().fit(X, TWO), classes=3)(POINTS)


def test_several_labels_per_row_are_refused() -> None:
    with pytest.raises(AssayError, match="2 labels per row"):
        outputs(RandomForestClassifier(n_estimators=2, random_state=0), np.stack([TWO, THREE], axis=1))


@pytest.mark.parametrize("label", [TWO, THREE])
def test_the_softmax_of_scores_that_were_asked_for_is_the_probability(label: Any) -> None:
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, label)
    scores = Estimator(model, scores=True)
    torch.testing.assert_close(scores(POINTS).softmax(dim=1), Estimator(model)(POINTS), rtol=1e-5, atol=1e-6)
    assert (scores.kind, Estimator(model).kind) == ("logits", "probabilities")


@pytest.mark.parametrize(
    "estimator, kind",
    [
        (LinearRegression(), "value"),
        (IsolationForest(n_estimators=2, random_state=0), "value"),
        (RidgeClassifier(), "logits"),
    ],
)
def test_an_estimator_tells_what_it_answers_with(estimator: Any, kind: str) -> None:
    assert Estimator(estimator.fit(X, TWO)).kind == kind


def test_something_that_cannot_predict_is_refused_at_once() -> None:
    with pytest.raises(AssayError, match="StandardScaler is no estimator"):
        Estimator(StandardScaler())


def test_a_query_reads_the_probability_of_the_target_and_skips_methods_that_need_gradients() -> None:
    model = GaussianNB().fit(X, THREE)
    question = Question(readout="value", temperature=1.0, baseline="zero", target="label")
    setting = Setting(Estimator(model), Columns.plain(4), "table", question, differentiable=False)
    target = torch.tensor([2, 1, 0, 0, 1, 2, 1])
    query = Query(setting, question, POINTS, target, torch.zeros_like(POINTS), tuple(range(7)), Stream("test"))
    expected = model.predict_proba(X[:7])[np.arange(7), target.numpy()]
    np.testing.assert_allclose(query.score(POINTS).numpy(), expected, rtol=1e-6)
    with pytest.raises(NotApplicable, match="needs gradients"):
        query.gradient(POINTS)
