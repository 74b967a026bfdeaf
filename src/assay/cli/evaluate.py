"""``assay evaluate``: which explanations of a user's model can be trusted?"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import RunOptions, seed_list, with_run_options
from assay.cli.prints import prints_on_stderr
from assay.core.errors import SpecError
from assay.core.question import BASELINES
from assay.core.spec import TRUST, Spec, Value
from assay.foreign.imports import is_target, load

if TYPE_CHECKING:
    from assay.evaluation.plan import Item, Plan
    from assay.studies.study import Entry, Study

Model = Annotated[
    str,
    typer.Option(
        help="module:attr: a torch module, a fitted estimator or pipeline, a function, or what makes one; or a file: "
        "XGBoost's .json or .ubj, LightGBM's .txt, a .joblib or .pkl with --trust."
    ),
]
Data = Annotated[
    str,
    typer.Option(
        help="CSV, Parquet, .npz (x, y, reference_x, reference_y) or .npy, .txt with a text in each line, or a folder "
        "of images with a sub-folder for each class."
    ),
]
Label = Annotated[str, typer.Option(help="The column, or the array, of labels.")]
Reference = Annotated[str, typer.Option(help="Training rows, like the data. Default: reference_x, or the rows.")]
Weights = Annotated[str, typer.Option(help="A state_dict: .safetensors, .npz, or saved by torch.")]
Trust = Annotated[
    str, typer.Option(help="A saved model that you trust: loading a .joblib or .pkl file runs the code in it.")
]
Output = Annotated[
    str | None, typer.Option(help="Which tensor is explained where the model answers with several: its name or place.")
]
Forward = Annotated[str, typer.Option(help="module:attr of a function (model, rows) that asks the model.")]
By = Annotated[str | None, typer.Option(help="What a feature of a series is: steps, channels or both.")]
ChannelsFirst = Annotated[
    bool | None,
    typer.Option("--channels-first/--channels-last", help="Whether rows are (channels, ...). Default: as they look."),
]
Scale = Annotated[str | None, typer.Option(help="Images in 0..255: unit (divided by 255) or 'as is'.")]
Methods = Annotated[
    list[str], typer.Option("--method", "-m", help="A method; several times for several. Default: those that fit.")
]
Metrics = Annotated[
    list[str], typer.Option("--metric", "-s", help="A metric; several times for several. Default: those that decide.")
]
Canvases = Annotated[
    list[str],
    typer.Option("--canvas", help="What replaces a removed feature: rows, mean, blur, colour, zero, a number, ..."),
]


OWN_OPTIONS = (  # of the environment
    *(
        "model",
        "data",
        "label",
        "reference",
        "weights",
        "target",
        "readout",
        "outputs",
        "output",
        "forward",
        "baseline",
    ),
    *("by", "channels_first", "scale"),
)


@with_run_options
def evaluate(
    model: Model,
    data: Data,
    label: Label = "",
    reference: Reference = "",
    weights: Weights = "",
    trust: Trust = "",
    method: Methods = [],  # noqa: B006 (typer reads it)
    metric: Metrics = [],  # noqa: B006
    canvas: Canvases = [],  # noqa: B006
    target: Annotated[str, typer.Option(help="The explained class: predicted or label.")] = "predicted",
    readout: Annotated[str | None, typer.Option(help="logit, probability, margin, value. Default: as outputs.")] = None,
    outputs: Annotated[
        str | None, typer.Option(help="logits (default), probabilities, value; what the model gives.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="What methods compare with: zero, mean, uniform, a number. Default: mean for tables, zero."),
    ] = None,
    output: Output = None,
    forward: Forward = "",
    by: By = None,
    channels_first: ChannelsFirst = None,
    scale: Scale = None,
    budget: Annotated[str, typer.Option(help="How long it may take: 60s, 2m, none.")] = "60s",
    store: Annotated[Path, typer.Option(help="Where results go.")] = Path("runs/evaluate"),
    rows: Annotated[bool, typer.Option(" /--no-rows", help="Keep none of your rows in the store and the page.")] = True,
    limit: Annotated[int | None, typer.Option(min=1, help="Evaluate at most this many rows, the first ones.")] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds of randomness; seed 0 takes rows as they stand.")] = None,
    options: RunOptions = RunOptions(),
) -> None:
    """Which explanations of your model can you trust? Running it again resumes.

    Every method is tested against chance on your rows: do the features that it names change the model's answer, and do
    its numbers say by how much? Passing is necessary for being right about the model, but not sufficient.
    """
    resources, new_seeds, time = options.resources(), seed_list(seeds), _seconds(budget)
    is_code = is_target(model)
    if is_target(data) and not Path(data).exists():
        swapped = " They are swapped." if not is_code and Path(model).exists() else ""
        raise SpecError(f"--data {data} names code, and data are read from a file or folder.{swapped}")
    if not is_code and not Path(model).is_file():
        raise SpecError(
            f"--model {model}: write module:attr, a module on Python's path and a name in it, or the file of a saved "
            "model."
        )
    files = {"data": data, "reference": reference, "weights": weights, "saved": "" if is_code else model}
    answer = {"outputs": outputs, "output": _place(output), "forward": forward, "label": label}
    question = {"readout": readout, "target": target, "baseline": _baseline(baseline)}
    form = {"by": by, "channels_first": channels_first, "scale": scale}
    code = {"model": model} if is_code else {}
    dtype = {"dtype": "float64"} if options.dtype == "float64" else {}
    use = str(Spec.of("own", **code, **files, **answer, **question, **form, **dtype))
    with prints_on_stderr():
        asked = _checked(use, method, metric)
        _trusted(trust, model)
        if is_code:
            load(model)  # a wrong name is told before torch is imported
        from assay.evaluation.from_files import Asked, in_own_format, planned  # imports torch

        wanted = Asked(tuple(method), tuple(metric), tuple(map(_value, canvas)), time, limit, rows)
        resources = in_own_format(asked.environments[0], resources)
        study, plan = planned(asked.environments[0], wanted, store, resources, keep=not options.dry_run)
        study = study.narrowed(None, new_seeds)
    from assay.cli.run import execute_or_forecast

    if not options.as_json:
        typer.echo(_how_read(study), err=True)
        _tell(plan, study.environments[0])
    if rows and not options.as_json:
        typer.echo(f"The first rows and all attributions are kept in {store} (--no-rows: no rows).", err=True)
    execute_or_forecast(study, store, options, resources)


def _checked(use: str, methods: list[str], metrics: list[str]) -> Study:
    """The study of what was named; its mistakes are told at once, before torch is imported."""
    from assay.engine.execute.data_files import check_named_files
    from assay.studies.file import read

    table = {"environments": [{"use": use, "label": "your model"}], "methods": methods or ["random_map"]}
    study = read({**table, "metrics": metrics or ["sensitivity_n"]}, "evaluate", "assay evaluate")
    check_named_files(study)
    return study


def _trusted(trust: str, model: str) -> None:
    """Says to this process and its workers which file may run code as it is loaded."""
    if trust and (not Path(trust).is_file() or Path(trust).resolve() != Path(model).resolve()):
        raise SpecError(f"--trust {trust} names no saved model that is loaded here: --model is {model}.")
    os.environ.update({TRUST: str(Path(trust).resolve())} if trust else {})


def _place(text: str | None) -> str | int | None:
    return int(text) if text is not None and text.lstrip("-").isdigit() else text


def _how_read(study: Study) -> str:
    """What was chosen about the data and the model; the answer says what was left out."""
    from assay.report.findings import LEFT_OUT

    return " ".join(note for note in study.notes if not note.startswith(LEFT_OUT))


def _tell(plan: Plan, entry: Entry) -> None:
    """The plan as a command, which computes the same on any machine."""
    from assay.catalogue.registry import resolve
    from assay.report.text import seconds

    if plan.estimate is None or (not plan.drawn and all(item.named for item in plan.methods)):
        return  # nothing was chosen

    def named(flag: str, items: tuple[Item, ...]) -> list[str]:
        return [part for item in items for part in (flag, _as_written(item))]

    defaults = resolve("environments", Spec(entry.spec.name))
    given = {name: entry.spec.get(name) for name in OWN_OPTIONS if entry.spec.get(name) != defaults.get(name)}
    saved = str(entry.spec.get("saved") or "")
    trusted = ["--trust", saved] if os.environ.get(TRUST) else []
    command = ["assay", "evaluate", *(["--model", saved, *trusted] if saved else [])]
    command += [part for name, value in given.items() for part in _flag(name, value)]
    command += ["--dtype", "float64"] if entry.spec.get("dtype") == "float64" else []
    command += [*named("-m", plan.methods), *named("-s", plan.metrics), "--budget", "none"]
    command += ["--limit", str(plan.rows), *(["--seeds", "1"] if plan.drawn else [])]
    typer.echo(f"About {seconds(plan.estimate)}: {shlex.join(command)}", err=True)


def _as_written(item: Item) -> str:
    """The spec, behind the label that the user gave."""
    spec = str(item.spec)
    return spec if item.label.startswith(item.spec.name) or not item.named else f"{item.label}={spec}"


def _flag(name: str, value: Value) -> list[str]:
    if name == "channels_first":
        return ["--channels-first" if value else "--channels-last"]
    return [f"--{name}", str(value)]


def _seconds(text: str) -> float | None:
    """60s, 2m, 1h, or a number of seconds; None for none."""
    if text == "none":
        return None
    factor = {"s": 1.0, "m": 60.0, "h": 3600.0}.get(text[-1:], 1.0)
    try:
        value = factor * float(text.rstrip("smh"))
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise SpecError(f"--budget {text}: write a time such as 60s or 2m, or none.")
    return value


def _baseline(text: str | None) -> str | float | None:
    """Checked here if it is no known name; which names fit, the environment says."""
    if text is None or text in BASELINES:
        return text
    from assay.foreign.inputs import checked_baseline  # imports torch

    return checked_baseline(_value(text))


def _value(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text
