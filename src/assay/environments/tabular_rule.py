"""Tables labelled by a known rule, and a model trained on them: a network, trees or a small transformer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import one_hot

from assay.core.errors import SpecError
from assay.core.features import Columns
from assay.core.question import Question
from assay.core.rng import Draws, generator, seed_of
from assay.core.setting import Recipe, Reference, Samples, Setting, Truth
from assay.environments._gaussian_shapley import MOST_FEATURES, conditional_maps, interventional_maps
from assay.environments._rules import Rule, linear_weights
from assay.train import boosted, forest
from assay.train.estimator import Estimator
from assay.train.feature_tokens import HEADS, FeatureTokens, initialise_feature_tokens
from assay.train.fit import fit
from assay.train.networks import Standardise, initialise, mlp, restore, standardised
from assay.train.stacked import fit_stacked

TREES = {"forest": forest, "boosted": boosted}  # models without gradients


@dataclass(frozen=True)
class TabularRule:
    """Gaussian columns, a few of which decide the label by a known rule (Katakam, 2026; our reconstruction).

    ``x ~ N(0, 1)`` in every column; the label is the class with the largest ``s_c(x) + noise * N(0, 1)``. Scores are
    linear with random weights (a random sign times U(0.5, 2)), sparse (sums of curves of single features, several
    forms) or products of pairs of features: ``environments/_rules.py``. The paper's formulas, scales and noise are
    lost, so these are reconstructed.

    The effect of feature j is ``x_j * d s_y / d x_j`` for the (noisy) label y: that of the rule, not of the trained
    model. It is also the truth for probabilities, as the rule has none. At the kink of an absolute value, ``x_j = 0``,
    it is 0. A nonlinear rule reads two or three features for each class; for the other classes these have effect 0.

    With ``correlation``, what a column does is no longer what it says. For the linear task ``truth`` can be the Shapley
    values of the label's score: interventional (here equal to the effect, because columns have mean 0) or conditional,
    where a column that the rule does not read has a value because it tells about others (``_gaussian_shapley.py``).

    The linear rule is drawn by the seed, unless ``rule_seed`` fixes it. The seed also draws training rows, initial
    weights and batches, and the evaluated rows; these are different streams. All rows depend on the seed of the rule
    too, so that rules are independent replications, but not on model, task, noise and scale: these are compared on the
    same rows. A study with a ``data_seed`` needs a rule that the seed does not draw.

    ``x`` is in raw units: a network begins with a fixed module that standardises by the training rows. The attention
    model has the columns as tokens (``train/feature_tokens.py``). A forest answers with probabilities, so questions are
    about these; boosted trees answer with scores, as networks do. Neither has gradients (see ``by_differences``).
    """

    paper: ClassVar[str] = "arXiv:2605.15700"
    modality: ClassVar[str] = "table"
    draws_model: ClassVar[bool] = True  # each seed trains a model

    task: Literal["linear", "sparse", "interaction"] = "linear"  # the rule
    form: Literal["A", "B", "B_unscaled", "C", "F", "H", "I", "three_copies"] = "B"  # of the sparse rule
    model: Literal["mlp", "attention", "forest", "boosted"] = "mlp"  # networks: ReLU, transformer; scikit-learn's trees
    d: int = 20  # columns
    informative: int | None = None  # columns that the rule reads, the first ones; None: 5 (linear), or as the rule says
    classes: int = 3  # labels
    noise: float = 0.3  # standard deviation of the noise added to every score before the label is taken
    scale: float = 1.0  # factor of all scores
    correlation: float = 0.0  # of any two columns
    truth: Literal["effect", "interventional", "conditional"] = "effect"  # as the paper has it, or Shapley values
    rule_seed: int | None = None  # draws the weights of the linear rule; None: the study's seed
    train_rows: int = 4000  # rows the model is trained on
    hidden: tuple[int, ...] = (256, 256, 128, 64)  # widths of the ReLU network's hidden layers
    width: int = 32  # of the attention model's tokens
    epochs: int = 200  # of a network
    batch: int = 256  # rows per step of a network's training
    lr: float = 1e-3  # of Adam, for a network
    trees: int = 50  # of the forest; boosted: for every class

    def __post_init__(self) -> None:
        if problem := next(self._problems(), None):
            raise SpecError(f"tabular_rule: {problem}.")

    @classmethod
    def tiny(cls) -> TabularRule:
        return cls(d=8, informative=3, train_rows=256, hidden=(16, 8), width=8, epochs=10, batch=32, lr=1e-2, trees=5)

    @property
    def draws_rule(self) -> bool:
        """True if the seed draws the rule, which labels training rows and samples alike."""
        return self.task == "linear" and self.rule_seed is None

    def program(self, x: Tensor, seed: int) -> Tensor:
        """The scores without noise."""
        return self.scale * self._rule.scores(x, self._weights(seed))

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        draws = Draws([("tabular_rule", self._rule_seed(seed), "evaluated", seed, index) for index in indices])
        x, label = self._rows(draws.normal, seed)
        rival = (self.program(x, seed) - 1e9 * one_hot(label, self.classes)).argmax(dim=1)
        effect, rival_effect = (self._effect(x, side, seed) for side in (label, rival))
        truth = Truth(effect.float(), {"margin": (effect - rival_effect).float()})
        return Samples(x, label, truth, tuple(indices))

    def train(self, seed: int) -> dict[str, Tensor]:
        rows = self._training_rows(seed)
        return self._weights_of(self._trained(rows.x, rows.label, seed))

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        return Setting(
            model=self._restored(weights),
            features=Columns.plain(self.d, tuple(f"x{j}" for j in range(self.d))),
            kind="table",
            question=self._question(),
            classes=tuple(f"class {c}" for c in range(self.classes)),
            informative=self._informative,
            background=torch.zeros(self.d),
            reference=self._training_rows(seed),
            recipe=Recipe(
                self._trained, self._weights_of, self._restored, self._trained_many if self.model == "mlp" else None
            ),
            outputs="probabilities" if self.model == "forest" else "logits",
            differentiable=self.model not in TREES,
            rule=partial(self.program, seed=seed),
        )

    def _question(self) -> Question:
        readout = "probability" if self.model == "forest" else "logit"
        return Question(readout=readout, temperature=1.0, baseline="mean", target="predicted")

    @property
    def _rule(self) -> Rule:
        return Rule(self.task, self.form, self.classes, self.informative)

    @property
    def _informative(self) -> tuple[int, ...]:
        """All columns, where they tell about each other and that is the truth."""
        tells = self.truth == "conditional" and self.correlation > 0
        return tuple(range(self.d if tells else self._rule.columns))

    def _problems(self) -> Iterator[str]:
        """What is wrong with the parameters, one sentence each."""
        yield from self._rule.problems(self.d)
        if self.task != "linear" and self.rule_seed is not None:
            yield f"rule_seed={self.rule_seed} draws weights, and the {self.task} rule has none: leave it out"
        if self.noise < 0 or self.scale <= 0:
            yield f"noise={self.noise:g}, scale={self.scale:g}: choose noise of 0 or more, and a positive scale"
        if not 0 <= self.correlation < 1:
            yield f"correlation={self.correlation:g} must be at least 0 and less than 1"
        if self.width % HEADS:
            yield f"width={self.width} must be a multiple of the {HEADS} heads of attention"
        if self.truth != "effect" and self.task != "linear":
            yield f"truth='{self.truth}' is known for the linear task only: write truth='effect'"
        if self.truth == "conditional" and self.d > MOST_FEATURES:
            yield f"conditional values are sums over all coalitions of at most {MOST_FEATURES} columns, not d={self.d}"

    def _rule_seed(self, seed: int) -> int:
        return seed if self.rule_seed is None else self.rule_seed

    def _weights(self, seed: int) -> Tensor:
        random = generator("tabular_rule", self._rule_seed(seed), "weights")
        return linear_weights(self.classes, self._rule.columns, random)

    def _rows(self, normal: Callable[[int], Tensor], seed: int) -> tuple[Tensor, Tensor]:
        """Rows and labels from standard normal numbers, as many columns as are asked for."""
        x, noise = normal(self.d), normal(self.classes)
        if self.correlation:
            x = (1 - self.correlation) ** 0.5 * x + self.correlation**0.5 * normal(1)  # what all columns share
        return x, (self.program(x, seed) + self.noise * noise).argmax(dim=1)

    def _effect(self, x: Tensor, label: Tensor, seed: int) -> Tensor:
        """The truth about the scores of these classes, float64."""
        point = x.double()
        if self.truth != "effect":
            return (self._shapley_maps(seed)[label] * point.unsqueeze(1)).sum(dim=2)
        point.requires_grad_()
        with torch.enable_grad():
            scores = self.program(point, seed).gather(1, label[:, None])
            (slope,) = torch.autograd.grad(scores.sum(), point)
        return point.detach() * slope

    def _shapley_maps(self, seed: int) -> Tensor:
        """(classes, d, d): Shapley values of every score as linear maps of x."""
        weights = self.program(torch.eye(self.d, dtype=torch.float64), seed).T
        if self.truth == "interventional":
            return interventional_maps(weights)
        covariance = torch.full((self.d, self.d), self.correlation, dtype=torch.float64).fill_diagonal_(1.0)
        return conditional_maps(weights, covariance)

    def _training_rows(self, seed: int) -> Reference:
        random = generator("tabular_rule", self._rule_seed(seed), "training", seed)
        return Reference(*self._rows(lambda columns: torch.randn(self.train_rows, columns, generator=random), seed))

    def _trained(self, x: Tensor, label: Tensor, seed: int) -> nn.Module:
        if self.model in TREES:
            grow = TREES[self.model].grow
            return self._estimator(grow(x, label, self.trees, seed_of("tabular_rule", self.model, seed)))
        network, random = self._untrained(x, seed)
        fit(network, x, label, self.epochs, self.batch, self.lr, random)
        return network

    def _trained_many(self, x: Tensor, label: Tensor, seeds: Sequence[int]) -> list[nn.Module]:
        networks, randoms = zip(
            *(self._untrained(rows, seed) for rows, seed in zip(x, seeds, strict=True)), strict=True
        )
        standard = torch.stack([network[0](rows) for network, rows in zip(networks, x, strict=True)])
        fit_stacked([network[1] for network in networks], standard, label, self.epochs, self.batch, self.lr, randoms)
        return [network.eval() for network in networks]

    def _untrained(self, x: Tensor, seed: int) -> tuple[nn.Sequential, Generator]:
        """An untrained network for these rows, and the generator that orders them in training."""
        random = generator("tabular_rule", self.model, seed)
        body = self._body()
        if isinstance(body, FeatureTokens):
            initialise_feature_tokens(body, random)
        else:
            initialise(body, random)
        return standardised(Standardise.of(x), body).to(x), random

    def _body(self) -> nn.Module:
        """The network without the module that standardises; shapes without values."""
        if self.model == "attention":
            return FeatureTokens(self.d, self.width, self.classes)
        return mlp(self.d, self.hidden, self.classes)

    def _restored(self, weights: Mapping[str, Tensor]) -> nn.Module:
        if self.model in TREES:
            return self._estimator(TREES[self.model].from_tensors(weights))
        blank = Standardise(torch.zeros(self.d), torch.ones(self.d))
        network = standardised(blank, self._body())
        restore(network, weights)
        return network

    def _estimator(self, trees: Any) -> Estimator:
        return Estimator(trees, self.classes, scores=self.model == "boosted")

    def _weights_of(self, model: nn.Module) -> dict[str, Tensor]:
        is_trees = isinstance(model, Estimator)
        return TREES[self.model].to_tensors(model.estimator) if is_trees else dict(model.state_dict())
