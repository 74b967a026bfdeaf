"""Wrong methods: each is a gradient with one error."""

from __future__ import annotations

import random
from itertools import count
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.query import Query

CALLS = count()


def honest(query: Query) -> Tensor:
    return query.gradient(query.x)


# shape


def flat(query: Query) -> Tensor:
    return honest(query).flatten(1)


def array(query: Query) -> Any:
    return honest(query).numpy()


# finite


def divided_by_nothing(query: Query) -> Tensor:
    gradient = honest(query)
    return gradient * (gradient / gradient)


# positive_as_declared


class DeclaresPositiveOnly:
    """A gradient, which is negative as well."""

    positive_only = True

    def __call__(self, query: Query) -> Tensor:
        return honest(query)


# deterministic


def drifting(query: Query) -> Tensor:
    """Drifts by less than the rounding tolerance, so that only the bitwise comparison sees it."""
    return honest(query) * (1 + 1e-6 * (next(CALLS) % 2))


# rows_independent


def relative_to_its_block(query: Query) -> Tensor:
    gradient = honest(query)
    return gradient - gradient.mean(dim=0)


def relative_in_float32(query: Query) -> Tensor:
    if query.x.dtype == torch.float64:
        raise TypeError("float32 only")
    return relative_to_its_block(query)


def amplified_rounding(query: Query) -> Tensor:
    """Right, although the last digits differ with the size of a block and are amplified a thousandfold."""
    return honest(query) * (1 + 1000 * torch.finfo(query.x.dtype).eps * len(query.x))


# budget


def first_part_only(query: Query) -> Tensor:
    """A sum over points that forgets everything after the first model call."""
    part = next(query.parts(8, gradients=True))
    return query.gradient(query.x.expand(part.stop, *query.x.shape)).sum(dim=0)


# model_untouched


def leaves_a_hook(query: Query) -> Tensor:
    gradient = honest(query)
    query.setting.model.register_forward_hook(lambda *_: None)
    return gradient


def leaves_training_mode(query: Query) -> Tensor:
    gradient = honest(query)
    query.setting.model.train()
    return gradient


def leaves_weights_that_want_gradients(query: Query) -> Tensor:
    gradient = honest(query)
    query.setting.model.requires_grad_()
    return gradient


def leaves_another_forward(query: Query) -> Tensor:
    gradient = honest(query)
    query.setting.model.forward = query.setting.model.forward
    return gradient


def leaves_a_rule(query: Query) -> Tensor:
    """As Captum's LRP does with its rules."""
    gradient = honest(query)
    for module in query.setting.model.modules():
        module.rule = "epsilon"  # type: ignore[assignment]
    return gradient


# model_untouched_after_exception


def removes_its_hook_only_on_success(query: Query) -> Tensor:
    handle = query.setting.model.register_forward_hook(lambda *_: None)
    gradient = honest(query)
    handle.remove()
    return gradient


class FitsInTrainingMode:
    """Leaves training mode on if its ``fit`` fails."""

    def fit(self, query: Query) -> dict[str, Tensor]:
        query.setting.model.train()
        mean = query.gradient(query.x).mean(dim=0)
        query.setting.model.eval()
        return {"mean": mean}

    def __call__(self, query: Query) -> Tensor:
        return honest(query) - query.fitted["mean"]


# input_untouched


def leaves_a_gradient_on_x(query: Query) -> Tensor:
    query.x.requires_grad_()
    return honest(query)


def clears_the_baseline(query: Query) -> Tensor:
    gradient = honest(query)
    query.baseline.fill_(7)
    return gradient


# no_global_randomness


def sets_the_global_seed(query: Query) -> Tensor:
    """The same numbers every time, but the global stream is reset."""
    torch.manual_seed(0)
    return honest(query) * torch.rand(())


def borrows_global_numbers(query: Query) -> Tensor:
    """The stream is restored, but the result depends on it."""
    with torch.random.fork_rng(devices=[]):
        return honest(query) * torch.rand(())


def draws_from_numpy_and_python(query: Query) -> Tensor:
    np.random.random()
    random.random()
    return honest(query)


# no_global_switches


def leaves_gradients_off(query: Query) -> Tensor:
    gradient = honest(query)
    torch.set_grad_enabled(False)
    return gradient


# answers_not_applicable


def ignores_that_there_are_no_gradients(query: Query) -> Tensor:
    """Calls the bare model, which does not raise NotApplicable as ``query.module`` does."""
    with torch.enable_grad():
        point = query.x.clone().requires_grad_()
        scores = query.setting.model(point).gather(1, query.target.unsqueeze(1))
        (gradient,) = torch.autograd.grad(scores.sum(), point)
    return gradient


def refuses_without_a_reason(query: Query) -> Tensor:
    if not query.setting.differentiable:
        raise NotApplicable
    return honest(query)


def always_stops(query: Query) -> Tensor:
    raise RuntimeError("not today")


METHODS: dict[str, tuple[Any, ...]] = {
    "shape": (flat, array),
    "finite": (divided_by_nothing,),
    "positive_as_declared": (DeclaresPositiveOnly(),),
    "deterministic": (drifting,),
    "rows_independent": (relative_to_its_block, relative_in_float32),
    "budget": (first_part_only,),
    "model_untouched": (
        leaves_a_hook,
        leaves_training_mode,
        leaves_weights_that_want_gradients,
        leaves_another_forward,
        leaves_a_rule,
    ),
    "model_untouched_after_exception": (removes_its_hook_only_on_success, FitsInTrainingMode()),
    "input_untouched": (leaves_a_gradient_on_x, clears_the_baseline),
    "no_global_randomness": (sets_the_global_seed, borrows_global_numbers, draws_from_numpy_and_python),
    "no_global_switches": (leaves_gradients_off,),
    "answers_not_applicable": (ignores_that_there_are_no_gradients, refuses_without_a_reason, always_stops),
}

# The sites of these methods; the others are tried at a table, which is fast.
PLACES = {
    flat: "color_count",  # where a feature is not an entry
    divided_by_nothing: "color_count",  # where many gradients are 0
}
