"""A component from outside is known by all that it is: what it says, what it inherits, where it stands."""

import pytest

from assay.core.build import build
from assay.core.errors import SpecError
from assay.core.registry import card, identity, resolve
from assay.core.shapes import as_float, fits
from assay.core.spec import Spec


def full(text, kind="methods"):
    return resolve(kind, Spec.parse(text))


METRIC = """
from dataclasses import dataclass
from typing import ClassVar

@dataclass(frozen=True)
class Loss:
    k: int = 1

    higher_is_better: ClassVar[bool] = False
    revision: ClassVar[str] = "7"

    def __call__(self, trial): ...
"""

CHILD = """
from dataclasses import dataclass
from parent_module import Loss

@dataclass(frozen=True)
class Child(Loss):
    extra: int = 2
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("exporting", "from parent_module import Loss as Child\n"),
        ("inheriting", CHILD),
    ],
)
def test_facts_are_known_wherever_the_class_stands(modules, name, text):
    modules.write("parent_module", METRIC)
    modules.write(name, text)
    assert card("metrics", "parent_module:Loss").fact("higher_is_better") is False
    found = card("metrics", f"{name}:Child")
    assert found.fact("higher_is_better") is False
    assert found.revision == "7"


def test_a_change_in_the_parent_is_a_change(modules):
    path = modules.write("parent_module", METRIC.replace('    revision: ClassVar[str] = "7"\n', ""))
    modules.write("inheriting", CHILD)
    before = identity("metrics", full("inheriting:Child", "metrics"))
    path.write_text(path.read_text() + "# changed\n")
    modules.restart()
    assert identity("metrics", full("inheriting:Child", "metrics")) != before


def test_a_function_rests_on_what_its_file_imports(modules, tmp_path, monkeypatch):
    from assay.core import sources

    monkeypatch.setattr(sources, "_ROOT", tmp_path)
    (tmp_path / "kit").mkdir()
    below = tmp_path / "kit" / "curves.py"
    below.write_text("# one\n")
    modules.write("resting", "def f(query):\n    from assay.kit import curves\n")
    before = identity("methods", full("resting:f"))
    below.write_text("# two\n")
    assert identity("methods", full("resting:f")) != before


DEFAULTS = """
from dataclasses import dataclass
from assay.core.protocols import Method
from assay.methods.smoothed import Smoothed

THIRD = 1 / 3

@dataclass(frozen=True)
class Mine:
    of: Method = Smoothed(noise=THIRD)

    def __call__(self, query): ...
"""


def test_a_default_component_keeps_its_computed_values(modules):
    modules.write("defaulting", DEFAULTS)
    assert build("methods", full("defaulting:Mine")).of.noise == pytest.approx(1 / 3)


def test_a_file_in_another_coding_is_read_or_refused(modules):
    path = modules.write("latin", "")
    path.write_bytes(b"# -*- coding: latin-1 -*-\n# caf\xe9\nclass Mine: ...\n")
    with pytest.raises(SpecError, match="not UTF-8"):
        full("latin:Mine")


@pytest.mark.parametrize(
    "text", ["smoothed(noise=-1e999)", "smoothed(samples=0x" + "f" * 5000 + ")"], ids=["-inf", "hex"]
)
def test_every_number_that_is_read_can_be_written_down_again(text):
    try:
        spec = Spec.parse(text)
    except SpecError:
        return
    assert Spec.parse(str(spec)) == spec


def test_a_literal_that_is_no_literal_is_left_to_the_component():
    fits("a", "Literal[Mode.A, Mode.B]")


def test_no_item_of_a_tuple_is_lost():
    assert as_float((1, 2, 3), "tuple[float, float] | tuple[float, float, float]") == (1.0, 2.0, 3.0)


def test_a_partial_is_known_by_the_file_of_its_function(modules):
    path = modules.write(
        "partial_module", "from functools import partial\ndef g(model, x, y, k): ...\nf = partial(g, k=1)\n"
    )
    before = card("methods", "partial_module:f").source
    path.write_text(path.read_text() + "# changed\n")
    modules.restart()
    assert card("methods", "partial_module:f").source != before


def test_a_broken_parent_package_is_a_spec_error(modules):
    modules.write("falling_package.__init__", "raise RuntimeError('boom')\n")
    modules.write("falling_package.inner", "class Mine: ...\n")
    with pytest.raises(SpecError, match="boom"):
        full("falling_package.inner:Mine")
