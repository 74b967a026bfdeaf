"""The registry: from a spec to a card, to a checked and completed spec, to what it contributes to a key.

Everything here reads source; ``core/build.py`` makes the component itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import assay
from assay.core.cards import COMPUTED, REQUIRED, Card, Param, read_folder
from assay.core.errors import AssayError, SpecError, suggest
from assay.core.foreign import code_digest, foreign_card, is_target
from assay.core.shapes import as_float, fits, wants_component
from assay.core.spec import Spec, Value

KINDS = ("environments", "methods", "metrics")

# What users of other libraries may write, and what is then suggested: names of Captum, shap, Quantus.
HINTS: Mapping[str, str] = {
    "saliency": "gradient",
    "vanilla_gradient": "gradient",
    "gradient_x_input": "input_x_gradient",
    "ixg": "input_x_gradient",
    "ig": "integrated_gradients",
    "lime": "lime_image",
    "deep_lift": "deep_shap",
    "deeplift": "deep_shap",
    "deep_lift_shap": "deep_shap",
    "deep_explainer": "deep_shap",
    "layer_grad_cam": "grad_cam",
    "gradcam": "grad_cam",
    "gradcampp": "grad_cam_plus_plus",
    "gradcam_plus_plus": "grad_cam_plus_plus",
    "smooth_gradcampp": "smooth_grad_cam_plus_plus",
    "xgradcam": "x_grad_cam",
    "xgrad_cam": "x_grad_cam",
    "layercam": "layer_cam",
    "scorecam": "score_cam",
    "guided_backpropagation": "guided_backprop",
    "guided_bp": "guided_backprop",
    "expected_gradients": "gradient_shap",
    "gradient_explainer": "gradient_shap",
    "noise_tunnel": "smoothed",
    "smooth_grad": "smoothed",
    "smoothgrad": "smoothed",
    "rollout": "attention_rollout",
    "chefer_lrp": "chefer_relevance",
    "transformer_attribution": "chefer_relevance",
    "generic_attention": "chefer_gradient",
    "tree_explainer": "tree_shap",
    "treeshap": "tree_shap",
    "exact_ig": "exact_integrated_gradients",
    "ex_perturb": "extremal_perturbation",
    "information_bottleneck": "iba",
    "random": "random_map",
    "pixel_flipping": "deletion",
    "idsds": "single_deletion",
    "sds": "single_deletion",
    "sensitivity": "sensitivity_n",
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
        cards[point.name] = foreign_card(kind, point.value, point.name)
    return cards


def card(kind: str, name: str) -> Card:
    """The card of a component by name or ``module:attr``; SpecError suggests near misses."""
    if ":" in name:
        return foreign_card(kind, name, name)
    cards = catalogue(kind)
    if name in cards:
        return cards[name]
    if name in aliases(kind):
        raise SpecError(f"'{name}' stands for {aliases(kind)[name]}, which has a card.")
    hint = f" Did you mean '{HINTS[name]}'?" if HINTS.get(name) in cards else suggest(name, [*cards, *aliases(kind)])
    raise SpecError(f"unknown {kind[:-1]} '{name}'.{hint} 'assay ls {kind}' lists them.")


@cache
def aliases(kind: str) -> Mapping[str, Spec]:
    """Further names, each for a component with one of its parameters set: rows (name, parameter, value) in the
    ``aliases`` of its class."""
    cards, found = catalogue(kind), dict[str, Spec]()
    for named in cards.values():
        for name, parameter, value in named.fact("aliases", ()):
            if name in cards or name in found:
                raise AssayError(f"'{name}', an alias in {named.target}, is already the name of something else.")
            found[name] = Spec.of(named.name, **{parameter: value})
    return found


def expanded(kind: str, spec: Spec) -> Spec:
    """The spec with the name of a component in place of an alias, and what the alias sets among the parameters."""
    alias = aliases(kind).get(spec.name)
    if alias is None:
        return spec
    for name, value in alias.params:
        if spec.get(name, value) != value:
            raise SpecError(f"{spec.name} is {alias}: write {alias.name}({name}={spec.get(name)!r}) for the other.")
    return alias.replace(**dict(spec.params))


def resolve(kind: str, spec: Spec) -> Spec:
    """The spec with every default filled in, aliases expanded and every component inside it resolved; SpecError lists
    what is wrong."""
    spec = expanded(kind, spec)
    found = card(kind, spec.name)
    known = {param.name: param for param in found.params}
    if not (known or found.ours):
        known = {name: Param(name, "object", value) for name, value in spec.params}  # passed on as they are
    problems = [_unknown(spec, name, known) for name, _ in spec.params if name not in known]
    values: dict[str, Value] = {}
    for name, param in known.items():
        value = spec.get(name, param.default)
        if value == REQUIRED:
            problems.append(f"{spec.name} needs a value for '{name}' ({param.annotation}).")
        elif value != COMPUTED and not fits(value, param.annotation):
            problems.append(_misfit(spec, name, param.annotation, value))
        elif value != COMPUTED:
            try:
                values[name] = _resolved(component_kind(kind, param), as_float(value, param.annotation))
            except SpecError as error:
                problems.append(str(error))
    if problems:
        raise SpecError(" ".join(problems))
    return Spec.of(spec.name, **values)


def identity(kind: str, spec: Spec) -> dict[str, Any]:
    """What a resolved spec contributes to a key: names, values, and the revision of every component in it."""
    found = card(kind, spec.name)
    params = {param.name: param for param in found.params}
    values = {name: _identified(kind, params.get(name), value) for name, value in spec.params}
    if not found.ours:
        values |= {name: _named_code(value) for name, value in spec.params if is_target(value)}
    return {"name": spec.name, "revision": found.revision, "params": values}


def file_names(kind: str, spec: Spec) -> tuple[str, ...]:
    """The files that a resolved spec names, at every depth."""
    known = {param.name: param for param in card(kind, spec.name).params}

    def within(param: Param | None, value: Value) -> tuple[str, ...]:
        if isinstance(value, Spec):
            return file_names(component_kind(kind, param), value)
        if isinstance(value, tuple):
            return tuple(name for item in value for name in within(param, item))
        return (str(value),) if value and param is not None and param.annotation == "File" else ()

    return tuple(found for name, value in spec.params for found in within(known.get(name), value))


def stream_name(kind: str, spec: Spec) -> str:
    """What a resolved spec contributes to streams of random numbers: its text, with the content of files for their
    paths. Not the source, so that a new comment changes no number."""
    return str(_by_content(kind, spec))


def _by_content(kind: str, spec: Spec) -> Spec:
    known: dict[str, Param] = {}
    with suppress(SpecError):  # what was typed at a prompt has no card
        known = {param.name: param for param in card(kind, spec.name).params}

    def content(param: Param | None, value: Value) -> Value:
        if isinstance(value, tuple):
            return tuple(content(param, item) for item in value)
        if isinstance(value, Spec):
            return _by_content(component_kind(kind, param), value)
        return file_digest(str(value)) if value and param is not None and param.annotation == "File" else value

    return spec.replace(**{name: content(known.get(name), value) for name, value in spec.params})


def component_kind(kind: str, param: Param | None) -> str:
    """The catalogue that specs inside a parameter belong to: its annotation's, else that of the component around."""
    return (wants_component(param.annotation) if param else None) or kind


def _unknown(spec: Spec, name: str, known: Mapping[str, object]) -> str:
    listed = ", ".join(known) or "none"
    return f"{spec.name} has no parameter '{name}'.{suggest(name, known)} It takes: {listed}."


def _misfit(spec: Spec, name: str, annotation: str, value: Value) -> str:
    hint = f" Strings need quotes: {name}='{value}'." if isinstance(value, Spec) else ""
    shown = str(value) if isinstance(value, Spec) else repr(value)
    return f"{spec.name}: {name}={shown} does not fit {annotation}.{hint}"


def _resolved(kind: str, value: Value) -> Value:
    if isinstance(value, Spec):
        return resolve(kind, value)
    return tuple(_resolved(kind, item) for item in value) if isinstance(value, tuple) else value


def _identified(kind: str, param: Param | None, value: Value) -> Any:
    if param is not None and param.annotation == "File":
        return file_digest(str(value))
    if param is not None and param.annotation == "Code":
        return _named_code(value)
    inner = component_kind(kind, param)
    if isinstance(value, Spec):
        return identity(inner, value)
    return [_identified(kind, param, item) for item in value] if isinstance(value, tuple) else value


def _named_code(target: Value) -> dict[str, Any]:
    """Somebody else's component is given what a text ``module:attr`` names."""
    return {"code": str(target), "source": code_digest(str(target))}


def file_digest(path: str) -> str:
    """Of what a file holds."""
    file = Path(path)
    if not file.is_file():
        return f"missing:{path}"
    found = file.stat()
    return _digested(file.resolve(), found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=256)
def _digested(file: Path, size: int, time: int) -> str:
    """Read once as long as size and time of change stay: weights can be gigabytes."""
    with file.open("rb") as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"
