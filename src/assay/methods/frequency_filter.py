"""A band of the image's spatial frequencies as an attribution."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query

LUMINANCE = (0.2989, 0.5870, 0.1140)  # weights of red, green and blue
CUTS = {"low": (-inf, 0.4), "high": (0.6, inf), "band": (0.3, 0.6)}  # the study's radii


@dataclass(frozen=True)
class FrequencyFilter:
    """The image's brightness with only its low, high or middle frequencies.

    A frequency's radius is 0 for the mean and 1 for stripes of one pixel. "faithful" is the study's code: radii on
    axes from -1 to 1 over the shifted spectrum (half a step off for even sides), the real part with its sign, stretched
    to [0, 1] per image. "corrected": exact radii, and the absolute value, not stretched. Ours: brightness is the mean
    over channels if there are not three (red, green, blue).
    """

    band: Literal["low", "high", "band"] = "high"  # which frequencies stay
    above: float | None = None  # radius where they begin (high, band); None: the study's 0.6 and 0.3
    below: float | None = None  # radius where they end (low, band); None: the study's 0.4 and 0.6
    form: Literal["faithful", "corrected"] = "corrected"  # signed and stretched (the study's code), or absolute values

    paper: ClassVar[str] = "Zabička et al., Benchmarking the Attribution Quality of Vision Models: a reproduction"
    control: ClassVar[bool] = True  # knows nothing about the model

    def __post_init__(self) -> None:
        unused = {"low": self.above, "high": self.below, "band": None}[self.band]
        above, below = self._cuts()
        if unused is not None or not above < below:
            raise SpecError(
                f"frequency_filter: band={self.band!r}, above={self.above}, below={self.below} do not fit together. "
                "A low pass has only 'below', a high pass only 'above', a band 'above' less than 'below'."
            )

    def __call__(self, query: Query) -> Tensor:
        if query.setting.kind != "image":
            raise NotApplicable(f"needs an image, and this is {query.setting.kind} data")
        grey = _brightness(query.x.double())
        down, across = (self._axis(size, grey.device) for size in grey.shape[1:])
        spectrum = torch.fft.fft2(grey) * self._passed(torch.hypot(down[:, None], across))
        filtered: Tensor = torch.fft.ifft2(spectrum).real
        return (filtered.abs() if self.form == "corrected" else _stretched(filtered)).to(query.x.dtype)

    def _cuts(self) -> tuple[float, float]:
        above, below = CUTS[self.band]
        return above if self.above is None else self.above, below if self.below is None else self.below

    def _passed(self, radius: Tensor) -> Tensor:
        above, below = self._cuts()
        passed: Tensor = (radius > above) & (radius < below)
        return passed

    def _axis(self, size: int, device: torch.device) -> Tensor:
        """Frequencies along an axis, in the order of an unshifted spectrum."""
        exact: Tensor = 2 * torch.fft.fftfreq(size, dtype=torch.float64, device=device)
        shifted: Tensor = torch.fft.ifftshift(torch.linspace(-1, 1, size, dtype=torch.float64, device=device))
        return exact if self.form == "corrected" else shifted


def _brightness(x: Tensor) -> Tensor:
    """(B, C, H, W) -> (B, H, W)."""
    if x.shape[1] != len(LUMINANCE):
        return x.mean(dim=1)
    return torch.einsum("bchw,c->bhw", x, torch.tensor(LUMINANCE, dtype=x.dtype, device=x.device))


def _stretched(values: Tensor) -> Tensor:
    """From 0 at an image's smallest value to nearly 1 at its largest; the study's 1e-8 keeps rounding errors small."""
    low, high = values.amin(dim=(1, 2), keepdim=True), values.amax(dim=(1, 2), keepdim=True)
    return (values - low) / (high - low + 1e-8)
