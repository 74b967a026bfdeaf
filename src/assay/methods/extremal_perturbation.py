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
from assay.kit.blur import mix_levels, pyramid
from assay.kit.smooth_masks import SmoothMask, largest_pixels

SIDE = 224  # pixels, for which the published sizes are meant
STEP, SIGMA, BLUR = 7, 21.0, 20.0
NEAR = 1e-2  # share of a value: smaller distances are squared, so that the sign of rounding errors has no effect
Perturbed = Callable[[Tensor], Tensor]  # masks (N, H, W) -> images: unchanged where the mask is 1, perturbed at 0


@dataclass(frozen=True)
class ExtremalPerturbation:
    """The smooth mask of a given area that keeps the explained number largest when the rest is perturbed.

    The mask is made from a coarse grid of numbers in [0, 1], all 1 at first (kit/smooth_masks.py). Gradient ascent
    maximises reward - weight * mean (sorted mask - step)^2; the step is 1 for the largest ``area`` of the mask, edges
    beyond the image included, and 0 for the rest. The first velocity is the gradient, later ones are momentum *
    velocity + (1 - momentum) * gradient. The attribution is the mask of the last iteration, before its update.

    Ours: sizes in proportion to the image's shorter side; the mean over areas; edges beyond the image as wide as sigma,
    rounded up to whole steps of the grid (TorchRay rounds to pixels: the same if sigma is a multiple of the step, as by
    default at 224); pixels that agree to 1e-4 count as equal in the order, the last as the largest (TorchRay leaves
    ties to the sort). The value readout need not be large: its reward is minus the distance from the whole image's
    value. Distances below 1 % of the value are replaced by half their square over that 1 %.

    On a model with kinks the ascent is chaotic: rounding errors, and so the processor, can decide where the mask ends.
    ``jitter=1e-6``, and other values of its size, show how far they do.
    """

    areas: tuple[float, ...] = (0.1,)  # shares of the mask that should be 1; one mask each
    variant: Literal["preserve", "delete", "dual"] = "preserve"  # what the mask does with its area: keep, perturb, both
    perturbation: Literal["blur", "fade"] = "blur"  # of the rest: blurred, or the question's baseline
    reward: Literal["auto", "score", "closeness"] = "auto"  # auto: closeness for the value readout, else the score
    iterations: int = 800  # gradient steps
    levels: int = 8  # number of blurred images
    blur: float | None = None  # largest sigma, in pixels; None: 20 for a side of 224
    step: int | None = None  # pixels between the grid's numbers; None: 7 for a side of 224
    sigma: float | None = None  # smoothness of the mask, in pixels; None: 21 for a side of 224
    rate: float = 0.01  # learning rate
    momentum: float = 0.9  # of the velocity; also its dampening
    weight: float = 300.0  # of the area's error
    growth: float = 1.0035  # factor of that weight per iteration
    jitter: float = 0.0  # the first numbers are lowered by up to this much, at random
    flip: bool = True  # mirror the image, left to right, in every other iteration, the first one included

    paper: ClassVar[str] = "Fong, Patrick and Vedaldi, 2019"
    positive_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        sizes = [size for size in (self.blur, self.step, self.sigma) if size is not None]
        if not all(size > 0 for size in sizes) or self.levels < 2:
            raise SpecError(
                f"extremal_perturbation: blur={self.blur}, step={self.step}, sigma={self.sigma}, levels={self.levels} "
                "cannot make masks. Choose sizes above 0 and at least 2 levels."
            )
        if not self.areas or not all(0 < area < 1 for area in self.areas) or self.iterations < 1:
            raise SpecError(
                f"extremal_perturbation: areas={self.areas} in iterations={self.iterations} cannot be optimised. "
                "Choose areas between 0 and 1, and at least 1 iteration."
            )
        if not 0 <= self.jitter <= 1:
            raise SpecError(f"extremal_perturbation: jitter={self.jitter} leaves [0, 1]. Choose 1e-6, for example.")

    def __call__(self, query: Query) -> Tensor:
        if query.setting.kind != "image":
            raise NotApplicable(f"needs images, and this is {query.setting.kind} data")
        query.require_gradients()
        return torch.cat([self._masks(block) for block in query.blocks(self._copies(query))])

    def _masks(self, query: Query) -> Tensor:
        perturbed = self._perturbed(query)
        return torch.stack([self._mask(query, perturbed, area) for area in self.areas]).mean(dim=0)

    def _mask(self, query: Query, perturbed: Perturbed, area: float) -> Tensor:
        smooth, reward = self._smooth_mask(query), self._reward_function(query, perturbed)
        numbers = self._start(query, smooth.grid)
        velocity, weight = torch.zeros_like(numbers), self.weight
        for iteration in range(self.iterations):
            with torch.enable_grad():
                canvas = smooth.canvas(numbers.requires_grad_())
                mask = smooth.image(canvas)
                scores = self._scores(query, perturbed, mask, self.flip and iteration % 2 == 0)
                error = (canvas - largest_pixels(canvas.detach(), area).to(canvas)) ** 2
                energy = self._balance(reward(scores)) - weight * error.mean(dim=(1, 2))
                (gradient,) = torch.autograd.grad(energy.sum(), numbers)
            velocity = self.momentum * velocity + (1 - self.momentum if iteration else 1) * gradient
            numbers = (numbers.detach() + self.rate * velocity).clamp(0, 1)
            weight *= self.growth
        return mask.detach()

    def _start(self, query: Query, grid: tuple[int, int]) -> Tensor:
        ones = query.x.new_ones(len(query.x), *grid)
        return ones - self.jitter * query.draws("start").uniform(*grid).to(ones) if self.jitter else ones

    def _scores(self, query: Query, perturbed: Perturbed, mask: Tensor, flip: bool) -> Tensor:
        """Scores of the images under the masks: (1 or 2, B)."""
        masks = {"preserve": [mask], "delete": [1 - mask], "dual": [mask, 1 - mask]}[self.variant]
        images = torch.cat([perturbed(m) for m in masks])
        scores = query.module(images.flip(3) if flip else images).unflatten(0, (len(masks), -1))
        target_scores: Tensor = scores.gather(2, query.target.expand(scores.shape[:2]).unsqueeze(2)).squeeze(2)
        return target_scores

    def _balance(self, rewards: Tensor) -> Tensor:
        """(1 or 2, B) -> (B,): reward of the image with the area kept, minus that with the area perturbed."""
        return {"preserve": rewards[0], "delete": -rewards[0], "dual": rewards[0] - rewards[-1]}[self.variant]

    def _reward_function(self, query: Query, perturbed: Perturbed) -> Callable[[Tensor], Tensor]:
        """The reward of scores: the scores themselves, or minus their distance from the whole image's."""
        if self.reward == "score" or (self.reward == "auto" and query.question.readout != "value"):
            return lambda scores: scores
        empty = perturbed(torch.zeros_like(query.x[:, 0]))
        whole_score, empty_score = query.score(torch.stack([query.x, empty]))
        near = (NEAR * torch.maximum(whole_score.abs(), empty_score.abs())).clamp(
            min=torch.finfo(whole_score.dtype).tiny
        )

        def closeness(scores: Tensor) -> Tensor:
            distance = (scores - whole_score).abs()
            short = torch.minimum(distance, near)
            loss: Tensor = (short / near) * (distance - short / 2)
            return -loss

        return closeness

    def _perturbed(self, query: Query) -> Perturbed:
        if self.perturbation == "fade":
            return lambda mask: query.baseline + mask.unsqueeze(1) * (query.x - query.baseline)
        levels = pyramid(query.x, self.levels, self.blur or BLUR * _scale(query))
        return lambda mask: mix_levels(levels, mask)

    def _smooth_mask(self, query: Query) -> SmoothMask:
        step = self.step or max(1, round(STEP * _scale(query)))
        height, width = query.setting.features.shape
        return SmoothMask(height, width, step, self.sigma or SIGMA * _scale(query))

    def _copies(self, query: Query) -> int:
        """The memory of a sample, in rows of a model call that keeps gradients."""
        numbers = (self.levels + 8) * query.x[0].numel() + self._smooth_mask(query).numbers
        rows = 2 if self.variant == "dual" else 1
        return rows + ceil(numbers * query.x.element_size() / query.footprint.gradient)


def _scale(query: Query) -> float:
    return min(query.setting.features.shape) / SIDE
