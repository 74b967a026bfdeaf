"""Labels and targets, as numbers of a model's outputs."""

import numpy as np
import pytest
import torch
from torch import nn

from assay.core.errors import SpecError
from assay.core.features import Columns
from assay.users.class_numbers import label_numbers, output_numbers
from assay.users.rows import Rows
from assay.users.taken import Taken


def taken(count=3, classes=(), outputs="logits"):
    return Taken(nn.Identity(), outputs, count, tuple(classes))


@pytest.mark.parametrize(
    "values, classes, expected",
    [
        ([0, 2, 1], (), [0, 2, 1]),
        ([0.0, 2.0, 1.0], (), [0, 2, 1]),
        (torch.tensor([0, 2, 1]), (), [0, 2, 1]),
        ([1, 3, 2], ("1", "2", "3"), [0, 2, 1]),
        ([1.0, 3.0, 2.0], ("1", "2", "3"), [0, 2, 1]),
        ([1, 3, 2], ("1.0", "2.0", "3.0"), [0, 2, 1]),
        (["ant", "cat", "bee"], ("ant", "bee", "cat"), [0, 2, 1]),
        ([0, 2, 1], ("ant", "bee", "cat"), [0, 2, 1]),
        ([True, False, True], (), [1, 0, 1]),
        ([True, False, True], ("False", "True"), [1, 0, 1]),
        ([1, 0, 1], ("False", "True"), [1, 0, 1]),
        (np.array(["2", "1", "1"], dtype=object), ("1", "2"), [1, 0, 0]),
        (2, (), [2, 2, 2]),
        ("cat", ("ant", "bee", "cat"), [2, 2, 2]),
    ],
)
def test_classes_are_outputs_by_name_else_by_number(values, classes, expected):
    found = output_numbers("target", values, 3, taken(len(classes) or 3, classes))
    assert found.dtype == torch.long
    assert found.tolist() == expected


@pytest.mark.parametrize(
    "values, classes, words",
    [
        ([0, 1, 3], (), "target holds class 3, and the model has outputs 0 to 2"),
        ([0, 1, 2], ("1", "2", "3"), r"target holds class '0' \(3 classes in all\), and the model has 3: 1, 2, 3"),
        (["ant", "dog", "cat"], ("ant", "bee", "cat"), "class 'dog' .* the model has 3: ant, bee, cat"),
        (["ant", "bees", "cat"], ("ant", "bee", "cat"), "Did you mean 'bee'"),
        (["ant", "bee", "cat"], (), "holds text, and the model does not name its classes"),
        ([0.5, 1, 2], (), "target holds fractions"),
        ([0, 1], (), r"has shape \(2,\): one class per row"),
    ],
)
def test_what_is_no_class_is_told(values, classes, words):
    with pytest.raises(SpecError, match=words):
        output_numbers("target", values, 3, taken(3, classes))


FOLDER = ("cat", "dog")


@pytest.mark.parametrize(
    "values, classes, count, expected",
    [
        ([0, 1, 1], (), 2, [0, 1, 1]),
        (["cat", "dog", "dog"], (), 2, [0, 1, 1]),
        ([0, 1, 1], ("dog", "owl", "cat"), 3, [2, 0, 0]),
        (["cat", "dog", "dog"], ("dog", "owl", "cat"), 3, [2, 0, 0]),
        ([0, 1, 1], ("n01", "n02"), 2, [0, 1, 1]),
    ],
)
def test_the_order_of_a_folder_s_classes_counts_where_the_model_names_no_others(values, classes, count, expected):
    assert output_numbers("label", values, 3, taken(count, classes), FOLDER).tolist() == expected


def test_a_folder_of_other_classes_than_the_model_s_is_refused_with_both_numbers():
    for classes in ((), tuple("abc")):
        with pytest.raises(SpecError, match=r"the data name 2 classes \(cat, dog\), and the model has 3 outputs"):
            output_numbers("label", [0, 1, 1], 3, taken(3, classes), FOLDER)


def rows(label, classes=()):
    return Rows(
        torch.zeros(3, 4),
        Columns.plain(4),
        "table",
        label=None if label is None else np.asarray(label),
        classes=classes,
    )


def test_labels_of_a_value_are_true_values():
    assert label_numbers(rows([0.5, 7.0, -3.0]), taken(1, outputs="value")).tolist() == [0, 0, 0]
    assert label_numbers(rows([0, 1, 1]), taken(1, outputs="value")).tolist() == [0, 0, 0]
    with pytest.raises(SpecError, match="label holds text: give the true values"):
        label_numbers(rows(["a", "b", "c"]), taken(1, outputs="value"))
    with pytest.raises(SpecError, match=r"one value per row is needed, \(3,\)"):
        label_numbers(rows([0.5, 1.5]), taken(1, outputs="value"))


def test_labels_of_classes_are_outputs():
    assert label_numbers(rows(None), taken()) is None
    assert label_numbers(rows([0, 2, 1]), taken()).tolist() == [0, 2, 1]
    assert label_numbers(rows([1, 0, 1], FOLDER), taken(2, ("dog", "cat"))).tolist() == [0, 1, 0]
    with pytest.raises(SpecError, match=r"fractions, and the model answers with logits of 3 classes.*outputs='value'"):
        label_numbers(rows([0.5, 1, 2]), taken())
