"""The kit of the metrics, against SciPy and against its own definitions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter
from scipy.stats import pearsonr

from assay.kit import feature_orders
from assay.kit.blur import blur
from assay.kit.curves import area, cumulative_share, even_counts, log_counts, symmetric_counts
from assay.kit.feature_orders import above_thresholds, among_first, descending_order, nested_sums, pearson, positions
from assay.kit.soft_precision import normalised, part_of_sign
from oracles.metrics.scenes import numbers


@pytest.mark.parametrize("sigma", [0.3, 1.0, 5.0])
def test_blurring_is_scipys(sigma: float) -> None:
    images = numbers(1, 2, 9, 7)
    expected = [gaussian_filter(image, sigma, mode="constant", truncate=4.0) for image in images.numpy()]
    np.testing.assert_allclose(blur(images, sigma), expected, rtol=1e-9, atol=1e-12)


def test_normalising_brings_both_signs_to_one() -> None:
    values = normalised(torch.tensor([[4.0, 2.0, -0.5, -0.25, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]))
    np.testing.assert_allclose(values, [[1, 0.5, -1, -0.5, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]], atol=1e-8)
    with pytest.raises(ValueError, match="neutral"):
        part_of_sign(values, "neutral")


def test_equal_values_keep_their_order_or_that_of_the_shuffle() -> None:
    values = torch.tensor([[1.0, 2, 1, 2, 0]])
    assert descending_order(values).tolist() == [[1, 3, 0, 2, 4]]
    assert descending_order(values, torch.tensor([[4, 3, 2, 1, 0]])).tolist() == [[3, 1, 2, 0, 4]]
    assert positions(descending_order(values)).tolist() == [[2, 0, 3, 1, 4]]


@settings(max_examples=30)
@given(total=st.integers(1, 300), steps=st.integers(1, 80))
def test_steps_are_as_equal_as_possible(total: int, steps: int) -> None:
    counts = even_counts(total, steps)
    sizes = counts.diff()
    assert (counts[0], counts[-1], len(sizes)) == (0, total, min(total, steps))
    assert sizes.max() - sizes.min() <= 1
    spaced = log_counts(total, steps + 1).tolist()
    assert spaced[0] == 1
    assert spaced[-1] == total
    assert spaced == sorted(set(spaced))
    assert len(spaced) <= steps + 1


@settings(max_examples=60)
@given(total=st.integers(2, 300), steps=st.integers(1, 80))
def test_symmetric_counts_are_even_and_the_same_from_both_ends(total: int, steps: int) -> None:
    counts = symmetric_counts(total, steps)
    assert counts.tolist() == (total - counts).flip(0).tolist()
    steps = min(total, steps)
    splits = steps % 2 == 0 and total % 2 == 1
    assert (counts[0], counts[-1], len(counts)) == (0, total, steps + 1 + splits)
    assert counts[: steps // 2 + 1].tolist() == even_counts(total, steps)[: steps // 2 + 1].tolist()


def test_a_curve_needs_a_step() -> None:
    with pytest.raises(ValueError, match="at least one step"):
        even_counts(5, 0)


def test_areas_and_shares() -> None:
    share = cumulative_share(torch.tensor([[1, 0, 1, 0], [0, 0, 0, 0]]))
    assert share.tolist() == [[0, 0.5, 0.5, 1, 1], [0, 0, 0, 0, 0]]
    assert area(share, torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0])).tolist() == [0.625, 0]


def test_masks_compare_strictly() -> None:
    assert among_first(torch.tensor([[2, 0, 1]]), torch.tensor([0, 2])).tolist() == [
        [[False] * 3],
        [[False, True, True]],
    ]
    assert above_thresholds(torch.tensor([[0.5, 0.1]]), torch.tensor([0.1])).tolist() == [[[True, False]]]


@pytest.mark.parametrize("budget", [1, 100, 2**22])
def test_nested_sums_are_cumulative_sums_along_each_order(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_orders, "BUDGET", budget)
    values, orders = numbers(1, 3, 11), numbers(2, 4, 11).argsort()
    sizes = torch.tensor([1, 2, 5, 10])
    expected = values[:, orders].cumsum(-1)[:, :, sizes - 1]
    np.testing.assert_allclose(nested_sums(values, orders, sizes), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e150])
def test_correlation_is_scipys_at_any_scale(scale: float) -> None:
    left, right, flat = numbers(1, 2, 8) * scale, numbers(2, 2, 8) + 5, torch.zeros(2)
    value, defined = pearson(left, right, flat, flat)
    assert defined.all()
    expected = [pearsonr(a / scale, b).statistic for a, b in zip(left.numpy(), right.numpy(), strict=True)]
    np.testing.assert_allclose(value, expected, rtol=1e-9)


def test_a_side_that_does_not_vary_has_no_correlation() -> None:
    flat = torch.tensor([0.0, 1.0])
    value, defined = pearson(torch.tensor([[2.0, 2, 2], [1, 1.5, 2]]), numbers(1, 2, 3), flat, torch.zeros(2))
    assert not defined.any()
    assert not value.any()
