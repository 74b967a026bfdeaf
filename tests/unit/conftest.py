"""A place for modules that are written, and perhaps broken, during a test."""

import importlib
import sys

import pytest

from assay.catalogue import foreign_cards
from assay.catalogue.registry import catalogue


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

    def restart(self):
        """Forget what was imported, as a new process would."""
        for name, module in list(sys.modules.items()):
            if str(self.folder) in str(getattr(module, "__file__", "")):
                del sys.modules[name]


@pytest.fixture
def modules(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # files change faster than their times of change
    # Cards of other people's files are read once per process; tests with this fixture change files meanwhile.
    monkeypatch.setattr(foreign_cards, "_read", foreign_cards._read.__wrapped__)
    modules = Modules(tmp_path)
    yield modules
    modules.restart()


@pytest.fixture
def points(monkeypatch):
    """Entry points that are announced for the time of a test: ``points(("methods", "mine", "module:attr"))``."""
    from importlib.metadata import EntryPoint

    announced = []

    def announce(*found):
        announced.extend(EntryPoint(name, value, f"assay.{kind}") for kind, name, value in found)
        catalogue.cache_clear()

    monkeypatch.setattr(
        "assay.catalogue.registry.entry_points", lambda group: [point for point in announced if point.group == group]
    )
    catalogue.cache_clear()
    yield announce
    catalogue.cache_clear()
