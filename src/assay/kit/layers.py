"""Layers of a model by name, and hooks that are removed when their scope ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from assay.core.errors import SpecError, suggest

Hook = Callable[[nn.Module, tuple[Any, ...], Any], Any]


def find_layer(model: nn.Module, name: str) -> nn.Module:
    """The submodule of this name; SpecError suggests near misses."""
    modules: dict[str, nn.Module] = {path: module for path, module in model.named_modules() if path}
    if name not in modules:
        raise SpecError(f"the model has no layer '{name}'.{suggest(name, modules)} Its layers: {', '.join(modules)}.")
    return modules[name]


def leaf_modules(model: nn.Module) -> dict[str, nn.Module]:
    """Modules without children, by name."""
    return {name: module for name, module in model.named_modules() if next(module.children(), None) is None}


@contextmanager
def forward_hooks(modules: Iterable[nn.Module], hook: Hook) -> Iterator[None]:
    """Call ``hook(module, inputs, output)`` after each run of one of the modules; it may return another output."""
    with ExitStack() as stack:
        for module in modules:
            stack.callback(module.register_forward_hook(hook).remove)
        yield


@contextmanager
def hooks_around(modules: Iterable[nn.Module], enter: Callable[[], None], leave: Callable[[], None]) -> Iterator[None]:
    """Call ``enter`` before and ``leave`` after each run of one of the modules."""
    with ExitStack() as stack:
        for module in modules:
            stack.callback(module.register_forward_pre_hook(lambda *_: enter()).remove)
            stack.callback(module.register_forward_hook(lambda *_: leave()).remove)
        yield


@dataclass(frozen=True, eq=False)
class ModuleOutput:
    """A module's output."""

    name: str
    module: nn.Module
    output: Tensor
    version: int  # of the output: a tensor that was modified in place since is another output

    def same(self, other: ModuleOutput) -> bool:
        return self.output is other.output and self.version == other.version


def module_outputs(model: nn.Module, x: Tensor) -> list[ModuleOutput]:
    """The output of each module but the model itself, of its last run, in the order in which they ended.

    A block comes after the layers inside it.
    """
    names = {module: name for name, module in model.named_modules() if name}
    results: dict[nn.Module, ModuleOutput] = {}

    def record(module: nn.Module, _inputs: tuple[Any, ...], output: Any) -> None:
        results.pop(module, None)
        if isinstance(output, Tensor):
            version = 0 if output.is_inference() else output._version
            results[module] = ModuleOutput(names[module], module, output, version)

    with forward_hooks(names, record):
        model(x)
    return list(results.values())


def leaf_outputs(model: nn.Module, x: Tensor) -> dict[str, Tensor]:
    """The output of each module without children, of its last run, in the order in which they ran.

    Modules that return one of their inputs are left out.
    """
    names = {module: name for name, module in leaf_modules(model).items()}
    results: dict[str, Tensor] = {}

    def record(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        if isinstance(output, Tensor) and all(output is not value for value in inputs):
            results.pop(names[module], None)
            results[names[module]] = output

    with forward_hooks(names, record):
        model(x)
    return results
