"""The desk of a process: it computes artifacts and caches the components, settings and samples they share."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from assay.catalogue.build import describe, is_ours
from assay.catalogue.registry import stream_name
from assay.core.facts import data_rows
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.records import Record
from assay.core.rng import Stream, global_streams_restored
from assay.core.setting import Samples, Setting
from assay.core.trial import Scene, targets_for
from assay.engine.artifacts.artifact import Arrays, Artifact, Computed
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.model import ModelArtifact, Place
from assay.engine.artifacts.outcome import Blocked, make_record

CACHE_SIZES = {"setting": 4, "samples": 16, "component": 256, "name": 256}  # cached objects of each kind
ROW_BY_ROW = -1
HALVINGS = (0, 1, 2, 3, ROW_BY_ROW)  # how often the memory budget is halved, try after try
T = TypeVar("T")


class ArrayStore(Protocol):
    """Saves and loads arrays: a store in a folder or in memory."""

    def save(self, arrays: Arrays) -> str: ...

    def load(self, record: Record) -> dict[str, np.ndarray[Any, Any]]: ...


@dataclass(frozen=True, eq=False)
class Desk:
    """What one process computes artifacts with."""

    store: ArrayStore
    machine: Machine = Machine()
    records: Mapping[str, Record] = field(default_factory=dict)  # of the artifacts that the current one needs
    _caches: dict[str, OrderedDict[object, Any]] = field(
        default_factory=lambda: {kind: OrderedDict() for kind in CACHE_SIZES}
    )
    _groups: set[str] = field(default_factory=set)  # of the artifacts that this process has computed

    def compute(self, artifact: Artifact, records: Mapping[str, Record], raises: bool = False) -> Record:
        """The artifact's record, also where it fails; with ``raises``, exceptions pass through."""
        work = partial(_within_memory, artifact, replace(self, records=records))
        record = make_record(artifact.kind, artifact.key, work, self.store.save, raises)
        return replace(record, origin={**record.origin, **self._conditions(artifact.group.key)})

    # For the computations of artifacts.

    def component(self, component: Component) -> Any:
        return self._cached("component", component.identity, component.build)

    def setting(self, model: ModelArtifact, for_: Component | None = None) -> Setting:
        """The setting of a model. Where it is for a foreign component, the model is copied, since it may be changed."""

        def make() -> Setting:
            environment = self.component(model.environment)
            weights = self.tensors(model) if model.as_need else {}
            with global_streams_restored():
                new_setting: Setting = environment.setting(model.seed, weights)
            model.environment.check_files()
            return new_setting.to(self.machine.device, getattr(torch, self.machine.dtype))

        shared = self._cached("setting", model.key, make)
        return shared if for_ is None or is_ours(self.component(for_)) else shared.copied()

    def samples(self, place: Place, indices: range | tuple[int, ...]) -> Samples:
        def make() -> Samples:
            environment = self.component(place.environment)
            with global_streams_restored():
                samples: Samples = environment.sample(indices, place.data_seed)
                rows = data_rows(environment, indices, place.data_seed)
            place.environment.check_files()
            return replace(samples, data_rows=rows).to(self.machine.device, getattr(torch, self.machine.dtype))

        return self._cached("samples", (place.data_key, indices), make)

    def scene(self, place: Place, samples: Samples, question: Question, metric: Component) -> Scene:
        """What a metric sees. Its samples are copies, so that no metric can change the samples of another."""
        setting = self.setting(place.model, metric)
        samples, full_question = samples.copy(), question.over(setting.question)
        target = targets_for(setting, full_question, samples, self.machine)
        return Scene(setting, samples, full_question, target, self.stream("metric", metric, place), self.machine)

    def stream(self, role: str, component: Component, place: Place) -> Stream:
        """The random numbers of a component at a place."""
        environment_name = self._cached(
            "name", place.environment.identity, lambda: self._stream_name(place.environment)
        )
        component_name = self._cached("name", component.identity, lambda: self._stream_name(component))
        return Stream(role, component_name, environment_name, place.seed, place.data_seed)

    def load(self, artifact: Artifact) -> dict[str, np.ndarray[Any, Any]]:
        """The stored arrays of an artifact; raises Blocked where it was skipped or failed."""
        record = self.records[artifact.key]
        if record.status != "ok":
            raise Blocked(record)
        return self.store.load(record)

    def tensors(self, artifact: Artifact) -> dict[str, Tensor]:
        """The stored arrays of an artifact as new tensors on the machine's device."""
        return {name: torch.tensor(array, device=self.machine.device) for name, array in self.load(artifact).items()}

    def arrays(self, tensors: Mapping[str, Tensor]) -> Arrays:
        """Tensors as arrays to be stored; bfloat16 becomes float32, because numpy has no bfloat16."""
        on_cpu = {name: tensor.detach().cpu() for name, tensor in tensors.items()}
        return {name: (t.float() if t.dtype is torch.bfloat16 else t).numpy() for name, t in on_cpu.items()}

    def _conditions(self, group: str) -> dict[str, Any]:
        """With what a record is made. The first of its group in a process includes warm-up: imports, the model."""
        first = group not in self._groups
        self._groups.add(group)
        return {"group": group, "first": first, **vars(self.machine)}

    def _stream_name(self, component: Component) -> str:
        instance = self.component(component)
        return str(getattr(instance, "stream_name", "")) or stream_name(component.kind, describe(instance))

    def _cached(self, kind: str, key: object, make: Callable[[], T]) -> T:
        cache = self._caches[kind]
        if key not in cache:
            cache[key] = make()
            while len(cache) > CACHE_SIZES[kind]:
                cache.popitem(last=False)
        cache.move_to_end(key)
        return cache[key]  # type: ignore[no-any-return]


def _within_memory(artifact: Artifact, desk: Desk) -> Computed:
    """Compute within the available memory: where it runs out, the budget is halved, at last to one row a call.

    A training is tried once: its batches do not follow from the budget.
    """
    halvings = (0,) if artifact.kind == "model" else HALVINGS
    for halved in halvings:
        memory = 1 if halved == ROW_BY_ROW else desk.machine.memory >> halved
        smaller = replace(desk, machine=replace(desk.machine, memory=memory)) if halved else desk
        try:
            computed = artifact.compute(smaller)
            return replace(computed, data={**computed.data, "memory_halved": halved}) if halved else computed
        except Exception as error:
            if not _out_of_memory(error):
                raise
            if halved == halvings[-1]:
                raise MemoryError(_advice(artifact.kind, desk.machine, error)) from error
        # Only now, when the error no longer holds the tensors of the computation:
        if desk.machine.device.startswith("cuda"):
            torch.cuda.empty_cache()
    raise AssertionError("the last try returns or raises")


def _out_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def _advice(kind: str, machine: Machine, error: Exception) -> str:
    too_large = "a training does not fit into memory" if kind == "model" else "not even one row a call fits into memory"
    remedies = ["fewer --workers", "smaller inputs"]
    remedies += ["--dtype float32"] if machine.dtype == "float64" else []
    remedies += ["--device cpu"] if machine.device != "cpu" else []
    return f"{too_large}: try {', '.join(remedies)} or a machine with more memory ({type(error).__name__}: {error})"
