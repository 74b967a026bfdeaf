"""Soundness, completeness, ROAD and IDS as the papers say them: one sample, one pixel at a time. Nothing of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Masks = list[np.ndarray]  # for every feature, which entries are its own
Fill = Callable[[int, np.ndarray, list[int]], np.ndarray]  # sample, its input, removed features -> input without them


def heights(attribution: np.ndarray, features: Masks, transform: str) -> list[float]:
    """The map as soco stores it (absolute, channels added, min-max), cut to [0, 1] (paper) or to what is positive."""
    if transform == "abs":
        sizes = [sum(abs(float(value)) for value in attribution.ravel()[np.ravel(mask)]) for mask in features]
        low, high = min(sizes), max(sizes)
        return [(size - low) / (high - low) if high > low else 0.0 for size in sizes]
    sums = [float(attribution.ravel()[np.ravel(mask)].sum()) for mask in features]
    return [min(max(value, 0.0), 1.0) if transform == "clamp" else max(value, 0.0) for value in sums]


def above(height: Sequence[float], t: float) -> list[int]:
    """Algorithm 2, with the threshold relative to the map's maximum: what is removed."""
    return [feature for feature, value in enumerate(height) if value > t * max(height)]


def on_canvas(x: np.ndarray, canvas: np.ndarray, features: Masks, removed: Sequence[int]) -> np.ndarray:
    image = x.copy()
    for feature in removed:
        image[features[feature]] = canvas[features[feature]]
    return image


def imputed(x: np.ndarray, removed: Sequence[int]) -> np.ndarray:
    """ROAD: every removed pixel (C, H, W) is the weighted mean of its neighbours, removed or not; all at once."""
    channels, height, width = x.shape
    if len(removed) == height * width:
        return np.zeros_like(x)
    matrix, right = np.eye(height * width), x.reshape(channels, -1).T.copy()
    for pixel in removed:
        row, column = divmod(pixel, width)
        weights = {}
        for down in (-1, 0, 1):
            for across in (-1, 0, 1):
                inside = 0 <= row + down < height and 0 <= column + across < width
                if inside and (down, across) != (0, 0):
                    weights[(row + down) * width + column + across] = 1 / 6 if 0 in (down, across) else 1 / 12
        for neighbour, weight in weights.items():
            matrix[pixel, neighbour] = -weight / sum(weights.values())
        right[pixel] = 0
    return np.linalg.solve(matrix, right).T.reshape(x.shape)


def idsds_blur(x: np.ndarray) -> np.ndarray:
    """Kernel 51, "sigma" 41 at 224 pixels, in the exponent that IDSDS writes; zeros outside. (C, H, W)."""
    height, width = x.shape[1:]
    share = min(height, width) / 224
    reach = max(1, round(25 * share))
    weights = {
        (down, across): np.exp(-((down / (2 * 41 * share)) ** 2) - (across / (2 * 41 * share)) ** 2)
        for down in range(-reach, reach + 1)
        for across in range(-reach, reach + 1)
    }
    found = np.zeros_like(x)
    for row in range(height):
        for column in range(width):
            for (down, across), weight in weights.items():
                if 0 <= row + down < height and 0 <= column + across < width:
                    found[:, row, column] += weight / sum(weights.values()) * x[:, row + down, column + across]
    return found


def kept_by_area(sequence: list[int], ratios: Sequence[float]) -> list[list[int]]:
    """The features that are in when this share of them is removed, lowest first."""
    return [sequence[: len(sequence) - int(len(sequence) * ratio + 1e-6)] for ratio in ratios]


def kept_by_mass(sequence: list[int], height: Sequence[float], ratios: Sequence[float]) -> list[list[int]]:
    found = []
    for ratio in ratios:
        chosen, mass = [], 0.0
        for feature in sequence:
            chosen.append(feature)
            mass += height[feature]
            if mass >= (1 - ratio) * sum(height) - 1e-9:
                break
        found.append(chosen)
    return found


def kept_by_segments(segments: Sequence[int], height: Sequence[float], ratios: Sequence[float]) -> list[list[int]]:
    """Whole segments, the highest mean first, until the area is reached."""
    names = sorted(set(segments))
    members = {name: [p for p, own in enumerate(segments) if own == name] for name in names}
    means = {name: np.mean([height[p] for p in members[name]]) for name in names}
    names.sort(key=lambda name: -means[name])
    found = []
    for ratio in ratios:
        wanted, chosen = len(segments) - int(len(segments) * ratio + 1e-6), []
        for name in names:
            if len(chosen) < wanted:
                chosen += members[name]
        found.append(chosen)
    return found


def algorithm_3(
    maps: Sequence[Sequence[float]],
    kept: Sequence[Sequence[list[int]]],
    performance: Sequence[float],
    rule: dict,
    own: Sequence[Sequence[float]] | None = None,
) -> list[tuple[float, float]]:
    """Pairs of performance and soundness. ``kept[step][sample]`` are features; ``own[sample]`` its scores, the first of
    them before any step, where each sample decides for itself."""
    false: list[set[int]] = [set() for _ in maps]
    before: list[set[int]] = [set() for _ in maps]
    previous, pairs = 0.0, []
    for step, now in enumerate(performance):
        found = [_share(maps[i], kept[step][i], false[i]) for i in range(len(maps))]
        for i in range(len(maps)):
            rise = now - previous if own is None else own[i][step + 1] - own[i][step]
            low = rise < rule["threshold"] - 1e-9 if rule["strict"] else rise <= rule["threshold"] + 1e-9
            if low and (own is not None or now > rule["start"]):
                false[i] |= set(kept[step][i]) - before[i]
        if not rule["lag"]:
            found = [_share(maps[i], kept[step][i], false[i]) for i in range(len(maps))]
        pairs.append((now, sum(found) / len(found)))
        before, previous = [set(chosen) for chosen in kept[step]], now
    return pairs


def _share(height: Sequence[float], kept: list[int], false: set[int]) -> float:
    every = sum(height[feature] for feature in kept)
    return (every - sum(height[feature] for feature in false)) / every


def at_levels(pairs: Sequence[tuple[float, float]], levels: Sequence[float]) -> float | None:
    """Algorithm 1 stops as soon as the level is reached; the mean over levels that are."""
    found = []
    for level in levels:
        for performance, soundness in pairs:
            if performance >= level - 1e-9:
                found.append(soundness)
                break
    return sum(found) / len(found) if found else None


def adaptive(performance: Sequence[float], size: int, threshold: float) -> list[int]:
    """The steps that are looked at: ``size`` at once, and again in halves where performance rises."""

    def ends(first: int, last: int) -> list[int]:
        before = performance[first - 1] if first > 0 else 0.0
        if first == last or performance[last] - before < threshold - 1e-9:
            return [last]
        half = 1
        while 2 * half < last - first + 1:
            half *= 2
        return ends(first, first + half - 1) + ends(first + half, last)

    found = []
    for first in range(0, len(performance), size):
        found += ends(first, min(first + size, len(performance)) - 1)
    return found
