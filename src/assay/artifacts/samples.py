"""The first samples of an environment, kept for the pictures of a report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from assay.artifacts.artifact import Artifact, Block, Made, make_key
from assay.artifacts.model import Place
from assay.core.records import Kind

if TYPE_CHECKING:
    from assay.artifacts.desk import Desk


@dataclass(frozen=True, eq=False)
class SamplesArtifact:
    """Inputs, labels and truth."""

    place: Place
    count: int

    kind: ClassVar[Kind] = "samples"

    @cached_property
    def key(self) -> str:
        return make_key("samples", data=self.place.data_key, dtype=self.place.dtype, count=self.count)

    @property
    def needs(self) -> tuple[Artifact, ...]:
        return self.place.model.stored

    def compute(self, desk: Desk) -> Made:
        setting = desk.setting(self.place.model)
        samples = desk.samples(self.place, Block(0, self.count))
        arrays = {"x": samples.x, "label": samples.label}
        if samples.truth is not None:
            arrays["effect"] = samples.truth.effect
        features = setting.features
        data: dict[str, Any] = {
            "kind": setting.kind,
            "entries": list(features.entries),
            "features": list(features.shape),
            "names": list(getattr(features, "names", ())),
            "groups": list(getattr(features, "groups", ())),
            "classes": list(setting.classes),
        }
        return Made(desk.arrays(arrays), data)
