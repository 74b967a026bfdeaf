"""``assay show``: one component (card, parameters, layers of a designed network), or what a study runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from assay.catalogue.cards import REQUIRED, Card, fact_text
from assay.catalogue.registry import card, expand_alias, resolve
from assay.cli.kind_of import kind_of
from assay.cli.options import Json, Scale
from assay.cli.prints import prints_on_stderr
from assay.cli.show_study import named_study, show_study
from assay.core.errors import AssayError, SpecError
from assay.core.spec import Spec
from assay.foreign.imports import without_imports
from assay.studies.shipped import shipped_studies


def show(
    name: Annotated[str, typer.Argument(help="A name, name(param=value), module:attr, or a study.")],
    seed: Annotated[int, typer.Option(help="Seed of an environment's network.")] = 0,
    scale: Scale = "quick",
    as_json: Json = False,
) -> None:
    """Show a component's card and parameters, the layers of a designed network, or what a study runs."""
    with without_imports():  # a study may be looked at before its code is trusted
        if study := named_study(name):
            show_study(study.at(scale), as_json)
            return
    with prints_on_stderr():
        component_card, spec = _find(Spec.parse(name))
        network = _audit(spec, seed) if component_card.kind == "environments" else None
    if as_json:
        typer.echo(json.dumps({**component_card.to_json(), "spec": str(spec), "network": network}, indent=2))
    else:
        _print(component_card, spec, network)


def _find(spec: Spec) -> tuple[Card, Spec]:
    kind = kind_of(spec, also=shipped_studies())
    spec = expand_alias(kind, spec)
    component_card = card(kind, spec.name)
    if not spec.params and any(param.default == REQUIRED for param in component_card.params):
        return component_card, spec
    spec = resolve(kind, spec)
    return component_card.with_params(spec), spec


def _audit(spec: Spec, seed: int) -> dict[str, Any] | None:
    from assay.catalogue.build import build
    from assay.foreign.inputs import one_line

    required = [param.name for param in card("environments", spec.name).params if param.default == REQUIRED]
    if any(name not in dict(spec.params) for name in required):
        return None
    try:
        environment = build("environments", spec)
        if not callable(getattr(environment, "network", None)):
            return None  # trained or foreign: only designed networks are built here
        from assay.craft.audit import audit

        shape = environment.sample([0], 0).x.shape[1:]
        layer_audit = audit(environment.network(seed), tuple(shape))
    except AssayError:
        raise
    except Exception as error:  # values that no network has, or more memory than there is
        raise SpecError(f"{spec} cannot be built: {one_line(error)}.") from error
    rows = [
        {"name": row.name, "kind": row.kind, "output": list(row.shape), "parameters": row.parameters}
        for row in layer_audit.rows
    ]
    return {"layers": layer_audit.layers, "parameters": layer_audit.parameters, "rows": rows}


def _print(component_card: Card, spec: Spec, network: dict[str, Any] | None) -> None:
    from rich.console import Console
    from rich.markup import escape

    from assay.report.table import Table
    from assay.report.terminal import print_table

    console = Console()
    name, target = escape(component_card.name), escape(component_card.target)
    console.print(f"[bold]{name}[/bold]  ({component_card.kind[:-1]}, {target})\n")
    console.print(component_card.doc, highlight=False, markup=False)
    for name, text in _facts(component_card):
        console.print(f"[dim]{name.replace('_', ' ')}:[/dim] {escape(text)}", highlight=False)
    if component_card.params:
        values = {param.name: spec.get(param.name, param.default) for param in component_card.params}
        rows = tuple(
            (param.name, "(needed)" if value == REQUIRED else str(value), param.annotation, param.note)
            for param, value in zip(component_card.params, values.values(), strict=True)
        )
        console.print()
        print_table(Table(("parameter", "value", "type", ""), rows, "parameters", text=4), console)
    if network:
        layers = tuple(
            (row["name"], row["kind"], "x".join(map(str, row["output"])), f"{row['parameters']:,}")
            for row in network["rows"]
        )
        console.print()
        print_table(Table(("module", "kind", "output", "parameters"), layers, "network", text=4), console)
        console.print(f"\n[bold]{network['layers']} layers, {network['parameters']:,} parameters[/bold]")


def _facts(component_card: Card) -> Iterator[tuple[str, str]]:
    """A card's facts as text; facts that other parameters change come last, one line each."""
    for name, value in component_card.facts:
        if name not in ("varies", "aliases"):
            yield name, fact_text(value)
    for alias, parameter, value in component_card.fact("aliases", ()):
        yield "alias", f"{alias}, for {parameter}={value!r}"
    for parameter, value, change in component_card.fact("varies", ()):
        changed_facts = (
            {name.replace("_", " "): fact_text(fact) for name, fact in change.items()}
            if isinstance(change, dict)
            else {}
        )
        text = "; ".join(f"{name}: {fact}" for name, fact in changed_facts.items()) or f"does not keep '{change}'"
        yield f"with {parameter}={value!r}", text
