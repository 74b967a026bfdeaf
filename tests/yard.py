"""Small components for tests of execution. Each does one thing, some of them the wrong one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence, Score
from assay.core.features import Columns
from assay.core.protocols import Method
from assay.core.query import Query
from assay.core.question import Question
from assay.core.setting import Reference, Samples, Setting, Truth
from assay.core.trial import Scene, Trial
from assay.methods.gradient import Gradient

trained: list[int] = []  # seeds, in the order in which Orchard was trained in this process


def _setting(weight: Tensor) -> Setting:
    model = nn.Linear(3, 2, bias=False)
    with torch.no_grad():
        model.weight.copy_(weight)
    rows = Reference(torch.arange(12.0).view(4, 3), torch.tensor([0, 1, 0, 1]))
    question = Question("logit", 1.0, "zero", "label")
    return Setting(model.eval(), Columns.plain(3, ("a", "b", "c")), "table", question, ("no", "yes"), reference=rows)


def _samples(indices: Sequence[int], seed: int) -> Samples:
    x = torch.stack([torch.tensor([index, index + 0.5, seed], dtype=torch.float32) for index in indices])
    return Samples(x, torch.tensor(list(indices)) % 2, Truth(torch.ones(len(x), 3)), tuple(indices))


WEIGHT = torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.0, 1.0]])


@dataclass(frozen=True)
class Meadow:
    """An environment in which nothing is trained."""

    scale: float = 1.0

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        assert not weights
        return _setting(WEIGHT * self.scale)

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        return _samples(indices, seed)


@dataclass(frozen=True)
class Field:
    """An environment whose seed draws samples only; of so many rows, where these are given."""

    draws_model: ClassVar[bool] = False

    rows: int = 0

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        return _setting(WEIGHT)

    def identities(self, indices: Sequence[int], seed: int) -> list[int]:
        return [(index + (0 if self.rows else 1000 * seed)) for index in indices]

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        return _samples(indices, seed)


@dataclass(frozen=True)
class Desert:
    """An environment without reference rows."""

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        return replace(_setting(WEIGHT), reference=None)

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        return _samples(indices, seed)


@dataclass(frozen=True)
class Orchard:
    """An environment whose model is trained; the weights lie in memory as a transposed view."""

    fails: bool = False

    def train(self, seed: int) -> dict[str, Tensor]:
        if self.fails:
            raise RuntimeError("no fruit this year")
        trained.append(seed)
        return {"weight": (WEIGHT + seed).T.contiguous().T}

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        return _setting(weights["weight"])

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        return _samples(indices, seed)


@dataclass(frozen=True)
class Copy:
    """The input, times a number."""

    k: float = 1.0

    def __call__(self, query: Query) -> Tensor:
        return query.x * self.k


@dataclass(frozen=True)
class Fits:
    """The input minus the mean of the reference rows."""

    def fit(self, query: Query) -> dict[str, Tensor]:
        return {"mean": query.x.mean(dim=0)}

    def __call__(self, query: Query) -> Tensor:
        return query.x - query.fitted["mean"]


@dataclass(frozen=True)
class Rounds:
    """The input, which it knows to within 0.25."""

    def __call__(self, query: Query) -> Tensor:
        query.remarks.resolution = torch.full_like(query.x, 0.25)
        return query.x


@dataclass(frozen=True)
class DrawsFit:
    """A method whose fit draws."""

    def fit(self, query: Query) -> dict[str, Tensor]:
        return {"random": torch.rand(3, generator=query.generator("fit")), "each": query.draws("each").uniform(2)}

    def __call__(self, query: Query) -> Tensor:
        return query.x * query.fitted["random"]


@dataclass(frozen=True)
class Around:
    """A combinator that fits something of its own, whatever is inside."""

    of: Method = Gradient()

    def fit(self, query: Query) -> dict[str, Tensor]:
        return {"scale": torch.tensor(2.0)}

    def __call__(self, query: Query) -> Tensor:
        return self.of(query) * query.fitted["scale"]


@dataclass(frozen=True)
class Both:
    """A method made of several."""

    of: tuple[Method, ...] = ()

    @property
    def fit(self):
        return self.of[0].fit

    def __call__(self, query: Query) -> Tensor:
        return sum(method(query) for method in self.of)


@dataclass(frozen=True)
class Refuses:
    """A method that does not apply, from some sample on."""

    start: int = 0

    def __call__(self, query: Query) -> Tensor:
        if query.indices[0] >= self.start:
            raise NotApplicable("needs a garden")
        return query.x


@dataclass(frozen=True)
class Breaks:
    """A method that fails, from some sample on."""

    start: int = 0

    def __call__(self, query: Query) -> Tensor:
        if query.indices[0] >= self.start:
            raise RuntimeError("the spade broke")
        return query.x


@dataclass(frozen=True)
class Hungry:
    """A method that needs a small memory budget."""

    most: int = 1048576

    def __call__(self, query: Query) -> Tensor:
        if query.machine.memory > self.most:
            raise MemoryError
        return query.x


@dataclass(frozen=True)
class HungryMetric:
    """A metric whose probe and whose judgement need a small memory budget."""

    most: int = 1048576

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        return {"score": self._fed(scene).ask().score(scene.samples.x)}

    def __call__(self, trial: Trial) -> Evidence:
        self._fed(trial.scene)
        return Evidence({"value": trial.map.sum(dim=1).numpy()})

    def _fed(self, scene: Scene) -> Scene:
        if scene.machine.memory > self.most:
            raise MemoryError
        return scene


@dataclass(frozen=True)
class Total:
    """The sum of the attribution."""

    k: float = 1.0

    def __call__(self, trial: Trial) -> Evidence:
        return Evidence({"value": self.k * trial.map.sum(dim=1).numpy()})


@dataclass(frozen=True)
class Calm:
    """A metric that says that it asks nobody again."""

    needs: ClassVar[tuple[str, ...]] = ()

    def __call__(self, trial: Trial) -> Evidence:
        return Evidence({"value": trial.map.sum(dim=1).numpy()})


@dataclass(frozen=True)
class Resolution:
    """How well the method knows its own answer; 0 where it does not say."""

    def __call__(self, trial: Trial) -> Evidence:
        stated = torch.zeros_like(trial.map) if trial.resolution is None else trial.resolution
        return Evidence({"value": stated.sum(dim=1).numpy()})


@dataclass(frozen=True)
class AsksAgain:
    """How far the method's second answer is from its first."""

    def __call__(self, trial: Trial) -> Evidence:
        scene = trial.scene
        again = trial.explain(scene.samples.x, scene.target, scene.setting)
        return Evidence({"value": (again - trial.attribution).abs().sum(dim=1).numpy()})


@dataclass(frozen=True)
class Prepares:
    """A metric with work to do once per method."""

    def prepare(self, trial: Trial) -> dict[str, Tensor]:
        return {}

    def __call__(self, trial: Trial) -> Evidence:
        return Evidence({"value": trial.map.sum(dim=1).numpy()})


@dataclass(frozen=True)
class DrawsFirst:
    """A metric that prepares random numbers, and what it saw while it did."""

    def prepare(self, trial: Trial) -> dict[str, Tensor]:
        random = torch.rand(3, generator=trial.scene.generator("prepare"))
        return {"random": random, "map": trial.map, "x": trial.scene.samples.x}

    def __call__(self, trial: Trial) -> Evidence:
        return Evidence({"value": trial.map.sum(dim=1).numpy() + float(trial.prepared["map"].sum())})


@dataclass(frozen=True)
class BadProbe:
    """A metric whose probe breaks or does not apply."""

    skips: bool = False

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        raise NotApplicable("needs a well") if self.skips else RuntimeError("the bucket leaks")

    def __call__(self, trial: Trial) -> Evidence:
        return Evidence({"value": trial.map.sum(dim=1).numpy()})


@dataclass(frozen=True)
class Share:
    """A metric between 0 and 1, unless a parameter costs that."""

    cut: bool = True

    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    varies: ClassVar[tuple[tuple[str, object, str], ...]] = (("cut", False, "range"),)

    def __call__(self, trial: Trial) -> Evidence:
        return Evidence({"value": trial.map.sum(dim=1).numpy()})


@dataclass(frozen=True)
class Probes:
    """The sum of the attribution, plus what the model says."""

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        return {"score": scene.ask().score(scene.samples.x)}

    def __call__(self, trial: Trial) -> Evidence:
        return Evidence({"value": (trial.map.sum(dim=1) + trial.probe["score"]).numpy()})


@dataclass(frozen=True)
class Picky:
    """Defined on samples below some index only; has a curve."""

    below: int = 2

    def __call__(self, trial: Trial) -> Evidence:
        index = np.array(trial.scene.samples.indices)
        rows = {"value": np.where(index < self.below, index, 0.0), "defined": index < self.below}
        return Evidence({**rows, "curve": np.stack([index, 2.0 * index], axis=1)}, {"curve": np.array([0.0, 1.0])})


@dataclass(frozen=True)
class Tramples:
    """A metric that writes into what it is given."""

    def __call__(self, trial: Trial) -> Evidence:
        value = trial.map.sum(dim=1).numpy().copy()
        trial.attribution.zero_()
        return Evidence({"value": value})


@dataclass(frozen=True)
class Ends:
    """A metric with a reduce of its own kind: nan, float32, int64."""

    how: str = "nan"

    def __call__(self, trial: Trial) -> Evidence:
        return Evidence({"value": trial.map.sum(dim=1).numpy()})

    def reduce(self, evidence: Evidence) -> Score:
        value, count = evidence["value"].mean(), len(evidence)
        if self.how == "nan":
            return Score(float("nan"), count, count)
        if self.how == "float32":
            return Score(np.float32(value), count, count)
        return Score(float(value), count, evidence.defined.sum())


@dataclass(frozen=True)
class Wrong:
    """A metric whose rows are not what they should be."""

    how: str = "short"

    def __call__(self, trial: Trial) -> Evidence:
        value = trial.map.sum(dim=1).numpy()
        rows = {"short": value[1:], "nan": value * np.nan, "inf": value + np.inf}
        return Evidence({"value": rows[self.how]})
