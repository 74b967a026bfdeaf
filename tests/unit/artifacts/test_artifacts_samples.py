"""Samples that are kept for pictures say what they are."""

from dataclasses import replace

from assay.artifacts.samples import SamplesArtifact
from yard_study import here, realised


def test_gallery_samples_say_what_they_are():
    kept = SamplesArtifact(here(), 3)
    memory = realised(kept)
    arrays = memory.arrays(kept)
    assert {name: array.shape for name, array in arrays.items()} == {"x": (3, 3), "label": (3,), "effect": (3, 3)}
    assert arrays["x"].tolist() == [[0.0, 0.5, 0.0], [1.0, 1.5, 0.0], [2.0, 2.5, 0.0]]
    data = memory[kept].data
    assert data["names"] == ["a", "b", "c"]
    assert data["classes"] == ["no", "yes"]
    assert (data["kind"], data["entries"], data["features"]) == ("table", [3], [3])


def test_where_no_truth_is_known_none_is_kept(yard, monkeypatch):
    drawn = yard.Meadow.sample
    monkeypatch.setattr(yard.Meadow, "sample", lambda self, *asked: replace(drawn(self, *asked), truth=None))
    kept = SamplesArtifact(here(), 3)
    assert set(realised(kept).arrays(kept)) == {"x", "label"}
