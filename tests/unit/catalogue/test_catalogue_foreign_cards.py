"""A component from outside is known by all that it is: what it says, what it inherits, where it stands."""

from typing import Any

import pytest

from assay.catalogue.annotations import as_float, fits
from assay.catalogue.build import build
from assay.catalogue.registry import card, identity, resolve
from assay.core.errors import SpecError
from assay.core.spec import Spec
from streams import seeded


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
    path.write_text(path.read_text() + "changed = True\n")
    modules.restart()
    assert identity("metrics", full("inheriting:Child", "metrics")) != before


def test_a_function_rests_on_what_its_file_imports(modules, tmp_path, monkeypatch):
    from assay.catalogue import sources

    monkeypatch.setattr(sources, "_ROOT", tmp_path)
    (tmp_path / "kit").mkdir()
    below = tmp_path / "kit" / "curves.py"
    below.write_text("x = 1\n")
    modules.write("resting", "def f(query):\n    from assay.kit import curves\n")
    before = identity("methods", full("resting:f"))
    below.write_text("x = 2\n")
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


@pytest.mark.parametrize(
    "text", ["smoothed(noise=-1e999)", "smoothed(samples=0x" + "f" * 5000 + ")"], ids=["-inf", "hex"]
)
def test_a_number_that_could_not_be_written_down_again_is_refused(text):
    with pytest.raises(SpecError, match="cannot read"):
        Spec.parse(text)


def test_a_literal_that_is_no_literal_is_left_to_the_component():
    assert fits("a", "Literal[Mode.A, Mode.B]")


def test_no_item_of_a_tuple_is_lost():
    assert as_float((1, 2, 3), "tuple[float, float] | tuple[float, float, float]") == (1.0, 2.0, 3.0)


def test_a_partial_is_known_by_the_file_of_its_function(modules):
    path = modules.write(
        "partial_module", "from functools import partial\ndef g(model, x, y, k): ...\nf = partial(g, k=1)\n"
    )
    before = card("methods", "partial_module:f").source
    path.write_text(path.read_text() + "changed = True\n")
    modules.restart()
    assert card("methods", "partial_module:f").source != before


def test_a_broken_parent_package_is_a_spec_error(modules):
    modules.write("falling_package.__init__", "raise RuntimeError('boom')\n")
    modules.write("falling_package.inner", "class Mine: ...\n")
    with pytest.raises(SpecError, match="boom"):
        full("falling_package.inner:Mine")


WRAPPED = """
import torch
from functools import partial
import maker

@torch.no_grad()
def decorated(model, x, y): return x * 1

part = partial(maker.f, power=1)
made = maker.factory(1)
Kind = maker.make_class(1)
"""
MAKER = """
def f(model, x, y, power): ...
def factory(power): return lambda model, x, y: x * power
def make_class(k):
    class Made:
        def __call__(self, query): return k
    return Made
"""


@pytest.mark.parametrize("attr", ["decorated", "part", "made", "Kind"])
def test_what_was_wrapped_or_made_elsewhere_is_known_by_the_file_that_names_it_too(modules, attr):
    path, maker = modules.write("wraps", WRAPPED), modules.write("maker", MAKER)
    found = {card("methods", f"wraps:{attr}").source}
    for file in (path, maker):
        file.write_text(file.read_text() + "changed = True\n")
        modules.restart()
        found.add(card("methods", f"wraps:{attr}").source)
    assert len(found) == 3


def test_a_text_that_names_code_is_known_by_the_code(modules):
    modules.write(
        "judge", "class Judge:\n    def __init__(self, func): ...\n    def __call__(self, model, x, y, a): ...\n"
    )
    path = modules.write("similar", "def f(a, b): return 1\n")
    told = str(Spec.of("judge:Judge", func="similar:f"))
    before = identity("metrics", full(told, "metrics"))
    path.write_text("def f(a, b): return 2\n")
    modules.restart()
    assert identity("metrics", full(told, "metrics")) != before


@pytest.mark.draws("somebody else's module makes a layer as it is imported, another one in every process")
def test_a_model_made_at_import_is_known_by_its_numbers(modules):
    import torch

    from assay.catalogue.foreign_cards import code_digest
    from assay.foreign.imports import load

    modules.write("net", "import torch\nnet = torch.nn.Linear(4, 3)\n\ndef make(): return torch.nn.Linear(4, 3)\n")
    before, function = code_digest("net:net"), code_digest("net:make")
    assert (code_digest("net:net"), code_digest("net:make")) == (before, function)
    with torch.no_grad():
        load("net:net").weight[0, 0] += 1
    after = code_digest("net:net")
    assert after != before
    load("net:net").bias.data[0] -= 1  # which counts no version
    assert code_digest("net:net") not in (before, after)
    modules.restart()
    assert code_digest("net:net") not in (before, after)  # other numbers in every process
    assert code_digest("net:make") == function


@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbf", b"# -*- coding: latin-1 -*-\n# caf\xe9\n", b"# plain\r\n"],
    ids=["byte order mark", "latin-1", "crlf"],
)
def test_a_file_is_read_as_python_reads_it(modules, content):
    path = modules.write("odd", "")
    path.write_bytes(content + METRIC.replace("\n", "\r\n" if b"\r" in content else "\n").encode())
    assert card("metrics", "odd:Loss").fact("revision") == "7"
    assert build("metrics", full("odd:Loss", "metrics")).k == 1


def test_a_coding_that_nobody_knows_is_a_spec_error(modules):
    modules.write("odd", "# -*- coding: klingon -*-\nclass Mine: ...\n")
    with pytest.raises(SpecError, match=r"cannot (read|import)"):
        full("odd:Mine")


def test_a_module_that_replaced_itself_is_a_spec_error_at_the_worst(modules):
    text = "import sys\nclass Me:\n    __slots__ = ()\n    def f(self, model, x, y): ...\n"
    modules.write("slotted", text + "sys.modules[__name__] = Me()\n")
    assert card("methods", "slotted:f").source
    with pytest.raises(SpecError):
        full("slotted:g")


def test_numbers_of_every_format_count():
    import torch

    from assay.foreign.fingerprint import fingerprint

    model = torch.nn.Module()
    formats = (torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float64, torch.complex64)
    for index, dtype in enumerate(formats):
        model.register_buffer(f"b{index}", torch.zeros(2, dtype=dtype), persistent=False)
    found = {fingerprint(model)}
    for index in range(len(formats)):
        model.get_buffer(f"b{index}")[1] = 1
        found.add(fingerprint(model))
    model.get_buffer("b6").imag[0] = 1
    found.add(fingerprint(model))
    assert len(found) == len(formats) + 2
    assert fingerprint(torch.nn.Linear) == fingerprint(print) == ""


@seeded()
def test_attributes_of_a_model_in_memory_count():
    from types import SimpleNamespace

    import numpy as np
    import torch

    from assay.foreign.fingerprint import fingerprint

    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    inner: Any = model[0]
    inner.temperature, inner.mask, inner.table, inner.itself = 1.0, torch.ones(3), np.ones(2), []
    inner.itself.append(inner.itself)
    inner.config = {"names": ["a", SimpleNamespace(depth=1)], "open": open}
    found = [fingerprint(model)]

    def changed():
        found.append(fingerprint(model))
        assert found[-1] not in found[:-1]
        assert fingerprint(model) == found[-1]

    inner.temperature = 5.0
    changed()
    inner.temperature = 5
    changed()
    inner.mask[0] = 0
    changed()
    inner.mask[0], inner.mask[1] = 1, 0  # the same sum
    changed()
    inner.table[1] = 3
    changed()
    inner.config["names"][1].depth = 2
    changed()
    inner.weight.data = inner.weight.data.flip(0)
    changed()
    model.eval()
    model.register_forward_hook(lambda *_: None)
    assert fingerprint(model) == found[-1]
