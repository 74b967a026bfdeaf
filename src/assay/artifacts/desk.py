"""A worker's desk: where artifacts are computed, with the components, settings and samples that it has at hand."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from assay.artifacts.artifact import Arrays, Artifact, Block, Made
from assay.artifacts.component import Component
from assay.artifacts.model import ModelArtifact, Place
from assay.artifacts.outcome import Blocked, outcome
from assay.core.build import describe, is_ours
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.records import Record
from assay.core.registry import stream_name
from assay.core.rng import Stream, lent
from assay.core.setting import Samples, Setting
from assay.core.trial import Scene, targets_for

KEPT = {"setting": 4, "samples": 16, "component": 256, "name": 256}  # how many of a kind are at hand
T = TypeVar("T")


class Shelf(Protocol):
    """Where arrays are kept: a store in a folder or in memory."""

    def save(self, arrays: Arrays) -> str: ...

    def load(self, record: Record) -> dict[str, np.ndarray[Any, Any]]: ...


@dataclass(frozen=True, eq=False)
class Desk:
    """What one process works with."""

    shelf: Shelf
    machine: Machine = Machine()
    records: Mapping[str, Record] = field(default_factory=dict)  # of what the current artifact needs
    _kept: dict[str, OrderedDict[object, Any]] = field(default_factory=lambda: {kind: OrderedDict() for kind in KEPT})

    def compute(self, artifact: Artifact, records: Mapping[str, Record], raises: bool = False) -> Record:
        """The artifact's record, whatever happens; with ``raises``, exceptions pass through."""
        desk = replace(self, records=records)
        return outcome(artifact.kind, artifact.key, partial(_within_memory, artifact, desk), self.shelf.save, raises)

    # What an artifact's computation asks for.

    def component(self, component: Component) -> Any:
        return self._keep("component", component.identity, component.build)

    def setting(self, model: ModelArtifact, for_: Component | None = None) -> Setting:
        """The model and its surroundings; somebody else's code gets a copy of the model that nobody else sees."""

        def make() -> Setting:
            environment = self.component(model.environment)
            weights = self.tensors(model) if model.stored else {}
            with lent():
                made: Setting = environment.setting(model.seed, weights)
            model.environment.check_files()
            return made.to(self.machine.device, getattr(torch, self.machine.dtype))

        found = self._keep("setting", model.key, make)
        return found if for_ is None or is_ours(self.component(for_)) else found.copied()

    def samples(self, place: Place, block: Block) -> Samples:
        def make() -> Samples:
            environment = self.component(place.environment)
            with lent():
                made: Samples = environment.sample(block.indices, place.data_seed)
            place.environment.check_files()
            return made.to(self.machine.device, getattr(torch, self.machine.dtype))

        return self._keep("samples", (place.data_key, block), make)

    def scene(self, place: Place, samples: Samples, question: Question, metric: Component) -> Scene:
        """What a metric sees: copies of the samples, so that no other sees what it does to them."""
        setting = self.setting(place.model, metric)
        samples, asked = samples.copy(), question.over(setting.question)
        target = targets_for(setting, asked, samples, self.machine)
        return Scene(setting, samples, asked, target, self.stream("metric", metric, place), self.machine)

    def stream(self, role: str, component: Component, place: Place) -> Stream:
        """The random numbers of a component at a place."""
        where = self._keep("name", place.environment.identity, lambda: self._name(place.environment))
        who = self._keep("name", component.identity, lambda: self._name(component))
        return Stream(role, who, where, place.seed, place.data_seed)

    def load(self, artifact: Artifact) -> dict[str, np.ndarray[Any, Any]]:
        """The arrays of something that was computed before; Blocked where that did not end well."""
        record = self.records[artifact.key]
        if record.status != "ok":
            raise Blocked(record)
        return self.shelf.load(record)

    def tensors(self, artifact: Artifact) -> dict[str, Tensor]:
        """The same as tensors that nobody else has."""
        return {name: torch.tensor(array, device=self.machine.device) for name, array in self.load(artifact).items()}

    def arrays(self, tensors: Mapping[str, Tensor]) -> Arrays:
        """As they are stored; numpy has no bfloat16."""
        plain = {name: tensor.detach().cpu() for name, tensor in tensors.items()}
        return {name: (t.float() if t.dtype is torch.bfloat16 else t).numpy() for name, t in plain.items()}

    def _name(self, component: Component) -> str:
        made = self.component(component)
        return str(getattr(made, "stream_name", "")) or stream_name(component.kind, describe(made))

    def _keep(self, kind: str, key: object, make: Callable[[], T]) -> T:
        kept = self._kept[kind]
        if key not in kept:
            kept[key] = make()
            while len(kept) > KEPT[kind]:
                kept.popitem(last=False)
        kept.move_to_end(key)
        return kept[key]  # type: ignore[no-any-return]


def _within_memory(artifact: Artifact, desk: Desk) -> Made:
    """Computed within the memory there is: the budget is halved where it was not enough, and at last one row a call."""
    for halved, machine in _budgets(desk.machine):
        try:
            made = artifact.compute(replace(desk, machine=machine))
            return replace(made, data={**made.data, "memory_halved": halved}) if halved else made
        except Exception as error:
            if halved == -1 or not _out_of_memory(error):
                raise
    raise AssertionError("the last budget returns or raises")


def _budgets(machine: Machine, tries: int = 4) -> Iterator[tuple[int, Machine]]:
    """How often the budget was halved, -1 for row by row, and what is left of it."""
    for power in range(tries):
        yield power, replace(machine, memory=machine.memory >> power)
    yield -1, replace(machine, memory=1)


def _out_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error)
