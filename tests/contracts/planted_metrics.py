"""Wrong metrics: each is a right one with one error."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence, Score
from assay.core.question import Question
from assay.core.trial import Scene, Trial

CALLS = count()


class Hits:
    """The share of features with an effect whose sign the map has right."""

    higher_is_better = True
    range = (0.0, 1.0)
    needs = ("truth",)

    def __call__(self, trial: Trial) -> Evidence:
        return Evidence({"value": self.value(trial), "defined": np.ones(len(trial), dtype=bool)})

    def value(self, trial: Trial) -> Any:
        return self.hits(trial).numpy()

    def hits(self, trial: Trial) -> Tensor:
        true = trial.effect.flatten(1).double()
        right = (trial.map.flatten(1).sign() == true.sign()) & (true != 0)
        return right.double().sum(dim=1) / (true != 0).sum(dim=1)


class Undeclared:
    """The same without declarations."""

    def __call__(self, trial: Trial) -> Evidence:
        return Hits()(trial)


class Answers:
    """The mean answer of the model while features are removed, highest attribution first."""

    higher_is_better = False
    range = (0.0, 1.0)
    needs = ("model",)
    steps = 4

    def __call__(self, trial: Trial) -> Evidence:
        query = trial.scene.ask(Question(readout="probability"), baseline="zero")
        rank = trial.map.flatten(1).argsort(dim=1, descending=True).argsort(dim=1).view_as(trial.map)
        shares = [part.start / self.steps for part in self.parts(query)]
        drops = [query.setting.features.expand(rank < share * rank[0].numel()) for share in shares]
        scores = torch.stack([query.score(torch.where(drop, query.baseline, query.x)) for drop in drops])
        return Evidence({"value": scores.double().mean(dim=0).numpy(), "defined": np.ones(len(trial), dtype=bool)})

    def parts(self, query: Any) -> list[slice]:
        return [slice(step, step + 1) for step in range(self.steps)]


class Probing(Hits):
    """Hits, weighted by an answer of the model, which is the probe."""

    needs = ("truth", "model")

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        query = scene.ask(Question(readout="probability"))
        return {"clean": query.score(query.x).double()}

    def value(self, trial: Trial) -> Any:
        probe = trial.probe or self.probe(trial.scene)
        return (self.hits(trial) * probe["clean"]).numpy()


# answers


class RefusesWithoutAReason(Hits):
    def value(self, trial: Trial) -> Any:
        raise NotApplicable


class AlwaysStops(Hits):
    def value(self, trial: Trial) -> Any:
        raise RuntimeError("not today")


# rows


class WithLevels(Hits):
    """Three numbers that belong to no sample, whatever the number of samples."""

    def __call__(self, trial: Trial) -> Evidence:
        return Evidence({**super().__call__(trial).rows, "levels": np.array([0.1, 0.5, 0.9])})


# finite


class WithRatio(Hits):
    def __call__(self, trial: Trial) -> Evidence:
        return Evidence({**super().__call__(trial).rows, "ratio": np.full(len(trial), np.nan)})


# blocks_merge


class FirstBlockOnly(Hits):
    """Judges 16 samples and gives the others 0."""

    def value(self, trial: Trial) -> Any:
        return np.where(np.arange(len(trial)) < 16, super().value(trial), 0.0)


class OverTheLargest(Hits):
    """Divides by the largest value of the block."""

    def value(self, trial: Trial) -> Any:
        value = super().value(trial)
        return value / max(value.max(), 1e-9)


# batch_size


class FirstPartOnly(Answers):
    """Leaves out the steps after the first model call."""

    def parts(self, query: Any) -> list[slice]:
        first = next(query.parts(self.steps))
        return [slice(step, step + 1) for step in range(first.stop)]


# direction


class WrongWayRound(Hits):
    higher_is_better = False


class AnswersWrongWayRound(Answers):
    higher_is_better = True


# invariances


class DeclaresTooMuch(Hits):
    invariant = ("scale", "shift")


# in_range


class Doubled(Hits):
    def value(self, trial: Trial) -> Any:
        return 2 * super().value(trial)


# attribution_untouched


class Signs(Hits):
    def value(self, trial: Trial) -> Any:
        trial.attribution.sign_()
        return super().value(trial)


class ClearsTheInput(Hits):
    def value(self, trial: Trial) -> Any:
        trial.scene.samples.x.zero_()
        return super().value(trial)


# model_untouched


class LeavesAHook(Hits):
    def value(self, trial: Trial) -> Any:
        trial.scene.setting.model.register_forward_hook(lambda *_: None)
        return super().value(trial)


# deterministic


class Drifting(Hits):
    """Drifts by less than the rounding tolerance."""

    def value(self, trial: Trial) -> Any:
        return super().value(trial) * (1 - 1e-8 * (next(CALLS) % 2))


# no_global_randomness


class SetsTheGlobalSeed(Hits):
    def value(self, trial: Trial) -> Any:
        torch.manual_seed(0)
        return super().value(trial) * float(torch.rand(()))


class BorrowsGlobalNumbers(Hits):
    def value(self, trial: Trial) -> Any:
        with torch.random.fork_rng(devices=[]):
            return super().value(trial) * float(torch.rand(()))


# no_global_switches


class LeavesNumpySilent(Hits):
    def value(self, trial: Trial) -> Any:
        np.seterr(all="ignore")
        return super().value(trial)


# every_sample


class EverySecondCountsLess(Hits):
    """By position in the block: blocks of an even size do not show it."""

    def value(self, trial: Trial) -> Any:
        return super().value(trial) * np.where(np.arange(len(trial)) % 2, 0.99, 1.0)


# constant_maps


class OverTheMap(Hits):
    """0 / 0 on a map of zeros."""

    def value(self, trial: Trial) -> Any:
        largest = trial.map.flatten(1).abs().amax(dim=1).double()
        return (self.hits(trial) * (largest / largest)).numpy()


class NothingIsZero(Hits):
    """Scores 0 where no sample is defined."""

    def reduce(self, evidence: Evidence) -> Score:
        defined = evidence.defined
        return Score(
            float(evidence["value"].sum(where=defined) / max(1, defined.sum())), len(evidence), int(defined.sum())
        )


# probe_shared


class ForgetsItsProbe(Probing):
    """Another number with a probe than without."""

    def value(self, trial: Trial) -> Any:
        return super().value(trial) * (0.5 if trial.probe else 1.0)


class SpoilsItsProbe(Probing):
    def value(self, trial: Trial) -> Any:
        value = super().value(trial)
        if trial.probe:
            trial.probe["clean"].zero_()
        return value


METRICS: dict[str, tuple[Any, ...]] = {
    "answers": (RefusesWithoutAReason(), AlwaysStops()),
    "rows": (WithLevels(),),
    "finite": (WithRatio(),),
    "blocks_merge": (FirstBlockOnly(), OverTheLargest()),
    "batch_size": (FirstPartOnly(),),
    "direction": (WrongWayRound(), AnswersWrongWayRound()),
    "invariances": (DeclaresTooMuch(),),
    "in_range": (Doubled(),),
    "attribution_untouched": (Signs(), ClearsTheInput()),
    "model_untouched": (LeavesAHook(),),
    "deterministic": (Drifting(),),
    "no_global_randomness": (SetsTheGlobalSeed(), BorrowsGlobalNumbers()),
    "no_global_switches": (LeavesNumpySilent(),),
    "every_sample": (EverySecondCountsLess(),),
    "constant_maps": (OverTheMap(), NothingIsZero()),
    "probe_shared": (ForgetsItsProbe(), SpoilsItsProbe()),
}
