from __future__ import annotations

import tarfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

from assay.core.errors import AssayError
from assay.data import adult as adult_module
from assay.data.adult import adult
from assay.data.batches import ARCHIVES
from assay.data.cifar import images
from assay.data.fetch import fetch, main
from assay.data.folder import fetched
from unit.data.fakes import archive_files, pretend
from unit.data.test_adult import census


def packed(dataset: str, files: dict[str, bytes]) -> bytes:
    raw = BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for name, data in {**files, "readme.html": b"hello"}.items():
            info = tarfile.TarInfo(f"{ARCHIVES[dataset].folder}/{name}")
            info.size = len(data)
            tar.addfile(info, BytesIO(data))
    return raw.getvalue()


def publish(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, dataset: str, files: dict[str, bytes]) -> None:
    """An archive of these files behind the data set's address; its sum is right, whatever is in it."""
    raw = packed(dataset, files)
    pretend(monkeypatch, dataset, archive_files(dataset), raw)
    (tmp_path / "archive").write_bytes(raw)
    url = (tmp_path / "archive").as_uri()
    monkeypatch.setitem(ARCHIVES, dataset, replace(ARCHIVES[dataset], url=url))


@pytest.mark.parametrize("dataset", ["cifar10", "cifar100"])
def test_what_was_fetched_is_found(dataset: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(monkeypatch, tmp_path, dataset, archive_files(dataset))
    place = fetch(dataset)
    assert place == fetched() / ARCHIVES[dataset].folder
    assert sorted(path.name for path in place.iterdir()) == sorted(ARCHIVES[dataset].members)
    assert len(images(dataset, "train")) == len(images(dataset, "test")) == 2 * len(images(dataset, "test").names)


def test_a_damaged_archive_leaves_nothing_behind(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(monkeypatch, tmp_path, "cifar10", archive_files("cifar10"))
    path = tmp_path / "archive"
    path.write_bytes(path.read_bytes() + b"!")
    with pytest.raises(AssayError, match="damaged or another version"):
        fetch("cifar10")
    assert not fetched().exists()


def test_a_member_with_another_sum_gets_no_name(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = archive_files("cifar100")
    publish(monkeypatch, tmp_path, "cifar100", {**files, "train.bin": b"something else"})
    with pytest.raises(AssayError, match=r"train\.bin in .* has sha256"):
        fetch("cifar100")
    assert not (fetched() / "cifar-100-binary" / "train.bin").exists()


def test_a_member_that_is_not_there_is_named(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = archive_files("cifar100")
    del files["test.bin"]
    publish(monkeypatch, tmp_path, "cifar100", files)
    with pytest.raises(AssayError, match=r"has no file cifar-100-binary/test\.bin"):
        fetch("cifar100")


def test_an_address_that_does_not_answer_is_an_error_that_names_it(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = (tmp_path / "nowhere").as_uri()
    monkeypatch.setitem(ARCHIVES, "cifar10", replace(ARCHIVES["cifar10"], url=url))
    with pytest.raises(AssayError, match=r"nowhere could not be fetched"):
        fetch("cifar10")


def test_the_command_prints_where_things_are_and_says_what_it_knows(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(monkeypatch, tmp_path, "cifar10", archive_files("cifar10"))
    assert main(["cifar10"]) == 0
    assert str(fetched()) in capsys.readouterr().out
    assert main(["cifar"]) == 2
    assert "Did you mean 'cifar10'?" in capsys.readouterr().err
    assert main([]) == 2
    assert "adult,cifar10,cifar100,credit" in capsys.readouterr().err


def test_adult_from_openml_is_the_table_that_loaders_promise(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = census(monkeypatch)
    asked: list[dict[str, object]] = []

    def openml(**arguments: object) -> SimpleNamespace:
        asked.append(arguments)
        frame = rows.rename(columns={"income": "class"}).sample(frac=1, random_state=np.random.RandomState(3))
        texts = [name for name in frame if name not in adult_module.NUMBERS]
        return SimpleNamespace(frame=frame.astype(dict.fromkeys(texts, "category")))  # as OpenML has them

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", openml)
    assert fetch("adult") == fetched() / "adult"
    assert asked[0]["data_id"] == 1590
    pd.testing.assert_frame_equal(adult(complete=False), adult_module.tidy(rows))
    path = fetched() / adult_module.FILE
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with pytest.raises(AssayError, match="damaged"):
        adult()


def test_openml_out_of_reach_is_an_error_and_leaves_nothing(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def openml(**_arguments: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", openml)
    with pytest.raises(AssayError, match="1590 could not be fetched: no network"):
        fetch("adult")
    assert not (fetched() / "adult").exists()
