"""Fitted estimators, as scikit-learn, AutoGluon and others make them; boosting without its packages."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch.testing import assert_close

from assay.core.errors import AssayError, SpecError
from assay.core.features import Columns
from assay.core.setting import model_copy
from assay.train.estimator import Estimator
from assay.users.known import Known, known
from assay.users.rows import Rows
from assay.users.take import take_model, takes_missing

COLOURS = np.array(["blue", "green", "red"])
RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {"size": RANDOM.normal(size=60), "colour": RANDOM.choice(COLOURS, 60), "age": RANDOM.integers(1, 90, 60)}
)
LABEL = np.where((FRAME["size"] > 0) ^ (FRAME["colour"] == "red"), "yes", "no")
ENTRIES = torch.tensor(
    np.column_stack([FRAME["size"], FRAME["colour"].to_numpy()[:, None] == COLOURS, FRAME["age"]]).astype(np.float32)
)


def read_back(x):
    numbers = x.double().numpy()
    colour = COLOURS[numbers[:, 1:4].argmax(axis=1)]
    return pd.DataFrame({"size": numbers[:, 0], "colour": colour, "age": numbers[:, 4].round().astype(int)})


MIXED = Rows(ENTRIES, Columns((0, 1, 1, 1, 2), ("size", "colour", "age")), "table", given=read_back)
NUMBERS = FRAME[["size", "age"]].to_numpy(dtype=np.float32)
PLAIN = Rows(torch.from_numpy(NUMBERS), Columns.plain(2), "table")
FRAMED = replace(PLAIN, given=lambda x: pd.DataFrame(x.double().numpy(), columns=["size", "age"]))


def pipeline():
    columns = ColumnTransformer([("text", OneHotEncoder(), ["colour"]), ("numbers", StandardScaler(), ["size", "age"])])
    return make_pipeline(columns, LogisticRegression())


def test_a_pipeline_gets_raw_columns_of_text():
    model = pipeline().fit(FRAME, LABEL)
    taken = take_model(model, MIXED)
    expected = model.predict_proba(read_back(ENTRIES))
    np.testing.assert_allclose(taken.module(ENTRIES).numpy(), expected, rtol=1e-6)
    assert (taken.outputs, taken.count, taken.classes) == ("probabilities", 2, ("no", "yes"))
    assert taken.notes == (
        "The model answers with probabilities of 2 classes (no, yes); by its predict_proba; rows reach it as a frame.",
    )
    scores = take_model(model, MIXED, outputs="logits").module(ENTRIES)
    np.testing.assert_allclose(
        (scores[:, 1] - scores[:, 0]).numpy(), model.decision_function(read_back(ENTRIES)), rtol=1e-5
    )


def test_columns_come_in_the_model_s_order_and_others_are_left_out():
    model = pipeline().fit(FRAME[["age", "size", "colour"]], LABEL)
    more = replace(MIXED, given=lambda x: read_back(x).assign(id=range(len(x))))
    taken = take_model(model, more)
    np.testing.assert_allclose(taken.module(ENTRIES).numpy(), model.predict_proba(read_back(ENTRIES)), rtol=1e-6)
    assert "a frame without id, which it does not read" in taken.notes[0]


def test_columns_that_the_data_lack_are_named():
    model = pipeline().fit(FRAME, LABEL)
    fewer = replace(MIXED, given=lambda x: read_back(x).rename(columns={"colour": "color"}))
    with pytest.raises(SpecError, match=r"does not have: colour. Did you mean 'color'. x has size, color, age"):
        take_model(model, fewer)


def test_models_fitted_without_names_get_arrays():
    model = GaussianNB().fit(NUMBERS, LABEL)
    for rows in (PLAIN, FRAMED):
        np.testing.assert_allclose(
            take_model(model, rows).module(PLAIN.x).numpy(), model.predict_proba(NUMBERS), rtol=1e-5
        )
    assert "rows reach it as an array" in take_model(model, FRAMED).notes[0]


def test_models_fitted_with_names_get_them_back_for_an_array():
    frame = FRAME[["size", "age"]].astype(np.float32)
    model = GaussianNB().fit(frame, LABEL)
    np.testing.assert_allclose(take_model(model, PLAIN).module(PLAIN.x).numpy(), model.predict_proba(frame), rtol=1e-5)


@pytest.mark.parametrize("model", [RandomForestClassifier(), LinearRegression(), RidgeClassifier(), pipeline()])
def test_an_unfitted_estimator_is_refused_in_a_sentence(model):
    with pytest.raises(SpecError, match=r"is not fitted: call its fit\(x, y\), then give it\.$"):
        take_model(model, MIXED if hasattr(model, "steps") else PLAIN)


def test_a_regressor_answers_with_a_value_whatever_the_labels():
    model = LinearRegression().fit(NUMBERS, FRAME["size"])
    for label in (None, np.array([0, 1] * 30), FRAME["size"].to_numpy()):
        taken = take_model(model, replace(PLAIN, label=label))
        assert (taken.outputs, taken.count, taken.classes) == ("value", 1, ())
        np.testing.assert_allclose(taken.module(PLAIN.x)[:, 0].numpy(), model.predict(NUMBERS), rtol=1e-5)
    assert taken.notes == ("The model answers with a value; by its predict.",)


def test_logits_are_not_made_of_probabilities():
    with pytest.raises(SpecError, match="logits were promised: give outputs='probabilities'"):
        take_model(GaussianNB().fit(NUMBERS, LABEL), PLAIN, outputs="logits")


def test_texts_reach_a_pipeline_of_texts():
    texts = ["good film", "bad film", "good", "bad plot"]
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, [1, 0, 1, 0])
    words = [text.split() for text in texts]

    def joined(x):
        return [" ".join(word for word, keep in zip(words[int(row[2])], row, strict=False) if keep > 0.5) for row in x]

    rows = torch.tensor([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 2.0], [1.0, 1.0, 3.0]])
    taken = take_model(model, Rows(rows, Columns.plain(3), "tokens", given=joined))
    np.testing.assert_allclose(taken.module(rows).numpy(), model.predict_proba(texts), rtol=1e-6)
    assert "as a list" in taken.notes[0]


class Predictor:
    """As AutoGluon's: frames in, frames and series out, no ``classes_``."""

    def __init__(self, problem_type):
        self.problem_type = problem_type

    def predict_proba(self, frame):
        if self.problem_type == "regression":
            raise AssertionError("predict_proba is not there for regression")
        first = 1 / (1 + np.exp(-frame["size"]))
        return pd.DataFrame({"low": 1 - first, "high": first}, index=frame.index)

    def predict(self, frame):
        assert isinstance(frame, pd.DataFrame)
        return 2 * frame["size"]


def test_a_predictor_of_frames_has_the_classes_of_its_columns():
    taken = take_model(Predictor("binary"), MIXED)
    assert (taken.outputs, taken.classes) == ("probabilities", ("low", "high"))
    np.testing.assert_allclose(taken.module(ENTRIES)[:, 1].numpy(), 1 / (1 + np.exp(-ENTRIES[:, 0].numpy())), rtol=1e-5)


def test_a_predictor_of_a_value_is_asked_for_it():
    taken = take_model(Predictor("regression"), MIXED)
    assert taken.outputs == "value"
    assert_close(taken.module(ENTRIES)[:, 0], 2 * ENTRIES[:, 0])


class Second:
    def predict_proba(self, x):
        return 1 / (1 + np.exp(-np.asarray(x)[:, 0]))


def test_one_probability_per_row_is_that_of_the_second_class():
    taken = take_model(Second(), PLAIN)
    assert_close(taken.module(PLAIN.x)[:, 1], PLAIN.x[:, 0].sigmoid())
    assert (taken.outputs, taken.count) == ("probabilities", 2)


class Predicts:
    def __init__(self, answer):
        self.answer = answer

    def predict(self, x):
        return self.answer(np.asarray(x))


def test_predictions_that_add_up_to_1_are_probabilities():
    taken = take_model(
        Predicts(lambda x: np.stack([Second().predict_proba(x), 1 - Second().predict_proba(x)], 1)), PLAIN
    )
    assert taken.outputs == "probabilities"
    assert take_model(Predicts(lambda x: x), PLAIN).outputs == "value"


def test_names_of_classes_and_clusters_are_no_values():
    with pytest.raises(SpecError, match="predicts text and has no predict_proba"):
        take_model(Predicts(lambda x: np.array(["a"] * len(x))), PLAIN)
    clusters = KMeans(2, random_state=0, n_init=1).fit(NUMBERS)
    with pytest.raises(SpecError, match=r"KMeans predicts whole numbers.*clusters.*outputs='value'.*forward="):
        take_model(clusters, PLAIN)
    taken = take_model(clusters, PLAIN, outputs="value", forward=lambda model, x: -model.transform(x))
    np.testing.assert_allclose(taken.module(PLAIN.x).numpy(), -clusters.transform(NUMBERS), rtol=1e-5)


def test_what_scikit_learn_says_is_told():
    with pytest.raises(SpecError, match=r"GaussianNB cannot read the rows .*expecting 3 features"):
        take_model(GaussianNB().fit(np.c_[NUMBERS, NUMBERS[:, 0]], LABEL), PLAIN)
    two = RandomForestClassifier(n_estimators=2, random_state=0).fit(NUMBERS, np.stack([LABEL, LABEL], axis=1))
    with pytest.raises(AssayError, match="2 labels per row"):
        take_model(two, PLAIN)


class CatRegressor:
    """As CatBoost's: it has ``classes_``, and none are in it."""

    __module__ = "catboost.core"
    classes_ = np.array([])

    def predict(self, x, prediction_type="RawFormulaVal"):
        return 3 * np.asarray(x)[:, 0]


class CatClassifier(Second):
    __module__ = "catboost.core"
    classes_ = np.array(["low", "high"])

    def predict_proba(self, x):
        first = super().predict_proba(x)
        return np.stack([1 - first, first], axis=1)

    def predict(self, x, prediction_type="Class"):
        return np.asarray(x)[:, 0] if prediction_type == "RawFormulaVal" else self.classes_[(x[:, 0] > 0).astype(int)]


def test_boosting_with_the_interface_of_catboost():
    taken = take_model(CatRegressor(), PLAIN)
    assert taken.outputs == "value"
    assert_close(taken.module(PLAIN.x)[:, 0], 3 * PLAIN.x[:, 0])
    assert_close(take_model(CatClassifier(), PLAIN).module(PLAIN.x)[:, 1], PLAIN.x[:, 0].sigmoid())
    scores = take_model(CatClassifier(), PLAIN, outputs="logits")
    assert_close(scores.module(PLAIN.x), torch.stack([-PLAIN.x[:, 0] / 2, PLAIN.x[:, 0] / 2], dim=1))
    assert scores.notes == ("The model answers with logits of 2 classes (low, high); by its margins.",)


class Remembers(Second):
    def __deepcopy__(self, memo):
        return Third()


class Third:
    def predict_proba(self, x):
        return np.full(len(x), 0.5)


def test_a_model_whose_copy_answers_otherwise_is_refused():
    with pytest.raises(SpecError, match="a copy of Remembers answers otherwise"):
        take_model(Remembers(), PLAIN)


def test_estimators_that_read_missing_numbers_are_told_from_others():
    holes = NUMBERS.copy()
    holes[0, 0] = np.nan
    assert takes_missing(HistGradientBoostingClassifier(max_iter=2, random_state=0).fit(NUMBERS, LABEL), holes)
    assert not takes_missing(GaussianNB().fit(NUMBERS, LABEL), holes)
    assert not takes_missing(RandomForestClassifier(), holes)


def test_what_is_known_of_an_estimator_are_its_columns():
    assert known(pipeline().fit(FRAME, LABEL)) == Known(columns=("size", "colour", "age"))
    assert known(GaussianNB().fit(NUMBERS, LABEL)) == Known()
    assert known(lambda x: x) == Known()


def test_the_module_is_an_estimator_that_can_be_copied():
    taken = take_model(pipeline().fit(FRAME, LABEL), MIXED)
    assert isinstance(taken.module, Estimator)
    assert_close(model_copy(taken.module)(ENTRIES), taken.module(ENTRIES))
