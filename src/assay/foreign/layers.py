"""Layers of a user's model, as explainers of layers take them, and what these return: maps of an image."""

from __future__ import annotations

import inspect
from typing import Any

from torch import Tensor, nn
from torch.nn.functional import interpolate

from assay.core.errors import NotApplicable, SpecError, suggest
from assay.core.map_grid import Nodes
from assay.core.query import Query


def layer_named(model: nn.Module, name: str, of_instance: bool = False) -> tuple[str, nn.Module]:
    """The layer of this name, and its full name; SpecError suggests near misses.

    The user's model may be inside another module, so that full names are longer: the outermost one counts. An explainer
    made by hand may have been made for a module around the model (``of_instance``): then its names are longer.
    """
    modules = {path: module for path, module in model.named_modules() if path}
    parts = name.split(".")
    for start in range(len(parts) if of_instance else 1):
        ending = ".".join(parts[start:])
        found = [ending] if ending in modules else [path for path in modules if path.endswith(f".{ending}")]
        depths = [path.count(".") for path in found]
        if depths and depths.count(min(depths)) == 1:
            full_name = found[depths.index(min(depths))]
            return full_name, modules[full_name]
    raise SpecError(f"the model has no layer '{name}'.{suggest(name, modules)} Its layers: {', '.join(modules)}.")


def name_of(layer: nn.Module, made_for: Any) -> str | None:
    """The name of a layer in the model that an explainer was made for, a module or a function around one; None where it
    is in no model that can be seen."""
    names = (
        path for model in modules_in(made_for) for path, module in model.named_modules() if module is layer and path
    )
    return next(names, None)


def modules_in(made_for: Any) -> list[nn.Module]:
    """A module; that of a bound method; those that a function reads."""
    owner = getattr(made_for, "__self__", made_for)
    if isinstance(owner, nn.Module):
        return [owner]
    if not inspect.isfunction(made_for):
        return []
    variables = inspect.getclosurevars(made_for)
    values = (*variables.nonlocals.values(), *variables.globals.values())
    return [value for value in values if isinstance(value, nn.Module)]


def image_map(result: Any, query: Query, name: str, positive_only: bool) -> Tensor:
    """One number per pixel, from a layer's attributions (N, C, h, w): the sum over channels, enlarged to the image."""
    result = result[0] if isinstance(result, tuple | list) and len(result) == 1 else result
    shape = tuple(result.shape) if isinstance(result, Tensor) else ()
    if query.setting.kind != "image" or len(shape) != 4:
        what = f"are {shape}" if shape else f"are a {type(result).__name__}"
        raise NotApplicable(
            f"needs a layer whose output is a map of the image: the attributions of '{name}' {what}, and say nothing "
            "about single features of the input"
        )
    maps: Tensor = result.sum(dim=1, keepdim=True)
    pixels = query.setting.features.shape
    if maps.shape[2:] == pixels:
        query.note(f"layer {name}")
        return maps.squeeze(1)
    query.note(f"layer {name}: {shape[2]}x{shape[3]}, enlarged to the image")
    if positive_only:
        query.remarks.grid = Nodes.bilinear(shape[2:], pixels)
    return interpolate(maps, pixels, mode="bilinear", align_corners=False).squeeze(1)


def last_convolution(model: nn.Module) -> str:
    """The name of the last convolution of images, else of the last layer."""
    names: list[str] = [name for name, module in model.named_modules() if isinstance(module, nn.Conv2d)]
    return names[-1] if names else list(dict(model.named_modules()))[-1]
