"""A test of the dummy axiom (Sundararajan et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.evidence import Evidence
from assay.core.question import Question
from assay.core.trial import Scene, Trial
from assay.metrics._contexts import equal_scores, random_contexts, scores_after, substitutes
from assay.metrics._removal import Removal, one_canvas
from assay.metrics._rows import rows


@dataclass(frozen=True)
class AxiomDummy:
    """Share of the absolute attribution that lies on features which do not change the model's score.

    A feature is a dummy of a sample if replacing it alone leaves the score the same, up to rounding. It is replaced by
    the canvas, by the environment's baseline, by itself plus and minus noise, by its value in three random reference
    rows (if there are any) and, except in tables, by two other features of the input. This is tried in the input and in
    copies with a random half of the features on the canvas. It is no proof: a feature that matters only elsewhere is
    taken for a dummy. If there are many features, random ones are tried, the same for all samples, and the share is of
    the attribution on these. A map of zeros scores 0. Undefined where none or all of the features tried are dummies.
    The axiom is also known as sensitivity (b); the definition of the metric is ours.
    """

    features: int = 32  # number of random features tried; all if there are no more
    contexts: int = 3  # the input, and copies of it with half of the features on the canvas
    canvas: str | float = "zero"  # for features: zero, true, mean, colour, uniform, blur, noise or a number
    readout: Literal["logit", "probability", "margin", "value"] | None = None  # None: as the environment asks
    temperature: float | None = None  # None: as the environment asks

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("model",)
    cost: ClassVar[str] = "up to 9 x features x contexts model rows a sample, shared by all methods"
    invariant: ClassVar[tuple[str, ...]] = ("scale",)
    exact_on_linear: ClassVar[bool] = True
    paper: ClassVar[str] = "Axiomatic Attribution for Deep Networks (Sundararajan et al., 2017)"

    def __post_init__(self) -> None:
        if self.features < 1 or self.contexts < 1:
            raise SpecError(f"axiom_dummy: features={self.features}, contexts={self.contexts} must be at least 1.")

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """Which of the features tried are dummies: (B, features tried)."""
        removal = Removal.of(scene, one_canvas(self.canvas), Question(self.readout, self.temperature))
        query = removal.query
        contexts, values = random_contexts(scene, removal, self.contexts), substitutes(scene, query)
        tried, features = self._tried(scene), scene.setting.features
        size = torch.Size(features.shape).numel()

        def replaced(context: Tensor, index: Tensor) -> Tensor:
            single = torch.nn.functional.one_hot(tried[index // len(values)], size).bool()
            replaced_entries = features.expand(single.view(-1, 1, *features.shape))
            return torch.where(replaced_entries, values[index % len(values)], context)

        scores = scores_after(query, contexts, len(tried) * len(values), replaced)
        scores = scores.unflatten(1, (len(tried), len(values))).transpose(1, 2)  # (contexts, values, tried, B)
        plain = query.score(contexts)
        before = plain[:, None, None].expand_as(scores)
        return {"dummy": equal_scores(before.flatten(0, 1), scores.flatten(0, 1), plain).T.contiguous()}

    def __call__(self, trial: Trial) -> Evidence:
        dummy = (trial.probe or self.probe(trial.scene))["dummy"]
        sizes = trial.map.flatten(1).double().abs()[:, self._tried(trial.scene)]
        total = sizes.sum(dim=1)
        share = (sizes * dummy).sum(dim=1) / total.where(total > 0, 1.0)
        defined = dummy.any(dim=1) & ~dummy.all(dim=1)
        return rows(value=share.clamp(max=1.0).where(defined, 0.0), defined=defined, dummies=dummy.sum(dim=1))

    def _tried(self, scene: Scene) -> Tensor:
        size = torch.Size(scene.setting.features.shape).numel()
        order = torch.randperm(size, generator=scene.generator("features"))
        return order[: self.features].sort().values.to(scene.samples.x.device)
