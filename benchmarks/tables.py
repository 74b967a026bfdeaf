"""What the simulations of this folder print: tables in Markdown, or with ``--json`` their rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

Row = dict[str, Any]


def markdown(rows: Iterable[Row], texts: int = 0) -> Iterator[str]:
    """The lines of a table, each as soon as its row is made. The first columns, ``texts`` of them, are no numbers."""
    for index, row in enumerate(rows):
        if index == 0:
            yield f"| {' | '.join(row)} |"
            yield f"|{'---|' * texts}{'---:|' * (len(row) - texts)}"
        yield f"| {' | '.join(map(str, row.values()))} |"


def show(arguments: Sequence[str], *tables: tuple[Iterable[Row], int]) -> None:
    """Print tables, each with its number of columns of text."""
    if "--json" in arguments:
        print(json.dumps([list(rows) for rows, _ in tables], indent=1))
        return
    for rows, texts in tables:
        for line in markdown(rows, texts):
            print(line, flush=True)
        print()
