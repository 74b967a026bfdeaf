"""The registry: from a spec to a card, to a checked and completed spec, to what it contributes to a key.

Everything here reads source; ``core/build.py`` makes the component itself.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import assay
from assay.core.cards import REQUIRED, Card, read_file, read_folder
from assay.core.errors import AssayError, SpecError, suggest
from assay.core.shapes import as_float, fits, wants_component
from assay.core.spec import Spec, Value

KINDS = ("environments", "methods", "metrics")

# Names that users of other libraries know: Captum, shap, Quantus.
ALIASES: Mapping[str, str] = {
    "saliency": "gradient",
    "vanilla_gradient": "gradient",
    "gradient_x_input": "input_x_gradient",
    "ixg": "input_x_gradient",
    "ig": "integrated_gradients",
    "deep_lift": "deep_shap",
    "deeplift": "deep_shap",
    "deep_lift_shap": "deep_shap",
    "deep_explainer": "deep_shap",
    "layer_grad_cam": "grad_cam",
    "gradcam": "grad_cam",
    "noise_tunnel": "smoothed",
    "smooth_grad": "smoothed",
    "smoothgrad": "smoothed",
    "random": "random_map",
    "pixel_flipping": "deletion",
    "sensitivity": "sensitivity_n",
    "feature_ablation": "occlusion",
    "random_attribution": "random_map",
}


@cache
def catalogue(kind: str) -> Mapping[str, Card]:
    """Every component of a kind: our folder, then what entry points of group ``assay.<kind>`` add."""
    folder = Path(assay.__path__[0]) / kind
    cards = {card.name: card for card in read_folder(kind, folder, f"assay.{kind}")}
    for point in entry_points(group=f"assay.{kind}"):
        if point.name in cards:
            raise AssayError(f"'{point.name}' from {point.value} is already the name of {cards[point.name].target}.")
        cards[point.name] = _foreign_card(kind, point.value, point.name)
    return cards


def card(kind: str, name: str) -> Card:
    """The card of a component by name or ``module:attr``; SpecError suggests near misses."""
    if ":" in name:
        return _foreign_card(kind, name, name)
    cards = catalogue(kind)
    if name in cards:
        return cards[name]
    hint = f" Did you mean '{ALIASES[name]}'?" if ALIASES.get(name) in cards else suggest(name, cards)
    raise SpecError(f"unknown {kind[:-1]} '{name}'.{hint} 'assay ls {kind}' lists them.")


def resolve(kind: str, spec: Spec) -> Spec:
    """The spec with every default filled in and every component inside it resolved; SpecError lists what is wrong."""
    found = card(kind, spec.name)
    if spec.foreign and not found.params:
        return spec  # not a component class of ours: its parameters are passed on as they are
    known = {param.name: param for param in found.params}
    problems = [_unknown(spec, name, known) for name, _ in spec.params if name not in known]
    values: dict[str, Value] = {}
    for name, param in known.items():
        value = spec.get(name, param.default)
        if value == REQUIRED:
            problems.append(f"{spec.name} needs a value for '{name}' ({param.annotation}).")
        elif not fits(value, param.annotation):
            problems.append(_misfit(spec, name, param.annotation, value))
        else:
            values[name] = _resolve_inner(kind, as_float(value, param.annotation), param.annotation)
    if problems:
        raise SpecError(" ".join(problems))
    return Spec.of(spec.name, **values)


def identity(kind: str, spec: Spec) -> dict[str, Any]:
    """What a resolved spec contributes to a key: names, values, and the revision of every component in it."""
    found = card(kind, spec.name)
    files = {param.name for param in found.params if param.annotation == "File"}
    params = {
        name: _file_digest(str(value)) if name in files else _identity_inner(kind, value) for name, value in spec.params
    }
    return {"name": spec.name, "revision": found.revision, "params": params}


def load(target: str) -> Any:
    """Import ``module:attr``."""
    module_name, _, attr = target.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and not module_name.startswith(error.name):
            raise  # the module exists and itself misses something
        raise SpecError(f"cannot import '{module_name}' of '{target}': there is no such module on the path.") from None
    if not hasattr(module, attr):
        raise SpecError(f"module '{module_name}' has no '{attr}'.{suggest(attr, vars(module))}")
    return getattr(module, attr)


def _foreign_card(kind: str, target: str, name: str) -> Card:
    module, _, attr = target.partition(":")
    try:
        found = importlib.util.find_spec(module)
    except (ModuleNotFoundError, ValueError):
        found = None
    if found is None or found.origin is None or not Path(found.origin).is_file():
        raise SpecError(f"cannot find module '{module}' of '{target}'. Run in its folder, or install it.")
    read = read_file(kind, Path(found.origin), module, name, attr) if found.origin.endswith(".py") else None
    if read is not None:
        return read
    # A function, or a name imported from elsewhere (captum.attr:Saliency): the revision is its own source file's.
    return Card(kind, name, target, doc=f"{attr} of {module}.", source=_source_of(target))


def _source_of(target: str) -> str:
    import inspect

    path = inspect.getsourcefile(load(target))
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else ""


def _unknown(spec: Spec, name: str, known: Mapping[str, object]) -> str:
    listed = ", ".join(known) or "none"
    return f"{spec.name} has no parameter '{name}'.{suggest(name, known)} It takes: {listed}."


def _misfit(spec: Spec, name: str, annotation: str, value: Value) -> str:
    hint = f" Strings need quotes: {name}='{value}'." if isinstance(value, Spec) else ""
    shown = str(value) if isinstance(value, Spec) else repr(value)
    return f"{spec.name}: {name}={shown} does not fit {annotation}.{hint}"


def _resolve_inner(kind: str, value: Value, annotation: str) -> Value:
    inner = wants_component(annotation) or kind
    if isinstance(value, Spec):
        return resolve(inner, value)
    if isinstance(value, tuple):
        return tuple(_resolve_inner(kind, item, annotation) for item in value)
    return value


def _file_digest(path: str) -> str:
    file = Path(path)
    return f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}" if file.is_file() else f"missing:{path}"


def _identity_inner(kind: str, value: Value) -> Any:
    if isinstance(value, Spec):
        return identity(kind, value)
    return [_identity_inner(kind, item) for item in value] if isinstance(value, tuple) else value
