"""The generated catalogue is what the classes say; the packages of components offer them."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

import assay.environments
import assay.methods
import assay.metrics
from assay.catalogue.build import build
from assay.catalogue.cards import Card
from assay.catalogue.describe import describe_class
from assay.catalogue.families import PARAMETERS
from assay.catalogue.generate import generated
from assay.catalogue.registry import KINDS, catalogue
from assay.core.spec import Spec
from assay.foreign.imports import load

CARDS = [card for kind in KINDS for card in catalogue(kind).values() if card.ours]
PACKAGES = {"environments": assay.environments, "methods": assay.methods, "metrics": assay.metrics}
every_component = pytest.mark.parametrize("card", CARDS, ids=lambda card: f"{card.kind}-{card.name}")


def test_what_is_generated_is_what_the_classes_say() -> None:
    old = [path.name for path, text in generated().items() if path.read_text(encoding="utf-8") != text]
    assert not old, "out of date: run 'make renew'"


@every_component
def test_a_summary_is_one_line(card: Card) -> None:
    assert 0 < len(card.summary) <= 120


@every_component
def test_a_class_is_offered_by_its_package_with_its_parameters_explained(card: Card) -> None:
    name = card.target.partition(":")[2]
    cls = getattr(PACKAGES[card.kind], name)
    assert cls is load(card.target)
    assert pickle.loads(pickle.dumps(cls)) is cls
    assert cls.__module__ == card.target.partition(":")[0]
    assert name in dir(PACKAGES[card.kind])
    assert cls.__doc__.partition(PARAMETERS)[0] == card.doc
    assert all(f"{param.name} : {param.annotation}, default " in cls.__doc__ for param in card.params)
    assert all(param.note in cls.__doc__ for param in card.params)
    assert describe_class(card.kind, card.name, card.target, cls).params == card.params


def test_a_package_of_components_imports_them_when_they_are_taken() -> None:
    code = """
import sys
import assay.methods, assay.metrics, assay.environments
assert "Gradient" in dir(assay.methods) and "torch" not in sys.modules
from assay.methods import Gradient
assert "torch" in sys.modules and "assay.methods.smoothed" not in sys.modules
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


def test_a_name_that_a_package_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'assay.methods' has no attribute 'Gradeint'"):
        getattr(assay.methods, "Gradeint")  # noqa: B009


@pytest.mark.parametrize("name", catalogue("metrics"))
def test_a_metric_declares_how_it_is_read(name: str) -> None:
    metric = build("metrics", Spec.of(name))
    low, high = metric.range
    assert isinstance(metric.higher_is_better, bool)
    assert low < high
    assert low <= metric.ideal <= high


@pytest.mark.parametrize("name", catalogue("environments"))
def test_an_environment_has_a_tiny_instance(name: str) -> None:
    cls = load(catalogue("environments")[name].target)
    assert isinstance(cls.tiny(), cls)
    entries = cls.tiny().sample([0], 0).x.shape[1:]
    assert max(entries[1:], default=1) <= 32, "images of a tiny instance are at most 32 x 32"
