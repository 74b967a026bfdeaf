"""A user's model and rows: checked, and an environment like any other."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.setting import Reference, Samples, Setting
from assay.engine.artifacts.artifact import Block, default_block_size, split_blocks
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.model import Place, make_place
from assay.environments.own import Own
from assay.foreign.inputs import (
    as_classes,
    as_rows,
    checked_baseline,
    checked_classes,
    checked_rows,
    column_names,
    default_baseline,
    dtype_name,
)
from assay.foreign.models import count_outputs, default_readout, own_setting, predictions
from assay.train.estimator import as_model

# In a user's process, the allocator returns large buffers to the system after every call, so that many small calls are
# up to five times faster than few large ones. (Our own processes keep pages: core/heap.py.)
USER_PROCESS = Machine(memory=2**26)


@dataclass(frozen=True, eq=False)
class InMemoryEnvironment:
    """A model and rows as an environment, as ``own`` is in a study."""

    model: Setting
    rows: Samples

    draws_model: ClassVar[bool] = False
    stream_name: ClassVar[str] = Own.stream_name  # the same random numbers as in a study

    def setting(self, _seed: int, _weights: Mapping[str, Tensor]) -> Setting:
        return self.model

    def identities(self, indices: Sequence[int], seed: int) -> list[Hashable]:
        return list(Own.order(len(self.rows), seed)[list(indices)].tolist())

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        positions, rows = Own.order(len(self.rows), seed)[list(indices)].tolist(), self.rows
        target = None if rows.target is None else rows.target[positions]
        return Samples(rows.x[positions], rows.label[positions], None, tuple(indices), target)


@dataclass(frozen=True, eq=False)
class OwnModel:
    """Where questions are asked, the samples, and what computes them."""

    setting: Setting
    samples: Samples
    machine: Machine

    @property
    def environment(self) -> InMemoryEnvironment:
        return InMemoryEnvironment(self.setting, self.samples)

    @property
    def place(self) -> Place:
        return make_place(Component("environments", instance=self.environment), 0, 0, self.machine.dtype)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return split_blocks(len(self.samples), default_block_size(self.setting.kind), len(self.samples))


def own_model(
    model: Any,
    x: Any,
    target: Any,
    *,
    label: Any = None,
    reference: Any = None,
    readout: str | None = None,
    outputs: str | None = None,
    baseline: str | float | None = "zero",
    memory: int = USER_PROCESS.memory,
    own_reference: bool = False,
) -> OwnModel:
    """A model and rows, checked; the parameters are those of ``assay.evaluate``. With ``own_reference``, rows without a
    reference are their own."""
    model, outputs = as_model(model, outputs)
    rows = checked_rows("x", as_rows("x", x, model))
    if own_reference and reference is None and len(rows) > 1:
        reference = rows
    baseline = default_baseline(rows, reference is not None) if baseline is None else baseline
    question = _question(outputs, readout, checked_baseline(baseline, rows.dtype), target, reference)
    setting = own_setting(model, rows, question, outputs, names=column_names(x))
    count = count_outputs(setting.model, rows, outputs)
    if outputs == "value" and count > 1 and target is None:
        raise SpecError(f"the model answers with {count} values: give target, the one to explain, 0 to {count - 1}.")
    if not isinstance(memory, Integral) or memory < 1:
        raise SpecError(f"memory={memory!r}: give a number of bytes, as 2**30.")
    machine = Machine(str(rows.device), dtype_name(rows.dtype), int(memory), torch.get_num_threads())

    def classes(name: str, values: Any) -> Tensor:
        numbers = as_classes(name, values).to(rows.device)
        is_single = name == "target" and numbers.dim() == 0
        return checked_classes(name, numbers.repeat(len(rows)) if is_single else numbers, len(rows), count)

    targets = None if target is None else classes("target", target)
    labels = classes("label", label) if label is not None else targets
    labels = predictions(setting.model, rows, outputs, machine) if labels is None else labels
    if reference is not None:
        extra = checked_rows("reference", as_rows("reference", reference, model).to(rows), rows)
        setting = replace(setting, reference=Reference(extra, predictions(setting.model, extra, outputs, machine)))
    return OwnModel(setting, Samples(rows, labels, None, tuple(range(len(rows))), targets), machine)


def _question(outputs: str, readout: str | None, baseline: str | float, target: object, reference: object) -> Question:
    if baseline == "mean" and reference is None:
        raise SpecError("baseline='mean' is the mean of training rows: give them as reference.")
    return Question(default_readout(outputs, readout), 1.0, baseline, "predicted" if target is None else "label")
