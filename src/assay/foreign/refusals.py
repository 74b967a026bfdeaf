"""What cannot be called is refused with lines that would work. A test runs these lines: they are indented by four."""

from __future__ import annotations

import sys
from typing import Any

from assay.core.errors import SpecError

EVALUATE = "assay.evaluate(model, x, methods={})"


def refusal(sentence: str, *lines: str) -> SpecError:
    """The error with a sentence and the lines to write instead."""
    return SpecError("\n    ".join([f"{sentence} Write, for example:", *lines]))


def wrapped(sentence: str, call: str) -> SpecError:
    """For an object that can be called otherwise: a function around it."""
    return refusal(
        sentence, "def mine(model, inputs, targets):", f"    return {call}", EVALUATE.format("{'mine': mine}")
    )


def named(sentence: str, spec: str) -> SpecError:
    """For a component with a spec."""
    return refusal(sentence, EVALUATE.format(f'["{spec}"]'))


def variable(thing: Any) -> str:
    """A name for an object in a line of code: that of a function or class, if it has one."""
    name = getattr(thing, "__name__", "")
    return name if name.isidentifier() else "explainer"


def public_name(cls: type) -> str:
    """``module:Class`` of the outermost package that offers the class."""
    parts = cls.__module__.split(".")
    for count in range(1, len(parts) + 1):
        module = sys.modules.get(".".join(parts[:count]))
        if getattr(module, cls.__name__, None) is cls:
            return f"{'.'.join(parts[:count])}:{cls.__name__}"
    return f"{cls.__module__}:{cls.__qualname__}"
