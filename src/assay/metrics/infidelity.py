"""Infidelity (Yeh et al., 2019)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.promises import Varies
from assay.core.question import Question
from assay.core.trial import Scene, Trial
from assay.metrics._perturb import noise, removed_sets, removed_squares
from assay.metrics._removal import Removal
from assay.metrics._rows import rows

ROUNDING = 1e-12  # relative: what is left of a forecast below this says nothing


@dataclass(frozen=True)
class Infidelity:
    """Mean squared error of the attribution as a forecast of what a perturbation I does: I . a - (f(x) - f(x - I)).

    ``removal`` puts random features on the canvas, ``square`` a random square of pixels, and ``region`` squares in
    images and random features elsewhere; ``noise`` is added to the input, and with ``noisy_baseline`` the canvas with
    noise takes its place. Perturbations are shared by all samples and methods.

    What every map forecasts is taken away first (ours): the best constant, and with ``trend`` "size" also the best
    multiple of the number of features removed. Scattered pixels lower a photograph's logit by nearly the same each
    time, and larger squares by more: without this, a map of equal numbers forecasts them better than Integrated
    Gradients do. With it, a constant map says nothing, and has the error of a map of zeros. Captum's form, which is the
    paper's: perturbation='removal' or another, normalise='any' or 'none', trend='none'.

    Two readings of a map (the authors' code has both). A ``share`` is a part of the score: a removed feature takes its
    attribution with it, so I is 1 for what is removed and 0 elsewhere. A ``slope`` is a change per unit of an entry: I
    is the difference of the inputs. Maps of slopes become shares when multiplied by the input; noise needs slopes, and
    these for every entry.

    Maps come in different units, so each sample's map is scaled by the best factor first, as in the authors' code.
    Ours: the factor is at least 0, as a map with all signs reversed would be as good as the right one otherwise. In
    units of the score, squared. Undefined where the model has no finite answer. An interval is over samples, not over
    perturbations: these are common to all samples, and with few of them another draw gives another level for all.
    """

    perturbation: Literal["region", "removal", "square", "noise", "noisy_baseline"] = "region"  # what is done to inputs
    samples: int = 100  # perturbations, each one pass through the model
    normalise: Literal["positive", "any", "none"] = "positive"  # best factor: at least 0; any (as captum); always 1
    trend: Literal["size", "constant", "none"] = "size"  # taken away first: a constant, and so much a feature removed
    reads: Literal["share", "slope"] | None = None  # what a map tells; None: shares for removal, slopes for noise
    share: float = 0.2  # chance of a feature to be removed
    side: float = 0.36  # largest side of a square, of the image's shorter one; the authors go to 10 of 28 pixels
    deviation: float = 0.2  # standard deviation of the noise, in units of the input
    canvas: str | float = "zero"  # what replaces a feature: zero, true, mean, uniform, blur, noise or a number
    readout: Literal["logit", "probability", "margin", "value"] | None = None  # None: as the environment asks
    temperature: float | None = None  # None: as the environment asks

    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float, float]] = (0.0, 1.7976931348623157e308)  # no bound
    ideal: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("model",)
    cost: ClassVar[str] = "samples + 1 model rows a sample, shared by all methods"
    invariant: ClassVar[tuple[str, ...]] = ("scale", "shift")
    varies: ClassVar[Varies] = (
        ("normalise", "none", "scale"),
        ("trend", "none", "shift"),
        ("trend", "constant", "shift"),
        ("perturbation", "noise", "shift"),
        ("perturbation", "noise", "exact"),
        ("perturbation", "noisy_baseline", "shift"),
        ("reads", "slope", "shift"),
        ("reads", "slope", "exact"),
    )
    exact_on_linear: ClassVar[bool] = True
    controls: ClassVar[str] = "not told apart from the best method: edge_map (colour count with unseen-data effect)"
    paper: ClassVar[str] = "On the (In)fidelity and Sensitivity of Explanations (Yeh et al., 2019)"

    def __post_init__(self) -> None:
        least = {"none": 1, "constant": 3, "size": 4}[self.trend]
        if self.samples < least:
            raise SpecError(
                f"infidelity: samples={self.samples} must be at least {least} with trend='{self.trend}': what is "
                "fitted to fewer perturbations leaves nothing to be judged."
            )
        if self._noisy and self.reads == "share":
            raise SpecError("infidelity: noise removes nothing, so that it needs slopes: leave reads='share' out.")

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """Scores of the inputs (B,), and of the perturbed inputs (B, samples)."""
        removal = self._removal(scene)
        query = removal.query
        changed = query.score_each(self.samples, self._points(scene, removal))
        return {"clean": query.score(query.x), "changed": changed.T.contiguous()}

    def __call__(self, trial: Trial) -> Evidence:
        probe = trial.probe or self.probe(trial.scene)
        change = probe["clean"][:, None].double() - probe["changed"].double()
        defined = change.isfinite().all(dim=1)
        change = change.where(defined[:, None], 0.0)
        trend, told = self._trend(trial.scene), self._told(trial)
        change, told = without(trend, change), settled(without(trend, told), told)
        error = (self._factor(told, change) * told - change).square().mean(dim=1)
        return rows(value=error.where(defined, 0.0), defined=defined)

    @property
    def _noisy(self) -> bool:
        return self.perturbation in ("noise", "noisy_baseline")

    def _removal(self, scene: Scene) -> Removal:
        return Removal.of(scene, self.canvas, Question(self.readout, self.temperature))

    def _removed(self, scene: Scene) -> Tensor:
        region = self.perturbation == "region" and scene.setting.kind == "image"
        if region or self.perturbation == "square":
            return removed_squares(scene, self.samples, self.side)
        return removed_sets(scene, self.samples, self.share)

    def _trend(self, scene: Scene) -> Tensor:
        """What is fitted beside the map, an orthonormal basis (samples, terms)."""
        ones = torch.ones(self.samples, 1, dtype=torch.float64, device=scene.samples.x.device)
        if self.trend == "none":
            return ones[:, :0]
        if self.trend == "constant" or self._noisy:
            return normalize(ones, dim=0)
        size = self._removed(scene).double().flatten(1).sum(dim=1, keepdim=True)
        return normalize(torch.cat([ones, size - size.mean()], dim=1), dim=0)

    def _points(self, scene: Scene, removal: Removal) -> Callable[[slice], Tensor]:
        """Perturbed inputs (K, B, *entries), x - I."""
        if self._noisy:
            query = removal.query
            centre = query.x if self.perturbation == "noise" else query.baseline
            return lambda part: centre - self.deviation * self._noise(scene, part)[:, None]
        removed = self._removed(scene)[:, None]
        return lambda part: removal(removed[part])

    def _noise(self, scene: Scene, part: slice) -> Tensor:
        return torch.stack([noise(scene, index) for index in range(part.start, part.stop)])

    def _told(self, trial: Trial) -> Tensor:
        """What the map says that each perturbation does, I . a: (B, samples)."""
        scene = trial.scene
        if not self._noisy:
            each = trial.map if self.reads != "slope" else self._from_canvas(trial)
            return each.double().flatten(1) @ self._removed(scene).double().flatten(1).T
        slopes = self.deviation * entrywise(trial).double()
        parts = [slice(index, index + 1) for index in range(self.samples)]
        told = torch.cat([slopes.flatten(1) @ self._noise(scene, part).double().flatten(1).T for part in parts], dim=1)
        return told if self.perturbation == "noise" else told + self._from_canvas(trial).flatten(1).sum(1, keepdim=True)

    def _from_canvas(self, trial: Trial) -> Tensor:
        """Slopes times the way from the canvas to the input, added up per feature (B, *features)."""
        query = self._removal(trial.scene).query
        return query.setting.features.pool(entrywise(trial).double() * (query.x - query.baseline).double())

    def _factor(self, told: Tensor, change: Tensor) -> Tensor:
        """What the map is multiplied with (B, 1); any factor does for a map that says nothing."""
        if self.normalise == "none":
            return torch.ones_like(told[:, :1])
        size = told.square().sum(dim=1, keepdim=True)
        best = (told * change).sum(dim=1, keepdim=True) / size.where(size > 0, 1.0)
        return best if self.normalise == "any" else best.clamp(min=0)


def without(trend: Tensor, values: Tensor) -> Tensor:
    """Values (B, samples) minus their best fit by the trend."""
    return values - values @ trend @ trend.T


def settled(left: Tensor, told: Tensor) -> Tensor:
    """What is left of a forecast, 0 where that is rounding: the best factor would blow it up."""
    return left.where(left.norm(dim=1, keepdim=True) > ROUNDING * told.norm(dim=1, keepdim=True), 0.0)


def entrywise(trial: Trial) -> Tensor:
    """The attribution of every entry (B, *entries), where the map tells."""
    features = trial.scene.setting.features
    if tuple(trial.attribution.shape[1:]) == features.entries:
        return trial.attribution
    if trial.map[0].numel() != torch.Size(features.entries).numel():
        raise NotApplicable("needs a number for every entry, and this map has one a feature: removal reads shares")
    return features.expand(trial.map)
