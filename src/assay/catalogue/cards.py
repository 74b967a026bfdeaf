"""Cards: what a component declares about itself, as data. Reading them needs no component code."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from assay.catalogue.annotations import annotated_kind
from assay.catalogue.sources import our_file, source_digest
from assay.core.facts import facts_with
from assay.core.spec import Spec, Value

KINDS = ("environments", "methods", "metrics")
REQUIRED = "<required>"
NOT_MEASURED = "not measured"  # the fact ``controls`` of a metric where nobody tried them
COMPUTED = (
    "<computed>"  # a default that no spec can express: known to the component only, and part of its source digest
)


@dataclass(frozen=True)
class Param:
    """One hyper-parameter."""

    name: str
    annotation: str
    default: Value  # REQUIRED where there is none, COMPUTED where no spec can express it
    note: str = ""  # the comment on its line

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "type": self.annotation, "default": jsonable(self.default), "note": self.note}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Param:
        default, is_component = _frozen(data["default"]), annotated_kind(data["type"]) is not None
        return cls(data["name"], data["type"], _with_specs(default) if is_component else default, data["note"])


@dataclass(frozen=True)
class Card:
    """A component as its class describes it."""

    kind: str  # environments, methods, metrics
    name: str
    target: str  # module:attr
    doc: str = ""
    params: tuple[Param, ...] = ()
    facts: tuple[tuple[str, Any], ...] = ()  # plain class variables, for default parameters: revision, ideal, paper
    digest: str = ""  # of its source; empty: of the file of its module, which is one of ours
    calls: tuple[str, ...] = ()  # names of its methods, such as fit, probe, train
    properties: tuple[str, ...] = ()  # their names: whether it has them may depend on parameters

    @property
    def summary(self) -> str:
        return self.doc.strip().split("\n", 1)[0]

    @cached_property
    def source(self) -> str:
        """The source digest, computed when it is first asked for."""
        return self.digest or source_digest(our_file(self.target.partition(":")[0]))

    @property
    def revision(self) -> str:
        """The declared revision, else the start of the source digest."""
        return str(self.fact("revision") or self.source[:16])

    @property
    def ours(self) -> bool:
        return self.target.startswith("assay.")

    def fact(self, name: str, default: Any = None) -> Any:
        return dict(self.facts).get(name, default)

    def with_params(self, spec: Spec) -> Card:
        """The card with the facts for these parameters."""
        values = {**{param.name: param.default for param in self.params}, **dict(spec.params)}
        return replace(self, facts=tuple(facts_with(dict(self.facts), values).items()))

    def is_changed(self, name: str, value: Value) -> bool:
        """Whether a value differs from the parameter's default."""
        return all(param.name != name or jsonable(param.default) != jsonable(value) for param in self.params)

    def short(self, spec: Spec) -> Spec:
        """A spec of this component without the parameters that have their default value."""
        return Spec(spec.name, tuple(pair for pair in spec.params if self.is_changed(*pair)))

    def declared(self) -> dict[str, Any]:
        """All of the card but its revision, for JSON."""
        return {
            **dict(self.facts),
            "kind": self.kind,
            "name": self.name,
            "target": self.target,
            "doc": self.doc,
            "params": [param.to_json() for param in self.params],
            "calls": list(self.calls),
            "properties": list(self.properties),
        }

    def to_json(self) -> dict[str, Any]:
        return {**self.declared(), "summary": self.summary, "revision": self.revision}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Card:
        """The inverse of ``declared`` and ``to_json``."""
        described = ("kind", "name", "target", "summary", "doc", "params", "calls", "properties")
        facts = tuple((name, _frozen(value)) for name, value in data.items() if name not in described)
        params = tuple(map(Param.from_json, data["params"]))
        calls, properties = tuple(data.get("calls", ())), tuple(data.get("properties", ()))
        return cls(data["kind"], data["name"], data["target"], data["doc"], params, facts, "", calls, properties)


def with_controls(card: Card, controls: Mapping[str, str]) -> Card:
    """The card of a metric with the fact ``controls``, also where an alias changes it."""
    facts = dict(card.facts)
    alias_of = {(parameter, value): name for name, parameter, value in facts.get("aliases", ())}
    rows = [
        (parameter, value, {**change, "controls": controls.get(alias_of[parameter, value], NOT_MEASURED)})
        if (parameter, value) in alias_of and isinstance(change, dict)
        else (parameter, value, change)
        for parameter, value, change in facts.get("varies", ())
    ]
    facts |= {"controls": controls.get(card.name, facts.get("controls", NOT_MEASURED))}
    facts |= {"varies": tuple(rows)} if rows else {}
    return replace(card, facts=tuple(facts.items()))


def fact_text(value: Any) -> str:
    """A fact as text; the largest float stands for no bound."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(fact_text, value))})"
    return "no bound" if isinstance(value, float) and abs(value) == sys.float_info.max else str(value)


def snake(name: str) -> str:
    """``InputXGradient`` -> ``input_x_gradient``."""
    words: list[str] = []
    for letter in name:
        words.append(f"_{letter.lower()}" if letter.isupper() and words else letter.lower())
    return "".join(words)


def jsonable(value: Any) -> Any:
    """A value as JSON stores it: tuples as lists, specs as text."""
    if isinstance(value, Spec):
        return str(value)
    return [jsonable(item) for item in value] if isinstance(value, tuple) else value


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _frozen(item) for name, item in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def _with_specs(value: Any) -> Value:
    if isinstance(value, tuple):
        return tuple(map(_with_specs, value))
    return Spec.parse(value) if isinstance(value, str) and value not in (REQUIRED, COMPUTED) else value
