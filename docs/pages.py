"""What the scripts that write pages share: commands, the results that are kept, and tables between marks.

A table stands between ``<!-- name -->`` and ``<!-- end -->``. A test compares each page with the kept results.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.report.table import piped

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "docs" / "results"

Json = Any
Table = Callable[[], Iterator[str]]  # its lines


def answer(*arguments: str, module: str = "assay.cli.main") -> Json:
    """What the command assay, or another module, prints with ``--json``."""
    print(module, *arguments, file=sys.stderr)
    command = [sys.executable, "-m", module, *arguments, "--json"]
    return json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)


def kept(name: str) -> Json:
    return json.loads((KEPT / f"{name}.json").read_text(encoding="utf-8"))


def is_kept(name: str) -> bool:
    return (KEPT / f"{name}.json").is_file()


def keep(name: str, told: Json, indent: int | None = None) -> None:
    path = KEPT / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    separators = (",", ":") if indent is None else None
    text = json.dumps(told, indent=indent, separators=separators, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def head(*names: str, right: int = 0) -> Iterator[str]:
    """The first two lines of a table; columns from ``right`` on are numbers, if it is not 0."""
    yield piped(*names)
    yield piped(*("---:" if right and index >= right else "---" for index in range(len(names))))


def filled(text: str, tables: Mapping[str, Table]) -> str:
    """A page with its tables made anew."""
    for name, made in tables.items():
        block = "\n".join([f"<!-- {name} -->", *made(), "<!-- end -->"])
        text, count = re.subn(rf"<!-- {name} -->\n.*?<!-- end -->", lambda _, block=block: block, text, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"the page has {count} places for the table '{name}', not one")
    return text
