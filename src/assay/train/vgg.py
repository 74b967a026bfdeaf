"""VGG networks (Simonyan and Zisserman, 2015), with and without batch normalisation or biases.

On the meta device, as all networks here: ``initialise`` or ``restore`` sets their parameters. Every activation is a
separate module. There is no dropout: it would draw from torch's global random stream.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from torch import nn

from assay.core.errors import SpecError
from assay.train.networks import Flattened, mlp

# Convolutions in each of the five stages.
STAGES: Mapping[int, tuple[int, ...]] = {
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}


def vgg(
    depth: int,
    side: int,  # of the pictures; 224 in the paper
    classes: int,
    width: int = 64,  # channels of the first stage; then twice, four, eight and eight times as many
    norm: bool = False,  # batch normalisation after every convolution
    bias: bool = True,  # without biases and normalisation the network is homogeneous: f(a x) = a f(x) for a > 0
    hidden: Sequence[int] | None = None,  # widths of the hidden linear layers; None: two of 8 * width (CIFAR versions)
) -> Flattened:
    """``features`` (stages of convolutions, each ending with a 2 x 2 maximum) and a ``classifier``.

    A picture that is too small for five maxima skips the last ones.
    """
    if depth not in STAGES:
        raise SpecError(f"a VGG network has {', '.join(map(str, STAGES))} layers, not {depth}.")
    features: list[nn.Module] = []
    channels = 3
    for stage, count in enumerate(STAGES[depth]):
        after = width * min(2**stage, 8)
        for _ in range(count):
            features += _convolution(channels, after, norm, bias)
            channels = after
        if side > 1:
            features.append(nn.MaxPool2d(2))
            side //= 2
    widths = (8 * width, 8 * width) if hidden is None else hidden
    classifier = mlp(channels * side**2, widths, classes, bias)
    return Flattened(OrderedDict(features=nn.Sequential(*features), classifier=classifier))


def _convolution(before: int, after: int, norm: bool, bias: bool) -> list[nn.Module]:
    convolution = nn.Conv2d(before, after, 3, padding=1, bias=bias, device="meta")
    normal = [nn.BatchNorm2d(after, device="meta")] if norm else []
    return [convolution, *normal, nn.ReLU()]
