"""The components of a study as its run recorded them: label, spec, card. Needs no component code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.catalogue.cards import KINDS, Card, fact_text
from assay.core.question import Question
from assay.core.records import Record, canonical
from assay.core.spec import Spec, walk
from assay.studies.study import Entry, Study

_SHOWN_APART = ("revision", "higher_is_better", "varies", "aliases")  # facts


@dataclass(frozen=True)
class Component:
    """An environment, method or metric under the label it has in a study."""

    index: int
    label: str
    spec: Spec
    card: Card  # with the facts for the spec's parameters
    question: Mapping[str, Any]  # where the study overrides the environment's question
    control: bool = False
    samples: int = 0
    family: str = ""  # of a method, where the study names one

    @property
    def anchor(self) -> str:
        return f"{self.card.kind}-{self.index}"

    @property
    def axes(self) -> tuple[str, str]:
        """Labels of the x and y axes of a metric's curve; ``{read}`` in a card stands for the readout."""
        x_label, y_label = self.card.fact("axes", ("", ""))
        return str(x_label), str(y_label).replace("{read}", self._readout_text) or self.label

    @property
    def _readout_text(self) -> str:
        return self._fixed_readout or str(self.spec.get("readout") or "score")

    @property
    def _fixed_readout(self) -> str:
        """The readout that another parameter fixes; empty where the parameter ``readout`` decides."""
        values = (self.spec.get("by"), self.spec.get("indicator"))
        return next((name for name in ("accuracy", "probability") if name in values), "")

    @property
    def readout_question(self) -> Question | None:
        """The question that a metric puts to the model; fields are None where the environment decides. None for a
        metric without a readout, or one that counts correct answers."""
        if self._fixed_readout == "accuracy" or all(param.name != "readout" for param in self.card.params):
            return None
        values = {
            "readout": self._fixed_readout or self.spec.get("readout"),
            "temperature": self.spec.get("temperature"),
        }
        return Question.from_table({name: value for name, value in values.items() if value is not None})

    @property
    def details(self) -> str:
        """The card's text, without its first line if that line is a paragraph by itself."""
        first, _, rest = self.card.doc.strip().partition("\n")
        return rest if not rest.strip() or rest.startswith("\n") else f"{first}\n{rest}"

    @property
    def question_text(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.question.items())

    @property
    def higher_is_better(self) -> bool | None:
        """The direction that a metric declares, given its parameters; None if it declares none."""
        direction = self.card.fact("higher_is_better")
        return None if direction is None else bool(direction)

    @property
    def ranks_methods(self) -> bool:
        """Whether better values mean a better method: the metric has a direction and does not judge models."""
        return self.higher_is_better is not None and self.card.fact("about") != "models"

    @property
    def bounded(self) -> bool:
        """Whether a metric's numbers lie in 0..1 or -1..1: shares, accuracies, probabilities."""
        return bool(self._fixed_readout) or tuple(self.card.fact("range") or ()) in ((0, 1), (-1, 1))

    @property
    def arrow(self) -> str:
        """An arrow towards better values."""
        return {None: "", True: "↑", False: "↓"}[self.higher_is_better]

    @property
    def facts(self) -> dict[str, str]:
        """The other facts of the card, as text."""
        facts = {name: _text(value) for name, value in self.card.facts if name not in _SHOWN_APART}
        if self.card.kind == "metrics" and self.arrow:
            facts["better"] = "higher" if self.higher_is_better else "lower"
        return facts


def components(run: Record, kind: str) -> tuple[Component, ...]:
    """The components of a kind, in the order of the study."""
    entries: tuple[Entry, ...] = getattr(Study.from_json(run.data["study"]), kind)
    return tuple(_component(run, kind, index, entry) for index, entry in enumerate(entries))


def by_label(run: Record, kind: str) -> dict[str, Component]:
    return {component.label: component for component in components(run, kind)}


def inner_cards(run: Record) -> list[Card]:
    """Cards of components that are used only as parameters of others."""
    outer = {f"{kind}/{component.spec.name}" for kind in KINDS for component in components(run, kind)}
    return [Card.from_json(card) for name, card in run.data["cards"].items() if name not in outer]


def _component(run: Record, kind: str, index: int, entry: Entry) -> Component:
    cards = run.data["cards"]
    question = {name: value for name, value in vars(entry.question).items() if value is not None}
    card = Card.from_json(cards[f"{kind}/{entry.spec.name}"]).with_params(entry.spec)
    control = kind == "methods" and _is_control(entry.spec, cards)
    return Component(index, entry.label, entry.spec, card, question, control, entry.samples, entry.family)


def _is_control(spec: Spec, cards: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a method is a control or wraps one: smoothing a control adds no knowledge of the model."""
    names: list[str] = []
    walk(spec, lambda inner: names.append(inner.name))
    return any(cards.get(f"methods/{name}", {}).get("control", False) for name in names)


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_text(item) for item in value)
    return value if isinstance(value, str) else fact_text(value) if isinstance(value, float) else canonical(value)
