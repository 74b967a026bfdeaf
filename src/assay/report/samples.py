"""What a gallery shows: some samples of each environment, their truth, and all methods' attributions of them."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.core.errors import StoreError
from assay.core.records import Record
from assay.engine.store.arrays import Array
from assay.report.damages import DAMAGED
from assay.report.loaded_run import LoadedRun, Series
from assay.report.series import Layout
from assay.report.text import listed

FEATURES = 24  # how many features of a table are shown where each method has an order of its own
NOUNS = {"table": "column", "tokens": "position", "series": "channel"}  # what features without names are called


@dataclass(frozen=True, eq=False)
class GallerySamples:
    """The samples of one environment that the study's gallery asks for, of its first seed."""

    environment: str
    kind: str = ""  # image, table, tokens, series
    names: tuple[str, ...] = ()  # of a table's features, or of a series' channels
    classes: tuple[str, ...] = ()  # one per sample; empty where the model does not classify
    x: Array | None = None  # (n, *entries); of images in their colours, where these are known
    truth: Array | None = None  # (n, *features)
    maps: Mapping[str, Array | str] | None = None  # by method: (n, *features), or why there is none
    reason: str = ""  # why there is nothing to show
    indices: tuple[int, ...] = ()  # which samples these are
    mistakes: tuple[str, ...] = ()  # the class that the model predicts for each sample; empty where that is right
    informative: frozenset[int] | None = None  # features that may have an effect; None: not known
    one_scale: frozenset[str] = frozenset()  # methods whose maps are drawn from -1 to 1, so that they can be compared
    groups: tuple[int, ...] = ()  # the feature of every entry of a table
    words: tuple[tuple[str, ...], ...] = ()  # per sample the text of each feature, where samples differ in it
    layout: Layout | None = None  # of a series
    answers: tuple[str, ...] = ()  # per sample what is explained, and the model's answer; empty: not told

    def name(self, feature: int) -> str:
        return self.names[feature] if feature < len(self.names) else f"{NOUNS.get(self.kind, 'feature')} {feature}"

    def label(self, position: int, feature: int) -> str:
        """A feature's name with its value, as the sample's words say it, or as the model reads it where it is one
        number: ``age = 39``."""
        value = self._value(position, feature)
        return f"{self.name(feature)} = {value}" if value else self.name(feature)

    def _value(self, position: int, feature: int) -> str:
        if self.words:
            return self.words[position][feature] if feature < len(self.words[position]) else ""
        entries = np.flatnonzero(np.array(self.groups) == feature)
        if self.x is None or len(entries) != 1:
            return ""
        value = float(self.x[position].ravel()[entries[0]])
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.7g}"

    def title(self, position: int) -> str:
        """Which sample it is, of which class, and whether the model takes it for another."""
        parts = [f"sample {self.indices[position]}", *self.classes[position : position + 1]]
        mistake = self.mistakes[position] if self.mistakes else ""
        parts += [f"misclassified as {mistake}"] if mistake else []
        return ", ".join([*parts, *self.answers[position : position + 1]])

    @property
    def is_text(self) -> bool:
        """Whether samples are drawn as coloured words."""
        return self.kind == "tokens" and bool(self.words)

    def scale(self, method: str) -> float | None:
        """The end of the scale of a method's colours; None: the largest absolute value of each map."""
        return 1.0 if method in self.one_scale else None

    @property
    def ranked(self) -> bool:
        """Whether bars are drawn largest first, with features that count apart from noise."""
        return self.kind == "table" and self.truth is not None and self.informative is not None

    def __len__(self) -> int:
        return 0 if self.x is None else len(self.x)


def gallery_samples(loaded: LoadedRun) -> tuple[GallerySamples, ...]:
    """The samples of each environment in the run's gallery."""
    return tuple(_load_samples(loaded, entry["environment"], entry["key"]) for entry in loaded.run.data["gallery"])


def _load_samples(loaded: LoadedRun, environment: str, key: str) -> GallerySamples:
    record = loaded.records.get(key)
    if record is None or record.status != "ok":
        return GallerySamples(environment, reason=record.reason if record else "the samples are not in the store")
    try:
        arrays = loaded.store.load(record)
    except StoreError as error:
        return GallerySamples(environment, reason=str(error))
    first_seed = loaded.study.seeds[0]
    gallery_series = [series for series in loaded.series(environment) if series["seed"] == first_seed]
    stored = record.data.get("indices", list(range(len(arrays["x"]))))  # older records: the first ones
    evaluated = min([max(stored) + 1, *(series["samples"] for series in gallery_series)])
    indices = tuple(index for index in stored if index < evaluated)
    if not indices:
        asked = listed([str(index) for index in stored])
        return GallerySamples(environment, reason=f"the gallery asks for {asked}, and {evaluated} were evaluated")
    chosen = [stored.index(index) for index in indices]
    found = read_samples(environment, record.data, {name: array[chosen] for name, array in arrays.items()}, chosen)
    return replace(
        found,
        maps={series["method"]: _load_maps(loaded, series, indices, record) for series in gallery_series},
        indices=indices,
        one_scale=frozenset(entry.label for entry in loaded.study.methods if entry.spec.name == DAMAGED),
    )


def read_samples(
    environment: str, facts: Mapping[str, Any], arrays: Mapping[str, Array], chosen: Sequence[int]
) -> GallerySamples:
    """Samples without attributions, from what is stored of them; ``chosen`` are the positions that the arrays hold."""
    informative = facts.get("informative")
    return GallerySamples(
        environment,
        facts["kind"],
        tuple(facts["names"]),
        _classes(arrays["label"], facts["classes"]),
        arrays.get("picture", arrays["x"]),
        arrays.get("effect"),
        mistakes=_mistakes(arrays, facts["classes"]),
        informative=None if informative is None else frozenset(informative),
        groups=tuple(facts["groups"]),
        words=tuple(tuple(facts["words"][position]) for position in chosen) if facts.get("words") else (),
        layout=Layout.of(facts.get("series")),
    )


def _classes(labels: Array, names: list[str]) -> tuple[str, ...]:
    return tuple(str(names[int(label)]) for label in labels) if names else ()


def _mistakes(arrays: Mapping[str, Array], names: list[str]) -> tuple[str, ...]:
    """Per sample the predicted class where it is not the label; empty where the model does not classify."""
    label, predicted = arrays["label"], arrays.get("predicted")
    if predicted is None:
        return ()
    texts = [str(names[int(index)]) if names else f"class {int(index)}" for index in predicted]
    return tuple("" if right else text for text, right in zip(texts, label == predicted, strict=True))


def _load_maps(loaded: LoadedRun, series: Series, indices: Sequence[int], samples: Record) -> Array | str:
    starts = [block["start"] for block in series["blocks"]]
    number_of = {index: bisect(starts, index) - 1 for index in indices}
    attributions: dict[int, Array] = {}  # by the number of their block
    for number in sorted(set(number_of.values())):
        trial = loaded.records.get(series["blocks"][number]["trial"])
        if trial is None or trial.status != "ok":
            return f"{trial.status}: {trial.reason}" if trial else "was not computed"
        try:
            attributions[number] = loaded.store.load(trial)["attribution"]
        except StoreError as error:
            return str(error)
    rows = [attributions[number][index - starts[number]] for index, number in number_of.items()]
    return per_feature(np.stack(rows), samples.data)


def per_feature(attribution: Array, facts: Mapping[str, Any]) -> Array:
    """Summed over the entries of each feature (the channels of a pixel, a one-hot block), as metrics read it."""
    entries, features = tuple(facts["entries"]), tuple(facts["features"])
    values = np.asarray(attribution, dtype=np.float64)
    if values.shape[1:] != entries:
        return values.reshape(len(values), *features)
    if facts["groups"] or facts["kind"] == "table":
        return _grouped(values, np.asarray(facts["groups"]), features[0])
    if (layout := Layout.of(facts.get("series"))) is not None:
        return layout.pooled(values)
    return np.asarray(values.sum(axis=1 if facts["kind"] == "image" else -1))


def _grouped(values: Array, groups: Array, features: int) -> Array:
    if len(groups) < features:  # every feature has an entry
        raise StoreError(f"{features} features are stated, and {len(groups)} entries")
    return np.stack([values[:, groups == feature].sum(axis=1) for feature in range(features)], axis=1)
