"""What the catalogue reads from the source of every metric is what Python sees."""

from __future__ import annotations

from dataclasses import MISSING, fields
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from assay.catalogue import registry
from assay.catalogue.build import build
from assay.core.facts import fact
from assay.core.spec import Spec
from assay.foreign.imports import load
from oracles.metrics.checks import CHECKS

OPTIONAL = {"after_prepare", "axes", "varies", "aliases", "about", "controls", "best_on_linear", "yes_or_no"}
FACTS = {"higher_is_better", "range", "ideal", "needs", "invariant", "exact_on_linear", "cost", "paper"}


@pytest.mark.parametrize("name", CHECKS)
def test_the_card_is_the_class(name: str) -> None:
    card = registry.card("metrics", registry.expand_alias("metrics", Spec(name)).name)
    cls = load(card.target)
    assert {fact for fact, _ in card.facts} - OPTIONAL == FACTS
    assert all(param.note for param in card.params)
    assert [(param.name, param.default) for param in card.params] == [(f.name, f.default) for f in fields(cls)]
    assert all(f.default is not MISSING for f in fields(cls))


@pytest.mark.parametrize("name", CHECKS)
def test_the_metric_can_be_built_from_its_name(name: str) -> None:
    spec = registry.resolve("metrics", Spec.parse(name))
    metric = build("metrics", spec)
    assert metric == type(metric)(**dict(registry.expand_alias("metrics", Spec(name)).params))
    assert metric.range[0] <= fact(metric, "ideal") <= metric.range[1]


def test_every_metric_of_the_folder_is_listed_here_or_belongs_to_somebody_else() -> None:
    folder = Path(load("assay.metrics.f1:F1").__call__.__code__.co_filename).parent
    assert {path.stem for path in folder.glob("[!_]*.py")} | set(registry.aliases("metrics")) >= set(CHECKS)


def test_the_page_of_metrics_is_what_the_cards_say() -> None:
    path = Path(__file__).parents[3] / "docs" / "make_metrics.py"
    found = spec_from_file_location("make_metrics", path)
    assert found is not None
    assert found.loader is not None
    made = module_from_spec(found)
    found.loader.exec_module(made)
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), "write it: python docs/make_metrics.py"
