"""A place for modules that are written, and perhaps broken, during a test."""

import importlib
import sys

import pytest

from assay.core import foreign
from assay.core.registry import catalogue


class Modules:
    """Python files on the path; what was imported from them is forgotten at the end."""

    def __init__(self, folder):
        self.folder = folder

    def write(self, name, text):
        """The file of module ``name``; packages are made on the way."""
        path = self.folder.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        importlib.invalidate_caches()
        return path


@pytest.fixture
def modules(tmp_path, monkeypatch):
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Modules(tmp_path)
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def points(monkeypatch):
    """Entry points that are announced for the time of a test: ``points(("methods", "mine", "module:attr"))``."""
    from importlib.metadata import EntryPoint

    announced = []

    def announce(*found):
        announced.extend(EntryPoint(name, value, f"assay.{kind}") for kind, name, value in found)
        catalogue.cache_clear()

    monkeypatch.setattr(
        "assay.core.registry.entry_points", lambda group: [point for point in announced if point.group == group]
    )
    catalogue.cache_clear()
    yield announce
    catalogue.cache_clear()


@pytest.fixture(autouse=True)
def as_if_every_look_were_the_first(monkeypatch):
    """Cards of other people's files are read once per process; these tests change files under its eyes."""
    monkeypatch.setattr(foreign, "_read", foreign._read.__wrapped__)
