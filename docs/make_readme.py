"""Runs what README's tables quote, keeps the results in docs/results, and writes the tables.

    python docs/make_readme.py                    writes the tables from the results that are kept
    python docs/make_readme.py --run demo bench   runs these first, and keeps what they print (no name: all)

A test compares README with the kept results.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from pages import ROOT, Json, answer, filled, head, keep, kept, piped

PAGE = ROOT / "README.md"
COMMANDS: Mapping[str, Sequence[str]] = {
    "demo": ("demo", "--store", "runs/demo"),
    "token_count": ("run", "attributionlab/token_count", "--store", "runs/token_count"),
    "baseline": ("run", "attributionlab/baseline", "--store", "runs/baseline"),
    "bench": ("bench",),
}
TASKS = (  # of `assay bench` that README quotes
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
CELL = ("status", "value", "low", "high", "basis", "per_seed", "count", "defined", "rank")
VERDICT = ("method", "gamma", "outcome", "by_value", "verdict")


def run(name: str) -> None:
    """Run a command and keep what README needs of its answer."""
    if name == "bench":
        told = [row for task in TASKS for row in answer(*COMMANDS[name], task)]
    else:
        told = _shortened(answer(*COMMANDS[name]))
    keep(name, told, indent=1)


def _shortened(told: Json) -> Json:
    """Values, intervals, gaps and verdicts; without keys, which change with every comment."""
    boards = [
        {
            "environment": board["environment"],
            "methods": [
                {
                    **{name: line[name] for name in ("method", "gap", "gap_mark", "notes")},
                    "metrics": {
                        metric: {name: cell[name] for name in CELL} for metric, cell in line["metrics"].items()
                    },
                }
                for line in board["methods"]
            ],
        }
        for board in told["boards"]
    ]
    tests = {
        metric: [{name: found[name] for name in VERDICT} for found in tests]
        for metric, tests in told["faithfulness"].items()
    }
    return {"study": told["study"], "boards": boards, "faithfulness": tests}


def written(text: str) -> str:
    """README with every table made from what is kept."""
    return filled(text, {name: partial(table, kept(name)) for name, table in TABLES.items()})


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
    other = {line["method"]: line["metrics"]["F1"] for line in second["methods"]}
    outcomes = {found["method"]: found for found in told["faithfulness"]["F1"]}
    yield from head("method", "gap", *(f"F1, {board['environment']}" for board in (first, second)), "at gamma = 0.5")
    for line in first["methods"]:
        method = line["method"]
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
    for line in board["methods"]:
        cells = (_value(line["metrics"][metric]) for metric in metrics)
        yield piped(_named(line["method"]), _gap(line), *cells)


def _named(method: str) -> str:
    return f"{method} (control)" if method in CONTROLS else method


def _gap(line: Json) -> str:
    if line["gap"] is None:
        return ""
    percent = 100 * line["gap"]
    shown = "<0.1" if 0 < percent < 0.1 else f"{percent:.2g}" if percent < 10 else f"{percent:.0f}"
    return f"{shown} %{' !' if line['gap_mark'] else ''}"


def _value(cell: Json) -> str:
    if cell["value"] is None:
        return "undefined" if cell["status"] == "ok" else str(cell["status"])
    value = f"**{cell['value']:.3f}**" if cell["rank"] == 1 else f"{cell['value']:.3f}"
    if cell["low"] is None:
        return value
    return f"{value} [{_short(cell['low'])}, {_short(cell['high'])}]"


def _short(number: float) -> str:
    return f"{number:.3f}".replace("0.", ".", 1)


TABLES: Mapping[str, Callable[[Json], Iterator[str]]] = {
    "demo": _demo,
    "token_count": _token_count,
    "baseline": _baseline,
    "bench": _bench,
}


def main(arguments: Sequence[str]) -> None:
    if "--run" in arguments:
        for name in [argument for argument in arguments if argument in COMMANDS] or COMMANDS:
            run(name)
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
