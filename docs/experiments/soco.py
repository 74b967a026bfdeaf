"""The tables of the experiments of soundness and completeness (Li et al. 2024), study by study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import mean, stdev

from assay.report.table import piped
from assay.studies.shipped import find
from experiments.reading import boards, cell, method_table, readouts, with_interval
from experiments.soco_claims import FOLDER as FOLDER
from experiments.soco_claims import HAUSDORFF, claims, damages, equal_models, minima, trials
from pages import Json, Table, head, is_kept, kept

# Of each study: where the document has it, and how its setting differs from ours.
PLACES: Mapping[str, tuple[str, str]] = {
    "linear_validation": (
        "figure 6, appendix G.1",
        "fill, size of a change and update rule are not stated: all of them",
    ),
    "order_or_value": ("section 3.3", "forty linear models in place of an argument"),
    "damage": ("figure 7, tables 1 and 3", "small drawn pictures, a small network; 32 images for ExPerturb"),
    "damage_cifar": ("figure 7, tables 1 and 3", "CIFAR-10, ResNet-20; 64 images, 16 for ExPerturb"),
    "small": ("figure 9's kind", "drawn pictures and a designed network; no IBA, no ExPerturb"),
    "benchmark_cifar": ("figures 8 and 9", "CIFAR-10, ResNet-20; three sets of 16 images; ExPerturb with 200 iterations"),
    "indicators": ("section 6", "ours: the document names them as open"),
    "retraining": ("figures 1 and 10", "drawn pictures, a network of width 8"),
    "retraining_cifar": ("figures 1 and 10", "2,000 training images, a network of width 8, 8 epochs"),
    "semi_natural": ("figures 2, 3, 11 and 12", "drawn pictures in ten classes, ResNet-8"),
    "semi_natural_cifar": ("figures 2, 3, 11 and 12", "CIFAR-10, 32 x 32 pixels, a small VGG"),
}
LARGE = ("benchmark_256", "retraining_wide")
STUDIES = tuple(f"{FOLDER}/{name}" for name in PLACES)
FIGURE_8 = ("IG", "IG-SG", "IG-SQ", "IG-Var", "IG-SG, pixel units", "IG-SQ, pixel units", "IG-Var, pixel units")
ROAD = "ROAD, MoRF"
MARKED = ("Attr%", "Attr%, positive", ROAD, "accuracy")


def _studies() -> Iterator[str]:
    yield from head("document", "study", "size", "CPU minutes", "difference in setting")
    large = {
        "benchmark_256": ("figures 8 and 9", "four sets of 64 images"),
        "retraining_wide": ("figures 1 and 10", "the full width, 5,000 images, few epochs, one seed"),
    }
    for name, (place, difference) in {**PLACES, **large}.items():
        study = find(f"{FOLDER}/{name}")
        seeds = "one seed" if len(study.seeds) == 1 else f"{len(study.seeds)} seeds"
        minutes = f"{kept(study.name)['cpu_seconds'] / 60:.1f}" if is_kept(study.name) else "not run"
        yield piped(place, f"`{study.name}`", f"{seeds} x {study.environments[0].samples} samples", minutes, difference)


def _where_kept(name: str, lines: Table) -> Table:
    def write() -> Iterator[str]:
        yield from lines() if is_kept(f"{FOLDER}/{name}") else ["Not run yet."]

    return write


def _shown(name: str, metrics: Sequence[str] = ()) -> Table:
    """The boards of a study, with intervals; all metrics, unless some are named."""

    def write() -> Iterator[str]:
        for environment, board in boards(f"{FOLDER}/{name}").items():
            has = next(iter(board["methods"].values()))["metrics"]
            yield f"**{environment}**"
            yield ""
            yield from method_table(board, [metric for metric in metrics or has if metric in has], with_interval)
            yield ""

    return _where_kept(name, write)


def _validation() -> Iterator[str]:
    """Rules down, maps across: means over trials."""
    (board,) = boards(f"{FOLDER}/linear_validation").values()
    methods = [entry.label for entry in find(f"{FOLDER}/linear_validation").methods]
    yield f"Soundness, means over {trials(board)} trials; completeness in the last two rows:"
    yield ""
    yield from head("fill and rule", *methods, right=1)
    for metric in next(iter(board["methods"].values()))["metrics"]:
        values = (cell(board, method, metric).get("value") for method in methods)
        yield piped(metric, *("undefined" if value is None else f"{value:.3f}" for value in values))


def _order_or_value() -> Iterator[str]:
    """In how many models two maps of one order have exactly the same score."""
    found = boards(f"{FOLDER}/order_or_value")
    metrics = next(iter(next(iter(found.values()))["methods"].values()))["metrics"]
    yield from head("linear models", *metrics, right=1)
    for environment, board in found.items():
        yield piped(environment, *("{} of {} equal".format(*equal_models(board, metric)) for metric in metrics))


def _damage(name: str) -> Iterator[str]:
    """Smallest distances of three curves: metrics down, damages across, and their mean beside the document's."""
    for table in damages(name):
        names = list(dict.fromkeys(f"{row['original']}, {row['scheme']}" for row in table["rows"]))
        yield f"**{table['environment']}**"
        yield ""
        yield from head("metric", *names, right=1)
        for metric in dict.fromkeys(row["metric"] for row in table["rows"]):
            rows = [row for row in table["rows"] if row["metric"] == metric]
            yield piped(metric, *(with_interval(row["minimum"]) for row in rows))
        yield ""
    yield "Over all methods and schemes:"
    yield ""
    yield from head("metric", "mean ± deviation of the smallest distances", "document", right=1)
    for metric, values in minima(name).items():
        document = next(
            (f"{paper[0]:.3f} ± {paper[1]:.3f}" for start, paper in HAUSDORFF.items() if metric == start), ""
        )
        yield piped(metric, f"{mean(values):.3f} ± {stdev(values):.3f}", document)


def _common(name: str) -> Iterator[str]:
    """Soundness at levels that all methods reach."""
    for row in kept(f"{FOLDER}/{name}")["common_levels"]:
        levels = ", ".join(f"{level:g}" for level in row["levels"]) or "none"
        yield f"*{row['metric']}*, {row['environment']}, at the levels that all methods reach ({levels}):"
        yield ""
        yield from head("method", row["metric"], right=1)
        for method, found in row["methods"].items():
            yield piped(method, with_interval(found))
        yield ""


def _agreement() -> Iterator[str]:
    rows = kept(f"{FOLDER}/indicators")["agreement"]
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    yield from head("", *metrics, right=1)
    for environment in dict.fromkeys(row["environment"] for row in rows):
        found = {row["metric"]: with_interval(row) for row in rows if row["environment"] == environment}
        yield piped(environment, *(found.get(metric, "") for metric in metrics))


def _retraining(name: str) -> Iterator[str]:
    """About networks: the same for every method."""
    found = boards(f"{FOLDER}/{name}")
    metrics = next(iter(next(iter(found.values()))["methods"].values()))["metrics"]
    yield from head("pictures", *metrics, right=1)
    for environment, board in found.items():
        yield piped(environment, *(with_interval(cell(board, "Random", metric)) for metric in metrics))


def _road_order(name: str) -> Iterator[str]:
    """The order of methods by ROAD in each set, lowest accuracy first, and in how many seeds it is the same."""
    yield from head("set", f"order by {ROAD}, best first", "accuracy of the network")
    for environment, board in boards(f"{FOLDER}/{name}").items():
        values = {method: cell(board, method, ROAD).get("value") for method in ("GradCAM", "IG", "DeepSHAP", "Rect")}
        known = {method: value for method, value in values.items() if value is not None}
        order = sorted(known, key=known.__getitem__)
        accuracy = with_interval(cell(board, "GradCAM", "accuracy"))
        yield piped(environment, ", ".join(f"{method} {known[method]:.3f}" for method in order), accuracy)


def _made_by(name: str, lines: Table) -> Table:
    """A result of a long run, with what it took."""

    def write() -> Iterator[str]:
        summary: Json = kept(f"{FOLDER}/{name}")
        minutes = "{:.0f} minutes, {:.0f} of CPU".format(summary["seconds"] / 60, summary["cpu_seconds"] / 60)
        yield f"`{summary['command']}`, commit {summary['commit']}, {minutes}:"
        yield ""
        yield from lines()

    return _where_kept(name, write)


TABLES: Mapping[str, Table] = {
    "soco-studies": _studies,
    "soco-readouts": readouts([f"{FOLDER}/{name}" for name in (*PLACES, *LARGE)]),
    "soco-validation": _where_kept("linear_validation", _validation),
    "soco-order": _where_kept("order_or_value", _order_or_value),
    "soco-damage": _where_kept("damage", partial(_damage, "damage")),
    "soco-damage-cifar": _where_kept("damage_cifar", partial(_damage, "damage_cifar")),
    "soco-benchmark": _made_by("benchmark_256", _shown("benchmark_256")),
    "soco-common": _where_kept("benchmark_256", partial(_common, "benchmark_256")),
    "soco-benchmark-quick": _shown("benchmark_cifar"),
    "soco-small": _shown("small"),
    "soco-indicators": _shown("indicators"),
    "soco-agreement": _where_kept("indicators", _agreement),
    "soco-retraining": _where_kept("retraining", partial(_retraining, "retraining")),
    "soco-retraining-cifar": _where_kept("retraining_cifar", partial(_retraining, "retraining_cifar")),
    "soco-retraining-wide": _made_by("retraining_wide", partial(_retraining, "retraining_wide")),
    "soco-semi": _shown("semi_natural", MARKED),
    "soco-semi-cifar": _shown("semi_natural_cifar", MARKED),
    "soco-road": _where_kept("semi_natural", partial(_road_order, "semi_natural")),
    "soco-road-cifar": _where_kept("semi_natural_cifar", partial(_road_order, "semi_natural_cifar")),
    "soco-claims": claims,
}
