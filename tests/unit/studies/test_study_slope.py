"""Which columns a study sets side by side, families of methods, and the mistakes in both."""

import pytest

from assay.core.errors import StudyError
from assay.studies.file import read
from assay.studies.study import Slope, Study

PROBABILITY = {"readout": "probability"}
BASE = {
    "environments": ["color_count(side=16)", {"use": "color_count(side=32)", "label": "large"}],
    "methods": [
        *("gradient", "occlusion", "input_x_gradient", "random_map"),
        *({"use": name, "label": f"{name}, p", "question": PROBABILITY} for name in ("gradient", "occlusion")),
        {"use": "input_x_gradient", "label": "input_x_gradient, p", "question": PROBABILITY},
        {"use": "random_map", "label": "random_map, p"},
    ],
    "metrics": [
        *("f1", "insertion", "accuracy"),
        {"use": "confidence", "label": "sure"},
        {"use": "deletion", "only": ["large"]},
    ],
}
METHODS = ("gradient", "occlusion", "input_x_gradient")
EVERY = (*METHODS, *(f"{name}, p" for name in METHODS))
SMALL = "color_count(side=16)"


def slope(table, **changed):
    (found,) = read({**BASE, "slope": [table], **changed}, "s").slope
    return found


def problems(table, **changed):
    with pytest.raises(StudyError) as refused:
        slope(table, **changed)
    return list(refused.value.problems)


def test_two_metrics_are_compared_over_all_methods_but_controls():
    assert slope({"left": "f1", "right": "insertion"}) == Slope("metrics", "f1", "insertion", EVERY)


def test_two_environments_may_be_sides():
    assert slope({"left": SMALL, "right": "large"}) == Slope("environments", SMALL, "large", EVERY)


def test_with_a_suffix_the_methods_are_those_that_have_a_counterpart():
    found = slope({"left": "f1", "right": "insertion", "suffix": ", p"})
    assert found == Slope("metrics", "f1", "insertion", METHODS, ", p")
    assert slope({"left": "f1", "right": "f1", "suffix": ", p"}).methods == METHODS


def test_methods_may_be_named_controls_among_them():
    table = {"left": "f1", "right": "insertion", "methods": ["random_map", "gradient", "occlusion"]}
    assert slope(table).methods == ("random_map", "gradient", "occlusion")
    assert slope({**table, "suffix": ", p"}).methods == ("random_map", "gradient", "occlusion")


def test_a_study_without_the_key_has_none():
    assert read(BASE, "s").slope == ()


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"left": "f2", "right": "insertion"}, "slope item 1: no metric and no environment 'f2'."),
        ({"left": "f1", "right": "inserton"}, "no metric and no environment 'inserton'. Did you mean 'insertion'?"),
        ({"left": "f1", "right": "large"}, "'f1' and 'large' are a metric and an environment: give two metrics or two"),
        ({"left": "f1", "right": "sure"}, "'sure' ranks no methods"),
        ({"left": "f1", "right": "f1"}, "'f1' is on both sides: give two metrics, two environments, or a suffix"),
        ({"left": "f1"}, "no metric and no environment ''"),
        ({"left": "f1", "right": "insertion", "sufix": "x"}, "unknown key 'sufix'. Did you mean 'suffix'?"),
        ({"left": "f1", "right": "insertion", "suffix": 3}, "suffix must be a text, not 3"),
        (
            {"left": "f1", "right": "insertion", "suffix": ", q"},
            "no method has a counterpart whose label ends with ', q'",
        ),
        (
            {"left": "f1", "right": "insertion", "methods": ["gradeint"]},
            "no method 'gradeint'. Did you mean 'gradient'?",
        ),
        ({"left": "f1", "right": "insertion", "methods": ["gradient", "occlusion"]}, "a correlation needs 3 or more"),
        (
            {"left": "f1", "right": "insertion", "suffix": ", p", "methods": [*METHODS, "gradient, p"]},
            "'gradient, p' has no counterpart 'gradient, p, p'",
        ),
        ("f1", "slope must be a list of at most 1000 tables such as { left = 'f1', right = 'insertion' }, not ['f1']"),
    ],
)
def test_mistakes_are_told(table, told):
    assert any(told in problem for problem in problems(table))


def test_a_mistake_is_told_once():
    assert len(problems({"left": "f1", "right": "insertion", "suffix": ", p", "methods": ["gradient, p"]})) == 1
    assert len(problems({"left": "sure", "right": "sure", "suffix": ", p"})) == 1


def test_all_mistakes_are_told_at_once():
    assert len(problems({"left": "f2", "right": "x", "methods": ["y"], "z": 1})) >= 4


def test_columns_that_are_nowhere_together_are_told():
    metrics = [{"use": "f1", "only": [SMALL]}, {"use": "deletion", "only": ["large"]}, "accuracy"]
    assert problems({"left": "f1", "right": "deletion"}, metrics=metrics) == [
        "slope item 1: no environment has both 'f1' and 'deletion'"
    ]
    assert problems({"left": SMALL, "right": "large"}, metrics=metrics) == [
        f"slope item 1: no metric ranks methods in both '{SMALL}' and 'large'"
    ]


def test_a_family_belongs_to_a_method_and_is_recorded():
    methods = [{"use": "gradient", "family": "gradients"}, "occlusion"]
    study = read({**BASE, "methods": methods}, "s")
    assert [entry.family for entry in study.methods] == ["gradients", ""]
    stored = study.to_json()
    assert [entry["family"] for entry in stored["methods"]] == ["gradients", ""]
    assert not any("family" in entry for kind in ("environments", "metrics") for entry in stored[kind])
    assert [entry.family for entry in Study.from_json(stored).methods] == ["gradients", ""]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"methods": [{"use": "gradient", "family": ""}]}, "methods item 1: family must be a text, not ''"),
        ({"methods": [{"use": "gradient", "family": 3}]}, "methods item 1: family must be a text, not 3"),
        ({"metrics": [{"use": "f1", "family": "x"}]}, "metrics item 1: unknown key 'family'"),
    ],
)
def test_mistakes_in_a_family_are_told(changed, told):
    with pytest.raises(StudyError) as refused:
        read({**BASE, **changed}, "s")
    assert any(told in problem for problem in refused.value.problems)


def test_copies_of_a_sweep_keep_the_family():
    sweep = {"of": "methods", "parameter": "question.baseline", "values": ["zero", "true"], "only": ["gradient"]}
    methods = [{"use": "gradient", "family": "gradients"}]
    assert [entry.family for entry in read({**BASE, "methods": methods, "sweep": sweep}, "s").methods] == [
        "gradients"
    ] * 2
