"""Layers of a model by name, and hooks that are gone when their scope ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from assay.core.errors import SpecError, suggest

Watcher = Callable[[nn.Module, tuple[Any, ...], Any], Any]


def layer(model: nn.Module, name: str) -> nn.Module:
    """The submodule of this name; SpecError suggests near misses."""
    known: dict[str, nn.Module] = {known: module for known, module in model.named_modules() if known}
    if name not in known:
        raise SpecError(f"the model has no layer '{name}'.{suggest(name, known)} Its layers: {', '.join(known)}.")
    return known[name]


def leaves(model: nn.Module) -> dict[str, nn.Module]:
    """Modules without children, by name."""
    return {name: module for name, module in model.named_modules() if next(module.children(), None) is None}


@contextmanager
def watched(modules: Iterable[nn.Module], after: Watcher) -> Iterator[None]:
    """Call ``after(module, inputs, output)`` whenever one of the modules has run; it may return another output."""
    with ExitStack() as stack:
        for module in modules:
            stack.callback(module.register_forward_hook(after).remove)
        yield


@contextmanager
def around(modules: Iterable[nn.Module], enter: Callable[[], None], leave: Callable[[], None]) -> Iterator[None]:
    """Call ``enter`` before and ``leave`` after each run of one of the modules."""
    with ExitStack() as stack:
        for module in modules:
            stack.callback(module.register_forward_pre_hook(lambda *_: enter()).remove)
            stack.callback(module.register_forward_hook(lambda *_: leave()).remove)
        yield


@dataclass(frozen=True, eq=False)
class Returned:
    """What a module returned."""

    name: str
    module: nn.Module
    output: Tensor
    version: int  # of the output: what was changed in place since is another one

    def same(self, other: Returned) -> bool:
        return self.output is other.output and self.version == other.version


def returned(model: nn.Module, x: Tensor) -> list[Returned]:
    """What each module but the model itself returned in its last run, in the order in which they ended: a block stands
    after the layers inside of it."""
    names = {module: name for name, module in model.named_modules() if name}
    found: dict[nn.Module, Returned] = {}

    def note(module: nn.Module, _inputs: tuple[Any, ...], output: Any) -> None:
        found.pop(module, None)
        if isinstance(output, Tensor):
            version = 0 if output.is_inference() else output._version
            found[module] = Returned(names[module], module, output, version)

    with watched(names, note):
        model(x)
    return list(found.values())


def outputs(model: nn.Module, x: Tensor) -> dict[str, Tensor]:
    """What each module without children makes, in the order in which they run; the last run of a module counts."""
    names = {module: name for name, module in leaves(model).items()}
    found: dict[str, Tensor] = {}

    def note(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        if isinstance(output, Tensor) and all(output is not given for given in inputs):
            found.pop(names[module], None)
            found[names[module]] = output

    with watched(names, note):
        model(x)
    return found
