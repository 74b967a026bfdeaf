"""What ``import assay`` offers to notebooks, scripts and other people's tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from assay.core.adapt import adapt
from assay.core.build import build, describe
from assay.core.evidence import Score, mean_score
from assay.core.machine import Machine
from assay.core.protocols import Environment, Method, Metric, Trained
from assay.core.query import Query
from assay.core.question import Question
from assay.core.registry import resolve
from assay.core.setting import Samples, Setting
from assay.core.spec import Spec, Value
from assay.core.trial import Scene, per_feature
from assay.execute.run import run as run_study
from assay.execute.trial import attribute as answer
from assay.execute.trial import fit, gap, pose, promise, trial
from assay.report.board import Result, result
from assay.store.store import Store
from assay.study.shelf import find
from assay.study.study import Study

if TYPE_CHECKING:
    import pandas as pd
    from PIL.Image import Image

# A process of somebody else's: its allocator hands large buffers back to the system after every call, so that many
# small calls are up to five times faster than few large ones. (Our own processes keep pages: core/pages.py.)
HERE = Machine(memory=2**26)
Array = npt.NDArray[np.generic]


def environment(name: str, **params: Value) -> Environment:
    """An environment by name or spec, for example ``environment("color_count", side=64, unseen=False)``."""
    return _component("environments", name, params)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Scored:
    """A metric's answer: per sample, over the set, and the curve where the metric has one."""

    metric: str
    score: Score
    per_sample: Array | None  # None for metrics of a whole set
    defined: npt.NDArray[np.bool_]
    curve: Array | None

    @property
    def value(self) -> float | None:
        return self.score.value

    def __repr__(self) -> str:
        value = "undefined" if self.value is None else f"{self.value:.4f}"
        return f"{self.metric}: {value} ({self.score.defined} of {self.score.count} samples)"


@dataclass(frozen=True, eq=False)
class Attributed:
    """An attribution of some samples of an environment."""

    method: str
    solver: Any  # the method itself
    query: Query  # what it was asked
    samples: Samples
    attribution: Tensor
    place: tuple[str | int, ...]  # environment and seeds: what randomness depends on
    promised: Tensor | None = None  # (B,) what the attribution should add up to, where the method says so

    @property
    def setting(self) -> Setting:
        return self.query.setting

    @property
    def question(self) -> Question:
        return self.query.question

    @property
    def gap(self) -> Tensor | None:
        """(B,) how far the attribution is from adding up to what the method promises."""
        return None if self.promised is None else gap(self.attribution, self.promised)

    @property
    def map(self) -> Tensor:
        """One number per feature."""
        return per_feature(self.attribution, self.setting.features)

    def score(self, metric: str | Metric, **params: Value) -> Scored:
        """Judge it: ``score("f1", sign="positive")``, ``score("insertion")``, ``score(my_metric)``."""
        judge, name = _named("metrics", metric, params)
        stream = ("metric", str(describe(judge)), *self.place)
        scene = Scene(self.setting, self.samples, self.question, self.query.target, stream, HERE)
        evidence = judge(trial(judge, self.solver, self.query, scene, self.attribution))
        found = getattr(judge, "reduce", mean_score)(evidence)
        return Scored(name, found, evidence.rows.get("value"), evidence.defined, found.curve)

    def picture(self, count: int = 4) -> Image:
        """Input, truth and attribution side by side."""
        from assay.report.gallery import strip
        from assay.report.shown import Shown

        some = min(count, len(self.samples))
        truth = None if self.samples.truth is None else self.samples.truth.effect[:some].cpu().numpy()
        names = [self.setting.classes[label] for label in self.samples.label[:some]] if self.setting.classes else []
        maps = {self.method: self.map[:some].cpu().numpy()}
        x = self.samples.x[:some].cpu().numpy()
        return strip(Shown("", self.setting.kind, (), tuple(names), x, truth, maps), [self.method])

    def show(self) -> Image:
        """Two lines and a picture (shown by a notebook, or returned to be saved)."""
        print(self)
        return self.picture()

    def _repr_png_(self) -> bytes:
        from io import BytesIO

        buffer = BytesIO()
        self.picture().save(buffer, format="PNG")
        return buffer.getvalue()

    def __repr__(self) -> str:
        lowest, highest = float(self.map.min()), float(self.map.max())
        return (
            f"{self.method} on {len(self.samples)} samples, {self.question.readout} of the {self.question.target}, "
            f"baseline {self.question.baseline}\n"
            f"{tuple(self.map.shape[1:])} features, from {lowest:.4g} to {highest:.4g}{self._completeness()}"
        )

    def _completeness(self) -> str:
        if self.gap is None or self.promised is None:
            return ""
        return f"; completeness gap {float(self.gap.abs().sum() / self.promised.abs().sum().clamp(min=1e-300)):.2%}"


def attribute(
    environment: Environment | str,
    method: Method | str | Callable[..., Any],
    n: int = 16,
    seed: int = 0,
    question: Question = Question(),
) -> Attributed:
    """Attribute ``n`` samples. ``method`` is a spec, one of our methods, a Captum class, or your callable.

    The numbers are those of a study with the same environment, method, question and seed.
    """
    place = _component("environments", environment, {}) if isinstance(environment, str) else environment
    solver, name = _method(method)
    setting: Setting = place.setting(seed, place.train(seed) if isinstance(place, Trained) else {})
    samples = place.sample(range(n), seed)
    where, how = (str(describe(place)), seed, seed), str(describe(solver))
    query = pose(setting, samples, question, ("method", how, *where), HERE)
    if hasattr(solver, "fit"):
        query = replace(query, fitted=fit(solver, setting, question, ("fit", how, *where[:2]), HERE))
    return Attributed(name, solver, query, samples, answer(solver, query), where, promise(solver, query))


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run of a study."""

    store: Path
    result: Result

    def frame(self) -> pd.DataFrame:
        """One row per environment, method, metric, seed and sample."""
        from assay.report.export import frame

        return frame(Store.open(self.store, create=False))

    def report(self, output: Path | None = None) -> Path:
        """Write the static report; the path of its page."""
        from assay.report.page import page

        return page(Store.open(self.store, create=False), output or self.store / "report")


def run(
    study: str | Path | Study,
    store: str | Path | None = None,
    limit: int | None = None,
    seeds: Sequence[int] | None = None,
    workers: int = 0,
) -> Run:
    """Run a study, or what is missing of it; 0 workers compute in this process."""
    found = study if isinstance(study, Study) else find(str(study))
    root = Path(store) if store is not None else Path("runs") / found.name
    run_study(found.narrowed(limit, None if seeds is None else tuple(seeds)), root, workers)
    return Run(root, result(Store.open(root, create=False)))


def assert_faithful(
    method: Method | str | Callable[..., Any],
    environment: Environment | str = "color_count",
    gamma: float = 0.5,
    metric: str = "f1",
    n: int = 16,
) -> None:
    """Fail, as a test does, when the environment refutes the method: its mean score is below gamma."""
    found = attribute(environment, method, n=n).score(metric)
    assert found.value is not None, f"{metric} is undefined on all {n} samples"
    assert found.value >= gamma, f"refuted: {found} is below gamma = {gamma:g} on {environment}"


def _component(kind: str, name: str, params: dict[str, Value]) -> Any:
    spec = Spec.parse(name)
    return build(kind, resolve(kind, spec.replace(**params)))


def _named(kind: str, given: Any, params: dict[str, Value]) -> tuple[Any, str]:
    if isinstance(given, str):
        spec = resolve(kind, Spec.parse(given).replace(**params))
        return build(kind, spec), str(Spec.parse(given).replace(**params))
    return given, type(given).__name__


def _method(given: Any) -> tuple[Any, str]:
    if isinstance(given, str):
        return _named("methods", given, {})
    if isinstance(given, type) or not hasattr(type(given), "__dataclass_fields__"):
        name = getattr(given, "__name__", type(given).__name__)
        return adapt("methods", name, given, {}), name
    return given, type(given).__name__
