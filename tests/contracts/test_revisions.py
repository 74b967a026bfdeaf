"""A component's output changes only together with its revision: stored results stay what they are called."""

from __future__ import annotations

import pytest

from assay.catalogue.registry import KINDS, aliases, catalogue
from contracts import revisions
from contracts.revisions import RENEW, Output, as_before, complaint, kept, measure

COMPONENTS = [(kind, name) for kind in KINDS for name in (*catalogue(kind), *aliases(kind))]
BEFORE = Output("1", "color_count", {"value.size": 10.0, "value.sum": 1.0})


@pytest.mark.parametrize(("kind", "name"), COMPONENTS)
def test_the_output_is_what_it_was(kind: str, name: str) -> None:
    now = measure(kind, name)
    if kind != "environments" and now.place in kept()["environments"] and not as_before(now.place):
        pytest.skip(f"{now.place}, where it is tried, has changed itself")
    assert not (problem := complaint(kind, name, now)), problem


def test_every_component_has_stored_numbers() -> None:
    bare = [name for kind, name in COMPONENTS if name not in kept()[kind]]
    assert not bare, f"no numbers are stored for {', '.join(bare)}: run '{RENEW}'"


def changed(monkeypatch: pytest.MonkeyPatch, revision: str, total: float) -> str:
    monkeypatch.setattr(revisions, "kept", lambda: {"methods": {"mine": BEFORE}})
    return complaint("methods", "mine", Output(revision, "color_count", {"value.size": 10.0, "value.sum": total}))


def test_the_same_output_is_fine_whatever_the_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    assert changed(monkeypatch, "1", 1.0) == ""
    assert changed(monkeypatch, "2", 1.0 + 1e-5) == ""


def test_another_output_under_the_same_revision_asks_for_a_new_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "raise 'revision: ClassVar[int]'" in changed(monkeypatch, "1", 1.01)


def test_another_output_of_another_source_asks_for_new_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = changed(monkeypatch, "2", 1.01)
    assert RENEW in problem
    assert "ClassVar" not in problem
