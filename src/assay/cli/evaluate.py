"""``assay evaluate``: score methods on a user's model and data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import RunOptions, seed_list, with_run_options
from assay.cli.prints import prints_on_stderr
from assay.core.question import BASELINES
from assay.core.spec import Spec
from assay.engine.artifacts.artifact import default_block_size
from assay.foreign.imports import is_target, load
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
    from assay.cli.run import execute_or_forecast
    from assay.engine.execute.data_files import check_named_files
    from assay.studies.file import read

    resources, new_seeds = options.resources(), seed_list(seeds)
    files = {"data": str(data), "weights": str(weights or "")}
    question = {"readout": readout, "target": target, "baseline": _baseline(baseline)}
    use = str(Spec.of("own", model=model, **files, outputs=outputs, **question, dtype=options.dtype))
    table = {"title": "Your model", "environments": [{"use": use, "label": "your model"}], "gallery": 4}
    with prints_on_stderr():
        study = read({**table, "methods": method, "metrics": metric}, "evaluate", "assay evaluate")
        check_named_files(study)
        if is_target(model):
            load(model)  # a wrong name is told before torch is imported
        study = _with_rows(study).narrowed(limit, new_seeds)
    execute_or_forecast(study, store, options, resources)


def _with_rows(study: Study) -> Study:
    """The study of all rows of the user's data. Raises errors in the model or data before anything runs."""
    from assay.catalogue.build import build

    (entry,) = study.environments
    environment = build("environments", entry.spec)
    kind, rows = environment.setting(0, {}).kind, environment.rows
    return replace(study, environments=(replace(entry, samples=rows, block=default_block_size(kind), rows=rows),))


def _baseline(text: str) -> str | float:
    """Checked here if it is no known name; which names fit, the environment says."""
    if text in BASELINES:
        return text
    from assay.foreign.inputs import checked_baseline  # imports torch

    return checked_baseline(_number(text))


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text
