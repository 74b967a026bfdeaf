"""Make models fail in the middle of a call, as they do when memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from assay.check.instruments.snapshot import changed_parts, snapshot

ForwardHook = Callable[[nn.Module, tuple[Any, ...], Any], None]


class PlannedFailure(Exception):
    """The failure that a hook raises."""


def changes_after_failures(model: nn.Module, work: Callable[[], object]) -> Iterator[tuple[str, str]]:
    """Fail runs of the middle layer (first, middle, last), then a backward pass; yield what stays changed, and when.

    Do the work once without failures before, so that it measures no footprint during these runs.
    """
    layer = _middle_layer(model)
    count = _count_runs(layer, work)
    runs = sorted({1, -(-count // 2), count} - {0})
    hooks = {f"run {run} of the middle layer failed": _failing_run(run) for run in runs}
    for when, hook in {**hooks, "a backward pass failed": _failing_backward}.items():
        yield from ((name, when) for name in _changes_after(model, layer, work, hook))


def _changes_after(model: nn.Module, layer: nn.Module, work: Callable[[], object], hook: ForwardHook) -> list[str]:
    """What a failure leaves changed; nothing if the work does not fail."""
    with _hooked(layer, hook):
        before = snapshot(model)
        try:
            work()
        except Exception:  # ``PlannedFailure``, or another error that it caused
            return changed_parts(before, snapshot(model))
    return []


def _middle_layer(model: nn.Module) -> nn.Module:
    """The module without children that is half way through the model."""
    leaves = [module for module in model.modules() if next(module.children(), None) is None]
    return leaves[len(leaves) // 2]


def _count_runs(module: nn.Module, work: Callable[[], object]) -> int:
    """How often the module runs while the work is done."""
    runs: list[None] = []
    with _hooked(module, lambda *_: runs.append(None)):
        work()
    return len(runs)


@contextmanager
def _hooked(module: nn.Module, hook: ForwardHook) -> Iterator[None]:
    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def _failing_run(run: int) -> ForwardHook:
    runs: list[None] = []

    def fail(*_: Any) -> None:
        runs.append(None)
        if len(runs) == run:
            raise PlannedFailure(f"run {run}")

    return fail


def _failing_backward(_module: nn.Module, _inputs: tuple[Any, ...], output: Any) -> None:
    if isinstance(output, Tensor) and output.requires_grad:
        output.register_hook(_fail)


def _fail(_gradient: Tensor) -> None:
    raise PlannedFailure("backward pass")
