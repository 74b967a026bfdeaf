"""Sites: tiny environments in which methods and metrics are tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from assay.catalogue.registry import catalogue
from assay.core.footprint import footprint
from assay.core.protocols import Environment, Trained
from assay.core.rng import global_streams_restored
from assay.core.setting import Samples, Setting, model_copy
from assay.foreign.imports import load

POOL = 72  # samples of a site: more than the 64 rows of the largest model call that is tried

# Properties that the tiny instances do not have: another accumulator, no redundant channels, a faster forward pass,
# models without gradients, words that negate others, maxima between convolutions, transformers, nonlinear rules,
# correlated columns, linear models of images and of several classes.
VARIANTS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "cifar": ({"network": "vgg11_bn"}, {"network": "vit2", "width": 16}),
    "color_count": ({"uniform": True}, {"unseen": False}, {"forward": "program"}),
    "linear": (
        {"weights": "ones"},
        {"weights": "tenths"},
        {"weights": "whole", "shape": (3, 2, 4), "bias": 3.0, "losers": True, "per_pixel": True},
        {"shape": (3, 12, 12), "pictures": True, "classes": 4, "read": 0.5},
    ),
    "pixel_count": ({"uniform": True},),
    "pixel_modulo": ({"uniform": True},),
    "tabular_rule": (
        {"model": "forest"},
        {"model": "boosted"},
        {"model": "attention"},
        {"task": "sparse", "informative": None},
        {"task": "interaction", "informative": None},
        {"correlation": 0.5},
    ),
    "token_count": ({"negation": True},),
}

# Sites besides the tiny instances: models without gradients, siblings (in_domain), two classes (public_table).
EXTRA_SITES: Mapping[str, tuple[str, ...]] = {
    "methods": ("tabular_rule(model='forest')", "tabular_rule(model='boosted')"),
    "metrics": ("color_count(unseen=False)", "tabular_rule(model='forest')", "in_domain", "public_table"),
}
PART_SITES = ("two_objects",)  # with named parts of inputs; only metrics that need these are tried there
# To methods the same as another site: a table and a network like those of tabular_rule, images and one like cifar's.
# On linear models, metrics are tried with exact maps (``check/linear``).
SIMILAR = ("image_folder", "linear", "public_table", "spurious_retrain", "two_objects", "watermark")


@dataclass(frozen=True, eq=False)
class Site:
    """An environment's setting (with its model) and a pool of samples."""

    name: str
    setting: Setting
    pool: Samples

    @classmethod
    def of(cls, name: str, environment: Environment, seed: int = 0) -> Site:
        with global_streams_restored():
            weights = environment.train(seed) if isinstance(environment, Trained) else {}
            return cls(name, environment.setting(seed, weights), environment.sample(range(POOL), seed))

    def rows(self, indices: Sequence[int]) -> Samples:
        """Copies of some of the samples."""
        index = list(indices)
        truth = None if self.pool.truth is None else self.pool.truth.each(lambda effect: effect[index])
        return Samples(self.pool.x[index], self.pool.label[index], truth, tuple(index))

    def fresh(self) -> Site:
        """The same site with a copy of the model, whose footprint is measured once for all copies."""
        footprint(self.setting.model, self.pool.x[:1])
        return replace(self, setting=replace(self.setting, model=model_copy(self.setting.model)))

    def precise(self) -> Site:
        """The same site in float64."""
        double = ("cpu", torch.float64)
        return replace(self, setting=self.setting.to(*double), pool=self.pool.to(*double))

    def opaque(self) -> Site:
        """The same site whose model gives no gradients."""
        model = Opaque(self.setting.model)
        return replace(self, setting=replace(self.setting, model=model, differentiable=False, hints={}))


class Opaque(nn.Module):
    """A model that gives answers only, without gradients or layers, like an estimator or a remote service."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._hidden = (model,)  # in a tuple, so that it is not a submodule
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = self._hidden[0](x.detach())
        return answer.detach()


def environments() -> dict[str, Any]:
    """The tiny instance of every environment and its variants, by name."""
    instances: dict[str, Any] = {}
    for name, card in catalogue("environments").items():
        instances[name] = tiny = load(card.target).tiny()
        for params in VARIANTS.get(name, ()):
            text = ", ".join(f"{key}={value!r}" for key, value in params.items())
            instances[f"{name}({text})"] = replace(tiny, **params)
    return instances


def sites(kind: str, needs: Sequence[str] = ()) -> tuple[str, ...]:
    """The names of the sites where methods, or metrics with these needs, are tried: every tiny instance and more.

    Environments that wrap others and ``SIMILAR`` ones are left out: to methods they are nothing new.
    Networks trained on images come last: stored reference numbers are of the first site that applies, and these depend
    on the processor most.
    """
    cards = catalogue("environments").items()
    unwrapped = [name for name, card in cards if ("wraps", True) not in card.facts and name not in SIMILAR]
    trained_on_images = _trained_on_images()
    others = [name for name in unwrapped if name not in trained_on_images]
    extra = (*EXTRA_SITES[kind], *(PART_SITES if "parts" in needs else ()))
    return (*others, *(name for name in trained_on_images if name in unwrapped), *extra)


@lru_cache(maxsize=16)
def site(name: str) -> Site:
    """The site of this name, cached.

    Networks trained on images answer in float64: in float32, another batch size changes their last bits, and thereby
    correlations of small drops by more than contracts allow.
    """
    float32 = Site.of(name, environments()[name])
    return float32.precise() if name.partition("(")[0] in _trained_on_images() else float32


def _trained_on_images() -> list[str]:
    cards = catalogue("environments").items()
    return [name for name, card in cards if "train" in card.calls and ("modality", "image") in card.facts]
