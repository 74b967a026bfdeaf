"""A component by its spec, or as an object: what it contributes to keys and streams, and which parts it has."""

import subprocess
import sys
from pathlib import Path

import pytest

import strangers
import yard
from assay.catalogue.build import build, component_and_name, describe, method_and_name
from assay.core.errors import AssayError
from assay.engine.artifacts.component import Component, has_fit
from assay.engine.artifacts.desk import Desk
from assay.engine.artifacts.model import make_place
from assay.engine.store.memory import MemoryStore
from assay.methods.gradient import Gradient
from assay.methods.smoothed import Smoothed
from yard_study import component, full, here

# What has something to fit.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gradient", False),
        ("agop", True),
        ("smoothed(of=agop)", True),
        ("smoothed(of=gradient)", False),
        ("absolute(of=pooled(of=agop))", True),
        ("yard:Fits", True),
        ("yard:Copy", False),
        ("yard:Both(of=(agop, gradient))", True),
        ("yard:Around(of=gradient)", True),  # a combinator that fits itself
    ],
)
def test_a_method_is_fitted_when_it_or_what_is_inside_fits(text, expected):
    assert has_fit(full("methods", text)) is expected
    assert ("fit" in component("methods", text).steps) is expected


@pytest.mark.parametrize("text", ["agop", "gradient", "smoothed(of=agop)", "yard:Fits", "yard:Copy"])
def test_an_object_has_the_parts_that_its_spec_has(text):
    written = component("methods", text)
    assert Component("methods", instance=written.build()).steps == written.steps


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("yard:Total", {"again"}),  # it says nothing about its needs: it may ask the method again
        ("yard:Calm", set()),
        ("yard:Probes", {"probe", "again"}),
        ("yard:Prepares", {"prepare", "again"}),
        ("f1", set()),
        ("max_sensitivity", {"again"}),
    ],
)
def test_a_metric_has_the_parts_that_it_defines(text, parts):
    assert component("metrics", text).steps == parts
    assert Component("metrics", instance=component("metrics", text).build()).steps == parts


def test_an_environment_that_trains_says_so():
    assert component("environments", "yard:Orchard").steps >= {"train"}
    assert "train" not in component("environments", "yard:Meadow").steps


# What was planned is what is built.

DOUBLES = "def doubles(model, inputs, targets):\n    return {factor} * inputs\n"


def test_what_is_not_what_was_planned_is_refused(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "doubling.py").write_text(DOUBLES.format(factor=2))
    planned = component("methods", "doubling:doubles")
    assert planned.identity
    assert planned.build().wrapped.__name__ == "doubles"
    (tmp_path / "doubling.py").write_text(DOUBLES.format(factor=20))
    with pytest.raises(AssayError, match=r"'doubling:doubles' .* was changed during the run"):
        planned.build()
    with pytest.raises(AssayError, match="run the study again"):
        planned.check()
    component("methods", "doubling:doubles").check()  # what is planned now is what is there


def test_an_object_is_what_it_is():
    method = yard.Copy()
    made = Component("methods", instance=method)
    made.check()
    assert made.build() is method
    assert str(made) == "Copy"


# Describing what was made by hand.


@pytest.mark.parametrize(
    "text",
    [
        "gradient",
        "smoothed(of=integrated_gradients(steps=3))",
        "yard:Copy(k=2.0)",
        "yard:Around(of=lrp)",
        "yard:Both(of=(agop, gradient))",
        "strangers:noise",
        "strangers:query_noise",
        "strangers:Saliency",
        "yard:Around(of=strangers:query_noise)",
    ],
)
def test_describe_is_the_inverse_of_build(text):
    assert str(describe(build("methods", full("methods", text)))) == str(full("methods", text))


def test_a_component_made_by_hand_has_the_spec_that_a_study_gives_it():
    assert str(describe(Smoothed(noise=1))) == str(full("methods", "smoothed(noise=1)"))


# Streams of random numbers.


def stream_of(made):
    return Desk(MemoryStore()).stream(made.kind, made, here())


METHODS = [
    (strangers.noise, "strangers:noise"),
    (strangers.query_noise, "strangers:query_noise"),
    (strangers.Saliency, "strangers:Saliency"),
    (yard.Copy(2.0), "yard:Copy(k=2.0)"),
    (yard.Around(Gradient()), "yard:Around(of=gradient)"),
    (yard.Around(strangers.query_noise), "yard:Around(of=strangers:query_noise)"),
    (yard.Around(method_and_name(strangers.noise)[0]), "yard:Around(of=strangers:noise)"),
    (yard.Both((strangers.query_noise, yard.Copy())), "yard:Both(of=(strangers:query_noise, yard:Copy))"),
    (Smoothed(yard.Copy()), "smoothed(of=yard:Copy)"),
]
METRICS = [
    (strangers.noisy_mean, "strangers:noisy_mean"),
    (strangers.NoisyMean, "strangers:NoisyMean"),
    (yard.Total(2.0), "yard:Total(k=2.0)"),
]


@pytest.mark.parametrize(("made", "text"), METHODS, ids=[text for _, text in METHODS])
def test_a_method_draws_the_same_numbers_by_hand_and_in_a_study(made, text):
    found = stream_of(Component("methods", instance=method_and_name(made)[0]))
    assert found == stream_of(component("methods", text))
    assert "0x" not in found.component


@pytest.mark.parametrize(("made", "text"), METRICS, ids=[text for _, text in METRICS])
def test_a_metric_draws_the_same_numbers_by_hand_and_in_a_study(made, text):
    found = stream_of(Component("metrics", instance=component_and_name("metrics", made)[0]))
    assert found == stream_of(component("metrics", text))
    assert "0x" not in found.component


def test_a_metric_that_was_made_already_is_named_by_its_class():
    found = stream_of(Component("metrics", instance=component_and_name("metrics", strangers.NoisyMean(2.0))[0]))
    assert found.component == "strangers:NoisyMean"


def test_the_environment_is_named_the_same_way():
    by_hand, written = (
        Component("environments", instance=yard.Meadow(2.0)),
        component("environments", "yard:Meadow(scale=2)"),
    )
    desk, method = Desk(MemoryStore()), component("methods", "gradient")
    assert desk.stream("method", method, make_place(by_hand, 0, 0)) == desk.stream(
        "method", method, make_place(written, 0, 0)
    )


PRINTS = """
import strangers
import yard
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.desk import Desk
from assay.engine.artifacts.model import make_place
from assay.catalogue.build import component_and_name, method_and_name
from assay.engine.store.memory import MemoryStore

where = make_place(Component("environments", instance=yard.Meadow()), 0, 0)
made = [("methods", method_and_name(given)[0]) for given in (strangers.noise, yard.Around(strangers.query_noise))]
for kind, made in (*made, ("metrics", component_and_name("metrics", strangers.noisy_mean)[0])):
    print(Desk(MemoryStore()).stream("role", Component(kind, instance=made), where).seed_for("x"))
"""


def test_streams_are_the_same_in_every_process(tmp_path):
    """Addresses and hashes of objects are others in every process."""
    (tmp_path / "prints.py").write_text(PRINTS)
    found = [
        subprocess.run(
            [sys.executable, tmp_path / "prints.py"],
            env={"PYTHONPATH": ":".join([str(Path(yard.__file__).parent), *sys.path]), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]
    assert len(set(found[0])) == 3


def test_deeply_nested_methods_are_looked_through_once():
    text = "gradient"
    for _ in range(20):
        text = f"absolute(of={text})"
    assert not has_fit(full("methods", text))
