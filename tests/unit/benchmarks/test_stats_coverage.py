"""Intervals cover as often as they say, on data whose truth is known; rules that are too narrow are detected."""

import re
from pathlib import Path

import numpy as np
import pytest

from assay.core.evidence import Score
from assay.stats.intervals import interval
from benchmarks.coverage import POPULATIONS, SEEDS, main, measure_coverage, table

REPLICATIONS = 300
ERROR = (0.95 * 0.05 / REPLICATIONS) ** 0.5  # 0.013
LEAST = 0.95 - 4 * ERROR  # what a rule that covers 95 % reaches but once in 30,000 tries
BY_NAME = {(population.data, population.score): population for population in POPULATIONS}
NORMAL, MEDIAN = BY_NAME["normal", "mean"], BY_NAME["normal", "median"]
PARTLY, CEILING = BY_NAME["a tenth below the ceiling", "mean"], BY_NAME["near the ceiling", "mean"]


def resampled(per_seed, reduce, draws_model, bounds, resamples):
    """A rule that is too narrow: quantiles of means over seeds drawn with replacement, then samples within them."""
    random = np.random.default_rng(0)
    values = np.array([evidence["value"] for evidence in per_seed])
    seeds, samples = values.shape
    picked = random.integers(seeds, size=(resamples, seeds, 1))
    draws = values[picked, random.integers(samples, size=(resamples, seeds, samples))].mean(axis=(1, 2))
    low, high = np.quantile(draws, [0.025, 0.975])
    return Score(values.mean(), low=low, high=high, basis="seeds")


def over_samples(per_seed, reduce, draws_model, bounds, resamples):
    """Too narrow where seeds differ: samples as the unit, though the seed draws a model."""
    return interval(per_seed, reduce, False, bounds, resamples=resamples)


@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_means_of_normal_data_are_covered_as_often_as_intervals_say(seeds, spread):
    coverage = measure_coverage(NORMAL, seeds, spread, REPLICATIONS)
    assert coverage.no_interval == 0
    assert LEAST <= coverage.population <= 0.95 + 4 * ERROR


@pytest.mark.parametrize("spread", [0.0, 1.0, None])
def test_medians_of_normal_data_are_too(spread):
    assert measure_coverage(MEDIAN, 3, spread, REPLICATIONS).population >= LEAST


@pytest.mark.parametrize("seeds", [1, 2, 5])
def test_samples_are_covered_where_they_alone_are_drawn(seeds):
    assert measure_coverage(NORMAL, seeds, None, REPLICATIONS).population >= LEAST


def test_one_seed_covers_its_own_draw_and_not_others():
    coverage = measure_coverage(NORMAL, 1, 1.0, REPLICATIONS)
    assert coverage.draw >= LEAST
    assert coverage.population < 0.6


def test_two_seeds_have_no_interval():
    assert measure_coverage(NORMAL, 2, 1.0, 20).no_interval == 1


@pytest.mark.parametrize("population", [PARTLY, CEILING], ids=["partly", "near"])
@pytest.mark.parametrize("seeds, spread", [(1, 0.0), (3, 0.0), (3, 0.3), (10, 0.0), (2, None)])
def test_near_the_ceiling_intervals_cover(population, seeds, spread):
    assert measure_coverage(population, seeds, spread, REPLICATIONS).population >= LEAST


@pytest.mark.parametrize(
    "rule, population, seeds, spread",
    [
        (resampled, NORMAL, 2, 1.0),
        (resampled, NORMAL, 3, 1.0),
        (resampled, NORMAL, 5, 3.0),
        (over_samples, NORMAL, 3, 1.0),
        (over_samples, NORMAL, 10, 0.3),
    ],
)
def test_a_rule_that_is_too_narrow_is_detected(rule, population, seeds, spread):
    assert measure_coverage(population, seeds, spread, REPLICATIONS, rule=rule).population < LEAST


@pytest.mark.parametrize("seeds, least", [(1, 0.90), (5, 0.96)])
def test_near_the_ceiling_student_s_alone_is_too_narrow(seeds, least, monkeypatch):
    assert measure_coverage(PARTLY, seeds, 0.0, 1500).population > least
    monkeypatch.setattr("assay.stats.intervals._widened_near_ends", lambda limits, *_: limits)
    assert measure_coverage(PARTLY, seeds, 0.0, 1500).population < least


# What is printed.


def rows(text):
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


PAGE = rows((Path(__file__).parents[3] / "docs" / "intervals.md").read_text())


def test_the_page_has_the_table_that_the_command_prints(capsys, monkeypatch):
    monkeypatch.setattr("benchmarks.coverage.table", lambda: table(replications=1))
    main([])
    printed = rows(capsys.readouterr().out)
    assert len(printed) == 2 + len(POPULATIONS) * 5
    assert [row[:3] for row in printed] == [row[:3] for row in PAGE if len(row) == len(printed[0])]
    assert {len(row) for row in printed} == {4 + len(SEEDS)}


def test_the_page_s_numbers_hold_what_is_promised():
    normal = [row for row in PAGE if row[0] == "normal" and row[2] != "samples only"]
    assert len(normal) == 2 * 4
    for row in normal:
        assert row[5] == "none"  # two seeds
        assert all(float(re.match(r"[\d.]+", cell)[0]) >= 0.93 for cell in row[6:])
