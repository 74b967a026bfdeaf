"""Components that spoil what they are given, and witnesses that say what they see. Somebody else's code, both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from assay.core.evidence import Evidence
from assay.core.features import Columns
from assay.core.query import Query
from assay.core.question import Question
from assay.core.setting import Reference, Samples, Setting, Truth
from assay.core.trial import Scene, Trial


def _network(seed: int) -> nn.Module:
    """With dropout, so that a model in training mode answers otherwise."""
    random = torch.Generator().manual_seed(seed)
    network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 2))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=random))
    return network.eval()


@dataclass(frozen=True)
class Glasshouse:
    """An environment with everything that can be broken."""

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        rows = Reference(torch.arange(12.0).view(4, 3), torch.tensor([0, 1, 0, 1]))
        question = Question("logit", 1.0, "true", "predicted")
        background = torch.full((3,), 0.25)
        return Setting(
            _network(0),
            Columns.plain(3),
            "table",
            question,
            background=background,
            reference=rows,
            sibling=_network(1),
        )

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        x = torch.stack([torch.tensor([index + 0.5, 1.0 - index, 2.0]) for index in indices])
        return Samples(x, torch.zeros(len(x), dtype=torch.long), Truth(torch.ones(len(x), 3)), tuple(indices))


def _double(_module: nn.Module, _given: object, answer: Tensor) -> Tensor:
    return 2 * answer


def _stale(_module: nn.Module, given: tuple[Tensor]) -> tuple[Tensor]:
    return (given[0] + 1,)


WAYS: dict[str, Callable[[nn.Module], object]] = {
    "weights": lambda model: [parameter.data.fill_(9) for parameter in model.parameters()],
    "hooks": lambda model: model.register_forward_hook(_double),
    "inner hooks": lambda model: [part.register_forward_pre_hook(_stale) for part in model.children()],
    "train mode": lambda model: model.train(),
    "other forward": lambda model: setattr(model, "forward", lambda x: x[:, :2]),
    "gradients": lambda model: model.requires_grad_(),
    "a layer": lambda model: model.append(nn.Tanh()) if isinstance(model, nn.Sequential) else None,
}


def spoil(model: nn.Module, how: str) -> None:
    """Every module inside, whatever it is wrapped in."""
    for part in list(model.modules()):
        if isinstance(part, nn.Sequential) and isinstance(part[0], nn.Linear):
            WAYS[how](part)


def spoil_setting(setting: Setting, how: str) -> None:
    if how in WAYS:
        spoil(setting.model, how)
        spoil(setting.sibling, how)
    if how == "reference" and setting.reference is not None:
        setting.reference.x.fill_(9)
        setting.reference.label.fill_(1)
    if how == "background":
        setting.background.fill_(9)


def _answer(query: Query) -> Tensor:
    """A number that depends on the model, and on nothing that was spoilt before where all is well."""
    return query.x * query.score(query.x).unsqueeze(1) + query.baseline


@dataclass(frozen=True)
class VandalMethod:
    """Answers, and then spoils the model; the same in its fit and its promise."""

    how: str = "weights"

    def fit(self, query: Query) -> dict[str, Tensor]:
        found = {"mean": _answer(query).mean(dim=0)}
        spoil_setting(query.setting, self.how)
        return found

    def __call__(self, query: Query) -> Tensor:
        found = _answer(query) + query.fitted["mean"]
        spoil_setting(query.setting, self.how)
        return found

    def promised(self, query: Query) -> Tensor:
        for tensor in (query.x, query.baseline):
            tensor.fill_(9)
        return query.x.sum(dim=1)


@dataclass(frozen=True)
class VandalMetric:
    """Judges, and then spoils the model; the same in its probe and its preparation."""

    how: str = "weights"

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        found = {"score": scene.ask().score(scene.samples.x)}
        spoil_setting(scene.setting, self.how)
        return found

    def prepare(self, trial: Trial) -> dict[str, Tensor]:
        found = {"score": trial.scene.ask().score(trial.scene.samples.x)}
        spoil_setting(trial.scene.setting, self.how)
        return found

    def __call__(self, trial: Trial) -> Evidence:
        score = trial.scene.ask().score(trial.scene.samples.x) + trial.probe["score"]
        value = (score + trial.prepared["score"].sum() + trial.map.sum(dim=1)).numpy().copy()
        spoil_setting(trial.scene.setting, self.how)
        return Evidence({"value": value})


def vandal_function(model, inputs, targets, how="weights"):
    """A plain function as a method."""
    with torch.no_grad():
        found = inputs * model(inputs).sum(dim=1, keepdim=True)
    spoil(model, how)
    return found


class VandalScore:
    """A metric in Quantus' shape."""

    def __init__(self, how="weights"):
        self.how = how

    def __call__(self, model, x_batch, y_batch, a_batch):
        with torch.no_grad():
            found = model(torch.from_numpy(x_batch)).sum(dim=1).numpy()
        spoil(model, self.how)
        return found + a_batch.sum(axis=1)


@dataclass(frozen=True)
class WitnessMethod:
    """What a method sees."""

    def fit(self, query: Query) -> dict[str, Tensor]:
        return {"mean": _answer(query).mean(dim=0)}

    def __call__(self, query: Query) -> Tensor:
        found = _answer(query) + query.fitted["mean"] + query.setting.background
        return found + query.setting.sibling(query.x).sum(dim=1, keepdim=True).detach()

    def promised(self, query: Query) -> Tensor:
        return query.change()


@dataclass(frozen=True)
class WitnessMetric:
    """What a metric sees."""

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        return {"score": scene.ask().score(scene.samples.x)}

    def __call__(self, trial: Trial) -> Evidence:
        scene, setting = trial.scene, trial.scene.setting
        rows = {
            "value": scene.ask().score(scene.samples.x) + trial.probe["score"],
            "sibling": setting.sibling(scene.samples.x).sum(dim=1),
            "baseline": scene.ask().baseline.sum(dim=1),
            "again": trial.again(scene.samples.x).sum(dim=1),
            "training": torch.full((len(scene.samples),), float(setting.model.training)),
        }
        everyone = float(setting.reference.x.sum() + setting.reference.label.sum())
        numbers = {name: row.detach().double().numpy() for name, row in rows.items()}
        return Evidence({**numbers, "reference": np.full(len(scene.samples), everyone)})
