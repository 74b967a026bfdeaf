"""The symmetry axiom, tried out (Sundararajan et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.evidence import Evidence
from assay.core.question import Question
from assay.core.trial import Scene, Trial, per_feature
from assay.metrics._contexts import equal, scores_after, substitutes, surroundings
from assay.metrics._members import Pairs, put, random_pairs, taken
from assay.metrics._removal import Removal
from assay.metrics._rows import rows

ROUNDING = 1e-5  # of a map's largest value: how far two equal attributions may lie apart


@dataclass(frozen=True)
class AxiomSymmetry:
    """How differently features are treated that are interchangeable for the model and have the same value.

    Random pairs (i, j) are tried, each sample's own; all where there are no more. They are interchangeable if the score
    is the same, but for rounding, whichever of the two has one value and which the other: x_i, and in turn x_j and all
    that ``axiom_dummy`` puts in place of x_i; in the input and in copies of it a random half of which is on the canvas.
    Columns of different widths never are, nor features whose baselines differ. The method is then asked again about the
    input in which j takes the value of i, where both must be given the same: the score is the sum of |a_i - a_j| over
    that of |a_i| + |a_j|, and differences within rounding count as none.

    0 where all pairs are treated alike, 1 where one of each pair gets everything. Undefined where no pair tried is
    interchangeable, as in most trained networks. Definition ours.
    """

    pairs: int = 8  # tried, each one more attribution
    contexts: int = 3  # the input, and inputs half of which is on the canvas
    canvas: str | float = "zero"  # what replaces a feature: zero, true, mean, uniform, blur, noise or a number
    readout: Literal["logit", "probability", "margin", "value"] | None = None  # None: as the environment asks
    temperature: float | None = None  # None: as the environment asks

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("model", "method")
    cost: ClassVar[str] = "pairs more attributions; up to 20 x pairs x contexts model rows a sample, shared"
    invariant: ClassVar[tuple[str, ...]] = ("scale",)
    exact_on_linear: ClassVar[bool] = True
    paper: ClassVar[str] = "Axiomatic Attribution for Deep Networks (Sundararajan et al., 2017)"

    def __post_init__(self) -> None:
        if self.pairs < 1 or self.contexts < 1:
            raise SpecError(f"axiom_symmetry: pairs={self.pairs}, contexts={self.contexts} must be at least 1.")

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """Which of the pairs tried are interchangeable for the model (B, pairs)."""
        removal = Removal.of(scene, self.canvas, Question(self.readout, self.temperature))
        query = removal.query
        pairs, contexts = random_pairs(scene, self.pairs), surroundings(scene, removal, self.contexts)
        x = query.x.expand(len(pairs), *query.x.shape)
        one = taken(x, pairs.left)
        others = torch.stack(
            [taken(x, pairs.right), *(taken(row.expand_as(x), pairs.left) for row in substitutes(scene, query))]
        )  # (values, pairs, B, width)

        def answers(swap: bool) -> Tensor:
            def changed(around: Tensor, which: Tensor) -> Tensor:
                pair, value = which % len(pairs), which // len(pairs)
                values = one[pair], others[value, pair]
                left, right = reversed(values) if swap else values
                return put(put(around, pairs.left[pair], left), pairs.right[pair], right)

            found = scores_after(query, contexts, len(others) * len(pairs), changed)
            return found.view(-1, len(pairs), len(query.x))  # (contexts * values, pairs, B)

        same = equal(answers(False), answers(True), query.score(contexts))
        return {"same": (same & pairs.fit).T.contiguous()}

    def __call__(self, trial: Trial) -> Evidence:
        scene, pairs = trial.scene, random_pairs(trial.scene, self.pairs)
        same = (trial.probe or self.probe(scene))["same"].T & _equal_baselines(scene, pairs)  # (pairs, B)
        chosen = same.any(dim=1)
        if not bool(chosen.any()):
            nothing = torch.zeros(len(trial), dtype=torch.float64)
            return rows(value=nothing, defined=nothing > 0, pairs=nothing.long())
        pairs, same = pairs.of(chosen), same[chosen]
        x = scene.samples.x.expand(len(pairs), *scene.samples.x.shape)
        points = put(x, pairs.right, taken(x, pairs.left))
        again = per_feature(trial.again(points.flatten(0, 1)), scene.setting.features)
        return _judged(again.double().flatten(1).view(len(pairs), len(trial), -1), pairs, same)


def _equal_baselines(scene: Scene, pairs: Pairs) -> Tensor:
    """Where (pairs, B) the method's baseline is the same for both features."""
    baseline = scene.ask(scene.question).baseline
    baseline = baseline.expand(len(pairs), *baseline.shape)
    return (taken(baseline, pairs.left) == taken(baseline, pairs.right)).all(dim=-1)


def _judged(maps: Tensor, pairs: Pairs, same: Tensor) -> Evidence:
    """``maps`` (pairs, B, features) are those of the inputs in which the pair has one value."""
    first, second = (maps.gather(2, index[..., None])[..., 0] for index in (pairs.first, pairs.second))
    gap = (first - second).abs()
    gap = gap.where(gap > ROUNDING * maps.abs().amax(dim=-1), 0.0)
    total = ((first.abs() + second.abs()) * same).sum(dim=0)
    value = (gap * same).sum(dim=0) / total.where(total > 0, 1.0)
    return rows(value=value.clamp(max=1.0), defined=same.any(dim=0), pairs=same.sum(dim=0))
