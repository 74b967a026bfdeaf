"""Write docs/metrics.md from the metrics' cards:

python docs/make_metrics.py
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from assay.catalogue.cards import Card
from assay.core.facts import facts_with
from assay.catalogue.registry import aliases, catalogue
from assay.core.spec import Spec

PAGE = Path(__file__).with_name("metrics.md")
HEAD = """# Metrics

Every metric's card, as `assay show NAME` prints it with its parameters. Direction, range and invariances are promises
that `assay check NAME` tests; each metric also has a slow literal version and at least three wrong ones that its tests
reject (`tests/oracles/metrics`, `tests/contracts/mutants`). Values are per sample unless the card speaks of a set; what
is undefined is counted and never averaged. Written by `python docs/make_metrics.py`; `make test` compares it.

*Invariant to*: **scale**, a positive factor on the map; **shift**, a constant added; **monotone**, anything that keeps
signs and the order of sizes. *Exact on linear models*: the attribution w x of a linear model reaches the ideal.
*Controls*: maps that know nothing about the model. *All lose*, or the card names those that the metric does not tell from
the best of some methods, or prefers to all of them; *not measured* where nobody has tried: [controls.md](controls.md) has
the numbers.
"""
NEEDS = {
    "truth": "Against truth",
    "sibling": "Between models",
    "method": "Against the model, asking the method again",
    "label": "Against the model, with true labels",
    "model": "Against the model",
    "reference": "Of the inputs and the reference rows alone",
    "image": "Of the map and its image alone",
}


def page() -> str:
    parts = [HEAD]
    cards = list(catalogue("metrics").values())
    for need, title in NEEDS.items():
        chosen = [card for card in cards if _first_need(card) == need]
        parts += [f"## {title}\n", *(_entry(card) for card in chosen)]
    return "\n".join(parts)


def _first_need(card: Card) -> str:
    return next(need for need in NEEDS if need in card.fact("needs"))


def _entry(card: Card) -> str:
    doc = "\n".join(line.removeprefix("    ") for line in card.doc.splitlines()).replace("``", "`")
    names = {name: spec for name, spec in aliases("metrics").items() if spec.name == card.name}
    also = [_alias(card, name, spec) for name, spec in names.items()]
    return "\n".join([f"### {card.name}\n\n{doc}\n\n{_told(_facts(card))}.\n", *also])


def _alias(card: Card, name: str, spec: Spec) -> str:
    """What is different under another name."""
    facts = tuple(facts_with(dict(card.facts), dict(spec.params)).items())
    plain, other = _facts(card), _facts(replace(card, facts=facts))
    changed = {fact: other[fact] for fact in other if plain.get(fact) != other[fact]}
    return f"`{name}` is `{spec}`: {_told(changed)}.\n"


def _told(facts: dict[str, str]) -> str:
    return "; ".join(f"*{name}* {value}" for name, value in facts.items())


def _facts(card: Card) -> dict[str, str]:
    low, high = card.fact("range")
    return {
        "better": ("higher" if card.fact("higher_is_better") else "lower") + _whose(card),
        "range": "no bounds" if _bound(low) == _bound(high) else f"{_bound(low)} to {_bound(high)}",
        "ideal": _bound(card.fact("ideal")),
        "invariant to": ", ".join(_kept(card)) or "nothing",
        "exact on linear models": "yes" if card.fact("exact_on_linear") else "no",
        "cost": card.fact("cost"),
        "controls": card.fact("controls"),
        "source": card.fact("paper"),
    }


def _bound(value: float) -> str:
    return "no bound" if abs(value) > 1e300 else f"{value:g}"


def _kept(card: Card) -> list[str]:
    """Invariances, each with the parameters that cost it."""
    rows = [row for row in card.fact("varies", ()) if isinstance(row[2], str)]
    lost = {kind: f" (not with {name}={value!r})" for name, value, kind in rows}
    return [f"{kind}{lost.get(kind, '')}" for kind in card.fact("invariant")]


def _whose(card: Card) -> str:
    if card.fact("about", "") != "models":
        return ""
    alike = "two models are more alike; " if "sibling" in card.fact("needs") else ""
    return f" ({alike}no method is better for it)"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
