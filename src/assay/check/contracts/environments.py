"""What every environment promises."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from assay.check.contracts.designed import accuracy, gradients, three_witnesses
from assay.check.contracts.environment_case import FEW_INDICES, MANY_INDICES, SEED, EnvironmentCase, tensors
from assay.check.contracts.fault import Fault
from assay.check.contracts.propositions import sensitivity, symmetry
from assay.check.instruments.compare import same_bits
from assay.check.instruments.process_state import reseeded


def sample_independent(case: EnvironmentCase) -> Iterator[Fault]:
    """Sample i depends only on the environment, the seed and i: not on the other samples of a block or their order."""
    block = tensors(case.sample(FEW_INDICES))
    other_block = tensors(case.sample([90, *reversed(FEW_INDICES), 50]))
    for name, rows in block.items():
        alone = torch.cat([tensors(case.sample([index]))[name] for index in FEW_INDICES])
        for context, tensor in (("alone", alone), ("in another block", other_block[name][1:-1].flip(0))):
            if not same_bits(rows, tensor):
                yield case.fault(sample_independent, f"gave another {name} for samples {context}")


def deterministic(case: EnvironmentCase) -> Iterator[Fault]:
    """Samples, weights and model answers are the same every time: a key stands for what would be computed again."""
    first, second = (tensors(case.sample(FEW_INDICES)) for _ in range(2))
    for name, tensor in first.items():
        if not same_bits(tensor, second[name]):
            yield case.fault(deterministic, f"gave another {name} the second time")
    again = EnvironmentCase(case.name, case.environment)
    weights = again.weights()
    for name, tensor in case.weights().items():
        if not same_bits(tensor, weights[name]):
            yield case.fault(deterministic, f"trained other weights the second time: {name}")
    left, right = (_model_answers(instance, FEW_INDICES) for instance in (case, again))
    if not same_bits(left, right):
        yield case.fault(deterministic, "made a model that answers differently the second time")


def _model_answers(case: EnvironmentCase, indices: tuple[int, ...]) -> torch.Tensor:
    with torch.no_grad():
        answers: torch.Tensor = case.setting.model(case.sample(indices).x)
    return answers


def eval_mode(case: EnvironmentCase) -> Iterator[Fault]:
    """Every module is in evaluation mode: no dropout, no batch statistics."""
    for name, module in case.setting.model.named_modules():
        if module.training:
            yield case.fault(eval_mode, "left a module in training mode", name or "model")


def frozen(case: EnvironmentCase) -> Iterator[Fault]:
    """No weight requires a gradient: attributions are about inputs, and a graph over weights costs memory."""
    for name, parameter in case.setting.model.named_parameters():
        if parameter.requires_grad:
            yield case.fault(frozen, "left a weight that asks for gradients", name)


def shortcut(case: EnvironmentCase) -> Iterator[Fault]:
    """The faster forward pass, if there is one, equals the model: on samples, dim samples and a blank canvas."""
    forward = case.setting.forward
    if forward is None:
        return
    x = case.sample(MANY_INDICES).x
    with torch.no_grad():
        for name, points in (("samples", x), ("a blank canvas", torch.zeros_like(x[:1])), ("dim samples", x / 2)):
            if not torch.allclose(forward(points), case.setting.model(points), rtol=1e-6):
                yield case.fault(shortcut, f"has a faster forward pass that differs from the model on {name}")


def seeds_matter(case: EnvironmentCase) -> Iterator[Fault]:
    """Other seeds give other samples, so that repetitions are independent."""
    if same_bits(case.sample(FEW_INDICES, SEED).x, case.sample(FEW_INDICES, SEED + 1).x):
        yield case.fault(seeds_matter, f"gave the same samples for seeds {SEED} and {SEED + 1}")


def reference_disjoint(case: EnvironmentCase) -> Iterator[Fault]:
    """Evaluated rows are not among the reference rows, even for equal seeds: the model was not trained on them."""
    reference = case.setting.reference
    if reference is None:
        return
    reference_rows = {row.numpy().tobytes() for row in reference.x}
    if shared := [
        index for index, row in enumerate(case.sample(MANY_INDICES).x) if row.numpy().tobytes() in reference_rows
    ]:
        yield case.fault(
            reference_disjoint, f"evaluates {len(shared)} of {len(MANY_INDICES)} rows that are in its reference"
        )


def no_global_randomness(case: EnvironmentCase) -> Iterator[Fault]:
    """Samples, training and construction of the model depend on no global random stream.

    They may advance one, as the construction of every torch layer does: the caller restores it.
    """
    results = []
    for seed in (1, 2):
        instance = EnvironmentCase(case.name, case.environment)
        with reseeded(seed):
            results.append((instance.sample(FEW_INDICES).x, _model_answers(instance, FEW_INDICES)))
    for what, left, right in zip(("samples", "models"), *results, strict=True):
        if not torch.allclose(left, right, rtol=1e-5, equal_nan=True):
            yield case.fault(no_global_randomness, f"made other {what} under another global seed")


def truth_shape(case: EnvironmentCase) -> Iterator[Fault]:
    """Samples have the shape of the setting's features; the truth has one finite number per feature."""
    samples, features = case.sample(FEW_INDICES), case.setting.features
    expected = {
        "x": (len(FEW_INDICES), *features.entries),
        "label": (len(FEW_INDICES),),
        "truth": (len(FEW_INDICES), *features.shape),
    }
    for name, tensor in tensors(samples).items():
        if tuple(tensor.shape) != expected[name]:
            yield case.fault(truth_shape, f"gave {name} of shape {tuple(tensor.shape)}, not {expected[name]}")
        elif not bool(tensor.isfinite().all()):
            yield case.fault(truth_shape, f"gave NaN or infinite values in {name}")
    if samples.indices != FEW_INDICES or samples.label.dtype != torch.long:
        yield case.fault(truth_shape, "gave labels that are not whole numbers, or other indices than were asked for")


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
