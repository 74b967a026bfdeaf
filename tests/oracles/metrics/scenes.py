"""Small scenes for the tests of metrics: tiny models in float64, images of 2 x 6 x 6 and tables of 7 columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from assay.core.features import Columns, Features, Pixels
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.setting import Reference, Samples, Setting, Truth
from assay.core.trial import Scene, Trial
from streams import seeded

PIXELS = Pixels(2, 6, 6)
PLAIN = Columns.plain(7)
BLOCKS = Columns((0, 1, 2, 2, 2, 3, 4, 4, 5, 6))  # seven columns; two of them take three and two entries
SMALL = Machine(memory=5_000)  # a row or a few a call, so that every metric needs several calls
PROBABILITY = Question(readout="probability", temperature=1.0, baseline="zero", target="label")
VALUE = replace(PROBABILITY, readout="value")


class Lambda(nn.Module):
    """A function as a model."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def numbers(seed: int, *shape: int) -> Tensor:
    """Standard normal float64."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@seeded()
def network(seed: int = 0, classes: int = 3) -> nn.Module:
    """A convolution, a ReLU and a linear layer, in float64."""
    layers = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(108, classes)).double()
    for index, parameter in enumerate(layers.parameters()):
        parameter.data = numbers(100 * seed + index, *parameter.shape) / 2
    return layers


@seeded()
def perceptron(entries: int, seed: int = 0, classes: int = 3) -> nn.Module:
    layers = nn.Sequential(nn.Linear(entries, 5), nn.ReLU(), nn.Linear(5, classes)).double()
    for index, parameter in enumerate(layers.parameters()):
        parameter.data = numbers(100 * seed + 50 + index, *parameter.shape)
    return layers


def scene(
    x: Tensor, model: nn.Module, features: Features, question: Question = PROBABILITY, effect: Tensor | None = None
) -> Scene:
    """Samples 0, 1, ... with labels 0, 1, 2, 0, ..., asked about the next class; 0 where the model gives a value."""
    label = torch.arange(len(x)) % 3 if question.readout == "probability" else torch.zeros(len(x), dtype=torch.long)
    target = (label + 1) % 3 if question.readout == "probability" else label
    setting = Setting(
        model=model,
        features=features,
        kind="image" if isinstance(features, Pixels) else "table",
        question=question,
        outputs="value" if question.readout == "value" else "logits",
        background=torch.full(features.entries, 0.25, dtype=x.dtype),
        reference=Reference(torch.stack([x[0], 3 * x[0]]), torch.zeros(2, dtype=torch.long)),
    )
    truth = None if effect is None else Truth(effect)
    samples = Samples(x, label, truth, tuple(range(len(x))))
    return Scene(setting, samples, question, target, Stream("metric", "scene", seed=1), SMALL)


def image_scene(count: int = 5, seed: int = 1, effect: Tensor | None = None) -> Scene:
    return scene(numbers(seed, count, *PIXELS.entries), network(), PIXELS, effect=effect)


def table_scene(count: int = 5, seed: int = 2, features: Columns = BLOCKS, effect: Tensor | None = None) -> Scene:
    x = numbers(seed, count, *features.entries)
    return scene(x, perceptron(*features.entries), features, effect=effect)


def asking(where: Scene, readout: str) -> Scene:
    """The same scene in an environment that asks about another number."""
    return replace(where, setting=replace(where.setting, question=replace(where.setting.question, readout=readout)))


def truth_scene(effect: Tensor) -> Scene:
    """A model that counts modulo 5, on inputs equal to the truth: images for (B, H, W), tables for (B, P)."""
    features = Pixels(1, *effect.shape[1:]) if effect.dim() == 3 else Columns.plain(effect.shape[1])
    x = effect.reshape(len(effect), *features.entries).double()
    return scene(x, Lambda(lambda x: x.flatten(1).sum(1, keepdim=True) % 5), features, VALUE, effect)


def take(trial: Trial, rows: slice) -> Trial:
    """The trial of some of the samples."""
    samples = trial.scene.samples
    truth = None if samples.truth is None else samples.truth.each(lambda effect: effect[rows])
    some = Samples(samples.x[rows], samples.label[rows], truth, samples.indices[rows])
    probe = {name: tensor[rows] for name, tensor in trial.probe.items()}
    return Trial(replace(trial.scene, samples=some, target=trial.scene.target[rows]), trial.attribution[rows], probe)


def answer(scene: Scene, sample: int, temperature: float | None = 1.0) -> Callable[[np.ndarray], float]:
    """What the model says about one input of ``sample``: the target's probability, or its raw output without one."""

    def ask(x: np.ndarray) -> float:
        with torch.no_grad():
            logits = scene.setting.model(torch.from_numpy(x)[None])[0].tolist()
        target = int(scene.target[sample])
        if temperature is None:
            return logits[target]
        powers = [np.exp((logit - max(logits)) / temperature) for logit in logits]
        return float(powers[target] / sum(powers))

    return ask


def members(features: Features) -> list[np.ndarray]:
    """For every feature, a mask of its entries."""
    if isinstance(features, Pixels):
        masks = np.zeros((features.height * features.width, *features.entries), dtype=bool)
        for index in range(len(masks)):
            masks[index, :, index // features.width, index % features.width] = True
        return list(masks)
    return [np.array([group == index for group in features.groups]) for index in range(*features.shape)]
