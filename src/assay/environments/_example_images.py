"""Drawn pictures of ten shapes in place of a folder of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image

from assay.environments._shapes import Shapes

DRAWN = 14  # example images of each class


@dataclass(frozen=True)
class ExampleImages:
    """Drawn pictures of ten shapes in memory."""

    classes = Shapes.classes

    @property
    def by_class(self) -> Mapping[int, Sequence[str]]:
        return {index: [f"{name}/{place}" for place in range(DRAWN)] for index, name in enumerate(self.classes)}

    def read(self, name: str) -> Image.Image:
        shape, _, place = name.partition("/")
        return Image.fromarray(_drawn()[int(place) * len(self.classes) + self.classes.index(shape)])


@lru_cache(maxsize=1)
def _drawn() -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """(N, side, side, 3), one picture of each class after the other."""
    pixels, _ = Shapes().training(DRAWN * len(Shapes.classes), 0)
    array: np.ndarray[tuple[int, ...], np.dtype[np.uint8]] = pixels.permute(0, 2, 3, 1).contiguous().numpy()
    return array
