"""Samples that are kept for pictures say what they are."""

from dataclasses import replace

import numpy as np
import torch

import small_data
from assay.core.machine import Machine
from assay.engine.artifacts.samples import MOST_LETTERS, SamplesArtifact
from assay.engine.execute.inline import MemoryEngine
from assay.report.samples import read_samples
from yard_study import here, realised


def test_gallery_samples_say_what_they_are():
    kept = SamplesArtifact(here(), (0, 1, 2))
    memory = realised(kept)
    arrays = memory.arrays(kept)
    shapes = {"x": (3, 3), "label": (3,), "predicted": (3,), "effect": (3, 3)}
    assert {name: array.shape for name, array in arrays.items()} == shapes
    assert arrays["x"].tolist() == [[0.0, 0.5, 0.0], [1.0, 1.5, 0.0], [2.0, 2.5, 0.0]]
    data = memory[kept].data
    assert data["names"] == ["a", "b", "c"]
    assert data["classes"] == ["no", "yes"]
    assert (data["kind"], data["entries"], data["features"]) == ("table", [3], [3])
    assert (data["informative"], data["indices"]) == (None, [0, 1, 2])


def test_where_no_truth_is_known_none_is_kept(yard, monkeypatch):
    drawn = yard.Meadow.sample
    monkeypatch.setattr(yard.Meadow, "sample", lambda self, *asked: replace(drawn(self, *asked), truth=None))
    kept = SamplesArtifact(here(), (0, 1, 2))
    assert set(realised(kept).arrays(kept)) == {"x", "label", "predicted"}


def test_gallery_samples_are_those_that_were_asked_for_in_that_order():
    kept = SamplesArtifact(here(), (2, 0))
    memory = realised(kept)
    assert memory.arrays(kept)["x"].tolist() == [[2.0, 2.5, 0.0], [0.0, 0.5, 0.0]]
    assert memory[kept].data["indices"] == [2, 0]


def test_predictions_are_kept_where_the_model_classifies(yard, monkeypatch):
    kept = SamplesArtifact(here(), (0, 1, 2))
    memory = realised(kept)
    setting = memory.desk.setting(kept.place.model)
    with torch.no_grad():
        expected = setting.model(torch.from_numpy(memory.arrays(kept)["x"])).argmax(dim=1)
    assert memory.arrays(kept)["predicted"].tolist() == expected.tolist()
    made = yard.Meadow.setting
    monkeypatch.setattr(yard.Meadow, "setting", lambda self, *asked: replace(made(self, *asked), outputs="value"))
    assert "predicted" not in realised(kept).arrays(kept)


def kept_of(given, count):
    memory, kept = MemoryEngine(Machine(), raises=True), SamplesArtifact(given.place, tuple(range(count)))
    memory.realise([kept])
    return memory[kept].data


def test_texts_keep_their_words_and_series_the_order_of_their_entries():
    texts = kept_of(small_data.texts(), 2)
    assert texts["words"] == [list(words) for words in small_data.texts().samples.words[:2]]
    assert "series" not in texts
    series = kept_of(small_data.series("both", first=False), 2)
    assert (series["series"], series["names"]) == ({"channels_first": False, "by": "both"}, ["x", "y", "z"])
    assert "words" not in series


def test_words_are_kept_short_and_without_what_is_no_text():
    (words,) = kept_of(small_data.texts(("good\udc80 " + "x" * 9999,)), 1)["words"]
    assert words[0] == "good\\udc80"
    assert len(words[1]) < MOST_LETTERS + 40


def test_images_are_kept_in_their_colours_where_these_are_known(yard, monkeypatch):
    made = yard.Meadow.setting
    monkeypatch.setattr(
        yard.Meadow, "setting", lambda self, *asked: replace(made(self, *asked), picture=lambda x: x / 10)
    )
    kept = SamplesArtifact(here(), (0, 2))
    memory = realised(kept)
    arrays = memory.arrays(kept)
    assert np.array_equal(arrays["picture"], arrays["x"] / 10)
    assert np.array_equal(read_samples("e", memory[kept].data, arrays, [0, 1]).x, arrays["picture"])
