"""Damage is found, named and repaired; what is good stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.core.records import Record
from assay.engine.store.damage import find_damage, known_lines, repair
from assay.engine.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.open(tmp_path / "store", sync=False)
    with store.writer("r1"):
        for n in range(3):
            store.put(Record("trial", f"k{n}", "ok", arrays=store.save({"x": np.full(4, n)})))
    assert len(store.records()) == 3
    store.close()
    return store


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def array(store: Store, key: str) -> Path:
    record = store.get(key)
    assert record is not None
    store.close()
    return store.arrays.path(record.arrays)


def files(store: Store) -> dict[str, bytes]:
    return {str(path.relative_to(store.root)): path.read_bytes() for path in store.root.rglob("*") if path.is_file()}


HARMS: dict[str, tuple[Callable[[Store], None], str, str]] = {
    "missing array": (lambda store: array(store, "k1").unlink(), "array", "trial k1: array .* is missing"),
    "damaged array": (lambda store: flip(array(store, "k1")), "array", "trial k1: array .* is damaged"),
    "damaged line": (lambda store: flip(store.root / "logs" / "r1.jsonl"), "line", "r1.jsonl line 2 is damaged"),
}


@pytest.mark.parametrize("name", HARMS)
def test_damage_is_named_and_looking_changes_nothing(store: Store, name: str) -> None:
    harm, what, sentence = HARMS[name]
    assert find_damage(store.root) == []
    harm(store)
    before = files(store)
    found = find_damage(store.root)
    assert {damage.what for damage in found} >= {what}
    assert any(re.search(sentence, damage.sentence) for damage in found)
    assert files(store) == before


@pytest.mark.parametrize("name", HARMS)
def test_a_repair_leaves_nothing_but_what_the_next_run_computes(store: Store, name: str) -> None:
    HARMS[name][0](store)
    good = {path: data for path, data in files(store).items() if path.startswith(("logs", "store"))}
    repair(store.root, find_damage(store.root))
    assert all(files(store)[path] == data for path, data in good.items())
    left = find_damage(store.root)
    assert [damage.kind for damage in left] == ["trial"] * ("array" in name)
    opened = Store.open(store.root, create=False)
    assert sorted(opened.answers(["k0", "k1", "k2"])) == ["k0", "k2"]
    opened.put(Record("trial", "k1", "ok", arrays=opened.save({"x": np.full(4, 1)})))
    assert find_damage(store.root) == []


def test_lines_that_a_repair_has_seen_are_no_news_and_others_are(store: Store) -> None:
    log = store.root / "logs" / "r1.jsonl"
    flip(log)
    repair(store.root, find_damage(store.root))
    assert [len(starts) for starts in known_lines(store.root).values()] == [1]
    with log.open("ab") as file:
        file.write(b"garbage\n")
    (damage,) = find_damage(store.root)
    assert "line 4" in damage.sentence
    repair(store.root, [damage])
    assert find_damage(store.root) == []


def test_a_list_of_lines_that_is_something_else_is_none(store: Store) -> None:
    for text in ("", "7", "[" * 10**5, '{"r1": 7}'):
        (store.root / "damaged.json").write_text(text)
        assert known_lines(store.root) == {}
