"""Rules for the backward pass: DeepLIFT, LRP and their relatives change how some functions pass gradients on.

Nothing is hung on the model. While it runs, calls such as ``relu`` are answered by functions with another backward
pass, whether they come from ``nn.ReLU``, ``F.relu`` or ``x.relu_()``, and however often a module is used. When the
model is done, the autograd graph tells whether anything happened that the rules do not cover.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from assay.core.errors import NotApplicable
from assay.kit.graph import bends, operation
from assay.kit.layers import around, outputs

Call = Callable[[Tensor], Tensor]  # a function of the model, everything but its first argument filled in


@dataclass(frozen=True, eq=False)
class Asked:
    """A call as the model made it, with what it was filled in with."""

    func: Callable[..., Any]
    rest: tuple[Any, ...]  # arguments after the first
    named: Mapping[str, Any]

    def __call__(self, values: Tensor) -> Tensor:
        return self.func(values, *self.rest, **self.named)  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        """``relu`` for ``F.relu``, ``Tensor.relu``, ``relu_``, ..."""
        return name_of(self.func)


def name_of(func: Any) -> str:
    return str(getattr(func, "__name__", "")).rstrip("_")


Answer = Callable[[Asked, Tensor], Tensor]  # what to do instead of the call
Rule = Callable[[Call, Tensor, Tensor], Tensor]  # call, its input, gradient of its output -> "gradient" of its input


class Altered(torch.autograd.Function):
    """A call whose gradient is what a rule says."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, call: Call, rule: Rule) -> Tensor:
        ctx.save_for_backward(values)
        ctx.call, ctx.rule = call, rule
        return call(values)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (values,) = ctx.saved_tensors
        return ctx.rule(ctx.call, values, grads[0]), None, None


def altered(call: Call, values: Tensor, rule: Rule) -> Tensor:
    """The call's result, with the rule as its gradient. A call in place changes its input, as the model expects."""
    probe = values[:1].detach().clone()
    if call(probe) is not probe:
        return replaced(call, values, rule)
    return values.copy_(replaced(lambda fresh: call(fresh.clone()), values.clone(), rule))


def replaced(call: Call, values: Tensor, rule: Rule) -> Tensor:
    """The same for a call that is known to leave its input as it is."""
    return Altered.apply(values, call, rule)  # type: ignore[no-untyped-call,no-any-return]


def gradient(call: Call, values: Tensor, grad: Tensor) -> Tensor:
    """The rule that changes nothing."""
    with torch.enable_grad():
        values = values.detach().requires_grad_()
        return torch.autograd.grad(call(values), values, grad)[0]


class Answers(TorchFunctionMode):
    """A scope in which calls are answered by name: ``relu`` stands for ``F.relu``, ``Tensor.relu``, ``relu_``, ..."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        super().__init__()
        self.answers = answers
        self.paused = 0  # how many modules we are in that are to be left alone

    def pause(self) -> None:
        self.paused += 1

    def resume(self) -> None:
        self.paused -= 1

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        answer = self.answers.get(name_of(func))
        kwargs = kwargs or {}
        if answer is None or self.paused or not args:
            return func(*args, **kwargs)
        return answer(Asked(func, args[1:], kwargs), args[0])


class Ruled(nn.Module):
    """A module whose backward pass follows rules; NotApplicable where it does something they do not cover.

    ``known`` are operations whose own gradient the rules can live with; modules in ``spared`` are left alone.
    """

    def __init__(
        self,
        module: nn.Module,
        answers: Mapping[str, Answer],
        known: Collection[str] = (),
        spared: Collection[nn.Module] = (),
    ) -> None:
        super().__init__()
        self.module = module
        self.answers = answers
        self.known = {Altered.__name__, *known}
        self.spared = tuple(spared)

    def forward(self, rows: Tensor) -> Tensor:
        answers = Answers(self.answers)
        with around(self.spared, answers.pause, answers.resume), answers:
            output: Tensor = self.module(rows)
        self.check(output, rows)
        return output

    def check(self, output: Tensor, rows: Tensor) -> None:
        """NotApplicable where something happened between the rows and the output that the rules do not cover."""
        if unknown := bends(output, rows, self.known):
            raise NotApplicable(f"needs layers that its rules cover, and {_culprit(self.module, rows, unknown)}")


def _culprit(module: nn.Module, rows: Tensor, unknown: list[str]) -> str:
    """The first layer that ends in an unknown operation, or the operations if no layer does."""
    for name, output in outputs(module, rows).items():
        if output.grad_fn is not None and operation(output.grad_fn) in unknown:
            return f"'{name}' is {type(module.get_submodule(name)).__name__}"
    return f"the model computes {', '.join(unknown)}"
