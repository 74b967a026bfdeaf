"""A model to which inputs without one cell are nothing new (Hesse et al., 2024)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn

from assay.core.drawn import draws_model
from assay.core.errors import SpecError
from assay.core.foreign import load
from assay.core.protocols import Environment
from assay.core.question import BASELINES
from assay.core.registry import card
from assay.core.rng import generator
from assay.core.setting import Reference, Samples, Setting, model_copy
from assay.core.trial import baseline_for
from assay.environments._inside import named, of_part, trained, training_rows
from assay.kit.cells import feature_cells
from assay.train.augment import shifted
from assay.train.fit import fit
from assay.train.networks import restore

ROWS = 256  # per call when accuracy is counted


@dataclass(frozen=True)
class InDomain:
    """Another environment, whose model is fine-tuned on inputs of which half lack one cell of a grid.

    Samples, truth and question are those of the other environment; its own model is the sibling. IDSDS is
    ``single_deletion`` here. Truth is about the model before: nobody knows what fine-tuning made of it.

    In every step each training row draws a cell; with probability 1/2 the row stays whole, else that cell becomes
    canvas. Cross entropy, SGD with momentum, a learning rate that falls in steps. Defaults are those of a reproduction
    on CIFAR-100; the paper's, for ImageNet: lr 0.001, batch 256, decay 1e-4, step 10. Rows are all that the environment
    trains on (CIFAR: ``train_rows``), else its reference rows; never samples. The last epoch counts (ours: both studies
    took the best one on the images that they then evaluated). The seed draws order, cells and views.

    Images are also moved and mirrored, as in the reproduction; zeros come in (ours: it pads with black). In tables and
    texts every feature is a cell (ours). Needs a model with logits that gradients can train.
    """

    paper: ClassVar[str] = "Benchmarking the Attribution Quality of Vision Models (Hesse et al., 2024)"
    modality: ClassVar[str] = "image"
    wraps: ClassVar[bool] = True

    of: Environment  # the environment
    grid: tuple[int, int] = (4, 4)  # rows and columns of cells, as in the metric
    canvas: str | float = "zero"  # what replaces a cell, as in the metric: zero, true, mean, uniform or a number
    epochs: int = 30  # of fine-tuning
    batch: int = 128  # rows per step
    lr: float = 0.005  # of SGD
    momentum: float = 0.9  # of SGD
    decay: float = 5e-4  # of the weights
    step: int = 15  # epochs after which the learning rate falls
    gamma: float = 0.1  # what it is multiplied by
    shift: int = 4  # pixels by which images are moved, half of them mirrored; 0: neither

    def __post_init__(self) -> None:
        if min(self.grid) < 1 or self.grid == (1, 1):
            raise SpecError(f"in_domain: grid={self.grid} has no cells to leave out: write rows and columns.")
        if isinstance(self.canvas, str) and self.canvas not in BASELINES:
            raise SpecError(f"in_domain: no canvas '{self.canvas}'. Known: {', '.join(BASELINES)} or a number.")
        if min(self.epochs, self.batch - 1, self.step - 1, self.shift) < 0:
            raise SpecError("in_domain: epochs and shift are 0 or more, batch and step 1 or more.")

    @classmethod
    def tiny(cls) -> InDomain:
        small = load(card("environments", "cifar").target).tiny()
        return cls(small, epochs=2, batch=32, shift=1)

    @property
    def draws_model(self) -> bool:
        """The seed draws the fine-tuning."""
        return self.epochs > 0 or draws_model(self.of)

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        return self.of.sample(indices, seed)

    def train(self, seed: int) -> dict[str, Tensor]:
        before = trained(self.of, seed)
        setting = self.of.setting(seed, before)
        if (
            setting.outputs != "logits"
            or not setting.differentiable
            or not any(True for _ in setting.model.parameters())
        ):
            raise SpecError("in_domain: fine-tuning needs a classifier that answers with logits and can be trained.")
        rows = training_rows(self.of, setting, seed)
        fit(
            model := model_copy(setting.model),
            rows.x,
            rows.label,
            self.epochs,
            self.batch,
            self.lr,
            generator("in_domain", seed),
            optimiser=partial(torch.optim.SGD, momentum=self.momentum, weight_decay=self.decay),
            schedule=lambda epoch: self.gamma ** (epoch // self.step),
            augment=partial(self._view, setting),
        )
        self._compare(_accuracy(setting.model, rows), _accuracy(model, rows))
        return {**named("of", before), **named("model", model.state_dict())}

    def _compare(self, before: float, after: float) -> None:
        """Fine-tuning that ruins a model is no fine-tuning."""
        if after < before / 2:
            raise SpecError(
                f"in_domain: fine-tuning ruined the model, which was right on {before:.0%} of its training rows and is "
                f"on {after:.0%}: ask for a smaller lr than {self.lr:g}, or for more epochs than {self.epochs}."
            )

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        before = self.of.setting(seed, of_part("of", weights))
        restore(model := model_copy(before.model), of_part("model", weights))
        # What computes the same as the model before, or trains it again, is not about this one.
        hints = {name: hint for name, hint in before.hints.items() if not name.startswith("sibling.")}
        return replace(before, model=model, sibling=before.model, forward=None, recipe=None, hints=hints)

    def _view(self, setting: Setting, x: Tensor, random: Generator) -> Tensor:
        """A batch as the model sees it this time: moved, and half of the rows without a cell."""
        if self.shift and setting.kind == "image":
            x = shifted(self.shift, x, random)
        cells = feature_cells(setting.features, self.grid)
        chosen = torch.randint(int(cells.max()) + 1, (len(x),), generator=random)
        chosen = chosen.where(torch.rand(len(x), generator=random) < 0.5, -1)  # -1: no cell
        missing = setting.features.expand(cells == chosen.view(-1, *[1] * cells.dim()))
        return torch.where(missing, baseline_for(setting, self.canvas, x), x)


def _accuracy(model: nn.Module, rows: Reference) -> float:
    with torch.no_grad():
        right = [
            model(x).argmax(dim=-1) == label
            for x, label in zip(rows.x.split(ROWS), rows.label.split(ROWS), strict=True)
        ]
    return float(torch.cat(right).double().mean())
