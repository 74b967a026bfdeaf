"""A value fits an annotation, judged on text alone."""

import pytest

from assay.catalogue.annotations import annotated_kind, as_float, fits
from assay.core.spec import Spec

gradient = Spec("gradient")


@pytest.mark.parametrize(
    ("value", "annotation", "expected"),
    [
        (1, "int", True),
        (True, "int", False),
        (1.0, "int", False),
        ("1", "int", False),
        (None, "int", False),
        (1, "float", True),
        (1.5, "float", True),
        (False, "float", False),
        (1, "bool", False),
        (True, "bool", True),
        ("x", "str", True),
        (gradient, "str", False),
        (None, "float | None", True),
        (2.0, "float | None", True),
        ("torch", "float | None", False),
        ("torch", "float | Literal['torch']", True),
        ("jax", "float | Literal['torch']", False),
        ("a", "Literal['a', 'b']", True),
        ("c", "Literal['a', 'b']", False),
        ("a", "Literal['a']", True),
        (1, "Literal[True]", False),
        (True, "Literal[1]", False),
        (1.0, "Literal[1]", False),
        (None, "Literal['a'] | None", True),
        ((1, 2), "tuple[int, ...]", True),
        ((), "tuple[int, ...]", True),
        ((1, "x"), "tuple[int, ...]", False),
        (1, "tuple[int, ...]", False),
        ((1.0, 2), "tuple[float, float]", True),
        ((1.0,), "tuple[float, float]", False),
        ((1.0, 2, 3), "tuple[float, float]", False),
        ((1, "x"), "tuple[int, str]", True),
        (("x", 1), "tuple[int, str]", False),
        (((1, 2), (3,)), "tuple[tuple[int, ...], ...]", True),
        (((1, 2), 3), "tuple[tuple[int, ...], ...]", False),
        ((1, "x"), "tuple", True),
        (1, "tuple", False),
        (gradient, "Method", True),
        ("gradient", "Method", False),
        (gradient, "Metric | None", True),
        ((gradient, gradient), "tuple[Method, ...]", True),
        ((gradient, 1), "tuple[Method, ...]", False),
        ("anything", "Path", True),
        (3, "Mapping[str, int]", True),
    ],
)
def test_a_value_fits_its_annotation_or_does_not(value, annotation, expected):
    assert fits(value, annotation) is expected


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        ("Method", "methods"),
        ("tuple[Method, ...]", "methods"),
        ("Metric | None", "metrics"),
        ("Environment", "environments"),
        ("str", None),
    ],
)
def test_an_annotation_names_the_catalogue_it_wants(annotation, kind):
    assert annotated_kind(annotation) == kind


@pytest.mark.parametrize(
    ("value", "annotation", "expected"),
    [
        (1, "float", 1.0),
        (1, "float | None", 1.0),
        (1, "float | Literal['torch']", 1.0),
        (1, "int", 1),
        (1, "int | float", 1),
        (1, "str | int", 1),
        (True, "float", True),
        ("x", "float | str", "x"),
        (None, "float | None", None),
    ],
)
def test_a_whole_number_for_a_float_is_a_float_and_nothing_else_is(value, annotation, expected):
    found = as_float(value, annotation)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "annotation", "expected"),
    [((10, 20), "tuple[float, float] | None", (10.0, 20.0)), (1, "float | Literal['point']", 1.0)],
)
def test_a_whole_number_for_a_float_is_a_float_wherever_it_stands(value, annotation, expected):
    assert repr(as_float(value, annotation)) == repr(expected)


def test_a_literal_may_be_negative():
    assert fits(-1, "Literal[-1, 1]")


def test_a_whole_number_too_large_for_a_float_is_left_to_the_check():
    assert as_float(10**400, "float") == 10**400
