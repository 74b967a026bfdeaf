"""Is the stated truth true? Every feature with an effect changes the answer, and equal features do so equally.

Propositions 3.1 and 3.2 of AttributionLab (Zhang et al., 2024), tried on every feature of a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from assay.check.contracts.environment_case import SEED, EnvironmentCase
from assay.check.contracts.fault import Fault
from assay.core.features import Features

SAMPLES = (0,)
Function = Callable[[Tensor], Tensor]


def sensitivity(case: EnvironmentCase) -> Iterator[Fault]:
    """Proposition 3.1: removing a feature that has an effect changes the answer; so does adding one."""
    for what, before, after, features in _feature_changes(case):
        unchanged = (after == before).all(dim=1)
        if bool(unchanged.any()):
            yield case.fault(
                sensitivity, f"does not answer differently after {what}", _listed_features(features[unchanged])
            )


def symmetry(case: EnvironmentCase) -> Iterator[Fault]:
    """Proposition 3.2: in a designed network every feature that changes the answer changes one output, by exactly 1.

    Counts modulo N wrap around: 1 - N is one step there as well. An environment may state other ``steps`` (a negator
    turns 1 into -1) and a ``bound`` to which its network is exact.
    """
    if not case.designed:
        return
    environment = case.environment
    allowed = getattr(environment, "steps", (1, getattr(environment, "modulus", 2) - 1))
    for what, before, after, features in _feature_changes(case):
        moved = _rounded((after - before).abs(), 2 * getattr(environment, "bound", 0.0))
        steps = torch.isin(moved, moved.new_tensor(allowed)).sum(dim=1)
        odd = (moved > 0).any(dim=1) & ~((steps == 1) & ((moved > 0).sum(dim=1) == 1))
        if bool(odd.any()):
            step = " or ".join(map(str, sorted(set(allowed))))
            message = f"does not move one output by exactly {step} after {what}"
            yield case.fault(symmetry, message, _listed_features(features[odd]))


def _feature_changes(case: EnvironmentCase) -> Iterator[tuple[str, Tensor, Tensor, Tensor]]:
    """Changes of one feature: what was done, the answers before and after (n, C), the features (n,)."""
    samples, background = case.sample(SAMPLES), case.setting.background
    if not hasattr(case.environment, "program") or samples.truth is None or background is None:
        return
    for index, x in enumerate(samples.x):
        effect = samples.truth.effect[index].flatten()
        for name, function in _functions(case).items():
            true = effect.nonzero().flatten()
            yield (
                f"taking a true feature away ({name})",
                *_answers(function, x, _with_value(case, x, background, true)),
                true,
            )
            for value in _feature_values(case, x, effect):
                idle = (effect == 0).nonzero().flatten()
                yield f"adding a feature ({name})", *_answers(function, x, _with_value(case, x, value, idle)), idle


def _functions(case: EnvironmentCase) -> dict[str, Function]:
    environment = case.environment
    program: dict[str, Function] = {"program": lambda x: environment.program(x, SEED)}
    return {**program, "network": environment.network(SEED)} if case.designed else program


def _with_value(case: EnvironmentCase, x: Tensor, value: Tensor, features: Tensor) -> Tensor:
    """Copies of x (n, *entries): in copy i, feature ``features[i]`` has the value."""
    layout: Features = case.setting.features
    count = int(torch.tensor(layout.shape).prod())
    mask = torch.eye(count, dtype=torch.bool)[features].view(-1, *layout.shape)
    return torch.where(layout.expand(mask), value, x)


def _feature_values(case: EnvironmentCase, x: Tensor, effect: Tensor) -> list[Tensor]:
    """The values of true features, broadcastable to a sample; of tokens, only those with an effect of 1 or -1."""
    if not case.designed:
        return []
    if case.setting.kind == "tokens":
        return list(x[effect.abs() == 1].unique(dim=0))
    return [value[:, None, None] for value in x.flatten(1)[:, effect != 0].unique(dim=1).T]


def _rounded(moved: Tensor, bound: float) -> Tensor:
    """``moved``, rounded to whole numbers that are within ``bound``."""
    whole = moved.round()
    return torch.where((moved - whole).abs() <= bound, whole, moved)


def _answers(function: Function, x: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
    """Before and after, in calls of equally many rows: a product of matrices may round otherwise in a call of one."""
    with torch.no_grad():
        return function(x.expand_as(points)), function(points)


def _listed_features(features: Tensor, limit: int = 5) -> str:
    more = f" and {len(features) - limit} more" if len(features) > limit else ""
    return f"features {', '.join(map(str, features[:limit].tolist()))}{more}"
