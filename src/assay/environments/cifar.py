"""CIFAR-10 and CIFAR-100 images and a network, published or trained here."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from assay.core.errors import AssayError, SpecError
from assay.core.features import Pixels
from assay.core.question import Question
from assay.core.rng import generator
from assay.core.setting import Recipe, Reference, Samples, Setting
from assay.data.cifar import check
from assay.data.models import SUMS, pretrained
from assay.environments._pictures import Drawn, Photographs
from assay.train.augment import shifted
from assay.train.fit import fit
from assay.train.named import begin, last_stage, network_by_name
from assay.train.networks import adopt, restore

# Mean and deviation in the units that published networks read, by data set and whether they have a wide stem.
PUBLISHED = {
    ("cifar10", False): ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ("cifar10", True): ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
    ("cifar100", True): ((0.507, 0.487, 0.441), (0.267, 0.256, 0.276)),
}
ROWS = "training_rows"  # the name, among the weights, of the digest of the training images
MARGIN = 4  # pixels by which training images are shifted at most


@dataclass(frozen=True)
class Cifar:
    """Photographs of 32 x 32 pixels in 10 or 100 classes, and a network that classifies them. No truth is known.

    Samples are test images in an order drawn by the data seed; none comes twice. ``x`` is what the network reads:
    colours minus their mean, divided by their deviation, so that a zero baseline is the mean colour. Questions are
    about the logit of the sample's label, as in IDSDS; soundness and completeness use labels, too.

    A published network is used unchanged. Others are trained with Adam on ``train_rows`` images, the first of each
    class; the seed draws initial weights, batches and augmentation. Reference rows are some of the same images.

    Images and published weights are read from ``$ASSAY_DATA`` or the cache folder, where ``python -m
    assay.data.fetch cifar10`` puts images. Dataset ``drawn`` is not CIFAR: bars and discs of 12 x 12 pixels that need
    no data files.
    """

    paper: ClassVar[str] = "Krizhevsky, 2009"
    modality: ClassVar[str] = "image"

    dataset: Literal["cifar10", "cifar100", "drawn"] = "cifar10"  # which images
    network: str = "resnet20"  # resnet20, resnet8_wide_stem, vgg11, vgg11_bn (also other depths), or vit
    weights: Literal["pretrained", "trained"] = "pretrained"  # published, or trained here
    width: int = 0  # channels of a trained network's first stage; 0: as published
    train_rows: int = 10000  # training images, equally many of each class
    reference_rows: int = 1000  # of these, for methods that need reference data
    epochs: int = 10  # of training
    batch: int = 128  # images per step
    lr: float = 1e-3  # of Adam
    augment: bool = True  # shift training images by up to 4 pixels and mirror half of them, anew in every epoch

    def __post_init__(self) -> None:
        if self.weights == "pretrained" and self._published not in SUMS:
            raise SpecError(
                f"cifar: no weights are published for {self._published}, only for {', '.join(SUMS)}. "
                "For other networks write weights=trained."
            )
        if self.weights == "pretrained" and self.width:
            raise SpecError(
                f"cifar: a published network has its own width, so width={self.width} needs weights=trained."
            )
        if min(self.width, self.epochs, self.batch - 1) < 0:
            raise SpecError("cifar: width and epochs are 0 or more, batch is 1 or more.")
        if not 1 <= self.reference_rows <= self.train_rows:
            raise SpecError(f"cifar: reference_rows={self.reference_rows} must be 1 to train_rows={self.train_rows}.")
        self._blank()  # raises SpecError for an unknown network

    @classmethod
    def tiny(cls) -> Cifar:
        return cls("drawn", "resnet8", "trained", 4, train_rows=192, reference_rows=48, epochs=6, batch=16, lr=1e-2)

    @property
    def draws_model(self) -> bool:
        """True if the network is trained with the seed, not published."""
        return self.weights == "trained"

    def check_data(self) -> None:
        if self.dataset != "drawn":
            check(self.dataset)
        if self.weights == "pretrained":
            pretrained(self._published)

    def identities(self, indices: Sequence[int], seed: int) -> list[Hashable]:
        """Test images come again with other seeds; pictures of dataset ``drawn`` do not."""
        return self._source.identities(indices, seed)

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        pixels, label = self._source.evaluated(indices, seed)
        return Samples(self._read(pixels), label, None, tuple(indices))

    def train(self, seed: int) -> dict[str, Tensor]:
        pixels, label = self._source.training(self.train_rows, seed)
        if self.weights == "trained":
            network = self._trained(self._read(pixels), label, seed)
        else:
            adopt(network := self._blank(), pretrained(self._published))
        return {**network.state_dict(), ROWS: _digest(pixels, label)}

    def training_rows(self, seed: int) -> Reference:
        """All training images; reference rows are drawn from them."""
        pixels, label = self._source.training(self.train_rows, seed)
        return Reference(self._read(pixels), label)

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        pixels, label = self._source.training(self.train_rows, seed)
        if not torch.equal(weights[ROWS].cpu(), _digest(pixels, label)):
            raise AssayError(
                f"cifar: this model was made with {self.train_rows} other training images of {self.dataset} than the "
                "present ones. Use the files that it was made with, or another store and another cache folder."
            )
        network = self._restored({name: weights[name] for name in weights if name != ROWS})
        chosen = torch.randperm(len(label), generator=generator("cifar", "reference", seed))[: self.reference_rows]
        return Setting(
            model=network,
            features=Pixels(3, self._source.side, self._source.side),
            kind="image",
            question=Question("logit", 1.0, "zero", "label"),
            classes=self._source.classes,
            reference=Reference(self._read(pixels[chosen]), label[chosen]),
            recipe=Recipe(self._trained, nn.Module.state_dict, self._restored),
            picture=self._picture,
            hints={"grad_cam": layer} if (layer := last_stage(network)) else {},
        )

    @property
    def _source(self) -> Drawn | Photographs:
        return Drawn() if self.dataset == "drawn" else Photographs(self.dataset)

    @property
    def _published(self) -> str:
        return f"{self.dataset}_{self.network}"

    def _blank(self) -> nn.Module:
        return network_by_name(self.network, self._source.side, len(self._source.classes), self.width)

    def _trained(self, x: Tensor, label: Tensor, seed: int) -> nn.Module:
        random = generator("cifar", self.network, seed)
        begin(network := self._blank(), random)
        augment = partial(shifted, MARGIN) if self.augment else None
        fit(network.to(x), x, label, self.epochs, self.batch, self.lr, random, augment=augment)
        return network

    def _restored(self, weights: Mapping[str, Tensor]) -> nn.Module:
        restore(network := self._blank(), weights)
        return network

    def _read(self, pixels: Tensor) -> Tensor:
        """Convert uint8 pixels to what the network reads."""
        mean, deviation = self._colours(pixels)
        return (pixels.float() / 255 - mean) / deviation

    def _picture(self, x: Tensor) -> Tensor:
        mean, deviation = self._colours(x)
        return (x * deviation + mean).clamp(0, 1)

    def _colours(self, like: Tensor) -> tuple[Tensor, Tensor]:
        published = PUBLISHED[self.dataset, "wide_stem" in self.network] if self.weights == "pretrained" else None
        dtype = like.dtype if like.is_floating_point() else torch.float32
        mean, deviation = torch.tensor(published or self._source.colours, dtype=dtype, device=like.device).view(
            2, 3, 1, 1
        )
        return mean, deviation


def _digest(pixels: Tensor, label: Tensor) -> Tensor:
    """sha256 of images and labels, as a uint8 tensor."""
    digest = hashlib.sha256(pixels.numpy().tobytes() + label.numpy().tobytes()).digest()
    return torch.tensor(list(digest), dtype=torch.uint8)
