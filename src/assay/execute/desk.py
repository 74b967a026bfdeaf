"""A worker's desk: components, settings and samples that it has at hand, each made once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from assay.core.build import build
from assay.core.global_streams import lent
from assay.core.machine import Machine
from assay.core.numbers import state
from assay.core.question import Question
from assay.core.records import Record
from assay.core.setting import Samples, Setting
from assay.core.spec import Spec
from assay.core.trial import Scene, targets_for
from assay.execute.outcome import Arrays, require
from assay.store.artifacts import Arrays as Shelf
from assay.study.keys import Block, Place

T = TypeVar("T")


@dataclass
class Desk:
    """What one process works with."""

    root: Path  # of the store
    machine: Machine = Machine()
    _kept: OrderedDict[object, Any] = field(default_factory=OrderedDict)

    @property
    def dtype(self) -> torch.dtype:
        return getattr(torch, self.machine.dtype)  # type: ignore[no-any-return]

    def component(self, kind: str, spec: Spec) -> Any:
        return self._keep((kind, str(spec)), lambda: build(kind, spec))

    def setting(self, place: Place, model: str, records: Mapping[str, Record]) -> Setting:
        """The setting of a place; a trained one is rebuilt from its model's arrays.

        Methods and metrics work on this very model. Where one of them left it changed, the next gets a new one.
        """

        def make() -> tuple[Setting, object]:
            weights = self.tensors(require(records, model)) if model else {}
            environment = self.component("environments", place.environment)
            with lent():
                made: Setting = environment.setting(place.seed, weights)
            found = made.to(self.machine.device, self.dtype)
            return found, state(*_models(found))

        key = ("setting", str(place.environment), place.seed)
        found, before = self._keep(key, make)
        if state(*_models(found)) != before:
            del self._kept[key]
            found, _ = self._keep(key, make)
        return found

    def samples(self, place: Place, block: Block) -> Samples:
        def make() -> Samples:
            environment = self.component("environments", place.environment)
            with lent():
                made: Samples = environment.sample(block.indices, place.data_seed)
            return made.to(self.machine.device, self.dtype)

        return self._keep(("samples", str(place.environment), place.data_seed, block), make)

    def scene(self, place: Place, setting: Setting, samples: Samples, question: Question, metric: Spec) -> Scene:
        """What a metric sees: copies, so that no other sees what it does to them.

        Its randomness knows the metric, the place and the sample, never the method.
        """
        samples = samples.copy()
        asked = question.over(setting.question)
        target = targets_for(setting, asked, samples.x, samples.label, self.machine)
        stream = ("metric", str(metric), *place.stream)
        return Scene(setting, samples, asked, target, stream, self.machine)

    def save(self, arrays: Arrays) -> str:
        return Shelf(self.root / "arrays").put(arrays)

    def load(self, record: Record) -> dict[str, np.ndarray[Any, Any]]:
        return Shelf(self.root / "arrays").get(record.arrays) if record.arrays else {}

    def tensors(self, record: Record) -> dict[str, Tensor]:
        return {name: torch.from_numpy(array).to(self.machine.device) for name, array in self.load(record).items()}

    def _keep(self, key: object, make: Callable[[], T], most: int = 64) -> T:
        if key not in self._kept:
            self._kept[key] = make()
            while len(self._kept) > most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]  # type: ignore[no-any-return]


def _models(setting: Setting) -> tuple[nn.Module, ...]:
    return (setting.model,) if setting.sibling is None else (setting.model, setting.sibling)


def numpy_arrays(tensors: Mapping[str, Tensor]) -> Arrays:
    return {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
