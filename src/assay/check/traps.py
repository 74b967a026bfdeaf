"""Models that fail in the middle of a call, as they do when memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from assay.check.snapshot import changed, snapshot

Watcher = Callable[[nn.Module, tuple[Any, ...], Any], None]


class Sprung(Exception):
    """The failure."""


def spoiled(model: nn.Module, work: Callable[[], object]) -> Iterator[tuple[str, str]]:
    """Let the work's first, middle and last model call fail, then a backward pass; yield what stays changed, and when.

    The work must be done once without a trap before, so that nothing is measured inside of it.
    """
    layer = _middle(model)
    count = _runs(layer, work)
    runs = sorted({1, -(-count // 2), count} - {0})
    traps = {f"run {run} of the middle layer failed": _fails_at(run) for run in runs}
    for when, trap in {**traps, "a backward pass failed": _fails_backward}.items():
        yield from ((name, when) for name in _left_behind(model, layer, work, trap))


def _left_behind(model: nn.Module, layer: nn.Module, work: Callable[[], object], trap: Watcher) -> list[str]:
    with _watched(layer, trap):
        before = snapshot(model)
        try:
            work()
        except Exception:  # the trap's failure, in whatever shape it arrives
            return changed(before, snapshot(model))
    return []


def _middle(model: nn.Module) -> nn.Module:
    """A module without children, half way through the model."""
    leaves = [module for module in model.modules() if next(module.children(), None) is None]
    return leaves[len(leaves) // 2]


def _runs(module: nn.Module, work: Callable[[], object]) -> int:
    """How often the module runs while the work is done."""
    seen: list[None] = []
    with _watched(module, lambda *_: seen.append(None)):
        work()
    return len(seen)


@contextmanager
def _watched(module: nn.Module, watch: Watcher) -> Iterator[None]:
    handle = module.register_forward_hook(watch)
    try:
        yield
    finally:
        handle.remove()


def _fails_at(run: int) -> Watcher:
    seen: list[None] = []

    def fail(*_: Any) -> None:
        seen.append(None)
        if len(seen) == run:
            raise Sprung(f"run {run}")

    return fail


def _fails_backward(_module: nn.Module, _inputs: tuple[Any, ...], output: Any) -> None:
    if isinstance(output, Tensor) and output.requires_grad:
        output.register_hook(_fail)


def _fail(_gradient: Tensor) -> None:
    raise Sprung("on the way back")
