"""A study: environments x methods x metrics x seeds, as objects. ``studies/file.py`` reads it from TOML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from assay.core.errors import AssayError
from assay.core.floors import Check, Rule
from assay.core.question import Question
from assay.core.spec import Spec

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Scalar: TypeAlias = bool | int | float | str

SAMPLES = 16
BLOCK = 8
MOST_BLOCKS = 10_000_000  # of attributions and of evidence in one run: each takes memory in the plan
SCALES = ("quick", "full")
AGREEMENT = 0.75  # (ours) share of the true effect named by a map that must have the right sign


@dataclass(frozen=True)
class Entry:
    """One component of a study: its spec, its label, and the environments where it applies."""

    spec: Spec  # resolved: with all defaults
    label: str
    question: Question = Question()
    only: tuple[str, ...] = ()  # environment names or labels; empty = everywhere
    samples: int = SAMPLES  # environments: how many samples are evaluated
    block: int = BLOCK  # environments: samples per unit of work
    rows: int | None = None  # environments: number of rows, where known; the last block ends there
    family: str = ""  # methods: of which kind; charts group by it

    def applies(self, environment: Entry) -> bool:
        return not self.only or environment.spec.name in self.only or environment.label in self.only


@dataclass(frozen=True)
class Faithfulness:
    """The faithfulness test at gamma: an environment refutes a method where a metric falls below its floor."""

    metric: str  # label of a metric
    gamma: float = 0.5
    require: tuple[str, ...] = ()  # labels of methods; if one is refuted, the run ends with exit code 1
    checks: tuple[Check, ...] = ()  # metrics with their floors; with F1, also for the signs of the truth
    by: Mapping[str, str] = field(default_factory=dict)  # methods that are judged by another metric: labels of both
    rule: Rule = "interval"  # what decides: the interval, or only the value (point, as in the paper)
    strict: bool = False  # the run also fails where a required method is undecided or not testable


@dataclass(frozen=True)
class Varied:
    """An item of a sweep."""

    label: str
    copies: tuple[str, ...]  # their labels, one for each value


@dataclass(frozen=True)
class Sweep:
    """A parameter that takes several values: every item that has it stands in the study once for each value."""

    of: str  # environments, methods, metrics
    parameter: str
    values: tuple[Scalar | tuple[Any, ...], ...]
    items: tuple[Varied, ...]
    label: str  # of the axis


def value_text(value: Any) -> str:
    """A value as labels, axes and tables show it."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(value_text, value))})"
    return value if isinstance(value, str) else repr(value)


@dataclass(frozen=True)
class Agreement:
    """Metrics that are compared with a metric of truth: do they rank the methods alike?"""

    truth: str  # label of a metric
    metrics: tuple[str, ...]  # labels
    methods: tuple[str, ...]  # labels; controls only if the study names them


@dataclass(frozen=True)
class Slope:
    """Two columns side by side: which methods change their rank from left to right?"""

    of: Literal["metrics", "environments"]  # metrics are compared in each environment, environments by each metric
    left: str  # labels
    right: str
    methods: tuple[str, ...]  # labels, on the left; controls only if the study names them
    suffix: str = ""  # on the right, a method's label ends with it


@dataclass(frozen=True)
class Study:
    """A grid of environments, methods, metrics and seeds."""

    name: str
    environments: tuple[Entry, ...]
    methods: tuple[Entry, ...]
    metrics: tuple[Entry, ...]
    title: str = ""
    seeds: tuple[int, ...] = (0,)
    data_seed: int | None = None  # None: each seed has samples of its own
    gallery: int | tuple[int, ...] = 4  # samples that the report draws: how many, the first ones; or which
    faithfulness: tuple[Faithfulness, ...] = ()
    agreement: tuple[Agreement, ...] = ()
    slope: tuple[Slope, ...] = ()
    sweep: Sweep | None = None
    scale: str = "quick"  # or full
    full: Study | None = None  # the study at full scale, where the file has one
    full_keys: tuple[str, ...] = ()  # what differs there: keys of the file
    notes: tuple[str, ...] = ()  # sentences about a user's data and what of it is evaluated

    def at(self, scale: str) -> Study:
        """The study at a scale: quick, as its file is written, or full. Each has a name, and so a store, of its own:
        the slash keeps other files from having the name of the full scale."""
        if scale not in SCALES:
            raise AssayError(f"scale '{scale}': choose {' or '.join(SCALES)}.")
        if scale == "quick":
            return self
        if self.full is None:
            raise AssayError(
                f"{self.name} has no full scale: its file has no table [full]. Leave the scale out, or add the table."
            )
        title = self.full.title if "title" in self.full_keys or not self.title else f"{self.title} (full scale)"
        return replace(self.full, name=f"full/{self.name}", title=title, scale="full")

    @property
    def pictured(self) -> tuple[int, ...]:
        """The samples of each environment whose input, truth and attributions the report draws."""
        return tuple(range(self.gallery)) if isinstance(self.gallery, int) else self.gallery

    def narrowed(self, limit: int | None, seeds: tuple[int, ...] | None) -> Study:
        """The same study on fewer samples or other seeds. Artifacts that were computed before stay usable."""
        environments = self.environments
        if seeds is not None and (not seeds or len(set(seeds)) < len(seeds)):
            raise AssayError(f"seeds {list(seeds)}: give at least one, and none twice.")
        if limit is not None and limit < 1:
            raise AssayError(f"a limit of {limit} samples leaves nothing to evaluate: give at least 1.")
        if limit is not None:
            environments = tuple(replace(entry, samples=min(limit, entry.samples)) for entry in environments)
        narrowed = replace(self, environments=environments, seeds=self.seeds if seeds is None else seeds)
        if (blocks := narrowed.blocks()) > MOST_BLOCKS:
            raise AssayError(
                f"{self.name} has {blocks:,} blocks of attributions and evidence, and a run plans at most "
                f"{MOST_BLOCKS:,}: give fewer samples (--limit), seeds or components, or larger blocks."
            )
        return narrowed

    def blocks(self) -> int:
        """How many blocks of attributions and of evidence there are."""
        return len(self.seeds) * sum(
            -(-environment.samples // environment.block)
            * sum(method.applies(environment) for method in self.methods)
            * (1 + len(self.metrics_for(environment)))
            for environment in self.environments
        )

    def series(self) -> Iterator[tuple[Entry, Entry, int]]:
        """Every method in every environment where it applies, seed by seed."""
        for environment in self.environments:
            applicable = [method for method in self.methods if method.applies(environment)]
            yield from ((environment, method, seed) for seed in self.seeds for method in applicable)

    def metrics_for(self, environment: Entry) -> tuple[Entry, ...]:
        """The metrics that apply to an environment."""
        return tuple(metric for metric in self.metrics if metric.applies(environment))

    def to_json(self) -> dict[str, Any]:
        """What a run records: this scale."""
        sizes = {"samples", "block", "rows"}  # of environments
        others = {"environments": {"family"}, "methods": sizes, "metrics": {*sizes, "family"}}
        left_out: Any = {"full": True, "full_keys": True, **{kind: {"__all__": keys} for kind, keys in others.items()}}
        return _adapter().dump_python(self, mode="json", exclude=left_out)  # type: ignore[no-any-return]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Study:
        """The study that a run recorded; ValueError where it is none."""
        return _adapter().validate_python(data)


@cache
def _adapter() -> TypeAdapter[Study]:
    from pydantic import TypeAdapter  # here: the command line starts without it

    return TypeAdapter(Study)
