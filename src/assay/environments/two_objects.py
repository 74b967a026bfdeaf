"""Images of two objects, either of which tells the class, and a trained network (AttributionLab, figure 3)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.core.features import Pixels
from assay.core.question import Question
from assay.core.rng import Draws, Key, generator
from assay.core.setting import DrawnReference, Recipe, Reference, Samples, Setting
from assay.train.fit import fit
from assay.train.named import begin, last_stage, network_by_name
from assay.train.networks import restore


@dataclass(frozen=True)
class TwoObjects:
    """An object in the centre, one at the edge, and a network trained to tell two classes. No truth is known.

    White on black: rectangles in the centre and at the top left edge, or discs in the centre and at the lower right
    edge. Either object tells the class; training decides which of them the network uses.

    As in appendix A, there is one image of each class, and the network is trained on these two. Samples are the same
    two images in turn; the seed draws initial weights and the order of training. ``vary`` makes images differ: each
    object gets a size and a place within its region and a brightness of its own. Then samples are other images than
    the training images.

    The parts ``centre`` and ``edge`` are the regions where objects may lie; metrics show one of them alone. The paper
    does not say which network, colours, sizes and training it used: all numbers here are ours, and the network decides
    which object is ignored.
    """

    paper: ClassVar[str] = "Zhang et al., AttributionLab, 2024, figure 3 and appendix A"
    modality: ClassVar[str] = "image"
    draws_model: ClassVar[bool] = True

    network: str = "vgg11"  # vgg11, vgg11_bn (also other depths), resnet8, resnet8_wide_stem, or vit
    side: int = 32  # of an image, in pixels
    centre: float = 0.4  # side of the centre's region, relative to the image's
    edge: float = 0.2  # side of each region at the edge
    vary: float = 0.0  # objects' least size and brightness is 1 - vary; 0: one image of each class (the paper)
    train_rows: int = 2  # training images, half of each class
    width: int = 8  # channels of the network's first stage
    epochs: int = 50  # of training
    batch: int = 2  # images per step
    lr: float = 1e-3  # of Adam

    def __post_init__(self) -> None:
        if problems := list(self._problems()):
            raise SpecError(f"two_objects: {'; '.join(problems)}.")
        self._blank()  # raises SpecError for an unknown network

    @classmethod
    def tiny(cls) -> TwoObjects:
        return cls("resnet8", 12, edge=0.25, vary=0.5, train_rows=24, width=4, epochs=12, batch=8, lr=1e-2)

    def identities(self, indices: Sequence[int], seed: int) -> list[Hashable]:
        """Images that differ from each other never come again; the two of the paper always do."""
        return [(seed, index) if self.vary else index % 2 for index in indices]

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        x, label = self._images([("two_objects", "evaluated", seed, index) for index in indices], list(indices))
        return Samples(x, label, None, tuple(indices))

    def train(self, seed: int) -> dict[str, Tensor]:
        rows = self.training_rows(seed)
        return dict(self._trained(rows.x, rows.label, seed).state_dict())

    def training_rows(self, seed: int) -> Reference:
        """All training images."""
        indices = list(range(self.train_rows))
        return Reference(*self._images([("two_objects", "training", seed, index) for index in indices], indices))

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        network = self._restored(weights)
        return Setting(
            model=network,
            features=Pixels(3, self.side, self.side),
            kind="image",
            question=Question("margin", 1.0, "zero", "label"),
            classes=("rectangles", "discs"),
            reference=DrawnReference(partial(self.training_rows, seed)),
            recipe=Recipe(self._trained, nn.Module.state_dict, self._restored),
            parts=self._parts(),
            picture=lambda x: x.clamp(0, 1),
            hints={"grad_cam": layer} if (layer := last_stage(network)) else {},
        )

    def _problems(self) -> list[str]:
        """What is wrong with the parameters, one clause each."""
        problems = []
        if not 0 < self.edge < 1 or not 0 < self.centre <= 1 - 2 * self.edge:
            problems.append(f"regions of centre={self.centre:g} and edge={self.edge:g} overlap or leave the image")
        if not 0 <= self.vary < 1:
            problems.append(f"vary={self.vary:g} must be at least 0 and less than 1")
        if self.train_rows < 2 or self.train_rows % 2:
            problems.append(f"train_rows={self.train_rows} must be even and at least 2")
        if min(self.width, self.batch) < 1 or self.epochs < 0 or self.lr <= 0:
            problems.append("width and batch are at least 1, epochs at least 0, lr is positive")
        if min(self.edge, self.centre) * self.side < 3:
            problems.append(f"side={self.side} leaves objects of fewer than 3 pixels: choose larger images or regions")
        return problems

    def _regions(self, label: Tensor) -> Tensor:
        """(2, B, 2): the middle of the regions of the centre and of the edge, down and across, relative to the side."""
        middle = torch.full((len(label), 2), 0.5)
        corner = torch.where(label == 0, self.edge / 2, 1 - self.edge / 2)
        return torch.stack([middle, corner[:, None].expand(-1, 2)])

    def _parts(self) -> dict[str, Tensor]:
        """Where objects of either class may lie."""
        middles = self._regions(torch.tensor([0, 1]))
        inside = [
            self._distances(middle).amax(dim=1) <= size / 2 + 1e-6
            for middle, size in zip(middles, (self.centre, self.edge), strict=True)
        ]
        return {"centre": inside[0].any(dim=0), "edge": inside[1].any(dim=0)}

    def _distances(self, middle: Tensor) -> Tensor:
        """(B, 2, side, side): how far each pixel is below and beside a point (B, 2), relative to the side."""
        pixels = (torch.arange(self.side) + 0.5) / self.side
        grid = torch.stack(torch.meshgrid(pixels, pixels, indexing="ij"))
        return (grid - middle[:, :, None, None]).abs()

    def _images(self, keys: Sequence[Key], indices: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Images (B, 3, side, side) and labels: the class is that of the index, all else of the key."""
        draws, label = Draws(keys), torch.tensor(indices) % 2
        image = torch.zeros(len(label), self.side, self.side)
        for middle, region in zip(self._regions(label), (self.centre, self.edge), strict=True):
            size, brightness = (1 - self.vary * draws.uniform(2)).unbind(dim=1)
            slack = region * (1 - size)[:, None] * (draws.uniform(2) - 0.5)
            down, across = self._distances(middle + slack).unbind(dim=1)
            reach = (region * size / 2)[:, None, None] + 1e-6
            shapes = torch.maximum(down, across) <= reach, torch.hypot(down, across) <= reach
            shape = torch.where(label[:, None, None] == 0, *shapes)
            image = torch.where(shape, brightness[:, None, None], image)
        return image[:, None].repeat(1, 3, 1, 1), label

    def _blank(self) -> nn.Module:
        return network_by_name(self.network, self.side, 2, self.width)

    def _trained(self, x: Tensor, label: Tensor, seed: int) -> nn.Module:
        random = generator("two_objects", self.network, seed)
        begin(network := self._blank(), random)
        fit(network.to(x), x, label, self.epochs, self.batch, self.lr, random)
        return network

    def _restored(self, weights: Mapping[str, Tensor]) -> nn.Module:
        restore(network := self._blank(), weights)
        return network
