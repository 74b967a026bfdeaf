"""The store as a whole."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.core.errors import StoreError
from assay.core.records import Record
from assay.engine.store.store import Store, new_run_id

ENVIRONMENT = {"PYTHONPATH": ":".join(sys.path)}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store", sync=False)


def reopened(store: Store) -> Store:
    return Store.open(store.root, create=False)


def test_storing_needs_no_torch() -> None:
    code = "import sys, assay.engine.store.store; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT).returncode == 0


def test_a_missing_or_empty_folder_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "missing/too", "empty"):
        Store.open(tmp_path / name)
        assert (tmp_path / name / "store.json").read_text() == '{"format":2}\n'


def test_a_store_whose_creation_was_killed_can_be_created_again(tmp_path: Path) -> None:
    (tmp_path / "store.json.partial-00").write_text('{"for')
    store = Store.open(tmp_path)
    assert store.remove_waste(older=0.0) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["store.json"]


def test_a_store_that_is_not_there_is_not_made_by_looking(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store at"):
        Store.open(tmp_path / "missing", create=False)
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("create", [True, False])
def test_a_folder_that_is_something_else_is_left_alone(tmp_path: Path, create: bool) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(StoreError, match="not a store"):
        Store.open(tmp_path, create=create)
    with pytest.raises(StoreError, match="is a file"):
        Store.open(tmp_path / "thesis.tex", create=create)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "1"}', '{"format": true}', "[" * 10**5, "\x00"])
def test_an_unreadable_description_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "store.json").write_text(text)
    with pytest.raises(StoreError, match="does not describe a store"):
        Store.open(tmp_path)


def test_a_newer_format_asks_for_an_upgrade_and_an_older_one_for_a_new_folder(tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text('{"format": 3}')
    with pytest.raises(StoreError, match=r"newer assay \(store format 3, not 2\): upgrade"):
        Store.open(tmp_path)
    (tmp_path / "store.json").write_text('{"format": 1}')
    with pytest.raises(StoreError, match=r"older assay \(store format 1, not 2\): run the study into a new folder"):
        Store.open(tmp_path)


def test_what_was_put_is_there_at_once_and_after_opening_again(store: Store) -> None:
    record = Record("trial", "k", "ok", data={"shape": (2, 3)})
    assert store.get("k") is None
    store.put(record)
    for view in (store, reopened(store)):
        found = view.get("k")
        assert found is not None
        assert found.data == {"shape": [2, 3]}
        assert view.records() == [found]
        assert view.get_many(["k", "other"]) == {"k": found}


def test_a_damaged_array_counts_as_missing_when_it_is_looked_at_and_for_all_after_it_was_read(store: Store) -> None:
    digest = store.save({"x": np.arange(3)})
    store.put(Record("trial", "k", "ok", arrays=digest))
    assert store.has("k", intact=True)
    flip(store.arrays.path(digest))
    assert (store.has("k"), store.has("k", intact=True)) == (True, False)
    record = store.get("k")
    assert record is not None
    with pytest.raises(StoreError, match=r"trial k: array .* is damaged.*run the study again"):
        reopened(store).load(record)
    assert not store.has("k")
    assert "k" not in store.answers(["k"])
    store.save({"x": np.arange(3)})
    assert store.has("k", intact=True)


def test_answers_are_those_whose_arrays_are_there(store: Store) -> None:
    for status in ("ok", "skipped", "failed"):
        store.put(Record("trial", status, status, data={"n": (1, 2)}))
    for key in ("whole", "gone"):
        store.put(Record("trial", key, "ok", arrays=store.save({"key": np.frombuffer(key.encode(), np.uint8)})))
    gone = store.get("gone")
    assert gone is not None
    store.arrays.path(gone.arrays).unlink()
    store.put(Record("trial", "nonsense", "ok", arrays="../../etc/passwd"))
    wanted = ["ok", "skipped", "failed", "whole", "gone", "nonsense", "unknown"]
    for view in (store, reopened(store)):
        answers = view.answers(wanted)
        assert set(answers) == {"ok", "skipped", "whole"} == {key for key in wanted if view.has(key)}
        assert len(answers) == 3
        assert dict(answers) == view.get_many(["ok", "skipped", "whole"])
        assert answers["ok"].data == {"n": [1, 2]}
        assert answers.get("failed") is None


def test_what_is_put_between_two_questions_is_known_to_the_second(store: Store) -> None:
    assert len(store.answers(["a"])) == 0
    store.put(Record("trial", "a", "ok"))
    assert "a" in store.answers(["a"])


def test_a_failure_put_after_an_answer_changes_nothing(store: Store) -> None:
    assert store.records() == []  # from here on, the logs have been read
    for status in ("failed", "ok", "failed"):
        store.put(Record("trial", "k", status))
    assert store.has("k")
    store.refresh()
    store.put(Record("trial", "k", "failed"))
    for view in (store, reopened(store)):
        assert view.has("k")


def test_a_run_that_started_earlier_does_not_replace_the_answer_of_a_later_one(store: Store) -> None:
    other = reopened(store)
    with other.writer("r2"):
        other.put(Record("trial", "k", "ok", data={"run": 2}))
    with store.writer("r1"):
        store.put(Record("trial", "k", "ok", data={"run": 1}))
        for view in (store, reopened(store)):
            found = view.get("k")
            assert found is not None
            assert found.data == {"run": 2}


def test_records_of_another_process_are_seen_after_a_refresh(store: Store) -> None:
    assert store.records() == []
    reopened(store).put(Record("trial", "k", "ok"))
    assert not store.has("k")
    store.refresh()
    assert store.has("k")


def test_each_writer_has_its_own_log(store: Store) -> None:
    with store.writer("r1") as writer:
        writer.put(Record("trial", "a", "ok"))
    store.put(Record("trial", "b", "ok"))
    with store.writer("r2"):
        store.put(Record("trial", "c", "ok"))
    store.put(Record("trial", "d", "ok"))
    lines = {path.stem: path.read_bytes().count(b"\n") for path in (store.root / "logs").iterdir()}
    assert sorted(lines.values()) == [1, 1, 2]
    assert lines["r1"] == lines["r2"] == 1


def test_a_run_id_is_used_once(store: Store) -> None:
    with store.writer("r1"), pytest.raises(StoreError, match="another run"), reopened(store).writer("r1"):
        pass


@pytest.mark.parametrize("run_id", ["", "../x", "a/b", ".hidden", "a b", "x\n"])
def test_a_run_id_is_a_plain_name(store: Store, run_id: str) -> None:
    with pytest.raises(StoreError, match="not a run id"), store.writer(run_id):
        pass


def test_run_ids_sort_by_time_and_do_not_repeat(store: Store) -> None:
    ids = [new_run_id() for _ in range(200)]
    assert [name.rpartition("-")[0] for name in ids] == sorted(name.rpartition("-")[0] for name in ids)
    assert len(set(ids)) == 200
    with store.writer(ids[0]):
        pass


def test_a_store_can_be_used_after_closing(store: Store) -> None:
    store.put(Record("trial", "a", "ok"))
    store.close()
    store.put(Record("trial", "b", "ok"))
    assert [record.key for record in store.records()] == ["a", "b"]


def test_arrays_are_loaded_by_record(store: Store) -> None:
    digest = store.save({"x": np.arange(3)})
    assert store.load(Record("trial", "k", "ok", arrays=digest))["x"].tolist() == [0, 1, 2]
    assert store.load(Record("trial", "k", "skipped")) == {}
    with pytest.raises(StoreError, match="trial k: array 000000000000 is missing"):
        store.load(Record("trial", "k", "ok", arrays="0" * 64))


def test_a_dump_has_results_in_order_and_neither_runs_nor_costs_nor_origins(tmp_path: Path) -> None:
    records = [Record("trial", "b", "ok"), Record("trial", "a", "failed", reason="boom"), Record("fit", "c", "skipped")]
    one, two = Store.open(tmp_path / "one"), Store.open(tmp_path / "two")
    for record in records:
        one.put(record)
    for record in reversed(records):
        two.put(Record(**{**record.to_json(), "cost": {"s": 1.0}, "origin": {"host": "h"}, "traceback": "t"}))
    two.put(Record("run", "r", "ok"))
    assert one.dump() == two.dump()
    assert [(result["kind"], result["key"]) for result in one.dump()] == [("fit", "c"), ("trial", "a"), ("trial", "b")]
    two.put(Record("trial", "b", "ok", data={"value": 1}))
    assert one.dump() != two.dump()


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_a_sound_store_has_no_problems(store: Store) -> None:
    store.put(Record("trial", "k", "ok", arrays=store.save({"x": np.arange(3)})))
    store.put(Record("trial", "s", "skipped"))
    store.save({"x": np.arange(4)})  # the array of a record that was never written is no problem
    assert store.verify() == []
    assert store.damaged() == 0


@pytest.mark.parametrize(("harm", "said"), [(Path.unlink, "missing"), (flip, "damaged")])
def test_verify_names_the_record_whose_array_is_gone_or_damaged(
    store: Store, harm: Callable[[Path], None], said: str
) -> None:
    digest = store.save({"x": np.arange(3)})
    store.put(Record("trial", "k", "ok", arrays=digest))
    harm(store.arrays.path(digest))
    (problem,) = store.verify()
    assert problem.startswith(f"trial k: array {digest[:12]} is {said}")


def test_verify_survives_a_record_that_names_nonsense(store: Store) -> None:
    store.put(Record("trial", "k", "ok", arrays="../../etc/passwd"))
    assert len(store.verify()) == 1


def test_a_damaged_line_is_named_by_verify_and_does_not_stop_the_store(store: Store) -> None:
    with store.writer("r1"):
        for key in "abc":
            store.put(Record("trial", key, "ok"))
    flip(store.root / "logs" / "r1.jsonl")
    damaged = reopened(store)
    assert [record.key for record in damaged.records()] == ["a", "c"]
    assert damaged.damaged() == 1
    (problem,) = damaged.verify()
    assert "r1.jsonl line 2 is damaged" in problem


APPEND = """
import sys
import numpy as np
from assay.core.records import Record
from assay.engine.store.store import Store, new_run_id
store = Store.open(sys.argv[1])
sys.stdin.readline()
with store.writer(new_run_id()):
    for n in range(100):
        digest = store.save({"n": np.array(n)})
        store.put(Record("trial", f"{sys.argv[2]}-{n}", "ok", arrays=digest))
        if n % 10 == 0:
            assert len([r for r in store.records() if r.key.startswith(sys.argv[2])]) == n + 1
"""


def test_two_processes_put_at_the_same_time_and_nothing_is_lost(tmp_path: Path) -> None:
    command = [sys.executable, "-c", APPEND, str(tmp_path / "store")]
    running = [subprocess.Popen([*command, name], stdin=subprocess.PIPE, env=ENVIRONMENT) for name in ("one", "two")]
    for process in running:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    for process in running:
        process.communicate(timeout=60)
    assert [process.returncode for process in running] == [0, 0]
    store = Store.open(tmp_path / "store", create=False)
    assert {record.key for record in store.records()} == {f"{name}-{n}" for name in ("one", "two") for n in range(100)}
    assert all(store.load(record)["n"] == int(record.key.split("-")[1]) for record in store.records())
    assert store.verify() == []
    assert store.remove_waste(older=0.0) == 0
