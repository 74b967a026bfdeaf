"""What soundness and deletion cost is stated; how much it is, is nobody's test."""

from __future__ import annotations

from assay.metrics.soundness import Soundness
from benchmarks.deletion_curve import Curve, cifar_scene
from benchmarks.soundness import SoundnessCost

SHOWN = {"task", "problem", "repeats", "who", "figure", "ratio", "note"}


def test_the_network_has_the_layout_of_resnet_20() -> None:
    scene = cifar_scene(2)
    assert sum(parameter.numel() for parameter in scene.setting.model.parameters()) == 269_722
    assert scene.ask().outputs(scene.samples.x).shape == (2, 10)


def test_the_metric_is_shown_next_to_its_passes() -> None:
    ours, passes = Curve(images=1, points=3).rows("deletion_curve", 1)
    assert all(set(row) >= SHOWN for row in (ours, passes))
    assert passes["ratio"] == "1.00x"


def test_both_ways_to_impute_find_the_same() -> None:
    ours, theirs, bare = SoundnessCost(images=1, metric=Soundness(steps=3)).rows("soundness", 1)
    assert all(set(row) >= SHOWN for row in (ours, theirs, bare))
    assert ours["note"].endswith("0.000")
    assert theirs["ratio"] == "1.0x"
