"""Infidelity (Yeh et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.facts import Varies
from assay.core.question import Question
from assay.core.trial import Scene, Trial
from assay.metrics._removal import Removal, one_canvas
from assay.metrics._rows import rows

ROUNDING = 1e-12  # relative: a forecast whose remainder is smaller than this forecasts nothing


@dataclass(frozen=True)
class Infidelity:
    """Mean squared error of the attribution as a forecast of what a perturbation I does: I . a - (f(x) - f(x - I)).

    ``removal`` puts random features on the canvas, ``square`` a random square of pixels. ``region`` is squares in
    images and random features elsewhere. ``noise`` is added to the input; with ``noisy_baseline`` the canvas plus noise
    replaces the input. Perturbations are shared by all samples and methods.

    What any map can forecast is subtracted first (ours): the best constant, and with ``trend`` "size" also the best
    multiple of the number of features removed. Scattered pixels lower a photograph's logit by nearly the same amount
    each time, and larger squares by more: without this step, a map of equal numbers forecasts them better than
    Integrated Gradients. With it, a constant map has the error of a map of zeros. Captum's form, which is the paper's:
    perturbation='removal' or another, normalise='any' or 'none', trend='none'.

    A map can be read in two ways (the authors' code has both). A ``share`` is a part of the score: a removed feature
    takes its attribution with it, so I is 1 for removed features and 0 elsewhere. A ``slope`` is a change per unit of
    an entry: I is the difference of the inputs. Slopes times the input are shares. Noise needs slopes, one for every
    entry.

    Maps come in different units, so each sample's map is first multiplied by its best factor, as in the authors' code.
    Ours: the factor is at least 0; otherwise a map with all signs reversed would be as good as the right one. In units
    of the score, squared. Undefined where the model has no finite answer. An interval is over samples, not over
    perturbations: these are common to all samples, and with few of them another draw shifts the level of all samples.
    """

    perturbation: Literal["region", "removal", "square", "noise", "noisy_baseline"] = "region"  # of the inputs
    samples: int = 100  # number of perturbations, each one model pass
    normalise: Literal["positive", "any", "none"] = "positive"  # best factor: at least 0; any (as captum); always 1
    trend: Literal["size", "constant", "none"] = "size"  # subtracted first: a constant, and a multiple of the size
    reads: Literal["share", "slope"] | None = None  # how a map is read; None: shares for removal, slopes for noise
    share: float = 0.2  # probability that a feature is removed
    side: float = 0.36  # largest side of a square, as a share of the shorter side; the authors: 10 of 28 pixels
    deviation: float = 0.2  # standard deviation of the noise, in units of the input
    canvas: str | float = "zero"  # for features: zero, true, mean, colour, uniform, blur, noise, rows or a number
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
    paper: ClassVar[str] = "On the (In)fidelity and Sensitivity of Explanations (Yeh et al., 2019)"

    def __post_init__(self) -> None:
        least = {"none": 1, "constant": 3, "size": 4}[self.trend]
        if self.samples < least:
            raise SpecError(
                f"infidelity: samples={self.samples} must be at least {least} with trend='{self.trend}': a "
                "fit to fewer perturbations leaves no error to measure."
            )
        if self._noisy and self.reads == "share":
            raise SpecError("infidelity: noise removes nothing and needs slopes: leave reads='share' out.")

    def probe(self, scene: Scene) -> dict[str, Tensor]:
        """Scores of the inputs (B,), and of the perturbed inputs (B, samples)."""
        removal = self._removal(scene)
        query = removal.query
        return {"clean": query.score(query.x), "changed": self._changed(scene, removal).T.contiguous()}

    def __call__(self, trial: Trial) -> Evidence:
        probe = trial.probe or self.probe(trial.scene)
        change = probe["clean"][:, None].double() - probe["changed"].double()
        defined = change.isfinite().all(dim=1)
        change = change.where(defined[:, None], 0.0)
        trend, forecast = self._trend(trial.scene), self._forecast(trial)
        change, forecast = without_trend(trend, change), zero_where_rounding(without_trend(trend, forecast), forecast)
        error = (self._factor(forecast, change) * forecast - change).square().mean(dim=1)
        return rows(value=error.where(defined, 0.0), defined=defined)

    @property
    def _noisy(self) -> bool:
        return self.perturbation in ("noise", "noisy_baseline")

    def _removal(self, scene: Scene) -> Removal:
        canvas = one_canvas(self.canvas) if self._noisy else self.canvas
        return Removal.of(scene, canvas, Question(self.readout, self.temperature))

    def _removed(self, scene: Scene) -> Tensor:
        region = self.perturbation == "region" and scene.setting.kind == "image"
        if region or self.perturbation == "square":
            return removed_squares(scene, self.samples, self.side)
        return removed_sets(scene, self.samples, self.share)

    def _trend(self, scene: Scene) -> Tensor:
        """An orthonormal basis (samples, terms) of what is fitted besides the map."""
        ones = torch.ones(self.samples, 1, dtype=torch.float64, device=scene.samples.x.device)
        if self.trend == "none":
            return ones[:, :0]
        if self.trend == "constant" or self._noisy:
            return normalize(ones, dim=0)
        size = self._removed(scene).double().flatten(1).sum(dim=1, keepdim=True)
        return normalize(torch.cat([ones, size - size.mean()], dim=1), dim=0)

    def _changed(self, scene: Scene, removal: Removal) -> Tensor:
        """Scores (samples, B) of the perturbed inputs, x - I."""
        query = removal.query
        if self._noisy:
            centre = query.x if self.perturbation == "noise" else query.baseline
            return query.score_each(
                self.samples, lambda part: centre - self.deviation * self._noise(scene, part)[:, None]
            )
        removed = self._removed(scene)[:, None]
        return removal.each(self.samples, lambda part: removed[part], query.score)

    def _noise(self, scene: Scene, part: slice) -> Tensor:
        return torch.stack([noise(scene, index) for index in range(part.start, part.stop)])

    def _forecast(self, trial: Trial) -> Tensor:
        """The map's forecast of what each perturbation does, I . a: (B, samples)."""
        scene = trial.scene
        if not self._noisy:
            feature_shares = trial.map if self.reads != "slope" else self._from_canvas(trial)
            return feature_shares.double().flatten(1) @ self._removed(scene).double().flatten(1).T
        slopes = self.deviation * per_entry(trial).double()
        parts = [slice(index, index + 1) for index in range(self.samples)]
        forecast = torch.cat(
            [slopes.flatten(1) @ self._noise(scene, part).double().flatten(1).T for part in parts], dim=1
        )
        return (
            forecast
            if self.perturbation == "noise"
            else forecast + self._from_canvas(trial).flatten(1).sum(1, keepdim=True)
        )

    def _from_canvas(self, trial: Trial) -> Tensor:
        """Slopes times the difference of input and canvas, summed per feature (B, *features)."""
        query = self._removal(trial.scene).query
        return query.setting.features.pool(per_entry(trial).double() * (query.x - query.baseline).double())

    def _factor(self, forecast: Tensor, change: Tensor) -> Tensor:
        """The factor of each map (B, 1); arbitrary for a map that forecasts nothing."""
        if self.normalise == "none":
            return torch.ones_like(forecast[:, :1])
        size = forecast.square().sum(dim=1, keepdim=True)
        best = (forecast * change).sum(dim=1, keepdim=True) / size.where(size > 0, 1.0)
        return best if self.normalise == "any" else best.clamp(min=0)


def without_trend(trend: Tensor, values: Tensor) -> Tensor:
    """Values (B, samples) minus their best fit by the trend."""
    return values - values @ trend @ trend.T


def zero_where_rounding(remainder: Tensor, forecast: Tensor) -> Tensor:
    """What remains of a forecast, with 0 where that is rounding error, which the best factor would magnify."""
    return remainder.where(remainder.norm(dim=1, keepdim=True) > ROUNDING * forecast.norm(dim=1, keepdim=True), 0.0)


def per_entry(trial: Trial) -> Tensor:
    """The attribution of every entry (B, *entries), if the map has one."""
    features = trial.scene.setting.features
    if tuple(trial.attribution.shape[1:]) == features.entries:
        return trial.attribution
    if trial.map[0].numel() != torch.Size(features.entries).numel():
        raise NotApplicable("needs a number for every entry, and this map has one per feature: removal reads shares")
    return features.expand(trial.map)


def removed_sets(scene: Scene, count: int, share: float) -> Tensor:
    """Sets of removed features (count, *features), shared by all samples.

    Each feature is removed with probability ``share``; a set that would be empty gets one random feature.
    """
    shape = scene.setting.features.shape
    size = int(torch.Size(shape).numel())
    stream = scene.generator("sets")
    removed = torch.rand(count, size, generator=stream) < share
    fallback = torch.randint(size, (count, 1), generator=stream)
    single = torch.zeros_like(removed).scatter_(1, fallback, value=True)
    removed = torch.where(removed.any(dim=1, keepdim=True), removed, single)
    return removed.view(count, *shape).to(scene.samples.x.device)


def removed_squares(scene: Scene, count: int, share: float) -> Tensor:
    """Pixels (count, height, width) of random squares inside the image. Shared by all samples.

    Sides are uniform from 1 pixel to ``share`` of the image's shorter side, positions are uniform.
    """
    if scene.setting.kind != "image":
        raise NotApplicable(f"removes squares of images, and this is {scene.setting.kind} data: write 'removal'")
    height, width = scene.setting.features.shape
    stream = scene.generator("squares")
    largest = max(1, round(share * min(height, width)))
    side = torch.randint(1, largest + 1, (count,), generator=stream)
    position = torch.rand(2, count, generator=stream, dtype=torch.float64)
    top, left = ((position * torch.stack([height - side + 1, width - side + 1])).floor().long()).unbind()
    down = _between(torch.arange(height), top, side)
    across = _between(torch.arange(width), left, side)
    return (down[:, :, None] & across[:, None, :]).to(scene.samples.x.device)


def noise(scene: Scene, index: int) -> Tensor:
    """Standard normal numbers (*entries) of perturbation ``index``, shared by all samples."""
    drawn = torch.randn(scene.setting.features.entries, generator=scene.generator(f"noise {index}"))
    return drawn.to(scene.samples.x)


def _between(position: Tensor, start: Tensor, length: Tensor) -> Tensor:
    return (position >= start[:, None]) & (position < (start + length)[:, None])
