"""Settings and samples: a model, its features, its reference data, and the truth about its samples."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

from assay.core.features import Features
from assay.core.footprint import same_footprint
from assay.core.question import Question

M = TypeVar("M", bound=nn.Module)


@dataclass(frozen=True, eq=False)
class Truth:
    """The effect of every feature.

    ``effect`` is the truth as the environment's document states it. Effects on another readout may differ: a pixel of
    another colour lowers the probability of the winner and leaves its logit unchanged. ``per_readout`` holds these.
    """

    effect: Tensor  # (B, *features), signed; 0 = no effect
    per_readout: Mapping[str, Tensor] = field(default_factory=dict)  # by readout, in the same shape

    def of(self, readout: str | None) -> Tensor:
        """The effects on this readout."""
        return self.per_readout.get(readout or "", self.effect)

    def each(self, change: Callable[[Tensor], Tensor]) -> Truth:
        """The truth with ``change`` applied to every tensor."""
        return Truth(change(self.effect), {name: change(effect) for name, effect in self.per_readout.items()})


@dataclass(frozen=True, eq=False)
class Samples:
    """Rows of an environment; row i depends on (environment, seed, index i) only."""

    x: Tensor  # (B, *entries)
    label: Tensor  # (B,) long; 0 for one-output regression
    truth: Truth | None
    indices: tuple[int, ...]
    target: Tensor | None = None  # (B,) the class to explain in place of the label
    words: tuple[tuple[str, ...], ...] = ()  # the text of each sample's features, where samples differ in it
    data_rows: tuple[int, ...] = ()  # the rows of a user's data that these are; empty: no user's data

    def __len__(self) -> int:
        return len(self.indices)

    def copy(self) -> Samples:
        """A copy in new tensors."""
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
        """A copy in new tensors."""
        return Reference(self.x.clone(), self.label.clone())

    def to(self, device: str, dtype: torch.dtype) -> Reference:
        return Reference(self.x.to(device, dtype), self.label.to(device))


class DrawnReference(Reference):
    """Rows that are drawn when they are first read: few methods need any, and drawing takes longer than all else that
    a setting needs."""

    def __init__(self, draw: Callable[[], Reference]) -> None:
        vars(self)["_draw"] = draw

    @cached_property
    def _drawn(self) -> Reference:
        drawn: Reference = vars(self)["_draw"]()
        return drawn

    @property
    def x(self) -> Tensor:  # type: ignore[override]
        return self._drawn.x

    @property
    def label(self) -> Tensor:  # type: ignore[override]
        return self._drawn.label

    def copy(self) -> Reference:
        return DrawnReference(lambda: self._drawn.copy())

    def to(self, device: str, dtype: torch.dtype) -> Reference:
        return DrawnReference(lambda: self._drawn.to(device, dtype))


@dataclass(frozen=True, eq=False)
class Recipe:
    """How to build this model again, train it on other rows, and store it as tensors."""

    train: Callable[[Tensor, Tensor, int], nn.Module]  # x, label, seed -> model
    weights: Callable[[nn.Module], Mapping[str, Tensor]]  # everything to be stored of such a model
    restore: Callable[[Mapping[str, Tensor]], nn.Module]  # the stored model, frozen and in evaluation mode
    together: Callable[[Tensor, Tensor, Sequence[int]], list[nn.Module]] | None = None  # trains many at once, faster

    def train_many(self, x: Tensor, label: Tensor, seeds: Sequence[int]) -> list[nn.Module]:
        """K models, each as ``train`` makes it: model k from rows x[k] of (K, N, *entries), all with labels (N,)."""
        if self.together is not None:
            return self.together(x, label, seeds)
        return [self.train(rows, label, seed) for rows, seed in zip(x, seeds, strict=True)]


@dataclass(frozen=True, eq=False)
class Setting:
    """A model and everything that a question about it may need."""

    model: nn.Module
    features: Features
    kind: Literal["image", "table", "tokens", "series"]
    question: Question  # the environment's question: fills what other questions leave open
    classes: tuple[str, ...] = ()
    informative: tuple[int, ...] | None = None  # flat indices of features that may have an effect; None: not known
    background: Tensor | None = None  # the true baseline, in the shape of one sample: there no feature has an effect
    reference: Reference | None = None
    recipe: Recipe | None = None
    outputs: Literal["logits", "probabilities", "value"] = "logits"  # what the model answers with
    differentiable: bool = True
    rule: Callable[[Tensor], Tensor] | None = None  # the scores, without noise, by which labels were drawn, where known
    forward: Callable[[Tensor], Tensor] | None = None  # the same function as the model, faster, without gradients
    parts: Mapping[str, Tensor] = field(
        default_factory=dict
    )  # named regions, bool (*features): an object's, for example
    sibling: nn.Module | None = None  # another model for the same samples: the one this was made from, for example
    picture: Callable[[Tensor], Tensor] | None = None  # samples as RGB pictures in 0..1; None: stretched to 0..1
    hints: Mapping[str, str] = field(default_factory=dict)  # for example the layer that a method usually reads
    given: Callable[[Tensor], Any] | None = None  # entries -> rows in the form that the user gave them; None: entries

    def to(self, device: str, dtype: torch.dtype) -> Setting:
        reference = None if self.reference is None else self.reference.to(device, dtype)
        background = None if self.background is None else self.background.to(device, dtype)
        copy = self._with_model_copies()  # Module.to works in place
        sibling = None if copy.sibling is None else copy.sibling.to(device, dtype)
        model = copy.model.to(device, dtype)
        parts = {name: part.to(device) for name, part in self.parts.items()}
        return replace(copy, model=model, sibling=sibling, background=background, reference=reference, parts=parts)

    def copied(self) -> Setting:
        """A copy that shares no models, reference rows, background or parts with this one."""
        reference = None if self.reference is None else self.reference.copy()
        background = None if self.background is None else self.background.clone()
        parts = {name: part.clone() for name, part in self.parts.items()}
        return replace(self._with_model_copies(), reference=reference, background=background, parts=parts)

    def _with_model_copies(self) -> Setting:
        sibling = None if self.sibling is None else model_copy(self.sibling)
        return replace(self, model=model_copy(self.model), sibling=sibling)


def model_copy(model: M) -> M:
    """A copy that shares nothing; works for models that keep activations, too, which ``deepcopy`` alone refuses."""
    copies: dict[int, Any] = {id(tensor): tensor.detach().clone() for tensor in _computed_tensors(model)}
    for module in model.modules():  # each has ten empty dicts of hooks, which are a third of the time of ``deepcopy``
        copies |= {id(part): OrderedDict() for part in vars(module).values() if type(part) is OrderedDict and not part}
    with torch.no_grad():  # else a scripted module's parameters would become results of calculations
        copy = deepcopy(model, copies)
    same_footprint(model, copy)
    return copy


def _computed_tensors(model: nn.Module) -> Iterator[Tensor]:
    """Results of calculations that modules keep, such as activations; their copies have no autograd history."""
    waiting = [vars(module) for module in model.modules()]
    seen: set[int] = set()
    while waiting:
        value: Any = waiting.pop()
        if isinstance(value, Tensor) and value.grad_fn is not None:
            yield value
        elif isinstance(value, Mapping | list | tuple) and id(value) not in seen:
            seen.add(id(value))
            waiting += value.values() if isinstance(value, Mapping) else value
