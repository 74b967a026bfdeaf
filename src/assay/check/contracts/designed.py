"""Contracts of networks with hand-set weights: right answers, and three derivations that compute the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor

from assay.check.contracts.environment_case import FEW_INDICES, MANY_INDICES, SEED, EnvironmentCase
from assay.check.contracts.fault import Fault
from assay.check.instruments.compare import listed_samples, same_bits
from assay.core.rng import generator

WITNESS_SAMPLES = tuple(range(64))
ROUNDING = 1e-6  # relative, of non-uniform accumulators on numbers that are not whole
Function = Callable[[Tensor], Tensor]


def accuracy(case: EnvironmentCase) -> Iterator[Fault]:
    """A designed network classifies every sample correctly; a trained one does better than guessing."""
    samples = case.sample(MANY_INDICES)
    with torch.no_grad():
        answers = case.setting.model(samples.x)
    if hasattr(case.environment, "remainder"):  # its network outputs the remainder of a count, not class scores
        right = answers[:, 0] == case.environment.remainder(samples)
    elif answers.shape[1] > 1:
        right = answers.argmax(dim=1) == samples.label
    else:
        return
    if case.designed and not bool(right.all()):
        yield case.fault(accuracy, "is designed and wrong", listed_samples((~right).nonzero().flatten().tolist()))
    elif right.float().mean() <= samples.label.bincount().max() / len(MANY_INDICES) and not case.designed:
        yield case.fault(
            accuracy, f"is right about {int(right.sum())} of {len(MANY_INDICES)} samples: no better than a guess"
        )


def three_witnesses(case: EnvironmentCase) -> Iterator[Fault]:
    """Program, wires and network compute the same function.

    Bit for bit on the environment's own samples. On perturbed ones, where redundant channels become active, bit for bit
    with uniform accumulators and to a relative 1e-6 with others. Attention is exact to the environment's ``bound``; its
    program is defined on texts, so that on other points only network and wires are compared.
    """
    if not case.designed:
        return
    network, derivations = case.environment.network(SEED), _derivations(case)
    x, bound = case.sample(WITNESS_SAMPLES).x, getattr(case.environment, "bound", 0.0)
    for what, points in {"its own samples": x, **perturbed(x)}.items():
        exact = points is x or bool(getattr(case.environment, "uniform", False))
        with torch.no_grad():
            answer = network(points)
            for name, derivation in derivations.items():
                if name == "program" and bound and not _are_texts(points):
                    continue
                rows = _differing_rows(answer, derivation(points), 0.0 if exact else ROUNDING, bound)
                if rows:
                    yield case.fault(
                        three_witnesses, f"has a network that differs from its {name} on {what}", listed_samples(rows)
                    )


def gradients(case: EnvironmentCase) -> Iterator[Fault]:
    """Network and interpreted wires have the same gradients of every output: exactly; with attention, to rounding.

    Samples lie on kinks of the network, so that equal outputs do not imply equal gradients.
    """
    if not case.designed:
        return
    network, wires = case.environment.network(SEED), case.environment.wires(SEED)
    x, bound = case.sample(FEW_INDICES).x, getattr(case.environment, "bound", 0.0)
    for output in range(network(x).shape[1]):
        left, right = (_gradient(function, x, output) for function in (network, wires))
        same = partial(torch.allclose, rtol=1e-5, atol=bound) if bound else same_bits
        if rows := [row for row in range(len(x)) if not same(left[row], right[row])]:
            yield case.fault(
                gradients,
                f"has other gradients in its network than in its wires, output {output}",
                listed_samples(rows),
            )


def perturbed(x: Tensor) -> dict[str, Tensor]:
    """Samples as methods and metrics change them: features removed, dimmed, noisy, or taken from another sample.

    All values are on a binary grid and counts hardly grow: designed networks are exact up to their largest count.
    """
    stream = generator("check", "changed")
    feature = (1, *x.shape[2:]) if x.dim() == 4 else (x.shape[1], 1)  # a pixel is its channels, a token its word
    keep = torch.rand(len(x), *feature, generator=stream) < 0.5
    noise = torch.randint(0, 9, x.shape, generator=stream) / 16
    return {
        "samples half of whose features are gone": x * keep,
        "samples at half their brightness": x / 2,
        "samples with a little noise": (x - noise).clamp(min=0),
        "mixtures of two samples": torch.where(keep, x, x.flip(0)),
    }


def _derivations(case: EnvironmentCase) -> dict[str, Function]:
    environment = case.environment
    return {"program": lambda x: environment.program(x, SEED), "wires": environment.wires(SEED)}


def _are_texts(points: Tensor) -> bool:
    """True if every token is one word or blank."""
    words = (points == 1).sum(dim=2) == 1
    return bool((words | (points == 0).all(dim=2)).all()) and bool(((points == 0) | (points == 1)).all())


def _differing_rows(left: Tensor, right: Tensor, tolerance: float, bound: float) -> list[int]:
    close = torch.isclose(left, right, rtol=tolerance, atol=bound)
    return (~close.all(dim=1)).nonzero().flatten().tolist()


def _gradient(function: Function, x: Tensor, output: int) -> Tensor:
    point = x.clone().requires_grad_()
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(function(point)[:, output].sum(), point)
    return gradient
