"""An environment, set up for its contracts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from torch import Tensor

from assay.check.contracts.fault import Fault
from assay.core.setting import Samples, Setting

SEED = 0
FEW_INDICES = tuple(range(8))
MANY_INDICES = tuple(range(40))


@dataclass(frozen=True, eq=False)
class EnvironmentCase:
    """An environment whose weights are trained once per seed."""

    name: str
    environment: Any
    _weights: dict[int, Mapping[str, Tensor]] = field(default_factory=dict)

    def fresh(self) -> EnvironmentCase:
        return EnvironmentCase(self.name, self.environment, self._weights)  # a new setting, with copies of the weights

    def fault(self, contract: Callable[..., object], message: str, witness: str = "") -> Fault:
        return Fault(contract.__name__, self.name, message, witness)

    @property
    def trained(self) -> bool:
        return hasattr(self.environment, "train")

    @property
    def designed(self) -> bool:
        """True where the environment has a program, wires and a network, which must compute the same."""
        return all(hasattr(self.environment, name) for name in ("program", "wires", "network"))

    def weights(self, seed: int = SEED) -> Mapping[str, Tensor]:
        if seed not in self._weights:
            self._weights[seed] = self.environment.train(seed) if self.trained else {}
        return {name: tensor.clone() for name, tensor in self._weights[seed].items()}

    @cached_property
    def setting(self) -> Setting:
        setting: Setting = self.environment.setting(SEED, self.weights())
        return setting

    def sample(self, indices: Sequence[int], seed: int = SEED) -> Samples:
        samples: Samples = self.environment.sample(indices, seed)
        return samples


def tensors(samples: Samples) -> dict[str, Tensor]:
    """The tensors of samples by name: x, label and, if known, truth."""
    truth = {} if samples.truth is None else {"truth": samples.truth.effect}
    return {"x": samples.x, "label": samples.label, **truth}
