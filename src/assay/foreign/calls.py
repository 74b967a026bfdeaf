"""Parameters of other people's calls."""

from __future__ import annotations

import inspect
from inspect import Parameter
from typing import Any


def parameters_of(call: Any) -> dict[str, Parameter] | None:
    """The parameters of a call by name, without ``self``; None where Python cannot tell."""
    try:
        found = inspect.signature(call).parameters
    except (TypeError, ValueError):
        return None
    return {name: parameter for name, parameter in found.items() if name != "self"}


def named_parameters(call: Any) -> dict[str, Parameter]:
    """Those that have a name of their own; none where Python cannot tell."""
    various = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return {name: one for name, one in (parameters_of(call) or {}).items() if one.kind not in various}


def takes_anything(call: Any) -> bool:
    """Whether further arguments may have any name."""
    return any(one.kind is Parameter.VAR_KEYWORD for one in (parameters_of(call) or {}).values())


def is_needed(parameter: Parameter) -> bool:
    return parameter.default is Parameter.empty
