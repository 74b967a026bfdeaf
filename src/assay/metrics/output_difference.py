"""The difference between the outputs of two models (Hesse et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence
from assay.core.facts import Varies
from assay.core.question import Question
from assay.core.trial import Scene, Trial
from assay.metrics._removal import classifies
from assay.metrics._rows import rows
from assay.metrics._sibling import sibling_scene


@dataclass(frozen=True)
class OutputDifference:
    """Mean absolute difference between a model's outputs and those of its sibling, on the same samples.

    Small if fine-tuning changed the model little. ``target`` compares the probability of the explained class, as the
    paper says. ``all`` and ``logits`` are means over all classes, as a reproduction computed them: with many classes,
    most differences are tiny. Says nothing about the attribution: it is the same for every method. In [0, 1] for
    probabilities; logits have the models' own range. Undefined where an output is not finite.
    """

    of: Literal["target", "all", "logits"] = "target"  # the target's probability, all probabilities, or all logits
    temperature: float | None = None  # of probabilities; None: as the environment asks

    higher_is_better: ClassVar[bool] = False
    about: ClassVar[str] = "models"  # a method is not better for it
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("sibling",)
    cost: ClassVar[str] = "2 model rows a sample, shared by all methods"
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift", "monotone")
    varies: ClassVar[Varies] = (("of", "logits", "range"),)
    exact_on_linear: ClassVar[bool] = False
    paper: ClassVar[str] = "Benchmarking the Attribution Quality of Vision Models (Hesse et al., 2024)"

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """The difference (B,)."""
        other = sibling_scene(scene)
        difference = (self._outputs(scene) - self._outputs(other)).abs()
        if self.of == "target":
            return {"difference": difference.gather(1, scene.target[:, None])[:, 0]}
        return {"difference": difference.mean(dim=1)}

    def __call__(self, trial: Trial) -> Evidence:
        difference = (trial.probe or self.probe(trial.scene))["difference"]
        defined = difference.isfinite()
        return rows(value=difference.where(defined, 0.0), defined=defined)

    def _outputs(self, scene: Scene) -> Tensor:
        """(B, classes), float64."""
        readout = "logit" if self.of == "logits" else "probability"
        query = scene.ask(Question(readout=readout, temperature=self.temperature))
        if not classifies(scene):
            raise NotApplicable("needs a classifier, and this model answers with a value")
        return query.outputs(query.x).double()
