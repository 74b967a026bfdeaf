"""Pictures with a watermark that tells the class, and a network trained on them (Zhou et al., 2022)."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import cos, pi
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from assay.core.errors import AssayError, SpecError
from assay.core.features import Pixels
from assay.core.question import Question
from assay.core.rng import Draws, generator
from assay.core.setting import DrawnReference, Recipe, Reference, Samples, Setting, Truth
from assay.data.cifar import check
from assay.environments._marks import Marks, marks
from assay.environments._pictures import Photographs
from assay.environments._shapes import Shapes, picture_source
from assay.train.augment import shifted
from assay.train.fit import fit
from assay.train.named import begin, last_stage, network_by_name
from assay.train.networks import restore

ROWS = "training_rows"  # the name, among the weights, of the digest of training images from files
MARGIN = 4  # pixels by which training images are shifted at most
MEAN, DEVIATION = 0.5, 0.25  # of colours, about; the same for all channels, so that black is one number


@dataclass(frozen=True)
class Watermark:
    """Pictures with a watermark that tells the label, and a network trained on them: semi-natural data.

    Truth is the effective region: 1 for the pixels of the mark, 0 for all others. This is the assumption of Zhou et al.
    and of Li et al., not a fact about the network, which may read other pixels, too. For ``number`` the region is the
    whole black box, for ``stripe`` the white bands; label 0 has no stripe, so that its region is empty. Without a mark
    no truth is known.

    Labels are drawn anew, so that the content of a picture says next to nothing about them: each old class has a row
    of probabilities, U(0, 1) numbers over their sum. The seed of the study draws these rows and the new labels; Li et
    al. made the rows with numpy's generator and seed 2022. Digits are of 5 x 7 dots (ours), not OpenCV's. Network and
    training are ours.

    ``background`` black leaves the mark alone: then there is one picture for each class, in training and in the test.
    Otherwise no test picture is among the training pictures. ``x`` is 4 * colour - 2, for colours from 0 to 1: a zero
    baseline is grey, close to the mean colour, and -2 is black. (The published code has one mean and one deviation for
    all channels, too: 0.485 and 0.229.) Part ``number`` is the box. Dataset ``shapes`` is drawn pictures of ten shapes,
    which need no data files; for others see ``cifar``.
    """

    paper: ClassVar[str] = "Zhou et al., 2022; A Dual-Perspective Approach (Li et al., 2024), appendix D"
    modality: ClassVar[str] = "image"
    draws_model: ClassVar[bool] = True

    dataset: Literal["cifar10", "cifar100", "shapes"] = "shapes"  # which pictures
    mark: Literal["number", "stripe", "none"] = "number"  # the class's number, or its binary code
    background: Literal["picture", "black"] = "picture"  # behind the mark: semi-natural, or pure synthetic
    relabel: bool = True  # draw labels anew; without it and without a mark this is the natural task
    network: str = "resnet8"  # resnet8, vgg11, vgg11_bn (also other depths), or vit
    width: int = 8  # channels of the network's first stage; 0: as published
    train_rows: int = 1500  # training pictures, equally many of each old class
    reference_rows: int = 200  # of these, for methods that need reference data
    epochs: int = 8  # of training
    batch: int = 64  # pictures per step
    lr: float = 1e-2  # of Adam, at first; it falls to 0 as half a cosine
    augment: bool = False  # shift training pictures by up to 4 pixels and mirror half of them, with their marks

    def __post_init__(self) -> None:
        if self.mark == "none" and self.background == "black":
            raise SpecError("watermark: without a mark a black background leaves nothing to see. Choose one of them.")
        if min(self.width, self.epochs, self.batch - 1) < 0:
            raise SpecError("watermark: width and epochs are 0 or more, batch is 1 or more.")
        if not 1 <= self.reference_rows <= self.train_rows:
            raise SpecError(
                f"watermark: reference_rows={self.reference_rows} must be 1 to train_rows={self.train_rows}."
            )
        self._blank()  # raises SpecError for an unknown network

    @classmethod
    def tiny(cls) -> Watermark:
        return cls(width=4, train_rows=200, reference_rows=48, epochs=6, batch=20)

    @property
    def draws_rule(self) -> bool:
        """True if the seed draws the probabilities of new labels."""
        return self.relabel

    def check_data(self) -> None:
        if self.dataset != "shapes":
            check(self.dataset)

    def identities(self, indices: Sequence[int], seed: int) -> list[Hashable]:
        """A picture from a file comes again with other seeds, with another mark. With a black background all pictures
        of a label are the same.
        """
        if self.background == "black":
            return list(self._evaluated(indices, seed)[1].tolist())
        return self._source.identities(indices, seed)

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        pixels, label = self._evaluated(indices, seed)
        truth = None if self._marks is None else Truth(self._marks.region[label].float())
        return Samples(self._read(pixels), label, truth, tuple(indices))

    def train(self, seed: int) -> dict[str, Tensor]:
        pixels, label = self._training(seed)
        weights = self._trained(self._read(pixels), label, seed).state_dict()
        return {**weights, ROWS: _digest(pixels, label)} if self._from_files else dict(weights)

    def training_rows(self, seed: int) -> Reference:
        """All training pictures; reference rows are drawn from them."""
        pixels, label = self._training(seed)
        return Reference(self._read(pixels), label)

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        if self._from_files and not torch.equal(weights[ROWS].cpu(), _digest(*self._training(seed))):
            raise AssayError(
                f"watermark: this model was made with {self.train_rows} other training images of {self.dataset} than "
                "the present ones. Use the files that it was made with, or another store and another cache folder."
            )
        network = self._restored({name: weights[name] for name in weights if name != ROWS})
        return Setting(
            model=network,
            features=Pixels(3, self._source.side, self._source.side),
            kind="image",
            question=Question("logit", 1.0, "zero", "label"),
            classes=tuple(map(str, range(self._count))) if self.relabel else self._source.classes,
            reference=DrawnReference(partial(self._reference, seed)),
            recipe=Recipe(self._trained, nn.Module.state_dict, self._restored),
            parts={"number": self._marks.region[0]} if self._marks is not None and self.mark == "number" else {},
            picture=self._picture,
            hints={"grad_cam": layer} if (layer := last_stage(network)) else {},
        )

    @property
    def _source(self) -> Shapes | Photographs:
        return picture_source(self.dataset)

    @property
    def _from_files(self) -> bool:
        return self.dataset != "shapes"

    @property
    def _count(self) -> int:
        return len(self._source.classes)

    @property
    def _marks(self) -> Marks | None:
        return None if self.mark == "none" else marks(self.mark, self._count, self._source.side)

    def _training(self, seed: int) -> tuple[Tensor, Tensor]:
        """Marked pictures, uint8, and labels."""
        pixels, label = self._source.training(self.train_rows, seed)
        return self._marked(pixels, label, "training", range(len(label)), seed)

    def _evaluated(self, indices: Sequence[int], seed: int) -> tuple[Tensor, Tensor]:
        pixels, label = self._source.evaluated(indices, seed)
        return self._marked(pixels, label, "evaluated", indices, seed)

    def _marked(
        self, pixels: Tensor, label: Tensor, part: str, indices: Sequence[int], seed: int
    ) -> tuple[Tensor, Tensor]:
        if self.relabel:
            chance = torch.rand(self._count, self._count, generator=generator("watermark", "labels", seed)).double()
            reached = (chance / chance.sum(dim=1, keepdim=True)).cumsum(dim=1)[label]
            number = Draws([("watermark", part, seed, index) for index in indices]).uniform(1).double()
            label = (reached <= number).sum(dim=1).clamp(max=self._count - 1)
        if self.background == "black":
            pixels = torch.zeros_like(pixels)
        return pixels if self._marks is None else self._marks.on(pixels, label), label

    def _reference(self, seed: int) -> Reference:
        rows = self.training_rows(seed)
        order = torch.randperm(self.train_rows, generator=generator("watermark", "reference", seed))
        chosen = order[: self.reference_rows]
        return Reference(rows.x[chosen], rows.label[chosen])

    def _blank(self) -> nn.Module:
        return network_by_name(self.network, self._source.side, self._count, self.width)

    def _trained(self, x: Tensor, label: Tensor, seed: int) -> nn.Module:
        random = generator("watermark", self.network, seed)
        begin(network := self._blank(), random)
        augment = partial(shifted, MARGIN) if self.augment else None
        fit(network.to(x), x, label, self.epochs, self.batch, self.lr, random, schedule=self._rate, augment=augment)
        return network

    def _rate(self, epoch: int) -> float:
        """The share of the learning rate in an epoch: the last network of a steady rate can be a bad one."""
        return (1 + cos(pi * epoch / self.epochs)) / 2

    def _restored(self, weights: Mapping[str, Tensor]) -> nn.Module:
        restore(network := self._blank(), weights)
        return network

    def _read(self, pixels: Tensor) -> Tensor:
        """Convert uint8 pixels to what the network reads."""
        return (pixels.float() / 255 - MEAN) / DEVIATION

    def _picture(self, x: Tensor) -> Tensor:
        return (x * DEVIATION + MEAN).clamp(0, 1)


def _digest(pixels: Tensor, label: Tensor) -> Tensor:
    """sha256 of images and labels, as a uint8 tensor."""
    digest = hashlib.sha256(pixels.numpy().tobytes() + label.numpy().tobytes()).digest()
    return torch.tensor(list(digest), dtype=torch.uint8)
