"""Entries: which record counts for each key, however the logs grow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import StoreError
from assay.core.records import Record, Status
from assay.engine.store.entries import Entries
from assay.engine.store.log import Line, Log, encode, lines

LOGS = {
    "r1": [Record("trial", f"k{n}", "ok", data={"run": 1, "n": n}) for n in range(40)],
    "r2": [Record("trial", f"k{n}", "failed", reason="late") for n in range(5)] + [Record("fit", "f", "ok")],
}


def fill(folder: Path, content: dict[str, list[Record]]) -> Entries:
    for name, records in content.items():
        log = Log(folder / "logs" / f"{name}.jsonl", sync=False)
        for record in records:
            log.append(record)
        log.close()
    return Entries(folder / "logs")


def answers(entries: Entries, kind: str | None = None) -> list[Record]:
    return list(entries.records(entries.of_kind(kind)).values())


events = st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from(["ok", "skipped", "failed"]))


@settings(max_examples=40)
@given(st.lists(st.lists(events, max_size=4), max_size=4))
def test_however_the_logs_grow_the_record_that_counts_is_that_of_the_rule(
    rounds: list[list[tuple[str, str, Status]]],
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "logs").mkdir()
        entries, content = Entries(folder / "logs"), dict[str, list[Record]]()
        for number, batch in enumerate(rounds):
            for log, key, status in batch:
                content.setdefault(log, []).append(Record("fit", key, status, data={"number": number}))
                with (folder / "logs" / f"{log}.jsonl").open("ab") as file:
                    file.write(encode(content[log][-1]))
            entries.refresh()
        assert answers(entries) == answers(Entries(folder / "logs")) == literal(content)


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
    entries = fill(tmp_path, {"a": [Record("trial", "b", "ok"), Record("trial", "a", "ok"), Record("fit", "c", "ok")]})
    assert [record.key for record in answers(entries)] == ["c", "a", "b"]
    assert [record.key for record in answers(entries, "trial")] == ["a", "b"]
    assert answers(entries, "model") == []


def test_only_new_bytes_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = fill(tmp_path, LOGS)
    entries.refresh()
    read: list[tuple[str, int]] = []

    def watched(path: Path, at: int) -> Iterator[Line]:
        read.append((path.stem, at))
        return lines(path, at)

    monkeypatch.setattr("assay.engine.store.entries.lines", watched)
    size = (tmp_path / "logs" / "r2.jsonl").stat().st_size
    with (tmp_path / "logs" / "r2.jsonl").open("ab") as file:
        file.write(encode(Record("fit", "new", "ok")))
    assert "new" not in entries.by_key
    entries.refresh()
    assert "new" in entries.by_key
    assert read == [("r2", size)]


def test_a_line_half_written_is_read_when_it_is_complete(tmp_path: Path) -> None:
    entries = fill(tmp_path, LOGS)
    line = encode(Record("fit", "new", "ok"))
    with (tmp_path / "logs" / "r2.jsonl").open("ab", buffering=0) as file:
        file.write(line[:30])
        assert "new" not in entries.by_key
        file.write(line[30:])
    entries.refresh()
    assert "new" in entries.by_key
    assert entries.damaged == 0


def test_damaged_lines_are_skipped_and_counted_once(tmp_path: Path) -> None:
    entries = fill(tmp_path, LOGS)
    with (tmp_path / "logs" / "r1.jsonl").open("ab") as file:
        file.write(b"garbage\n" + encode(Record("fit", "after", "ok")))
    entries.refresh()
    assert entries.damaged == 1
    with (tmp_path / "logs" / "r1.jsonl").open("ab") as file:
        file.write(b"more garbage\n")
    entries.refresh()
    assert entries.damaged == 2
    assert "after" in entries.by_key


def test_a_removed_log_is_forgotten_and_what_it_had_replaced_returns(tmp_path: Path) -> None:
    entries = fill(tmp_path, {"a": [Record("fit", "k", "ok", data={"n": 1})], "b": [Record("fit", "k", "ok")]})
    assert answers(entries)[0].data == {}
    (tmp_path / "logs" / "b.jsonl").unlink()
    entries.refresh()
    assert answers(entries)[0].data == {"n": 1}


def test_a_log_that_was_changed_after_it_was_read_is_an_error_and_no_wrong_record(tmp_path: Path) -> None:
    entries = fill(tmp_path, LOGS)
    entries.refresh()
    path = tmp_path / "logs" / "r1.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"n":7,', b'"n":8,'))
    with pytest.raises(StoreError, match=r"r1\.jsonl has no record of trial k7 at byte \d+: it was changed"):
        answers(entries)
    assert [record.key for record in entries.records([entries.by_key["k8"]]).values()] == ["k8"]
