"""Networks for small pictures by name: ``resnet20``, ``resnet8_wide_stem``, ``vgg16``, ``vgg16_bn``, ``vit``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from torch import Generator, nn

from assay.core.errors import SpecError
from assay.train.networks import initialise
from assay.train.resnet import resnet, resnet_projected, resnet_wide_stem
from assay.train.vgg import vgg
from assay.train.vit import Vit, initialise_vit, vit

NAME = re.compile(r"([a-z]+)(\d*)(_\w+)?")
# Family and variant -> network of depth, side, classes and width (0: as published; ours for transformers of this size).
BUILDERS: Mapping[tuple[str, str], Callable[[int, int, int, int], nn.Module]] = {
    ("resnet", ""): lambda depth, side, classes, width: resnet(depth, classes, width or 16),
    ("resnet", "_wide_stem"): lambda depth, side, classes, width: resnet_wide_stem(depth, classes, width or 16),
    ("resnet", "_projected"): lambda depth, side, classes, width: resnet_projected(depth, classes, width or 64),
    ("vgg", ""): lambda depth, side, classes, width: vgg(depth, side, classes, width or 64),
    ("vgg", "_bn"): lambda depth, side, classes, width: vgg(depth, side, classes, width or 64, norm=True),
    ("vit", ""): lambda depth, side, classes, width: vit(side, PATCH, width or 128, depth or 6, HEADS, classes),
}
PATCH = 4  # pixels
HEADS = 4


def network_by_name(name: str, side: int, classes: int, width: int = 0) -> nn.Module:
    """The network of this name for pictures of ``side`` x ``side`` pixels."""
    family, depth, variant = matched.groups("") if (matched := NAME.fullmatch(name)) else (name, "", "")
    if (family, variant) not in BUILDERS:
        raise SpecError(
            f"no network is called '{name}': write for example resnet20, resnet8_wide_stem, vgg16_bn or vit."
        )
    try:
        return BUILDERS[family, variant](int(depth or 0), side, classes, width)
    except ValueError as error:
        raise SpecError(f"{name}: {error}.") from error


def begin(network: nn.Module, generator: Generator) -> None:
    """Draw a network's initial parameters."""
    if isinstance(network, Vit):
        initialise_vit(network, generator)
    else:
        initialise(network, generator)


def last_stage(network: nn.Module) -> str:
    """The usual layer for class activation maps: the last stage, or the last activation of VGG's features; empty for
    transformers.
    """
    stages = [name for name, _ in network.named_children() if name.startswith("layer")]
    activations = [name for name, module in network.named_modules() if isinstance(module, nn.ReLU)]
    layers = stages or [name for name in activations if name.startswith("features.")]
    return layers[-1] if layers else ""
