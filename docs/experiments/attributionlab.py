"""The tables of AttributionLab's experiments (Zhang et al. 2024), study by study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from math import comb

from assay.report.table import piped
from assay.stats.agreement import spearman
from assay.stats.holm import smallest_p
from assay.studies.shipped import find
from assay.studies.study import Study
from experiments.attributionlab_claims import STARTS, claims
from experiments.reading import (
    Cell,
    Difference,
    Values,
    asked_methods,
    boards,
    cell,
    curve_tables,
    method_table,
    near_controls,
    per_seed,
    readouts,
    value_text,
    with_interval,
)
from pages import Json, Table, head, is_kept, kept
from verified import values_digest

FOLDER = "attributionlab"
# Of each study: where the document has it, and how its setting differs from ours.
PLACES: Mapping[str, tuple[str, str]] = {
    "deepshap": ("figure 5a", "side 64; the document does not say whether the detector's ReLUs are hooked: both"),
    "lime": ("figures 6a and 24", "side 64, segmenters' sizes as published and scaled; no SAM, ideal segments beside"),
    "baselines": ("figure 7a, b", "side 64; IG with 50 steps (not stated) and exactly integrated"),
    "positive_only": (
        "figure 8a, appendix G.3",
        "side 64; width of the smooth truth and smoothing of IBA are not stated: both ways",
    ),
    "metrics_unseen": ("tables 2, 5, 6; figures 9, 20, 21", "side 64; insertion in 32 steps, Sensitivity-N at 8 sizes"),
    "modulo": ("tables 3 and 4, figures 16 to 18", "side 64; label 0 apart; IG* is IG, exact IG in its place"),
    "count": ("figure 2's kind, appendix D", "ours: the counting part alone; the document has no numbers for it"),
    "two_objects": ("figure 3, appendix A", "four small networks on 32 x 32 pixels; the document's is not described"),
    "real_signs": ("figure 5b", "CIFAR-10, ResNet-20 and a small ViT; a number for what the figure shows, ours"),
    "real_segments": (
        "figures 6b, 25 and 26",
        "CIFAR-10 in place of ImageNet; no SAM; a number for how maps change, ours",
    ),
    "real_baselines": ("figure 7d", "CIFAR-10 in place of ImageNet; a number for how maps change, ours"),
    "real_positive": ("figure 8b", "CIFAR-10 in place of ImageNet; six images"),
    "pixel_modulo": ("table 1, appendix F", "the document's size; 24 images, no slow methods"),
}
CURVES: Mapping[str, Sequence[str]] = {  # the metrics that the page shows
    "curve_temperature": ("F1", "F1 positive"),
    "curve_patch_size": ("F1", "F1 positive"),
    "curve_redundant_scale": ("F1", "F1 positive", "insertion"),
    "curve_baseline_distance": ("F1", "F1 positive"),
    "curve_ig_nodes": ("F1", "completeness gap"),
    "curve_superpixels": ("F1", "F1 positive"),
    "curve_tokens": ("F1",),
}
UNSEEN_224 = ("unseen_224", "unseen_224_slow")
LARGE = (*UNSEEN_224, "coarse_224", "iba_224")  # hours: at the document's size
STUDIES = tuple(f"{FOLDER}/{name}" for name in (*PLACES, *CURVES))
TABLE_4 = {  # insertion, deletion
    "GradCAM": (0.8827, 0.1174),
    "GuidedBP": (0.9015, 0.0983),
    "LRP": (0.9754, 0.0246),
    "ExPerturb": (0.7845, 0.2157),
    "Occlusion": (0.9151, 0.0849),
    "DeepSHAP": (0.9754, 0.0246),
    "IG": (0.9754, 0.0246),
    "exact IG": (0.9754, 0.0246),  # the document's IG*, which is its IG
    "IBA": (0.6458, 0.3526),
    "Random": (0.4996, 0.5009),
    "Constant": (0.4447, 0.4439),
}
# Printed correlations with F1 of insertion, deletion and Sensitivity-N, and the ranks printed beside them: by F1 and by
# the three, method by method.
PRINTED: Mapping[str, tuple[Sequence[float], Sequence[Sequence[int]]]] = {
    "table 5, unseen": (
        (0.02, 0.47, 0.65),
        ((8, 3, 1, 4, 6, 5, 7, 2), (4, 5, 3, 6, 2, 8, 1, 7), (6, 4, 3, 7, 5, 2, 1, 8), (3, 1, 2, 8, 5, 6, 4, 7)),
    ),
    "table 6, seen only": (
        (0.42, 0.61, 0.81),
        ((5, 6, 1, 7, 2, 3, 4, 8), (5, 6, 4, 8, 3, 1, 2, 7), (6, 4, 3, 7, 5, 2, 1, 8), (6, 1, 4, 8, 5, 2, 3, 7)),
    ),
    "table 3": (
        (0.94, 0.98, 1.00),
        (
            (6, 4, 0, 7, 5, 1, 2, 3, 8, 10, 9),
            (6, 5, 3, 7, 4, 0, 1, 2, 8, 10, 9),
            (6, 5, 0, 7, 4, 1, 2, 3, 8, 9, 10),
            (6, 4, 0, 7, 5, 1, 2, 3, 8, 10, 9),
        ),
    ),
}


def _studies() -> Iterator[str]:
    yield from head("document", "study", "size", "pairs, smallest p", "CPU minutes", "difference in setting")
    places = {**PLACES, **dict.fromkeys(CURVES, ("none: a failure curve", "ours; images of side 64"))}
    places["curve_tokens"] = ("none: a failure curve", "ours; texts of a designed transformer")
    for name, (place, difference) in places.items():
        study = find(f"{FOLDER}/{name}")
        seeds = "one seed" if len(study.seeds) == 1 else f"{len(study.seeds)} seeds"
        size = f"{seeds} x {study.environments[-1].samples} samples"
        minutes = f"{kept(study.name)['cpu_seconds'] / 60:.1f}" if is_kept(study.name) else "not run"
        yield piped(place, f"`{study.name}`", size, _smallest(study), minutes, difference)


def _smallest(study: Study) -> str:
    """The pairs of the largest board, and the smallest probability that one of them can have after Holm's correction,
    where seeds are the units."""
    if study.sweep or len(study.seeds) == 1:
        return ""
    methods = max(sum(entry.applies(place) for entry in study.methods) for place in study.environments)
    pairs = comb(methods, 2)
    return f"{pairs}, {min(1.0, pairs * smallest_p(len(study.seeds))):.2g}"


def _where_kept(name: str, lines: Table) -> Table:
    def write() -> Iterator[str]:
        yield from lines() if is_kept(f"{FOLDER}/{name}") else ["Not run yet."]

    return write


def _shown(name: str, metrics: Sequence[str] = (), environments: Sequence[str] = ()) -> Table:
    """The boards of a study, with intervals and completeness gaps; all metrics, unless some are named."""
    return _where_kept(name, partial(_boards, name, metrics, environments))


def _boards(name: str, metrics: Sequence[str] = (), environments: Sequence[str] = ()) -> Iterator[str]:
    for environment, board in boards(f"{FOLDER}/{name}").items():
        if not environments or environment in environments:
            yield f"**{environment}**"
            yield ""
            columns = metrics or list(next(iter(board["methods"].values()))["metrics"])
            yield from method_table(board, columns, with_interval, gaps=True)
            yield ""
            yield from _ceilings(board, columns)


def _ceilings(board: Json, metrics: Sequence[str]) -> Iterator[str]:
    """The best scores that the resolution of a method's maps allows, where they are below those of other methods."""
    for metric in metrics:
        found = {name: line["metrics"][metric].get("ceiling") for name, line in board["methods"].items()}
        known = {name: ceiling for name, ceiling in found.items() if ceiling is not None}
        if low := {name: ceiling for name, ceiling in known.items() if ceiling < max(known.values()) - 5e-4}:
            told = ", ".join(f"{name} {ceiling:.3f}" for name, ceiling in low.items())
            best = f"of maps of any resolution {max(known.values()):.3f}"
            yield f"{metric}, the best of any map of the method's resolution: {told}; {best}."
            yield ""


def _table_4() -> Iterator[str]:
    """Areas of the modulo network beside those of the document."""
    columns = ("insertion, by size", "deletion, by size", "insertion, signed", "deletion, signed")
    board = boards(f"{FOLDER}/modulo")["non-uniform, label not 0"]
    yield from head("method", "insertion (document)", *columns[:1], "deletion (document)", *columns[1:], right=1)
    for method, (insertion, deletion) in TABLE_4.items():
        ours = {column: with_interval(cell(board, method, column)) for column in columns}
        yield piped(
            method, f"{insertion:.4f}", ours[columns[0]], f"{deletion:.4f}", *(ours[name] for name in columns[1:])
        )


def _objects() -> Iterator[str]:
    """About networks: the same for every method."""
    metrics = (
        "accuracy",
        "accuracy, centre only",
        "accuracy, edge only",
        "ignores the centre",
        "ignores the edge",
        "centre's share of the output",
    )
    yield from head("network", *metrics, right=1)
    for environment, board in boards(f"{FOLDER}/two_objects").items():
        method = next(iter(board["methods"]))
        yield piped(environment, *(with_interval(cell(board, method, metric)) for metric in metrics))


def _correlations(name: str) -> Iterator[str]:
    """Spearman's correlations of metrics with truth."""
    rows = kept(f"{FOLDER}/{name}")["agreement"]
    tables: dict[tuple[str, frozenset[str]], list[Json]] = {}
    for row in rows:
        if not asked_methods(row) & set(STARTS[1:]):  # _starts has them
            tables.setdefault((row["truth"], asked_methods(row)), []).append(row)
    for (truth, methods), found in tables.items():
        metrics = list(dict.fromkeys(row["metric"] for row in found))
        yield f"With {truth}, over {', '.join(sorted(methods))}:"
        yield ""
        yield from head("", *metrics, right=1)
        for environment in dict.fromkeys(row["environment"] for row in found):
            cells = {row["metric"]: _correlation(row) for row in found if row["environment"] == environment}
            yield piped(environment, *(cells.get(metric, "") for metric in metrics))
        yield ""
        yield from _near(name, truth, sorted(methods), list(dict.fromkeys(row["environment"] for row in found)))


def _near(name: str, truth: str, methods: Sequence[str], environments: Sequence[str]) -> Iterator[str]:
    """Methods at the level of the controls, whose order among themselves is noise."""
    found = boards(f"{FOLDER}/{name}")
    told = {place: ", ".join(near_controls(found[place], truth, methods)) or "none" for place in environments}
    if len(set(told.values())) == 1:
        yield f"Near the controls by {truth}: {next(iter(told.values()))}."
    else:
        yield f"Near the controls by {truth}: " + "; ".join(f"{names} ({place})" for place, names in told.items()) + "."
    yield ""


COMMON = ("GradCAM", "GuidedBP", "Occlusion", "DeepSHAP", "IG")  # at both sizes, in all draws
PERTURBATION = ("insertion", "deletion", "Sensitivity-N", "insertion, true canvas", "deletion, true canvas")
KINDS = ("non-uniform, seen only", "non-uniform, unseen")


def _five(study: str, environment: str, truth: str, stars: str, metric: str) -> Values:
    """Agreement over the five methods that both sizes have, in each draw."""
    board = boards(f"{FOLDER}/{study}")[environment]
    methods = [f"{name}{stars}" if name in ("Occlusion", "IG") else name for name in COMMON]
    sign = -1 if metric.startswith("deletion") else 1
    columns = [zip(*(per_seed(board, method, name) for method in methods), strict=True) for name in (metric, truth)]
    return [spearman([sign * value for value in left], right) for left, right in zip(*columns, strict=True)]


def _asked(study: str, environment: str, truth: str, stars: str, metric: str) -> Values:
    """Agreement over the methods that the study compares."""
    for row in kept(f"{FOLDER}/{study}")["agreement"]:
        asked = (row["environment"], row["truth"], row["metric"], f"IG{stars}" in asked_methods(row))
        if asked == (environment, truth, metric, True):
            return row["per_seed"]
    return ()


def _effects() -> Iterator[str]:
    """What the unseen-data effect takes from each metric's agreement with truth, paired over draws."""
    sizes = (
        ("side 64, eight methods", "metrics_unseen", _asked),
        ("side 64, five methods", "metrics_unseen", _five),
        ("side 224, five methods", "unseen_224", _asked),
    )
    yield "Seen only minus unseen: what the effect takes."
    yield ""
    yield from head("agreement with", "over", *PERTURBATION)
    rows = [
        (f"{truth}, {'true' if stars else 'black'} baselines", label, partial(values, study, truth=truth, stars=stars))
        for truth, stars in product(("F1 positive", "F1 overall"), ("", "*"))
        for label, study, values in sizes
    ]
    for truth, label, values in rows:
        differences = (
            Difference.of(*(values(environment=kind, metric=metric) for kind in KINDS)) for metric in PERTURBATION
        )
        yield piped(truth, label, *map(str, differences))
    yield ""
    yield "True canvas minus black canvas, with the effect: what a canvas that the network knows gives back."
    yield ""
    yield from head("agreement with", "over", *PERTURBATION[:2])
    for truth, label, values in rows:
        differences = (
            Difference.of(*(values(environment=KINDS[1], metric=name) for name in (f"{metric}, true canvas", metric)))
            for metric in PERTURBATION[:2]
        )
        yield piped(truth, label, *map(str, differences))


def _starts() -> Iterator[str]:
    """Agreements by the start of extremal perturbation, and its own scores: means over draws."""
    yield from head("agreement with", "network", *PERTURBATION)
    rows = kept(f"{FOLDER}/metrics_unseen")["agreement"]
    values = {
        (row["truth"], row["environment"], row["metric"], start): row["value"]
        for row in rows
        for start in STARTS
        if start in asked_methods(row) and "IG" in asked_methods(row)
    }
    for truth, environment in product(("F1 positive", "F1 overall"), KINDS):
        drawn = ([values.get((truth, environment, metric, start)) for start in STARTS] for metric in PERTURBATION)
        yield piped(truth, environment, *(" / ".join(map(_three_digits, each)) for each in drawn))
    for study in ("positive_only", "metrics_unseen"):
        found = boards(f"{FOLDER}/{study}")
        metrics = [name for name in next(iter(found.values()))["methods"]["Random"]["metrics"]]
        yield ""
        yield f"ExPerturb's scores in `{study}`, starts 1 / 2 / 3:"
        yield ""
        yield from head("network", *metrics, right=1)
        for environment, board in found.items():
            if STARTS[1] in board["methods"]:
                drawn = ([cell(board, start, metric).get("value") for start in STARTS] for metric in metrics)
                yield piped(environment, *(" / ".join(map(_three_digits, each)) for each in drawn))


def _three_digits(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _agreement(name: str, printed: Sequence[str]) -> Iterator[str]:
    """Correlations with truth; below them the document's, printed and computed from its ranks."""
    yield from _correlations(name)
    yield "The document, printed (and computed from its printed ranks):"
    yield ""
    yield from head("", "insertion", "deletion", "Sensitivity-N", right=1)
    for table in printed:
        values, (by_f1, *ranks) = PRINTED[table]
        pairs = zip(values, ranks, strict=True)
        yield piped(table, *(f"{value:.2f} ({spearman(order, by_f1):.3f})" for value, order in pairs))


def _correlation(row: Json) -> str:
    left_out = row.get("left_out")
    return with_interval(row) + (f", without {', '.join(left_out)}" if left_out else "")


def _curves() -> Iterator[str]:
    for name, metrics in CURVES.items():
        yield f"**`{FOLDER}/{name}`**"
        yield ""
        if is_kept(f"{FOLDER}/{name}"):
            yield from curve_tables(f"{FOLDER}/{name}", metrics)
        else:
            yield "Not run yet."
            yield ""


def _made_by(name: str) -> Iterator[str]:
    """The command, and what it took."""
    summary = kept(f"{FOLDER}/{name}")
    minutes = (f"{summary[name] / 60:.0f}" for name in ("seconds", "cpu_seconds"))
    times, digest = "{} minutes, {} of CPU".format(*minutes), values_digest(summary)[:12]
    yield f"`{summary['command']}`, commit {summary['commit']}, {times}, digest of the values {digest}:"
    yield ""


def _coarse() -> Iterator[str]:
    yield from _made_by("coarse_224")
    yield from _boards("coarse_224")


IBA_PLACES = ("colour count, unseen-data effect", "pixel modulo, label not 0")
IBA_F1, IBA_PRECISION = "F1 positive, smooth 5", "precision positive"


def _iba() -> Iterator[str]:
    """Settings of IBA down, beta across; below, how many settings decide alike."""
    yield from _made_by("iba_224")
    sweep = kept(f"{FOLDER}/iba_224")["sweep"]
    betas = list(map(value_text, sweep["values"]))
    names = ("layer", "steps", "smoothing", "reference images")
    f1, colours, modulo = (
        _iba_settings(sweep, place, metric)
        for place, metric in (
            (IBA_PLACES[0], IBA_F1),
            (IBA_PLACES[0], IBA_PRECISION),
            (IBA_PLACES[1], IBA_PRECISION),
        )
    )
    yield f"*{IBA_F1}*, {IBA_PLACES[0]}, over beta; the ceiling is the best of any map of the layer's resolution:"
    yield ""
    yield from head(*names, *betas, "ceiling", right=len(names))
    for setting, points in f1.items():
        ceilings = [f"{point['ceiling']:.3f}" for point in points if "ceiling" in point]
        yield piped(*setting, *map(with_interval, points), ceilings[0] if ceilings else "not kept")
    values = [value for points in f1.values() for point in points if (value := point.get("value")) is not None]
    yield ""
    yield f"At .5 or above: {sum(value >= 0.5 for value in values)} of {len(values)} settings."
    yield ""
    yield f"*{IBA_PRECISION}*, over beta: colours ({IBA_PLACES[0]}) and pixel modulo:"
    yield ""
    columns = [f"{kind}, {beta}" for kind in ("colours", "modulo") for beta in betas]
    yield from head(*names, *columns, right=len(names))
    for setting, points in colours.items():
        yield piped(*setting, *map(with_interval, (*points, *modulo[setting])))
    pairs = [pair for setting, points in colours.items() for pair in zip(points, modulo[setting], strict=True)]
    values = [(left["value"], right["value"]) for left, right in pairs if "value" in left and "value" in right]
    yield ""
    yield f"Higher on colours: {sum(left > right for left, right in values)} of {len(values)} settings."


def _iba_settings(sweep: Json, environment: str, metric: str) -> dict[tuple[str, ...], Sequence[Cell]]:
    """Layer, steps, smoothing and reference images, which the label names, with the points over beta."""
    return {
        tuple(curve["method"].removeprefix("IBA ").split(", ")[:4]): curve["points"]
        for curve in sweep["curves"]
        if (curve["environment"], curve["metric"]) == (environment, metric)
        and curve["method"].startswith("IBA ")
        and ("modulo" in curve["method"]) == environment.startswith("pixel modulo")
    }


def _large() -> Iterator[str]:
    found = [name for name in UNSEEN_224 if is_kept(f"{FOLDER}/{name}")]
    for name in found:
        yield from _made_by(name)
        yield from _boards(name)
        yield from _correlations(name)
    if not found:
        yield "Not run yet."


SIGNS = ("F1 overall", "F1 positive", "F1 negative")
TABLES: Mapping[str, Table] = {
    "lab-studies": _studies,
    "lab-deepshap": _shown(
        "deepshap", (*SIGNS, "precision overall", "sign agreement"), ("non-uniform, unseen", "non-uniform")
    ),
    "lab-lime": _shown("lime", ("F1 overall", "F1 positive", "precision positive", "recall positive")),
    "lab-baselines": _shown("baselines", ("F1 overall", "F1 positive", "precision overall", "recall overall")),
    "lab-positive": _shown(
        "positive_only",
        (
            "F1 positive, smooth 5",
            "F1 positive, smooth 1.43",
            "F1 positive",
            "precision positive, smooth 5",
            "precision positive",
            "recall positive",
            "recall overall",
        ),
    ),
    "lab-unseen": _shown("metrics_unseen", ("F1 positive", "insertion", "deletion", "Sensitivity-N")),
    "lab-agreement": _where_kept(
        "metrics_unseen", partial(_agreement, "metrics_unseen", ("table 5, unseen", "table 6, seen only"))
    ),
    "lab-starts": _where_kept("metrics_unseen", _starts),
    "lab-table-4": _where_kept("modulo", _table_4),
    "lab-modulo": _shown("modulo", ("F1", "precision", "recall")),
    "lab-table-3": _where_kept("modulo", partial(_agreement, "modulo", ("table 3",))),
    "lab-count": _shown("count", ("F1", "precision", "recall", "insertion", "deletion", "Sensitivity-N")),
    "lab-objects": _where_kept("two_objects", _objects),
    "lab-readouts": readouts([f"{FOLDER}/{name}" for name in (*PLACES, *CURVES, *LARGE)]),
    "lab-effects": _where_kept("metrics_unseen", _where_kept("unseen_224", _effects)),
    "lab-large": _large,
    "lab-coarse": _where_kept("coarse_224", _coarse),
    "lab-iba": _where_kept("iba_224", _iba),
    "lab-real-signs": _shown("real_signs"),
    "lab-real-segments": _shown("real_segments"),
    "lab-real-baselines": _shown("real_baselines"),
    "lab-real-positive": _shown("real_positive"),
    "lab-curves": _curves,
    "lab-claims": claims,
}
