"""A component's output changes only together with its revision: stored results stay what they are called."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.catalogue.registry import KINDS, aliases, catalogue
from contracts import revisions
from contracts.revisions import RENEW, TOLERANCE, Output, as_before, complaint, kept, measure

COMPONENTS = [(kind, name) for kind in KINDS for name in (*catalogue(kind), *aliases(kind))]
BEFORE = Output("1", "color_count", "float32", "", {"value.size": 1.0, "value.mean": 0.5})


@pytest.mark.parametrize(("kind", "name"), COMPONENTS)
def test_the_output_is_what_it_was(kind: str, name: str) -> None:
    now = measure(kind, name)
    if kind != "environments" and now.place in kept()["environments"] and not as_before(now.place):
        pytest.skip(f"{now.place}, where it is tried, has changed itself")
    assert not (problem := complaint(kind, name, now)), problem


def test_every_component_has_stored_numbers() -> None:
    bare = [name for kind, name in COMPONENTS if name not in kept()[kind]]
    assert not bare, f"no numbers are stored for {', '.join(bare)}: run '{RENEW}'"


def test_rounding_is_no_change_and_a_ten_thousandth_is() -> None:
    for dtype in TOLERANCE:
        before = replace(BEFORE, dtype=dtype)
        assert before.like(replace(before, numbers={"value.size": 1.0, "value.mean": 0.5 + 1e-6}))
        assert not before.like(replace(before, numbers={"value.size": 1.0001, "value.mean": 0.5}))


@pytest.mark.parametrize(
    "other",
    [
        {"place": "elsewhere"},
        {"recipe": "epochs=2"},
        {"dtype": "float64"},
        {"numbers": {"value.size": 1.0}},
        {"numbers": {"value.size": 1.0, "value.mean": float("nan")}},
    ],
)
def test_another_place_recipe_or_type_a_missing_number_and_nan_are_changes(other: dict[str, object]) -> None:
    assert not BEFORE.like(replace(BEFORE, **other))


def changed(monkeypatch: pytest.MonkeyPatch, revision: str, mean: float) -> str:
    monkeypatch.setattr(revisions, "kept", lambda: {"methods": {"mine": BEFORE}})
    now = replace(BEFORE, revision=revision, numbers={"value.size": 1.0, "value.mean": mean})
    return complaint("methods", "mine", now)


def test_the_same_output_is_fine_whatever_the_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    assert changed(monkeypatch, "1", 0.5) == changed(monkeypatch, "2", 0.5) == ""


def test_another_output_under_the_same_revision_asks_for_a_new_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = changed(monkeypatch, "1", 0.51)
    assert "raise 'revision: ClassVar[int]'" in problem
    assert problem.endswith("value.mean 0.5 -> 0.51")


def test_another_output_of_another_source_asks_for_new_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = changed(monkeypatch, "2", 0.51)
    assert RENEW in problem
    assert "ClassVar" not in problem
