"""Which methods of a board differ by more than chance, from the scores in a store."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from assay.core.errors import StoreError
from assay.core.evidence import Score
from assay.core.records import Record
from assay.engine.store.protocol import RunStore
from assay.report.components import Component, by_label
from assay.report.sample_values import sample_values
from assay.report.text import counted, listed
from assay.stats.comparison import Comparison, Values, compare

if TYPE_CHECKING:
    from assay.report.board import Board

_LETTERS = string.ascii_letters + "".join(map(chr, range(0x100, 0x250)))  # then the accented ones


def comparisons(run: Record, store: RunStore, board: Board, records: Mapping[str, Record]) -> dict[str, Comparison]:
    """By metric: all methods of one environment compared; without metrics that rank no methods or have one unit."""
    metrics, order = by_label(run, "metrics"), list(by_label(run, "methods"))
    lines = sorted(board.lines, key=lambda line: order.index(line.method))
    by_metric = {
        metric: _compare(store, [line.cells[metric] for line in lines], records, metrics[metric])
        for metric in board.metrics
        if metrics[metric].ranks_methods
    }
    return {metric: comparison for metric, comparison in by_metric.items() if comparison}


def within_draw(run: Record, store: RunStore, board: Board, records: Mapping[str, Record]) -> dict[str, Comparison]:
    """The same over the samples of a single draw of the model, about which alone they speak; by metrics of which no
    units can be compared."""
    metrics, found = by_label(run, "metrics"), dict[str, Comparison]()
    for name in board.metrics:
        scores = [line.cells[name] for line in board.lines if line.cells[name].value is not None]
        one_draw = all(score.basis == "draw" or len(score.per_seed) == 1 for score in scores)
        if scores and one_draw and metrics[name].ranks_methods and name not in board.comparisons:
            environment = board.environment
            values: Values = {
                score.method: sample_values(run, store, environment, (score.method, name), records) for score in scores
            }
            comparison = compare(values, bool(metrics[name].higher_is_better), "samples")
            found |= {name: comparison} if comparison is not None else {}
    return found


def _compare(
    store: RunStore, scores: Sequence[Score], records: Mapping[str, Record], metric: Component
) -> Comparison | None:
    """Over samples, if all scores have units of this kind; else over seeds. A score of before has no unit."""
    scores, higher_is_better = [score for score in scores if score.value is not None], bool(metric.higher_is_better)
    units = {score.unit for score in scores}
    if units == {"samples"}:
        values: Values = {score.method: _sample_values(store, records[score.key]) for score in scores}
        return compare(values, higher_is_better, "samples")
    if "" in units:
        return None
    return compare({score.method: score.per_seed for score in scores}, higher_is_better)


def _sample_values(store: RunStore, record: Record) -> list[float | None]:
    """The value of each sample; empty if the file is damaged."""
    try:
        arrays = store.load(record)
    except StoreError:
        return []
    pairs = zip(arrays["samples"].tolist(), arrays["samples_defined"].tolist(), strict=True)
    return [value if defined else None for value, defined in pairs]


def letters(comparison: Comparison) -> dict[str, str]:
    """By method: its groups as letters, "a" the best. Empty if no difference can be significant."""
    if not comparison.can_separate:
        return {}
    position = {method: index for index, method in enumerate(comparison.methods)}
    in_groups = {method for group in comparison.groups for method in group}
    alone = [(method,) for method in comparison.methods if method not in in_groups]
    groups = sorted([*comparison.groups, *alone], key=lambda group: [position[method] for method in group])
    named = list(zip(_LETTERS, groups, strict=False))
    return {method: "".join(letter for letter, group in named if method in group) for method in comparison.methods}


def comparison_notes(by_metric: Mapping[str, Comparison]) -> Iterator[str]:
    """What letters mean, and where units are too few for any: a sentence for all metrics with the same units."""
    alike: dict[tuple[str, int, int], list[str]] = {}
    for metric, comparison in by_metric.items():
        alike.setdefault((comparison.unit, comparison.units, len(comparison.pairs)), []).append(metric)
    for (unit, units, family), metrics in alike.items():
        number, pairs = counted(units, unit.removesuffix("s")), counted(family, "pair")
        of_metrics, first = f" in {listed(metrics)}" if len(alike) > 1 else "", by_metric[metrics[0]]
        if first.can_separate:
            yield f"a common letter{of_metrics}: not separated by {number} (Wilcoxon, Holm over {pairs} of methods)"
        else:
            yield (
                f"no letters{of_metrics}: {number} cannot show a significant difference among {pairs} of methods, "
                f"{first.units_needed} {unit} or more could"
            )
