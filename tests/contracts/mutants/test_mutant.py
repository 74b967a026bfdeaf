"""Mutants change one place of a module, found by its meaning."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from contracts.mutants import mutant
from contracts.mutants.mutant import Mutant, changed

SOURCE = '''
LIMIT = 1

class Sum:
    """total += 1"""

    def __call__(self, values):
        total = 0
        for value in values:
            total += (
                value  # as it is
                * 2
            )
        return total

def double(value):
    value = abs(value)
    return value * 2
'''
Change = Callable[[str, str, str], str]


@pytest.fixture
def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Change:
    (tmp_path / "module.py").write_text(SOURCE)
    monkeypatch.setattr(mutant, "SOURCE", tmp_path)
    return lambda place, old, new: ast.unparse(changed(Mutant("sum", "wrong", "module", place, old, new)))


@pytest.mark.parametrize(
    ("place", "old", "new", "gone", "there"),
    [
        ("Sum.__call__", "value*2", "value * 3", "total += value * 2", "total += value * 3"),
        ("double", "value * 2", "value", "return value * 2", "return value"),
        ("Sum", "total = 0\nfor value in values: total += value * 2", "total = sum(values)", "for", "= sum(values)"),
        ("", "LIMIT = 1", "LIMIT = 2", "LIMIT = 1", "LIMIT = 2"),
        ("Sum.__call__", "total += value * 2", "", "total += value", "pass"),
    ],
)
def test_a_piece_is_changed_in_its_definition_however_it_is_written(
    change: Change, place: str, old: str, new: str, gone: str, there: str
) -> None:
    before, after = (ast.unparse(ast.parse(SOURCE)), change(place, old, new))
    assert gone in before
    assert gone not in after
    assert there in after
    assert after.count("value * 2") + (place != "") == before.count("value * 2")


@pytest.mark.parametrize(
    ("place", "old", "message"),
    [
        ("", "value * 2", "2 places to change"),
        ("double", "value * 3", "0 places to change"),
        ("double", "value", "2 places to change"),
        ("Sum", "total += 1", "0 places to change"),
        ("Sum.double", "value * 2", "0 definitions double"),
    ],
)
def test_a_piece_must_be_there_exactly_once(change: Change, place: str, old: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        change(place, old, "wrong")
