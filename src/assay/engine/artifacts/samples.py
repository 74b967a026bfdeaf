"""Some samples of an environment, stored for the pictures of a report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from assay.core.records import Kind, printable
from assay.engine.artifacts.artifact import Artifact, Computed, Group, make_key
from assay.engine.artifacts.model import Place

if TYPE_CHECKING:
    from assay.engine.artifacts.desk import Desk

MOST_LETTERS = 200  # that are kept of a word


@dataclass(frozen=True, eq=False)
class SamplesArtifact:
    """Inputs, labels, the model's predictions, truth, the words of texts, and images in their colours where known."""

    place: Place
    indices: tuple[int, ...]

    kind: ClassVar[Kind] = "samples"

    @cached_property
    def key(self) -> str:
        place = self.place
        model, data, dtype = place.model.key, place.data_key, place.dtype
        return make_key("samples", model=model, data=data, dtype=dtype, indices=list(self.indices))

    @property
    def needs(self) -> tuple[Artifact, ...]:
        return self.place.model.as_need

    @property
    def group(self) -> Group:
        return Group(self.kind, self.place.environment, size=len(self.indices))

    def compute(self, desk: Desk) -> Computed:
        from assay.core.features import Steps
        from assay.core.trial import targets_for

        setting = desk.setting(self.place.model)
        samples = desk.samples(self.place, self.indices)
        arrays = {"x": samples.x, "label": samples.label}
        if setting.outputs != "value":
            question = replace(setting.question, target="predicted")
            arrays["predicted"] = targets_for(setting, question, samples, desk.machine)
        if setting.picture is not None:
            arrays["picture"] = setting.picture(samples.x)
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
            "informative": None if setting.informative is None else list(setting.informative),
            "indices": list(self.indices),
        }
        if samples.words:
            data["words"] = [[printable(word, MOST_LETTERS) for word in words] for words in samples.words]
        if isinstance(features, Steps):
            data["series"] = {"channels_first": features.channels_first, "by": features.by}
        return Computed(desk.arrays(arrays), data)
