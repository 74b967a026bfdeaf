"""Speed side by side with a peer: one process, one thread, alternating runs, the median, and equal numbers checked."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from statistics import median
from typing import Any

import torch
from torch import Tensor

from assay.core.errors import AssayError, suggest

TASKS = ("integrated_gradients", "kernel_shap", "occlusion")  # files of this folder


@dataclass(frozen=True)
class Problem:
    """The same work, done by us and by a peer."""

    statement: str
    count: int  # explanations per run
    ours: Callable[[], Tensor]
    theirs: Callable[[], Tensor]
    peer: str


def tasks(name: str | None) -> tuple[str, ...]:
    if name is None:
        return TASKS
    if name not in TASKS:
        raise AssayError(f"no benchmark '{name}'.{suggest(name, TASKS)} Known: {', '.join(TASKS)}.")
    return (name,)


def measure(task: str, repeats: int) -> list[dict[str, Any]]:
    """Two rows per problem: ours and the peer's, explanations per second."""
    problems: list[Problem] = import_module(f"assay.bench.{task}").problems()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [row for problem in problems for row in _race(task, problem, repeats)]
    finally:
        torch.set_num_threads(threads)


def _race(task: str, problem: Problem, repeats: int) -> list[dict[str, Any]]:
    difference = float((problem.ours() - problem.theirs()).abs().max() / problem.theirs().abs().max())
    ours, theirs = [], []
    for _ in range(repeats):  # alternating, so that whatever else the machine does hits both
        ours.append(_seconds(problem.ours))
        theirs.append(_seconds(problem.theirs))
    rates = [problem.count / median(times) for times in (ours, theirs)]
    common = {"task": task, "problem": problem.statement, "repeats": repeats}
    equal = f"{difference:.1e} of the largest"
    return [
        {**common, "who": "assay", "rate": rates[0], "ratio": f"{rates[0] / rates[1]:.1f}x", "difference": equal},
        {**common, "who": problem.peer, "rate": rates[1], "ratio": "1.0x", "difference": ""},
    ]


def _seconds(work: Callable[[], Tensor]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
