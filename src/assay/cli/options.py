"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer

from assay.core.errors import AssayError
from assay.core.machine import Machine, Resources, parse_memory
from assay.studies.limits import INT64

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text for people.")]
Full = Annotated[bool, typer.Option("--full", help="Print every table, not only what follows and a compact one.")]
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
Engine = Annotated[str, typer.Option(help="local: processes of this machine; dask: a Dask cluster (docs/cluster.md).")]
Address = Annotated[
    str,
    typer.Option(help="Of a Dask scheduler, or its scheduler file. Default: a cluster is started on this machine."),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Print what would be computed, and how long it takes. What has no known time is tried once, and not kept.",
    ),
]
Scale = Annotated[str, typer.Option(help="quick: the study as written; full: with what its table \\[full] replaces.")]
Device = Annotated[str, typer.Option(help="Where models run: cpu, cuda, cuda:1, ...")]
Memory = Annotated[
    str,
    typer.Option(help="Of each process, for a model call and its inputs, beyond the loaded model and data."),
]
Threads = Annotated[int, typer.Option(help="Threads per process.")]
Dtype = Annotated[
    str, typer.Option(help="Of the arithmetic: float32 or float64. A study's own() reads files in its own dtype.")
]

MOST_THREADS = 1_000
SMALLEST_PROCESS = 2**27  # bytes that a worker needs at least


@dataclass(frozen=True)
class RunOptions:
    """Where and how a run computes, and how it prints: options of every command that runs any study."""

    workers: Workers = None
    timeout: Timeout = None
    engine: Engine = "local"
    address: Address = ""
    dry_run: DryRun = False
    device: Device = "cpu"
    memory: Memory = "1GB"
    threads: Threads = 1
    dtype: Dtype = "float32"
    as_json: Json = False
    full: Full = False

    def resources(self) -> Resources:
        """What these options ask for; AssayError says which of them is wrong."""
        checked = machine(self.device, self.memory, self.threads, self.dtype)
        count = worker_count(self.workers, checked.memory)
        limit, address = time_limit(self.timeout, count), cluster_address(self.engine, self.address, count)
        return Resources(count, checked, limit, address)


def with_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with all fields of ``RunOptions`` as options, which it gets as one argument, ``options``."""
    parameters = dict(signature(command, eval_str=True).parameters)
    del parameters["options"]
    shared = signature(RunOptions, eval_str=True).parameters

    @wraps(command)
    def with_options(**given: Any) -> None:
        options = RunOptions(**{name: given.pop(name) for name in shared})
        command(**given, options=options)

    with_options.__signature__ = Signature([*parameters.values(), *shared.values()])  # type: ignore[attr-defined]
    return with_options


def machine(device: str, memory: str, threads: int, dtype: str) -> Machine:
    if dtype not in ("float32", "float64"):
        raise AssayError(f"--dtype {dtype}: choose float32 or float64.")
    if not 1 <= threads <= MOST_THREADS:
        raise AssayError(f"--threads {threads}: give 1 to {MOST_THREADS}.")
    _check_device(device)
    return Machine(device, dtype, parse_memory(memory), threads)


def _check_device(name: str) -> None:
    """AssayError if torch cannot put a tensor there. The CPU always works, so torch is not imported for it."""
    if name == "cpu":
        return
    import torch

    try:
        torch.zeros(1, device=name).item()
    except Exception as error:
        message = str(error).partition("\n")[0].rstrip(".")
        raise AssayError(f"--device {name}: torch finds no such device here: {message}.") from error


def worker_count(count: int | None, memory: int) -> int:
    """The given number, or one per core as far as the machine's memory allows."""
    if count is None:
        return max(1, min(os.cpu_count() or 1, int(psutil.virtual_memory().total) // (2 * memory)))
    most = int(psutil.virtual_memory().total) // SMALLEST_PROCESS
    if not 0 <= count <= most:
        raise AssayError(f"--workers {count}: give 0 (this process) to {most}, as many as this machine's memory holds.")
    return count


def time_limit(limit: float | None, workers: int) -> float | None:
    """The checked limit; it needs a worker, because a computation in this process cannot be stopped."""
    if limit is None:
        return None
    if not 0 < limit < float("inf"):
        raise AssayError(f"--timeout {limit:g}: give seconds above 0, or leave it out for no limit.")
    if workers == 0:
        raise AssayError(f"--timeout {limit:g} needs a worker process that can be stopped: --workers 1 or more.")
    return limit


def cluster_address(engine: str, address: str, workers: int) -> str | None:
    """The address of the Dask cluster, empty to start one here; None computes without Dask."""
    if engine not in ("local", "dask"):
        raise AssayError(f"--engine {engine}: choose local or dask.")
    if engine == "local":
        if address:
            raise AssayError(f"--address {address} is for --engine dask.")
        return None
    if find_spec("distributed") is None:
        raise AssayError("--engine dask needs Dask: pip install 'assay-xai[dask]'.")
    if workers == 0:
        raise AssayError("--engine dask computes in worker processes: give --workers 1 or more, or leave it out.")
    return address


def seed_list(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        seeds = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise AssayError(f"--seeds {text}: write whole numbers with commas, such as 0,1,2.") from None
    if min(seeds) < 0 or max(seeds) not in INT64:
        raise AssayError(f"--seeds {text}: a seed is 0 or more, and at most {INT64[-1]}.")
    return seeds
