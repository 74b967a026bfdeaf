"""The index: the same answers as the logs give, whatever happened to it."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.records import Record, Status
from assay.store.index import Index
from assay.store.log import Line, Log, encode, lines

LOGS = {
    "r1": [Record("trial", f"k{n}", "ok", data={"run": 1, "n": n}) for n in range(40)],
    "r2": [Record("trial", f"k{n}", "failed", reason="late") for n in range(5)] + [Record("fit", "f", "ok")],
}


def fill(folder: Path, content: dict[str, list[Record]]) -> Index:
    for name, records in content.items():
        log = Log(folder / "logs" / f"{name}.jsonl", sync=False)
        for record in records:
            log.append(record)
        log.close()
    return Index(folder / "index.sqlite", folder / "logs")


def answers(index: Index) -> list[Record]:
    return [entry.record for entry in index.entries()]


def again(index: Index) -> Index:
    return Index(index.path, index.folder)


events = st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from(["ok", "skipped", "failed"]))


@settings(max_examples=40)
@given(st.lists(st.lists(events, max_size=4), max_size=4))
def test_however_the_logs_grow_the_index_says_what_a_rebuild_says(rounds: list[list[tuple[str, str, Status]]]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "logs").mkdir()
        index, content = Index(folder / "index.sqlite", folder / "logs"), dict[str, list[Record]]()
        for number, batch in enumerate(rounds):
            for log, key, status in batch:
                content.setdefault(log, []).append(Record("fit", key, status, data={"number": number}))
                with (folder / "logs" / f"{log}.jsonl").open("ab") as file:
                    file.write(encode(content[log][-1]))
            index.refresh()
        assert answers(index) == literal(content)
        index.close()


def literal(content: dict[str, list[Record]]) -> list[Record]:
    """The rule, one record at a time."""
    found: dict[str, Record] = {}
    for log in sorted(content):
        for record in content[log]:
            old = found.get(record.key)
            if old is None or old.status == "failed" or record.status != "failed":
                found[record.key] = record
    return [found[key] for key in sorted(found)]


def test_entries_come_by_kind_and_key(tmp_path: Path) -> None:
    index = fill(tmp_path, {"a": [Record("trial", "b", "ok"), Record("trial", "a", "ok"), Record("fit", "c", "ok")]})
    assert [record.key for record in answers(index)] == ["c", "a", "b"]
    assert [entry.record.key for entry in index.entries("trial")] == ["a", "b"]
    assert index.entries("model") == []


def test_many_keys_are_found_at_once_and_unknown_ones_left_out(tmp_path: Path) -> None:
    index = fill(tmp_path, {"a": [Record("fit", f"k{n}", "ok") for n in range(1200)]})
    found = index.get_many(f"k{n}" for n in range(0, 2400, 2))
    assert {entry.record.key for entry in found.values()} == set(found) == {f"k{n}" for n in range(0, 1200, 2)}
    assert index.get_many([]) == {}


def test_only_new_bytes_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = fill(tmp_path, LOGS)
    index.refresh()
    index.close()
    read: list[tuple[str, int]] = []

    def watched(path: Path, at: int) -> Iterator[Line]:
        read.append((path.stem, at))
        return lines(path, at)

    monkeypatch.setattr("assay.store.index_rows.lines", watched)
    size = (tmp_path / "logs" / "r2.jsonl").stat().st_size
    with (tmp_path / "logs" / "r2.jsonl").open("ab") as file:
        file.write(encode(Record("fit", "new", "ok")))
    assert again(index).get("new") is not None
    assert read == [("r2", size)]


def test_a_line_half_written_is_read_when_it_is_complete(tmp_path: Path) -> None:
    index = fill(tmp_path, LOGS)
    line = encode(Record("fit", "new", "ok"))
    with (tmp_path / "logs" / "r2.jsonl").open("ab", buffering=0) as file:
        file.write(line[:30])
        assert index.get("new") is None
        file.write(line[30:])
    index.refresh()
    assert index.get("new") is not None
    assert index.damaged() == 0


def test_damaged_lines_are_skipped_and_counted_once(tmp_path: Path) -> None:
    index = fill(tmp_path, LOGS)
    with (tmp_path / "logs" / "r1.jsonl").open("ab") as file:
        file.write(b"garbage\n" + encode(Record("fit", "after", "ok")))
    assert index.damaged() == 1
    with (tmp_path / "logs" / "r1.jsonl").open("ab") as file:
        file.write(b"more garbage\n")
    index.refresh()
    assert index.damaged() == 2
    assert index.get("after") is not None


def test_a_removed_log_is_forgotten_and_what_it_had_replaced_returns(tmp_path: Path) -> None:
    index = fill(tmp_path, {"a": [Record("fit", "k", "ok", data={"n": 1})], "b": [Record("fit", "k", "ok")]})
    assert answers(index)[0].data == {}
    (tmp_path / "logs" / "b.jsonl").unlink()
    index.refresh()
    assert answers(index)[0].data == {"n": 1}


def overwrite(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def cut(size: int) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(path.read_bytes()[:size])


def of_another_version(path: Path) -> None:
    path.unlink()
    db = sqlite3.connect(path)
    db.executescript("CREATE TABLE records (a, b); PRAGMA user_version = 7;")
    db.close()


def without_tables(path: Path) -> None:
    db = sqlite3.connect(path)
    db.executescript("DROP TABLE records")
    db.close()


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def with_a_changed_value(path: Path) -> None:
    data = path.read_bytes()
    assert b'"run":1' in data
    path.write_bytes(data.replace(b'"run":1', b'"run":2'))


def changed_by(statement: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        db = sqlite3.connect(path)
        db.executescript(statement)
        db.close()

    return change


@pytest.mark.parametrize(
    "harm",
    [
        *(
            changed_by(f"UPDATE records SET {column} = {value} WHERE key = 'k39'")
            for column, value in {
                "key": "'k3x'",
                "kind": "'fit'",
                "status": "'failed'",
                "arrays": "'0'",
                "log": "'r2'",
                "at": "7",
                "line": "7",
                "checksum": "NULL",
            }.items()
        ),
        changed_by("UPDATE records SET line = (SELECT line FROM records WHERE key = 'k38') WHERE key = 'k39'"),
        changed_by("DELETE FROM records WHERE key = 'k39'"),
        changed_by("DELETE FROM totals"),
        changed_by("UPDATE logs SET offset = offset - 3, size = size - 3 WHERE log = 'r1'"),
        Path.unlink,
        overwrite(b""),
        overwrite(b"not a database"),
        overwrite(b"SQLite format 3\0" + b"\xff" * 5000),
        *(cut(size) for size in (1, 50, 100, 1000, 4095, 4096, 4097, 8192, 12288)),
        of_another_version,
        without_tables,
        a_folder,
        with_a_changed_value,
    ],
)
def test_whatever_happens_to_the_index_the_answers_stay(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    index = fill(tmp_path, LOGS)
    before = answers(index)
    assert len(before) == 41
    index.close()
    harm(index.path)
    assert answers(again(index)) == before
    assert again(index).get_many(["k39"])["k39"].record == LOGS["r1"][39]


def test_one_flipped_character_of_a_key_drops_no_row(tmp_path: Path) -> None:
    index = fill(tmp_path, LOGS)
    before = answers(index)
    index.close()
    data = index.path.read_bytes()
    positions = [found.start() for found in re.finditer(b"k39", data)]
    assert len(positions) >= 4  # the row, its line, and two b-trees
    for position in positions:
        flipped = data[:position] + b"k3y" + data[position + 3 :]
        for ask, expected in (
            (lambda index: answers(index), before),
            (lambda index: index.get_many(["k39"])["k39"].record, LOGS["r1"][39]),
            (lambda index: [entry.record for entry in index.entries("trial")], before[1:]),
        ):
            index.path.write_bytes(flipped)
            found = again(index)
            assert ask(found) == expected
            found.close()


def test_an_index_deleted_while_open_is_no_loss(tmp_path: Path) -> None:
    index = fill(tmp_path, LOGS)
    index.refresh()
    index.path.unlink()
    with (tmp_path / "logs" / "r2.jsonl").open("ab") as file:
        file.write(encode(Record("fit", "new", "ok")))
    index.refresh()
    assert len(answers(index)) == 42
    assert answers(again(index)) == answers(index)


def test_a_corrupt_index_is_replaced_by_a_sound_one(tmp_path: Path) -> None:
    index = fill(tmp_path, LOGS)
    index.path.write_bytes(b"not a database" * 100)
    index.refresh()
    assert sqlite3.connect(index.path).execute("SELECT COUNT(*) FROM records").fetchone() == (41,)


REFRESH = """
import sys
from pathlib import Path
from assay.store.index import Index
index = Index(Path(sys.argv[1]) / "index.sqlite", Path(sys.argv[1]) / "logs")
sys.stdin.readline()
for _ in range(20):
    index.path.unlink(missing_ok=True) if "unlink" in sys.argv else None
    index.close()
    index.refresh()
    assert len(index.entries()) == 41, len(index.entries())
"""


@pytest.mark.parametrize("how", ["read", "unlink"])
def test_processes_may_refresh_at_the_same_time(tmp_path: Path, how: str) -> None:
    fill(tmp_path, LOGS)
    command = [sys.executable, "-c", REFRESH, str(tmp_path), how]
    path = {"PYTHONPATH": ":".join(sys.path)}
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=path) for _ in range(3)]
    for process in running:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    assert [process.communicate(timeout=60)[1] for process in running] == [b""] * 3
    assert [process.returncode for process in running] == [0] * 3
