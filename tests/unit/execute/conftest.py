"""A yard of small components, a store, and a cache of models of its own."""

import sys
from pathlib import Path

import pytest

from assay.store.store import Store
from assay.study.file import read


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def yard():
    import yard

    yard.trained.clear()
    return yard


@pytest.fixture
def store(tmp_path):
    with_store = Store.open(tmp_path / "store", sync=False)
    yield with_store
    with_store.close()


def small(**changed):
    table = {
        "environments": ["yard:Meadow"],
        "methods": ["yard:Copy"],
        "metrics": ["yard:Total"],
        "samples": 4,
        "block": 2,
        "gallery": 0,
    }
    return read({**table, **changed}, "small")


@pytest.fixture
def study():
    return small


@pytest.fixture(autouse=True, scope="session")
def _forget():
    yield
    sys.modules.pop("yard", None)
