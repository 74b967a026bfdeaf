"""A question leaves open what the environment decides, and refuses what means nothing."""

import datetime
from dataclasses import asdict, fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import SpecError
from assay.core.question import Question
from assay.core.records import canonical

FULL = Question("logit", 1.0, "zero", "label")

questions = st.builds(
    Question,
    st.sampled_from([None, "logit", "probability", "margin", "value"]),
    st.sampled_from([None, 0.5, 1.0, 2.0]),
    st.sampled_from([None, "zero", "true", 0.0, -1.5]),
    st.sampled_from([None, "label", "predicted"]),
)


@given(questions, questions)
def test_over_keeps_what_is_given_and_fills_in_what_is_open(asked, default):
    found = asked.over(default)
    for field in fields(Question):
        given_value, other = getattr(asked, field.name), getattr(default, field.name)
        assert getattr(found, field.name) == (other if given_value is None else given_value)


@given(questions, questions, questions)
def test_over_does_not_depend_on_the_order_of_grouping(first, second, third):
    assert first.over(second).over(third) == first.over(second.over(third))


def test_a_baseline_of_nought_is_not_an_open_one():
    assert Question(baseline=0.0).over(Question(baseline="true")).baseline == 0.0


def test_a_question_asked_of_itself_is_unchanged():
    assert FULL.over(FULL) == FULL == Question().over(FULL) == FULL.over(Question())


def test_a_table_is_read_field_by_field():
    table = {"readout": "margin", "temperature": 0.5, "baseline": 0.25, "target": "predicted"}
    assert Question.from_table(table) == Question("margin", 0.5, 0.25, "predicted")
    assert Question.from_table({}) == Question()
    assert Question.from_table(table).to_json() == table


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"readot": "logit"}, r"unknown question field 'readot'. Did you mean 'readout'\? Known: readout, temperature"),
        (
            {"readout": "logits"},
            r"readout 'logits' is unknown. Did you mean 'logit'\? Known: logit, probability, margin, value.",
        ),
        ({"target": "predict"}, r"target 'predict' is unknown. Did you mean 'predicted'\?"),
        ({"baseline": "black"}, r"baseline 'black' is unknown. Known: zero, true, mean, uniform"),
        ({"temperature": 0}, r"temperature must be positive, not 0"),
        ({"temperature": -1.0}, r"temperature must be positive, not -1.0"),
        ({"temperature": float("nan")}, r"temperature must be a finite number, not nan"),
        ({"readout": 3}, r"readout 3 is unknown"),
        ({"readout": ["logit"]}, r"readout .* is unknown"),
        ({"target": {}}, r"target {} is unknown"),
    ],
)
def test_what_does_not_fit_is_named(table, said):
    with pytest.raises(SpecError, match=said):
        Question.from_table(table)


@pytest.mark.parametrize(
    "table",
    [
        pytest.param({"temperature": "warm"}, id="temperature is text"),
        pytest.param({"temperature": [1.0]}, id="temperature is a list"),
        pytest.param({"temperature": True}, id="temperature is a truth value"),
        pytest.param({"temperature": float("inf")}, id="temperature is infinite"),
        pytest.param({"baseline": float("nan")}, id="baseline is not a number"),
        pytest.param({"baseline": float("inf")}, id="baseline is infinite"),
        pytest.param({"baseline": True}, id="baseline is a truth value"),
        pytest.param({"baseline": [0.5, 0.5]}, id="baseline is a list"),
        pytest.param({"baseline": {}}, id="baseline is a table"),
        pytest.param({"baseline": datetime.date(2026, 1, 1)}, id="baseline is a date"),
    ],
)
def test_a_number_must_be_a_finite_number(table):
    with pytest.raises(SpecError, match=next(iter(table))):
        Question.from_table(table)


def test_everything_wrong_with_a_question_is_said_at_once():
    with pytest.raises(SpecError) as refused:
        Question.from_table({"readout": "logits", "target": "labl", "temperature": -1})
    assert all(field in str(refused.value) for field in ("readout", "target", "temperature"))


def test_equal_questions_have_equal_keys():
    whole, broken = (
        Question.from_table({"temperature": 2, "baseline": 0}),
        Question.from_table({"temperature": 2.0, "baseline": 0.0}),
    )
    assert whole == broken
    assert canonical(whole.to_json()) == canonical(broken.to_json())


def test_a_question_is_plain_data():
    assert asdict(FULL) == FULL.to_json()
    assert canonical(FULL.to_json()) == '{"baseline":"zero","readout":"logit","target":"label","temperature":1.0}'
