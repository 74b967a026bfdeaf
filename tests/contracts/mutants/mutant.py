"""A wrong version of a metric."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A small change of a source file that makes a metric wrong."""

    metric: str
    wrong: str  # what is wrong with it
    module: str  # what is changed: the metric, or what it rests on
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.metric}: {self.wrong}"


def each(metrics: tuple[str, ...], wrong: str, module: str, old: str, new: str) -> list[Mutant]:
    """The same change for several metrics; ``{}`` in the module is the metric's name."""
    return [Mutant(metric, wrong, module.format(metric), old, new) for metric in metrics]
