"""Where questions are asked: a model, its features, and what is known about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

from assay.core.features import Features
from assay.core.question import Question

M = TypeVar("M", bound=nn.Module)


@dataclass(frozen=True, eq=False)
class Truth:
    """What each feature really does.

    ``effect`` is the truth as the environment's document states it. What is explained may be another number: a pixel
    of another colour lowers the probability of the winner and leaves its logit alone. ``per_readout`` has the effects
    on those numbers.
    """

    effect: Tensor  # (B, *features), signed; 0 = does nothing
    per_readout: Mapping[str, Tensor] = field(default_factory=dict)  # by readout, in the same shape

    def of(self, readout: str | None) -> Tensor:
        """The effect on the number that this readout gives."""
        return self.per_readout.get(readout or "", self.effect)

    def each(self, change: Callable[[Tensor], Tensor]) -> Truth:
        """The same truth with every tensor changed alike."""
        return Truth(change(self.effect), {name: change(effect) for name, effect in self.per_readout.items()})


@dataclass(frozen=True, eq=False)
class Samples:
    """Some rows of an environment; row i depends on (environment, seed, index i) only."""

    x: Tensor  # (B, *entries)
    label: Tensor  # (B,) long; 0 for one-output regression
    truth: Truth | None
    indices: tuple[int, ...]
    target: Tensor | None = None  # (B,) the class to explain in place of the label

    def __len__(self) -> int:
        return len(self.indices)

    def copy(self) -> Samples:
        """The same samples in tensors of their own."""
        truth = None if self.truth is None else self.truth.each(Tensor.clone)
        target = None if self.target is None else self.target.clone()
        return replace(self, x=self.x.clone(), label=self.label.clone(), truth=truth, target=target)

    def to(self, device: str, dtype: torch.dtype) -> Samples:
        truth = None if self.truth is None else self.truth.each(lambda effect: effect.to(device, dtype))
        target = None if self.target is None else self.target.to(device)
        return replace(self, x=self.x.to(device, dtype), label=self.label.to(device), truth=truth, target=target)


@dataclass(frozen=True, eq=False)
class Reference:
    """Training rows and labels, from a random stream disjoint from the evaluated samples."""

    x: Tensor
    label: Tensor

    def copy(self) -> Reference:
        """The same rows in tensors of their own."""
        return Reference(self.x.clone(), self.label.clone())


@dataclass(frozen=True, eq=False)
class Recipe:
    """How to build this model again, train it on rows that somebody else prepared, and keep it as tensors."""

    train: Callable[[Tensor, Tensor, int], nn.Module]  # x, label, seed -> model
    weights: Callable[[nn.Module], Mapping[str, Tensor]]  # all that is to be kept of such a model
    restore: Callable[[Mapping[str, Tensor]], nn.Module]  # the model again, frozen and in evaluation mode
    together: Callable[[Tensor, Tensor, Sequence[int]], list[nn.Module]] | None = None  # where it pays to train many

    def train_many(self, x: Tensor, label: Tensor, seeds: Sequence[int]) -> list[nn.Module]:
        """K models on rows (K, N, *entries) of their own with labels (N,) in common: what ``train`` makes of each."""
        if self.together is not None:
            return self.together(x, label, seeds)
        return [self.train(rows, label, seed) for rows, seed in zip(x, seeds, strict=True)]


@dataclass(frozen=True, eq=False)
class Setting:
    """A model and everything a question about it may need."""

    model: nn.Module
    features: Features
    kind: Literal["image", "table", "tokens"]
    question: Question  # how this environment asks, unless told otherwise
    classes: tuple[str, ...] = ()
    informative: tuple[int, ...] | None = None  # features that may have an effect, flat; None: nobody says
    background: Tensor | None = None  # the true baseline, shape of one sample: where a feature has no effect
    reference: Reference | None = None
    recipe: Recipe | None = None
    outputs: Literal["logits", "probabilities", "value"] = "logits"  # what the model answers with
    differentiable: bool = True
    forward: Callable[[Tensor], Tensor] | None = None  # equal to the model, faster, without gradients
    sibling: nn.Module | None = None  # another model for the same samples: the one this was made from, for example
    picture: Callable[[Tensor], Tensor] | None = None  # samples as RGB pictures in 0..1; None: they are stretched to it
    hints: Mapping[str, str] = field(default_factory=dict)  # for example the layer a method is usually hung on

    def to(self, device: str, dtype: torch.dtype) -> Setting:
        reference = self.reference
        if reference is not None:
            reference = Reference(reference.x.to(device, dtype), reference.label.to(device))
        background = None if self.background is None else self.background.to(device, dtype)
        mine = self._with_own_models()  # Module.to works in place
        sibling = None if mine.sibling is None else mine.sibling.to(device, dtype)
        model = mine.model.to(device, dtype)
        return replace(mine, model=model, sibling=sibling, background=background, reference=reference)

    def copied(self) -> Setting:
        """The same with models, reference rows and background that nobody else has."""
        reference = None if self.reference is None else self.reference.copy()
        background = None if self.background is None else self.background.clone()
        return replace(self._with_own_models(), reference=reference, background=background)

    def _with_own_models(self) -> Setting:
        sibling = None if self.sibling is None else model_copy(self.sibling)
        return replace(self, model=model_copy(self.model), sibling=sibling)


def model_copy(model: M) -> M:
    """A copy that shares nothing, also of a model that keeps activations, which ``deepcopy`` alone refuses."""
    with torch.no_grad():  # a scripted module's parameters would become results of calculations
        return deepcopy(model, {id(kept): kept.detach().clone() for kept in _kept(model)})


def _kept(model: nn.Module) -> Iterator[Tensor]:
    """Results of calculations that modules keep: copies do without the way they came about."""
    waiting = [vars(module) for module in model.modules()]
    seen: set[int] = set()
    while waiting:
        found: Any = waiting.pop()
        if isinstance(found, Tensor) and found.grad_fn is not None:
            yield found
        elif isinstance(found, Mapping | list | tuple) and id(found) not in seen:
            seen.add(id(found))
            waiting += found.values() if isinstance(found, Mapping) else found
