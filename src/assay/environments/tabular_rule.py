"""Tables labelled by a known rule, and a network or a forest trained on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import one_hot

from assay.core.errors import SpecError
from assay.core.features import Columns
from assay.core.question import Question
from assay.core.rng import Draws, generator, seed_of
from assay.core.setting import Recipe, Reference, Samples, Setting, Truth
from assay.train.estimator import Estimator
from assay.train.fit import fit
from assay.train.forest import from_tensors, grow, to_tensors
from assay.train.networks import Standardise, initialise, mlp, restore, standardised
from assay.train.stacked import fit_stacked


def linear(x: Tensor, weights: Tensor) -> Tensor:
    """``s_c(x) = sum_j W[c, j] x_j`` over the informative features, which come first."""
    return x[..., : weights.shape[1]] @ weights.T


# A rule maps x (B, d) and weights (classes, informative) to scores (B, classes). They live in this file because its
# source is the environment's revision: a changed rule must not meet models that were trained on the old one.
RULES: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {"linear": linear}


@dataclass(frozen=True)
class TabularRule:
    """Gaussian columns, of which a few decide the label by a known rule (Katakam, 2026; our reconstruction).

    ``x ~ N(0, I)``; the label is the class with the largest ``s_c(x) + noise * N(0, 1)``. The effect of feature j is
    ``x_j * d s_y / d x_j`` for the (noisy) label y: what the rule does, whatever the model made of
    it. Probabilities are judged by it, too: the rule has none of its own.

    ``rule_seed`` draws the rule. The training seed draws training rows, initial weights and batches, the data seed the
    evaluated rows; they are different streams even for equal seeds. All rows depend on ``rule_seed`` too, so that rules
    are independent replications, but not on ``model`` and ``noise``: these are compared on the same rows.

    ``x`` is in raw units: a network begins with a fixed module that standardises by the training rows. A forest answers
    with probabilities, so it is asked for these; it has no gradients.
    """

    paper: ClassVar[str] = "arXiv:2605.15700"
    modality: ClassVar[str] = "table"
    draws_model: ClassVar[bool] = True  # each seed trains its own

    task: Literal["linear"] = "linear"  # the rule
    model: Literal["mlp", "forest"] = "mlp"  # a ReLU network, or scikit-learn's random forest
    d: int = 20  # columns
    informative: int = 5  # columns that the rule reads, the first ones
    classes: int = 3  # labels
    noise: float = 0.3  # standard deviation of what is added to every score before the label is taken
    rule_seed: int = 0  # draws the rule's weights
    train_rows: int = 4000  # rows the model is trained on
    hidden: tuple[int, ...] = (256, 256, 128, 64)  # widths of the network's hidden layers
    epochs: int = 200  # of the network
    batch: int = 256  # rows per step of the network's training
    lr: float = 1e-3  # of Adam, for the network
    trees: int = 50  # of the forest

    def __post_init__(self) -> None:
        if not 1 <= self.informative <= self.d:
            raise SpecError(f"tabular_rule: informative={self.informative} must be between 1 and d={self.d}.")
        if self.classes < 2:
            raise SpecError(f"tabular_rule: classes={self.classes} must be at least 2.")

    @classmethod
    def tiny(cls) -> TabularRule:
        return cls(d=8, informative=3, train_rows=256, hidden=(16, 8), epochs=10, batch=32, lr=1e-2, trees=5)

    def program(self, x: Tensor, seed: int) -> Tensor:
        """The scores without noise; the rule is the same for every seed."""
        return RULES[self.task](x, self._weights().to(x))

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        draws = Draws([("tabular_rule", self.rule_seed, "evaluated", seed, index) for index in indices])
        x = draws.normal(self.d)
        label = self._label(x, draws.normal(self.classes))
        rival = (self.program(x, 0) - 1e9 * one_hot(label, self.classes)).argmax(dim=1)
        effect = self._effect(x, label)
        return Samples(x, label, Truth(effect, {"margin": effect - self._effect(x, rival)}), tuple(indices))

    def train(self, seed: int) -> dict[str, Tensor]:
        rows = self._training_rows(seed)
        return _kept(self._trained(rows.x, rows.label, seed))

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        return Setting(
            model=self._restored(weights),
            features=Columns.plain(self.d, tuple(f"x{j}" for j in range(self.d))),
            kind="table",
            question=self._question(),
            classes=tuple(f"class {c}" for c in range(self.classes)),
            informative=tuple(range(self.informative)),
            background=torch.zeros(self.d),
            reference=self._training_rows(seed),
            recipe=Recipe(self._trained, _kept, self._restored, self._together if self.model == "mlp" else None),
            outputs="logits" if self.model == "mlp" else "probabilities",
            differentiable=self.model == "mlp",
        )

    def _question(self) -> Question:
        readout = "logit" if self.model == "mlp" else "probability"
        return Question(readout=readout, temperature=1.0, baseline="mean", target="predicted")

    def _weights(self) -> Tensor:
        """(classes, informative): a random sign times U(0.5, 2)."""
        random = generator("tabular_rule", self.rule_seed, "weights")
        sign, size = torch.rand(2, self.classes, self.informative, generator=random).unbind()
        return (0.5 + 1.5 * size).where(sign < 0.5, -0.5 - 1.5 * size)

    def _label(self, x: Tensor, normal: Tensor) -> Tensor:
        return (self.program(x, 0) + self.noise * normal).argmax(dim=1)

    def _effect(self, x: Tensor, label: Tensor) -> Tensor:
        point = x.detach().requires_grad_()
        with torch.enable_grad():
            scores = self.program(point, 0).gather(1, label[:, None])
            (slope,) = torch.autograd.grad(scores.sum(), point)
        return x * slope

    def _training_rows(self, seed: int) -> Reference:
        random = generator("tabular_rule", self.rule_seed, "training", seed)
        x = torch.randn(self.train_rows, self.d, generator=random)
        return Reference(x, self._label(x, torch.randn(self.train_rows, self.classes, generator=random)))

    def _trained(self, x: Tensor, label: Tensor, seed: int) -> nn.Module:
        if self.model == "forest":
            return Estimator(grow(x, label, self.trees, seed_of("tabular_rule", "forest", seed)), self.classes)
        network, random = self._begun(x, seed)
        fit(network, x, label, self.epochs, self.batch, self.lr, random)
        return network

    def _together(self, x: Tensor, label: Tensor, seeds: Sequence[int]) -> list[nn.Module]:
        networks, randoms = zip(*(self._begun(rows, seed) for rows, seed in zip(x, seeds, strict=True)), strict=True)
        standard = torch.stack([network[0](rows) for network, rows in zip(networks, x, strict=True)])
        fit_stacked([network[1] for network in networks], standard, label, self.epochs, self.batch, self.lr, randoms)
        return [network.eval() for network in networks]

    def _begun(self, x: Tensor, seed: int) -> tuple[nn.Sequential, Generator]:
        """A network for these rows before its training, and the random numbers that order them."""
        random = generator("tabular_rule", "mlp", seed)
        network = standardised(Standardise.of(x), mlp(self.d, self.hidden, self.classes))
        initialise(network, random)
        return network.to(x), random

    def _restored(self, weights: Mapping[str, Tensor]) -> nn.Module:
        if self.model == "forest":
            return Estimator(from_tensors(weights), self.classes)
        blank = Standardise(torch.zeros(self.d), torch.ones(self.d))
        network = standardised(blank, mlp(self.d, self.hidden, self.classes))
        restore(network, weights)
        return network


def _kept(model: nn.Module) -> dict[str, Tensor]:
    return to_tensors(model.estimator) if isinstance(model, Estimator) else dict(model.state_dict())
