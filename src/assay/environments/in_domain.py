"""A model fine-tuned so that inputs with missing features are in its domain (Hesse et al., 2024; F-Fidelity)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import ClassVar, Literal

import torch
from torch import Generator, Tensor, nn

from assay.catalogue.registry import card
from assay.core.errors import SpecError
from assay.core.facts import draws_model
from assay.core.protocols import Environment
from assay.core.question import BASELINES
from assay.core.rng import generator
from assay.core.setting import Reference, Samples, Setting, model_copy
from assay.core.trial import baseline_for
from assay.environments._inside import of_part, prefixed, trained, training_rows
from assay.foreign.imports import load
from assay.kit.grid_cells import feature_cells
from assay.train.augment import shifted
from assay.train.fit import fit
from assay.train.networks import restore

ROWS = 256  # per call when accuracy is measured


@dataclass(frozen=True)
class InDomain:
    """Another environment, with its model fine-tuned on inputs without one cell of a grid, or without some features.

    Samples, truth and question are the other environment's; its model is the sibling. IDSDS is ``single_deletion``
    here; F-Fidelity is ``f_fidelity`` here with ``masks='features'``. The truth describes the model before
    fine-tuning; for the fine-tuned model it is unknown.

    In every step each training row draws a cell; with probability 1/2 the row stays whole, otherwise that cell becomes
    canvas. With ``masks='features'`` every row loses ``share`` of its features instead, drawn anew in every step.
    Cross entropy, SGD with momentum, a learning rate that falls in steps. Defaults are those of a reproduction
    on CIFAR-100; the paper's, for ImageNet: lr 0.001, batch 256, decay 1e-4, step 10. Rows are all training rows of the
    environment (CIFAR: ``train_rows``) or, without any, its reference rows; never samples. The last epoch is used
    (ours: both studies took the best one on the images that they then evaluated). The seed draws order, cells and
    augmentation.

    Images are also shifted and mirrored, as in the reproduction; zeros fill the gap (ours: it pads with black). In
    tables and texts every feature is a cell (ours). Needs a model with logits that gradients can train.
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
    gamma: float = 0.1  # what the learning rate is multiplied by
    shift: int = 4  # pixels by which images are shifted at most, half of them mirrored; 0: neither
    masks: Literal["cell", "features"] = "cell"  # what a row lacks: one cell, or features anywhere (F-Fidelity)
    share: float = 0.1  # of the features that a row lacks, with masks='features'

    def __post_init__(self) -> None:
        if min(self.grid) < 1 or self.grid == (1, 1):
            raise SpecError(f"in_domain: grid={self.grid} has no cells to leave out: write rows and columns.")
        if isinstance(self.canvas, str) and self.canvas not in BASELINES:
            raise SpecError(f"in_domain: no canvas '{self.canvas}'. Known: {', '.join(BASELINES)} or a number.")
        if min(self.epochs, self.batch - 1, self.step - 1, self.shift) < 0:
            raise SpecError("in_domain: epochs and shift are 0 or more, batch and step 1 or more.")
        if not 0 < self.share < 1:
            raise SpecError(f"in_domain: share={self.share} of the features must lie between 0 and 1.")

    @classmethod
    def tiny(cls) -> InDomain:
        small = load(card("environments", "cifar").target).tiny()
        return cls(small, epochs=2, batch=32, shift=1)

    @property
    def draws_model(self) -> bool:
        """True if there is fine-tuning, which the seed draws, or if the seed draws the other environment's model."""
        return self.epochs > 0 or draws_model(self.of)

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        return self.of.sample(indices, seed)

    def train(self, seed: int) -> dict[str, Tensor]:
        weights = trained(self.of, seed)
        setting = self.of.setting(seed, weights)
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
        self._check_accuracy(_accuracy(setting.model, rows), _accuracy(model, rows))
        return {**prefixed("of", weights), **prefixed("model", model.state_dict())}

    def _check_accuracy(self, before: float, after: float) -> None:
        """Raise SpecError if accuracy fell below half."""
        if after < before / 2:
            raise SpecError(
                f"in_domain: fine-tuning ruined the model: its accuracy on training rows fell from {before:.0%} to "
                f"{after:.0%}. Set a smaller lr than {self.lr:g}, or more epochs than {self.epochs}."
            )

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        before = self.of.setting(seed, of_part("of", weights))
        restore(model := model_copy(before.model), of_part("model", weights))
        # forward, recipe and hints about a sibling belong to the model before fine-tuning.
        hints = {name: hint for name, hint in before.hints.items() if not name.startswith("sibling.")}
        return replace(before, model=model, sibling=before.model, forward=None, recipe=None, hints=hints)

    def _view(self, setting: Setting, x: Tensor, random: Generator) -> Tensor:
        """Augment a batch: images shifted and mirrored, half of the rows without a cell."""
        if self.shift and setting.kind == "image":
            x = shifted(self.shift, x, random)
        missing = self._missing_features if self.masks == "features" else self._missing_cell
        return torch.where(
            setting.features.expand(missing(setting, x, random)), baseline_for(setting, self.canvas, x), x
        )

    def _missing_cell(self, setting: Setting, x: Tensor, random: Generator) -> Tensor:
        """One cell of half of the rows: (B, *features)."""
        cells = feature_cells(setting.features, self.grid)
        chosen = torch.randint(int(cells.max()) + 1, (len(x),), generator=random)
        chosen = chosen.where(torch.rand(len(x), generator=random) < 0.5, -1)  # -1: no cell
        return (cells == chosen.view(-1, *[1] * cells.dim())).to(x.device)

    def _missing_features(self, setting: Setting, x: Tensor, random: Generator) -> Tensor:
        """The same number of features of every row, anywhere: (B, *features)."""
        shape = setting.features.shape
        rank = torch.rand(len(x), prod(shape), generator=random).argsort(dim=1).argsort(dim=1)
        return (rank < round(self.share * prod(shape))).view(-1, *shape).to(x.device)


def _accuracy(model: nn.Module, rows: Reference) -> float:
    with torch.no_grad():
        correct = [
            model(x).argmax(dim=-1) == label
            for x, label in zip(rows.x.split(ROWS), rows.label.split(ROWS), strict=True)
        ]
    return float(torch.cat(correct).double().mean())
