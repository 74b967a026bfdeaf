"""Models whose outputs are sums of another model's outputs."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable
from assay.core.query import Query
from assay.core.setting import Setting, model_copy


def mixture_setting(query: Query, weights: tuple[float, float]) -> Setting:
    """The setting of a model whose score for class c is a weighted sum of the scores of c and of the next class.

    If the model's output is its last linear layer, this layer computes the sum, so that methods see a network with the
    same layers. Otherwise a linear layer is added after the model.
    """
    setting, question = query.setting, query.question
    count = query.outputs(query.x[:1]).shape[-1]
    if count < 2:
        raise NotApplicable("needs at least two outputs to add up")
    eye = torch.eye(count, dtype=query.x.dtype, device=query.x.device)
    mixture = weights[0] * eye + weights[1] * eye.roll(1, dims=1)  # row c: the weights of classes c and c + 1
    if question.readout in ("logit", "value"):
        folded = _folded_copy(setting.model, mixture)
        if folded is not None and _outputs_are_sums(
            replace(query, setting=_with_model(setting, folded)), query, mixture
        ):
            return _with_model(setting, folded)
        return _with_modules_after(setting, _linear_layer(mixture))
    if question.readout == "probability" and question.temperature in (None, 1.0):
        soft = [] if setting.outputs == "probabilities" else [nn.Softmax(dim=1)]
        return replace(_with_modules_after(setting, *soft, _linear_layer(mixture)), outputs="probabilities")
    raise NotApplicable(
        "needs a score that is a plain output: ask the method about logits, as in question = { readout = 'logit' }"
    )


def _with_model(setting: Setting, model: nn.Module) -> Setting:
    return replace(setting, model=model, forward=None)


def _with_modules_after(setting: Setting, *modules: nn.Module) -> Setting:
    """The model followed by modules; hints that name its layers get the new names of these."""
    named = {f"mixture{index}": module for index, module in enumerate(modules)}
    model = nn.Sequential(OrderedDict(model=setting.model, **named)).eval()
    layers = dict(setting.model.named_modules())
    hints = {name: f"model.{hint}" if hint in layers else hint for name, hint in setting.hints.items()}
    return replace(_with_model(setting, model), hints=hints)


def _linear_layer(mixture: Tensor) -> nn.Linear:
    layer = nn.Linear(len(mixture), len(mixture), bias=False, device="meta")
    layer.weight = nn.Parameter(mixture, requires_grad=False)
    return layer


def _folded_copy(model: nn.Module, mixture: Tensor) -> nn.Module | None:
    """A copy whose last linear layer computes the sums; None if no linear layer has that many outputs."""
    copy = model_copy(model)
    candidates = [part for part in copy.modules() if isinstance(part, nn.Linear) and part.out_features == len(mixture)]
    if not candidates:
        return None
    with torch.no_grad():
        candidates[-1].weight.copy_(mixture @ candidates[-1].weight)
        if candidates[-1].bias is not None:
            candidates[-1].bias.copy_(mixture @ candidates[-1].bias)
    return copy


def _outputs_are_sums(query: Query, before: Query, mixture: Tensor) -> bool:
    """Whether this query's model answers with the weighted sums of the other's outputs."""
    expected, actual = before.outputs(before.x) @ mixture.T, query.outputs(query.x)
    size = before.outputs(before.x).abs().amax(dim=1, keepdim=True)
    return bool(((expected - actual).abs() <= 1e-4 * size).all())
