"""A user's model and rows in memory: checked, and an environment like any other."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.setting import Samples, Setting
from assay.engine.artifacts.artifact import Block, default_block_size, split_blocks
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.model import Place, make_place
from assay.environments.own import Own
from assay.foreign.inputs import checked_baseline, dtype_name
from assay.foreign.models import default_readout
from assay.users.reading import Reading
from assay.users.subject import Asking, default_baseline, read_subject

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
        words = tuple(rows.words[position] for position in positions) if rows.words else ()
        return Samples(rows.x[positions], rows.label[positions], None, tuple(indices), target, words)


@dataclass(frozen=True, eq=False)
class OwnModel:
    """Where questions are asked, the samples, and what computes them."""

    setting: Setting
    samples: Samples
    machine: Machine
    notes: tuple[str, ...] = ()  # what was chosen and converted, a sentence each

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
    asking: Asking = Asking(),
    baseline: str | float | None = None,
    memory: int = USER_PROCESS.memory,
    own_reference: bool = False,
    reading: Reading = Reading(),
) -> OwnModel:
    """A model and rows, checked; the parameters are those of ``assay.evaluate``. With ``own_reference``, rows without a
    reference are their own."""
    if not isinstance(memory, Integral) or memory < 1:
        raise SpecError(f"memory={memory!r}: give a number of bytes, as 2**30.")
    subject = read_subject(model, x, reference=reference, label=label, asking=asking, reading=reading)
    rows, taken = subject.rows, subject.taken
    machine = Machine(str(rows.x.device), dtype_name(rows.x.dtype), int(memory), torch.get_num_threads())
    has_reference = rows.reference is not None or (own_reference and len(rows) > 1)
    baseline = default_baseline(rows, has_reference) if baseline is None else baseline
    question = _question(taken.outputs, readout, checked_baseline(baseline, rows.x.dtype), target, has_reference)
    if taken.outputs == "value" and taken.count > 1 and target is None:
        raise SpecError(
            f"the model answers with {taken.count} values: give target, the one to explain, 0 to {taken.count - 1}."
        )
    setting = subject.setting(question, subject.reference(own_reference, machine))
    targets = None if target is None else subject.targets("target", target)
    labels = targets if rows.label is None and targets is not None else subject.labels(machine)
    samples = Samples(rows.x, labels, None, tuple(range(len(rows))), targets, rows.words)
    return OwnModel(setting, samples, machine, subject.notes)


def _question(
    outputs: str, readout: str | None, baseline: str | float, target: object, has_reference: bool
) -> Question:
    if baseline == "mean" and not has_reference:
        raise SpecError("baseline='mean' is the mean of training rows: give them as reference.")
    return Question(default_readout(outputs, readout), 1.0, baseline, "predicted" if target is None else "label")
