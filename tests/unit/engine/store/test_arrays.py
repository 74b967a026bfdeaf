"""Arrays: equal content has one digest, and what comes back is what went in or an error."""

from __future__ import annotations

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from assay.core.errors import StoreError
from assay.engine.store.arrays import Arrays, encode

ONE: dict[str, Any] = {
    "effect": np.arange(6, dtype=np.float32).reshape(2, 3),
    "index": np.array([1, 2], dtype=np.int64),
}


@pytest.fixture
def arrays(tmp_path: Path) -> Arrays:
    return Arrays(tmp_path / "arrays")


def same(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Bit for bit, so that NaN is equal to itself and 0.0 is not -0.0."""
    return found.keys() == wanted.keys() and all(
        (found[name].dtype, found[name].shape, found[name].tobytes())
        == (wanted[name].dtype, wanted[name].shape, wanted[name].tobytes())
        for name in wanted
    )


def test_arrays_come_back_and_their_file_is_named_by_its_content(arrays: Arrays) -> None:
    digest = arrays.put(ONE)
    assert same(arrays.get(digest), ONE)
    assert arrays.path(digest) == arrays.root / digest[:2] / f"{digest}.safetensors"
    assert list(arrays.digests()) == [digest]
    assert arrays.has(digest)
    assert arrays.verify(digest)


def test_the_digest_of_known_arrays_does_not_change_with_versions(arrays: Arrays) -> None:
    assert arrays.put(ONE) == "b4bb896ae980c2d8e12a54ab73d27c45d1a554260f41694cc12d021a4119bbf6"


def test_neither_the_order_of_names_nor_of_memory_nor_of_bytes_matters() -> None:
    effect, index = ONE["effect"], ONE["index"]
    wanted = encode(ONE)
    assert encode({"index": index, "effect": effect}) == wanted
    assert encode({"effect": np.asfortranarray(effect), "index": index}) == wanted
    assert encode({"effect": effect.astype(">f4"), "index": index.astype(">i8")}) == wanted
    assert encode({"effect": np.repeat(effect, 2, axis=1)[:, ::2], "index": index[::-1][::-1]}) == wanted


def test_a_transposed_view_comes_back_as_it_looks(arrays: Arrays) -> None:
    found = arrays.get(arrays.put({"a": ONE["effect"].T}))["a"]
    assert found.tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize(
    "other",
    [
        {"effect": ONE["effect"]},
        {"effects": ONE["effect"], "index": ONE["index"]},
        {"effect": ONE["effect"].reshape(3, 2), "index": ONE["index"]},
        {"effect": ONE["effect"], "index": ONE["index"].view(np.uint64)},
    ],
)
def test_names_shapes_and_types_are_part_of_the_content(other: dict[str, Any]) -> None:
    assert encode(other) != encode(ONE)


def test_arrays_that_come_back_can_be_written_to(arrays: Arrays) -> None:
    assert all(array.flags.writeable for array in arrays.get(arrays.put(ONE)).values())


def test_a_file_that_is_already_there_is_not_written_again(arrays: Arrays) -> None:
    path = arrays.path(arrays.put(ONE))
    before = path.stat()
    arrays.put(ONE)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_any_changed_byte_is_an_error_and_never_a_number(arrays: Arrays) -> None:
    digest = arrays.put(ONE)
    path = arrays.path(digest)
    sound = path.read_bytes()
    for position in range(len(sound)):
        path.write_bytes(sound[:position] + bytes([sound[position] ^ 1]) + sound[position + 1 :])
        assert not arrays.verify(digest)
        with pytest.raises(StoreError, match="damaged"):
            arrays.get(digest)


def test_a_file_cut_short_is_an_error_and_is_repaired_by_putting_it_again(arrays: Arrays) -> None:
    path = arrays.path(arrays.put(ONE))
    sound = path.read_bytes()
    for length in (0, 7, len(sound) - 1):
        path.write_bytes(sound[:length])
        with pytest.raises(StoreError, match="damaged"):
            arrays.get(path.stem)
    assert arrays.put(ONE) == path.stem
    assert path.read_bytes() == sound


def test_a_damaged_file_is_set_aside_when_it_is_read_and_swept_later(arrays: Arrays) -> None:
    digest = arrays.put(ONE)
    path = arrays.path(digest)
    path.write_bytes(b"torn")
    with pytest.raises(StoreError, match="run the study again"):
        arrays.get(digest)
    assert not arrays.has(digest)
    assert list(arrays.digests()) == []
    (left,) = path.parent.iterdir()
    assert left.name.startswith(f"{path.name}.damaged-")
    assert arrays.put(ONE) == digest
    assert same(arrays.get(digest), ONE)
    assert arrays.remove_waste() == 0
    assert arrays.remove_waste(older=0.0) == 1
    assert list(path.parent.iterdir()) == [path]


def test_a_damaged_file_that_cannot_be_renamed_is_still_an_error(
    arrays: Arrays, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    digest = arrays.put(ONE)
    arrays.path(digest).write_bytes(b"torn")
    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(StoreError, match="damaged"):
        arrays.get(digest)


@pytest.mark.parametrize("many", [1000, 1])  # asked for one by one, and listed
def test_of_many_digests_those_with_a_file_are_present(
    arrays: Arrays, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr("assay.engine.store.arrays._MANY", many)
    there = {arrays.put({"n": np.array(n)}) for n in range(20)}
    gone = arrays.put({"n": np.array(20)})
    arrays.path(gone).rename(f"{arrays.path(gone)}.damaged-00")
    assert arrays.present({*there, gone, "0" * 64, "../../etc/passwd"}) == there
    assert arrays.present(list(there)[:3]) == set(list(there)[:3])


def test_arrays_are_not_forced_to_disk(arrays: Arrays, monkeypatch: pytest.MonkeyPatch) -> None:
    """That costs more than many a block; what is torn by a power cut does not fit its digest."""
    monkeypatch.setattr(os, "fsync", lambda _: pytest.fail("forced to disk"))
    assert same(arrays.get(arrays.put(ONE)), ONE)


def test_a_missing_file_is_an_error_that_names_it(arrays: Arrays) -> None:
    digest = "0" * 64
    assert not arrays.has(digest)
    assert not arrays.verify(digest)
    with pytest.raises(StoreError, match=f"missing.*{digest}"):
        arrays.get(digest)


@pytest.mark.parametrize("digest", ["", "abc", "../" * 21 + "a", "0" * 63 + "G", "0" * 64 + "\n"])
def test_what_is_not_a_digest_never_becomes_a_path(arrays: Arrays, digest: str) -> None:
    with pytest.raises(StoreError, match="not a digest"):
        arrays.get(digest)


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([object()]), np.array([1], "M8[s]"), np.zeros(1, "g")])
def test_types_that_cannot_be_stored_are_refused_by_name(arrays: Arrays, array: Any) -> None:
    with pytest.raises(StoreError, match="'a' has type"):
        arrays.put({"a": array})


@pytest.mark.parametrize("name", ["__metadata__", "\ud800"])
def test_names_that_cannot_be_stored_are_refused(arrays: Arrays, name: str) -> None:
    with pytest.raises(StoreError, match="cannot be"):
        arrays.put({name: np.zeros(1)})


def test_what_killed_writers_left_does_no_harm_and_can_be_swept(arrays: Arrays) -> None:
    path = arrays.path(arrays.put(ONE))
    old, young = (path.with_name(f"{path.name}.partial-{n}") for n in ("00", "11"))
    old.write_bytes(b"half")
    young.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    assert list(arrays.digests()) == [path.stem]
    assert arrays.remove_waste() == 1
    assert young.exists()
    assert arrays.remove_waste(older=0.0) == 1
    assert list(path.parent.iterdir()) == [path]
    assert same(arrays.get(path.stem), ONE)


def test_a_write_that_fails_leaves_nothing_behind(arrays: Arrays, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        arrays.put(ONE)
    assert [path for path in arrays.root.rglob("*") if path.is_file()] == []


dtypes = st.sampled_from([np.float32, np.float64, np.int64, np.bool_, np.uint8]).map(np.dtype)
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
named = st.dictionaries(st.text(max_size=8), hnp.arrays(dtypes, shapes), max_size=4)


@settings(max_examples=80)
@given(named)
def test_all_arrays_come_back_bit_for_bit(wanted: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder:
        arrays = Arrays(Path(folder))
        digest = arrays.put(wanted)
        assert same(arrays.get(digest), wanted)
        assert arrays.put(dict(reversed(wanted.items()))) == digest


@settings(max_examples=80)
@given(hnp.arrays(dtypes, hnp.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=4)))
def test_views_are_stored_as_they_look(array: Any) -> None:
    for view in (array.T, array[::-1], array[:, ::2], array[..., :1]):
        assert encode({"a": view}) == encode({"a": view.copy(order="C")})
