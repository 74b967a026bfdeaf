"""Moves between two rankings: counted by hand, with ties, with maps that coincide, and by resampling alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from assay.core.evidence import Score
from assay.stats.slope import Column, moves_by_resampling, slope


def written(value: float) -> str:
    return f"{value:.3f}"


def column(*values: float | None, up: bool = True) -> Column:
    """Methods a, b, c ... with a value of one seed."""
    scores = {name: Score(value, 1, 1, per_seed=(value,)) for name, value in zip("abcdefgh", values, strict=False)}
    return Column(scores, up)


def seeds(rows: dict[str, list[float | None]], up: bool = True) -> Column:
    means = {name: [value for value in row if value is not None] for name, row in rows.items()}
    return Column(
        {name: Score(float(np.mean(means[name])), per_seed=tuple(row)) for name, row in rows.items() if means[name]}, up
    )


def test_a_swap_of_two_methods_is_two_moves() -> None:
    found = slope(column(0.9, 0.7, 0.5, 0.3), column(0.8, 0.2, 0.4, 0.1), written)
    assert found.methods == ("a", "b", "c", "d")
    assert (found.moves, found.moves_without_coinciding) == (2, 2)
    assert found.ranks == {"a": (1, 1), "b": (2, 3), "c": (3, 2), "d": (4, 4)}
    assert found.correlation == pytest.approx(spearmanr([1, 2, 3, 4], [1, 3, 2, 4]).statistic)
    assert found.moves_per_seed == (2,)
    assert found.mean_moves == 2


def test_the_last_method_that_becomes_first_moves_all_others() -> None:
    assert slope(column(4, 3, 2, 1), column(3, 2, 1, 4), written).moves == 4


def test_each_side_has_its_own_direction() -> None:
    found = slope(column(0.9, 0.7, 0.5), column(0.1, 0.2, 0.3, up=False), written)
    assert (found.moves, found.correlation) == (0, pytest.approx(1))
    assert slope(column(0.9, 0.7, 0.5), column(0.1, 0.2, 0.3), written).correlation == pytest.approx(-1)


def test_a_tie_that_opens_moves_both_of_its_methods() -> None:
    found = slope(column(0.5, 0.5, 0.3), column(0.6, 0.5, 0.3), written)
    assert (found.moves, found.coinciding) == (2, ())
    assert found.ranks == {"a": (1.5, 1), "b": (1.5, 2), "c": (3, 3)}


def test_scores_that_differ_by_rounding_tie() -> None:
    found = slope(column(0.5, 0.5 + 1e-9, 0.3), column(0.5 + 1e-9, 0.5, 0.3), written)
    assert found.moves == 0


def test_methods_whose_scores_are_written_alike_on_both_sides_count_once() -> None:
    """Two names of one map, whose order is rounding: only d and e change places."""
    left = column(0.23501, 0.23502, 0.9, 0.7, 0.5)
    right = column(0.54402, 0.54401, 0.9, 0.6, 0.7)
    found = slope(left, right, written)
    assert (found.moves, found.moves_without_coinciding) == (4, 2)
    assert found.coinciding == (("b", "a"),)


def test_methods_that_are_written_alike_on_one_side_only_are_two() -> None:
    found = slope(column(0.2351, 0.2352, 0.9), column(0.6, 0.5, 0.9), written)
    assert (found.moves, found.moves_without_coinciding, found.coinciding) == (2, 2, ())


def test_several_seeds_have_their_own_moves_and_the_means_have_theirs() -> None:
    left = seeds({"a": [0.9, 0.5], "b": [0.5, 0.6], "c": [0.1, 0.1]})  # means .7 .55 .1
    right = seeds({"a": [0.9, 0.9], "b": [0.5, 0.5], "c": [0.1, 0.1]})
    found = slope(left, right, written)
    assert (found.moves, found.moves_per_seed, found.mean_moves) == (0, (0, 2), 1.0)


def test_methods_without_a_value_are_left_out_and_two_are_too_few() -> None:
    assert slope(column(4, 3, 2, None), column(3, 4, 1, 2), written).methods == ("a", "b", "c")
    found = slope(column(4, 3, None), column(3, 4, 1), written)
    assert (found.moves, found.reason) == (None, "2 methods have a score by both: 3 or more are needed")


def test_a_seed_in_which_nothing_is_defined_has_no_moves() -> None:
    rows: dict[str, list[float | None]] = {"a": [0.9, None], "b": [0.5, None], "c": [0.1, None]}
    found = slope(seeds(rows), seeds(rows), written)
    assert (found.moves, found.moves_per_seed, found.mean_moves) == (0, (0, None), 0.0)


def test_where_all_methods_tie_there_is_no_correlation() -> None:
    found = slope(column(1, 1, 1), column(3, 2, 1), written)
    assert (found.correlation, found.moves) == (None, 2)  # the middle one keeps rank 2


def test_constant_samples_move_nothing() -> None:
    found = moves_by_resampling([np.repeat([[0.3], [0.1], [0.2]], 7, axis=1)], shared=False)
    assert (found.value, found.low, found.high) == (0, 0, 0)


def test_methods_of_one_map_move_nothing() -> None:
    row = np.random.default_rng(0).normal(size=20)
    found = moves_by_resampling([np.stack([row, row, row + 10])], shared=False)
    assert (found.value, found.high) == (0, 0)


def test_moves_of_resamples_are_those_of_a_literal_bootstrap() -> None:
    """Other random numbers, so within three standard errors of 1,000 resamples each."""
    values = np.random.default_rng(1).normal(size=(5, 12))
    random, literal = np.random.default_rng(2), []
    before = rankdata(values.mean(axis=1))
    for _ in range(1000):
        chosen = random.integers(0, 12, 12)
        literal.append(int((rankdata(values[:, chosen].mean(axis=1)) != before).sum()))
    found = moves_by_resampling([values], shared=False)
    assert found.value == pytest.approx(np.mean(literal), abs=3 * np.std(literal) * np.sqrt(2 / 1000))
    assert (found.low, found.high) == tuple(np.quantile(literal, [0.025, 0.975]))
    assert found == moves_by_resampling([-values], shared=False)  # the same stream; the direction does not matter


def test_undefined_samples_are_no_part_of_a_mean() -> None:
    """On what is defined the first method is always better; zeros in place of NaN would put it last."""
    values = np.array([[np.nan] * 5 + [2.0] * 5, [1.5] * 10])
    assert moves_by_resampling([values], shared=False).value == 0


def test_samples_that_seeds_share_are_drawn_for_all_of_them() -> None:
    """The seeds' noise cancels if the same samples are drawn: then the mean over seeds is constant."""
    noise = np.random.default_rng(3).normal(size=30)
    first, second = (np.stack([sign * noise, np.full(30, 0.01), np.full(30, -0.01)]) for sign in (1, -1))
    assert moves_by_resampling([first, second], shared=True).value == 0
    apart = moves_by_resampling([first, second], shared=False).value
    assert apart is not None
    assert apart > 0.5


def test_one_sample_and_no_sample_have_no_resamples() -> None:
    assert moves_by_resampling([np.ones((3, 1))], shared=False).reason == "fewer than two samples"
    assert moves_by_resampling([], shared=False).value is None
