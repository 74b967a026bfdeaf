"""Linear models, whose exact attributions are known: input times weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.core.features import Columns, Features, Pixels
from assay.core.question import Question
from assay.core.rng import Draws, generator
from assay.core.setting import DrawnReference, Recipe, Reference, Samples, Setting, Truth
from assay.environments._pictures import Drawn

REFERENCE = range(10_000, 10_400)  # samples that are the reference rows: evaluate fewer than 10,000
CLEAR = 2.0  # by how much whole numbers add up to more than 0


@dataclass(frozen=True)
class Linear:
    """A linear layer on a table or on images, with samples labelled by its own answers.

    Two classes answer ``w.x + b`` and its negative; more classes have weights of their own. Feature i contributes
    exactly ``w_i x_i`` to its class against a baseline of zeros; a pixel contributes the sum over its channels.

    Inputs are standard normal, or drawn pictures. ``gaussian_sum`` is the sum of 200 of them, on which soundness and
    completeness were validated (Li et al., 2024). Whole numbers are for checks of metrics: weights are 1, 2 or 0, of
    both signs, and effects differ in size, so that a sum is exact and the best order is unique; a third of the effects
    is negative. Sample i is then the i-th such row of the seed's stream.
    """

    paper: ClassVar[str] = "A Dual-Perspective Approach (Li et al., 2024), section 5.1"
    modality: ClassVar[str] = "image or table"
    aliases: ClassVar[tuple[tuple[str, str, object], ...]] = (("gaussian_sum", "weights", "ones"),)

    shape: tuple[int, ...] = (200,)  # the number of columns, or channels, height and width
    weights: Literal["normal", "ones", "whole", "tenths"] = "normal"  # drawn by the seed, all 1, whole, tenths of these
    classes: int = 2  # labels
    bias: float = 0.0  # b
    read: float = 1.0  # probability that a feature has weights, not zeros
    pictures: bool = False  # inputs are bars and discs of shape (3, 12, 12), not normal numbers
    losers: bool = False  # of every second sample, the class that does not win is explained
    per_pixel: bool = False  # of images: no two pixels (not: no two entries) have the same whole effect

    def __post_init__(self) -> None:
        if problem := next(self._problems(), None):
            raise SpecError(f"linear: {problem}.")

    @classmethod
    def tiny(cls) -> Linear:
        return cls(shape=(8,))

    @property
    def draws_model(self) -> bool:
        return self.weights == "normal" or self.read < 1

    @property
    def draws_rule(self) -> bool:
        """The weights label reference rows and samples alike."""
        return self.draws_model

    @property
    def features(self) -> Features:
        return Columns.plain(*self.shape) if len(self.shape) == 1 else Pixels(*self.shape)

    def class_weights(self, seed: int) -> Tensor:
        """(classes, *entries)"""
        drawn = self._whole_weights / self._unit if self._is_whole else torch.ones(self.shape)
        if self.weights == "normal":
            count = self.classes if self.classes > 2 else 1
            # "linear pictures" only names the stream: another word would draw other weights.
            drawn = torch.randn(count, *self.shape, generator=generator("linear pictures", seed))
        if self.read < 1:
            random = torch.rand(self.features.shape, generator=generator("linear pictures", "pixels", seed))
            drawn = drawn * self.features.expand(random < self.read)
        drawn = drawn.view(-1, *self.shape)
        return drawn if self.classes > 2 else torch.cat([drawn, -drawn])

    @property
    def class_biases(self) -> Tensor:
        """(classes,)"""
        return torch.tensor([self.bias, -self.bias] if self.bias else [0.0] * self.classes)

    def program(self, x: Tensor, seed: int) -> Tensor:
        """The answers for all classes."""
        weights = self.class_weights(seed).to(x)
        return (x.unsqueeze(1) * weights).flatten(2).sum(dim=2) + self.class_biases.to(x)

    def effects(self, x: Tensor, label: Tensor, seed: int) -> Tensor:
        """What every entry contributes to the answer for the label (B, *entries)."""
        return self.class_weights(seed)[label] * x

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        x = self._inputs(indices, seed)
        answers = self.program(x, seed)
        first, second = answers.topk(2, dim=1).indices.T
        loses = torch.tensor([self.losers and bool(index % 2) for index in indices])
        asked, rival = torch.where(loses, second, first), torch.where(loses, first, second)
        effect, rival_effect = (self.features.pool(self.effects(x, side, seed)) for side in (asked, rival))
        truth = Truth(effect, {"margin": effect - rival_effect})
        return Samples(x, first, truth, tuple(indices), asked if self.losers else None)

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        read = self.features.pool(self.class_weights(seed).abs().sum(dim=0))
        return Setting(
            model=linear_model(self.class_weights(seed), self.class_biases),
            features=self.features,
            kind="table" if len(self.shape) == 1 else "image",
            question=Question("logit", 1.0, "zero", "label"),
            classes=tuple(f"class {index}" for index in range(self.classes)),
            informative=tuple(read.flatten().nonzero().flatten().tolist()),
            background=torch.zeros(self.shape),
            reference=None if self._is_whole else DrawnReference(partial(self._reference, seed)),
            recipe=Recipe(self._trained, nn.Module.state_dict, self._restored),
            rule=partial(self.program, seed=seed),
        )

    def _problems(self) -> Iterator[str]:
        """What is wrong with the parameters, one sentence each."""
        if len(self.shape) not in (1, 3) or min(self.shape) < 1 or prod(self.shape) < 2:
            yield f"shape={self.shape} must be the number of columns (2 or more), or channels, height and width"
        if self.pictures and self.shape != (3, Drawn.side, Drawn.side):
            yield f"pictures have shape=(3, {Drawn.side}, {Drawn.side}), not {self.shape}"
        if self.classes < 2 or not 0 < self.read <= 1:
            yield f"classes={self.classes}, read={self.read:g}: choose 2 classes or more, and a share above 0, up to 1"
        if self.classes > 2 and (self.bias or self.weights != "normal"):
            yield f"classes={self.classes} need weights='normal', as equal ones would answer alike, and no bias"
        if self.weights == "tenths" and self.bias:
            yield f"bias={self.bias:g} would outweigh tenths: write weights='whole'"
        if self._is_whole and (self.pictures or self.read < 1):
            yield f"weights='{self.weights}' come with inputs of their own: leave out pictures and read"

    @property
    def _is_whole(self) -> bool:
        return self.weights in ("whole", "tenths")

    @property
    def _unit(self) -> float:
        return 10.0 if self.weights == "tenths" else 1.0

    def _inputs(self, indices: Sequence[int], seed: int) -> Tensor:
        if self._is_whole:
            return self._whole_rows(max(indices) + 1, seed)[list(indices)].view(-1, *self.shape) / self._unit
        if self.pictures:
            mean, deviation = torch.tensor(Drawn.colours).view(2, 3, 1, 1).unbind()
            return (Drawn().evaluated(indices, seed)[0].float() / 255 - mean) / deviation
        return Draws([("linear", seed, index) for index in indices]).normal(*self.shape)

    def _reference(self, seed: int) -> Reference:
        x = self._inputs(REFERENCE, seed)
        return Reference(x, self.program(x, seed).argmax(dim=1))

    @cached_property
    def _whole_weights(self) -> Tensor:
        """Both signs, so that a neighbour's number says nothing about a feature's own; some 0 in larger shapes."""
        index, pixels = torch.arange(prod(self.shape)), prod(self.shape[-2:])
        weights = torch.where(index % 4 < 2, 1.0, -1.0) * (2 - index % 2)
        return (weights * (index % pixels % 4 != 3) if pixels >= 8 else weights).view(self.shape)

    def _whole_rows(self, count: int, seed: int) -> Tensor:
        """The first rows of the stream in which no two effects are equal and one class wins clearly."""
        weights = self._whole_weights.flatten()
        index = torch.arange(len(weights))
        # "rung" only names the stream: another word would draw other samples.
        stream = generator("rung", seed, *self.shape, int(self.weights == "tenths"), int(self.per_pixel))
        rows: list[Tensor] = []
        while len(rows) < count:
            sizes = CLEAR * (1 + torch.randperm(len(index), generator=stream))
            effects = sizes * torch.where((index + len(rows)) % 3 == 1, -1.0, 1.0)
            row = effects / torch.where(weights == 0, 1.0, weights)
            row = -row if self.bias and len(rows) % 2 else row
            if self._is_unambiguous(weights * row):
                rows.append(row)
        return torch.stack(rows)

    def _is_unambiguous(self, products: Tensor) -> bool:
        margin = float(products.sum()) + self.bias
        effects = products.view(self.shape).sum(dim=0).flatten() if self.per_pixel else products
        acting = effects[effects != 0]
        total = float(products.sum()) * (1 if margin >= 0 else -1)  # of the class that wins
        return len(acting.unique()) == len(acting) and total >= CLEAR and abs(margin) >= CLEAR

    def _trained(self, x: Tensor, label: Tensor, seed: int) -> nn.Module:
        """From zero weights, by full-batch Adam: the seed changes nothing."""
        weight = torch.zeros(self.classes, x[0].numel(), requires_grad=True)
        optimiser = torch.optim.Adam([weight], lr=0.05, weight_decay=1e-3)
        with torch.enable_grad():
            for _ in range(150):
                optimiser.zero_grad()
                nn.functional.cross_entropy(x.flatten(1) @ weight.T, label).backward()
                optimiser.step()
        return linear_model(weight.detach())

    def _restored(self, weights: Mapping[str, Tensor]) -> nn.Module:
        return linear_model(weights["1.weight"])


def linear_model(weights: Tensor, biases: Tensor | None = None) -> nn.Module:
    """A frozen linear layer with these weights (classes, *entries), without a bias where all are 0."""
    biases = None if biases is None or not bool(biases.any()) else biases
    rows = weights.flatten(1)
    linear = nn.Linear(rows.shape[1], len(rows), bias=biases is not None, device="meta")  # draws no weights
    state = {"weight": rows.clone()} | ({} if biases is None else {"bias": biases.clone()})
    linear.load_state_dict(state, assign=True)
    return nn.Sequential(nn.Flatten(), linear).eval().requires_grad_(False)
