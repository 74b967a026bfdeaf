"""Runs the studies of docs/experiments.md, keeps their results in docs/results, and writes the page's tables.

    python docs/make_experiments.py                               writes the tables from the results that are kept
    python docs/make_experiments.py --run agop/synthetic          runs a study (no name: all) and keeps its result
    python docs/make_experiments.py --keep agop/synthetic STORE   keeps the result of a run that is complete

A study whose result is not kept yet is "not run" on the page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from assay.report.table import piped

from experiments import agop, attributionlab, idsds, soco
from keeping import keep_exact, keep_run, keep_serving
from pages import ROOT, Table, filled, is_kept, kept
from verified import values_digest

PAGE = ROOT / "docs" / "experiments.md"
STUDIES = (*agop.STUDIES, *attributionlab.STUDIES, *soco.STUDIES, *idsds.STUDIES)
LARGE = tuple(  # hours: not in --run without names
    f"{part.FOLDER}/{name}" for part in (attributionlab, soco, idsds) for name in part.LARGE
)
OTHERS = {"serving": keep_serving, "attributionlab/exact": keep_exact}  # results that are of no study


def _durations() -> Iterator[str]:
    yield piped("study", "minutes", "CPU minutes", "commit", "digest of the values")
    yield piped("---", "---:", "---:", "---", "---")
    for summary in map(kept, filter(is_kept, STUDIES)):
        cpu = f"{summary['cpu_seconds'] / 60:.1f}" if "cpu_seconds" in summary else ""
        names = summary["commit"], values_digest(summary)[:12]
        yield piped(f"`{summary['command']}`", f"{summary['seconds'] / 60:.1f}", cpu, *names)


TABLES: Mapping[str, Table] = {"durations": _durations, **agop.TABLES, **attributionlab.TABLES, **soco.TABLES, **idsds.TABLES}


def written(page: Path = PAGE) -> str:
    """The page with every table made from what is kept."""
    return filled(page.read_text(encoding="utf-8"), TABLES)


def main(arguments: Sequence[str]) -> None:
    if "--keep" in arguments:
        name, store = arguments[1:]
        keep_run(name, store)
    if "--run" in arguments:
        for name in arguments[1:] or (*STUDIES, *OTHERS):
            OTHERS[name]() if name in OTHERS else keep_run(name, f"runs/{name}")
    PAGE.write_text(written(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
