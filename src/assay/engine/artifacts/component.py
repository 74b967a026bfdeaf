"""A component of an artifact: a spec, which every process can build, or an object of this process."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any

from assay.catalogue.files import NamedPath
from assay.catalogue.registry import card, identity, named_paths
from assay.core.errors import AssayError
from assay.core.records import digest
from assay.core.spec import Spec, walk

STEPS = ("train", "fit", "probe", "prepare")  # optional calls of a component whose results are artifacts

_object_numbers = count()


@dataclass(frozen=True, eq=False)
class Component:
    """An environment, a method or a metric."""

    kind: str  # environments, methods or metrics
    spec: Spec | None = None  # resolved
    instance: Any = None  # the object, where the caller gave one instead of a spec

    @cached_property
    def identity(self) -> str:
        """Its part of keys. The identity of an object is valid in this process only."""
        if self.spec is None:
            return f"object {next(_object_numbers)}"
        _ = self.files  # computed now, so that it is pickled for other processes
        return digest(identity(self.kind, self.spec))

    @cached_property
    def steps(self) -> frozenset[str]:
        """Those of ``STEPS`` that it has; ``again`` for a metric that asks the method again. No code is imported."""
        if self.spec is None:
            steps = {step for step in STEPS if hasattr(self.instance, step)}
            asks_again = _asks_method_again(
                getattr(self.instance, "needs", None), getattr(self.instance, "again", False)
            )
        else:
            component_card = card(self.kind, self.spec.name)
            steps = {step for step in STEPS if step in component_card.calls}
            steps |= {"fit"} if self.kind == "methods" and has_fit(self.spec) else set()
            asks_again = _asks_method_again(component_card.fact("needs"), self.spec.get("again"))
        return frozenset(steps | ({"again"} if asks_again else set()))

    @cached_property
    def preparing(self) -> Component:
        """The metric that prepares for this one. Metrics with the same one share a preparation."""
        return self._with_defaults("after_prepare")

    @cached_property
    def judging(self) -> Component:
        """The metric whose evidence this one reduces. Metrics with the same one share their evidence."""
        return self._with_defaults("after_evidence")

    @cached_property
    def fitting(self) -> Component:
        """The method whose fit this one uses. Methods with the same one share a fit."""
        return self._with_defaults("after_fit")

    def _with_defaults(self, fact: str) -> Component:
        """The component itself, but the parameters that a step does not read, which ``fact`` names, have their
        defaults."""
        if self.spec is not None:
            own_card = card(self.kind, self.spec.name)
            names = own_card.fact(fact, ())
            defaults = {param.name: param.default for param in own_card.params if param.name in names}
            spec = self.spec.replace(**defaults)
            return self if spec == self.spec else Component(self.kind, spec)
        names = getattr(self.instance, fact, ())
        if not names or not is_dataclass(self.instance):
            return self
        own_defaults = {field.name: field.default for field in fields(self.instance) if field.name in names}
        same = all(getattr(self.instance, name) == value for name, value in own_defaults.items())
        return self if same else Component(self.kind, instance=replace(self.instance, **own_defaults))  # type: ignore[type-var]

    def build(self) -> Any:
        """The component itself."""
        if self.spec is None:
            return self.instance
        from assay.catalogue.build import build

        built = build(self.kind, self.spec)
        self.check()
        return built

    def check(self) -> None:
        """Raises AssayError where the component read here is not the one planned (maybe in another process)."""
        if self.spec is not None and Component(self.kind, self.spec).identity != self.identity:
            raise AssayError(
                f"'{self.spec.name}' (code, weights, attributes of a model or data) was changed during the run, or is "
                "not the same in every process: run the study again"
            )

    @cached_property
    def files(self) -> dict[NamedPath, str]:
        """Digests of the files and folders that its parameters name."""
        return {} if self.spec is None else {path: path.digest for path in named_paths(self.kind, self.spec)}

    def check_files(self) -> None:
        """Raises AssayError where a file or folder has changed since planning; called after it was read. Code is left
        out: it stays as it was imported."""
        for path, planned_digest in self.files.items():
            if path.digest != planned_digest:
                raise AssayError(f"'{path.path}' was changed during the run: run the study again")

    def __str__(self) -> str:
        return str(self.spec) if self.spec is not None else type(self.instance).__name__


def _asks_method_again(needs: Any, again: object) -> bool:
    """Whether a metric may ask the method again; assumed of metrics that declare no needs."""
    return needs is None or "method" in needs or again is True


def has_fit(method: Spec) -> bool:
    """Whether a method, or one inside it, may have ``fit``.

    Where ``fit`` is a property, a combinator has it only if an inner method has it. Any other method may have it.
    """
    specs: list[Spec] = []
    walk(method, specs.append)
    cards = [(card("methods", spec.name), spec) for spec in specs]
    return any(
        "fit" in method_card.calls or ("fit" in method_card.properties and not _is_combinator(spec))
        for method_card, spec in cards
    )


def _is_combinator(spec: Spec) -> bool:
    inner: list[Spec] = []
    for _, value in spec.params:
        walk(value, inner.append)
    return bool(inner)
