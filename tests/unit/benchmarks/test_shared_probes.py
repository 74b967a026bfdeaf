"""Ten maps and one probe: the numbers are told, and the probe is made once."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from assay.core.evidence import Evidence
from assay.core.trial import Scene, Trial
from assay.metrics.single_deletion import SingleDeletion
from benchmarks.shared_probes import MAPS, Shared

SHOWN = {"task", "problem", "repeats", "who", "figure", "ratio", "note"}


@dataclass(frozen=True)
class Counting:
    """Single deletion that says what it was asked."""

    told: list[str] = field(default_factory=list)
    metric: SingleDeletion = SingleDeletion(grid=(2, 1))

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        self.told.append("probe")
        return self.metric.probe(scene)

    def __call__(self, trial: Trial) -> Evidence:
        self.told.append("judge with" if trial.probe else "judge without")
        return self.metric(trial)


def test_ten_maps_share_a_probe() -> None:
    metric = Counting()
    ten, one = Shared("counting", metric, images=1).rows("shared_probes", 1)
    assert set(ten) >= SHOWN
    assert ten["seconds"] > 0 < one["seconds"]
    assert one["ratio"] == "1.00x"
    assert f"ten maps for {ten['seconds'] / one['seconds']:.2f}x" in ten["note"]
    alone = ["probe", "judge with"]
    assert metric.told == [*alone, *alone, "probe", *["judge with"] * MAPS]  # to warm up, one, ten
