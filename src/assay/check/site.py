"""Sites: tiny environments, set up, where methods and metrics are tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from assay.core.foreign import load
from assay.core.protocols import Environment, Trained
from assay.core.registry import catalogue
from assay.core.rng import lent
from assay.core.setting import Samples, Setting, model_copy

POOL = 72  # samples at hand: more than the 64 rows of the largest model call that is tried

# What a tiny instance alone does not show: another accumulator, no redundant channels, a faster forward pass, a model
# without gradients, words that turn others, maxima between convolutions, a vision transformer.
VARIANTS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "cifar": ({"network": "vgg11_bn"}, {"network": "vit2", "width": 16}),
    "color_count": ({"uniform": True}, {"unseen": False}, {"forward": "program"}),
    "pixel_count": ({"uniform": True},),
    "pixel_modulo": ({"uniform": True},),
    "tabular_rule": ({"model": "forest"},),
    "token_count": ({"negation": True},),
}

# Variants that show a method or a metric something that the tiny instances do not.
TELLING: Mapping[str, tuple[str, ...]] = {
    "methods": ("tabular_rule(model='forest')",),
    "metrics": ("color_count(unseen=False)", "tabular_rule(model='forest')", "in_domain"),
}


@dataclass(frozen=True, eq=False)
class Site:
    """A model, its surroundings and some samples."""

    name: str
    setting: Setting
    pool: Samples

    @classmethod
    def of(cls, name: str, environment: Environment, seed: int = 0) -> Site:
        with lent():
            weights = environment.train(seed) if isinstance(environment, Trained) else {}
            return cls(name, environment.setting(seed, weights), environment.sample(range(POOL), seed))

    def rows(self, indices: Sequence[int]) -> Samples:
        """Some of the samples, copied."""
        index = list(indices)
        truth = None if self.pool.truth is None else self.pool.truth.each(lambda effect: effect[index])
        return Samples(self.pool.x[index], self.pool.label[index], truth, tuple(index))

    def fresh(self) -> Site:
        """A site whose model nobody else has."""
        return replace(self, setting=replace(self.setting, model=model_copy(self.setting.model)))

    def precise(self) -> Site:
        """The same in float64."""
        wide = ("cpu", torch.float64)
        return replace(self, setting=self.setting.to(*wide), pool=self.pool.to(*wide))

    def opaque(self) -> Site:
        """The same model without gradients."""
        model = Opaque(self.setting.model)
        return replace(self, setting=replace(self.setting, model=model, differentiable=False, hints={}))


class Opaque(nn.Module):
    """A model that shows its answers only: no gradients, no layers, as an estimator or a remote service."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._hidden = (model,)  # in a tuple, so that it is not a submodule
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = self._hidden[0](x.detach())
        return answer.detach()


def environments() -> dict[str, Any]:
    """The tiny instance of every environment and its variants, by name."""
    found: dict[str, Any] = {}
    for name, card in catalogue("environments").items():
        found[name] = tiny = load(card.target).tiny()
        for changes in VARIANTS.get(name, ()):
            told = ", ".join(f"{key}={value!r}" for key, value in changes.items())
            found[f"{name}({told})"] = replace(tiny, **changes)
    return found


def sites(kind: str) -> tuple[str, ...]:
    """Where methods or metrics are tried: every tiny instance, and the variants that show them something else.

    Environments around others are none of their own: they show a method nothing new, and metrics only a sibling.
    Networks trained on images come last: kept numbers are of the first site that fits, and theirs depend on the
    processor most.
    """
    own = [name for name, card in catalogue("environments").items() if ("wraps", True) not in card.facts]
    late = _trained_on_images()
    early = [name for name in own if name not in late]
    return (*early, *(name for name in late if name in own), *TELLING[kind])


@lru_cache(maxsize=16)
def site(name: str) -> Site:
    """The site of this name, set up once.

    Networks trained on images answer in float64: in float32, another batch size changes their last bits so that
    correlations of small drops differ by more than contracts allow.
    """
    made = Site.of(name, environments()[name])
    return made.precise() if name.partition("(")[0] in _trained_on_images() else made


def _trained_on_images() -> list[str]:
    cards = catalogue("environments").items()
    return [name for name, card in cards if "train" in card.calls and ("modality", "image") in card.facts]
