"""Attributions with an axis of classes at the end, as shap returns them: the explained class is picked here."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.core.errors import BadAttribution
from assay.core.features import Features
from assay.core.query import Query

Shape = tuple[int, ...]


def known_shapes(features: Features) -> tuple[Shape, ...]:
    """Of one row's attributions of one class: the input's, or one number per feature."""
    return tuple(dict.fromkeys((features.entries, features.shape, (1, *features.shape))))


def has_class_axis(shape: Shape, features: Features, outputs: int) -> bool:
    """Whether one row's attributions end with an axis of classes; BadAttribution where their shape fits nothing."""
    known = known_shapes(features)
    if shape in known:
        return False
    wanted = f"expected {' or '.join(map(str, known))}"
    if shape[:-1] not in known:
        raise BadAttribution(f"has rows of shape {shape}, and the model reads rows of {features.entries}; {wanted}")
    if shape == (*features.shape, features.entries[0]) and len(features.entries) > len(features.shape):
        raise BadAttribution(f"has rows of shape {shape}: are channels at the end? They come first; {wanted}")
    if shape[-1] not in (1, outputs):
        raise BadAttribution(
            f"has rows of shape {shape}, {shape[-1]} classes at the end, and the model has {outputs} outputs; {wanted}"
        )
    return True


def of_target(values: Tensor, query: Query) -> Tensor:
    """The attributions (B, ...) of the explained class."""
    shape, features = tuple(values.shape[1:]), query.setting.features
    if shape in known_shapes(features) or not has_class_axis(shape, features, count_outputs(query)):
        return values
    classes = query.target if values.shape[-1] > 1 else torch.zeros_like(query.target)
    return values.movedim(-1, 1)[torch.arange(len(values), device=values.device), classes]


def count_outputs(query: Query) -> int:
    first = query.take(slice(0, 1))
    return first.outputs(first.x).shape[-1]
