"""Stores made by hand, and the report of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.engine.store.store import Store
from assay.report.page import page
from unit.report.made import Builder


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Read only: shared by all tests."""
    made = Store.open(tmp_path_factory.mktemp("store") / "s", sync=False)
    Builder(made).run()
    return made


@pytest.fixture
def fresh(tmp_path: Path) -> Store:
    """For tests that change it."""
    made = Store.open(tmp_path / "fresh", sync=False)
    Builder(made).run()
    return made


@pytest.fixture(scope="session")
def folder(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of ``store``."""
    return page(store, tmp_path_factory.mktemp("report")).parent


@pytest.fixture(scope="session")
def html(folder: Path) -> str:
    return (folder / "index.html").read_text(encoding="utf-8")
