"""Logs: what was appended is read, what was torn is dropped, what was damaged is named."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import StoreError
from assay.core.records import Record
from assay.engine.store.log import Line, Log, decode, encode, logs, problems, read

RECORDS = [
    Record("trial", "k1", "ok", arrays="ab" * 32, data={"n": 3, "value": 0.1}),
    Record("trial", "k2", "skipped", reason="needs a convolutional layer — really"),
    Record("evidence", "k3", "failed", reason="boom", traceback='File "x\ny"\n  ☃', cost={"seconds": 1e-3}),
]


def written(path: Path, records: list[Record]) -> bytes:
    log = Log(path, sync=False)
    for record in records:
        log.append(record)
    log.close()
    return path.read_bytes()


def sealed(text: str) -> bytes:
    return f"{hashlib.sha256(text.encode()).hexdigest()[:16]} {text}\n".encode()


def test_a_line_is_a_checksum_a_space_and_json(tmp_path: Path) -> None:
    text = (
        '{"arrays":"","cost":{},"data":{"a":1},"key":"k","kind":"fit","origin":{},"reason":"ä",'
        '"status":"ok","traceback":""}'
    )
    assert written(tmp_path / "a.jsonl", [Record("fit", "k", "ok", reason="ä", data={"a": 1})]) == sealed(text)


def test_a_log_cut_at_any_byte_keeps_its_complete_lines_and_goes_on_from_there(tmp_path: Path) -> None:
    whole = written(tmp_path / "a.jsonl", RECORDS)
    cut = tmp_path / "cut.jsonl"
    for length in range(len(whole) + 1):
        cut.write_bytes(whole[:length])
        complete = whole[:length].count(b"\n")
        reading = read(cut)
        assert (reading.records, reading.damaged) == (RECORDS[:complete], 0)
        assert reading.offset == whole[:length].rfind(b"\n") + 1
        assert problems(cut) == {}
        cut.write_bytes(whole)
        assert read(cut, reading.offset).records == RECORDS[complete:]


def test_any_changed_byte_of_a_middle_line_is_detected_and_costs_only_that_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    whole = written(path, RECORDS)
    start = whole.index(b"\n") + 1
    for position in range(start, whole.index(b"\n", start)):
        damaged = bytearray(whole)
        damaged[position] ^= 1
        path.write_bytes(damaged)
        assert read(path) == ([RECORDS[0], RECORDS[2]], len(whole), 1)
        assert problems(path) == {start: f"{path} line 2 is damaged: its checksum does not fit"}


def test_a_changed_newline_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    whole = bytearray(written(path, RECORDS))
    whole[whole.index(b"\n")] ^= 1
    path.write_bytes(whole)
    assert read(path) == ([RECORDS[2]], len(whole), 1)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        "3",
        "{",
        '{"kind":"fit","key":"","status":"ok"}',
        '{"kind":"fit","key":3,"status":"ok"}',
        '{"kind":["fit"],"key":"k","status":"ok"}',
        '{"kind":"\\ud800","key":"k","status":"ok"}',
        '{"kind":"fit","key":"k","status":"perhaps"}',
        '{"kind":"fit","key":"k","status":"ok","arrays":7}',
        '{"kind":"fit","key":"k","status":"ok","data":[]}',
    ],
)
def test_a_line_that_fits_its_checksum_but_is_no_record_is_damaged(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(sealed(text))
    assert read(tmp_path / "a.jsonl") == ([], len(sealed(text)), 1)
    assert Line(0, sealed(text)).head is None


_NESTED = {"key": "no", "kind": "no", "origin": {}, "status": "failed", "traceback": "", "arrays": "no"}
_TEXTS = st.one_of(st.text(), st.just(str(_NESTED)), st.just(encode(Record("fit", "no", "failed")).decode()))


@given(
    st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1),
    st.sampled_from(["ok", "skipped", "failed"]),
    _TEXTS,
    st.sampled_from(["", "ab" * 32, '"key":"no"']),
    st.sampled_from([{}, {"record": _NESTED}, _NESTED]),
)
def test_the_head_of_a_line_is_that_of_its_record(key: str, status: Any, text: str, arrays: str, nested: Any) -> None:
    for data, origin in ((nested, {}), ({}, nested)):
        record = Record("fit", key, status, text, text, arrays, data=data, origin=origin)
        assert Line(0, encode(record)).head == (key, "fit", status, arrays)


def test_a_field_of_a_later_version_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(sealed('{"kind":"fit","key":"k","status":"ok","colour":"red"}'))
    assert read(tmp_path / "a.jsonl").records == [Record("fit", "k", "ok")]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.zeros(2), object(), {1: 2, "a": 3}])
def test_what_is_not_plain_data_is_refused_and_leaves_no_trace(tmp_path: Path, value: object) -> None:
    log = Log(tmp_path / "a.jsonl", sync=False)
    with pytest.raises(StoreError, match="trial k"):
        log.append(Record("trial", "k", "ok", data={"value": value}))
    log.append(RECORDS[0])
    assert read(log.path).records == [RECORDS[0]]


@pytest.mark.parametrize("key", ["", "a\nb", "ä", "\ud800"])
def test_a_strange_key_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(StoreError, match="printable ASCII"):
        Log(tmp_path / "a.jsonl", sync=False).append(Record("trial", key, "ok"))


def test_append_returns_the_line_that_readers_see(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.jsonl", sync=False)
    appended = [log.append(Record("trial", key, "ok", data={"shape": (3, 4), "names": {1: "one"}})) for key in "ab"]
    found = [decode(line) for _, line in appended]
    assert found == read(log.path).records
    assert found[0] is not None
    assert found[0].data == {"shape": [3, 4], "names": {"1": "one"}}
    assert read(log.path, appended[1][0]).records == [found[1]]


def test_a_log_is_forced_to_disk_once_a_second_and_when_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, forced = [100.0], []
    monkeypatch.setattr("assay.engine.store.log.time.monotonic", lambda: now[0])
    monkeypatch.setattr(os, "fsync", lambda handle: forced.append(now[0]))
    log = Log(tmp_path / "a.jsonl")
    forced.clear()  # its folder
    for moment in (100.1, 100.9, 101.0, 101.1, 101.9, 102.5, 109.0):
        now[0] = moment
        log.append(Record("trial", "k", "ok"))
    assert forced == [101.0, 102.5, 109.0]
    log.close()
    assert forced == [101.0, 102.5, 109.0, 109.0]


def test_a_log_that_nobody_closes_is_forced_to_disk_when_it_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, forced = Log(tmp_path / "a.jsonl"), []
    monkeypatch.setattr(os, "fsync", forced.append)
    del log
    assert len(forced) == 1


def test_two_runs_never_share_a_log(tmp_path: Path) -> None:
    written(tmp_path / "a.jsonl", RECORDS)
    with pytest.raises(StoreError, match="another run"):
        Log(tmp_path / "a.jsonl")


def test_a_line_that_did_not_fit_on_the_disk_does_not_spoil_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log(tmp_path / "a.jsonl", sync=False)
    log.append(RECORDS[0])
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, data: write(handle, data[:10]))
        with pytest.raises(StoreError, match="disk full"):
            log.append(RECORDS[1])
    log.append(RECORDS[2])
    assert read(log.path) == ([RECORDS[0], RECORDS[2]], log.size, 0)


def test_a_closed_log_does_not_write_into_the_file_that_got_its_number(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.jsonl", sync=False)
    log.close()
    with (tmp_path / "other").open("wb"), pytest.raises(OSError, match="descriptor"):
        log.append(RECORDS[0])
    assert (tmp_path / "other").read_bytes() == b""


def test_logs_come_in_the_order_of_their_names_without_temporary_files(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "c.jsonl.partial-0123"):
        (tmp_path / name).touch()
    assert list(logs(tmp_path)) == ["a", "b"]
    assert logs(tmp_path / "missing") == {}


anything = st.text(st.characters(codec=None))  # also lone surrogates
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | anything,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(anything, inner, max_size=3),
    max_leaves=8,
)
mappings = st.dictionaries(anything, values, max_size=4)
records = st.builds(
    Record,
    kind=st.sampled_from(["trial", "run", "score"]),
    key=st.text("0123456789abcdef", min_size=1, max_size=64),
    status=st.sampled_from(["ok", "skipped", "failed"]),
    reason=anything,
    traceback=anything,
    arrays=st.text("0123456789abcdef", max_size=64),
    data=mappings,
    cost=st.dictionaries(anything, st.floats(allow_nan=False, allow_infinity=False), max_size=2),
    origin=mappings,
)


@settings(max_examples=60)
@given(st.lists(records, max_size=5))
def test_every_record_comes_back(batch: list[Record]) -> None:
    with TemporaryDirectory() as folder:
        size = len(written(Path(folder) / "a.jsonl", batch))
        assert read(Path(folder) / "a.jsonl") == (batch, size, 0)


def flipped(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


@settings(max_examples=60)
@given(st.lists(records, min_size=1, max_size=4), st.data())
def test_damage_is_never_read_as_a_record(batch: list[Record], data: Any) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        whole = written(path, batch)
        path.write_bytes(flipped(whole, data.draw(st.integers(0, len(whole) - 1))))
        reading = read(path)
        assert len(reading.records) < len(batch)
        assert all(record in batch for record in reading.records)
