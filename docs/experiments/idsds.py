"""The tables of the experiments of the IDSDS study (Zabička et al., after Hesse et al. 2024), study by study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import mean

from assay.report.table import piped
from assay.stats.agreement import spearman
from assay.studies.shipped import find

from experiments import shuffled
from experiments.idsds_claims import FOLDER as FOLDER
from experiments.idsds_claims import MOVES, SCORE, claims, families, moves, scores, unlike
from experiments.reading import boards, cell, curve_tables, method_table, readouts, with_interval
from pages import Json, Table, head, is_kept, kept

# Of each study: where the document has it, and how its setting differs from ours.
PLACES: Mapping[str, tuple[str, str]] = {
    "dummies": ("sections 2.1, 5.1, figure 1a", "CIFAR instead of ImageNet; 3 epochs of 2,000 images"),
    "readouts": ("sections 2.2, 5.2, figure 1c", "CIFAR, seven networks; 3 epochs of 2,000 images"),
    "depth": ("sections 2.3, 5.3, figure 1b", "six residual networks; 3 epochs of 2,000 images"),
    "vgg": ("sections 5.1, 5.3, figure 1b", "VGG at a quarter of the width, trained here on 3,000 images"),
    "cam_resolution": ("section 5.3", "ours: what decides that class activation maps collapse"),
    "similarity": ("sections 2.4, 5.4", "3 epochs of 2,000 images; the third experiment is ours"),
    "temperature": ("section 1.1", "ours: an argument there"),
    "leakage": ("section 1.1", "ours: an argument there"),
    "truth": ("section 1.4", "ours: the document asks, and has no truth"),
    "f_fidelity": ("Zheng et al., 2025", "small networks; fewer draws and sizes"),
}
LARGE: Mapping[str, tuple[str, str]] = {
    "dummies_256": ("sections 5.1 to 5.3", "30 epochs of 10,000 training images"),
    "similarity_30": ("section 5.4", "30 epochs of 10,000 training images"),
}
STUDIES = tuple(f"{FOLDER}/{name}" for name in PLACES)


def _studies() -> Iterator[str]:
    yield from head("document", "study", "size", "CPU minutes", "difference in setting")
    for name, (place, difference) in {**PLACES, **LARGE}.items():
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


def _by_network(name: str) -> Iterator[str]:
    """Methods down, networks across."""
    found = boards(f"{FOLDER}/{name}")
    yield from head("method", *found, right=1)
    for method in next(iter(found.values()))["methods"]:
        yield piped(method, *(with_interval(cell(board, method, SCORE)) for board in found.values()))


def _families(name: str) -> Iterator[str]:
    """Means of families; scores that are equal to the last digit are counted once in the second number."""
    found = boards(f"{FOLDER}/{name}")
    yield from head("family", *found, right=1)
    for family, methods in families(name).items():
        cells = []
        for board in found.values():
            values = scores(board, methods)
            different = unlike(values)
            cells.append(f"{mean(values.values()):+.3f} ({len(values)}), {mean(different):+.3f} ({len(different)})")
        yield piped(family, *cells)


def _moves(name: str) -> Iterator[str]:
    yield from head("", *MOVES)
    for row in kept(f"{FOLDER}/{name}")["slope"]:
        yield piped(_place(row), *moves(row))


def _place(row: Json) -> str:
    return str(row.get("environment") or f"{row['left']} and {row['right']}, {row['metric']}")


def _orders(name: str) -> Iterator[str]:
    """The rank correlation of methods between any two networks."""
    found = boards(f"{FOLDER}/{name}")
    methods = [label for family, labels in families(name).items() if family != "random" for label in labels]
    yield from head("", *found, right=1)
    for left, first in found.items():
        row = [spearman(*_common(first, second, methods)) for second in found.values()]
        yield piped(left, *("" if value is None else f"{value:.2f}" for value in row))


def _common(first: Json, second: Json, methods: Sequence[str]) -> tuple[list[float], list[float]]:
    left, right = scores(first, methods), scores(second, methods)
    both = [method for method in methods if method in left and method in right]
    return [left[method] for method in both], [right[method] for method in both]


def _agreement() -> Iterator[str]:
    rows = kept(f"{FOLDER}/truth")["agreement"]
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    yield from head("", "truth", *metrics, right=2)
    for place in dict.fromkeys((row["environment"], row["truth"]) for row in rows):
        found = {row["metric"]: with_interval(row) for row in rows if (row["environment"], row["truth"]) == place}
        yield piped(*place, *(found.get(metric, "") for metric in metrics))


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
    "idsds-studies": _studies,
    "idsds-readouts": readouts([f"{FOLDER}/{name}" for name in (*PLACES, *LARGE)]),
    "idsds-dummies": _made_by("dummies_256", partial(_by_network, "dummies_256")),
    "idsds-families": _where_kept("dummies_256", partial(_families, "dummies_256")),
    "idsds-dummies-quick": _where_kept("dummies", partial(_by_network, "dummies")),
    "idsds-families-quick": _where_kept("dummies", partial(_families, "dummies")),
    "idsds-slopes": _where_kept("readouts", partial(_moves, "readouts")),
    "idsds-slopes-256": _where_kept("dummies_256", partial(_moves, "dummies_256")),
    "idsds-softmax": _shown("readouts"),
    "idsds-depth": _where_kept("depth", partial(_by_network, "depth")),
    "idsds-orders": _where_kept("depth", partial(_orders, "depth")),
    "idsds-vgg": _where_kept("vgg", partial(_by_network, "vgg")),
    "idsds-resolution": _where_kept("cam_resolution", partial(curve_tables, f"{FOLDER}/cam_resolution", (SCORE,))),
    "idsds-similarity": _made_by("similarity_30", _shown("similarity_30")),
    "idsds-similarity-quick": _shown("similarity"),
    "idsds-temperature": _where_kept("temperature", partial(curve_tables, f"{FOLDER}/temperature", ("IDSDS", "IDS", "IDSDS, softmax"))),
    "idsds-leakage": _shown("leakage"),
    "idsds-truth": _where_kept("truth", _agreement),
    "idsds-f-fidelity": _where_kept("f_fidelity", shuffled.tables),
    "idsds-claims": claims,
}
