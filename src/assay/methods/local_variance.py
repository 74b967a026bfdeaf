"""Local contrast as an attribution: the "entropy" control of the study of IDSDS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor
from torch.nn.functional import avg_pool2d, max_pool2d

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query


@dataclass(frozen=True)
class LocalVariance:
    """How much the brightness (mean over channels) varies around each pixel.

    The study's kernels are 3, 5, 7, 9, 13, 17 and 31. "faithful" is its code: squared deviations from the mean of the
    whole image, averaged over the window, where pixels outside the image count as 0. "corrected" is what it describes:
    deviations from the local mean. Ours: this is the variance of the window's pixels inside the image, divided by
    their number, and exactly 0 if they are all equal. The brightness is of the image as the model reads it.
    """

    kernel: int = 9  # side of the window, in pixels; odd
    form: Literal["faithful", "corrected"] = "corrected"  # around the image's mean (the study's code), or the window's

    paper: ClassVar[str] = "Zabička et al., Benchmarking the Attribution Quality of Vision Models: a reproduction"
    control: ClassVar[bool] = True  # knows nothing about the model

    def __post_init__(self) -> None:
        if self.kernel < 1 or self.kernel % 2 == 0:
            raise SpecError(
                f"local_variance: kernel={self.kernel} has no central pixel. Choose an odd number of pixels."
            )

    def __call__(self, query: Query) -> Tensor:
        if query.setting.kind != "image":
            raise NotApplicable(f"needs an image, and this is {query.setting.kind} data")
        grey = query.x.double().mean(dim=1)
        centred = grey - grey.mean(dim=(1, 2), keepdim=True)
        if self.form == "faithful":
            return self._mean(centred**2, count_outside=True).to(query.x.dtype)
        variance = self._mean(centred**2) - self._mean(centred) ** 2
        flat = self._largest(grey) == -self._largest(-grey)  # rounding errors must not make equal pixels vary
        return variance.clamp(min=0).masked_fill(flat, 0).to(query.x.dtype)

    def _mean(self, values: Tensor, count_outside: bool = False) -> Tensor:
        """The mean of each window; pixels outside the image count as 0, or not at all."""
        return avg_pool2d(values, self.kernel, 1, self.kernel // 2, count_include_pad=count_outside)

    def _largest(self, values: Tensor) -> Tensor:
        return max_pool2d(values, self.kernel, 1, self.kernel // 2)
