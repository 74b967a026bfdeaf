"""An explainer that the user made for a model: its class and arguments, to make it anew for the explained number.

Arguments are read from the attributes of their names. They must make the same explainer again: what was changed since
it was made cannot be carried over.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.foreign.calls import is_needed, named_parameters
from assay.foreign.explainers import LAYER, CaptumMethod
from assay.foreign.layers import name_of
from assay.foreign.refusals import variable, wrapped

PLAIN = (bool, int, float, str, bytes, type(None))
DEPTH = 4  # of attributes of attributes
ABSENT = object()


def read_instance(instance: Any, asked: Mapping[str, Any]) -> CaptumMethod:
    """The class and the arguments of an explainer, which is asked with ``asked``."""
    cls = type(instance)
    parameters = named_parameters(cls)
    if not parameters or (made_for := _attribute(instance, next(iter(parameters)))) is ABSENT:
        raise _refused(instance, "it does not keep the model that it was made for")
    first, *others = parameters
    params, made_of = dict[str, Any](), dict[str, Any]()
    if hasattr(made_for, "attribute"):
        inner = read_instance(made_for, {})
        params[first] = inner
        innermost = inner.made_for
    else:
        innermost = made_for
    for name in (name for name in others if is_needed(parameters[name])):
        made_of[name] = _attribute(instance, name)
        if made_of[name] is ABSENT:
            raise _refused(instance, f"it does not keep its argument '{name}'")
    plain = _made(instance, made_for, made_of)
    for name in (name for name in others if name not in made_of):
        value = _attribute(instance, name)
        if value is not ABSENT and not _same(value, _attribute(plain, name)):
            made_of[name] = value
    if changed := _differences(instance, _made(instance, made_for, made_of)):
        raise _refused(instance, f"'{changed[0]}' was changed since it was made")
    for name, value in made_of.items():
        params[name] = name_of(value, innermost) if isinstance(value, nn.Module) and name == LAYER else value
        if params[name] is None and value is not None:
            raise _refused(instance, "its layer is none of the model that it was made for")
        if isinstance(value, list) and any(isinstance(one, nn.Module) for one in value):
            raise _refused(instance, "it explains several layers, and a map is of one")
    return CaptumMethod(cls, {**params, **asked}, innermost)


def _refused(instance: Any, reason: str) -> SpecError:
    sentence = (
        f"the {type(instance).__name__} was made for one model, and cannot be made again for the explained number: "
        f"{reason}. A function can ask it as it is."
    )
    return wrapped(sentence, f"{variable(instance)}.attribute(inputs, target=targets)")


def _made(instance: Any, made_for: Any, arguments: Mapping[str, Any]) -> Any:
    try:
        return type(instance)(made_for, **arguments)
    except Exception as error:  # of any code
        raise _refused(instance, f"{type(error).__name__}: {error}") from None


def _attribute(instance: Any, name: str) -> Any:
    """The value of a constructor's argument, which an object keeps under its name, or in an explainer inside it."""
    values = vars(instance) if hasattr(instance, "__dict__") else {}
    for key in (name, f"_{name}"):
        if key in values:
            return values[key]
    inner = [value for value in values.values() if hasattr(value, "attribute")]
    return next((found for one in inner if (found := _attribute(one, name)) is not ABSENT), ABSENT)


def _differences(first: Any, second: Any) -> list[str]:
    """The public attributes that both have and that are not the same."""
    left, right = vars(first), vars(second)
    return [name for name in left if name in right and not name.startswith("_") and not _same(left[name], right[name])]


def _same(left: Any, right: Any, depth: int = DEPTH) -> bool:
    if left is right or not depth:
        return True
    if type(left) is not type(right) or isinstance(left, Tensor):
        return False
    if isinstance(left, PLAIN):
        return bool(left == right)
    if isinstance(left, Mapping):
        return left.keys() == right.keys() and all(_same(left[key], right[key], depth - 1) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(
            _same(one, other, depth - 1) for one, other in zip(left, right, strict=True)
        )
    if inspect.ismethod(left):
        return left.__func__ is right.__func__
    if inspect.isfunction(left):
        first, second = (dict(inspect.getclosurevars(one).nonlocals) for one in (left, right))
        return left.__code__ is right.__code__ and _same(first, second, depth - 1)
    return all(
        _same(value, vars(right).get(name, value), depth - 1)
        for name, value in getattr(left, "__dict__", {}).items()
        if not name.startswith("_")
    )
