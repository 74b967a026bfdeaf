"""LIME for images (Ribeiro et al., 2016), as the lime package does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from assay.core.errors import NotApplicable, SpecError
from assay.core.map_grid import Cells
from assay.core.query import Query
from assay.core.spec import File
from assay.kit.segments import equal_colours, felzenszwalb, quickshift, renumbered, rgb_pictures
from assay.methods._sam import load_sam, sam_segments

GROUP = 2**24  # most numbers of the regressions in memory at once


@dataclass(frozen=True)
class LimeImage:
    """Coefficients of a ridge regression of the score on which segments of the image are shown.

    LimeImageExplainer with all segments (also lime's choice, unless ``num_features`` is small). Each of ``samples``
    images shows every segment with probability 1/2; the first shows all. An image's weight is sqrt(exp(-d^2 /
    width^2)), where d is the cosine distance to showing all. Every pixel gets its segment's coefficient; an image of
    one segment gets one number.

    Ours: the question's baseline replaces a hidden segment. lime takes the segment's mean colour, which changes nothing
    on segments of one colour. Each image has its own random numbers. "oracle" segments are connected pixels of equal
    colour, as an ideal segmenter finds them in designed images. Segments are computed on the setting's picture of an
    image, or on the image stretched to 0..1. Needs no gradients.
    """

    segments: Literal["quickshift", "felzenszwalb", "sam", "oracle"] = "quickshift"  # how the image is cut up
    samples: int = 1000  # images with hidden segments, including the image itself
    width: float = 0.25  # of the kernel
    alpha: float = 1.0  # ridge penalty
    positive: bool = False  # keep only segments that speak for the class
    fill: Literal["baseline", "mean"] = "baseline"  # in place of a hidden segment: the baseline, or its mean colour
    limit: int = 1000  # most segments of an image
    kernel_size: float = 4.0  # of quickshift: width of the density's kernel in pixels
    max_dist: float = 200.0  # of quickshift: distance at which a link is cut
    ratio: float = 0.2  # of quickshift: weight of colour against position
    scale: float = 1.0  # of felzenszwalb: larger makes larger segments
    sigma: float = 0.8  # of felzenszwalb: blur beforehand in pixels
    min_size: int = 20  # of felzenszwalb: fewest pixels
    sam: File = ""  # of sam: the model.safetensors of a SamModel (transformers), with its config.json beside it
    points: int = 32  # of sam: prompts along each side
    quality: float = 0.88  # of sam: least IoU that SAM predicts for a mask
    stability: float = 0.95  # of sam: least ratio of a mask's areas at a higher and a lower threshold

    paper: ClassVar[str] = "Ribeiro et al., 2016"

    def __post_init__(self) -> None:
        if self.samples < 2 or self.width <= 0 or self.alpha <= 0 or self.limit < 1:
            raise SpecError(
                f"lime_image: samples={self.samples}, width={self.width}, alpha={self.alpha}, limit={self.limit} "
                "cannot make a regression. Choose 2 samples or more, and a positive width, alpha and limit."
            )
        if self.kernel_size < 1 or self.min_size < 1 or self.points < 1:
            raise SpecError(
                f"lime_image: kernel_size={self.kernel_size}, min_size={self.min_size}, points={self.points} "
                "cannot make segments. Choose 1 or more of each."
            )
        if (self.segments == "sam") != bool(self.sam):
            raise SpecError("lime_image: segments='sam' and the path of SAM's weights (sam='...') go together.")

    @property
    def positive_only(self) -> bool:
        return self.positive

    def __call__(self, query: Query) -> Tensor:
        if query.setting.kind != "image":
            raise NotApplicable(f"needs images, and this is {query.setting.kind} data")
        labels, counts = renumbered(self._labels(query))
        if counts.max() > self.limit:
            raise NotApplicable(f"needs at most {self.limit} segments, and an image here has {int(counts.max())}")
        query.remarks.grid = Cells(labels.int(), "segments")
        shown = self._design(query, counts.tolist())
        replacement = query.baseline if self.fill == "baseline" else _means(query.x, labels)
        scores = query.score_each(self.samples, lambda part: _composed(query, labels, shown[:, part], replacement)).T
        change = scores.double() - scores[:, :1].double()  # exactly 0 if no hidden segment has an effect
        coefficients = self._ridge(shown, self._weight(shown, counts), change)
        if self.positive:
            coefficients = coefficients.clamp(min=0)
        return coefficients.gather(1, labels.flatten(1)).view(labels.shape).to(query.x.dtype)

    def _labels(self, query: Query) -> Tensor:
        """Segment labels (B, H, W): any whole numbers, equal within a segment."""
        if self.segments == "oracle":
            return equal_colours(query.x)
        pictures = (query.setting.picture or rgb_pictures)(query.x)
        if self.segments == "felzenszwalb":
            return felzenszwalb(pictures, self.scale, self.sigma, self.min_size)
        if self.segments == "quickshift":
            seeds = (query.draws("quickshift").uniform() * 2**24).long().tolist()
            return quickshift(pictures, seeds, self.kernel_size, self.max_dist, self.ratio)
        model = load_sam(self.sam, query.x.device)
        options = (self.points, self.quality, self.stability)
        return sam_segments(pictures, model, *options, machine=query.machine)

    def _design(self, query: Query, counts: list[int]) -> Tensor:
        """Which segments are shown, bool (B, samples, segments): each with probability 1/2, in the first row all."""
        rows = []
        for row, count in enumerate(counts):  # an image's draws must not depend on how many segments others have
            shown = query.take(slice(row, row + 1)).draws("segments").uniform(self.samples, count)[0] < 0.5
            shown[0] = True
            rows.append(shown.T)
        return pad_sequence(rows, batch_first=True).mT.to(query.x.device)

    def _weight(self, shown: Tensor, counts: Tensor) -> Tensor:
        """The weight of each image by its cosine distance to showing all: (B, samples)."""
        distance = 1 - (shown.sum(dim=2).double() / counts[:, None]).sqrt()
        return (-(distance**2) / self.width**2).exp().sqrt()

    def _ridge(self, shown: Tensor, weight: Tensor, scores: Tensor) -> Tensor:
        """Weighted ridge regressions without penalty on intercepts: (B, segments). Segments of padding get 0."""
        unknowns = shown.shape[2] + 1
        penalty = torch.full((unknowns,), self.alpha, dtype=weight.dtype, device=weight.device)
        penalty[0] = 0
        solutions = []
        for part in torch.arange(len(shown)).split(max(1, GROUP // (unknowns * max(unknowns, self.samples)))):
            rows = torch.cat([torch.ones_like(shown[part, :, :1]), shown[part]], dim=2).to(weight)
            weighted = (rows * weight[part, :, None]).mT
            solutions.append(torch.linalg.solve(weighted @ rows + penalty.diag(), weighted @ scores[part, :, None]))
        return torch.cat(solutions)[:, 1:, 0]


def _composed(query: Query, labels: Tensor, shown: Tensor, replacement: Tensor) -> Tensor:
    """The images with only some segments shown, bool (B, K, segments): (K, B, *entries)."""
    segment = labels.flatten(1).unsqueeze(1).expand(-1, shown.shape[1], -1)
    mask = shown.gather(2, segment).transpose(0, 1).unflatten(2, labels.shape[1:])  # (K, B, H, W)
    return torch.where(query.setting.features.expand(mask), query.x, replacement)


def _means(x: Tensor, labels: Tensor) -> Tensor:
    """The images with every segment in its mean colour."""
    segment = labels.flatten(1).unsqueeze(1)
    size = torch.zeros(len(x), 1, int(labels.max()) + 1, dtype=torch.float64, device=x.device)
    total = size.repeat(1, x.shape[1], 1).scatter_add_(2, segment.expand(-1, x.shape[1], -1), x.flatten(2).double())
    size.scatter_add_(2, segment, torch.ones_like(segment, dtype=torch.float64))
    mean = total / size.clamp(min=1)
    return mean.gather(2, segment.expand(-1, x.shape[1], -1)).view(x.shape).to(x.dtype)
