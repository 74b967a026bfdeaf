"""Tests of loaders see an empty data folder and an empty cache of their own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What ASSAY_DATA names; the cache folder is beside it."""
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "data"
