"""``assay show``: one component (card, parameters, layers of a designed network), or what a study runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from assay.cli.kinds import kind_of
from assay.cli.options import Json
from assay.cli.studies import named_study, show_study
from assay.core.cards import REQUIRED, Card, told
from assay.core.registry import card, expanded, resolve
from assay.core.spec import Spec
from assay.study.shelf import shelf


def show(
    name: Annotated[str, typer.Argument(help="A name, name(param=value), module:attr, or a study.")],
    seed: Annotated[int, typer.Option(help="Seed of an environment's network.")] = 0,
    as_json: Json = False,
) -> None:
    """Show a component's card and parameters, the layers of a designed network, or what a study runs."""
    if study := named_study(name):
        show_study(study, as_json)
        return
    found, spec = _find(Spec.parse(name))
    audited = _audit(spec, seed) if found.kind == "environments" else None
    if as_json:
        typer.echo(json.dumps({**found.to_json(), "spec": str(spec), "network": audited}, indent=2))
    else:
        _print(found, spec, audited)


def _find(spec: Spec) -> tuple[Card, Spec]:
    kind = kind_of(spec, also=shelf())
    spec = expanded(kind, spec)
    found = card(kind, spec.name)
    if not spec.params and any(param.default == REQUIRED for param in found.params):
        return found, spec
    spec = resolve(kind, spec)
    return found.given(spec), spec


def _audit(spec: Spec, seed: int) -> dict[str, Any] | None:
    from assay.core.build import build

    needed = [param.name for param in card("environments", spec.name).params if param.default == REQUIRED]
    if any(name not in dict(spec.params) for name in needed):
        return None
    environment = build("environments", spec)
    if not callable(getattr(environment, "network", None)):
        return None  # trained, or somebody else's: only designed networks are made here
    from assay.craft.audit import audit

    shape = environment.sample([0], 0).x.shape[1:]
    found = audit(environment.network(seed), tuple(shape))
    rows = [
        {"name": row.name, "kind": row.kind, "output": list(row.shape), "parameters": row.parameters}
        for row in found.rows
    ]
    return {"layers": found.layers, "parameters": found.parameters, "rows": rows}


def _print(found: Card, spec: Spec, audited: dict[str, Any] | None) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"[bold]{found.name}[/bold]  ({found.kind[:-1]}, {found.target})\n")
    console.print(found.doc, highlight=False)
    for name, text in _facts(found):
        console.print(f"[dim]{name.replace('_', ' ')}:[/dim] {text}", highlight=False)
    if found.params:
        table = Table("parameter", "value", "type", "", title="parameters", title_justify="left", box=None)
        for param in found.params:
            given = spec.get(param.name, param.default)
            value = "(needed)" if given == REQUIRED else str(given)
            table.add_row(param.name, value, param.annotation, param.note)
        console.print()
        console.print(table)
    if audited:
        _print_layers(console, audited)


def _facts(found: Card) -> Iterator[tuple[str, str]]:
    """A card's facts in words; what other parameters change comes last, a line each."""
    for name, value in found.facts:
        if name not in ("varies", "aliases"):
            yield name, told(value)
    for alias, parameter, value in found.fact("aliases", ()):
        yield "alias", f"{alias}, for {parameter}={value!r}"
    for parameter, value, change in found.fact("varies", ()):
        other = (
            {name.replace("_", " "): told(fact) for name, fact in change.items()} if isinstance(change, dict) else {}
        )
        text = "; ".join(f"{name}: {fact}" for name, fact in other.items()) or f"does not keep '{change}'"
        yield f"with {parameter}={value!r}", text


def _print_layers(console: Any, audited: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table("module", "kind", "output", "parameters", title="network", title_justify="left", box=None)
    for row in audited["rows"]:
        table.add_row(row["name"], row["kind"], "x".join(map(str, row["output"])), f"{row['parameters']:,}")
    console.print()
    console.print(table)
    console.print(f"\n[bold]{audited['layers']} layers, {audited['parameters']:,} parameters[/bold]")
