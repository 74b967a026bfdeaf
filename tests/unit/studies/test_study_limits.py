"""Limits of a study file: what is sound stays below them."""

import pytest

from assay.core.errors import AssayError, StudyError
from assay.studies.file import read
from assay.studies.limits import excesses, has_long_key
from assay.studies.shipped import shipped_studies

BASE = {"environments": ["color_count"], "methods": ["gradient"], "metrics": ["f1"]}


def test_no_shipped_study_has_a_long_key():
    assert not [name for name, path in shipped_studies().items() if has_long_key(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("key", ["a." * 30, "[" + "'b c' . " * 30, '"".' * 30, "a-b_1." * 30])
def test_a_long_key_is_found_whatever_its_parts(key):
    assert has_long_key(f"x = 1\n{key}z = 1\n")


def test_long_texts_take_no_long_time():
    for text in ("a" * 1_000_000, '"' * 100_000, "a." * 10 + "x" * 1_000_000, "." * 1_000_000, "'a' " * 200_000):
        assert not has_long_key(text)


def test_an_excess_is_named_by_the_key_that_holds_it():
    assert list(excesses({"a": {"b": [1, 2**63]}})) == [
        "b: a whole number is too large (64 bits hold at most 9223372036854775807)"
    ]
    assert not list(excesses({"a": [2**63 - 1, -(2**63), True, 1e300, "x", None]}))


def test_a_study_that_is_too_large_can_still_be_narrowed():
    study = read({**BASE, "samples": 10**12}, "s")
    with pytest.raises(AssayError, match="250,000,000,000 blocks"):
        study.narrowed(None, None)
    assert study.narrowed(8, None).blocks() == 2


def test_labels_are_escaped_everywhere_in_the_same_way():
    methods = [{"use": "gradient", "label": "\x1b[2Jé\u200c"}]
    tests = [{"metric": "f1", "require": ["\x1b[2Jé\u200c"], "by": {"\x1b[2Jé\u200c": "f1"}}]
    study = read({**BASE, "title": "\x00" + "t" * 5_000, "methods": methods, "faithfulness": tests}, "s")
    assert study.methods[0].label == study.faithfulness[0].require[0] == next(iter(study.faithfulness[0].by))
    assert study.methods[0].label == r"\x1b[2J" + "é\u200c"
    assert len(study.title) < 1_100


def test_a_message_lists_twenty_problems_and_says_how_many_there_are():
    with pytest.raises(StudyError) as refused:
        read({**BASE, **{f"k{number}": 1 for number in range(50)}}, "s")
    assert len(refused.value.problems) == 50
    assert "  - and 30 more" in str(refused.value)


def test_a_key_that_is_no_unicode_is_told_like_any_other():
    tables = {"\ud800": 1, "faithfulness": [{"metric": "f1", "\ud800": 1}], "question": {"\ud800": 1}}
    with pytest.raises(StudyError) as refused:
        read({**BASE, **tables}, "s")
    assert len(refused.value.problems) == 3
    assert r"unknown key '\ud800'" in str(refused.value)
