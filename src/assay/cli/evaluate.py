"""``assay evaluate``: which explanations of a user's model can be trusted?"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import RunOptions, seed_list, with_run_options
from assay.cli.prints import prints_on_stderr
from assay.core.errors import SpecError
from assay.core.question import BASELINES
from assay.core.spec import Spec
from assay.foreign.imports import is_target, load

if TYPE_CHECKING:
    from assay.core.machine import Resources
    from assay.evaluation.plan import Item, Plan
    from assay.studies.study import Entry, Study

Model = Annotated[
    str, typer.Option(help="module:attr, a torch module, a fitted estimator, or a function that returns one.")
]
Data = Annotated[Path, typer.Option(help=".npz with x (and y, reference_x, reference_y), or .npy with x.")]
Weights = Annotated[Path | None, typer.Option(help="A state_dict: .safetensors, or saved by torch.")]
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


OWN_OPTIONS = ("model", "data", "weights", "target", "readout", "outputs", "baseline", "dtype")  # of the environment


@with_run_options
def evaluate(
    model: Model,
    data: Data,
    weights: Weights = None,
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
    files = {"data": str(data), "weights": str(weights or "")}
    question = {"readout": readout, "target": target, "baseline": _baseline(baseline)}
    use = str(Spec.of("own", model=model, **files, outputs=outputs, **question, dtype=options.dtype))
    with prints_on_stderr():
        asked = _checked(use, method, metric)
        if is_target(model):
            load(model)  # a wrong name is told before torch is imported
        study = _planned(asked, method, metric, canvas, (time, limit, rows), store, resources, options)
        study = study.narrowed(None, new_seeds)
    from assay.cli.run import execute_or_forecast

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


def _planned(
    asked: Study,
    methods: list[str],
    metrics: list[str],
    canvases: list[str],
    limits: tuple[float | None, int | None, bool],
    store: Path,
    resources: Resources,
    options: RunOptions,
) -> Study:
    """The study of the user's rows, methods and metrics, or of those that fit the model and the time."""
    from assay.catalogue.build import build
    from assay.engine.artifacts.artifact import default_block_size
    from assay.evaluation.canvases import canvases as chosen_canvases
    from assay.evaluation.defaults import default_methods
    from assay.evaluation.plan import Item, Plan
    from assay.evaluation.stored_plan import stored_plan
    from assay.evaluation.study import make_study, metric_items, notes

    (entry,), (budget, limit, rows_kept) = asked.environments, limits
    environment = build("environments", entry.spec)
    setting, rows = environment.setting(0, {}), environment.rows
    if setting.reference is None and not metrics and not canvases:
        raise SpecError(
            "one row without reference_x: what would replace a removed feature? Give reference_x, training rows, in "
            "the data, or --canvas, a number for example."
        )
    chosen = chosen_canvases(setting.kind, [_value(text) for text in canvases] or None, setting.question.baseline)
    left_out: list[str] = []
    if methods:
        items = [Item(text, Spec.parse(text), named=True) for text in methods]
    else:
        found, left_out = default_methods(setting, environment.sample(range(min(rows, 1)), 0))
        items = [Item(text, Spec.parse(text)) for text in found]
    asked_metrics = [(text, Spec.parse(text)) for text in metrics] if metrics else None
    judges = metric_items(asked_metrics, chosen, bool(canvases))
    wanted = Plan(tuple(items), tuple(judges), min(limit or rows, rows), dropped=tuple(left_out))
    block = default_block_size(setting.kind)
    plan = stored_plan(wanted, entry.spec, setting.kind, budget, store, resources, keep=not options.dry_run)
    place = replace(entry, samples=plan.rows, block=block, rows=plan.rows)  # no row more than there is time for
    said = notes(setting, rows, "reference_x" in environment.names, plan)
    study, _ = make_study(place, plan, said, rows_kept)
    if not options.as_json and plan != wanted:
        _tell(plan, place)
    return study


def _tell(plan: Plan, entry: Entry) -> None:
    """The plan as a command, which computes the same on any machine."""
    from assay.catalogue.registry import resolve
    from assay.report.text import seconds

    if plan.estimate is None or (not plan.drawn and all(item.named for item in plan.methods)):
        return

    def named(flag: str, items: tuple[Item, ...]) -> list[str]:
        return [part for item in items for part in (flag, str(item.spec))]

    defaults = resolve("environments", Spec(entry.spec.name))
    given = {name: entry.spec.get(name) for name in OWN_OPTIONS if entry.spec.get(name) != defaults.get(name)}
    command = ["assay", "evaluate", *(part for name, value in given.items() for part in (f"--{name}", str(value)))]
    command += [*named("-m", plan.methods), *named("-s", plan.metrics), "--budget", "none"]
    command += ["--limit", str(plan.rows), *(["--seeds", "1"] if plan.drawn else [])]
    typer.echo(f"About {seconds(plan.estimate)}: {shlex.join(command)}", err=True)


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
