"""A user's folder of images and network."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import ClassVar, Literal

import torch
from PIL import Image
from torch import Tensor, nn

from assay.catalogue.files import digests
from assay.core.errors import SpecError
from assay.core.features import Pixels
from assay.core.question import Question
from assay.core.rng import generator
from assay.core.setting import DrawnReference, Reference, Samples, Setting
from assay.core.spec import Code, File, Folder
from assay.environments._example_images import ExampleImages
from assay.environments._shapes import Shapes
from assay.environments._user_model import UserModel
from assay.foreign.inputs import checked_baseline
from assay.foreign.models import ROWS, default_readout
from assay.train.networks import initialise
from assay.users.image_files import NAMES, ImageFiles, Images
from assay.users.pictures import Preparation, check_preparation
from assay.users.rows import Rows
from assay.users.subject import Asking, Subject

PREFIX = "image_folder: "  # of messages


@dataclass(frozen=True)
class ImageFolder:
    """Your network, and your images (PNG, JPEG, WebP) in a folder with a sub-folder for each class. No truth is known.

    The network's output i is the i-th class. Classes are the sorted names of the sub-folders, as torchvision has them.
    Where that is another order, or where the network has classes without images, a file ``classes.txt`` in the folder
    lists all of them, one name a line. A number of classes other than that of the outputs is an error; a wrong order
    shows as an accuracy at chance.

    An image is resized (bilinear, as Pillow does it) and cropped in its middle; colours in 0..1 become the network's by
    ``mean`` and ``deviation``, so that a zero baseline is the mean colour. Three numbers are for red, green and blue,
    one makes grey images.

    A data seed draws ``per_class`` images of every class; the first samples are of different classes. Reference rows
    are always the same images (ours), which no seed evaluates. Images are read block by block, reference rows when they
    are first needed.

    The model is used frozen and in evaluation mode, as in ``own``. Its source, your modules that it imports, its
    weights and all files in the folder are in the keys.
    """

    modality: ClassVar[str] = "image"
    draws_model: ClassVar[bool] = False

    folder: Folder = ""  # has a sub-folder of images for each class; empty: drawn pictures of ten shapes
    model: Code = "assay.environments.image_folder:example"  # module:attr, a model or a function that returns one
    weights: File = ""  # a state_dict for the model, .safetensors or torch's format; empty: the code's own weights
    resize: int = 256  # pixels of the shorter side, before the middle is cut out
    side: int = 224  # pixels of the square that is cut out, which is what the network reads
    mean: tuple[float, ...] = (0.485, 0.456, 0.406)  # subtracted from each colour; one number: grey images
    deviation: tuple[float, ...] = (0.229, 0.224, 0.225)  # by which each colour is divided after that
    per_class: int = 5  # images of each class that a data seed draws
    reference_rows: int = 100  # images that are not evaluated, at most; what a class has beyond per_class; 0: none
    outputs: Literal["logits", "probabilities"] = "logits"  # what the network answers with
    readout: Literal["logit", "probability", "margin"] | None = None  # what is explained; None: as outputs
    target: Literal["predicted", "label"] = "label"  # which class is explained; label: that of the sub-folder
    baseline: str | float = "zero"  # what methods compare with: zero, mean (of the reference), uniform, a number

    def __post_init__(self) -> None:
        check_preparation(self.resize, self.side, self.mean, self.deviation, PREFIX)
        if self.per_class < 1 or self.reference_rows < 0:
            raise SpecError("image_folder: per_class is 1 or more, reference_rows is 0 or more.")

    @classmethod
    def tiny(cls) -> ImageFolder:
        return cls(resize=18, side=16, per_class=10, reference_rows=16)

    def check_data(self) -> None:
        """Raises SpecError where the folder is not as it should be, or a file in it is no image."""
        if self.folder:
            files = ImageFiles(self.folder, PREFIX)
            self._checked(files)
            files.check()

    def identities(self, indices: Sequence[int], seed: int) -> list[Hashable]:
        """The paths of images in the folder: other seeds may draw the same ones."""
        return [name for _, name in self._drawn(self._images, indices, seed)]

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        images = self._images
        x, label = self._rows(images, self._drawn(images, indices, seed))
        return Samples(x, label, None, tuple(indices))

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        images, subject = self._images, _subject(self, self._model.version, digests(self.weights))
        taken = subject.taken
        classes, baseline = images.classes, checked_baseline(self.baseline)
        if len(classes) != taken.count:
            raise SpecError(
                f"image_folder: the network has {taken.count} outputs, and '{self.folder}' names {len(classes)} "
                f"classes. Write the classes of all outputs, in their order, into {NAMES} there, one name a line."
            )
        rows = self._reference(images)
        if baseline == "mean" and not rows:
            raise SpecError(
                "image_folder: the baseline 'mean' is that of reference images, and there are none: write a smaller "
                "per_class, or reference_rows of 1 or more."
            )
        question = Question(default_readout(taken.outputs, self.readout), 1.0, baseline, self.target)
        reference = DrawnReference(lambda: Reference(*self._rows(images, rows))) if rows else None
        return replace(subject.setting(question, reference), classes=classes, picture=self._picture)

    @property
    def _model(self) -> UserModel:
        return UserModel(self.model, self.weights, self.outputs)

    @property
    def _images(self) -> Images:
        return self._checked(ImageFiles(self.folder, PREFIX) if self.folder else ExampleImages())

    def _checked(self, images: Images) -> Images:
        for index, names in images.by_class.items():
            if len(names) < self.per_class:
                raise SpecError(
                    f"image_folder: class '{images.classes[index]}' has {len(names)} images, and per_class is "
                    f"{self.per_class}: write a smaller per_class, add images, or move the sub-folder away."
                )
        return images

    def _drawn(self, images: Images, indices: Sequence[int], seed: int) -> list[tuple[int, str]]:
        """Class and name of samples: one image of every class, in an order drawn by the seed, then another one."""
        present, count = sorted(images.by_class), len(images.by_class) * self.per_class
        if indices and max(indices) >= count:
            raise SpecError(
                f"image_folder: image {max(indices)} was asked for, and {self.per_class} of each of {len(present)} "
                f"classes are {count}, counted from 0. Samples are computed in whole blocks: give the study at most as "
                "many samples, and a block that divides them, or write a larger per_class."
            )
        kept = {name for _, name in self._reference(images)}
        order = torch.randperm(len(present), generator=generator("image_folder", "classes", seed)).tolist()
        drawn: dict[int, list[str]] = {}
        chosen = [(present[order[index % len(present)]], index // len(present)) for index in indices]
        for label in {label for label, _ in chosen}:
            names = [name for name in images.by_class[label] if name not in kept]
            drawn[label] = _shuffled(names, "images", images.classes[label], seed)
        return [(label, drawn[label][place]) for label, place in chosen]

    def _reference(self, images: Images) -> list[tuple[int, str]]:
        """Class and name of reference images: one of every class, then another one, of what classes can spare."""
        present, rows = sorted(images.by_class), list[tuple[int, str]]()
        order = torch.randperm(len(present), generator=generator("image_folder", "reference")).tolist()
        spare = {label: len(images.by_class[label]) - self.per_class for label in present}
        for place in range(max(spare.values())):
            for label in (present[index] for index in order):
                if len(rows) == self.reference_rows:
                    return rows
                if place < spare[label]:
                    names = _shuffled(images.by_class[label], "reference", images.classes[label], 0)
                    rows.append((label, names[place]))
        return rows

    def _few(self, images: Images) -> Tensor:
        """Images on which the network is tried."""
        count = min(ROWS, self.per_class * len(images.by_class))
        return self._rows(images, self._drawn(images, range(count), 0))[0]

    def _rows(self, images: Images, chosen: Sequence[tuple[int, str]]) -> tuple[Tensor, Tensor]:
        """Images as the network reads them (B, channels, side, side), and their classes."""
        pixels = torch.stack([self._cut_out(images.read(name)) for _, name in chosen])
        return self._preparation.standardised(pixels), torch.tensor([label for label, _ in chosen])

    def _cut_out(self, image: Image.Image) -> Tensor:
        return self._preparation.cut_out(image)

    def _picture(self, x: Tensor) -> Tensor:
        return self._preparation.picture(x)

    @property
    def _preparation(self) -> Preparation:
        return Preparation(self.resize, self.side, self.mean, self.deviation)


def example() -> nn.Module:
    """A small network for images of any size and ten drawn shapes, always the same: its last layer is fitted, by least
    squares, to pictures that are not among the examples."""
    read = (nn.AdaptiveAvgPool2d(16), nn.Conv2d(3, 32, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten())
    network = nn.Sequential(*read, last := nn.Linear(512, 10))
    initialise(network, generator("image_folder", "example"))
    pixels, label = Shapes().training(600, 1)
    network.double()  # so that every processor finds the same weights
    with torch.no_grad():
        hidden = nn.Sequential(*read)(Preparation().standardised((pixels / 255.0).to(last.weight)))
        wanted = torch.eye(10).double()[label] - 0.1
        last.weight.copy_(torch.linalg.solve(hidden.T @ hidden + 10 * torch.eye(512), hidden.T @ wanted).T)
        last.bias.zero_()
    return network.float()


def _shuffled(names: Sequence[str], purpose: str, label: str, seed: int) -> list[str]:
    order = torch.randperm(len(names), generator=generator("image_folder", purpose, label, seed))
    return [names[index] for index in order.tolist()]


@lru_cache(maxsize=2)
def _subject(folder: ImageFolder, _code: object, _weights: object) -> Subject:
    """The network and a few images on which it is tried, once per process."""
    x = folder._few(folder._images)
    rows = Rows(x, Pixels(*x.shape[1:]), "image")
    take = partial(Asking(folder.outputs).take, rows=rows)
    taken = take(folder._model.made()[0])
    folder._model.check_made_again(taken.module, lambda again: take(again).module, x)
    return Subject(rows, taken)
