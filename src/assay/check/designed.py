"""What networks with hand-set weights promise: they are right, and three derivations of them are one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor

from assay.check.compare import same_bits, told
from assay.check.environment_case import FEW, MANY, SEED, EnvironmentCase
from assay.check.fault import Fault
from assay.core.rng import generator

WITNESSES = tuple(range(64))
ROUNDING = 1e-6  # relative, of non-uniform accumulators on what is not a whole number
Function = Callable[[Tensor], Tensor]


def accuracy(case: EnvironmentCase) -> Iterator[Fault]:
    """A designed network is right about every sample; a trained one is right more often than a guess."""
    samples = case.sample(MANY)
    with torch.no_grad():
        answers = case.setting.model(samples.x)
    if hasattr(case.environment, "remainder"):
        right = answers[:, 0] == case.environment.remainder(samples)
    elif answers.shape[1] > 1:
        right = answers.argmax(dim=1) == samples.label
    else:
        return
    if case.designed and not bool(right.all()):
        yield case.fault(accuracy, "is designed and wrong", told((~right).nonzero().flatten().tolist()))
    elif right.float().mean() <= samples.label.bincount().max() / len(MANY) and not case.designed:
        yield case.fault(accuracy, f"is right about {int(right.sum())} of {len(MANY)} samples: no better than a guess")


def three_witnesses(case: EnvironmentCase) -> Iterator[Fault]:
    """Program, wires and network are one function.

    Bit for bit on the environment's own samples. On changed ones, where redundant channels wake up, bit for bit with
    uniform accumulators and to a relative 1e-6 with others. Attention is within the environment's ``bound``, and its
    program is about texts: what is no text any more is a matter of network and wires.
    """
    if not case.designed:
        return
    network, others = case.environment.network(SEED), _derivations(case)
    x, bound = case.sample(WITNESSES).x, getattr(case.environment, "bound", 0.0)
    for what, points in {"its own samples": x, **changed(x)}.items():
        exact = points is x or bool(getattr(case.environment, "uniform", False))
        with torch.no_grad():
            answer = network(points)
            for name, other in others.items():
                if name == "program" and bound and not _texts(points):
                    continue
                rows = _apart(answer, other(points), 0.0 if exact else ROUNDING, bound)
                if rows:
                    yield case.fault(
                        three_witnesses, f"has a network that differs from its {name} on {what}", told(rows)
                    )


def gradients(case: EnvironmentCase) -> Iterator[Fault]:
    """The network's gradients are those of the interpreted wires, exactly, for every output; of attention, to rounding.

    Everything sits on kinks here: equal outputs say little about what a method sees.
    """
    if not case.designed:
        return
    network, wires = case.environment.network(SEED), case.environment.wires(SEED)
    x, bound = case.sample(FEW).x, getattr(case.environment, "bound", 0.0)
    for output in range(network(x).shape[1]):
        left, right = (_gradient(function, x, output) for function in (network, wires))
        same = partial(torch.allclose, rtol=1e-5, atol=bound) if bound else same_bits
        if rows := [row for row in range(len(x)) if not same(left[row], right[row])]:
            yield case.fault(
                gradients, f"has other gradients in its network than in its wires, output {output}", told(rows)
            )


def changed(x: Tensor) -> dict[str, Tensor]:
    """Samples after what methods and metrics do to them: features gone, dim, off by a little, or of another sample.

    All on a binary grid, and no count grows much: designed networks are exact up to their largest count.
    """
    stream = generator("check", "changed")
    feature = (1, *x.shape[2:]) if x.dim() == 4 else (x.shape[1], 1)  # a pixel is its channels, a token its word
    keep = torch.rand(len(x), *feature, generator=stream) < 0.5
    little = torch.randint(0, 9, x.shape, generator=stream) / 16
    return {
        "samples half of whose features are gone": x * keep,
        "samples at half their brightness": x / 2,
        "samples with a little noise": (x - little).clamp(min=0),
        "mixtures of two samples": torch.where(keep, x, x.flip(0)),
    }


def _derivations(case: EnvironmentCase) -> dict[str, Function]:
    environment = case.environment
    return {"program": lambda x: environment.program(x, SEED), "wires": environment.wires(SEED)}


def _texts(points: Tensor) -> bool:
    """True where every token is one word, or blank."""
    words = (points == 1).sum(dim=2) == 1
    return bool((words | (points == 0).all(dim=2)).all()) and bool(((points == 0) | (points == 1)).all())


def _apart(left: Tensor, right: Tensor, tolerance: float, bound: float) -> list[int]:
    close = torch.isclose(left, right, rtol=tolerance, atol=bound)
    return (~close.all(dim=1)).nonzero().flatten().tolist()


def _gradient(function: Function, x: Tensor, output: int) -> Tensor:
    point = x.clone().requires_grad_()
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(function(point)[:, output].sum(), point)
    return gradient
