"""The functions of ``import assay``, for notebooks, scripts and tests of other packages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from assay.artifacts.artifact import split_blocks
from assay.artifacts.component import Component
from assay.artifacts.model import Place, make_place
from assay.artifacts.score import make_score
from assay.artifacts.trial import make_trials
from assay.attributed import Attributed
from assay.catalogue.build import component_and_name, describe, method_and_name
from assay.catalogue.registry import card, resolve
from assay.core.errors import SpecError
from assay.core.evidence import read_score
from assay.core.floors import Rule
from assay.core.machine import Machine, Resources
from assay.core.protocols import Environment, Method
from assay.core.question import Question
from assay.core.setting import Reference, Samples
from assay.core.spec import Spec, Value
from assay.evaluation import Evaluation, by_name
from assay.evaluation import evaluate as evaluate_in_memory
from assay.execute.inline import MemoryEngine
from assay.execute.run import run as run_study
from assay.foreign.inputs import as_classes, as_rows, checked_baseline, checked_classes, checked_rows, dtype_name
from assay.foreign.models import count_outputs, default_readout, own_setting, predictions
from assay.report.board import Result, result
from assay.report.remarks import method_remarks
from assay.report.runs import run_named
from assay.stats.faithfulness import Measured, Verdict, checks_for
from assay.store.store import Store
from assay.study.faithfulness import AGREEMENT, floors
from assay.study.shipped import find
from assay.study.study import BLOCK, METHODS, METRICS, Study
from assay.train.estimator import as_model

if TYPE_CHECKING:
    import pandas as pd

# In a user's process, the allocator returns large buffers to the system after every call, so that many small calls are
# up to five times faster than few large ones. (Our own processes keep pages: core/heap.py.)
USER_PROCESS = Machine(memory=2**26)
Array = npt.NDArray[np.generic]


def environment(name: str, **params: Value) -> Environment:
    """An environment by name or spec, for example ``environment("color_count", side=64, unseen=False)``."""
    return component_and_name("environments", name, params)[0]  # type: ignore[no-any-return]


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
    instance, name = method_and_name(method)
    memory = MemoryEngine(USER_PROCESS, raises=True)
    place = _place(environment, seed)
    trials = make_trials(place, Component("methods", instance=instance), question, split_blocks(n, BLOCK, n))
    memory.realise(trials)
    return Attributed(name, trials, memory)


def _place(environment: Environment | str, seed: int) -> Place:
    return make_place(
        Component("environments", instance=component_and_name("environments", environment)[0]), seed, seed
    )


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run of a study."""

    store: Path
    result: Result

    def scores(self) -> pd.DataFrame:
        """One row per environment, method and metric."""
        from assay.report.export import scores

        return scores(Store.open(self.store, create=False), self.result.run)

    def samples(self) -> pd.DataFrame:
        """One row per environment, method, metric, seed and sample."""
        from assay.report.export import samples

        return samples(Store.open(self.store, create=False), self.result.run)

    def report(self, output: Path | None = None) -> Path:
        """Write the static report; returns the path of its page."""
        from assay.report.page import page

        return page(Store.open(self.store, create=False), output or self.store / "report", self.result.run)


def run(
    study: str | Path | Study,
    store: str | Path | None = None,
    limit: int | None = None,
    seeds: Sequence[int] | None = None,
    workers: int = 0,
    scale: str = "quick",
) -> Run:
    """Run a study, or what the store lacks of it. 0 workers: compute in this process. ``scale`` is quick or full."""
    whole_study = (study if isinstance(study, Study) else find(str(study))).at(scale)
    root = Path(store) if store is not None else Path("runs") / whole_study.name
    finished = run_study(whole_study.narrowed(limit, None if seeds is None else tuple(seeds)), root, Resources(workers))
    results = Store.open(root, create=False)
    return Run(root, result(results, run_named(results, finished.run)))


@torch.inference_mode(False)  # methods need gradients, also where the caller is in inference mode
def evaluate(
    model: nn.Module | Any,
    x: Tensor | Array | pd.DataFrame,
    target: Tensor | Array | int | None = None,
    methods: Sequence[str | Any] = METHODS,
    metrics: Sequence[str | Any] = METRICS,
    *,
    label: Tensor | Array | None = None,
    reference: Tensor | Array | pd.DataFrame | None = None,
    readout: str | None = None,
    outputs: str | None = None,
    baseline: str | float = "zero",
    memory: int = USER_PROCESS.memory,
) -> Evaluation:
    """Score methods on your own model and rows, images (N, C, H, W) or tables (N, D); no truth is needed.

    Its tables are ``scores()`` and ``samples()``. The model is a torch module or an estimator in scikit-learn's manner.
    Methods and metrics are specs or objects. Rows are floats, as the model reads them; arrays get the model's format.

    ``target`` is the class to explain, one for all or one per row; None: the predicted class. ``label`` is the true
    class of each row, for metrics that use accuracy; None: ``target`` if given, else the predictions. ``reference`` are
    training rows, for methods that fit and metrics that prepare. ``outputs`` is what the model returns: logits (None,
    but for an estimator what it has), probabilities or a value; ``readout`` the number explained (None: that).
    """
    model, outputs = as_model(model, outputs)
    rows = checked_rows("x", as_rows("x", x, model))
    question = _question(outputs, readout, checked_baseline(baseline, rows.dtype), target, reference)
    setting = own_setting(model, rows, question, outputs)
    count = count_outputs(setting.model, rows, outputs)
    if outputs == "value" and count > 1 and target is None:
        raise SpecError(f"the model answers with {count} values: give target, the one to explain, 0 to {count - 1}.")
    if not isinstance(memory, Integral) or memory < 1:
        raise SpecError(f"memory={memory!r}: give a number of bytes, as 2**30.")
    machine = Machine(str(rows.device), dtype_name(rows.dtype), int(memory), torch.get_num_threads())

    def classes(name: str, values: Any) -> Tensor:
        numbers = as_classes(name, values).to(rows.device)
        is_single = name == "target" and numbers.dim() == 0
        return checked_classes(name, numbers.repeat(len(rows)) if is_single else numbers, len(rows), count)

    targets = None if target is None else classes("target", target)
    labels = classes("label", label) if label is not None else targets
    labels = predictions(setting.model, rows, outputs, machine) if labels is None else labels
    if reference is not None:
        extra = checked_rows("reference", as_rows("reference", reference, model).to(rows), rows)
        setting = replace(setting, reference=Reference(extra, predictions(setting.model, extra, outputs, machine)))
    named_methods = by_name(method_and_name(method) for method in _checked_list("methods", methods))
    named_metrics = by_name(component_and_name("metrics", metric) for metric in _checked_list("metrics", metrics))
    samples = Samples(rows, labels, None, tuple(range(len(rows))), targets)
    return evaluate_in_memory(setting, samples, named_methods, named_metrics, machine)


def _question(outputs: str, readout: str | None, baseline: str | float, target: object, reference: object) -> Question:
    if baseline == "mean" and reference is None:
        raise SpecError("baseline='mean' is the mean of training rows: give them as reference.")
    return Question(default_readout(outputs, readout), 1.0, baseline, "predicted" if target is None else "label")


def _checked_list(name: str, components: Sequence[Any]) -> Sequence[Any]:
    if isinstance(components, str):
        raise SpecError(f"{name}='{components}': give a list, as in {name}=['{components}'].")
    if not isinstance(components, Iterable):
        raise SpecError(f"{name}={components!r}: give a list of specs or objects.")
    return components


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
    """Raise AssertionError when the environment refutes the method; with ``strict``, also when it is undecided.

    F1 is checked overall, for positive and for negative truth, and the signs must agree on a share ``agreement`` of the
    true effect. Without ``signs``, only F1 overall decides, as in the paper. With at least three seeds that draw the
    model, a method is refuted where the whole interval lies below gamma. With fewer seeds, or with ``rule="point"``,
    the value decides.
    """
    metric_spec = resolve("metrics", Spec.parse(metric))
    if not card("metrics", metric_spec.name).with_params(metric_spec).fact("higher_is_better", True):
        raise SpecError(f"'{metric}' is better when lower; the test needs a metric with a floor.")
    metric_by_check = {
        check: Component("metrics", instance=component_and_name("metrics", str(spec))[0])
        for check, spec in floors(metric_spec, metric, gamma, signs, agreement)
    }
    memory, component = (
        MemoryEngine(USER_PROCESS, raises=True),
        Component("methods", instance=method_and_name(method)[0]),
    )
    places = [_place(environment, seed) for seed in seeds]
    trials = [make_trials(place, component, Question(), split_blocks(n, BLOCK, n)) for place in places]
    memory.realise(trial for seed_trials in trials for trial in seed_trials)
    positive_only = method_remarks([memory[trial].data for trial in trials[0]]).positive_only
    checks = checks_for(tuple(metric_by_check), positive_only)
    scores = {check: make_score(metric_by_check[check], trials, n) for check in checks}
    memory.realise(scores.values())
    environment_name = environment if isinstance(environment, str) else describe(environment).name
    found = {check: read_score(memory[score], {"environment": environment_name}) for check, score in scores.items()}
    measured = tuple(Measured(check, score, rule) for check, score in found.items() if score.value is not None)
    verdict = Verdict(str(method), gamma, measured, positive_only and checks != tuple(metric_by_check))
    assert verdict.measured, f"{metric} is undefined on all {n} samples"
    assert not verdict.fails(strict), str(verdict)
