"""A user's model and rows, read together: each says how the other is to be taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.setting import Reference, Setting
from assay.foreign import models
from assay.users.answers import Name
from assay.users.class_numbers import label_numbers, output_numbers
from assay.users.embedded import embedded
from assay.users.known import known
from assay.users.passing import Forward
from assay.users.read import read_rows
from assay.users.reading import Reading
from assay.users.rows import Rows
from assay.users.series import UnknownOrder, order_of
from assay.users.take import check_not_swapped, take_model, takes_missing
from assay.users.taken import Taken


@dataclass(frozen=True)
class Asking:
    """What a user says about the model's answer, where it leaves that open."""

    outputs: str | None = None  # logits, probabilities or value; None: what one batch shows
    output: Name | None = None  # of several tensors: a name or a place
    forward: Forward | None = None  # a function (model, rows) that asks the model

    def take(self, model: Any, rows: Rows) -> Taken:
        """The model, as it answers these rows."""
        return take_model(model, rows, outputs=self.outputs, output=self.output, forward=self.forward)


@dataclass(frozen=True, eq=False)
class Subject:
    """A model and rows that questions can be put to."""

    rows: Rows
    taken: Taken
    said: tuple[str, ...] = ()  # sentences about how the model was made

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen and converted, a sentence each."""
        return (*self.said, *self.rows.notes, *self.taken.notes)

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the outputs, where the model or the data know them."""
        if self.taken.classes:
            return self.taken.classes
        return self.rows.classes if len(self.rows.classes) == self.taken.count else ()

    def labels(self, machine: Machine | None = None) -> Tensor:
        """(N,) the output of each row's class: as the user labelled it, else as the model predicts."""
        given = label_numbers(self.rows, self.taken)
        return self.predicted(self.rows.x, machine) if given is None else given.to(self.rows.x.device)

    def predicted(self, x: Tensor, machine: Machine | None = None) -> Tensor:
        return models.predictions(self.taken.module, x, self.taken.outputs, machine)

    def targets(self, name: str, values: Any) -> Tensor:
        """(N,) the outputs that classes mean, one for all rows or one each."""
        found = output_numbers(name, values, len(self.rows), self.taken, self.rows.classes)
        return found.to(self.rows.x.device)

    def reference(self, own: bool, machine: Machine | None = None) -> Reference | None:
        """The user's training rows; where there are none and ``own`` allows it, the rows themselves."""
        rows = self.rows
        if rows.reference is None:
            return Reference(rows.x, self.labels(machine)) if own and len(rows) > 1 else None
        extra = rows.reference
        if rows.reference_label is None:
            return Reference(extra, self.predicted(extra, machine))
        labelled = replace(rows, x=extra, label=rows.reference_label)
        numbers = label_numbers(labelled, self.taken, "the reference's label")
        assert numbers is not None
        return Reference(extra, numbers.to(extra.device))

    def setting(self, question: Question, reference: Reference | None) -> Setting:
        rows, taken = self.rows, self.taken
        gradients = models.has_gradients(taken.module, rows.x)
        return Setting(
            taken.module,
            rows.features,
            rows.kind,
            question,
            classes=self.classes,
            reference=reference,
            outputs=taken.outputs,
            differentiable=gradients,
            picture=rows.picture,
            given=rows.given,
        )


def read_subject(
    model: Any,
    data: Any,
    *,
    reference: Any = None,
    label: Any = None,
    asking: Asking = Asking(),
    reading: Reading = Reading(),
) -> Subject:
    """Model and data, read and tried; SpecError says in a paragraph what is wrong, and what to do."""
    check_not_swapped(model, data)
    facts = known(model)
    reading = replace(
        reading,
        dtype=reading.dtype or facts.dtype,
        otherwise=None if facts.tensors else torch.float64,
        columns=facts.columns,
        inputs=facts.inputs,
        tokens=facts.tokens,
        tensors=facts.tensors,
    )

    def read(reading: Reading) -> Rows:
        return read_rows(data, reference=reference, label=label, reading=reading)

    rows = _rows(model, read, reading, plain=asking.forward is None)
    model, rows = embedded(model, rows)
    return Subject(rows, asking.take(model, rows))


def default_baseline(rows: Rows, has_reference: bool) -> str:
    """What methods compare with where the user does not say: no row of a table or a series is 0 everywhere; images are
    often centred at 0, and a word that is left out is 0."""
    return "mean" if rows.kind in ("table", "series") and has_reference else "zero"


def _rows(model: Any, read: Callable[[Reading], Rows], reading: Reading, plain: bool) -> Rows:
    """Rows with missing values only where the model answers these; series in the order in which it reads them, if it
    is asked in the ``plain`` way."""
    try:
        return read(reading)
    except UnknownOrder:
        order = order_of(model, read(replace(reading, channels_first=True))) if plain else None
        if order is None:
            raise
        return _ordered(read, reading, *order)
    except SpecError as refused:
        if "missing values" not in str(refused) and "NaN" not in str(refused):
            raise
        try:
            rows = read(replace(reading, missing=True))
        except SpecError:
            raise refused from None
        bad = rows.x if rows.given is None else rows.given(rows.x)
        if not takes_missing(model, bad):
            raise refused from None
        return rows


def _ordered(read: Callable[[Reading], Rows], reading: Reading, first: bool, layer: str) -> Rows:
    rows, axes = read(replace(reading, channels_first=first)), "channels, steps" if first else "steps, channels"
    said = f"Rows are series ({axes}), as the model's {layer} reads them; channels_first={not first} says otherwise."
    return replace(rows, notes=(*rows.notes, said))
