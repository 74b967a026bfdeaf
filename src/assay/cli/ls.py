"""``assay ls``: list the catalogue."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from assay.catalogue.registry import KINDS, aliases, card, catalogue
from assay.cli.options import Json
from assay.core.errors import AssayError, suggest
from assay.study.shipped import shipped_studies, title

LISTS = (*KINDS, "studies")


def ls(
    what: Annotated[str | None, typer.Argument(help="environments, methods, metrics or studies; default: all.")] = None,
    as_json: Json = False,
) -> None:
    """List environments, methods, metrics and studies."""
    if what is not None and what not in LISTS:
        raise AssayError(f"cannot list '{what}'.{suggest(what, LISTS)} Known: {', '.join(LISTS)}.")
    listing = {kind: _items(kind) for kind in LISTS if what in (None, kind)}
    if as_json:
        typer.echo(json.dumps(listing if what is None else listing[what], indent=2))
    else:
        _print(listing)


def _items(kind: str) -> list[dict[str, Any]]:
    if kind == "studies":
        return [{"name": name, "summary": title(path)} for name, path in shipped_studies().items()]
    alias_items = [
        {**card(kind, spec.name).with_params(spec).to_json(), "name": name, "alias_of": str(spec)}
        for name, spec in aliases(kind).items()
    ]
    return sorted(
        [*(entry.to_json() for entry in catalogue(kind).values()), *alias_items], key=lambda item: str(item["name"])
    )


def _print(listing: dict[str, list[dict[str, Any]]]) -> None:
    from rich.console import Console

    from assay.report.table import Cell, Table
    from assay.report.terminal import print_table

    console = Console()
    for kind, items in listing.items():
        rows = tuple(
            (Cell(item["name"], "best"), f"alias of {item['alias_of']}" if "alias_of" in item else item["summary"])
            for item in items
        )
        print_table(Table(("", ""), rows, kind, text=2), console)
        console.print()
