"""Information bottleneck attribution, per sample (Schulz et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.core.query import Query
from assay.methods._bottleneck import (
    Bottleneck,
    Descent,
    activations_and_run,
    answers_follow_from,
    bottleneck_layer,
    objective,
    replaced_output,
    statistics,
)
from assay.methods._layer_maps import layer_grid, upsampled


@dataclass(frozen=True)
class Iba:
    """Bits per pixel that a layer must pass on for the prediction, when noise replaces everything else.

    A mask sigmoid(alpha) mixes the layer's output with noise that has the statistics of the reference rows. Adam fits
    it to each sample: it minimises the mean loss of noisy copies + beta * mean information. The map is the sum over
    channels, enlarged to the image with the same total. As in the authors' program it is the map of the last step's
    forward pass, so ``steps`` make one update less. Neurons that are silent in the reference rows are set to 0.

    The loss is the cross entropy of the target (with the question's temperature), or the squared distance of the
    explained number from its value at x. ``auto`` takes the latter if the readout is the value or the model has one
    output, whose cross entropy is meaningless. The attribution is never negative.

    Ours: the enlarged map repeats its border, and the authors' program mirrors it, so that pixels closer than half a
    pixel of the layer to the edge of the image differ. beta is the authors' 10; AttributionLab takes 20.
    """

    layer: str = ""  # a layer's name; empty: the environment's choice, or the last block of more than one pixel
    beta: float = 10.0  # weight of the information against the loss
    steps: int = 10  # forward passes of Adam
    lr: float = 1.0  # learning rate of Adam
    copies: int = 10  # noisy copies of a sample in each step
    alpha: float = 5.0  # start of the mask: sigmoid(5) = 0.993
    sigma: float = 1.0  # of the Gaussian that smooths the mask, in pixels of the layer; 0: none
    min_std: float = 0.01  # smallest standard deviation of the noise
    objective: Literal["auto", "cross_entropy", "squared_error"] = "auto"  # the loss
    rows: int = 10000  # most reference rows for the statistics
    active: float = 0.01  # share of the reference rows above which a neuron counts as not silent

    paper: ClassVar[str] = "Schulz et al., 2020"
    positive_only: ClassVar[bool] = True
    after_fit: ClassVar[tuple[str, ...]] = ("beta", "steps", "lr", "copies", "alpha", "sigma", "objective")

    def __post_init__(self) -> None:
        if self.steps < 1 or self.copies < 1 or self.rows < 2:
            raise SpecError(
                f"iba: steps={self.steps}, copies={self.copies}, rows={self.rows} cannot fit a mask. "
                "Choose at least 1 step, 1 copy and 2 rows."
            )
        if self.beta < 0 or self.lr <= 0 or self.sigma < 0 or self.min_std <= 0:
            raise SpecError(
                f"iba: beta={self.beta}, lr={self.lr}, sigma={self.sigma}, min_std={self.min_std} cannot fit a mask. "
                "Choose beta and sigma of 0 or more, and a positive lr and min_std."
            )

    def fit(self, query: Query) -> dict[str, Tensor]:
        return statistics(query, bottleneck_layer(query, self.layer), self.rows, self.min_std, self.active)

    def __call__(self, query: Query) -> Tensor:
        layer = bottleneck_layer(query, self.layer)
        blocks = query.blocks(copies=self.copies)
        capacity = torch.cat([self.capacity(block, layer) for block in blocks])
        query.remarks.grid = layer_grid(query, capacity)
        return bits(query, capacity).squeeze(1).to(query.x.dtype)

    def capacity(self, query: Query, layer: nn.Module) -> Tensor:
        """The information that each neuron passes on, in nats: (N, C, h, w) in float64."""
        (maps, run), prediction_loss = activations_and_run(query, layer), objective(query, self.objective)
        mean, deviation, active = (query.fitted[name].to(maps) for name in ("mean", "deviation", "active"))
        bottleneck = Bottleneck(maps, mean, deviation, self.sigma, active, prior=maps.new_zeros(()))
        one_row = answers_follow_from(layer, run, query, maps)

        def loss(mixed: Tensor) -> Tensor:
            copies = mixed.shape[1]
            rows = query.x[:1] if one_row else query.x.repeat_interleave(copies, dim=0)
            with replaced_output(layer, run, by=mixed.flatten(0, 1)):
                return prediction_loss(rows, copies)

        descent = Descent(self.beta, self.steps - 1, self.lr, self.copies, self.alpha)
        return bottleneck.capacity(descent(query, bottleneck, loss, "noise")).clamp(min=0)  # rounding errors at 0


def bits(query: Query, capacity: Tensor) -> Tensor:
    """Nats of a layer as bits per pixel with the same sum: (N, 1, height, width)."""
    total = capacity.sum(dim=1, keepdim=True) / log(2)
    return upsampled(query, total) * (total[0].numel() / query.x[0, 0].numel())
