"""Speed and memory, side by side with peers in the same run: ``python -m benchmarks kernel_shap --json``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from assay.core.errors import AssayError, suggest
from assay.core.heap import keep_pages
from assay.engine.execute.processor import data_caches, processor
from benchmarks.measuring import Measured
from benchmarks.neighbour import busy_neighbour

TASKS = (  # files of this folder
    "agop",
    "deep_shap",
    "deletion_curve",
    "engine",
    "extremal_perturbation",
    "grad_cam",
    "imputation",
    "integrated_gradients",
    "kernel_shap",
    "kernel_shap_shapiq",
    "lime_tabular",
    "memory",
    "occlusion",
    "pixel_flipping",
    "retraining",
    "scale",
    "serving",
    "shared_probes",
    "soundness",
)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure next to a peer, in one thread.")
    parser.add_argument("tasks", nargs="*", metavar="task", help=f"default: all of {', '.join(TASKS)}")
    parser.add_argument("--repeats", type=int, default=5, help="the median of this many runs is reported")
    parser.add_argument("--json", action="store_true", help="print rows instead of tables")
    parser.add_argument("--neighbour", action="store_true", help="measure while another process moves memory")
    given = parser.parse_args(arguments)
    for name in set(given.tasks) - set(TASKS):
        parser.error(f"no task '{name}'.{suggest(name, TASKS)}")
    keep_pages()  # as the command assay does
    conditions = {
        "processor": f"{processor()}; {data_caches()}; torch {torch.__version__}",
        "neighbour": given.neighbour,
    }
    results: list[dict[str, Any]] = []
    with Console(stderr=True).status("measuring") as status, busy_neighbour() if given.neighbour else nullcontext():
        for name in given.tasks or TASKS:
            status.update(f"measuring {name}")
            try:
                results += [{**row, **conditions} for row in measure(name, given.repeats)]
            except AssayError as error:  # a peer is not installed
                if given.tasks:
                    parser.error(f"{name}: {error}")
                print(f"skipped {name}: {error}", file=sys.stderr)
    if given.json:
        print(json.dumps(results, indent=2))
    else:
        _print(results, conditions, given.repeats)


def measure(task: str, repeats: int) -> list[dict[str, Any]]:
    """The rows of all of a task's problems."""
    problems: list[Measured] = import_module(f"benchmarks.{task}").problems()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [row for problem in problems for row in problem.rows(task, repeats)]
    finally:
        torch.set_num_threads(threads)


def _print(results: list[dict[str, Any]], conditions: dict[str, Any], repeats: int) -> None:
    console = Console()
    console.print(conditions["processor"], highlight=False)
    if conditions["neighbour"]:
        console.print("Beside a busy neighbour: another process moved memory all the time.")
    console.print(f"One thread, CPU time, median of {repeats} alternating runs; /s: explanations per second.\n")
    for problem in dict.fromkeys((row["task"], row["problem"]) for row in results):
        rows = [row for row in results if (row["task"], row["problem"]) == problem]
        table = Table(box=None, show_header=False, padding=(0, 2))
        for row in rows:
            table.add_row(row["who"], row["figure"], row["ratio"])
        console.print(f"[bold]{problem[0]}[/bold]: {problem[1]}")
        console.print(table)
        console.print(f"  {rows[0]['note']}\n", highlight=False)


if __name__ == "__main__":
    main(sys.argv[1:])
