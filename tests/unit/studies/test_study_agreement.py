"""Which metrics a study compares with truth: what it says, what it means by default, and its mistakes."""

import pytest

from assay.core.errors import StudyError
from assay.studies.file import read
from assay.studies.study import Agreement

BASE = {
    "environments": ["color_count(side=16)"],
    "methods": ["gradient", "input_x_gradient", "occlusion", "random_map", "smoothed(of=random_map())"],
    "metrics": ["f1", "insertion", "deletion", "accuracy", {"use": "confidence", "label": "sure"}],
}


def agreement(table, **changed):
    return read({**BASE, "agreement": [table], **changed}, "s").agreement


def problems(table, **changed):
    with pytest.raises(StudyError) as refused:
        agreement(table, **changed)
    return list(refused.value.problems)


def test_by_default_all_other_metrics_that_rank_methods_and_all_methods_but_controls_are_compared():
    methods = ("gradient", "input_x_gradient", "occlusion")
    assert agreement({"truth": "f1"}) == (Agreement("f1", ("insertion", "deletion"), methods),)


def test_controls_are_compared_if_they_are_named():
    table = {"truth": "f1", "metrics": ["deletion"], "methods": ["gradient", "random_map", "occlusion"]}
    (found,) = agreement(table)
    assert found == Agreement("f1", ("deletion",), ("gradient", "random_map", "occlusion"))


def test_a_study_without_the_key_compares_nothing():
    assert read(BASE, "s").agreement == ()


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"truth": "f2"}, "agreement item 1: no metric 'f2'."),
        ({"truth": "f1", "metrics": ["inserton"]}, "no metric 'inserton'. Did you mean 'insertion'?"),
        ({"truth": "f1", "methods": ["gradeint", "occlusion", "gradient"]}, "no method 'gradeint'"),
        ({"truth": "f1", "metrics": ["f1"]}, "'f1' is the truth; compare other metrics with it"),
        ({"truth": "f1", "metrics": ["sure"]}, "'sure' ranks no methods"),
        ({"truth": "f1", "metric": ["deletion"]}, "unknown key 'metric'. Did you mean 'metrics'?"),
        ({"truth": "f1", "methods": ["gradient", "occlusion"]}, "a correlation needs 3 or more"),
        ({"truth": "f1", "metrics": "deletion"}, "metrics must be a list of texts"),
        ({"metrics": ["deletion"]}, "no metric ''"),
        ("f1", "agreement must be a list of at most 1000 tables such as { truth = 'f1' }, not ['f1']"),
    ],
)
def test_mistakes_are_told(table, told):
    assert any(told in problem for problem in problems(table))


def test_all_mistakes_are_told_at_once():
    assert len(problems({"truth": "f2", "metrics": ["x"], "methods": ["y"], "z": 1})) >= 4


def test_too_few_methods_that_are_no_controls_are_told():
    (told,) = problems({"truth": "f1"}, methods=["gradient", "random_map", "constant"])
    assert told.startswith("agreement item 1: 1 of the methods are compared (controls only if they are named)")
