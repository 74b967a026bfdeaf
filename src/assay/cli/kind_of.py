"""Whether a name on the command line is an environment, a method or a metric."""

from __future__ import annotations

from collections.abc import Iterable

from assay.catalogue.hints import HINTS
from assay.catalogue.registry import KINDS, aliases, card, catalogue
from assay.core.errors import SpecError, suggest
from assay.core.spec import Spec


def kind_of(spec: Spec, also: Iterable[str] = ()) -> str:
    """The kind of a component: by the catalogue, or for a foreign component by the arguments of its call.

    SpecError for an unknown name, with the most similar name of the catalogue or of ``also``.
    """
    if spec.foreign:
        if {"setting", "sample"} <= set(card("methods", spec.name).calls):
            return "environments"
        return "metrics" if _is_metric(spec) else "methods"
    for kind in KINDS:
        if spec.name in catalogue(kind) or spec.name in aliases(kind):
            return kind
    names = [*(name for kind in KINDS for name in (*catalogue(kind), *aliases(kind))), *also]
    hint = f" Did you mean '{HINTS[spec.name]}'?" if spec.name in HINTS else suggest(spec.name, names)
    raise SpecError(f"nothing is called '{spec.name}'.{hint} 'assay ls' lists everything.")


def _is_metric(spec: Spec) -> bool:
    """Whether a foreign component is called with a trial or with attributions, as metrics are."""
    import inspect

    from assay.foreign.imports import load
    from assay.foreign.metrics import roles

    component = load(spec.name)
    call = inspect.getattr_static(component, "__call__", None)
    parameters = inspect.signature(call).parameters if inspect.isfunction(call) else {}
    return "trial" in parameters or bool(roles(component))
