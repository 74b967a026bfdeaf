"""Whatever a TOML file may hold: a study that can be planned, or a StudyError, and nothing else."""

import copy
import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.core.errors import StudyError
from assay.core.spec import Spec
from assay.engine.execute.grid import grid
from assay.studies.file import read

fuzz = settings(max_examples=15, suppress_health_check=list(HealthCheck))

SOUND = {
    "title": "t",
    "seeds": [0, 1],
    "data_seed": 3,
    "samples": 4,
    "block": 2,
    "gallery": 1,
    "question": {"readout": "logit", "temperature": 1.0, "baseline": "zero", "target": "label"},
    "environments": [{"use": "color_count(side=64)", "label": "c", "samples": 2, "block": 1}],
    "methods": [
        {"use": "smoothed(of=gradient, noise=0.5)", "label": "m", "question": {"baseline": 0.5}, "only": ["c"]},
        {"use": "gradient", "family": "g"},
        "occlusion",
    ],
    "metrics": [{"use": "f1(sign='positive')", "label": "f", "only": ["color_count"]}, "insertion"],
    "faithfulness": [{"metric": "f", "gamma": 0.5, "require": ["m"]}],
    "slope": [{"left": "f", "right": "insertion", "methods": ["m", "gradient", "occlusion"]}],
}
TABLES = {
    "sweep": {"of": "environments", "parameter": "temperature", "values": [1, 2.5], "only": ["c"], "label": "T"},
    "full": {"samples": 3},
}

words = st.sampled_from(
    ["", "gradient", "f1", "c", "m", "f", "color_count", "use", "only", "metric", "gamma", "1e999", "f1(", "a:b", "é"]
)
leaves = (
    st.booleans()
    | st.integers(-3, 10)
    | st.sampled_from(
        [
            float(
                "nan",
            ),
            float(
                "inf",
            ),
            -1.5,
            0.0,
            2.0,
        ]
    )
    | words
    | st.text(max_size=6)
    | st.sampled_from([datetime.date(2026, 1, 1), datetime.time(1, 2), datetime.datetime(2026, 1, 1)])
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


NASTY = [
    *(
        True,
        0,
        -1,
        1.5,
        float(
            "nan",
        ),
        float(
            "inf",
        ),
        "",
        "x",
        "c",
        datetime.date(2026, 1, 1),
    ),
    *([], {}, [[]], [{}], [[1]], [True], ["x"], [1, "x"], {"x": 1}, {"use": 1}, {"metric": 1}, {"baseline": {}}),
    *({"metric": "f", "gamma": "x"}, {"metric": "f", "require": 1}, {"use": "gradient", "only": 1}),
]


def check(table):
    """Read it; a study that is taken can be planned down to its keys."""
    try:
        study = read(table, "fuzzed")
    except StudyError:
        return
    for artifact in grid(study).wanted:
        assert len(artifact.key) == 64
        assert all(len(need.key) == 64 for need in artifact.needs)
    study.to_json()


def changed(place, value):
    """The sound study with something else at one place; ``None`` as the last step adds to a list."""
    table = copy.deepcopy({**SOUND, **TABLES} if place[0] in TABLES else SOUND)
    at = table
    for step in place[:-1]:
        at = at[step]
    if place[-1] is None:
        at.append(value)
    else:
        at[place[-1]] = value
    return table


def test_the_sound_study_is_sound():
    check({**SOUND, **TABLES})
    assert read(SOUND, "s").faithfulness
    assert read(SOUND, "s").slope


@pytest.mark.parametrize(
    "place",
    [
        ("title",),
        ("seeds",),
        ("seeds", None),
        ("samples",),
        ("block",),
        ("gallery",),
        ("question", "readout"),
        ("question", "target"),
        ("question", "unknown"),
        ("environments",),
        ("environments", None),
        ("environments", 0, "use"),
        ("environments", 0, "label"),
        ("environments", 0, "samples"),
        ("environments", 0, "block"),
        ("methods",),
        ("methods", None),
        ("methods", 0, "use"),
        ("methods", 0, "label"),
        ("metrics",),
        ("metrics", None),
        ("metrics", 0, "label"),
        ("unknown",),
        ("data_seed",),
        ("question",),
        ("question", "temperature"),
        ("question", "baseline"),
        ("methods", 0, "question"),
        ("methods", 0, "question", "baseline"),
        ("methods", 0, "only"),
        ("methods", 0, "only", None),
        ("metrics", 0, "only"),
        ("faithfulness",),
        ("faithfulness", None),
        ("faithfulness", 0, "metric"),
        ("faithfulness", 0, "gamma"),
        ("faithfulness", 0, "require"),
        ("methods", 1, "family"),
        ("slope",),
        ("slope", None),
        ("slope", 0, "left"),
        ("slope", 0, "suffix"),
        ("slope", 0, "methods"),
        ("sweep",),
        ("sweep", "of"),
        ("sweep", "parameter"),
        ("sweep", "values"),
        ("sweep", "values", None),
        ("sweep", "only"),
        ("full",),
        ("full", "samples"),
        ("full", "sweep"),
    ],
    ids=lambda place: ".".join(map(str, place)) if isinstance(place, tuple) else None,
)
def test_anything_at_one_place_is_taken_or_told(place):
    for value in NASTY:
        check(changed(place, value))

    @fuzz
    @given(values)
    def attempt(value):
        check(changed(place, value))

    attempt()


@fuzz
@given(st.dictionaries(st.sampled_from([*(set(SOUND) - {"faithfulness"}), "x"]), values, max_size=6))
def test_any_table_without_its_lists_is_told(table):
    with pytest.raises(StudyError):
        read({**table, "methods": []}, "fuzzed")


texts = st.text(alphabet="smothed(of=gradient,ni1.5e'\"):-[]{}* _", max_size=30)


@fuzz
@given(texts)
def test_any_text_for_a_component_is_taken_or_told(text):
    check(changed(("methods", 0, "use"), text))


numbers = (
    st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5) | st.none()
)


@fuzz
@given(numbers, numbers)
def test_any_literal_for_a_parameter_is_taken_or_told(samples, noise):
    check(changed(("methods", 0, "use"), str(Spec.of("smoothed", samples=samples, noise=noise))))
