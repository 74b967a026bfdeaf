"""Controls that see neither the model nor the values of the input: constant, given, random and centred maps."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, prod
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query


@dataclass(frozen=True)
class Constant:
    """1 for every feature."""

    control: ClassVar[bool] = True  # knows nothing about the model

    def __call__(self, query: Query) -> Tensor:
        return query.x.new_ones(len(query.x), *query.setting.features.shape)


@dataclass(frozen=True)
class FixedMap:
    """The same numbers for every sample: feature i gets value i, and the values begin anew after the last one.

    Two fixed maps of one order and other sizes show whether a metric reads sizes.
    """

    values: tuple[float, ...] = (1.0, 2.0, 3.0)  # in the order of the features

    paper: ClassVar[str] = "A Dual-Perspective Approach (Li et al., 2024), section 3.3"
    control: ClassVar[bool] = True  # knows nothing about the model

    def __post_init__(self) -> None:
        if not self.values or not all(map(isfinite, self.values)):
            raise SpecError(f"fixed_map: values={self.values} must be one finite number or more.")

    def __call__(self, query: Query) -> Tensor:
        shape = query.setting.features.shape
        index = torch.arange(prod(shape), device=query.x.device) % len(self.values)
        return query.x.new_tensor(self.values)[index].view(shape).repeat(len(query.x), *[1] * len(shape))


def uniform_map(query: Query) -> Tensor:
    """Numbers from [0, 1), one per feature; a sample gets the same ones in every block."""
    return query.draws("map").uniform(*query.setting.features.shape).to(query.x)


@dataclass(frozen=True)
class RandomMap:
    """Numbers drawn uniformly from [0, 1), one per feature.

    A sample gets the same map in every block.
    """

    control: ClassVar[bool] = True  # knows nothing about the model

    def __call__(self, query: Query) -> Tensor:
        return uniform_map(query)


@dataclass(frozen=True)
class RandomShifted:
    """Numbers drawn uniformly from [offset, offset + 1), one per feature.

    The offset does not change the order of features, nor the order of sums over patches of one size. A metric that
    scores this map unlike a uniform one therefore judges the size of attributions.
    """

    offset: float = 1.0  # added to a number in [0, 1)

    paper: ClassVar[str] = "Zabička et al., Benchmarking the Attribution Quality of Vision Models: a reproduction"
    control: ClassVar[bool] = True  # knows nothing about the model

    def __post_init__(self) -> None:
        if not isfinite(self.offset):
            raise SpecError(f"random_shifted: offset={self.offset} is not finite. Choose a finite number.")

    def __call__(self, query: Query) -> Tensor:
        return uniform_map(query) + self.offset


@dataclass(frozen=True)
class RandomSquared:
    """Squares of numbers drawn uniformly from [0, 1), one per feature.

    "faithful" is the study's code, which does not square them: its "squared" map is uniform. Squaring does not change
    the order of features, but it changes sums over patches.
    """

    form: Literal["faithful", "corrected"] = "corrected"  # not squared (the study's code), or squared

    paper: ClassVar[str] = "Zabička et al., Benchmarking the Attribution Quality of Vision Models: a reproduction"
    control: ClassVar[bool] = True  # knows nothing about the model

    def __call__(self, query: Query) -> Tensor:
        values = uniform_map(query)
        return values.square() if self.form == "corrected" else values


@dataclass(frozen=True)
class CentredGaussian:
    """A Gaussian in the middle of the image, 1 at the centre: the same map for every image.

    The study's widths are 1, 2, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128, 160 and 256. "corrected"
    takes them in pixels; "faithful" as the study's code does, on axes from -1 to 1, where all of them are nearly flat.
    Ours: computed in float64 and rounded once, so that pixels at the same distance are exactly tied.
    """

    width: float = 64.0  # standard deviation
    form: Literal["faithful", "corrected"] = "corrected"  # width in half images (the study's code), or in pixels

    paper: ClassVar[str] = "Zabička et al., Benchmarking the Attribution Quality of Vision Models: a reproduction"
    control: ClassVar[bool] = True  # knows nothing about the model

    def __post_init__(self) -> None:
        if not self.width > 0:
            raise SpecError(f"centred_gaussian: width={self.width} is not positive. Choose a width above 0.")

    def __call__(self, query: Query) -> Tensor:
        if query.setting.kind != "image":
            raise NotApplicable(f"needs an image, and this is {query.setting.kind} data")
        down, across = (self._squares(size, query.x.device) for size in query.x.shape[-2:])
        gaussian = torch.exp(-(down[:, None] + across) / (2 * self.width**2))
        return gaussian.to(query.x.dtype).repeat(len(query.x), 1, 1)

    def _squares(self, size: int, device: torch.device) -> Tensor:
        """Squared distances from the middle along an axis."""
        offset = torch.arange(size, dtype=torch.float64, device=device) - (size - 1) / 2
        return (offset if self.form == "corrected" else offset / max((size - 1) / 2, 0.5)) ** 2
