"""Problems that several benchmarks share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor, nn

from assay.core.errors import AssayError
from assay.core.features import Columns, Pixels
from assay.core.machine import Machine
from assay.core.query import Query
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.setting import Reference, Samples, Setting
from assay.engine.artifacts.answer import make_query
from assay.environments.color_count import ColorCount
from assay.train.networks import initialise, mlp
from assay.train.resnet import resnet, resnet18

SIDE = 224  # of the images of ResNet-18, in pixels


def mlp_query(rows: int, columns: int = 20) -> Query:
    """An untrained MLP columns-64-64-3 with random weights, normal rows, logits, zero baseline."""
    random = torch.Generator().manual_seed(0)
    network = mlp(columns, (64, 64), 3)
    initialise(network, random)
    x = torch.randn(rows, columns, generator=random)
    reference = Reference(torch.randn(1000, columns, generator=random), torch.arange(1000) % 3)
    question = Question("logit", 1.0, "zero", "label")
    setting = Setting(network.eval(), Columns.plain(columns), "table", question, reference=reference)
    samples = Samples(x, torch.arange(rows) % 3, None, tuple(range(rows)))
    return make_query(setting, samples, Question(), Stream("bench"), Machine())


def image_query(side: int, images: int) -> Query:
    """Colour count with the unseen-data effect and the environment's own question."""
    environment = ColorCount(side=side)
    return make_query(
        environment.setting(0, {}), environment.sample(range(images), 0), Question(), Stream("bench"), Machine()
    )


def cifar_query(images: int) -> Query:
    """ResNet-20 with random weights, normal noise of 32 x 32 pixels, logits."""
    return _noise_query(resnet(20, 10), images, 32)


def resnet_query(images: int) -> Query:
    """ResNet-18 with random weights, normal noise of 224 x 224 pixels, logits."""
    return _noise_query(resnet18(), images, SIDE)


def _noise_query(network: nn.Module, images: int, side: int) -> Query:
    random = torch.Generator().manual_seed(0)
    initialise(network, random)
    x = torch.randn(images, 3, side, side, generator=random)
    question = Question("logit", 1.0, "zero", "label")
    setting = Setting(network.eval().requires_grad_(False), Pixels(3, side, side), "image", question)
    samples = Samples(x, torch.arange(images) % 10, None, tuple(range(images)))
    return make_query(setting, samples, Question(), Stream("bench"), Machine())


@dataclass(frozen=True)
class Boxes:
    """A feature is a box of entries: a cell of a grid with its channels, or one entry, where a peer explains these."""

    entries: tuple[int, ...]
    shape: tuple[int, ...]  # boxes along each axis of the entries, which they divide evenly

    def pool(self, x: Tensor) -> Tensor:
        for axis, size in enumerate(self._sizes(), start=-len(self.shape)):
            x = x.unflatten(axis, (-1, size)).sum(dim=axis)
        return x

    def expand(self, per_feature: Tensor) -> Tensor:
        for axis, size in enumerate(self._sizes(), start=-len(self.shape)):
            per_feature = per_feature.repeat_interleave(size, dim=axis) if size > 1 else per_feature
        return per_feature

    def _sizes(self) -> list[int]:
        return [entries // boxes for entries, boxes in zip(self.entries, self.shape, strict=True)]


def peer(module: str, package: str, install: str = "'assay-xai[peers]'") -> tuple[Any, str]:
    """A peer's module, and its name with version; peers are optional, and ``install`` is what pip is asked for."""
    try:
        return import_module(module), f"{package} {version(package)}"
    except ImportError:
        raise AssayError(f"this benchmark needs {package}: pip install {install}.") from None


def answers(query: Query) -> Callable[[Any], Any]:
    """The model for peers without torch: a function from an array of rows to an array of outputs."""

    def answer(rows: Any) -> Any:
        return query.outputs(torch.as_tensor(rows, dtype=torch.float32)).numpy().astype(float)

    return answer
