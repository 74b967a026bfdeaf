"""Components that keep a diary: each training, model call, attribution, probe and judgement appends a line to a file.

The file is shared by all processes (small appends are atomic), so a test can tell what was computed, and how often.
"""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from assay.core.evidence import Evidence
from assay.core.features import Columns
from assay.core.query import Query
from assay.core.question import Question
from assay.core.rng import Draws, generator
from assay.core.setting import Reference, Samples, Setting, Truth
from assay.core.trial import Scene, Trial


def note(line: str) -> None:
    handle = os.open(os.environ["DIARY"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


class Noted(nn.Module):
    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        note("call")
        return torch.relu(x) @ self.weight


@dataclass(frozen=True)
class Ward:
    """A small table environment whose model is trained (that is: drawn)."""

    d: int = 5

    def train(self, seed: int) -> dict[str, Tensor]:
        note(f"train {seed}")
        return {"weight": torch.randn(self.d, 2, generator=generator("ward", seed))}

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        reference = torch.randn(16, self.d, generator=generator("reference", seed))
        return Setting(
            Noted(weights["weight"]),
            Columns.plain(self.d),
            "table",
            Question("logit", 1.0, "zero", "label"),
            ("no", "yes"),
            background=torch.zeros(self.d),
            reference=Reference(reference, torch.arange(16) % 2),
        )

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        x = Draws([("ward", seed, index) for index in indices]).normal(self.d)
        return Samples(x, torch.tensor(indices) % 2, Truth(torch.sign(x)), tuple(indices))


@dataclass(frozen=True)
class Slow:
    """The gradient, a little later, so that a kill finds somebody at work."""

    name: str = "slow"
    seconds: float = 0.0

    def __call__(self, query: Query) -> Tensor:
        note(f"attribute {self.name} {query.indices[0]} {query.stream.seed}")
        time.sleep(self.seconds)
        return query.gradient(query.x)


@dataclass(frozen=True)
class Fits:
    """A method that fits."""

    def fit(self, query: Query) -> dict[str, Tensor]:
        note("fit")
        return {"mean": query.x.mean(dim=0)}

    def __call__(self, query: Query) -> Tensor:
        return query.x - query.fitted["mean"]


@dataclass(frozen=True)
class Probes:
    """A metric with a probe: the attribution at the features, weighted by the model's answer."""

    name: str = "probes"

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        note(f"probe {self.name} {scene.samples.indices[0]}")
        return {"score": scene.ask().score(scene.samples.x)}

    def __call__(self, trial: Trial) -> Evidence:
        note(f"judge {self.name}")
        return Evidence({"value": (trial.map.sum(dim=1) * trial.probe["score"]).numpy()})


@dataclass(frozen=True)
class Bad:
    """A method that goes wrong in the way it is told."""

    how: str = "nan"

    def __call__(self, query: Query) -> Tensor:
        if self.how == "nan":
            return torch.full_like(query.x, torch.nan)
        if self.how == "shape":
            return torch.zeros(len(query.x), 3)
        if self.how == "die":
            os.kill(os.getpid(), 9)
        raise RuntimeError("as told")


@dataclass(frozen=True)
class Lethal:
    """A metric that takes its process down on one block."""

    def __call__(self, trial: Trial) -> Evidence:
        if trial.scene.samples.indices[0] == 0:
            os.kill(os.getpid(), 9)
        return Evidence({"value": trial.map.sum(dim=1).numpy()})


class Fragile(nn.Module):
    def __init__(self, limit: float) -> None:
        super().__init__()
        self.limit = limit

    def forward(self, x: Tensor) -> Tensor:
        if bool((x.abs().sum(dim=1) > self.limit).any()):
            raise RuntimeError("this model cannot take large inputs")
        return torch.stack([x.sum(dim=1), -x.sum(dim=1)], dim=1)


@dataclass(frozen=True)
class Cliff:
    """An environment whose model raises on some of its samples."""

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        return Setting(Fragile(5.0), Columns.plain(4), "table", Question("logit", 1.0, "zero", "label"))

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        x = torch.stack([torch.full((4,), float(index) / 4) for index in indices])
        return Samples(x, torch.zeros(len(indices), dtype=torch.long), None, tuple(indices))
