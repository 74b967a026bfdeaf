"""Samples that are kept for pictures say what they are."""

from dataclasses import replace

import torch

from assay.engine.artifacts.samples import SamplesArtifact
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
