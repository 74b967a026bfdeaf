"""Functions of arrays, frames and tensors."""

from dataclasses import replace
from threading import Lock

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.core.errors import SpecError
from assay.core.features import Columns
from assay.core.setting import model_copy
from assay.foreign.models import has_gradients
from assay.users.rows import Rows
from assay.users.take import take_model
from streams import seeded

X = torch.randn(12, 4, generator=torch.Generator().manual_seed(0))
WEIGHTS = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
ROWS = Rows(X, Columns.plain(4), "table")
FRAMED = replace(ROWS, given=lambda x: pd.DataFrame(x.numpy(), columns=list("abcd")))


def of_arrays(x):
    assert isinstance(x, np.ndarray)
    scores = np.exp(x @ WEIGHTS.numpy())
    return scores / scores.sum(axis=1, keepdims=True)


def test_rows_that_add_up_to_1_everywhere_are_probabilities():
    taken = take_model(of_arrays, ROWS)
    assert_close(taken.module(X), (X @ WEIGHTS).softmax(dim=1))
    assert taken.outputs == "probabilities"
    assert taken.notes == (
        "The model answers with probabilities of 3 classes, they are at least 0 and add up to 1; rows reach it as an "
        "array.",
    )
    assert not has_gradients(taken.module, X)


def test_other_outputs_have_to_be_named():
    def scores(x):
        return x @ WEIGHTS.numpy()

    with pytest.raises(
        SpecError, match=r"3 numbers per row.*outputs='logits', outputs='probabilities' or outputs='value'"
    ):
        take_model(scores, ROWS)
    for outputs in ("logits", "value"):
        taken = take_model(scores, ROWS, outputs=outputs)
        assert_close(taken.module(X), X @ WEIGHTS)
        assert taken.outputs == outputs
    with pytest.raises(SpecError, match="are not probabilities"):
        take_model(scores, ROWS, outputs="probabilities")


@pytest.mark.parametrize(
    "function",
    [lambda x: (x @ WEIGHTS).softmax(dim=1), lambda x: torch.softmax(torch.as_tensor(x) @ WEIGHTS, dim=1)],
    ids=["tensors only", "arrays, too"],
)
def test_a_function_that_answers_with_tensors_has_gradients(function):
    taken = take_model(function, ROWS)
    assert_close(taken.module(X), (X @ WEIGHTS).softmax(dim=1))
    assert has_gradients(taken.module, X)
    assert "rows reach it as a tensor" in taken.notes[0]


def test_a_function_of_arrays_alone_that_answers_with_tensors_gets_arrays():
    taken = take_model(lambda x: torch.from_numpy(of_arrays(x)), ROWS)
    assert "rows reach it as an array" in taken.notes[0]


def test_a_function_gets_the_frame_that_the_user_gave():
    def of_frames(frame):
        return frame[["c", "a"]].to_numpy()

    taken = take_model(of_frames, FRAMED, outputs="value")
    assert_close(taken.module(X), X[:, [2, 0]])
    assert taken.notes == ("The model answers with 2 values; rows reach it as a frame.",)


@pytest.mark.parametrize("kind", [list, pd.Series, np.asarray, torch.tensor])
def test_one_number_per_row_may_come_in_any_form(kind):
    taken = take_model(lambda x: kind([float(value) for value in np.asarray(x)[:, 1]]), ROWS, outputs="value")
    assert_close(taken.module(X)[:, 0], X[:, 1])


def test_a_frame_of_classes_is_an_answer():
    taken = take_model(lambda x: pd.DataFrame(of_arrays(x), columns=["u", "v", "w"]), ROWS)
    assert_close(taken.module(X), (X @ WEIGHTS).softmax(dim=1))


@pytest.mark.parametrize("named", [True, False])
def test_a_dict_becomes_arguments_else_the_only_argument(named):
    rows = replace(ROWS, given=lambda x: {"left": x[:, :2].numpy(), "right": x[:, 2:].numpy()})
    by_name = lambda left, right: np.stack([left.sum(1), right.sum(1)], axis=1)  # noqa: E731
    taken = take_model(by_name if named else lambda rows: by_name(**rows), rows, outputs="logits")
    assert_close(taken.module(X), torch.stack([X[:, :2].sum(1), X[:, 2:].sum(1)], dim=1))
    assert ("as arguments left, right" if named else "as a dict") in taken.notes[0]


def test_an_object_that_is_no_function_is_asked_by_forward():
    class Session:
        def __init__(self):
            self.lock = Lock()  # cannot be copied

        def run(self, names, feed):
            return [of_arrays(feed["input"])]

    taken = take_model(Session(), ROWS, forward=lambda model, x: model.run(None, {"input": x})[0])
    assert_close(model_copy(taken.module)(X), (X @ WEIGHTS).softmax(dim=1))
    assert taken.outputs == "probabilities"


def test_a_function_whose_network_draws_is_refused():
    with seeded():
        net = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5)).train()
    with seeded(), pytest.raises(SpecError, match="asked again"):
        take_model(lambda x: net(x), ROWS, outputs="logits")


def test_the_reasons_why_a_function_reads_nothing_are_told():
    with pytest.raises(SpecError, match=r"KeyError: 'z' \(tried, too: as an array, as a tensor\)"):
        take_model(lambda frame: frame["z"], FRAMED)


def test_texts_reach_a_function_as_they_were_given():
    words = Rows(
        torch.ones(3, 2), Columns.plain(2), "tokens", given=lambda x: [" ".join("ab"[: int(row.sum())]) for row in x]
    )
    taken = take_model(lambda texts: np.array([[len(text), 1.0] for text in texts]), words, outputs="value")
    assert taken.module(torch.tensor([[1.0, 1.0], [1.0, 0.0]])).tolist() == [[3.0, 1.0], [1.0, 1.0]]
    assert "rows reach it as a list" in taken.notes[0]
