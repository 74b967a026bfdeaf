"""Gradient SHAP (Lundberg and Lee, 2017), also known as expected gradients (Erion et al., 2021)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.query import Query
from assay.methods._background import background, change


@dataclass(frozen=True)
class GradientShap:
    """The mean of (x - b) * gradient at a random point of the line from b to x, over baselines b drawn at random.

    A Monte Carlo estimate of Integrated Gradients, averaged over baselines. Completeness (the sum is the score at x
    minus its mean over baselines) holds on average, up to an error that falls with the square root of ``samples``. With
    a background, every draw takes one of that many reference rows as b; without, b is the question's baseline. With
    noise, a noisy copy of x replaces x in the difference and in the line, as in Captum and shap. Noise is normal, in
    units of the input.
    """

    samples: int = 32  # gradients per sample
    noise: float = 0.0  # standard deviation of the noise on x, in units of the input
    background: int = 0  # how many reference rows to draw baselines from; 0: the question's baseline alone

    paper: ClassVar[str] = "Erion et al., 2021"
    remedy: ClassVar[str] = "raise samples"

    def __post_init__(self) -> None:
        if self.samples < 1 or self.noise < 0 or self.background < 0:
            raise SpecError(
                f"gradient_shap: samples={self.samples}, noise={self.noise}, background={self.background} cannot make "
                "points. Choose samples of 1 or more, noise and background of 0 or more."
            )

    @property
    def fit(self) -> Callable[[Query], dict[str, Tensor]]:
        """Draws the background; absent without a background, so that no reference data is needed."""
        if not self.background:
            raise AttributeError("gradient_shap without a background fits nothing")
        return partial(background, count=self.background)

    @property
    def promised(self) -> Callable[[Query], Tensor]:
        """Holds on average; absent with noise, because noisy copies are other inputs."""
        if self.noise:
            raise AttributeError("gradient_shap with noise promises nothing")
        return change

    def __call__(self, query: Query) -> Tensor:
        alphas = query.draws("alpha").uniform(self.samples).to(query.x).T  # (samples, B)
        picks = query.draws("baseline").uniform(self.samples).T
        noise = query.draws("noise")
        total = torch.zeros_like(query.x)
        for part in query.parts(self.samples, gradients=True):
            baseline = self._baselines(query, picks[part])
            x = query.x.expand(len(picks[part]), *query.x.shape)
            if self.noise:
                drawn_noise = [noise.normal(*query.x.shape[1:]) for _ in x]  # one by one: the same for any parts
                x = x + self.noise * torch.stack(drawn_noise).to(query.x)
            alpha = alphas[part].view(len(x), -1, *[1] * (query.x.dim() - 1))
            total += ((x - baseline) * query.gradient(baseline + alpha * (x - baseline))).sum(dim=0)
        return total / self.samples

    def _baselines(self, query: Query, picks: Tensor) -> Tensor:
        """(K, B, *entries), or (B, *entries) if all draws share the baseline."""
        if not self.background:
            return query.baseline
        rows = query.fitted["background"]
        return rows[(picks * len(rows)).long().to(rows.device)]
