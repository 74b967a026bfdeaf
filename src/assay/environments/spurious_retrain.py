"""A network retrained on pictures from which a region was removed (Li et al., 2024)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.core.features import Pixels
from assay.core.question import Question
from assay.core.rng import Draws, generator
from assay.core.setting import DrawnReference, Reference, Samples, Setting
from assay.data.cifar import check
from assay.environments._inside import of_part, prefixed
from assay.environments._pictures import Photographs
from assay.environments._shapes import Shapes, picture_source
from assay.environments._trained_once import trained_once
from assay.train.augment import shifted
from assay.train.fit import Augment, fit
from assay.train.named import begin, last_stage, network_by_name
from assay.train.networks import restore

Strategy = Literal["centre", "centre_and_class", "class"]

# Middles (row, column) of the regions of classes 0 to 9, in pictures of 32 x 32 pixels, as in public code.
PLACES = ((3, 3), (11, 3), (19, 3), (29, 3), (29, 11), (29, 19), (29, 29), (21, 29), (13, 29), (3, 29))
PLACES_SIDE = 32
RADIUS = 0.1  # of a class's disc beside the disc in the middle, as a share of the side, rounded down to whole pixels
MARGIN = 4  # pixels by which the original network's training pictures are shifted at most
DECAY = 1e-4  # of the weights
STEP = 10  # epochs after which the learning rate is halved
SHARED = 2000  # pictures in all epochs: an original network that sees fewer is trained by each environment
ROWS = 256  # pictures per call when classes are predicted


@dataclass(frozen=True)
class SpuriousRetrain:
    """A network retrained on pictures that lack a region, whose place may tell the class. No truth is known.

    The model is the retrained network; its sibling is the original one, trained on intact pictures. If the retrained
    one is right where the object is gone, it reads the place of the hole: retraining does not measure what was removed.

    A region is a disc in the middle (``centre``, strategy 1), a small disc near the edge that is elsewhere for each
    class with as much of the middle as makes up the same number of pixels (``centre_and_class``, strategy 2), or the
    disc near the edge alone (``class``; the paper removes 5 % and fills with black). Regions have exact sizes (ours:
    the public code blurs discs, and order of storage decides about their last pixels).

    The class is that of the label, as the paper says, or the one that the original network predicts from the intact
    picture, as in the public code, or drawn for each picture: a control, whose holes tell nothing (ours). No sample
    knows its prediction: with ``masks_by='predicted'`` and
    ``evaluated='removed'`` samples are intact, and both networks have a layer in front that removes the region.

    Both networks begin anew and are trained with Adam, weight decay 1e-4 and a learning rate that is halved every 10
    epochs. Pictures are shifted by up to 4 pixels and mirrored for the original network only. The last epoch is used,
    and all training rows (ours: the public code keeps an eighth of them to choose the best epoch). Environments that
    differ in what is removed share the original network: it is trained once per cache folder.

    Units, question and data files are those of ``cifar``. Dataset ``shapes`` are drawn pictures of ten shapes that need
    no data files.
    """

    paper: ClassVar[str] = "A Dual-Perspective Approach (Li et al., 2024), section 3.1 and appendix C"
    modality: ClassVar[str] = "image"
    draws_model: ClassVar[bool] = True

    dataset: Literal["cifar10", "shapes"] = "cifar10"  # which pictures
    strategy: Strategy = "centre"  # what is removed: a disc in the middle, that and the class's disc, or the class's
    share: float = 0.7  # of the pixels that is removed, the same for every strategy
    masks_by: Literal["label", "predicted", "chance"] = "label"  # which class chooses the region: see above
    fill: Literal["mean", "black"] = "mean"  # colour of the region
    evaluated: Literal["removed", "intact"] = "removed"  # test pictures lack their region, too, or are intact
    network: str = "resnet8_projected"  # by name, as in cifar; this one has the paper's 1,227,594 parameters
    width: int = 0  # channels of its first stage; 0: as published
    train_rows: int = 10000  # training pictures, equally many of each class
    reference_rows: int = 1000  # of these, as the model was trained on them, for methods that need reference data
    epochs: int = 35  # of the original network's training
    retrain_epochs: int = 35  # of the retrained one's
    batch: int = 256  # pictures per step
    lr: float = 1e-3  # of Adam

    def __post_init__(self) -> None:
        if min(self.width, self.epochs, self.retrain_epochs, self.batch - 1) < 0:
            raise SpecError("spurious_retrain: width and both epochs are 0 or more, batch is 1 or more.")
        if not 1 <= self.reference_rows <= self.train_rows:
            raise SpecError(
                f"spurious_retrain: reference_rows={self.reference_rows} must be 1 to train_rows={self.train_rows}."
            )
        regions(self.strategy, self.share, self._source.side)  # raises SpecError for a share that does not fit
        self._blank()  # raises SpecError for an unknown network

    @classmethod
    def tiny(cls) -> SpuriousRetrain:
        small = cls("shapes", network="resnet8_projected", width=4, train_rows=80, reference_rows=16, batch=16, lr=1e-2)
        return replace(small, strategy="centre_and_class", epochs=2, retrain_epochs=4)

    def check_data(self) -> None:
        if self.dataset != "shapes":
            check(self.dataset)

    def identities(self, indices: Sequence[int], seed: int) -> list[Hashable]:
        """Test pictures come again with other seeds; drawn ones do not."""
        return self._source.identities(indices, seed)

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        pixels, label = self._source.evaluated(indices, seed)
        x = self._read(pixels)
        if self.evaluated == "removed" and not self._removed_by_model:
            keys = [("spurious_retrain", "evaluated", seed, index) for index in indices]
            drawn = (Draws(keys).uniform() * len(self._source.classes)).long()
            x = self._without(x, drawn if self.masks_by == "chance" else label)
        return Samples(x, label, None, tuple(indices))

    def train(self, seed: int) -> dict[str, Tensor]:
        x, label = self._training(seed)
        original = self._restored(self._original(x, label, seed))
        incomplete = self._incomplete(x, label, seed, original)
        retrained = self._fitted(incomplete, label, self.retrain_epochs, "retrained", seed)
        return {**prefixed("original", original.state_dict()), **prefixed("retrained", retrained)}

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        original, retrained = (self._restored(of_part(part, weights)) for part in ("original", "retrained"))
        layer = last_stage(retrained)
        question = Question("logit", 1.0, "zero", "label")
        features = Pixels(3, self._source.side, self._source.side)
        setting = Setting(retrained, features, "image", question, self._source.classes, sibling=original)
        hints = {"grad_cam": layer} if layer else {}
        if self._removed_by_model:
            first = self._removal(original)
            model, sibling = (_in_sequence(removal=first, network=network) for network in (retrained, original))
            hints = dict.fromkeys(hints, f"network.{layer}")
            setting = replace(setting, model=model, sibling=sibling)
        reference = DrawnReference(partial(self._reference, seed, original))
        return replace(setting, reference=reference, picture=self._picture, hints=hints)

    def _original(self, x: Tensor, label: Tensor, seed: int) -> dict[str, Tensor]:
        """The original network's weights; environments that remove other regions have the same."""
        augment = partial(shifted, MARGIN)
        train = partial(self._fitted, x, label, self.epochs, "original", seed, augment)
        if self.epochs * len(x) < SHARED:
            return train()
        facts = [self.network, self.width, self.epochs, self.batch, self.lr, seed, x, label]
        return trained_once(__file__, facts, train)

    def _fitted(
        self, x: Tensor, label: Tensor, epochs: int, name: str, seed: int, augment: Augment | None = None
    ) -> dict[str, Tensor]:
        random = generator("spurious_retrain", self.network, name, seed)
        begin(network := self._blank(), random)
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # takes 3/4 of the time
        optimiser = partial(torch.optim.Adam, weight_decay=DECAY)
        fit(
            network,
            x.to(memory_format=torch.channels_last),
            label,
            epochs,
            self.batch,
            self.lr,
            random,
            optimiser=optimiser,
            schedule=lambda epoch: 0.5 ** (epoch // STEP),
            augment=augment,
        )
        return {name: tensor.contiguous() for name, tensor in network.state_dict().items()}

    @property
    def _source(self) -> Shapes | Photographs:
        return picture_source(self.dataset)

    @property
    def _removed_by_model(self) -> bool:
        """True if regions of evaluated pictures follow from what the original network predicts."""
        return self.masks_by == "predicted" and self.evaluated == "removed"

    def _training(self, seed: int) -> tuple[Tensor, Tensor]:
        pixels, label = self._source.training(self.train_rows, seed)
        return self._read(pixels), label

    def _reference(self, seed: int, original: nn.Module) -> Reference:
        """Some training rows, as the retrained model saw them; intact where it removes regions itself."""
        x, label = self._training(seed)
        chosen = torch.randperm(len(label), generator=generator("spurious_retrain", "reference", seed))
        rows = chosen[: self.reference_rows]
        seen = x if self._removed_by_model else self._incomplete(x, label, seed, original)
        return Reference(seen[rows], label[rows])

    def _incomplete(self, x: Tensor, label: Tensor, seed: int, original: nn.Module) -> Tensor:
        """All training pictures without their regions."""
        if self.masks_by == "predicted":
            return self._removal(original)(x)  # type: ignore[no-any-return]
        random = generator("spurious_retrain", "training", seed)
        drawn = torch.randint(len(self._source.classes), label.shape, generator=random)
        return self._without(x, drawn if self.masks_by == "chance" else label)

    def _without(self, x: Tensor, chosen: Tensor) -> Tensor:
        """Pictures without the region of a class each."""
        removed = regions(self.strategy, self.share, self._source.side)
        return torch.where(removed[chosen][:, None], self._canvas(x), x)

    def _removal(self, original: nn.Module) -> Removal:
        removed = regions(self.strategy, self.share, self._source.side)
        return Removal(original, removed, self._canvas(torch.zeros(())))

    def _canvas(self, like: Tensor) -> Tensor:
        """The region's colour (3, 1, 1), in the units of x."""
        mean, deviation = self._colours(like)
        return -mean / deviation if self.fill == "black" else torch.zeros_like(mean)

    def _blank(self) -> nn.Module:
        return network_by_name(self.network, self._source.side, len(self._source.classes), self.width)

    def _restored(self, weights: Mapping[str, Tensor]) -> nn.Module:
        restore(network := self._blank(), weights)
        return network

    def _read(self, pixels: Tensor) -> Tensor:
        """Convert uint8 pixels to what the networks read."""
        x = pixels.float() / 255
        mean, deviation = self._colours(x)
        return (x - mean) / deviation

    def _picture(self, x: Tensor) -> Tensor:
        mean, deviation = self._colours(x)
        return (x * deviation + mean).clamp(0, 1)

    def _colours(self, like: Tensor) -> tuple[Tensor, Tensor]:
        mean, deviation = torch.tensor(self._source.colours, dtype=like.dtype, device=like.device).view(2, 3, 1, 1)
        return mean, deviation


class Removal(nn.Module):
    """Replaces, in each picture, the region of the class that a network predicts."""

    regions: Tensor
    fill: Tensor

    def __init__(self, network: nn.Module, removed: Tensor, fill: Tensor) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("regions", removed)
        self.register_buffer("fill", fill)
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            chosen = torch.cat([self.network(rows).argmax(dim=1) for rows in x.split(ROWS)])
        return torch.where(self.regions[chosen][:, None], self.fill, x)


def regions(strategy: Strategy, share: float, side: int) -> Tensor:
    """The pixels that are removed for each class, bool (classes, side, side): equally many for all."""
    count = int(side**2 * share)
    if not 0 < count < side**2:
        raise SpecError(f"spurious_retrain: share={share} of {side} x {side} pixels removes none or all of them.")
    middle = _squared_distance((side - 1) / 2, (side - 1) / 2, side)
    own = torch.stack([_squared_distance(row, column, side) for row, column in _places(side)])
    if strategy == "class":
        return _nearest(own, count)
    if strategy == "centre":
        return _nearest(middle, count).expand(len(own), -1, -1)
    discs = own <= int(side * RADIUS) ** 2
    if int(discs.sum(dim=(1, 2)).max()) > count:
        raise SpecError(f"spurious_retrain: share={share} removes fewer pixels than the disc of a class has.")
    return _nearest(middle.where(~discs, -1.0), count)


def _places(side: int) -> list[tuple[int, int]]:
    return [(row * side // PLACES_SIDE, column * side // PLACES_SIDE) for row, column in PLACES]


def _squared_distance(row: float, column: float, side: int) -> Tensor:
    """Of each pixel from a point, (side, side); exact, and the same for pixels that are equally far."""
    numbers = torch.arange(side, dtype=torch.float64)
    return (numbers - row).square()[:, None] + (numbers - column).square()


def _nearest(distance: Tensor, count: int) -> Tensor:
    """The ``count`` pixels of smallest distance; of equally far ones the upper and left ones first."""
    flat = distance.flatten(-2)
    order = flat.argsort(dim=-1, stable=True)[..., :count]
    return torch.zeros_like(flat, dtype=torch.bool).scatter(-1, order, True).view(distance.shape)


def _in_sequence(**modules: nn.Module) -> nn.Module:
    return nn.Sequential(OrderedDict(modules)).eval()
