"""Runs what the tables of README and of two pages beside it quote, keeps the results in docs/results, and writes the
tables.

    python docs/make_readme.py                    writes the tables from the results that are kept
    python docs/make_readme.py --run demo bench   runs these first, and keeps what they print (no name: all)

A test compares README with the kept results, another one the kept results with the code (docs/verified.py).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from assay.report.table import piped
from assay.report.text import percent, without_leading_zero

from keeping import keep_run
from pages import ROOT, Json, answer, filled, head, keep, kept

PAGES = {  # and the results that each quotes
    ROOT / "README.md": ("demo",),
    ROOT / "docs" / "study_files.md": ("attributionlab/token_count", "attributionlab/baseline"),
    ROOT / "docs" / "speed.md": ("bench",),
}
STUDIES = ("demo", "attributionlab/token_count", "attributionlab/baseline")
TASKS = (  # of benchmarks/ that README quotes
    "kernel_shap",
    "lime_tabular",
    "deep_shap",
    "agop",
    "integrated_gradients",
    "occlusion",
    "soundness",
    "retraining",
)
CONTROLS = ("Random", "Constant")


def run(name: str) -> None:
    """Run a command and keep what README needs of its answer."""
    if name == "bench":
        keep(name, answer(*TASKS, module="benchmarks"), indent=1)
    else:
        keep_run(name, f"runs/{name}")


def written(page: Path) -> str:
    """A page with every table made from what is kept."""
    tables = {_mark(name): partial(TABLES[name], kept(name)) for name in PAGES[page]}
    return filled(page.read_text(encoding="utf-8"), tables)


def _mark(name: str) -> str:
    return name.rpartition("/")[2]


def _demo(told: Json) -> Iterator[str]:
    yield from _board(told["boards"][0], ("F1", "F1 positive", "F1 negative", "insertion", "deletion"), "↑↑↑↑↓")


def _baseline(told: Json) -> Iterator[str]:
    metrics = ("F1 overall", "F1 positive", "F1 negative", "sign agreement", "precision", "recall")
    yield from _board(told["boards"][0], metrics, "↑" * 6)
    yield ""
    for metric, tests in told["faithfulness"].items():
        said = "; ".join(f"{found['method']} {_verdict(found)}" for found in tests)
        yield f"- **{metric}** at {tests[0]['gamma']:g}: {said}"


def _verdict(found: Json) -> str:
    """The outcome, and in how many draws the value is below gamma where there are several."""
    draws = re.search(r"below in \d+ of \d+ draws", found["verdict"])
    return found["outcome"] + (f" ({draws[0]})" if draws else "")


def _token_count(told: Json) -> Iterator[str]:
    first, second = told["boards"]
    other = {method: line["metrics"]["F1"] for method, line in second["methods"].items()}
    outcomes = {found["method"]: found for found in told["faithfulness"]["F1"]}
    yield from head("method", "gap", *(f"F1, {board['environment']}" for board in (first, second)), "at gamma = 0.5")
    for method, line in first["methods"].items():
        values = (_value(line["metrics"]["F1"]), _value(other[method]))
        outcome = outcomes[method]["outcome"]
        positive = ", on positive truth" if "on positive truth" in outcomes[method]["verdict"] else ""
        yield piped(_named(method), _gap(line), *values, f"{outcome}{positive}")


def _bench(told: Json) -> Iterator[str]:
    yield from head("task", "problem", "assay", "peer", "ratio")
    for index, row in enumerate(told[:-1]):
        peer = told[index + 1]
        if row["who"] == "assay" and (row["task"], row["problem"]) == (peer["task"], peer["problem"]):
            figures = row["figure"], f"{peer['figure']} ({peer['who']})"
            yield piped(f"`{row['task']}`", row["problem"], *figures, row["ratio"])


def _board(board: Json, metrics: Sequence[str], arrows: str) -> Iterator[str]:
    yield from head("method", "gap", *(f"{metric} {arrow}" for metric, arrow in zip(metrics, arrows, strict=True)))
    for method, line in board["methods"].items():
        cells = (_value(line["metrics"][metric]) for metric in metrics)
        yield piped(_named(method), _gap(line), *cells)


def _named(method: str) -> str:
    return f"{method} (control)" if method in CONTROLS else method


def _gap(line: Json) -> str:
    if line["gap"] is None:
        return ""
    return f"{percent(line['gap'])}{' !' if line['gap_mark'] else ''}"


def _value(cell: Json) -> str:
    if cell.get("value") is None:
        return "undefined" if cell["status"] == "ok" else str(cell["status"])
    value = f"**{cell['value']:.3f}**" if cell.get("rank") == 1 else f"{cell['value']:.3f}"
    if cell.get("low") is None:
        return value
    return f"{value} [{without_leading_zero(cell['low'])}, {without_leading_zero(cell['high'])}]"


TABLES: Mapping[str, Callable[[Json], Iterator[str]]] = {
    "demo": _demo,
    "attributionlab/token_count": _token_count,
    "attributionlab/baseline": _baseline,
    "bench": _bench,
}


def main(arguments: Sequence[str]) -> None:
    if "--run" in arguments:
        for name in [argument for argument in arguments if argument in TABLES] or TABLES:
            run(name)
    for page in PAGES:
        page.write_text(written(page), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
