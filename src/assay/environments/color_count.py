"""The dominant colour, by a network with hand-set weights (AttributionLab, section 3 and appendices C.4, G and I)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import floor, log10
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from assay.core.features import Pixels
from assay.core.question import Question
from assay.core.rng import Draws, Key
from assay.core.setting import DrawnReference, Reference, Samples, Setting, Truth
from assay.craft.accumulate import layer_hints, redundant_weights
from assay.craft.interpret import Interpreted, interpret_color_count
from assay.craft.networks import color_count
from assay.craft.tiling import plan, tile_sums, tiles
from assay.kit.patches import scatter_boxes, shapes, speckle

PAPER_SIDE = 224
PAPER_SIZES = (20, 50)  # ours: the paper does not say
CACHE = 2**20  # bytes of the images that the program counts at a time: they stay in a core's cache
NAMES = {(255, 255, 255): "white", (255, 127, 0): "orange", (0, 127, 255): "blue", (0, 255, 0): "green"}


@dataclass(frozen=True)
class ColorCount:
    """Patches of different colours on a dark background; the network counts the pixels of each colour.

    Pixels of the winning colour have effect +1 on the probability, of other colours -1, background 0. On the winner's
    logit other colours have no effect; on the margin only the runner-up does. With ``unseen`` the network also has
    redundant channels: any colour that is not in the data activates them, and they change the counts at random. The
    seed draws their weights.
    """

    paper: ClassVar[str] = "Zhang et al., AttributionLab, 2024"
    modality: ClassVar[str] = "image"

    side: int = 224  # pixels
    colors: tuple[tuple[int, int, int], ...] = (
        (255, 255, 255),
        (255, 127, 0),
        (0, 127, 255),
        (0, 255, 0),
    )  # one per class
    background: tuple[int, int, int] = (20, 20, 20)  # its colour, which no patch has
    sizes: tuple[int, int] | None = None  # smallest and largest patch; None: 20 to 50, scaled with side
    unseen: bool = True  # unseen-data effect; False: no redundant channels
    redundant: int = 2  # redundant channels
    scale: float | Literal["torch"] = 1.0  # redundant weights are uniform in -scale..scale; torch: PyTorch's range
    weight_seed: int | None = None  # of the redundant weights; None: the study's seed
    uniform: bool = False  # accumulator with all weights 1 instead of random ones
    accumulator_seed: int = 0  # of the random weights
    temperature: float | None = None  # of the explained probability; None: half the median lead of the winner
    reference: int = 0  # images for methods that need reference data, such as IBA; held in memory
    forward: Literal["network", "program"] = "network"  # what answers if no gradient is needed; both agree

    @classmethod
    def tiny(cls) -> ColorCount:
        return cls(side=16, sizes=(3, 6), reference=16)

    @property
    def draws_model(self) -> bool:
        """True if the seed draws redundant weights."""
        return self._redundant > 0 and self.weight_seed is None

    def program(self, x: Tensor, seed: int) -> Tensor:
        """Count the pixels of each colour; if there are redundant channels, tile by tile, with what they add."""
        rows = max(1, CACHE // (3 * self.side**2 * x.element_size()))
        return torch.cat([self._count(part, seed) for part in x.split(rows)])

    def _count(self, x: Tensor, seed: int) -> Tensor:
        x = x.contiguous()  # whole channels are compared faster than single numbers
        counted = torch.stack([_resembles(x, color) for color in self.colors], dim=1)  # (B, C, H, W)
        if not self._redundant:
            return counted.sum(dim=(2, 3))
        unseen = (1 - counted.sum(dim=1) - _resembles(x, self.background)).clamp(min=0)
        first = plan(self.side)[0]
        push = self._weights(seed).sum(dim=1).flatten(1).to(x)  # (C, 9): channels are equal, so weights add up
        pushed = tiles(unseen[:, None], first)[:, 0] @ push.T  # (B, tiles, C)
        return (tile_sums(counted, first) + pushed.transpose(1, 2)).clamp(min=0).sum(dim=2)

    def network(self, seed: int) -> nn.Module:
        return color_count(
            self.side,
            self.colors,
            self.background,
            self._redundant,
            self.uniform,
            self._weight_seed(seed),
            self.accumulator_seed,
            self.scale,
        )

    def wires(self, seed: int) -> Interpreted:
        """The network's output, computed a second way as a check: its wires, interpreted."""
        weight_seed = self._weight_seed(seed)
        return interpret_color_count(self.side, self.colors, self.background, self._redundant, weight_seed, self.scale)

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        background = torch.tensor(self.background, dtype=torch.float32)[:, None, None]
        network = self.network(seed)
        return Setting(
            model=network,
            features=Pixels(3, self.side, self.side),
            kind="image",
            question=Question("probability", self.temperature or _half_lead(self), "zero", "label"),
            classes=tuple(NAMES.get(color, f"rgb{color}") for color in self.colors),
            background=background.expand(3, self.side, self.side),
            reference=DrawnReference(partial(self._reference, seed)) if self.reference else None,
            picture=lambda x: x / 255,
            forward=partial(self.program, seed=seed) if self.forward == "program" else None,
            hints=layer_hints(network, grad_cam=(1, "last"), iba=(2, "first")),  # the paper's layers.5 and layers.7
        )

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        masks = self._masks(("color_count", seed), indices)  # (B, C, H, W)
        first, second = masks.sum(dim=(2, 3)).topk(2, dim=1).indices.unbind(dim=1)
        winner, rival = (one_hot(color, len(self.colors)) for color in (first, second))

        def effect(sign: Tensor) -> Tensor:
            return (masks * sign[:, :, None, None]).sum(dim=1).float()

        on_logit = effect(winner)
        truth = Truth(effect(2 * winner - 1), {"logit": on_logit, "value": on_logit, "margin": effect(winner - rival)})
        return Samples(self._paint(masks), first, truth, tuple(indices))

    def _reference(self, seed: int) -> Reference:
        masks = self._masks(("color_count", "reference", seed), range(self.reference))
        return Reference(self._paint(masks), masks.sum(dim=(2, 3)).argmax(dim=1))

    def _masks(self, stream: Key, indices: Sequence[int]) -> Tensor:
        """Bool (B, C, H, W), one patch per colour. An image with a tie for the winner is drawn again."""
        masks = self._draw([(*stream, index, 0) for index in indices])
        attempt = 0
        while bool((tied := _lead(masks) == 0).any()):
            attempt += 1
            redrawn = [(*stream, index, attempt) for index, tie in zip(indices, tied, strict=True) if tie]
            masks[tied] = self._draw(redrawn)
        return masks

    def _draw(self, keys: Sequence[Key]) -> Tensor:
        draws = Draws(keys)
        low, high = self.sizes or (round(size * self.side / PAPER_SIDE) for size in PAPER_SIZES)
        sizes = (low + (high - low + 1) * draws.uniform(len(self.colors))).floor()
        centres = scatter_boxes(draws, sizes, self.side)
        return speckle(draws, shapes(draws, centres, sizes, self.side))

    def _paint(self, masks: Tensor) -> Tensor:
        """Images (B, 3, H, W), channels last in memory: convolutions of these take half the time."""
        colors = torch.tensor(self.colors, dtype=torch.float32)
        background = torch.tensor(self.background, dtype=torch.float32)
        above = torch.einsum("bphw,pc->bhwc", masks.float(), colors - background)
        return (background + above).contiguous().permute(0, 3, 1, 2)

    def _weights(self, seed: int) -> Tensor:
        return redundant_weights(len(self.colors), self._redundant, self.scale, self._weight_seed(seed))

    @property
    def _redundant(self) -> int:
        return self.redundant if self.unseen else 0

    def _weight_seed(self, seed: int) -> int:
        return seed if self.weight_seed is None else self.weight_seed


def _resembles(x: Tensor, color: tuple[int, int, int]) -> Tensor:
    """(B, H, W): 1 at the colour, falling to 0 at L1 distance 1; 0 elsewhere."""
    target = torch.tensor(color, dtype=x.dtype, device=x.device)[:, None, None]
    near = (x - target).abs_().neg_().add_(1).clamp_(min=0)  # in place: this takes most of the program's time
    return near.sum(dim=1).sub_(2).clamp_(min=0)


def _lead(masks: Tensor) -> Tensor:
    """(B,): pixels of the winner minus those of the runner-up."""
    first, second = masks.sum(dim=(2, 3)).topk(2, dim=1).values.unbind(dim=1)
    return first - second


@lru_cache(maxsize=32)
def _half_lead(environment: ColorCount) -> float:
    """Half the winner's median lead over 64 images, to two digits: avoids the flat ends of the softmax."""
    masks = environment._masks(("color_count", -1), range(64))
    half = float(_lead(masks).double().median()) / 2
    return float(round(half, 1 - floor(log10(half))))
