"""Rules for the backward pass: DeepLIFT, LRP and related methods replace the gradients of some functions.

The model itself is not modified. While it runs, calls such as ``relu`` are replaced by functions with another backward
pass, whether they come from ``nn.ReLU``, ``F.relu`` or ``x.relu_()``, and however often a module is used. After the
run, the autograd graph shows whether the model computed something that the rules do not cover.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from assay.core.errors import NotApplicable
from assay.kit.backward.graph import nonlinear_operations, operation
from assay.kit.layers import hooks_around, leaf_outputs

Call = Callable[[Tensor], Tensor]  # a function that the model calls, with all arguments but the first filled in


@dataclass(frozen=True, eq=False)
class ModelCall:
    """A function that the model calls, and all of its arguments but the first."""

    func: Callable[..., Any]
    arguments: tuple[Any, ...]  # positional, after the first
    keywords: Mapping[str, Any]

    def __call__(self, values: Tensor) -> Tensor:
        return self.func(values, *self.arguments, **self.keywords)  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        """``relu`` for ``F.relu``, ``Tensor.relu``, ``relu_``, ..."""
        return function_name(self.func)


def function_name(func: Any) -> str:
    return str(getattr(func, "__name__", "")).rstrip("_")


Replacement = Callable[[ModelCall, Tensor], Tensor]  # computes the result instead of the call
Rule = Callable[[Call, Tensor, Tensor], Tensor]  # call, its input, gradient of its output -> "gradient" of its input


class CustomGradient(torch.autograd.Function):
    """A call whose gradient is defined by a rule."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, call: Call, rule: Rule) -> Tensor:
        ctx.save_for_backward(values)
        ctx.call, ctx.rule = call, rule
        return call(values)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (values,) = ctx.saved_tensors
        return ctx.rule(ctx.call, values, grads[0]), None, None


def call_with_rule(call: Call, values: Tensor, rule: Rule) -> Tensor:
    """The call's result, with the rule as its gradient. A call in place modifies its input, as the model expects."""
    probe = values[:1].detach().clone()
    if call(probe) is not probe:
        return pure_call_with_rule(call, values, rule)
    return values.copy_(pure_call_with_rule(lambda fresh: call(fresh.clone()), values.clone(), rule))


def pure_call_with_rule(call: Call, values: Tensor, rule: Rule) -> Tensor:
    """As ``call_with_rule``, for a call that never modifies its input."""
    return CustomGradient.apply(values, call, rule)  # type: ignore[no-untyped-call,no-any-return]


def gradient(call: Call, values: Tensor, grad: Tensor) -> Tensor:
    """The rule that keeps the call's own gradient."""
    with torch.enable_grad():
        values = values.detach().requires_grad_()
        return torch.autograd.grad(call(values), values, grad)[0]


class CallReplacements(TorchFunctionMode):
    """A scope in which calls are replaced by name: ``relu`` stands for ``F.relu``, ``Tensor.relu``, ``relu_``, ..."""

    def __init__(self, replacements: Mapping[str, Replacement]) -> None:
        super().__init__()
        self.replacements = replacements
        self.paused = 0  # how many exempt modules are running, one inside another

    def pause(self) -> None:
        self.paused += 1

    def resume(self) -> None:
        self.paused -= 1

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        replacement = self.replacements.get(function_name(func))
        kwargs = kwargs or {}
        if replacement is None or self.paused or not args:
            return func(*args, **kwargs)
        return replacement(ModelCall(func, args[1:], kwargs), args[0])


class RuledModule(nn.Module):
    """A module whose backward pass follows rules; NotApplicable where it computes something they do not cover.

    Operations in ``allowed`` keep their own gradient; no rule applies inside modules in ``exempt``.
    """

    def __init__(
        self,
        module: nn.Module,
        replacements: Mapping[str, Replacement],
        allowed: Collection[str] = (),
        exempt: Collection[nn.Module] = (),
    ) -> None:
        super().__init__()
        self.module = module
        self.replacements = replacements
        self.allowed = {CustomGradient.__name__, *allowed}
        self.exempt = tuple(exempt)

    def forward(self, rows: Tensor) -> Tensor:
        replacements = CallReplacements(self.replacements)
        with hooks_around(self.exempt, replacements.pause, replacements.resume), replacements:
            output: Tensor = self.module(rows)
        self.require_covered(output, rows)
        return output

    def require_covered(self, output: Tensor, rows: Tensor) -> None:
        """NotApplicable where an operation between the rows and the output is not covered by the rules."""
        if unknown := nonlinear_operations(output, rows, self.allowed):
            raise NotApplicable(f"needs layers that its rules cover, and {_culprit(self.module, rows, unknown)}")


def _culprit(module: nn.Module, rows: Tensor, unknown: list[str]) -> str:
    """Names the first layer that ends in an unknown operation; the operations if no layer does."""
    for name, output in leaf_outputs(module, rows).items():
        if output.grad_fn is not None and operation(output.grad_fn) in unknown:
            return f"'{name}' is {type(module.get_submodule(name)).__name__}"
    return f"the model computes {', '.join(unknown)}"
