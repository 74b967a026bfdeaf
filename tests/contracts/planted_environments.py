"""Wrong environments: each is a real one with one error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from assay.core.setting import Reference, Samples, Setting, Truth
from assay.environments.color_count import ColorCount
from assay.environments.pixel_modulo import PixelModulo
from assay.environments.tabular_rule import TabularRule

CALLS = count()
# Pixels of one colour: occurs in the 64 samples of ``three_witnesses``, but is no count, nor next to one, of the sample
# that ``sensitivity`` and ``symmetry`` change.
ODD_COUNT = 23


class FunctionModel(nn.Module):
    """A function as a model in evaluation mode."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def _with_effect(samples: Samples, effect: Tensor) -> Samples:
    return replace(samples, truth=Truth(effect))


# sample_independent


class MirroredByPosition(PixelModulo):
    """Every second image of a block is mirrored."""

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        samples = super().sample(indices, seed)
        odd = torch.arange(len(indices)) % 2 == 1
        x = torch.where(odd[:, None, None, None], samples.x.flip(-1), samples.x)
        effect = torch.where(odd[:, None, None], samples.truth.effect.flip(-1), samples.truth.effect)
        return replace(samples, x=x, truth=Truth(effect))


# deterministic


class DriftingModel(ColorCount):
    """Every second model answers a little more."""

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        setting = super().setting(seed, weights)
        extra = 1e-5 * (next(CALLS) % 2)
        return replace(setting, model=FunctionModel(lambda x: setting.model(x) + extra))


# eval_mode, frozen


class InTrainingMode(PixelModulo):
    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        setting = super().setting(seed, weights)
        setting.model.train()
        return setting


class Thawed(PixelModulo):
    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        setting = super().setting(seed, weights)
        setting.model.requires_grad_()
        return setting


# accuracy


class Mislabelled(ColorCount):
    """Sample 7 carries the next label."""

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        samples = super().sample(indices, seed)
        wrong = torch.tensor([index == 7 for index in indices])
        return replace(samples, label=(samples.label + wrong) % len(self.colors))


class Untaught(TabularRule):
    """Trained on labels that have nothing to do with the rows."""

    def train(self, seed: int) -> dict[str, Tensor]:
        rows = self._training_rows(seed)
        return dict(self._trained(rows.x, (rows.label + 1) % self.classes, seed).state_dict())


# three_witnesses


class WrongAtOneCount(ColorCount):
    """The network adds one to a colour that has exactly ``ODD_COUNT`` pixels."""

    def network(self, seed: int) -> nn.Module:
        right = super().network(seed)
        return FunctionModel(lambda x: _one_more_at(right(x)))


def _one_more_at(counts: Tensor) -> Tensor:
    return counts + (counts == ODD_COUNT).to(counts)


# gradients


class TentByAbs(ColorCount):
    """The program, which computes the distance to a colour with ``abs``, as the network: equal outputs."""

    def network(self, seed: int) -> nn.Module:
        return FunctionModel(partial(self.program, seed=seed))


# sensitivity


class ClaimsTheCorner(PixelModulo):
    """The truth names a pixel of the background."""

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        samples = super().sample(indices, seed)
        effect = samples.truth.effect.clone()
        idle = (effect == 0).flatten(1).float().argmax(dim=1)
        effect.view(len(effect), -1)[torch.arange(len(effect)), idle] = 1.0
        return _with_effect(samples, effect)


# symmetry


class OnePixelCountsTwice(PixelModulo):
    """In the program, in the wires and in the network."""

    def program(self, x: Tensor, seed: int) -> Tensor:
        return super().program(x * self._weights, seed)

    def network(self, seed: int) -> nn.Module:
        network = super().network(seed)
        return FunctionModel(lambda x: network(x * self._weights))

    def wires(self, seed: int) -> Callable[[Tensor], Tensor]:
        wires = super().wires(seed)
        return lambda x: wires(x * self._weights)

    @property
    def _weights(self) -> Tensor:
        """2 at the first white pixel of sample 0."""
        white = super().sample([0], 0).x[0].flatten().argmax()
        return torch.ones(self.side**2).index_fill(0, white, 2.0).view(1, self.side, self.side)


# shortcut


class FasterButDifferent(ColorCount):
    """The faster forward pass lacks the redundant channels, which only unseen colours activate."""

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        return replace(super().setting(seed, weights), forward=partial(replace(self, unseen=False).program, seed=seed))


# seeds_matter


class OneSeed(PixelModulo):
    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        return super().sample(indices, 0)


# reference_disjoint


class SeenBefore(TabularRule):
    """Some evaluated rows are among the training rows."""

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        setting, seen = super().setting(seed, weights), self.sample(range(3), seed)
        x, label = (
            torch.cat(parts) for parts in ((setting.reference.x, seen.x), (setting.reference.label, seen.label))
        )
        return replace(setting, reference=Reference(x, label))


# no_global_randomness


class ScaledGlobally(ColorCount):
    """The stream is restored, but the model depends on it."""

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        setting = super().setting(seed, weights)
        with torch.random.fork_rng(devices=[]):
            scale = 1 + float(torch.rand(()))
        return replace(setting, model=FunctionModel(lambda x: scale * setting.model(x)))


# truth_shape


class TruthPerChannel(PixelModulo):
    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        samples = super().sample(indices, seed)
        return _with_effect(samples, samples.truth.effect[:, None])


def _tiny(*classes: Any) -> tuple[Any, ...]:
    return tuple(cls.tiny() for cls in classes)


ENVIRONMENTS: dict[str, tuple[Any, ...]] = {
    "sample_independent": _tiny(MirroredByPosition),
    "deterministic": _tiny(DriftingModel),
    "eval_mode": _tiny(InTrainingMode),
    "frozen": _tiny(Thawed),
    "accuracy": _tiny(Mislabelled, Untaught),
    "three_witnesses": _tiny(WrongAtOneCount),
    "gradients": _tiny(TentByAbs),
    "sensitivity": _tiny(ClaimsTheCorner),
    "symmetry": _tiny(OnePixelCountsTwice),
    "shortcut": _tiny(FasterButDifferent),
    "seeds_matter": _tiny(OneSeed),
    "reference_disjoint": _tiny(SeenBefore),
    "no_global_randomness": _tiny(ScaledGlobally),
    "truth_shape": _tiny(TruthPerChannel),
}


class MakesLayers(PixelModulo):
    """Right: layers are samples with random weights that are then replaced, and a seed is set before it is used."""

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        nn.Linear(2, 2)
        torch.manual_seed(seed)
        np.random.seed(seed)
        return super().setting(seed, weights)
