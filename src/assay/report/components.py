"""The components of a study as its run described them: label, spec, card. Needs no component code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from assay.core.cards import told
from assay.core.promises import facts_with
from assay.core.question import Question
from assay.core.records import Record, canonical
from assay.core.spec import Spec, walk

KINDS = ("environments", "methods", "metrics")
_DESCRIBED = ("kind", "name", "target", "summary", "doc", "params", "revision", "higher_is_better", "varies", "aliases")


@dataclass(frozen=True)
class Component:
    """An environment, method or metric under the label it has in a study."""

    kind: str  # environments, methods, metrics
    index: int
    label: str
    spec: Spec
    card: Mapping[str, Any]
    question: Mapping[str, Any]  # what the study asks otherwise than the environment
    control: bool = False
    samples: int = 0

    @property
    def anchor(self) -> str:
        return f"{self.kind}-{self.index}"

    @cached_property
    def declared(self) -> Mapping[str, Any]:
        """The card's facts with the parameters that the component has."""
        return facts_with(self.card, dict(self.spec.params))

    @property
    def short(self) -> str:
        """The spec without the parameters that have their default value."""
        return str(Spec(self.spec.name, tuple(pair for pair in self.spec.params if self.changed(*pair))))

    @property
    def axes(self) -> tuple[str, str]:
        """What a metric's curve is drawn over, and what of; a card's ``{read}`` is what is read off the model."""
        over, of = self.declared.get("axes", ("", ""))
        return str(over), str(of).replace("{read}", self._read) or self.label

    @property
    def _read(self) -> str:
        return self._sure or str(self.spec.get("readout") or "score")

    @property
    def _sure(self) -> str:
        """What is read whatever ``readout`` says; empty where that decides."""
        given = (self.spec.get("by"), self.spec.get("indicator"))
        return next((name for name in ("accuracy", "probability") if name in given), "")

    @property
    def read(self) -> Question | None:
        """The number that a metric reads off the model, open where the environment decides; None for a metric that has
        no such choice, or counts right answers."""
        if self._sure == "accuracy" or all(param["name"] != "readout" for param in self.card["params"]):
            return None
        given = {"readout": self._sure or self.spec.get("readout"), "temperature": self.spec.get("temperature")}
        return Question.from_table({name: value for name, value in given.items() if value is not None})

    @property
    def rest(self) -> str:
        """The card's text without its first line, where that line is a paragraph of its own."""
        first, _, rest = str(self.card["doc"]).strip().partition("\n")
        return rest if not rest.strip() or rest.startswith("\n") else f"{first}\n{rest}"

    def changed(self, name: str, value: Any) -> bool:
        """Is this not the parameter's default?"""
        defaults = {param["name"]: param["default"] for param in self.card["params"]}
        return name not in defaults or _jsonable(value) != _jsonable(defaults[name])

    @property
    def asks(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.question.items())

    @property
    def arrow(self) -> str:
        """Where better values lie."""
        return {None: "", True: "↑", False: "↓"}[self.declared.get("higher_is_better")]

    @property
    def facts(self) -> dict[str, str]:
        """What else the card says."""
        found = {name: _plain(value) for name, value in self.declared.items() if name not in _DESCRIBED}
        if self.kind == "metrics" and self.arrow:
            found["better"] = "higher" if self.declared["higher_is_better"] else "lower"
        return found


def components(run: Record, kind: str) -> tuple[Component, ...]:
    """The entries of a kind, in the order of the study."""
    return tuple(_component(run, kind, index, entry) for index, entry in enumerate(run.data["study"][kind]))


def by_label(run: Record, kind: str) -> dict[str, Component]:
    return {found.label: found for found in components(run, kind)}


def inner_cards(run: Record) -> list[Mapping[str, Any]]:
    """Cards of components that are only used inside others."""
    outer = {f"{kind}/{found.spec.name}" for kind in KINDS for found in components(run, kind)}
    return [card for name, card in run.data["cards"].items() if name not in outer]


def _component(run: Record, kind: str, index: int, entry: Mapping[str, Any]) -> Component:
    spec = Spec.parse(entry["spec"])
    cards = run.data["cards"]
    question = {name: value for name, value in entry.get("question", {}).items() if value is not None}
    card = cards[f"{kind}/{spec.name}"]
    control = kind == "methods" and _is_control(spec, cards)
    return Component(kind, index, entry["label"], spec, card, question, control, entry.get("samples", 0))


def _is_control(spec: Spec, cards: Mapping[str, Mapping[str, Any]]) -> bool:
    """A combinator around a control is one too: smoothing knows no more than what it smooths."""
    names: list[str] = []
    walk(spec, lambda inner: names.append(inner.name))
    return any(cards.get(f"methods/{name}", {}).get("control", False) for name in names)


def _jsonable(value: Any) -> Any:
    """A parsed value as JSON has it, where tuples are lists and specs are text."""
    if isinstance(value, Spec):
        return str(value)
    return [_jsonable(item) for item in value] if isinstance(value, tuple) else value


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_plain(item) for item in value)
    return value if isinstance(value, str) else told(value) if isinstance(value, float) else canonical(value)
