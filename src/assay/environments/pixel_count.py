"""The number of white pixels, by a network with hand-set weights (AttributionLab, appendices C.2 and D)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn

from assay.core.features import Pixels
from assay.core.question import Question
from assay.core.rng import Key
from assay.core.setting import Samples, Setting
from assay.craft.interpret import Interpreted, interpret_pixel_count
from assay.craft.networks import pixel_count
from assay.environments._white import white_hints, white_pixels, white_reference, white_samples


@dataclass(frozen=True)
class PixelCount:
    """Four Bézier patches of random black and white pixels; the network answers how many pixels are white.

    The regression variant of ``pixel_modulo``: the same accumulator with an identity head. Every white pixel has
    effect 1, every other pixel 0. The seed draws the accumulator's weights.
    """

    paper: ClassVar[str] = "Zhang et al., AttributionLab, 2024"
    modality: ClassVar[str] = "image"

    side: int = 224  # pixels
    patches: int = 4  # per image
    radii: tuple[float, float] | None = None  # smallest and largest patch radius; None: 22.7 to 37.4, scaled with side
    uniform: bool = False  # accumulator with all weights 1 instead of random ones
    weight_seed: int | None = None  # of the accumulator; None: the study's seed
    reference: int = 0  # images for methods that need reference data, such as IBA; held in memory

    @classmethod
    def tiny(cls) -> PixelCount:
        return cls(side=24, reference=16)

    @property
    def draws_model(self) -> bool:
        """True if the seed draws the accumulator's weights: they are not all 1 and have no seed of their own."""
        return not self.uniform and self.weight_seed is None

    def program(self, x: Tensor, seed: int) -> Tensor:
        """The sum of all pixels."""
        return x.sum(dim=(1, 2, 3)).unsqueeze(1)

    def network(self, seed: int) -> nn.Module:
        return pixel_count(self.side, self.uniform, self._weight_seed(seed))

    def wires(self, seed: int) -> Interpreted:
        """The network's output, computed a second way as a check: its wires, interpreted."""
        return interpret_pixel_count(self.side, self.uniform, self._weight_seed(seed))

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        network = self.network(seed)
        return Setting(
            model=network,
            features=Pixels(1, self.side, self.side),
            kind="image",
            question=Question("value", 1.0, "zero", "label"),
            background=torch.zeros(1, self.side, self.side),
            reference=white_reference(partial(self._white, ("pixel_count", "reference", seed)), self.reference),
            outputs="value",
            hints=white_hints(network),
        )

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        return white_samples(self._white(("pixel_count", seed), indices), indices)

    def _white(self, stream: Key, indices: Sequence[int]) -> Tensor:
        return white_pixels([(*stream, index) for index in indices], self.patches, self.radii, self.side)

    def _weight_seed(self, seed: int) -> int:
        return seed if self.weight_seed is None else self.weight_seed
