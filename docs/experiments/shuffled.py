"""Does a metric rank explainers by how much of their maps was shuffled? The tables of idsds/f_fidelity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.catalogue.cards import Card
from assay.catalogue.registry import card, expand_alias
from assay.report.table import piped
from assay.stats.agreement import spearman
from assay.stats.seed_mean import seed_mean
from assay.studies.shipped import find
from assay.studies.study import Entry

from experiments.reading import boards, cell, per_seed, value_text, with_interval
from pages import Json, head

STUDY = "idsds/f_fidelity"
Labels = Mapping[float, str]  # of a method's maps, by the share that is shuffled


def tables() -> Iterator[str]:
    yield (
        "Rank correlation of a map's score with the share that is not shuffled; 1: the more shuffled, the worse. Means "
        "over seeds with intervals, without one where all seeds are equal:"
    )
    yield ""
    yield from _correlations()
    method, labels = next(iter(_shuffled().items()))
    yield ""
    yield f"Scores of {method}, by the share that is shuffled:"
    yield ""
    yield from _scores(labels)


def _shuffled() -> Mapping[str, Labels]:
    """By the label of the map as it is."""
    found: dict[str, dict[float, str]] = {}
    for entry in find(STUDY).methods:
        if entry.spec.name == "shuffled":
            found.setdefault(str(entry.spec.get("of")), {})[float(str(entry.spec.get("share")))] = entry.label
    return {labels[0.0]: labels for labels in found.values()}


def _rows(labels: Labels | None = None) -> Iterator[tuple[str, Json, Entry]]:
    """Environments with their boards, and the metrics there; where these maps are judged."""
    study, found = find(STUDY), boards(STUDY)
    for environment in study.environments:
        board = found[environment.label]
        if labels is None or labels[0.0] in board["methods"]:
            yield from ((environment.label, board, entry) for entry in study.metrics_for(environment))


def _card(metric: Entry) -> Card:
    spec = expand_alias("metrics", metric.spec)
    return card("metrics", spec.name).with_params(spec)


def _correlations() -> Iterator[str]:
    methods = _shuffled()
    yield from head("network", "metric", *methods, right=2)
    for environment, board, metric in _rows():
        if _card(metric).fact("about") != "models":
            cells = (_correlation(board, labels, metric) for labels in methods.values())
            yield piped(environment, metric.label, *cells)


def _correlation(board: Json, labels: Labels, metric: Entry) -> str:
    """In each seed; the mean over the seeds in which not all scores are equal."""
    if labels[0.0] not in board["methods"]:
        return ""
    shares, higher = sorted(labels), bool(_card(metric).fact("higher_is_better"))
    by_seed = zip(*(per_seed(board, labels[share], metric.label) for share in shares), strict=True)
    kept = [-share if higher else share for share in shares]
    found = seed_mean([None if None in values else spearman(kept, values) for values in by_seed], (-1.0, 1.0))
    told = with_interval({"value": found.value, "low": found.low, "high": found.high})
    return told if found.defined in (0, found.count) else f"{told} ({found.defined} of {found.count} seeds)"


def _scores(labels: Labels) -> Iterator[str]:
    shares = sorted(labels)
    yield from head("network", "metric", *map(value_text, shares), right=2)
    for environment, board, metric in _rows(labels):
        values = [cell(board, labels[share], metric.label).get("value") for share in shares]
        yield piped(environment, metric.label, *("undefined" if value is None else f"{value:.3f}" for value in values))
