"""What replaces removed features, and the model's answers without them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import sqrt
from typing import TypeAlias

import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError, suggest
from assay.core.query import Query
from assay.core.question import BASELINES, Question
from assay.core.rng import generator
from assay.core.setting import Setting
from assay.core.trial import Scene
from assay.kit.blur import blur

MADE_HERE = ("colour", "row", "rows", "blur", "noise", "impute")  # canvases that are no baselines
CANVASES = (*BASELINES, *MADE_HERE)
ROWS = 16  # reference rows whose values canvas 'rows' shows
SIDE = 224  # pixels along a side of the images that SIGMA and REACH are for; both scale with the shorter side
REACH = 25  # a kernel of 51 pixels
# IDSDS has sigma 41 but divides by 2 sigma before squaring, where a Gaussian divides by sqrt(2) sigma.
SIGMA = 41 * sqrt(2)

Read = Callable[[Tensor], Tensor]  # points (K, B, *entries) -> (K, B, ...)
CanvasFunction = Callable[[Tensor, Tensor], Tensor]  # inputs (N, *entries), features that stay (N, *features) -> inputs
# The field of a metric is annotated ``str | float``: a spec has no text for a function, which is for Python only.
Canvas: TypeAlias = str | float | CanvasFunction


@dataclass(frozen=True, eq=False)
class Removal:
    """Inputs without some of their features, and the question that a metric asks about them.

    A removed feature shows the canvas, which is the query's baseline: a constant, the environment's background, the
    mean of the reference rows, each channel's mean over all their pixels (``colour``), uniform noise (one picture for
    all samples, or one for each), a reference row that is drawn for each sample (``row``), or the blurred input.

    Or it is imputed by noisy linear imputation (Rong et al., 2022): a removed pixel is the weighted mean of its eight
    neighbours, plus noise that depends on the sample but not on the set of removed pixels. If no pixel is left to
    impute from, the result is the noise alone (ours).

    Or it takes its values from a reference row, all of its entries from the same one. The answer is then the mean over
    16 rows (``rows``), which are the same for all samples, metrics and methods: the interventional expectation, which
    shapiq calls marginal. The query's baseline is the mean of these rows. The answer is NaN where a row has none.

    Or a function of the inputs and of the features that stay makes the new inputs. The query's baseline is then what it
    makes of inputs without any feature.
    """

    query: Query
    noise: Tensor | None = None  # (B, *entries), added to imputed pixels; None: nothing is imputed
    rows: Tensor | None = None  # (R, *entries), over which answers are averaged; None: there is one canvas
    function: CanvasFunction | None = None  # makes the inputs; None: the canvas does not depend on what is removed

    @classmethod
    def of(
        cls,
        scene: Scene,
        canvas: Canvas,
        question: Question = Question(),
        jitter: float | None = None,
        classes: str = "",
    ) -> Removal:
        """The removal of features from the samples of a scene.

        ``question``: what it leaves open is filled in from the environment's question. ``jitter``: deviation of the
        noise on imputed pixels; None for metrics that need a whole canvas. ``classes``: why a metric needs a
        classifier.
        """
        if classes and not classifies(scene):
            raise NotApplicable(f"needs a classifier: {classes}")
        if isinstance(canvas, str) and canvas not in CANVASES:
            choices = f"{', '.join(CANVASES)} or a number"
            raise SpecError(f"no canvas '{canvas}'.{suggest(canvas, CANVASES)} Known: {choices}.")
        query = scene.ask(question, baseline="zero" if callable(canvas) or canvas in MADE_HERE else canvas)
        if query.question.readout == "probability" and not classifies(scene):
            raise NotApplicable(
                "needs class probabilities, and this model has none; a metric with a parameter 'readout' can be asked "
                "about the value: write readout='value' in its parentheses"
            )
        if callable(canvas):
            removal = cls(query, function=canvas)
            everything = torch.ones(1, 1, *scene.setting.features.shape, dtype=torch.bool, device=query.x.device)
            return replace(removal, query=replace(query, baseline=removal(everything)[0]))
        return cls._made_here(scene, query, canvas, jitter)

    @classmethod
    def _made_here(cls, scene: Scene, query: Query, canvas: str | float, jitter: float | None) -> Removal:
        """The removal with a canvas that is no baseline, or with the query's baseline."""
        entries = scene.setting.features.entries
        if canvas == "colour":
            pixels = need_reference(need_images(scene.setting, "colour"), "colour")
            return cls(replace(query, baseline=pixels.mean(dim=(0, 2, 3))[:, None, None].expand_as(query.x)))
        if canvas == "row":
            reference = need_reference(scene.setting, "row")
            chosen = (scene.draws("canvas").uniform() * len(reference)).long().to(reference.device)
            return cls(replace(query, baseline=reference[chosen]))
        if canvas == "rows":
            rows = few_rows(need_reference(scene.setting, "rows"))
            return cls(replace(query, baseline=rows.mean(dim=0).expand_as(query.x)), rows=rows)
        if canvas == "blur":
            return cls(replace(query, baseline=_blurred(need_images(scene.setting, "blur"), query.x)))
        if canvas == "noise":
            return cls(replace(query, baseline=(2 * scene.draws("canvas").uniform(*entries) - 1).to(query.x)))
        if canvas == "impute":
            if jitter is None:
                raise NotApplicable(
                    "canvas='impute' fills holes in an input, and this metric needs a whole canvas: write canvas='blur'"
                )
            need_images(scene.setting, "impute")
            return cls(query, (jitter * scene.draws("imputation").normal(*entries)).to(query.x))
        return cls(query)

    def __call__(self, removed: Tensor) -> Tensor:
        """Removed features (K, B, *features) -> inputs (K, B, *entries); (K, 1, *features) is enough, but to impute."""
        if self.function is not None:
            return self._made(self.function, removed)
        removed_entries = self.query.setting.features.expand(removed)
        if self.noise is None:
            return torch.where(removed_entries, self.query.baseline, self.query.x)
        return torch.where(removed_entries, self._imputed(removed) + self.noise, self.query.x)

    def each(self, count: int, removed: Callable[[slice], Tensor], read: Read) -> Tensor:
        """What is read (count, B, ...) off inputs that are made part by part: the mean over the reference rows, if the
        canvas has any."""
        return torch.cat([self._read(removed(part), read) for part in self.query.parts(count)])

    def versions(self, removed: Tensor) -> Iterator[Tensor]:
        """The inputs without these features: one for each reference row, or one."""
        if self.rows is None:
            yield self(removed)
        else:
            for row in self.rows:
                yield torch.where(self.query.setting.features.expand(removed), row, self.query.x)

    def _read(self, removed: Tensor, read: Read) -> Tensor:
        answers = [read(points) for points in self.versions(removed)]
        if len(answers) == 1:
            return answers[0]
        # In float64, equal answers have exactly that mean: a feature without an effect causes no drop.
        return torch.stack(answers).double().mean(dim=0).to(answers[0])

    def _made(self, function: CanvasFunction, removed: Tensor) -> Tensor:
        x, count = self.query.x, len(removed)
        keep = ~removed.expand(count, len(x), *removed.shape[2:]).flatten(0, 1)
        with torch.no_grad():
            made = function(x.repeat(count, *[1] * (x.dim() - 1)), keep)  # a copy, which it may change
        return _checked(made, x.shape[1:], len(keep)).detach().to(x).view(count, *x.shape)

    def _imputed(self, removed: Tensor) -> Tensor:
        from assay.kit.imputation.impute import impute  # compiles on the first call

        images, holes = self.query.x.expand(len(removed), *self.query.x.shape), removed.flatten(2)
        imputable = ~holes.all(dim=2)
        imputed = torch.zeros_like(images)
        imputed[imputable] = impute(images[imputable], removed[imputable]).to(imputed)
        return imputed


def _checked(made: object, entries: torch.Size, count: int) -> Tensor:
    """What a canvas function returned; SpecError says what is wrong."""
    wanted = (count, *entries)
    if not isinstance(made, Tensor):
        raise SpecError(f"the canvas function returned {type(made).__name__}: return a torch.Tensor, {wanted}.")
    if tuple(made.shape) != wanted:
        raise SpecError(f"the canvas function returned shape {tuple(made.shape)}: return that of its inputs, {wanted}.")
    if not bool(made.isfinite().all()):
        raise SpecError("the canvas function returned NaN or infinite values: return finite inputs.")
    return made


def few_rows(rows: Tensor, most: int = ROWS) -> Tensor:
    """At most so many of the reference rows, drawn once: they depend on nothing but how many there are."""
    if len(rows) <= most:
        return rows
    return rows[torch.randperm(len(rows), generator=generator("rows canvas", len(rows)))[:most].to(rows.device)]


def one_canvas(canvas: Canvas) -> Canvas:
    """The canvas of a metric that is not defined for the mean over several."""
    if canvas == "rows":
        raise NotApplicable(
            "canvas='rows' is a mean of answers over reference rows, and this metric needs one input for each set of "
            "removed features: write canvas='mean'"
        )
    return canvas


def need_reference(setting: Setting, canvas: str) -> Tensor:
    """The reference rows (N, *entries), or NotApplicable."""
    if setting.reference is None:
        raise NotApplicable(
            f"canvas='{canvas}' needs reference rows, and this environment has none: write canvas='zero', or a number"
        )
    return setting.reference.x


def _blurred(setting: Setting, x: Tensor) -> Tensor:
    share = min(setting.features.shape) / SIDE
    reach = max(1, round(REACH * share))
    return blur(x.flatten(0, 1), SIGMA * share, reach).view_as(x)


def need_images(setting: Setting, canvas: str) -> Setting:
    if setting.kind != "image":
        raise NotApplicable(
            f"canvas='{canvas}' needs images, and this is {setting.kind} data: write canvas='zero', or 'mean'"
        )
    return setting


def classifies(scene: Scene) -> bool:
    """False for a regression: the question is about its value, or it has one output (whose softmax is always 1)."""
    if "value" in (scene.setting.outputs, scene.setting.question.readout):
        return False
    query = scene.ask(Question("value"), baseline="zero")
    return query.outputs(query.x[:1]).shape[-1] > 1


def correctness(query: Query, label: Tensor) -> Read:
    """Reads whether the model chooses the true class: (K, B), 1 or 0, NaN where it has no finite answer."""

    def read(points: Tensor) -> Tensor:
        outputs = query.outputs(points)
        correct = (outputs.argmax(dim=-1) == label).double()
        return correct.where(outputs.isfinite().all(dim=-1), torch.nan)

    return read
