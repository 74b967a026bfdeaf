"""A store in memory answers as one in a folder does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.records import Record
from assay.engine.store.memory import MemoryStore
from assay.engine.store.protocol import Records
from assay.engine.store.store import Store


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Records:
    return Store.open(tmp_path / "s", sync=False) if request.param == "folder" else MemoryStore()


def test_records_come_back_as_plain_data(store: Records) -> None:
    store.put(Record("trial", "b", "ok", data={"shape": [2, 3]}))
    store.put(Record("fit", "a", "skipped", reason="no"))
    found = store.get("b")
    assert found is not None
    assert found.data == {"shape": [2, 3]}
    assert store.get("c") is None
    assert {record.key for record in store.records()} == {"a", "b"}
    assert store.records("trial") == [found]
    assert dict(store.answers(["b", "c"])) == {"b": found}


def test_an_answer_is_there_and_a_failure_is_not(store: Records) -> None:
    for status in ("ok", "skipped", "failed"):
        store.put(Record("trial", status, status))
    keys = ["ok", "skipped", "failed", "unknown"]
    assert [store.has(key) for key in keys] == [True, True, False, False]
    assert [store.has(key, intact=True) for key in keys] == [True, True, False, False]
    answers = store.answers(keys)
    assert set(answers) == {"ok", "skipped"}
    assert answers["skipped"] == store.get("skipped")


def test_a_failure_never_replaces_an_answer_and_an_answer_replaces_all(store: Records) -> None:
    for number, status in enumerate(("failed", "ok", "failed", "skipped")):
        store.put(Record("trial", "k", status, data={"number": number}))  # type: ignore[arg-type]
        found = store.get("k")
        assert found is not None
        assert found.data == {"number": [0, 1, 1, 3][number]}


def test_arrays_come_back_and_nobody_can_change_what_is_kept(store: Records) -> None:
    given: dict[str, Any] = {"x": np.arange(6, dtype=np.float32).reshape(2, 3).T, "y": np.array(True)}
    record = Record("trial", "k", "ok", arrays=store.save(given))
    given["x"][:] = -1
    first = store.load(record)
    assert first["x"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert (first["x"].dtype, first["y"].dtype, first["y"].shape) == (np.float32, np.bool_, ())
    first["x"][:] = -2
    assert store.load(record)["x"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert store.load(Record("trial", "k", "skipped")) == {}


def test_other_arrays_have_another_name(store: Records) -> None:
    one, two = store.save({"x": np.zeros(2)}), store.save({"x": np.ones(2)})
    assert store.load(Record("trial", "a", "ok", arrays=one))["x"].tolist() == [0, 0]
    assert store.load(Record("trial", "b", "ok", arrays=two))["x"].tolist() == [1, 1]
