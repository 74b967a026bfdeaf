"""A component of an artifact: by its spec, which other processes can build, or as an object of this process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

from assay.core.build import build
from assay.core.errors import AssayError
from assay.core.records import digest
from assay.core.registry import card, file_digest, file_names, identity
from assay.core.spec import Spec, walk

PARTS = ("train", "fit", "probe", "prepare")  # optional parts of components that are artifacts of their own

_objects = count()


@dataclass(frozen=True, eq=False)
class Component:
    """An environment, a method or a metric."""

    kind: str  # environments, methods or metrics
    spec: Spec | None = None  # resolved
    made: Any = None  # the object, where somebody gave one

    @cached_property
    def identity(self) -> str:
        """What it contributes to keys; an object's is good for this process only."""
        if self.spec is None:
            return f"object {next(_objects)}"
        _ = self.files  # travels with it to other processes
        return digest(identity(self.kind, self.spec))

    @cached_property
    def parts(self) -> frozenset[str]:
        """Which optional parts it has; ``again`` where a metric asks the method again. Of a spec, without an import."""
        if self.spec is None:
            found = {part for part in PARTS if hasattr(self.made, part)}
            asks = _asks(getattr(self.made, "needs", None), getattr(self.made, "again", False))
        else:
            own = card(self.kind, self.spec.name)
            found = {part for part in PARTS if part in own.calls}
            found |= {"fit"} if self.kind == "methods" and fits(self.spec) else set()
            asks = _asks(own.fact("needs"), self.spec.get("again"))
        return frozenset(found | ({"again"} if asks else set()))

    def build(self) -> Any:
        """The component itself."""
        if self.spec is None:
            return self.made
        built = build(self.kind, self.spec)
        self.check()
        return built

    def check(self) -> None:
        """AssayError where what was planned, perhaps by another process, is not what is there after it was read."""
        if self.spec is not None and Component(self.kind, self.spec).identity != self.identity:
            raise AssayError(
                f"'{self.spec.name}' (code, weights, attributes of a model or data) was changed during the run, or is "
                "not the same in every process: run the study again"
            )

    @cached_property
    def files(self) -> dict[str, str]:
        """Digests of the files that its parameters name, by path."""
        return {} if self.spec is None else {path: file_digest(path) for path in file_names(self.kind, self.spec)}

    def check_files(self) -> None:
        """AssayError where a file has changed; for after it was read. Code stays as it was imported."""
        for path, planned in self.files.items():
            if file_digest(path) != planned:
                raise AssayError(f"'{path}' was changed during the run: run the study again")

    def __str__(self) -> str:
        return str(self.spec) if self.spec is not None else type(self.made).__name__


def _asks(needs: Any, again: object) -> bool:
    """A metric that says nothing about its needs may ask."""
    return needs is None or "method" in needs or again is True


def fits(method: Spec) -> bool:
    """Whether a method, or one inside it, defines ``fit``. Where ``fit`` is a property, a combinator has it if a method
    inside does; another one may have it."""
    found: list[Spec] = []
    walk(method, found.append)
    cards = [(card("methods", spec.name), spec) for spec in found]
    return any("fit" in own.calls or ("fit" in own.perhaps and not _combines(spec)) for own, spec in cards)


def _combines(spec: Spec) -> bool:
    inner: list[Spec] = []
    for _, value in spec.params:
        walk(value, inner.append)
    return bool(inner)
