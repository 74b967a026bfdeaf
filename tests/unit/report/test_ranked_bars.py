"""Bars of single samples: the right samples, the largest first, noise apart, mistakes marked."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from assay.engine.store.store import Store
from assay.kit import feature_orders
from assay.report.loaded_run import load_run
from assay.report.page import page
from assay.report.pictures import draw_contact_sheet
from assay.report.ranked_bars import RankedBars, ranked_bars, spearman
from assay.report.samples import GallerySamples, gallery_samples
from unit.report import made
from unit.report.test_page import Outline, section

BLUE, ORANGE = (0, 114, 178), (213, 94, 0)


def change_table(store: Store, indices: list[int], **facts: Any) -> None:
    """The table's samples, as if the study had asked for these and said which features are informative."""
    record = next(record for record in store.records("samples") if record.data["kind"] == "table")
    arrays = {name: array[indices] for name, array in store.load(record).items()}
    arrays["predicted"] = np.array([1] * len(indices))  # the labels are 0, 1, 0, 1
    data = {**record.data, "indices": indices, "informative": [0, 2], **facts}
    store.put(replace(record, arrays=store.save(arrays), data=data))


@pytest.fixture
def chosen(fresh: Store) -> Store:
    change_table(fresh, [2, 1])
    run = fresh.records("run")[0]
    fresh.put(replace(run, data={**run.data, "study": {**run.data["study"], "gallery": [2, 1]}}))
    return fresh


def table(store: Store) -> GallerySamples:
    return gallery_samples(load_run(store))[1]


def test_the_samples_are_those_that_were_asked_for_whatever_block_they_are_in(chosen: Store, store: Store) -> None:
    samples, first = table(chosen), table(store)
    assert (samples.indices, first.indices) == ((2, 1), (0, 1, 2))
    assert np.array_equal(samples.x, first.x[[2, 1]])
    assert np.array_equal(samples.truth, first.truth[[2, 1]])
    for method in ("gradient", made.IG, "random_map"):
        assert np.array_equal(samples.maps[method], first.maps[method][[2, 1]])
    assert samples.maps["grad_cam"] == "skipped: needs a convolutional layer"


def test_a_sample_beyond_those_that_were_evaluated_is_not_shown(fresh: Store) -> None:
    change_table(fresh, [3, 1])  # 3 samples were evaluated
    assert table(fresh).indices == (1,)


def test_a_gallery_without_an_evaluated_sample_says_so(fresh: Store) -> None:
    change_table(fresh, [3])
    assert (len(table(fresh)), table(fresh).reason) == (0, "the gallery asks for 3, and 3 were evaluated")


def panels(samples: GallerySamples, position: int) -> list[RankedBars | str]:
    return list(ranked_bars(samples, position, [samples.truth, *samples.maps.values()]))


def test_every_panel_has_the_largest_first_and_knows_what_is_noise(chosen: Store) -> None:
    samples = table(chosen)
    truth, gradient, *_, skipped = panels(samples, 1)
    for panel, values in ((truth, samples.truth[1]), (gradient, samples.maps["gradient"][1])):
        order = np.argsort(-np.abs(values))
        assert [bar.value for bar in panel.bars] == values[order].tolist()
        assert [bar.name for bar in panel.bars] == [samples.names[feature] for feature in order]
        assert [bar.informative for bar in panel.bars] == [feature != 1 for feature in order]
        assert [bar.length for bar in panel.bars] == (values[order] / np.abs(values).max()).tolist()
    assert skipped == "skipped: needs a convolutional layer"


def test_a_panel_says_how_its_order_agrees_with_the_truth(chosen: Store) -> None:
    samples = table(chosen)
    truth, gradient, *_ = panels(samples, 0)
    expected = spearman(np.abs(samples.maps["gradient"][0]), np.abs(samples.truth[0]))
    assert truth.caption == f"± {np.abs(samples.truth[0]).max():.3g}"
    assert gradient.caption == f"Spearman {expected:.2f}"
    flat = replace(samples, maps={"flat": np.ones((2, 3))})
    assert panels(flat, 0)[1].caption == "Spearman undefined"


def test_the_correlation_is_that_of_the_metric() -> None:
    random = np.random.default_rng(0)
    for _ in range(20):
        left, right = random.integers(0, 4, (2, 9)).astype(float)  # with ties
        expected, _ = feature_orders.spearman(torch.from_numpy(left), torch.from_numpy(right))
        assert spearman(left, right) == pytest.approx(float(expected), abs=1e-12)
    assert spearman(np.ones(4), np.arange(4.0)) is None


def test_the_page_shows_a_panel_per_method_and_marks_mistakes(chosen: Store, tmp_path: Path) -> None:
    html = page(chosen, tmp_path / "r").read_text(encoding="utf-8")
    gallery = section(html, "gallery")
    assert "Samples 2, 1 of seed 0, as the study asks." in gallery
    titles = re.findall(r"<h4.*?</h4>", gallery)
    assert titles == [
        '<h4 class="wrong">sample 2, cat &amp; dog, misclassified as other</h4>',
        "<h4>sample 1, other</h4>",
    ]
    figures = re.findall(r"<figure>.*?</figure>", gallery, re.DOTALL)
    assert len(figures) == 2 * (1 + len(made.METHODS))
    drawn = [figure for figure in figures if "<svg" in figure]
    assert len(drawn) == 2 * (1 + 3)  # two methods have no attribution of tables
    assert all(figure.count('class="informative"') == 2 and figure.count('class="noise"') == 1 for figure in drawn)
    assert all("age &lt;" in figure for figure in drawn)
    assert gallery.count("Spearman") - gallery.count("Spearman:") == 2 * 3
    outline = Outline(html)
    assert (outline.faults, outline.stack) == ([], [])
    assert all(attrs.get("aria-label") or attrs.get("aria-hidden") for tag, attrs in outline.tags if tag == "svg")


def test_the_picture_has_both_colours_and_the_titles(chosen: Store) -> None:
    samples = table(chosen)
    pixels = np.asarray(draw_contact_sheet(samples, list(made.METHODS))).reshape(-1, 3)
    for colour in (BLUE, ORANGE):
        assert (pixels == colour).all(axis=1).any()
    assert samples.title(0) == "sample 2, cat & dog, misclassified as other"
    assert samples.title(1) == "sample 1, other"


def test_without_noise_features_or_in_an_older_store_bars_stay_as_they_were(fresh: Store, store: Store) -> None:
    assert not table(store).ranked  # made before predictions and informative features were kept
    assert table(store).title(0) == "sample 0, cat & dog"
    change_table(fresh, [0, 1], informative=None)
    assert not table(fresh).ranked
