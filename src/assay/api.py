"""What ``import assay`` offers to notebooks, scripts and other people's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from assay.artifacts.artifact import blocks
from assay.artifacts.component import Component
from assay.artifacts.evidence import evidence
from assay.artifacts.model import Place, place
from assay.artifacts.score import ScoreArtifact
from assay.artifacts.trial import TrialArtifact, trials
from assay.attributed import Attributed
from assay.core import preflight
from assay.core.build import describe, method_named, named
from assay.core.errors import SpecError
from assay.core.floors import Check, Rule
from assay.core.given import as_classes, as_rows, sound_baseline, sound_classes, sound_rows
from assay.core.machine import Machine
from assay.core.protocols import Environment, Method, Metric
from assay.core.question import Question
from assay.core.registry import card, resolve
from assay.core.setting import Reference, Samples
from assay.core.spec import Spec, Value
from assay.environments.own import own_setting
from assay.evaluation import Evaluation, numbered, predictions
from assay.evaluation import evaluate as judge_all
from assay.execute.inline import Memory
from assay.execute.run import run as run_study
from assay.report.board import Result, result
from assay.report.promises import said
from assay.report.runs import run_named
from assay.stats.faithfulness import Measured, Verdict, checks_for
from assay.store.store import Store
from assay.study.floors import AGREEMENT, floors
from assay.study.shelf import find
from assay.study.study import BLOCK, METHODS, METRICS, Study

if TYPE_CHECKING:
    import pandas as pd

# A process of somebody else's: its allocator hands large buffers back to the system after every call, so that many
# small calls are up to five times faster than few large ones. (Our own processes keep pages: core/pages.py.)
HERE = Machine(memory=2**26)
Array = npt.NDArray[np.generic]


def environment(name: str, **params: Value) -> Environment:
    """An environment by name or spec, for example ``environment("color_count", side=64, unseen=False)``."""
    return named("environments", name, params)[0]  # type: ignore[no-any-return]


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
    solver, name = method_named(method)
    memory = Memory(HERE, raises=True)
    where = _place(environment, seed)
    asked = trials(where, Component("methods", made=solver), question, blocks(n, BLOCK, n))
    memory.realise(asked)
    return Attributed(name, asked, memory)


def _place(environment: Environment | str, seed: int) -> Place:
    return place(Component("environments", made=named("environments", environment)[0]), seed, seed)


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run of a study."""

    store: Path
    result: Result

    def frame(self) -> pd.DataFrame:
        """One row per environment, method, metric, seed and sample."""
        from assay.report.export import frame

        return frame(Store.open(self.store, create=False), self.result.run)

    def report(self, output: Path | None = None) -> Path:
        """Write the static report; the path of its page."""
        from assay.report.page import page

        return page(Store.open(self.store, create=False), output or self.store / "report", self.result.run)


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
    done = run_study(found.narrowed(limit, None if seeds is None else tuple(seeds)), root, workers)
    kept = Store.open(root, create=False)
    return Run(root, result(kept, run_named(kept, done.run)))


@torch.inference_mode(False)  # also where the caller's are on: methods need gradients
def evaluate(
    model: nn.Module,
    x: Tensor | Array | pd.DataFrame,
    target: Tensor | Array | int | None = None,
    methods: Sequence[str | Any] = METHODS,
    metrics: Sequence[str | Any] = METRICS,
    *,
    label: Tensor | Array | None = None,
    reference: Tensor | Array | pd.DataFrame | None = None,
    readout: str | None = None,
    outputs: str = "logits",
    baseline: str | float = "zero",
    memory: int = HERE.memory,
) -> Evaluation:
    """Score methods on a model and rows of yours, images (N, C, H, W) or tables (N, D); no truth is needed.

    Rows are floats, as the model reads them; an array's or a data frame's numbers are taken in the model's format.

    ``target`` is the class to explain, one for all or one per row; None explains what the model predicts. ``label`` is
    what is true of the rows, for metrics that go by accuracy: ``target`` where it is given, else the predictions.
    ``reference`` are training rows, for methods and metrics that look at data first. ``outputs`` says what the model
    answers with: logits, probabilities or a value; ``readout`` which number is explained (None: that). Methods and
    metrics are specs or objects. ``print`` the result, or take its ``frame()``.
    """
    rows = sound_rows("x", as_rows("x", x, model))
    asked = _asked(outputs, readout, sound_baseline(baseline, rows.dtype), target, reference)
    setting = own_setting(model, rows, asked, outputs)
    count = preflight.outputs_of(setting.model, rows, outputs)
    if outputs == "value" and count > 1 and target is None:
        raise SpecError(f"the model answers with {count} values: give target, the one to explain, 0 to {count - 1}.")
    if not isinstance(memory, Integral) or memory < 1:
        raise SpecError(f"memory={memory!r}: give a number of bytes, as 2**30.")
    threads, dtype = torch.get_num_threads(), str(rows.dtype).removeprefix("torch.")
    here = Machine(str(rows.device), dtype, int(memory), threads)

    def classes(name: str, given: Any) -> Tensor:
        known = as_classes(name, given).to(rows.device)
        one = name == "target" and known.dim() == 0
        return sound_classes(name, known.repeat(len(rows)) if one else known, len(rows), count)

    aim = None if target is None else classes("target", target)
    true = classes("label", label) if label is not None else aim
    true = predictions(setting, rows, here) if true is None else true
    if reference is not None:
        known = sound_rows("reference", as_rows("reference", reference, model).to(rows), rows)
        setting = replace(setting, reference=Reference(known, predictions(setting, known, here)))
    solvers = numbered(method_named(method) for method in _listed("methods", methods))
    judges = numbered(named("metrics", metric) for metric in _listed("metrics", metrics))
    return judge_all(setting, Samples(rows, true, None, tuple(range(len(rows))), aim), solvers, judges, here)


def _asked(outputs: str, readout: str | None, baseline: str | float, target: object, reference: object) -> Question:
    if baseline == "mean" and reference is None:
        raise SpecError("baseline='mean' is the mean of training rows: give them as reference.")
    return Question(
        preflight.default_readout(outputs, readout), 1.0, baseline, "predicted" if target is None else "label"
    )


def _listed(name: str, given: Sequence[Any]) -> Sequence[Any]:
    if isinstance(given, str):
        raise SpecError(f"{name}='{given}': give a list, as in {name}=['{given}'].")
    if not isinstance(given, Iterable):
        raise SpecError(f"{name}={given!r}: give a list of specs or objects.")
    return given


def assert_faithful(
    method: Method | str | Callable[..., Any],
    environment: Environment | str = "color_count",
    gamma: float = 0.5,
    metric: str = "f1",
    n: int = 16,
    *,
    seeds: Sequence[int] = (0,),
    signs: bool = True,
    agreement: float = AGREEMENT,
    rule: Rule = "interval",
    strict: bool = False,
) -> None:
    """Fail, as a test does, when the environment refutes the method; with ``strict`` also where that is undecided.

    F1 is asked for overall, for positive and for negative truth, and the signs must agree on ``agreement`` of the true
    effect; without ``signs`` F1 overall decides alone, as in the paper. From three seeds on, where a seed draws the
    model, the whole interval must lie below gamma to refute; with fewer, and with ``rule="point"``, the value decides.
    """
    tested = resolve("metrics", Spec.parse(metric))
    if not card("metrics", tested.name).given(tested).fact("higher_is_better", True):
        raise SpecError(f"'{metric}' is better when lower; the test needs a metric with a floor.")
    judges = {check: named("metrics", str(spec))[0] for check, spec in floors(tested, metric, gamma, signs, agreement)}
    memory, solver = Memory(HERE, raises=True), Component("methods", made=method_named(method)[0])
    places = [_place(environment, seed) for seed in seeds]
    asked = [trials(where, solver, Question(), blocks(n, BLOCK, n)) for where in places]
    memory.realise(trial for found in asked for trial in found)
    positive_only = said([memory[trial].data for trial in asked[0]]).positive_only
    checks = checks_for(tuple(judges), positive_only)
    scores = {check: _score(judges[check], asked, n) for check in checks}
    memory.realise(scores.values())
    where = environment if isinstance(environment, str) else describe(environment).name
    found = (_measured(where, check, memory[score].data, rule) for check, score in scores.items())
    result = Verdict(str(method), gamma, tuple(filter(None, found)), positive_only and checks != tuple(judges))
    assert result.found, f"{metric} is undefined on all {n} samples"
    assert result.outcome not in (("refuted", "undecided") if strict else ("refuted",)), str(result)


def _score(judge: Metric, asked: Sequence[Sequence[TrialArtifact]], n: int) -> ScoreArtifact:
    metric = Component("metrics", made=judge)
    return ScoreArtifact(metric, tuple(tuple(evidence(trial, metric) for trial in found) for found in asked), n)


def _measured(where: str, check: Check, score: Mapping[str, Any], rule: Rule) -> Measured | None:
    if score["value"] is None:
        return None
    per_seed = tuple(score["per_seed"])
    return Measured(where, check, score["value"], score["low"], score["high"], score["basis"], per_seed, rule)
