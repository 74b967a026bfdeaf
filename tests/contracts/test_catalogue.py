"""The catalogue, which is read from source, says what an import says; names follow from files."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields, is_dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.catalogue.annotations import annotated_kind
from assay.catalogue.build import build
from assay.catalogue.cards import REQUIRED, Card, Param, snake
from assay.catalogue.registry import KINDS, catalogue, our_cards
from assay.core.spec import Spec
from assay.foreign.imports import load

CARDS = [card for kind in KINDS for card in our_cards(kind).values()]
every_component = pytest.mark.parametrize("card", CARDS, ids=lambda card: f"{card.kind}-{card.name}")


@every_component
def test_the_name_is_the_class_s_and_the_file_that_of_its_kind(card: Card) -> None:
    cls = load(card.target)
    assert card.name == snake(cls.__name__)
    assert cls.__module__ == f"assay.{card.kind}.{Path(inspect.getfile(cls)).stem}"


@every_component
def test_the_docstring_is_the_class_s(card: Card) -> None:
    assert card.doc == inspect.cleandoc(load(card.target).__doc__)
    assert 0 < len(card.summary) <= 120


@every_component
def test_parameters_are_the_fields(card: Card) -> None:
    cls = load(card.target)
    assert is_dataclass(cls)
    assert cls.__dataclass_params__.frozen
    assert [(p.name, p.annotation) for p in card.params] == [(f.name, f.type) for f in fields(cls)]
    assert [default(card.kind, param) for param in card.params] == [f.default for f in fields(cls)]


def default(kind: str, param: Param) -> Any:
    """What the card says is the default, as the object that Python would use."""
    if isinstance(param.default, Spec):
        return build(annotated_kind(param.annotation) or kind, param.default)
    return MISSING if param.default == REQUIRED else param.default


@every_component
def test_facts_are_the_class_variables(card: Card) -> None:
    cls = load(card.target)
    declared = {name for name, kind in cls.__annotations__.items() if str(kind).startswith("ClassVar")}
    assert declared == {name for name, _ in card.facts}
    assert {name: getattr(cls, name) for name, _ in card.facts} == dict(card.facts)


@every_component
def test_functions_are_those_that_the_class_defines(card: Card) -> None:
    cls = load(card.target)
    found = {name: value for name, value in vars(cls).items() if _written_in(value, inspect.getfile(cls))}
    assert list(card.calls) == [name for name, value in found.items() if not isinstance(value, property)]
    assert list(card.properties) == [name for name, value in found.items() if isinstance(value, property)]
    if card.kind != "environments":
        assert callable(cls.__call__)


def _written_in(value: Any, file: str) -> bool:
    """True for what stands in the class body, not for what ``dataclass`` adds."""
    if isinstance(value, property):
        value = value.fget
    elif isinstance(value, cached_property):
        value = value.func
    elif isinstance(value, classmethod | staticmethod):
        value = value.__func__
    return inspect.isfunction(value) and value.__code__.co_filename == file


@pytest.mark.parametrize("kind", KINDS)
def test_the_folder_is_the_catalogue(kind: str) -> None:
    """Every public file holds components, and every frozen dataclass there that can be called is one."""
    modules = [f"assay.{kind}.{path.stem}" for path in (Path(assay.__path__[0]) / kind).glob("[!_]*.py")]
    targets = {card.target for card in our_cards(kind).values()}
    assert {target.partition(":")[0] for target in targets} == {*modules}
    classes = [value for name in modules for value in vars(import_module(name)).values() if is_dataclass(value)]
    call = "setting" if kind == "environments" else "__call__"
    public = [cls for cls in classes if cls.__module__ in modules and not cls.__name__.startswith("_")]
    assert {f"{cls.__module__}:{cls.__name__}" for cls in public if call in vars(cls)} == targets


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
