"""Violins: every sample counts once, and three bars mark the smallest value, the mean and the largest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import gaussian_kde

from assay.engine.store.store import Store
from assay.report.board import result
from assay.report.loaded_run import load_run
from assay.report.violins import density, sample_values, violin_panels
from unit.report import made


def test_the_values_of_all_seeds_and_samples_are_there_and_no_other(store: Store) -> None:
    loaded = load_run(store)
    values = sample_values(loaded, made.SHAPES, "gradient", "f1")
    expected = [made.value("gradient", seed, sample) for seed in (0, 1) for sample in range(made.SAMPLES)]
    assert sorted(values) == pytest.approx(sorted(expected))
    defined = sample_values(loaded, made.SHAPES, "gradient", "sensitivity_n")
    assert len(defined) == 2 * 2  # sample 1 is undefined
    assert len(sample_values(loaded, made.SHAPES, "gradient", "accuracy_lost")) == 0  # a score of the whole set
    assert len(sample_values(loaded, made.ROWS, "grad_cam", "f1")) == 0  # skipped


def test_metrics_of_truth_have_violins_of_all_methods_that_were_scored(store: Store) -> None:
    panels = {panel.environment: panel.charts for panel in violin_panels(load_run(store))}
    assert set(panels) == {made.SHAPES, made.ROWS}
    for charts in panels.values():
        assert [chart.metric.label for chart in charts] == ["f1"]
    (chart,) = panels[made.ROWS]
    scored = [line.method for line in result(store).boards[1].lines if line.cells["f1"].value is not None]
    assert [row.method for row in chart.rows] == scored


def test_bars_mark_smallest_mean_and_largest(store: Store) -> None:
    loaded = load_run(store)
    (chart,) = violin_panels(loaded)[0].charts
    for row in chart.rows:
        values = sample_values(loaded, made.SHAPES, row.method, "f1")
        assert (row.low, row.mean, row.high) == tuple(
            chart.axis(float(x)) for x in (min(values), values.mean(), max(values))
        )
        assert f"smallest {min(values):.3f}, mean {values.mean():.3f}, largest {max(values):.3f}" in row.text


def test_the_shape_is_a_gaussian_kernel_density() -> None:
    values = np.random.default_rng(0).normal(size=40)
    at = np.linspace(-2, 2, 9)
    ours, theirs = density(values, at), gaussian_kde(values, "scott")(at)
    assert ours / ours.max() == pytest.approx(theirs / theirs.max(), rel=1e-9)


def test_the_page_draws_a_shape_and_three_bars_for_each_method(html: str) -> None:
    section = html.split('<section id="violins">')[1].split("</section>")[0]
    scored = 4 + 3  # methods in the two environments
    assert section.count('<polygon class="violin') == scored
    assert section.count('<line class="end') == 2 * scored
    assert section.count('<line class="mean') == scored
