"""The top activating images of a few channels, in a network and in its sibling, for runs with the metric top_images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from assay.core.errors import StoreError
from assay.engine.store.arrays import Array
from assay.kit.top_rows import among_top, shares_in_common, varying
from assay.report.components import Component, components
from assay.report.loaded_run import LoadedRun, Series
from assay.report.pictures import enlarged

METRIC = "top_images"
ENDS = 3  # channels shown with most in common, and with least
SIDE = 64  # smallest size of a picture in pixels


@dataclass(frozen=True)
class TopImage:
    """A sample among the top of a channel."""

    sample: int
    source: str
    common: bool  # also among the top of the other network


@dataclass(frozen=True)
class Channel:
    """A channel, with its top images in the network and in its sibling, highest activation first."""

    number: int
    share: float  # of them in common
    sides: tuple[tuple[TopImage, ...], ...]


@dataclass(frozen=True)
class TopImagesPanel:
    """A metric in an environment."""

    environment: str
    metric: str
    samples: int = 0
    varying: int = 0  # channels that count
    channels: tuple[Channel, ...] = ()
    reason: str = ""


def top_images_panels(loaded: LoadedRun, folder: Path) -> tuple[TopImagesPanel, ...]:
    """Writes the pictures into ``folder``/images."""
    panels = list[TopImagesPanel]()
    for metric in components(loaded.run, "metrics"):
        if metric.spec.name == METRIC:
            for series in _first_series(loaded, metric.label):
                panels += _panel(loaded, series, metric, folder, f"images/t{len(panels)}")
    return tuple(panels)


def _first_series(loaded: LoadedRun, metric: str) -> Iterator[Series]:
    """One of each environment with probes of the metric: methods share them, and the first seed is shown."""
    seen = set[str]()
    for series in loaded.series():
        if series.get("probes", {}).get(metric) and series["environment"] not in seen:
            seen.add(series["environment"])
            yield series


@dataclass(frozen=True)
class _Pictures:
    """The pictures of samples, and where they are written."""

    pixels: Array  # uint8 (n, 3, h, w)
    folder: Path
    stem: str

    def images(self, samples: list[int], others: list[int]) -> tuple[TopImage, ...]:
        return tuple(TopImage(sample, self._save(sample), sample in others) for sample in samples)

    def _save(self, sample: int) -> str:
        name = f"{self.stem}-{sample}.png"
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray(np.moveaxis(self.pixels[sample], 0, -1).copy())
        enlarged(picture, SIDE).save(self.folder / name, optimize=True)
        return name


def _panel(loaded: LoadedRun, series: Series, metric: Component, folder: Path, stem: str) -> Iterator[TopImagesPanel]:
    """Nothing where the probe has no pictures or no channel counts."""
    environment, k = series["environment"], int(str(metric.spec.get("k")))
    try:
        probe = _probe(loaded, series, metric.label)
    except StoreError as error:
        yield TopImagesPanel(environment, metric.label, reason=str(error))
        return
    if "picture" not in probe:
        return
    own, other = (probe[name].astype(np.float64) for name in ("own", "other"))
    known = np.flatnonzero(np.isfinite(own).all(axis=1) & np.isfinite(other).all(axis=1))
    if len(known) <= k or not len(columns := varying(own[known], other[known])):
        return
    draw = _Pictures(probe["picture"], folder, stem)
    shares = shares_in_common(own[np.ix_(known, columns)], other[np.ix_(known, columns)], k)
    order = np.argsort(-shares, kind="stable")
    channels = []
    for index in dict.fromkeys([*order[:ENDS], *order[-ENDS:]]):
        left, right = (known[_top(side[known, columns[index]], k)].tolist() for side in (own, other))
        sides = draw.images(left, right), draw.images(right, left)
        channels.append(Channel(int(columns[index]), float(shares[index]), sides))
    yield TopImagesPanel(environment, metric.label, len(known), len(columns), tuple(channels))


def _probe(loaded: LoadedRun, series: Series, metric: str) -> dict[str, Array]:
    """The arrays of all blocks, for the samples that were asked for; empty where the metric did not apply."""
    found = loaded.store.get_many(series["probes"][metric])
    records = [found.get(key) for key in series["probes"][metric]]
    if any(record is None or record.status != "ok" for record in records):
        return {}
    blocks = [loaded.store.load(record) for record in records if record]
    return {name: np.concatenate([block[name] for block in blocks])[: series["samples"]] for name in blocks[0]}


def _top(values: Array, k: int) -> npt.NDArray[np.int64]:
    """The rows that have a place among the ``k`` largest, largest first; of those that tie for the last, the first."""
    first = np.argsort(-values, kind="stable")[:k]
    rows: npt.NDArray[np.int64] = first[among_top(values[:, None], k)[first, 0] > 0]
    return rows
