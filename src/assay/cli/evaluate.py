"""``assay evaluate``: score methods on a model and data of yours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from assay.artifacts.artifact import own_block
from assay.cli.options import (
    Device,
    Dtype,
    Json,
    Memory,
    Threads,
    Timeout,
    Workers,
    machine,
    seed_list,
    time_limit,
    worker_count,
)
from assay.core.spec import Spec
from assay.study.file import read
from assay.study.study import METHODS, METRICS, Study

Model = Annotated[str, typer.Option(help="module:attr, a torch module or a function that returns one.")]
Data = Annotated[Path, typer.Option(help=".npz with x (and y, reference_x, reference_y), or .npy with x.")]
Weights = Annotated[Path | None, typer.Option(help="A state_dict: .safetensors, or saved by torch.")]
Methods = Annotated[list[str], typer.Option("--method", "-m", help="A method; can be given several times.")]
Metrics = Annotated[list[str], typer.Option("--metric", "-s", help="A metric; can be given several times.")]


def evaluate(
    model: Model,
    data: Data,
    weights: Weights = None,
    method: Methods = METHODS,
    metric: Metrics = METRICS,
    target: Annotated[str, typer.Option(help="The explained class: predicted or label.")] = "predicted",
    readout: Annotated[str | None, typer.Option(help="logit, probability, margin, value. Default: as outputs.")] = None,
    outputs: Annotated[str, typer.Option(help="What the model gives: logits, probabilities, value.")] = "logits",
    baseline: Annotated[str, typer.Option(help="zero, mean, uniform or a number.")] = "zero",
    store: Annotated[Path, typer.Option(help="Where results go.")] = Path("runs/evaluate"),
    workers: Workers = None,
    timeout: Timeout = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Evaluate at most this many rows.")] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds of randomness; seed 0 takes rows as they stand.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be computed.")] = False,
    device: Device = "cpu",
    memory: Memory = "1GB",
    threads: Threads = 1,
    dtype: Dtype = "float32",
    as_json: Json = False,
) -> None:
    """Score attribution methods on your model and your rows. Running it again resumes.

    Truth is not known there, so the metrics ask the model: a method that scores well is consistent with the model's
    answers on altered inputs, which is necessary for being right about it, and not sufficient.
    """
    from assay.cli.run import execute, forecast
    from assay.core.build import named
    from assay.core.given import sound_baseline

    options = machine(device, memory, threads, dtype)
    count = worker_count(workers, options.memory)
    limited = time_limit(timeout, count)
    asked = {"outputs": outputs, "readout": readout, "target": target, "baseline": sound_baseline(_number(baseline))}
    asked["dtype"] = dtype
    place = Spec.of("own", model=model, data=str(data), weights=str(weights or ""), **asked)
    own = named("environments", str(place))[0]
    kind = own.setting(0, {}).kind  # what is wrong with model or data is told before anything runs
    found = _study(place, kind, own.rows, method, metric).narrowed(limit, seed_list(seeds))
    if dry_run:
        forecast(found, store, options, as_json)
    else:
        _, code = execute(found, store, count, options, as_json, limited)
        raise typer.Exit(code)


def _study(place: Spec, kind: str, rows: int, methods: list[str], metrics: list[str]) -> Study:
    environment = {"use": str(place), "label": "your model", "samples": rows, "block": own_block(kind)}
    table = {"title": "Your model", "environments": [environment], "methods": methods, "metrics": metrics, "gallery": 4}
    found = read(table, "evaluate", "assay evaluate")
    return replace(found, environments=tuple(replace(entry, rows=rows) for entry in found.environments))


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text
