"""Edges as an attribution: classical detectors that see the image and not the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad

from assay.core.errors import NotApplicable, SpecError
from assay.core.query import Query

SMOOTH, SLOPE = (1.0, 2.0, 1.0), (-1.0, 0.0, 1.0)  # Sobel's kernel is their product


@dataclass(frozen=True)
class EdgeMap:
    """How strong an edge the brightness (mean over channels) has at each pixel.

    "faithful" is the study's code. Intensity: sqrt(dx^2 + dy^2 + 1e-8), sobel: abs(dx) + abs(dy), both of 3 x 3 Sobel
    kernels; marr_hildreth: a 5 x 5 Gaussian of width 1 over the mirrored image, then the Laplacian of 4 neighbours,
    with its sign. Outside the image these kernels read 0, so that the frame of a bright image is an edge.
    "corrected": intensity takes differences of neighbouring pixels (central, one-sided at the border), as the study
    says; marr_hildreth is the Laplacian's absolute value. Ours: border pixels are repeated outside the image, so that
    the frame is not an edge.

    ``border`` takes the other rule for Sobel's and the Laplacian's kernel; the Gaussian keeps its own.
    """

    detector: Literal["intensity", "sobel", "marr_hildreth"] = "sobel"  # the edge detector
    form: Literal["faithful", "corrected"] = "corrected"  # what the study's code did, or what it says
    border: Literal["zero", "repeated"] | None = None  # pixels outside the image; None: as the form has them

    paper: ClassVar[str] = "Zabička et al., Benchmarking the Attribution Quality of Vision Models: a reproduction"
    control: ClassVar[bool] = True  # knows nothing about the model

    def __post_init__(self) -> None:
        if self.border and (self.detector, self.form) == ("intensity", "corrected"):
            raise SpecError(
                f"edge_map: border={self.border!r} changes nothing here: corrected intensity reads nothing outside the "
                "image. Leave border out, or write form='faithful'."
            )

    def __call__(self, query: Query) -> Tensor:
        if query.setting.kind != "image":
            raise NotApplicable(f"needs an image, and this is {query.setting.kind} data")
        if min(query.x.shape[-2:]) < 3:
            raise NotApplicable("needs an image of at least 3 pixels a side")
        grey = query.x.double().mean(dim=1)
        return getattr(self, f"_{self.detector}")(grey).to(query.x.dtype)  # type: ignore[no-any-return]

    def _intensity(self, grey: Tensor) -> Tensor:
        if self.form == "faithful":
            return (self._slope(grey, 1) ** 2 + self._slope(grey, 2) ** 2 + 1e-8).sqrt()
        down, across = torch.gradient(grey, dim=(1, 2))
        return torch.hypot(down, across)

    def _sobel(self, grey: Tensor) -> Tensor:
        return self._slope(grey, 1).abs() + self._slope(grey, 2).abs()

    def _marr_hildreth(self, grey: Tensor) -> Tensor:
        gaussian = torch.exp(-(torch.arange(-2.0, 3.0, dtype=torch.float64) ** 2) / 2)
        gaussian = gaussian / gaussian.sum()
        smooth = _filtered(grey, torch.outer(gaussian, gaussian), "reflect" if self.form == "faithful" else "replicate")
        laplace = self._edges(smooth, torch.tensor([[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]]))
        return laplace if self.form == "faithful" else laplace.abs()

    def _slope(self, grey: Tensor, dim: int) -> Tensor:
        """Sobel's derivative along a dimension."""
        kernel = torch.outer(torch.tensor(SMOOTH), torch.tensor(SLOPE))
        return self._edges(grey, kernel if dim == 2 else kernel.T)

    def _edges(self, image: Tensor, kernel: Tensor) -> Tensor:
        border = self.border or ("zero" if self.form == "faithful" else "repeated")
        return _filtered(image, kernel, "constant" if border == "zero" else "replicate")


def _filtered(image: Tensor, kernel: Tensor, padding: str) -> Tensor:
    """The sum of each pixel's neighbours, weighted by the kernel."""
    padded = pad(image.unsqueeze(1), [len(kernel) // 2] * 4, mode=padding)
    return conv2d(padded, kernel.to(image)[None, None]).squeeze(1)
