"""Missing and damaged data files are told before anything is computed."""

import pytest

from assay.core.errors import AssayError
from assay.core.machine import Resources
from assay.engine.execute.data_files import check_data
from assay.engine.execute.forecast import forecast
from assay.engine.execute.grid import grid
from assay.engine.execute.plan import Plan, plan
from assay.engine.execute.run import run
from assay.engine.store.memory import MemoryStore
from assay.engine.store.store import Store
from assay.studies.file import read


def study(environment):
    table = {"samples": 2, "gallery": 0, "environments": [environment], "methods": ["gradient"]}
    return read({**table, "metrics": ["deletion"]}, "s")


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("environment", "file", "told"),
    [
        ("cifar", "", "^cifar10 is missing: .* set ASSAY_DATA"),
        ("beside(of=cifar(), other=cifar())", "", "^cifar10 is missing"),
        ("public_table", "", "^Adult Income is missing: .* set ASSAY_DATA"),
        ("public_table(path='absent.csv')", "", "^public_table: there is no file 'absent.csv'"),
        ("own(data='absent.npz')", "", "^there is no file or folder 'absent.npz'"),
        ("cifar", "cifar10/labels.npz", "labels.npz has sha256 .*: it is damaged or another version"),
        ("public_table", "adult/adult.parquet", "adult.parquet has sha256 .*: it is damaged or another version"),
    ],
)
def test_files_that_an_environment_cannot_read_stop_the_run_before_it_begins(data, tmp_path, environment, file, told):
    if file:
        (data / file).parent.mkdir(parents=True)
        (data / file).write_bytes(b"cut off")
    for start in (forecast, run):
        with pytest.raises(AssayError, match=told):
            start(study(environment), tmp_path / "store", Resources(workers=0))
    assert not Store.open(tmp_path / "store").records()


def test_a_run_that_reads_no_file_needs_none():
    drawn = study("cifar(dataset='drawn', network='resnet8', weights='trained')")
    check_data(drawn, plan(grid(drawn), MemoryStore()))
    check_data(study("cifar"), Plan(()))  # all is in the store
