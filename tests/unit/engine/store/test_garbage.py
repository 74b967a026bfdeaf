"""Garbage: what no record names and no running run may need."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.core.errors import StoreError
from assay.core.records import Record
from assay.engine.store.garbage import find_garbage, remove
from assay.engine.store.lease import this_run, turn
from assay.engine.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.open(tmp_path / "store", sync=False)
    with store.writer("r1"):
        store.put(Record("trial", "a", "ok", arrays=store.save({"x": np.arange(3)})))
        store.put(Record("trial", "b", "ok", arrays=store.save({"x": np.arange(4)})))
    return store


def test_a_store_in_use_has_no_garbage(store: Store) -> None:
    assert find_garbage(store) == {}


def test_garbage_is_what_no_record_names(store: Store) -> None:
    orphan = store.arrays.path(store.save({"x": np.arange(5)}))
    partial = store.arrays.path("0" * 64).with_name("x.safetensors.partial-00")
    partial.parent.mkdir(exist_ok=True)
    partial.write_bytes(b"123")
    log = store.root / "logs" / "r0.jsonl.partial-00"
    log.write_bytes(b"12")
    damaged = store.arrays.path(store.save({"x": np.arange(3)}))
    aside = damaged.with_name(f"{damaged.name}.damaged-00")
    aside.write_bytes(b"1")
    index = store.root / "index.sqlite"  # of an earlier version
    index.write_bytes(b"1234")
    found = find_garbage(store)
    assert found == {orphan: orphan.stat().st_size, partial: 3, log: 2, aside: 1, index: 4}
    remove(found)
    assert find_garbage(store) == {}
    assert store.verify() == []
    assert len(store.answers(["a", "b"])) == 2


def test_the_arrays_of_a_record_that_was_replaced_are_garbage(store: Store) -> None:
    old = store.get("a")
    assert old is not None
    with store.writer("r2"):
        store.put(Record("trial", "a", "ok", arrays=store.save({"x": np.arange(9)})))
    assert list(find_garbage(store)) == [store.arrays.path(old.arrays)]


def test_nothing_is_removed_while_a_run_is_alive(store: Store) -> None:
    store.save({"x": np.arange(5)})  # of a record that the run has not written yet
    with (
        turn(store.root, this_run("r2", "study"), print),
        pytest.raises(StoreError, match=r"a run \(r2, .*\) is writing into .*: collect garbage when it has ended"),
    ):
        find_garbage(store, patience=0.0)
    assert len(find_garbage(store)) == 1
