from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import AssayError
from assay.data import folder
from unit.data.fakes import sum_of


def test_the_users_folder_comes_before_what_was_fetched(data: Path) -> None:
    assert folder.find("one") is None
    kept = folder.fetched() / "one"
    kept.mkdir(parents=True)
    assert folder.find("one") == kept
    (data / "one").mkdir(parents=True)
    assert folder.find("one") == data / "one"
    assert folder.find("other", "one") == data / "one"


def test_without_a_users_folder_only_the_cache_is_looked_at(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_DATA")
    assert folder.folders() == (folder.fetched(),)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"ASSAY_CACHE": "/here"}, "/here"),
        ({"XDG_CACHE_HOME": "/there"}, "/there/assay"),
        ({"HOME": "/home/me"}, "/home/me/.cache/assay"),
    ],
)
def test_the_cache_folder_is_the_users(
    variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ASSAY_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert folder.cache_folder() == Path(expected)


def test_a_file_is_read_only_if_its_sum_is_right(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"right")
    assert folder.read(path, sum_of(b"other"), sum_of(b"right")) == b"right"
    path.write_bytes(b"wrong")
    with pytest.raises(AssayError, match=rf"sha256 {sum_of(b'wrong')}, not {sum_of(b'right')}.*fetch or copy it again"):
        folder.read(path, sum_of(b"right"))
    with pytest.raises(AssayError, match="cannot be read"):
        folder.read(tmp_path / "absent", sum_of(b"right"))


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep" / "file"
    folder.write(path, b"old")

    def full(self: Path, raw: bytes) -> int:
        with self.open("wb") as file:
            file.write(raw[:1])
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="disk full"):
        folder.write(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]
