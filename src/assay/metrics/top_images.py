"""Whether the channels of two models respond to the same images (Hesse et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence, Score
from assay.core.trial import Scene, Trial
from assay.kit.layers import find_layer, forward_hooks
from assay.metrics._rows import rows
from assay.metrics._sibling import sibling_scene

Array = npt.NDArray[np.float64]


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
    attribution: it is the same for every method.
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
        """Activations (B, channels) of the model and of its sibling."""
        other_scene = sibling_scene(scene)
        own, other = self._activations(scene, self.layer), self._activations(other_scene, self.other or self.layer)
        if own.shape != other.shape:
            raise NotApplicable(
                f"needs as many channels in both models, and there are {own.shape[1]} and {other.shape[1]}: "
                "ask for other layers"
            )
        return {"own": own, "other": other}

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
        varying = (np.ptp(own, axis=0) > 0) & (np.ptp(other, axis=0) > 0)
        if not varying.any():
            return Score(None, len(evidence), 0)
        left, right = (_among_top(side[:, varying], self.k) for side in (own, other))
        common = np.minimum(left, right).sum(axis=0) / np.maximum(left.sum(axis=0), right.sum(axis=0))
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


def _among_top(values: Array, k: int) -> Array:
    """The weight (n, channels) of a sample among the ``k`` largest; samples that tie for the last positions share them,
    and those with the lowest value have weight 0."""
    last = -np.partition(-values, k - 1, axis=0)[k - 1]
    above, tied = values > last, values == last
    share: Array = above + tied * (k - above.sum(axis=0)) / tied.sum(axis=0)
    return np.where(values > values.min(axis=0), share, 0.0)
