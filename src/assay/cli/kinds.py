"""What a name on the command line is: an environment, a method or a metric."""

from __future__ import annotations

from collections.abc import Iterable

from assay.core.errors import SpecError, suggest
from assay.core.registry import HINTS, KINDS, aliases, card, catalogue
from assay.core.spec import Spec


def kind_of(spec: Spec, also: Iterable[str] = ()) -> str:
    """By the catalogue; somebody else's by what it takes. SpecError where there is no such thing, with the nearest
    name, be it one of ``also``."""
    if spec.foreign:
        if {"setting", "sample"} <= set(card("methods", spec.name).calls):
            return "environments"
        return "metrics" if _judges(spec) else "methods"
    for kind in KINDS:
        if spec.name in catalogue(kind) or spec.name in aliases(kind):
            return kind
    known = [*(name for kind in KINDS for name in (*catalogue(kind), *aliases(kind))), *also]
    hint = f" Did you mean '{HINTS[spec.name]}'?" if spec.name in HINTS else suggest(spec.name, known)
    raise SpecError(f"nothing is called '{spec.name}'.{hint} 'assay ls' lists everything.")


def _judges(spec: Spec) -> bool:
    """A metric is called with a trial, or with attributions; a method with anything else."""
    import inspect

    from assay.core.foreign import load
    from assay.core.foreign_metrics import roles

    found = load(spec.name)
    call = inspect.getattr_static(found, "__call__", None)
    parameters = inspect.signature(call).parameters if inspect.isfunction(call) else {}
    return "trial" in parameters or bool(roles(found))
