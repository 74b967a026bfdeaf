"""Errors of Algorithm 3 over sets of games, against loops over games and features."""

import pytest
import torch

from assay.claims.set_errors import EXPANSIONS, INDICATORS, Games, drawn, error, errors
from assay.core.rng import generator

LEVELS = [step / 10 for step in range(1, 10)]


def literal(games, indicator, step):
    """Algorithm 3 with ``step`` features at a time; no start, strict."""
    count, features = games.attribution.shape
    false, previous, old = [0.0] * count, 0.0, [0.0] * count
    curve = []
    for end in range(step, features + 1, step):
        shares = [float(games.information[g, :end].sum() / games.information[g].sum()) for g in range(count)]
        correct = [share >= float(games.needed[g]) for g, share in enumerate(shares)]
        level = sum(correct if indicator == "accuracy" else shares) / count
        quotients, truths = [], []
        for g in range(count):
            rise = shares[g] - old[g] if indicator.startswith("each") else level - previous
            if rise < 0.01 - 1e-9:
                false[g] += float(games.attribution[g, end - step : end].sum())
            total = float(games.attribution[g, :end].sum())
            true = sum(float(games.attribution[g, i]) for i in range(end) if games.information[g, i] > 0)
            quotients.append(1 - false[g] / total)
            truths.append(true / total)
        curve.append((level, sum(quotients) / count - sum(truths) / count))
        previous, old = level, shares
    found = [next(gap for level, gap in curve if level >= wanted - 1e-9) for wanted in LEVELS if wanted <= curve[-1][0]]
    return sum(found) / len(found)


@pytest.mark.parametrize("indicator", INDICATORS)
@pytest.mark.parametrize("step", [1, 2])
def test_errors_are_those_of_the_algorithm_step_by_step(indicator, step):
    games = drawn(12, generator("test", 1))
    assert error(games, indicator, EXPANSIONS[step - 1])[0] == pytest.approx(literal(games, indicator, step), abs=1e-9)


def test_halving_gives_the_answer_of_single_steps():
    games = drawn(12, generator("test", 2))
    assert error(games, "accuracy", EXPANSIONS[3])[0] == pytest.approx(error(games, "accuracy", EXPANSIONS[0])[0])


def test_a_map_that_is_the_information_has_no_false_attribution_in_its_own_score():
    information = torch.tensor([[2.0, 1.0, 0.0], [2.0, 2.0, 0.0]], dtype=torch.float64)
    games = Games(information, information, torch.tensor([0.5, 0.9]))
    assert error(games, INDICATORS[2], EXPANSIONS[0]) == (0.0, 3.0)


def test_every_indicator_and_expansion_has_a_row_at_every_size():
    rows = list(errors(repeats=2))
    assert len({(row.games, row.indicator, row.expansion) for row in rows}) == len(rows) == 3 * 3 * 4
    exact = [row for row in rows if row.indicator == INDICATORS[2] and row.expansion == EXPANSIONS[0]]
    assert (
        max(row.mean for row in exact)
        < 1e-12
        < min(row.mean for row in rows if row not in exact[:3] and "halved" not in row.expansion)
    )
