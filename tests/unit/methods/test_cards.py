"""The folder is the catalogue: what a file says about itself is what it holds."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path

import pytest

import assay.methods
from assay.catalogue.build import build
from assay.catalogue.cards import REQUIRED
from assay.catalogue.registry import card, catalogue, resolve
from assay.core.errors import SpecError
from assay.core.spec import Spec
from assay.foreign.imports import load
from assay.methods.gradient import Gradient
from assay.methods.integrated_gradients import IntegratedGradients
from assay.methods.occlusion import Occlusion
from assay.methods.smoothed import Smoothed

NAMES = sorted(path.stem for path in Path(assay.methods.__path__[0]).glob("*.py") if not path.stem.startswith("_"))


@pytest.mark.parametrize("name", NAMES)
def test_a_card_says_what_the_class_is(name):
    read = card("methods", name)
    cls = load(read.target)
    assert [param.name for param in read.params] == [field.name for field in fields(cls)]
    for param, field in zip(read.params, fields(cls), strict=True):
        assert (param.default == REQUIRED) == (field.default is MISSING)
        assert param.note, f"{name}.{param.name} has no comment"
    assert read.summary.endswith((".", ":")), read.summary
    assert set(dict(read.facts)) <= {"paper", "remedy", "positive_only", "revision", "control", "given"}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "precomputed"])
def test_every_method_can_be_built_from_its_name(name):
    made = build("methods", resolve("methods", Spec.parse(name)))
    assert made == load(catalogue("methods")[name].target)()


def test_specs_nest():
    text = "smoothed(of=integrated_gradients(steps=8, quadrature='right'), samples=3)"
    made = build("methods", resolve("methods", Spec.parse(text)))
    assert made == Smoothed(IntegratedGradients(8, "right"), samples=3)
    assert build("methods", resolve("methods", Spec.parse("smoothed"))) == Smoothed(Gradient())


@pytest.mark.parametrize(
    "make",
    [
        lambda: IntegratedGradients(0),
        lambda: IntegratedGradients(1, "trapezoid"),
        lambda: Occlusion(0, 0),
        lambda: load("assay.methods.lrp:Lrp")(epsilon=0.0),
        lambda: load("assay.methods.deep_shap:DeepShap")(background=-1),
    ],
)
def test_values_that_make_no_sense_are_refused_when_built(make):
    with pytest.raises(SpecError):
        make()
