"""Options that several commands share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import psutil
import typer

from assay.core.errors import AssayError
from assay.core.machine import Machine, parse_memory

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text for people.")]
StorePath = Annotated[Path, typer.Argument(help="A folder that 'assay run' has written.")]
StudyName = Annotated[
    str | None, typer.Option("--study", help="Which study, where the store has several. Default: the one run last.")
]
Workers = Annotated[int | None, typer.Option(help="Processes; 0 computes in this one. Default: one per core.")]
Timeout = Annotated[
    float | None,
    typer.Option(
        help="Seconds that one block may take; what takes longer is recorded as failed. Default: no limit.",
    ),
]
Device = Annotated[str, typer.Option(help="Where models run: cpu, cuda, cuda:1, ...")]
Memory = Annotated[
    str,
    typer.Option(help="Of each process, for a model call and its inputs, beyond the loaded model and data."),
]
Threads = Annotated[int, typer.Option(help="Threads per process.")]
Dtype = Annotated[
    str, typer.Option(help="Of the arithmetic: float32 or float64. A study's own() reads files in its own dtype.")
]


def machine(device: str, memory: str, threads: int, dtype: str) -> Machine:
    if dtype not in ("float32", "float64"):
        raise AssayError(f"--dtype {dtype}: choose float32 or float64.")
    if threads < 1:
        raise AssayError(f"--threads {threads}: at least 1 is needed.")
    _sound_device(device)
    return Machine(device, dtype, parse_memory(memory), threads)


def _sound_device(name: str) -> None:
    """AssayError where no number can be kept there; the processor is always there, and needs no torch to say so."""
    if name == "cpu":
        return
    import torch

    try:
        torch.zeros(1, device=name).item()
    except Exception as error:
        told = str(error).partition("\n")[0].rstrip(".")
        raise AssayError(f"--device {name}: torch finds no such device here: {told}.") from error


def worker_count(given: int | None, memory: int) -> int:
    """As told; else one per core, but no more than the machine's memory can feed."""
    if given is None:
        return max(1, min(os.cpu_count() or 1, int(psutil.virtual_memory().total) // (2 * memory)))
    if given < 0:
        raise AssayError(f"--workers {given}: give 0 (this process) or more.")
    return given


def time_limit(given: float | None, workers: int) -> float | None:
    """As told, where it can be kept: nobody watches a computation in this process."""
    if given is None:
        return None
    if not 0 < given < float("inf"):
        raise AssayError(f"--timeout {given:g}: give seconds above 0, or leave it out for no limit.")
    if workers == 0:
        raise AssayError(f"--timeout {given:g} needs a worker process that can be stopped: --workers 1 or more.")
    return given


def seed_list(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        seeds = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise AssayError(f"--seeds {text}: write whole numbers with commas, such as 0,1,2.") from None
    if min(seeds) < 0:
        raise AssayError(f"--seeds {text}: a seed is 0 or more.")
    return seeds
