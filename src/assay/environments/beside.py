"""Two models for the same samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from assay.core.drawn import draws_model
from assay.core.errors import SpecError
from assay.core.foreign import load
from assay.core.protocols import Environment
from assay.core.registry import card
from assay.core.setting import Samples, Setting
from assay.environments._inside import named, of_part, trained
from assay.environments._units import in_units_of

FEW = range(4)  # samples by which two environments are compared


@dataclass(frozen=True)
class Beside:
    """An environment, with the model of another one as its sibling: for metrics between models that share no origin.

    Everything but the sibling is the first environment's. Both must have the same samples and labels, up to the units
    of colours: where the second network reads colours in other units (networks published for CIFAR do), a fixed layer
    before it changes them. Both models are trained with the same seed.
    """

    modality: ClassVar[str] = "image"
    wraps: ClassVar[bool] = True

    of: Environment  # the environment
    other: Environment  # the one whose model is the sibling

    @classmethod
    def tiny(cls) -> Beside:
        small = load(card("environments", "cifar").target).tiny()
        return cls(replace(small, epochs=3), replace(small, epochs=1, network="vgg11_bn"))

    @property
    def draws_model(self) -> bool:
        """Where the seed draws one of the two."""
        return draws_model(self.of) or draws_model(self.other)

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        return self.of.sample(indices, seed)

    def train(self, seed: int) -> dict[str, Tensor]:
        found = {**named("of", trained(self.of, seed)), **named("other", trained(self.other, seed))}
        self.setting(seed, found)  # says at once what does not fit
        return found

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        one, other = (
            environment.setting(seed, of_part(part, weights))
            for part, environment in (("of", self.of), ("other", self.other))
        )
        self._compare(one, other)
        here, there = (environment.sample(FEW, seed) for environment in (self.of, self.other))
        if not torch.equal(here.label, there.label):
            raise SpecError("beside: the two environments label the same samples differently.")
        sibling, before = in_units_of(here.x, there.x, other.model)
        with torch.no_grad():
            widths = [model(here.x[:1]).shape[-1] for model in (one.model, sibling)]
        if widths[0] != widths[1]:
            raise SpecError(f"beside: {widths[0]} and {widths[1]} outputs cannot be compared.")
        hints = {name: other.hints.get(name, "") for name in (*one.hints, *other.hints)}
        told = {f"sibling.{name}": f"{before}{hint}" if hint else "" for name, hint in hints.items()}
        return replace(one, sibling=sibling, hints={**one.hints, **told})

    def _compare(self, one: Setting, other: Setting) -> None:
        shapes = [setting.features.entries for setting in (one, other)]
        if shapes[0] != shapes[1]:
            raise SpecError(f"beside: inputs of shape {shapes[0]} and {shapes[1]} are not the same samples.")
        classes = [setting.classes for setting in (one, other)]
        if classes[0] != classes[1] or one.outputs != other.outputs:
            raise SpecError(
                f"beside: one model answers with {one.outputs} of {len(classes[0])} classes, the other with "
                f"{other.outputs} of {len(classes[1])}: they cannot be compared."
            )
