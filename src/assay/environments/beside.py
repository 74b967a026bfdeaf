"""Two models for the same samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from assay.catalogue.registry import card
from assay.core.errors import SpecError
from assay.core.facts import draws_model
from assay.core.protocols import Environment
from assay.core.setting import Samples, Setting
from assay.environments._inside import of_part, prefixed, trained
from assay.foreign.imports import load
from assay.train.networks import Standardise, standardised

COMPARED = range(4)  # samples by which two environments are compared


@dataclass(frozen=True)
class Beside:
    """An environment with the model of another one as its sibling, for metrics that compare unrelated models.

    Everything but the sibling is the first environment's. Both must have the same samples and labels, up to units of
    colour: if the second network reads other units (networks published for CIFAR do), a fixed layer before it converts
    them. Both models are trained with the same seed.
    """

    modality: ClassVar[str] = "image"
    wraps: ClassVar[bool] = True

    of: Environment  # the environment
    other: Environment  # the environment whose model is the sibling

    @classmethod
    def tiny(cls) -> Beside:
        small = load(card("environments", "cifar").target).tiny()
        return cls(replace(small, epochs=3), replace(small, epochs=1, network="vgg11_bn"))

    @property
    def draws_model(self) -> bool:
        """True if the seed draws one of the two models."""
        return draws_model(self.of) or draws_model(self.other)

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        return self.of.sample(indices, seed)

    def train(self, seed: int) -> dict[str, Tensor]:
        weights = {**prefixed("of", trained(self.of, seed)), **prefixed("other", trained(self.other, seed))}
        self.setting(seed, weights)  # raises SpecError now if the two do not fit
        return weights

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        first, second = (
            environment.setting(seed, of_part(part, weights))
            for part, environment in (("of", self.of), ("other", self.other))
        )
        self._check_comparable(first, second)
        samples, other_samples = (environment.sample(COMPARED, seed) for environment in (self.of, self.other))
        if not torch.equal(samples.label, other_samples.label):
            raise SpecError("beside: the two environments label the same samples differently.")
        sibling, prefix = in_units_of(samples.x, other_samples.x, second.model)
        with torch.no_grad():
            widths = [model(samples.x[:1]).shape[-1] for model in (first.model, sibling)]
        if widths[0] != widths[1]:
            raise SpecError(f"beside: {widths[0]} and {widths[1]} outputs cannot be compared.")
        hints = {name: second.hints.get(name, "") for name in (*first.hints, *second.hints)}
        sibling_hints = {f"sibling.{name}": f"{prefix}{hint}" if hint else "" for name, hint in hints.items()}
        return replace(first, sibling=sibling, hints={**first.hints, **sibling_hints})

    def _check_comparable(self, first: Setting, second: Setting) -> None:
        shapes = [setting.features.entries for setting in (first, second)]
        if shapes[0] != shapes[1]:
            raise SpecError(f"beside: inputs of shape {shapes[0]} and {shapes[1]} are not the same samples.")
        classes = [setting.classes for setting in (first, second)]
        if classes[0] != classes[1] or first.outputs != second.outputs:
            raise SpecError(
                f"beside: one model answers with {first.outputs} of {len(classes[0])} classes, the other with "
                f"{second.outputs} of {len(classes[1])}: they cannot be compared."
            )


TOLERANCE = 1e-4  # of the largest entry: float32 error of a change of units


def in_units_of(x: Tensor, other: Tensor, model: nn.Module) -> tuple[nn.Module, str]:
    """Make a model that reads images like ``other`` read images like ``x``; also returns the prefix of layer names.

    Both (N, C, H, W) are the same images. A factor and a shift per channel are computed from them.
    """
    if torch.equal(x, other):
        return model, ""
    if x.dim() != 4 or x.shape != other.shape:
        raise SpecError(_DIFFERENT_SAMPLES)
    ours, theirs = (images.double().transpose(0, 1).flatten(1) for images in (x, other))  # (C, entries)
    factor = ours.std(dim=1, correction=0) / theirs.std(dim=1, correction=0)
    shift = ours.mean(dim=1) - factor * theirs.mean(dim=1)
    converted = (ours - shift[:, None]) / factor[:, None]
    if not bool((converted - theirs).abs().amax() <= TOLERANCE * theirs.abs().amax()):
        raise SpecError(_DIFFERENT_SAMPLES)
    units = Standardise(*(numbers.to(x.dtype).view(-1, 1, 1) for numbers in (shift, factor)))
    return standardised(units, model).eval(), "network."


_DIFFERENT_SAMPLES = "beside: the two environments have different samples. A sibling must have the same ones."
