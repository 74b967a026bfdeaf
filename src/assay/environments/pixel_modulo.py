"""The number of white pixels modulo N, by a network with hand-set weights (AttributionLab, appendices C, D and F)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from assay.core.errors import AssayError
from assay.core.features import Pixels
from assay.core.question import Question
from assay.core.rng import Key
from assay.core.setting import Samples, Setting
from assay.craft.interpret import Interpreted, interpret_pixel_modulo
from assay.craft.networks import pixel_modulo
from assay.environments._white import PAPER_SIDE, white_hints, white_pixels, white_reference, white_samples

PAPER_LARGEST = 4900


@dataclass(frozen=True)
class PixelModulo:
    """Four Bézier patches of random black and white pixels; the network answers (number of white pixels) mod N.

    Every white pixel has effect 1, every other pixel 0 (propositions 3.1, 3.2). In the paper's configuration, the
    default, the network has 17 layers and 675,033 parameters. The seed draws the accumulator's weights.

    At remainder 0 the network is on a kink, where its gradient is exactly 0. About one image in N has it; with
    ``labels`` these images, or all others, are evaluated apart. Images with another remainder are drawn again.
    """

    paper: ClassVar[str] = "Zhang et al., AttributionLab, 2024"
    modality: ClassVar[str] = "image"

    side: int = 224  # pixels
    modulus: int = 30  # N
    largest: int | None = None  # largest count the network can take; None: 4900, scaled with the image's area
    patches: int = 4  # per image
    radii: tuple[float, float] | None = None  # smallest and largest patch radius; None: 22.7 to 37.4, scaled with side
    uniform: bool = False  # accumulator with all weights 1 instead of random ones
    weight_seed: int | None = None  # of the accumulator; None: the study's seed
    labels: Literal["any", "zero", "other"] = "any"  # which images: all, those with remainder 0, or all others
    reference: int = 0  # images for methods that need reference data, such as IBA; held in memory

    @classmethod
    def tiny(cls) -> PixelModulo:
        return cls(side=24, modulus=5, reference=16)

    @property
    def draws_model(self) -> bool:
        """True if the seed draws the accumulator's weights: they are not all 1 and have no seed of their own."""
        return not self.uniform and self.weight_seed is None

    def program(self, x: Tensor, seed: int) -> Tensor:
        """The count modulo N; between N - 1 and N, where there is no whole number, it falls to 0 linearly."""
        rest = x.sum(dim=(1, 2, 3)).remainder(self.modulus)
        return (rest - self.modulus * (rest - (self.modulus - 1)).clamp(min=0)).unsqueeze(1)

    def network(self, seed: int) -> nn.Module:
        return pixel_modulo(self.side, self.modulus, self._largest, self.uniform, self._weight_seed(seed))

    def wires(self, seed: int) -> Interpreted:
        """The network's output, computed a second way as a check: its wires, interpreted."""
        return interpret_pixel_modulo(self.side, self.modulus, self._largest, self.uniform, self._weight_seed(seed))

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        network = self.network(seed)
        return Setting(
            model=network,
            features=Pixels(1, self.side, self.side),
            kind="image",
            question=Question("value", 1.0, "zero", "label"),
            background=torch.zeros(1, self.side, self.side),
            reference=white_reference(partial(self._white, ("pixel_modulo", "reference", seed)), self.reference),
            outputs="value",
            hints=white_hints(network),
        )

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        return white_samples(self._chosen(("pixel_modulo", seed), indices), indices)

    def _chosen(self, stream: Key, indices: Sequence[int]) -> Tensor:
        """Images with the remainder that is asked for. The first attempt is the image of ``labels="any"``."""
        white = self._white(stream, indices)
        attempt = 0
        while bool((refused := self._refused(white)).any()):
            attempt += 1
            white[refused] = self._white((*stream, "again", attempt), torch.tensor(indices)[refused].tolist())
        return white

    def _refused(self, white: Tensor) -> Tensor:
        """(B,): images that are not asked for."""
        zero = white.sum(dim=(1, 2)) % self.modulus == 0
        return {"any": zero & False, "zero": ~zero, "other": zero}[self.labels]

    def _white(self, stream: Key, indices: Sequence[int]) -> Tensor:
        white = white_pixels([(*stream, index) for index in indices], self.patches, self.radii, self.side)
        limit = -(-self._largest // self.modulus) * self.modulus
        if bool((white.sum(dim=(1, 2)) > limit).any()):
            raise AssayError(
                f"pixel_modulo: an image has more than {limit} white pixels; raise largest or shrink radii."
            )
        return white

    def remainder(self, samples: Samples) -> Tensor:
        """(B,): the label in the paper's sense, which the network must answer."""
        return self.program(samples.x, 0)[:, 0].long()

    @property
    def _largest(self) -> int:
        return self.largest or max(self.modulus, round(PAPER_LARGEST * (self.side / PAPER_SIDE) ** 2))

    def _weight_seed(self, seed: int) -> int:
        return seed if self.weight_seed is None else self.weight_seed
