"""``assay evaluate``: score methods on a user's model and data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import RunOptions, seed_list, with_run_options
from assay.cli.prints import prints_on_stderr
from assay.core.spec import Spec
from assay.engine.artifacts.artifact import default_block_size
from assay.studies.study import METHODS, METRICS, Study

Model = Annotated[
    str, typer.Option(help="module:attr, a torch module, a fitted estimator, or a function that returns one.")
]
Data = Annotated[Path, typer.Option(help=".npz with x (and y, reference_x, reference_y), or .npy with x.")]
Weights = Annotated[Path | None, typer.Option(help="A state_dict: .safetensors, or saved by torch.")]
Methods = Annotated[list[str], typer.Option("--method", "-m", help="A method; can be given several times.")]
Metrics = Annotated[list[str], typer.Option("--metric", "-s", help="A metric; can be given several times.")]


@with_run_options
def evaluate(
    model: Model,
    data: Data,
    weights: Weights = None,
    method: Methods = METHODS,
    metric: Metrics = METRICS,
    target: Annotated[str, typer.Option(help="The explained class: predicted or label.")] = "predicted",
    readout: Annotated[str | None, typer.Option(help="logit, probability, margin, value. Default: as outputs.")] = None,
    outputs: Annotated[
        str | None, typer.Option(help="logits (default), probabilities, value; what the model gives.")
    ] = None,
    baseline: Annotated[str, typer.Option(help="zero, mean, uniform or a number.")] = "zero",
    store: Annotated[Path, typer.Option(help="Where results go.")] = Path("runs/evaluate"),
    limit: Annotated[int | None, typer.Option(min=1, help="Evaluate at most this many rows.")] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds of randomness; seed 0 takes rows as they stand.")] = None,
    options: RunOptions = RunOptions(),
) -> None:
    """Score attribution methods on your model and your rows. Running it again resumes.

    There the truth is not known, so the metrics ask the model. A method that scores well is consistent with the model's
    answers on altered inputs, which is necessary for being right about the model, but not sufficient.
    """
    from assay.catalogue.build import component_and_name
    from assay.cli.run import execute_or_forecast
    from assay.foreign.inputs import checked_baseline

    resources = options.resources()  # first: wrong options are cheaper to find than wrong models
    files = {"data": str(data), "weights": str(weights or "")}
    question = {"readout": readout, "target": target, "baseline": checked_baseline(_number(baseline))}
    environment_spec = Spec.of("own", model=model, **files, outputs=outputs, **question, dtype=options.dtype)
    with prints_on_stderr():
        environment = component_and_name("environments", str(environment_spec))[0]
        kind = environment.setting(0, {}).kind  # raises errors in the model or data before anything runs
        study = _study(environment_spec, kind, environment.rows, method, metric).narrowed(limit, seed_list(seeds))
    execute_or_forecast(study, store, options, resources)


def _study(environment_spec: Spec, kind: str, rows: int, methods: list[str], metrics: list[str]) -> Study:
    from assay.studies.file import read

    environment = {
        "use": str(environment_spec),
        "label": "your model",
        "samples": rows,
        "block": default_block_size(kind),
    }
    table = {"title": "Your model", "environments": [environment], "methods": methods, "metrics": metrics, "gallery": 4}
    study = read(table, "evaluate", "assay evaluate")
    return replace(study, environments=tuple(replace(entry, rows=rows) for entry in study.environments))


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text
