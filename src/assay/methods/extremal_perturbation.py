"""Extremal perturbations (Fong, Patrick and Vedaldi, 2019)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query
from assay.kit.pyramid import mixed, pyramid
from assay.kit.smoothmask import SmoothMask, largest

SIDE = 224  # pixels, for which the published sizes are meant
STEP, SIGMA, BLUR = 7, 21.0, 20.0
NEAR = 1e-2  # of a value: distances below are squared ones, or the sign of rounding errors would steer
Perturbed = Callable[[Tensor], Tensor]  # masks (N, H, W) -> images: as they are where the mask is 1, perturbed at 0


@dataclass(frozen=True)
class ExtremalPerturbation:
    """The smooth mask of a given area that keeps the explained number largest when the rest is perturbed.

    The mask is made from a coarse grid of numbers in [0, 1], all 1 at first (kit/smoothmask.py). Gradient ascent on
    reward - weight * mean (sorted mask - step)^2; the step is 1 for the largest ``area`` of the mask, edges beyond the
    image included, and 0 for the rest. The first velocity is the gradient, later ones momentum * velocity +
    (1 - momentum) * gradient. The attribution is the mask of the last iteration, before its step.

    Ours: sizes in proportion to the image's shorter side; the mean over areas; edges beyond the image as wide as sigma,
    rounded up to whole steps of the grid (TorchRay rounds to pixels: the same where sigma is a multiple of the step, as
    by default at 224); pixels that agree to 1e-4 count as equal in the order, the last as the largest (TorchRay leaves
    ties to the sort). Where the model answers with a value, which need not be large, the
    reward is minus its distance from the whole image's (half its square over 1 % of the value, where it is less).
    """

    areas: tuple[float, ...] = (0.1,)  # shares of the mask that are to be 1; one mask each
    variant: Literal["preserve", "delete", "dual"] = "preserve"  # what the mask does with its area: keep, perturb, both
    perturbation: Literal["blur", "fade"] = "blur"  # of the rest: blurred, or the question's baseline
    reward: Literal["auto", "score", "closeness"] = "auto"  # auto: closeness for the value readout, else the score
    iterations: int = 800  # gradient steps
    levels: int = 8  # of blur
    blur: float | None = None  # largest sigma, in pixels; None: 20 for a side of 224
    step: int | None = None  # pixels between the grid's numbers; None: 7 for a side of 224
    sigma: float | None = None  # smoothness of the mask, in pixels; None: 21 for a side of 224
    rate: float = 0.01  # of learning
    momentum: float = 0.9  # and dampening
    weight: float = 300.0  # of the area
    growth: float = 1.0035  # of that weight, per iteration
    flip: bool = True  # mirror the image, left to right, in every other iteration, the first one included

    paper: ClassVar[str] = "Fong, Patrick and Vedaldi, 2019"
    positive_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        sizes = [size for size in (self.blur, self.step, self.sigma) if size is not None]
        if not all(size > 0 for size in sizes) or self.levels < 2:
            raise SpecError(
                f"extremal_perturbation: blur={self.blur}, step={self.step}, sigma={self.sigma}, levels={self.levels} "
                "make no masks. Choose sizes above 0 and at least 2 levels."
            )
        if not self.areas or not all(0 < area < 1 for area in self.areas) or self.iterations < 1:
            raise SpecError(
                f"extremal_perturbation: areas={self.areas} in iterations={self.iterations} cannot be looked for. "
                "Choose areas between 0 and 1, and at least 1 iteration."
            )

    def __call__(self, query: Query) -> Tensor:
        if query.setting.kind != "image":
            raise NotApplicable(f"needs images, and this is {query.setting.kind} data")
        query.require_gradients()
        return torch.cat([self._masks(block) for block in query.blocks(self._copies(query))])

    def _masks(self, query: Query) -> Tensor:
        perturbed = self._perturbation(query)
        return torch.stack([self._mask(query, perturbed, area) for area in self.areas]).mean(dim=0)

    def _mask(self, query: Query, perturbed: Perturbed, area: float) -> Tensor:
        smooth, worth = self._smooth(query), self._worth(query, perturbed)
        numbers = query.x.new_ones(len(query.x), *smooth.grid)
        velocity, weight = torch.zeros_like(numbers), self.weight
        for iteration in range(self.iterations):
            with torch.enable_grad():
                canvas = smooth.canvas(numbers.requires_grad_())
                mask = smooth.image(canvas)
                scores = self._scores(query, perturbed, mask, self.flip and iteration % 2 == 0)
                error = (canvas - largest(canvas.detach(), area).to(canvas)) ** 2
                energy = self._balance(worth(scores)) - weight * error.mean(dim=(1, 2))
                (gradient,) = torch.autograd.grad(energy.sum(), numbers)
            velocity = self.momentum * velocity + (1 - self.momentum if iteration else 1) * gradient
            numbers = (numbers.detach() + self.rate * velocity).clamp(0, 1)
            weight *= self.growth
        return mask.detach()

    def _scores(self, query: Query, perturbed: Perturbed, mask: Tensor, flip: bool) -> Tensor:
        """Of the images that the masks make, (1 or 2, B)."""
        masks = {"preserve": [mask], "delete": [1 - mask], "dual": [mask, 1 - mask]}[self.variant]
        images = torch.cat([perturbed(one) for one in masks])
        scores = query.module(images.flip(3) if flip else images).unflatten(0, (len(masks), -1))
        asked: Tensor = scores.gather(2, query.target.expand(scores.shape[:2]).unsqueeze(2)).squeeze(2)
        return asked

    def _balance(self, worth: Tensor) -> Tensor:
        """(1 or 2, B) -> (B,): worth of what is kept, minus that of what is left."""
        return {"preserve": worth[0], "delete": -worth[0], "dual": worth[0] - worth[-1]}[self.variant]

    def _worth(self, query: Query, perturbed: Perturbed) -> Callable[[Tensor], Tensor]:
        """What scores are worth: themselves, or minus their distance from the whole image's."""
        if self.reward == "score" or (self.reward == "auto" and query.question.readout != "value"):
            return lambda scores: scores
        nothing = perturbed(torch.zeros_like(query.x[:, 0]))
        whole, none = query.score(torch.stack([query.x, nothing]))
        near = (NEAR * torch.maximum(whole.abs(), none.abs())).clamp(min=torch.finfo(whole.dtype).tiny)

        def closeness(scores: Tensor) -> Tensor:
            distance = (scores - whole).abs()
            short = torch.minimum(distance, near)
            loss: Tensor = (short / near) * (distance - short / 2)
            return -loss

        return closeness

    def _perturbation(self, query: Query) -> Perturbed:
        if self.perturbation == "fade":
            return lambda mask: query.baseline + mask.unsqueeze(1) * (query.x - query.baseline)
        levels = pyramid(query.x, self.levels, self.blur or BLUR * _scale(query))
        return lambda mask: mixed(levels, mask)

    def _smooth(self, query: Query) -> SmoothMask:
        step = self.step or max(1, round(STEP * _scale(query)))
        height, width = query.setting.features.shape
        return SmoothMask(height, width, step, self.sigma or SIGMA * _scale(query))

    def _copies(self, query: Query) -> int:
        """How much memory a sample needs here, as so many rows of a model call that keeps gradients."""
        own = (self.levels + 8) * query.x[0].numel() + self._smooth(query).numbers
        rows = 2 if self.variant == "dual" else 1
        return rows + ceil(own * query.x.element_size() / query.footprint.gradient)


def _scale(query: Query) -> float:
    return min(query.setting.features.shape) / SIDE
