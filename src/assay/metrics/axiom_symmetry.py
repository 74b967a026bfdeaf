"""A test of the symmetry axiom (Sundararajan et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.question import Question
from assay.core.trial import Scene, Trial, per_feature
from assay.metrics._contexts import equal_scores, feature_entries, random_contexts, scores_after, substitutes
from assay.metrics._removal import Removal, one_canvas
from assay.metrics._rows import rows

ROUNDING = 1e-5  # relative to a map's largest value: two attributions that differ by less are equal


@dataclass(frozen=True)
class AxiomSymmetry:
    """How differently the attribution treats features that are interchangeable for the model and have the same value.

    Random pairs (i, j) are tried for each sample on its own, or all pairs if there are no more. A pair is
    interchangeable if swapping two values between i and j leaves the score the same, up to rounding. One value is x_i;
    the other is in turn x_j and everything that ``axiom_dummy`` replaces x_i by. This is tried in the input and in
    copies with a random half of the features on the canvas. Columns of different widths and features with different
    baselines are never interchangeable. The method is then asked about the input in which j has the value of i, where
    both should get the same attribution. The score is the sum of |a_i - a_j| divided by the sum of |a_i| + |a_j|;
    differences within rounding count as 0.

    0 where all pairs are treated alike, 1 where one of each pair gets everything. Undefined where no pair tried is
    interchangeable, as in most trained networks. Definition ours.
    """

    pairs: int = 8  # number of pairs tried, each one more attribution
    contexts: int = 3  # the input, and copies of it with half of the features on the canvas
    canvas: str | float = "zero"  # for features: zero, true, mean, colour, uniform, blur, noise or a number
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
        """Which of the pairs tried are interchangeable for the model: (B, pairs)."""
        removal = Removal.of(scene, one_canvas(self.canvas), Question(self.readout, self.temperature))
        query = removal.query
        pairs, contexts = random_pairs(scene, self.pairs), random_contexts(scene, removal, self.contexts)
        x = query.x.expand(len(pairs), *query.x.shape)
        first_values = values_at(x, pairs.left)
        other_values = torch.stack(
            [values_at(x, pairs.right), *(values_at(row.expand_as(x), pairs.left) for row in substitutes(scene, query))]
        )  # (values, pairs, B, width)

        def answers(swap: bool) -> Tensor:
            def changed(context: Tensor, index: Tensor) -> Tensor:
                pair, value = index % len(pairs), index // len(pairs)
                values = first_values[pair], other_values[value, pair]
                left, right = reversed(values) if swap else values
                return with_values(with_values(context, pairs.left[pair], left), pairs.right[pair], right)

            scores = scores_after(query, contexts, len(other_values) * len(pairs), changed)
            return scores.view(-1, len(pairs), len(query.x))  # (contexts * values, pairs, B)

        same = equal_scores(answers(False), answers(True), query.score(contexts))
        return {"same": (same & pairs.equal_width).T.contiguous()}

    def __call__(self, trial: Trial) -> Evidence:
        scene, pairs = trial.scene, random_pairs(trial.scene, self.pairs)
        same = (trial.probe or self.probe(scene))["same"].T & _equal_baselines(scene, pairs)  # (pairs, B)
        chosen = same.any(dim=1)
        if not bool(chosen.any()):
            no_pairs = torch.zeros(len(trial), dtype=torch.float64)
            return rows(value=no_pairs, defined=no_pairs > 0, pairs=no_pairs.long())
        pairs, same = pairs.subset(chosen), same[chosen]
        x = scene.samples.x.expand(len(pairs), *scene.samples.x.shape)
        points = with_values(x, pairs.right, values_at(x, pairs.left))
        again = per_feature(trial.again(points.flatten(0, 1)), scene.setting.features)
        return _evidence(again.double().flatten(1).view(len(pairs), len(trial), -1), pairs, same)


def _equal_baselines(scene: Scene, pairs: Pairs) -> Tensor:
    """Where (pairs, B) the method's baseline is the same for both features."""
    baseline = scene.ask(scene.question).baseline
    baseline = baseline.expand(len(pairs), *baseline.shape)
    return (values_at(baseline, pairs.left) == values_at(baseline, pairs.right)).all(dim=-1)


def _evidence(maps: Tensor, pairs: Pairs, same: Tensor) -> Evidence:
    """The evidence; ``maps`` (pairs, B, features) explain the inputs in which both features of the pair are equal."""
    first, second = (maps.gather(2, index[..., None])[..., 0] for index in (pairs.first, pairs.second))
    gap = (first - second).abs()
    gap = gap.where(gap > ROUNDING * maps.abs().amax(dim=-1), 0.0)
    total = ((first.abs() + second.abs()) * same).sum(dim=0)
    value = (gap * same).sum(dim=0) / total.where(total > 0, 1.0)
    return rows(value=value.clamp(max=1.0), defined=same.any(dim=0), pairs=same.sum(dim=0))


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of features, chosen for each sample on its own."""

    first: Tensor  # (K, B) features
    second: Tensor
    left: Tensor  # (K, B, width) entries of the first, of the second
    right: Tensor
    equal_width: Tensor  # (K, B) both have equally many entries

    def __len__(self) -> int:
        return len(self.first)

    def subset(self, index: Tensor) -> Pairs:
        """The pairs with these indices, or of this mask."""
        return Pairs(
            self.first[index], self.second[index], self.left[index], self.right[index], self.equal_width[index]
        )


def random_pairs(scene: Scene, count: int) -> Pairs:
    """``count`` random pairs of two different features, or all pairs if there are no more."""
    features, samples = scene.setting.features, len(scene.samples)
    size = torch.Size(features.shape).numel()
    if size < 2:
        raise NotApplicable("needs at least two features")
    if size * (size - 1) // 2 <= count:
        both = torch.combinations(torch.arange(size)).T[:, :, None].expand(2, -1, samples)
    else:
        start, step = scene.draws("pairs").uniform(2, count).double().permute(1, 2, 0)  # (count, B) both
        first = (start * size).long()
        both = torch.stack([first, (first + 1 + (step * (size - 1)).long()) % size])
    first, second = both.to(scene.samples.x.device)
    entries, width = feature_entries(features, first.device)
    return Pairs(first, second, entries[first], entries[second], width[first] == width[second])


def values_at(x: Tensor, entries: Tensor) -> Tensor:
    """The values of x (K, B, *entries) in the entries (K, B, width)."""
    return x.flatten(2).gather(2, entries)


def with_values(x: Tensor, entries: Tensor, values: Tensor) -> Tensor:
    """Inputs (K, B, *entries) with other values in these entries."""
    return x.flatten(2).scatter(2, entries, values).view(x.shape)
