"""Which methods of a board differ by more than chance, from the scores in a store."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence

from assay.core.errors import StoreError
from assay.core.records import Record
from assay.report.components import by_label
from assay.report.text import counted, listed
from assay.stats.comparison import Comparison, Values, compare
from assay.store.store import Store

_LETTERS = string.ascii_letters + "".join(map(chr, range(0x100, 0x250)))  # then the accented ones


def comparisons(
    run: Record, store: Store, rows: Sequence[Mapping[str, str]], scores: Mapping[str, Record]
) -> dict[str, Comparison]:
    """By metric: all methods of one environment compared; without metrics that rank no methods or have one unit."""
    records: dict[str, dict[str, Record]] = {}
    for row in rows:
        record = scores.get(row["key"])
        if record is not None and record.status == "ok" and record.data["value"] is not None:
            records.setdefault(row["metric"], {})[row["method"]] = record
    metrics = by_label(run, "metrics")
    by_metric = {
        metric: _compare(store, by_method, bool(metrics[metric].higher_is_better))
        for metric, by_method in records.items()
        if metrics[metric].ranks_methods
    }
    return {metric: comparison for metric, comparison in by_metric.items() if comparison}


def _compare(store: Store, records: Mapping[str, Record], higher_is_better: bool) -> Comparison | None:
    """Over samples, if all scores have units of this kind; else over seeds. A score of before has no unit."""
    units = {record.data.get("unit", "") for record in records.values()}
    if units == {"samples"}:
        values: Values = {method: _sample_values(store, record) for method, record in records.items()}
        return compare(values, higher_is_better, "samples")
    if "" in units:
        return None
    return compare({method: record.data["per_seed"] for method, record in records.items()}, higher_is_better)


def _sample_values(store: Store, record: Record) -> list[float | None]:
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
