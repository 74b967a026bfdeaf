"""Jobs: units of work as plain data, so that they can be sent to another process. No torch here.

A job makes records, in the order of ``makes``, and may start when the records in ``needs`` are known. ``now`` is what
its key would be if it were planned at this moment, in this process.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from assay.core.question import Question
from assay.core.records import Kind
from assay.core.spec import Spec
from assay.study import keys
from assay.study.keys import Block, Place

Made = tuple[Kind, str]  # kind and key of a record


@dataclass(frozen=True)
class ModelJob:
    """Train the model of an environment."""

    key: str
    place: Place

    @property
    def now(self) -> str:
        return self.place.setting

    @property
    def needs(self) -> tuple[str, ...]:
        return ()

    @property
    def makes(self) -> tuple[Made, ...]:
        return (("model", self.key),)


@dataclass(frozen=True)
class SamplesJob:
    """Keep the first samples of an environment, for the report's gallery."""

    key: str
    place: Place
    model: str  # key, empty where nothing is trained
    count: int

    @property
    def now(self) -> str:
        return keys.samples_key(self.place, self.count)

    @property
    def needs(self) -> tuple[str, ...]:
        return _keys(self.model)

    @property
    def makes(self) -> tuple[Made, ...]:
        return (("samples", self.key),)


@dataclass(frozen=True)
class FitJob:
    """Let a method look at the setting once."""

    key: str
    place: Place
    model: str
    method: Spec
    question: Question

    @property
    def now(self) -> str:
        return keys.fit_key(self.place, self.method, self.question)

    @property
    def needs(self) -> tuple[str, ...]:
        return _keys(self.model)

    @property
    def makes(self) -> tuple[Made, ...]:
        return (("fit", self.key),)


@dataclass(frozen=True)
class ProbeJob:
    """Ask the model what a metric needs to know and no attribution changes."""

    key: str
    place: Place
    model: str
    metric: Spec
    question: Question
    block: Block

    @property
    def now(self) -> str:
        return keys.probe_key(self.place, self.metric, self.question.target, self.block)

    @property
    def needs(self) -> tuple[str, ...]:
        return _keys(self.model)

    @property
    def makes(self) -> tuple[Made, ...]:
        return (("probe", self.key),)


@dataclass(frozen=True)
class PrepareJob:
    """Let a metric look at a method's attribution of the reference rows, once."""

    key: str
    place: Place
    model: str
    method: Spec
    question: Question
    fit: str
    metric: Spec

    @property
    def now(self) -> str:
        return keys.prepared_key(self.place, self.method, self.question, self.metric)

    @property
    def needs(self) -> tuple[str, ...]:
        return _keys(self.model, self.fit)

    @property
    def makes(self) -> tuple[Made, ...]:
        return (("prepared", self.key),)


@dataclass(frozen=True)
class Judging:
    """One metric to be applied to a trial."""

    key: str
    metric: Spec
    probe: str  # key, empty for a metric without a probe
    prepared: str = ""  # key, empty for a metric that prepares nothing
    again: bool = False  # it asks the method again


@dataclass(frozen=True)
class TrialJob:
    """Attribute one block with one method, and judge it. A trial that is known already is only judged."""

    key: str
    place: Place
    model: str
    method: Spec
    question: Question
    fit: str
    block: Block
    judgings: tuple[Judging, ...]
    known: bool = False

    @property
    def now(self) -> str:
        return keys.trial_key(self.place, self.method, self.question, self.block)

    @property
    def needs(self) -> tuple[str, ...]:
        inputs = (key for judging in self.judgings for key in (judging.probe, judging.prepared))
        return _keys(self.model, self.fit, *inputs, self.key if self.known else "")

    @property
    def makes(self) -> tuple[Made, ...]:
        trial: tuple[Made, ...] = () if self.known else (("trial", self.key),)
        return (*trial, *(("evidence", judging.key) for judging in self.judgings))  # type: ignore[misc]

    def without(self, done: Collection[str]) -> TrialJob | None:
        """What is left when some records exist; None when nothing is, or when the trial itself went down."""
        left = tuple(judging for judging in self.judgings if judging.key not in done)
        return replace(self, judgings=left, known=True) if left and len(left) < len(self.judgings) else None


Job = ModelJob | SamplesJob | FitJob | ProbeJob | PrepareJob | TrialJob


def _keys(*keys: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for key in keys if key))
