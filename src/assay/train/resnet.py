"""Residual networks (He et al., 2016), with the parameter names of the published CIFAR networks.

On the meta device, as all networks here: ``initialise`` or ``restore`` sets their parameters. Every activation is a
separate module.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import pairwise

from torch import Tensor, nn
from torch.nn.functional import pad

from assay.core.errors import SpecError
from assay.train.networks import Flattened

Shortcut = Callable[[int, int, int], nn.Module]  # channels before and after, stride
WIDE = 64  # channels of a wide stem


def resnet(depth: int, classes: int, width: int = 16) -> Flattened:
    """He et al.'s CIFAR network of ``6 n + 2`` layers: three stages of n blocks, with shortcuts without parameters."""
    stages = _stages([width, width, 2 * width, 4 * width], _blocks(depth), Decimate, every=True)
    return _network(_stem(width, 3, 1), stages, 1, 4 * width, classes)


def resnet_wide_stem(depth: int, classes: int, width: int = 16) -> Flattened:
    """A variant: a stem of 64 channels, convolutions as shortcuts, a ReLU after a stage instead of after every block,
    and an average to 2 x 2 positions.
    """
    stages = _stages([WIDE, width, 2 * width, 4 * width], _blocks(depth), project, every=False)
    return _network(_stem(WIDE, 3, 1), stages, 2, 4 * width, classes)


def resnet_projected(depth: int, classes: int, width: int = 64) -> Flattened:
    """A variant: convolutions as shortcuts. Of depth 8 and with 10 classes, it has 1,227,594 parameters: the network of
    the retraining experiment (Li et al., 2024, appendix C).
    """
    stages = _stages([width, width, 2 * width, 4 * width], _blocks(depth), project, every=True)
    return _network(_stem(width, 3, 1), stages, 1, 4 * width, classes)


def resnet18(classes: int = 1000, width: int = 64) -> Flattened:
    """The network for images of 224 x 224 pixels: four stages of two blocks, with convolutions as shortcuts."""
    stages = _stages([width, width, 2 * width, 4 * width, 8 * width], 2, project, every=True)
    stem = {**_stem(width, 7, 2), "pool1": nn.MaxPool2d(3, 2, padding=1)}
    return _network(stem, stages, 1, 8 * width, classes)


class Decimate(nn.Module):
    """Every second pixel, and channels of zeros around the old ones: a shortcut without parameters (option A)."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.extra, self.stride = after - before, stride

    def forward(self, x: Tensor) -> Tensor:
        front = self.extra // 2
        return pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, front, self.extra - front))

    def extra_repr(self) -> str:
        return f"extra={self.extra}, stride={self.stride}"


def project(before: int, after: int, stride: int) -> nn.Module:
    """A 1x1 convolution as a shortcut (option B)."""
    return nn.Sequential(_convolution(before, after, 1, stride), nn.BatchNorm2d(after, device="meta"))


class Block(nn.Module):
    """Two convolutions and a shortcut around them."""

    def __init__(self, before: int, after: int, stride: int, shortcut: Shortcut, relu: bool) -> None:
        super().__init__()
        self.conv1 = _convolution(before, after, 3, stride)
        self.bn1 = nn.BatchNorm2d(after, device="meta")
        self.relu1 = nn.ReLU()
        self.conv2 = _convolution(after, after, 3, 1)
        self.bn2 = nn.BatchNorm2d(after, device="meta")
        self.shortcut = nn.Identity() if (before, stride) == (after, 1) else shortcut(before, after, stride)
        self.relu2 = nn.ReLU() if relu else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        inner = self.bn2(self.conv2(self.relu1(self.bn1(self.conv1(x)))))
        return self.relu2(inner + self.shortcut(x))  # type: ignore[no-any-return]


def _blocks(depth: int) -> int:
    if depth < 8 or (depth - 2) % 6:
        raise SpecError(f"a CIFAR ResNet has 6 n + 2 layers (8, 14, 20, 26, 32, 44, ...), not {depth}.")
    return (depth - 2) // 6


def _stem(width: int, side: int, stride: int) -> dict[str, nn.Module]:
    convolution = _convolution(3, width, side, stride)
    return {"conv1": convolution, "bn1": nn.BatchNorm2d(width, device="meta"), "relu1": nn.ReLU()}


def _stages(widths: Sequence[int], blocks: int, shortcut: Shortcut, every: bool) -> dict[str, nn.Module]:
    """Stages by name, from the channels of the stem and of each stage; each but the first halves height and width.

    A stage ends with a ReLU; with ``every`` all of its blocks do.
    """
    stages: dict[str, nn.Module] = {}
    for number, (before, after) in enumerate(pairwise(widths), start=1):
        first = Block(before, after, 1 if number == 1 else 2, shortcut, every or blocks == 1)
        rest = [Block(after, after, 1, shortcut, every or last == blocks) for last in range(2, blocks + 1)]
        stages[f"layer{number}"] = nn.Sequential(first, *rest)
    return stages


def _network(
    stem: dict[str, nn.Module], stages: dict[str, nn.Module], side: int, channels: int, classes: int
) -> Flattened:
    """Stem, stages, an average to ``side`` x ``side`` positions, and a linear layer."""
    linear = nn.Linear(channels * side**2, classes, device="meta")
    return Flattened(OrderedDict({**stem, **stages, "average": nn.AdaptiveAvgPool2d(side), "linear": linear}))


def _convolution(before: int, after: int, side: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(before, after, side, stride, padding=side // 2, bias=False, device="meta")
