"""What a gallery shows: the first samples of each environment, their truth, and every method's attribution of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.core.errors import StoreError
from assay.core.records import Record
from assay.report.reading import Reading, Trials
from assay.store.artifacts import Array

FEATURES = 24  # of a table that are shown


@dataclass(frozen=True, eq=False)
class Shown:
    """The first samples of one environment, of the study's first seed."""

    environment: str
    kind: str = ""  # image, table, tokens
    names: tuple[str, ...] = ()  # of the features of a table
    classes: tuple[str, ...] = ()  # of each sample; empty where the model does not classify
    x: Array | None = None  # (n, *entries)
    truth: Array | None = None  # (n, *features)
    maps: Mapping[str, Array | str] | None = None  # by method: (n, *features), or why there is none
    reason: str = ""  # why there is nothing to show

    def name(self, feature: int) -> str:
        return self.names[feature] if feature < len(self.names) else str(feature)

    def __len__(self) -> int:
        return 0 if self.x is None else len(self.x)


def shown(reading: Reading) -> tuple[Shown, ...]:
    """One for each environment of the run's gallery."""
    return tuple(_shown(reading, entry["environment"], entry["key"]) for entry in reading.run.data["gallery"])


def _shown(reading: Reading, environment: str, key: str) -> Shown:
    record = reading.records.get(key)
    if record is None or record.status != "ok":
        return Shown(environment, reason=record.reason if record else "the samples are not in the store")
    try:
        arrays = reading.store.load(record)
    except StoreError as error:
        return Shown(environment, reason=str(error))
    first = reading.study["seeds"][0]
    cells = [trials for trials in reading.trials(environment) if trials["seed"] == first]
    count = min([len(arrays["x"]), *(trials["samples"] for trials in cells)])
    return Shown(
        environment,
        record.data["kind"],
        tuple(record.data["names"]),
        _classes(arrays["label"][:count], record.data["classes"]),
        arrays["x"][:count],
        arrays["effect"][:count] if "effect" in arrays else None,
        {trials["method"]: _maps(reading, trials, count, record) for trials in cells},
    )


def salient(weight: Array) -> list[int]:
    """The features to show, in their order: all of them, or those that weigh most where there are many."""
    first = np.argsort(-np.abs(weight), kind="stable")[:FEATURES]
    return sorted(int(index) for index in first)


def _classes(labels: Array, names: list[str]) -> tuple[str, ...]:
    return tuple(str(names[int(label)]) for label in labels) if names else ()


def _maps(reading: Reading, trials: Trials, count: int, samples: Record) -> Array | str:
    parts: list[Array] = []
    for block in trials["blocks"]:
        if block["start"] >= count:
            break
        trial = reading.records.get(block["trial"])
        if trial is None or trial.status != "ok":
            return f"{trial.status}: {trial.reason}" if trial else "was not computed"
        try:
            parts.append(reading.store.load(trial)["attribution"])
        except StoreError as error:
            return str(error)
    return per_feature(np.concatenate(parts)[:count], samples.data)


def per_feature(attribution: Array, facts: Mapping[str, Any]) -> Array:
    """Added up over the entries of each feature, as metrics see it: over the channels of a pixel, a one-hot block."""
    entries, features = tuple(facts["entries"]), tuple(facts["features"])
    values = np.asarray(attribution, dtype=np.float64)
    if values.shape[1:] != entries:
        return values.reshape(len(values), *features)
    if facts["kind"] == "image":
        return np.asarray(values.sum(axis=1))
    if facts["kind"] == "tokens":
        return np.asarray(values.sum(axis=-1))
    groups = np.asarray(facts["groups"])
    return np.stack([values[:, groups == feature].sum(axis=1) for feature in range(features[0])], axis=1)
