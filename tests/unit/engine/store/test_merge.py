"""Merging is union."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import StoreError
from assay.core.records import Record, Status
from assay.engine.store.store import Store

Event = tuple[str, Status, int]


def filled(folder: Path, runs: dict[str, list[Event]]) -> Store:
    store = Store.open(folder, sync=False)
    for run, events in runs.items():
        with store.writer(run):
            for key, status, value in events:
                digest = store.save({"x": np.array(value)}) if status == "ok" else ""
                store.put(Record("trial", key, status, arrays=digest, data={"value": value}))
    return store


ONE: dict[str, list[Event]] = {"r1": [("a", "ok", 1), ("b", "failed", 2)], "r3": [("c", "skipped", 3)]}
TWO: dict[str, list[Event]] = {"r2": [("b", "ok", 4), ("c", "ok", 5), ("d", "failed", 6)]}


def files(store: Store) -> dict[str, bytes]:
    parts = (path for name in ("logs", "arrays") for path in (store.root / name).rglob("*") if path.is_file())
    return {str(path.relative_to(store.root)): path.read_bytes() for path in parts}


def test_a_merge_has_the_records_and_arrays_of_both(tmp_path: Path) -> None:
    one, two = filled(tmp_path / "one", ONE), filled(tmp_path / "two", TWO)
    assert one.merge(two) == []
    found = [(record.key, record.status, record.data["value"]) for record in one.records()]
    assert found == [("a", "ok", 1), ("b", "ok", 4), ("c", "skipped", 3), ("d", "failed", 6)]
    assert [one.load(record)["x"].item() for record in one.records() if record.status == "ok"] == [1, 4]
    assert one.dump() == filled(tmp_path / "both", {**ONE, **TWO}).dump()
    assert one.verify() == []
    assert one.arrays.remove_waste(older=0.0) == 0


def test_a_merge_leaves_the_other_store_as_it_was(tmp_path: Path) -> None:
    one, two = filled(tmp_path / "one", ONE), filled(tmp_path / "two", TWO)
    before = files(two)
    one.merge(two)
    assert files(two) == before


events = st.tuples(st.sampled_from("abc"), st.sampled_from(["ok", "skipped", "failed"]), st.integers(0, 3))
runs = st.dictionaries(st.sampled_from(["r1", "r2", "r3", "r4", "r5", "r6"]), st.lists(events, max_size=4))


@settings(max_examples=25)
@given(runs, st.sets(st.sampled_from(["r1", "r2", "r3", "r4", "r5", "r6"])))
def test_merging_is_commutative_and_idempotent(
    tmp_path_factory: pytest.TempPathFactory, content: dict[str, list[Event]], first: set[str]
) -> None:
    folder = tmp_path_factory.mktemp("merge")
    halves = [{run: content[run] for run in content if (run in first) == side} for side in (True, False)]
    one, two = (filled(folder / name, half) for name, half in zip(("one", "two"), halves, strict=True))
    original = Store.open(shutil.copytree(one.root, folder / "original"))
    one.merge(two)
    two.merge(original)
    assert one.dump() == two.dump() == filled(folder / "both", content).dump()
    assert files(one) == files(two)
    before = files(one)
    for again in (two, one, original):
        one.merge(again)
    assert files(one) == before


def test_a_log_that_grew_since_the_last_merge_is_taken_over_and_never_cut(tmp_path: Path) -> None:
    one, two = Store.open(tmp_path / "one"), Store.open(tmp_path / "two")
    two.put(Record("trial", "a", "ok"))
    one.merge(two)
    old = Store.open(shutil.copytree(one.root, tmp_path / "old"))
    two.put(Record("trial", "b", "ok"))
    one.merge(two)
    assert one.has("b")
    one.merge(old)
    assert one.has("b")


def test_a_torn_line_does_not_hinder_a_merge(tmp_path: Path) -> None:
    one, two = filled(tmp_path / "one", ONE), filled(tmp_path / "two", TWO)
    log = two.root / "logs" / "r2.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole[:-5])
    one.merge(two)
    assert (one.has("c"), one.get("d")) == (True, None)
    log.write_bytes(whole)
    one.merge(two)
    assert one.get("d") is not None


def test_two_versions_of_one_log_are_an_error_and_nothing_is_copied(tmp_path: Path) -> None:
    one, two = filled(tmp_path / "one", ONE), filled(tmp_path / "two", {**TWO, "r1": [("a", "ok", 9)]})
    before = files(one)
    with pytest.raises(StoreError, match=r"r1\.jsonl.*differ"):
        one.merge(two)
    assert files(one) == before


def test_a_damaged_array_does_not_spread_and_is_reported(tmp_path: Path) -> None:
    one, two = filled(tmp_path / "one", ONE), filled(tmp_path / "two", TWO)
    record = two.get("b")
    assert record is not None
    two.arrays.path(record.arrays).write_bytes(b"damaged")
    (problem,) = one.merge(two)
    assert record.arrays[:12] in problem
    assert not one.arrays.has(record.arrays)
    assert one.has("c")
    with pytest.raises(StoreError, match="missing"):
        one.load(record)
