"""The response to damage, as the page needs it: the answer in words, the smallest distances, all distances."""

from __future__ import annotations

from dataclasses import dataclass

from assay.report.damages import DamageTable
from assay.report.loaded_run import LoadedRun
from assay.report.result_tables import damage_table, distance_table
from assay.report.table import Table


@dataclass(frozen=True)
class DamageSection:
    """One environment."""

    environment: str
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    smallest: Table
    by_metric: tuple[Table, ...]


def damage_sections(loaded: LoadedRun) -> tuple[DamageSection, ...]:
    return tuple(_section(table) for table in loaded.result.damages)


def _section(table: DamageTable) -> DamageSection:
    by_metric = tuple(distance_table(table, metric) for metric in table.metrics)
    return DamageSection(
        table.environment, tuple(table.sentences()), tuple(table.notes()), damage_table(table), by_metric
    )
