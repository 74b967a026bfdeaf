"""Whether the channels of two models respond to the same images (Hesse et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence, Score
from assay.core.setting import Setting
from assay.core.trial import Scene, Trial
from assay.kit.layers import find_layer, forward_hooks
from assay.kit.segments import rgb_pictures
from assay.kit.top_rows import shares_in_common, varying
from assay.metrics._rows import rows
from assay.metrics._sibling import sibling_scene

SIDE = 48  # pixels: pictures of samples are stored no larger


@dataclass(frozen=True)
class TopImages:
    """The share of a channel's most activating images that a model has in common with its sibling.

    For each channel of a layer, the ``k`` samples of the whole set with the highest activation, in either model; the
    share of them in common, averaged over channels. About k / n between unrelated models and n samples. Channels are
    matched by number, so the models must have the same layout; otherwise only chance agreement is to be expected.

    Samples with the lowest activation of a channel do not activate it (ours): a channel that fires on three samples has
    three at its top. The share is relative to the larger number of the two models. Samples that tie for the last
    positions share them. A channel with equal activations everywhere in one of the models has no top and does not
    count. The score is undefined if no other channel remains, or with k samples or fewer. Says nothing about the
    attribution: it is the same for every method. The report shows the images of a few channels.
    """

    layer: str = ""  # name of a layer; empty: the environment's choice for class activation maps
    other: str = ""  # the sibling's layer; empty: the same, or its environment's choice
    k: int = 9  # number of images for each channel
    pool: Literal["mean", "max"] = "mean"  # over a channel's positions

    higher_is_better: ClassVar[bool] = True
    about: ClassVar[str] = "models"  # a method is not better for it
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ideal: ClassVar[float] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("sibling",)
    cost: ClassVar[str] = "2 model rows a sample, shared by all methods"
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift", "monotone")
    exact_on_linear: ClassVar[bool] = False
    paper: ClassVar[str] = "Benchmarking the Attribution Quality of Vision Models (Hesse et al., 2024)"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise SpecError(f"top_images: k={self.k} must be at least 1.")

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """Activations (B, channels) of the model and of its sibling; small pictures of the samples, for the report."""
        other_scene = sibling_scene(scene)
        own, other = self._activations(scene, self.layer), self._activations(other_scene, self.other or self.layer)
        if own.shape != other.shape:
            raise NotApplicable(
                f"needs as many channels in both models, and there are {own.shape[1]} and {other.shape[1]}: "
                "ask for other layers"
            )
        return {"own": own, "other": other, **_small_pictures(scene.setting, scene.samples.x)}

    def __call__(self, trial: Trial) -> Evidence:
        probe = trial.probe or self.probe(trial.scene)
        own, other = probe["own"], probe["other"]
        defined = (own.isfinite() & other.isfinite()).all(dim=1)
        row_defined = defined[:, None]
        return rows(own=own.where(row_defined, 0.0), other=other.where(row_defined, 0.0), defined=defined)

    def reduce(self, evidence: Evidence) -> Score:
        """Shares in common, averaged over the channels that are not constant."""
        defined = evidence.defined
        own, other = (evidence[name][defined].astype(np.float64) for name in ("own", "other"))
        if len(own) <= self.k:
            return Score(None, len(evidence), 0)
        columns = varying(own, other)
        if not len(columns):
            return Score(None, len(evidence), 0)
        common = shares_in_common(own[:, columns], other[:, columns], self.k)
        return Score(float(common.mean()), len(evidence), int(defined.sum()))

    def _activations(self, scene: Scene, name: str) -> Tensor:
        setting = replace(scene.setting, forward=None)  # hooks need the network itself, not its faster ``forward``
        name = name or setting.hints.get("grad_cam", "")
        if not name:
            raise NotApplicable("needs the name of a layer, and this environment suggests none: ask for layer='...'")
        query = replace(scene, setting=setting).ask()
        batches: list[Tensor] = []
        assert query.footprint  # measured before the hook is in place

        def record(_module: nn.Module, _inputs: tuple[Any, ...], output: Any) -> None:
            batches.append(self._pooled(output))

        with forward_hooks([find_layer(setting.model, name)], record):
            query.outputs(query.x)
        activations = torch.cat(batches) if batches else query.x.new_zeros(0, 0)
        if len(activations) != len(query.x):
            raise NotApplicable(f"needs a layer that the model runs once, and '{name}' does not run exactly once")
        return activations

    def _pooled(self, output: Any) -> Tensor:
        """(N, C, h, w), (N, positions, C) or (N, C) -> (N, C)."""
        if not isinstance(output, Tensor) or output.dim() not in (2, 3, 4):
            raise NotApplicable("needs a layer with channels, and the chosen one returns none")
        if output.dim() == 2:
            return output
        positions = (2, 3) if output.dim() == 4 else (1,)
        return output.mean(dim=positions) if self.pool == "mean" else output.amax(dim=positions)


def _small_pictures(setting: Setting, x: Tensor) -> dict[str, Tensor]:
    """Images as RGB, uint8 (B, 3, h, w), of at most ``SIDE`` pixels a side; nothing of other data."""
    if setting.kind != "image":
        return {}
    pictures = setting.picture(x) if setting.picture else rgb_pictures(x)
    height, width = pictures.shape[2:]
    factor = max(1, height / SIDE, width / SIDE)
    small = adaptive_avg_pool2d(pictures.float(), (max(1, round(height / factor)), max(1, round(width / factor))))
    return {"picture": (255 * small).round().byte()}
