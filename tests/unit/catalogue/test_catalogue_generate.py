"""Which classes of a folder are components."""

import sys

import pytest

import assay
import assay.methods
from assay.catalogue.generate import cards
from assay.core.errors import AssayError

TWO = """
from dataclasses import dataclass
from assay.methods.gradient import Gradient

@dataclass(frozen=True)
class SecondOne:
    def __call__(self, query): ...

@dataclass(frozen=True)
class FirstOne(SecondOne):
    k: int = 1  # how many

@dataclass(frozen=True)
class _Hidden(SecondOne): ...

@dataclass
class NotFrozen:
    def __call__(self, query): ...

@dataclass(frozen=True)
class NeverCalled: ...
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "methods"
    folder.mkdir()
    monkeypatch.setattr(assay, "__path__", [str(tmp_path), *assay.__path__])
    monkeypatch.setattr(assay.methods, "__path__", [*assay.methods.__path__, str(folder)])
    yield folder
    for path in folder.glob("*.py"):
        sys.modules.pop(f"assay.methods.{path.stem}", None)
        vars(assay.methods).pop(path.stem, None)


def test_a_file_may_hold_several_components_and_other_classes(folder):
    (folder / "made_family.py").write_text(TWO)
    (folder / "_made_private.py").write_text("this is not even Python")
    first, second = cards("methods")
    assert (first.name, first.target) == ("first_one", "assay.methods.made_family:FirstOne")
    assert [param.note for param in first.params] == ["how many"]
    assert (second.name, second.calls) == ("second_one", ("__call__",))


def test_a_name_stands_for_one_component(folder):
    (folder / "made_family.py").write_text(TWO)
    (folder / "made_other.py").write_text(TWO)
    with pytest.raises(AssayError, match=r"is already the name of assay.methods.made_family:"):
        cards("methods")
