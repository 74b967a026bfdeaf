"""The metrics as the papers say them: one sample, one feature, one number at a time, in float64. Nothing of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.stats import pearsonr

Answer = Callable[[np.ndarray], float]
Drawn = Sequence[Sequence[float]]


def normalise(values: Sequence[float]) -> list[float]:
    """Eq. 17."""
    largest, smallest = max(values), min(values)
    result = []
    for value in values:
        if value > 0:
            result.append(value / largest)
        elif value < 0:
            result.append(value / abs(smallest))
        else:
            result.append(0.0)
    return result


def of_sign(values: Sequence[float], sign: str) -> list[float]:
    if sign == "overall":
        return [abs(value) for value in values]
    if sign == "positive":
        return [value if value > 0 else 0.0 for value in values]
    return [-value if value < 0 else 0.0 for value in values]


def without_rounding(values: np.ndarray, resolution: np.ndarray | None) -> list[float]:
    """0 for values no larger than 32 units in the last place of the largest, or 32 times the stated resolution."""
    unit = float(np.finfo(values.dtype).eps)
    largest = max(abs(float(value)) for value in values.ravel())
    stated = [0.0] * values.size if resolution is None else resolution.ravel().tolist()
    limits = [32 * max(unit * largest, limit) for limit in stated]
    pairs = zip(values.ravel().tolist(), limits, strict=True)
    return [0.0 if abs(value) <= limit else value for value, limit in pairs]


def soft_truth(truth: np.ndarray, sign: str, sigma: float) -> list[float] | None:
    """The truth from 0 to 1; None where it has nothing of this sign."""
    g = of_sign(normalise(truth.ravel().tolist()), sign)
    if max(g) == 0:
        return None
    if sigma > 0:
        blurred = gaussian_filter(np.array(g).reshape(truth.shape), sigma, mode="constant", truncate=4.0).ravel()
        g = (blurred / blurred.max()).tolist()
    return g


def soft(
    attribution: np.ndarray, truth: np.ndarray, sign: str, sigma: float = 0.0, resolution: np.ndarray | None = None
) -> dict[str, float] | None:
    """Precision, recall and F1 of one map; None where the truth has nothing of this sign."""
    a = of_sign(normalise(without_rounding(attribution, resolution)), sign)
    g = soft_truth(truth, sign, sigma)
    if g is None:
        return None
    common, claimed, true = sum(u * v for u, v in zip(a, g, strict=True)), sum(a), sum(g)
    precision = common / claimed if claimed > 0 else 0.0
    recall = common / true
    f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def best_f1(true: Sequence[float], pixels: np.ndarray, levels: int = 2) -> float:
    """The best F1 of the maps ``pixels @ c``, found by trying all c from 0 to 1 in so many levels.

    A map is divided by its largest value, as the metric does.
    """
    c = np.array(list(product(np.linspace(0, 1, levels), repeat=pixels.shape[1]))[1:])  # the first is 0 everywhere
    maps = c @ pixels.T
    maps /= maps.max(axis=1, keepdims=True)
    return float((2 * maps @ np.array(true) / (maps.sum(axis=1) + sum(true))).max())


def enlarged(nodes: int, size: int) -> np.ndarray:
    """Weights (size, nodes) of a line that is enlarged: linear between nodes, constant beyond the outermost."""
    weights = np.zeros((size, nodes))
    for pixel in range(size):
        position = min(max((pixel + 0.5) * nodes / size - 0.5, 0), nodes - 1)
        for node in range(nodes):
            weights[pixel, node] = max(0, 1 - abs(position - node))
    return weights


def order(values: Sequence[float], absolute: bool) -> list[int]:
    """Features from the highest attribution to the lowest; of equals, the first one first."""
    keys = [abs(value) if absolute else value for value in values]
    left = list(range(len(keys)))
    result = []
    while left:
        best = left[0]
        for feature in left:
            if keys[feature] > keys[best]:
                best = feature
        result.append(best)
        left.remove(best)
    return result


def sign_agreement(attribution: np.ndarray, truth: np.ndarray, resolution: np.ndarray | None = None) -> float | None:
    """Of the true effect that a map names, the share named with the right sign."""
    named = right = 0.0
    for claim, effect in zip(without_rounding(attribution, resolution), truth.ravel().tolist(), strict=True):
        if claim != 0 and effect != 0:
            named += abs(effect)
            right += abs(effect) if (claim > 0) == (effect > 0) else 0.0
    return right / named if named > 0 else None


def trapezoid(heights: Sequence[float], at: Sequence[float]) -> float:
    return sum((at[k + 1] - at[k]) * (heights[k] + heights[k + 1]) / 2 for k in range(len(at) - 1))


def exchanged(
    answer: Answer, before: np.ndarray, after: np.ndarray, features: list[np.ndarray], sequence: list[int], steps: int
) -> tuple[list[float], list[float]]:
    """Answers after 0, 1, ... steps, and the share of features exchanged by then."""
    count = len(sequence)
    steps = min(steps, count)
    heights, shares = [], []
    for step in range(steps + 1):
        number = int(np.floor(step * count / steps + 1e-9))
        image = before.copy()
        for feature in sequence[:number]:
            image[features[feature]] = after[features[feature]]
        heights.append(answer(image))
        shares.append(number / count)
    return heights, shares


def relevance_gain(without: Callable[[Sequence[int]], float], sequence: list[int], counts: list[int]) -> float:
    """The area with the last of the sequence removed first, minus the area with the first removed first."""
    shares = [number / len(sequence) for number in counts]
    backwards = sequence[::-1]
    lowest_first = [without(backwards[:number]) for number in counts]
    highest_first = [without(sequence[:number]) for number in counts]
    return trapezoid(lowest_first, shares) - trapezoid(highest_first, shares)


def unfamiliar(versions: Sequence[np.ndarray], reference: Sequence[np.ndarray]) -> float:
    """The share of inputs farther from the reference than 95 % of its rows are from their nearest other row."""
    scales = []
    for entry in range(reference[0].size):
        values = [float(row.ravel()[entry]) for row in reference]
        mean = sum(values) / len(values)
        variance = sum((value - mean) ** 2 for value in values) / len(values)
        scales.append(np.sqrt(variance) if len(set(values)) > 1 else 1.0)

    def nearest(point: np.ndarray, rows: Sequence[np.ndarray]) -> float:
        differences = [(point.ravel() - row.ravel()) / np.array(scales) for row in rows]
        return min(float(np.sqrt((difference**2).sum())) for difference in differences)

    own = [nearest(row, [*reference[:index], *reference[index + 1 :]]) for index, row in enumerate(reference)]
    limit = float(np.quantile(own, 0.95))
    return sum(nearest(version, reference) > limit * (1 + 1e-6) for version in versions) / len(versions)


def steps_that_change(answer: Answer, white: np.ndarray, sequence: list[int], delete: bool) -> list[float]:
    """F.4: perturb pixels one by one, ask the model (count modulo N) each time, count the steps that change its answer.

    Inserting counts up from 0, deleting counts down from 1; both over the number of white pixels.
    """
    image = white.copy() if delete else np.zeros_like(white)
    previous = answer(image)
    correct, curve = 0, [1.0 if delete else 0.0]
    for pixel in sequence:
        image.flat[pixel] = 0 if delete else white.flat[pixel]
        output = answer(image)
        correct += output != previous
        previous = output
        share = correct / int(white.sum())
        curve.append(1 - share if delete else share)
    return curve


def correlation(
    answer: Answer, x: np.ndarray, canvas: np.ndarray, features: list[np.ndarray], values: Sequence[float], sets: list
) -> float | None:
    """Pearson correlation of the attribution of each set with the drop when it is replaced; None if one is constant."""
    sums, drops = [], []
    for chosen in sets:
        image = x.copy()
        for feature in chosen:
            image[features[feature]] = canvas[features[feature]]
        sums.append(sum(values[feature] for feature in chosen))
        drops.append(answer(x) - answer(image))
    if np.ptp(sums) <= 1e-12 * max(map(abs, sums)) or np.ptp(drops) <= 1e-12:
        return None
    return float(pearsonr(sums, drops).statistic)


def answer_without_some(
    ask: Answer, images: Callable[[Sequence[int]], list[np.ndarray]], chosen: Sequence[int], chance: float, drawn: Drawn
) -> float:
    """F-Fidelity: the mean answer over draws; in each one every chosen feature is removed with this chance.

    ``images`` makes the inputs without some features: one for each reference row, or one. ``drawn`` has a number from 0
    to 1 for every feature in every draw: below the chance the feature is removed.
    """
    answers = []
    for numbers in drawn:
        removed = [feature for feature in chosen if numbers[feature] < chance]
        versions = images(removed)
        answers.append(sum(ask(image) for image in versions) / len(versions))
    return sum(answers) / len(answers)
