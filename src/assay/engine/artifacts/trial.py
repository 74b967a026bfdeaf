"""A method's answer about one block of samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from assay.core.question import Question
from assay.core.records import Kind
from assay.engine.artifacts.artifact import Artifact, Block, Computed, Group, make_key
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.fit import FitArtifact
from assay.engine.artifacts.model import Place

if TYPE_CHECKING:
    from assay.core.query import Query
    from assay.core.setting import Samples, Setting
    from assay.engine.artifacts.desk import Desk


@dataclass(frozen=True, eq=False)
class TrialArtifact:
    """The attribution, with the promised sum and the notes of the method."""

    fit: FitArtifact  # the method, its question and its place
    block: Block

    kind: ClassVar[Kind] = "trial"

    @property
    def place(self) -> Place:
        return self.fit.place

    @property
    def method(self) -> Component:
        return self.fit.method

    @property
    def question(self) -> Question:
        return self.fit.question

    @cached_property
    def key(self) -> str:
        return make_key("trial", **self.fit.key_parts, data=self.place.data_key, block=self.block.to_json())

    @property
    def needs(self) -> tuple[Artifact, ...]:
        return (*self.place.model.as_need, *self.fit.as_need)

    @property
    def group(self) -> Group:
        return Group(self.kind, self.method, (self.place.environment,), len(self.block))

    def compute(self, desk: Desk) -> Computed:
        from assay.engine.artifacts.answer import answer_with_promise

        setting = desk.setting(self.place.model, self.method)
        query = self.query(desk, setting, desk.samples(self.place, self.block.indices))
        answer = answer_with_promise(desk.component(self.method), query)
        data = {
            "environment": str(self.place.environment),
            "method": str(self.method),
            "seed": self.place.seed,
            "block": self.block.to_json(),
            "question": query.question.to_json(),
            "environment_question": setting.question.to_json(),  # for metrics whose own question leaves it open
            "outputs": setting.outputs,
            **answer.facts(),
        }
        return Computed(desk.arrays(answer.tensors()), data)

    def query(self, desk: Desk, setting: Setting, samples: Samples) -> Query:
        """The query about some samples that the method receives, with the result of its fit."""
        from assay.engine.artifacts.answer import make_query

        stream = desk.stream("method", self.method, self.place)
        fitted = desk.tensors(self.fit) if self.fit.as_need else {}
        return replace(make_query(setting, samples, self.question, stream, desk.machine), fitted=fitted)


def make_trials(
    place: Place, method: Component, question: Question, blocks: tuple[Block, ...]
) -> tuple[TrialArtifact, ...]:
    """The trials of one method at one place, one per block."""
    fit = FitArtifact(place, method, question)
    return tuple(TrialArtifact(fit, block) for block in blocks)
