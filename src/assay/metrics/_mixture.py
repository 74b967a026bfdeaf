"""Models whose outputs are sums of another model's outputs."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.core.query import Query
from assay.core.setting import Setting, model_copy


def mixed(query: Query, weights: tuple[float, float]) -> Setting:
    """The setting of a model whose score for class c is a weighted sum of the scores of c and of the next class.

    The sum goes into the last linear layer where that is the model's output: methods then meet a network of the same
    layers. Elsewhere a linear layer is put behind the model.
    """
    setting, question = query.setting, query.question
    count = query.outputs(query.x[:1]).shape[-1]
    if count < 2:
        raise NotApplicable("needs at least two outputs, of which it makes a sum")
    eye = torch.eye(count, dtype=query.x.dtype, device=query.x.device)
    mixture = weights[0] * eye + weights[1] * eye.roll(1, dims=1)  # row c has the weights of c and c + 1
    if question.readout in ("logit", "value"):
        folded = _folded(setting.model, mixture)
        if folded is not None and _is(replace(query, setting=_around(setting, folded)), query, mixture):
            return _around(setting, folded)
        return _behind(setting, _linear(mixture))
    if question.readout == "probability" and question.temperature in (None, 1.0):
        soft = [] if setting.outputs == "probabilities" else [nn.Softmax(dim=1)]
        return replace(_behind(setting, *soft, _linear(mixture)), outputs="probabilities")
    raise NotApplicable(
        "needs a score that is a plain output: ask the method about logits, as in question = { readout = 'logit' }"
    )


def _around(setting: Setting, model: nn.Module) -> Setting:
    return replace(setting, model=model, forward=None)


def _behind(setting: Setting, *modules: nn.Module) -> Setting:
    """Modules after the model; hints that name its layers follow these to their new names."""
    named = {f"mixture{index}": module for index, module in enumerate(modules)}
    model = nn.Sequential(OrderedDict(model=setting.model, **named)).eval()
    known = dict(setting.model.named_modules())
    hints = {name: f"model.{hint}" if hint in known else hint for name, hint in setting.hints.items()}
    return replace(_around(setting, model), hints=hints)


def _linear(mixture: Tensor) -> nn.Linear:
    layer = nn.Linear(len(mixture), len(mixture), bias=False, device="meta")
    layer.weight = nn.Parameter(mixture, requires_grad=False)
    return layer


def _folded(model: nn.Module, mixture: Tensor) -> nn.Module | None:
    """A copy whose last linear layer makes the sums; None where no linear layer has so many outputs."""
    copy = model_copy(model)
    fits = [part for part in copy.modules() if isinstance(part, nn.Linear) and part.out_features == len(mixture)]
    if not fits:
        return None
    with torch.no_grad():
        fits[-1].weight.copy_(mixture @ fits[-1].weight)
        if fits[-1].bias is not None:
            fits[-1].bias.copy_(mixture @ fits[-1].bias)
    return copy


def _is(query: Query, before: Query, mixture: Tensor) -> bool:
    """Does this query's model answer with sums of the other's outputs?"""
    wanted, found = before.outputs(before.x) @ mixture.T, query.outputs(query.x)
    size = before.outputs(before.x).abs().amax(dim=1, keepdim=True)
    return bool(((wanted - found).abs() <= 1e-4 * size).all())
