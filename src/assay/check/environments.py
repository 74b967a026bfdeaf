"""What every environment promises."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from assay.check.compare import same_bits
from assay.check.designed import accuracy, gradients, three_witnesses
from assay.check.environment_case import FEW, MANY, SEED, EnvironmentCase, tensors
from assay.check.fault import Fault
from assay.check.propositions import sensitivity, symmetry
from assay.check.surroundings import reseeded


def sample_independent(case: EnvironmentCase) -> Iterator[Fault]:
    """Sample i depends on the environment, the seed and i only: the same alone, in another order, among strangers."""
    block = tensors(case.sample(FEW))
    among = tensors(case.sample([90, *reversed(FEW), 50]))
    for name, rows in block.items():
        alone = torch.cat([tensors(case.sample([index]))[name] for index in FEW])
        for company, found in (("alone", alone), ("in another block", among[name][1:-1].flip(0))):
            if not same_bits(rows, found):
                yield case.fault(sample_independent, f"gave another {name} for samples {company}")


def deterministic(case: EnvironmentCase) -> Iterator[Fault]:
    """The same samples, weights and model answers every time: a key stands for what would be made again."""
    first, second = (tensors(case.sample(FEW)) for _ in range(2))
    for name, tensor in first.items():
        if not same_bits(tensor, second[name]):
            yield case.fault(deterministic, f"gave another {name} the second time")
    again = EnvironmentCase(case.name, case.environment)
    weights = again.weights()
    for name, tensor in case.weights().items():
        if not same_bits(tensor, weights[name]):
            yield case.fault(deterministic, f"trained other weights the second time: {name}")
    left, right = (_answers(one, FEW) for one in (case, again))
    if not same_bits(left, right):
        yield case.fault(deterministic, "made a model that answers differently the second time")


def _answers(case: EnvironmentCase, indices: tuple[int, ...]) -> torch.Tensor:
    with torch.no_grad():
        answers: torch.Tensor = case.setting.model(case.sample(indices).x)
    return answers


def eval_mode(case: EnvironmentCase) -> Iterator[Fault]:
    """Every module is in evaluation mode: no dropout, no batch statistics."""
    for name, module in case.setting.model.named_modules():
        if module.training:
            yield case.fault(eval_mode, "left a module in training mode", name or "model")


def frozen(case: EnvironmentCase) -> Iterator[Fault]:
    """No weight asks for a gradient: attributions are about inputs, and a graph over weights costs memory."""
    for name, parameter in case.setting.model.named_parameters():
        if parameter.requires_grad:
            yield case.fault(frozen, "left a weight that asks for gradients", name)


def shortcut(case: EnvironmentCase) -> Iterator[Fault]:
    """The faster forward pass, where there is one, is the model's: on samples and on a blank canvas."""
    forward = case.setting.forward
    if forward is None:
        return
    x = case.sample(MANY).x
    with torch.no_grad():
        for name, points in (("samples", x), ("a blank canvas", torch.zeros_like(x[:1])), ("dim samples", x / 2)):
            if not torch.allclose(forward(points), case.setting.model(points), rtol=1e-6):
                yield case.fault(shortcut, f"has a faster forward pass that differs from the model on {name}")


def seeds_matter(case: EnvironmentCase) -> Iterator[Fault]:
    """Other seeds give other samples: repetitions are repetitions."""
    if same_bits(case.sample(FEW, SEED).x, case.sample(FEW, SEED + 1).x):
        yield case.fault(seeds_matter, f"gave the same samples for seeds {SEED} and {SEED + 1}")


def reference_disjoint(case: EnvironmentCase) -> Iterator[Fault]:
    """Evaluated rows are not among the reference rows, also for equal seeds: what is judged was not seen."""
    reference = case.setting.reference
    if reference is None:
        return
    known = {row.numpy().tobytes() for row in reference.x}
    if shared := [index for index, row in enumerate(case.sample(MANY).x) if row.numpy().tobytes() in known]:
        yield case.fault(reference_disjoint, f"evaluates {len(shared)} of {len(MANY)} rows that are in its reference")


def no_global_randomness(case: EnvironmentCase) -> Iterator[Fault]:
    """Samples, training and the model's making depend on no global random stream.

    They may move one, as every layer of torch does when it is made: who calls them puts it back.
    """
    found = []
    for seed in (1, 2):
        one = EnvironmentCase(case.name, case.environment)
        with reseeded(seed):
            found.append((one.sample(FEW).x, _answers(one, FEW)))
    for what, left, right in zip(("samples", "models"), *found, strict=True):
        if not torch.allclose(left, right, rtol=1e-5, equal_nan=True):
            yield case.fault(no_global_randomness, f"made other {what} under another global seed")


def truth_shape(case: EnvironmentCase) -> Iterator[Fault]:
    """Samples have the shapes that their features state, and the truth one finite number per feature."""
    samples, features = case.sample(FEW), case.setting.features
    expected = {"x": (len(FEW), *features.entries), "label": (len(FEW),), "truth": (len(FEW), *features.shape)}
    for name, tensor in tensors(samples).items():
        if tuple(tensor.shape) != expected[name]:
            yield case.fault(truth_shape, f"gave {name} of shape {tuple(tensor.shape)}, not {expected[name]}")
        elif not bool(tensor.isfinite().all()):
            yield case.fault(truth_shape, f"gave NaN or infinite values in {name}")
    if samples.indices != FEW or samples.label.dtype != torch.long:
        yield case.fault(truth_shape, "gave labels that are no whole numbers, or other indices than it was asked for")


CONTRACTS = (
    sample_independent,
    deterministic,
    eval_mode,
    frozen,
    accuracy,
    three_witnesses,
    gradients,
    sensitivity,
    symmetry,
    shortcut,
    seeds_matter,
    reference_disjoint,
    no_global_randomness,
    truth_shape,
)
