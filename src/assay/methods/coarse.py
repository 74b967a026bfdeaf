"""Another method's map at a lower resolution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from assay.core.errors import NotApplicable, SpecError
from assay.core.protocols import Method, positive_only
from assay.core.query import Query, Remarks
from assay.core.trial import per_feature
from assay.methods._layer_maps import layer_grid, upsampled
from assay.methods.gradient import Gradient


@dataclass(frozen=True)
class Coarse:
    """Another method's map of an image, averaged over a grid of cells and enlarged again as a class activation map is.

    So one method is compared with itself at several resolutions: nothing but the resolution changes. Channels are
    summed first. A cell covers every pixel that it touches: where cells do not divide a side, neighbours share pixels.
    Enlarging is bilinear, so that a map of so many cells that was enlarged before comes out a little smoother.
    """

    of: Method = Gradient()  # the inner method
    cells: int = 8  # along each side of the image

    def __post_init__(self) -> None:
        if self.cells < 1:
            raise SpecError(f"coarse: cells={self.cells} must be at least 1.")

    @property
    def fit(self) -> Callable[[Query], dict[str, Tensor]]:
        """The inner method's; absent if it has none."""
        return self.of.fit  # type: ignore[attr-defined,no-any-return]

    @property
    def positive_only(self) -> bool:
        """As for the inner method: means of non-negative numbers are not negative."""
        return positive_only(self.of)

    def __call__(self, query: Query) -> Tensor:
        if query.setting.kind != "image":
            raise NotApplicable(f"needs an image, and this is {query.setting.kind} data")
        height, width = query.setting.features.shape
        if self.cells > min(height, width):
            raise NotApplicable(f"needs a pixel a cell at least: images are {height} x {width}, ask for fewer cells")
        inner = replace(query, remarks=Remarks(query.remarks.notes))  # what else it remarks is about its own map
        fine = per_feature(self.of(inner), query.setting.features)
        means = adaptive_avg_pool2d(fine.unsqueeze(1), self.cells)
        if self.positive_only:
            query.remarks.grid = layer_grid(query, means)
        return upsampled(query, means).squeeze(1)
