"""An environment, set up for its contracts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from torch import Tensor

from assay.check.fault import Fault
from assay.core.setting import Samples, Setting

SEED = 0
FEW = tuple(range(8))
MANY = tuple(range(40))


@dataclass(frozen=True, eq=False)
class EnvironmentCase:
    """An environment, its model's weights made once."""

    name: str
    environment: Any
    _kept: dict[int, Mapping[str, Tensor]] = field(default_factory=dict)

    def fresh(self) -> EnvironmentCase:
        return EnvironmentCase(self.name, self.environment, self._kept)  # settings are made anew, weights copied

    def fault(self, contract: Callable[..., object], message: str, witness: str = "") -> Fault:
        return Fault(contract.__name__, self.name, message, witness)

    @property
    def trained(self) -> bool:
        return hasattr(self.environment, "train")

    @property
    def designed(self) -> bool:
        """True where a program, its wires and a network claim to be the same."""
        return all(hasattr(self.environment, name) for name in ("program", "wires", "network"))

    def weights(self, seed: int = SEED) -> Mapping[str, Tensor]:
        if seed not in self._kept:
            self._kept[seed] = self.environment.train(seed) if self.trained else {}
        return {name: tensor.clone() for name, tensor in self._kept[seed].items()}

    @cached_property
    def setting(self) -> Setting:
        made: Setting = self.environment.setting(SEED, self.weights())
        return made

    def sample(self, indices: Sequence[int], seed: int = SEED) -> Samples:
        made: Samples = self.environment.sample(indices, seed)
        return made


def tensors(samples: Samples) -> dict[str, Tensor]:
    """What samples consist of, by name."""
    truth = {} if samples.truth is None else {"truth": samples.truth.effect}
    return {"x": samples.x, "label": samples.label, **truth}
