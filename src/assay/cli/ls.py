"""``assay ls``: list the catalogue."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from assay.catalogue.registry import KINDS, aliases, card, catalogue
from assay.cli.options import Json
from assay.core.errors import AssayError, suggest
from assay.studies.shipped import shipped_studies, title

LISTS = (*KINDS, "studies")


def ls(
    what: Annotated[str | None, typer.Argument(help="environments, methods, metrics or studies; default: all.")] = None,
    as_json: Json = False,
) -> None:
    """List environments, methods, metrics and studies."""
    if what is not None and what not in LISTS:
        raise AssayError(f"cannot list '{what}'.{suggest(what, LISTS)} Known: {', '.join(LISTS)}.")
    kinds = [kind for kind in LISTS if what in (None, kind)]
    if as_json:
        listing = {kind: _items(kind) for kind in kinds}
        typer.echo(json.dumps(listing if what is None else listing[what], indent=2))
    else:
        _print({kind: _summaries(kind) for kind in kinds})


def _items(kind: str) -> list[dict[str, Any]]:
    if kind == "studies":
        return [{"name": name, "summary": text} for name, text in _summaries(kind).items()]
    alias_items = [
        {**card(kind, spec.name).with_params(spec).to_json(), "name": name, "alias_of": str(spec)}
        for name, spec in aliases(kind).items()
    ]
    return sorted(
        [*(entry.to_json() for entry in catalogue(kind).values()), *alias_items], key=lambda item: str(item["name"])
    )


def _summaries(kind: str) -> dict[str, str]:
    if kind == "studies":
        return {name: title(path) for name, path in shipped_studies().items()}
    summaries = {name: entry.summary for name, entry in catalogue(kind).items()}
    summaries |= {name: f"alias of {spec}" for name, spec in aliases(kind).items()}
    return dict(sorted(summaries.items()))


def _print(listing: dict[str, dict[str, str]]) -> None:
    from rich.console import Console

    from assay.report.table import Cell, Table
    from assay.report.terminal import print_table

    console = Console()
    for kind, summaries in listing.items():
        rows = tuple((Cell(name, "best"), summary) for name, summary in summaries.items())
        print_table(Table(("", ""), rows, kind, text=2), console)
        console.print()
