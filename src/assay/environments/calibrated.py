"""A model whose logits are divided by a temperature: the same decisions, another confidence (Guo et al., 2017)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from torch import Tensor, nn

from assay.catalogue.build import describe
from assay.catalogue.registry import card, stream_name
from assay.core.errors import SpecError
from assay.core.facts import draws_model
from assay.core.protocols import Environment
from assay.core.readout import Temperature
from assay.core.setting import Samples, Setting
from assay.environments._inside import trained
from assay.foreign.imports import load


@dataclass(frozen=True)
class Calibrated:
    """Another environment, with its model's logits divided by a temperature.

    Decisions stay, probabilities change, and logits scale; a power of two scales them and their gradients exactly.
    Everything else is the other environment's, also the random numbers of methods and metrics; its model is the
    sibling. True effects are those on the model before: its logits are ``temperature`` times as large.
    """

    paper: ClassVar[str] = "On Calibration of Modern Neural Networks (Guo et al., 2017), temperature scaling"
    modality: ClassVar[str] = "image"
    wraps: ClassVar[bool] = True

    of: Environment  # the environment
    temperature: float = 2.0  # what logits are divided by; above 1 the model is less confident

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise SpecError(f"calibrated: temperature={self.temperature} must be above 0.")

    @classmethod
    def tiny(cls) -> Calibrated:
        return cls(load(card("environments", "cifar").target).tiny())

    @property
    def draws_model(self) -> bool:
        """True if the seed draws the other environment's model."""
        return draws_model(self.of)

    @property
    def stream_name(self) -> str:
        """The other environment's: maps at two temperatures differ by the temperature alone."""
        own = getattr(self.of, "stream_name", "")
        return str(own) or stream_name("environments", describe(self.of))

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        return self.of.sample(indices, seed)

    def train(self, seed: int) -> dict[str, Tensor]:
        return trained(self.of, seed)

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        before = self.of.setting(seed, weights)
        if before.outputs != "logits":
            raise SpecError("calibrated: a temperature needs a classifier that answers with logits.")
        divide, forward = Temperature(self.temperature).eval(), before.forward
        model = nn.Sequential(OrderedDict(network=before.model, divide=divide))
        model.training = False  # not model.eval(): that would reach into the sibling
        own = {name: hint for name, hint in before.hints.items() if not name.startswith("sibling.")}
        hints = {name: f"network.{hint}" if hint else "" for name, hint in own.items()}
        return replace(
            before,
            model=model,
            sibling=before.model,
            forward=None if forward is None else lambda x: divide(forward(x)),
            recipe=None,  # it makes models without a temperature
            hints={**hints, **{f"sibling.{name}": hint for name, hint in own.items()}},
        )
