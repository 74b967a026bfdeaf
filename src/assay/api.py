"""The functions of ``import assay``, for notebooks, scripts and tests of other packages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union, Unpack, overload

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from assay.attributed import Attributed
from assay.catalogue.build import component_and_name, describe, method_and_name
from assay.catalogue.registry import card, resolve
from assay.core.errors import SpecError, suggest
from assay.core.evidence import read_score
from assay.core.floors import Check, Rule
from assay.core.machine import Resources
from assay.core.protocols import Environment, Method
from assay.core.question import Question
from assay.core.spec import Spec, Value
from assay.engine.artifacts.artifact import Block, split_blocks
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.model import Place, make_place
from assay.engine.artifacts.score import make_score
from assay.engine.artifacts.trial import make_trials
from assay.engine.execute.inline import MemoryEngine
from assay.engine.execute.run import run as run_study
from assay.engine.store.store import Store
from assay.evaluation.asked import Components, either
from assay.evaluation.canvases import Canvas
from assay.evaluation.evaluation import Evaluation
from assay.evaluation.evaluation import evaluate as evaluate_in_memory
from assay.own_model import USER_PROCESS, own_model
from assay.report.board import Result, result
from assay.report.remarks import method_remarks
from assay.stats.faithfulness import Measured, Verdict, checks_for
from assay.studies.faithfulness import floors
from assay.studies.shipped import find
from assay.studies.study import AGREEMENT, BLOCK, Study
from assay.users.reading import HowRead, Reading
from assay.users.subject import Asking

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[np.generic]
Rows: TypeAlias = Union[Tensor, Array, "pd.DataFrame"]


def environment(name: str, **params: Value) -> Environment:
    """An environment by name or spec, for example ``environment("color_count", side=64, unseen=False)``."""
    return component_and_name("environments", name, params)[0]  # type: ignore[no-any-return]


@overload
def attribute(
    subject: Environment | str,
    method: Method | str | Callable[..., Any],
    n: int = ...,
    seed: int = ...,
    question: Question = ...,
) -> Attributed: ...


@overload
def attribute(
    subject: nn.Module | Any,
    x: Rows,
    method: Method | str | Callable[..., Any],
    /,
    *,
    target: Tensor | Array | int | None = ...,
    reference: Rows | None = ...,
    readout: str | None = ...,
    outputs: str | None = ...,
    output: str | int | None = ...,
    forward: Callable[[Any, Any], Any] | None = ...,
    baseline: str | float | None = ...,
    memory: int = ...,
    **reading: Unpack[HowRead],
) -> Attributed: ...


def attribute(subject: Any, *arguments: Any, **options: Any) -> Attributed:
    """One attribution, to be shown and judged: of samples of an environment, or of rows of your own model.

    ``attribute("color_count", "integrated_gradients", n=8)`` gives the numbers of a study with the same environment,
    method, question and seed. ``attribute(model, x, "integrated_gradients", target=3)`` explains class 3 of each row.

    Parameters
    ----------
    subject : an environment, or its name or spec; or a model: a torch module or an estimator in scikit-learn's manner
    x : with a model, its rows: images (N, C, H, W) or a table (N, D)
    method : a name or spec, one of our methods, an explainer of Captum or shap, your callable, or an array
    n, seed : how many samples of an environment, and of which seed
    question : with an environment, which number is explained against which baseline; default: the environment's
    target : with a model, the class to explain, one for all or one per row; None: the predicted class
    reference, readout, outputs, baseline, memory : with a model, as for ``evaluate``; without reference, the baseline
        of a table is zero

    The result has ``attribution``, ``gap`` (how far the attributions miss the sum that the method promises),
    ``show()`` and ``score(metric)``.
    """
    is_environment = isinstance(subject, str) or (hasattr(subject, "setting") and hasattr(subject, "sample"))
    return (_attribute_samples if is_environment else _attribute_rows)(subject, *arguments, **options)


def _attribute_samples(
    environment: Environment | str, method: Any, n: int = 16, seed: int = 0, question: Question = Question()
) -> Attributed:
    memory = MemoryEngine(USER_PROCESS, raises=True)
    return _attributed(memory, _place(environment, seed), method, question, split_blocks(n, BLOCK, n))


@torch.inference_mode(False)  # methods need gradients, also where the caller is in inference mode
def _attribute_rows(
    model: Any,
    x: Any,
    method: Any,
    *,
    target: Any = None,
    outputs: str | None = None,
    output: str | int | None = None,
    forward: Callable[[Any, Any], Any] | None = None,
    **options: Any,
) -> Attributed:
    known = ("label", "reference", "readout", "baseline", "memory")
    reading = _reading({name: value for name, value in options.items() if name not in known})
    given = {"baseline": None} | {name: value for name, value in options.items() if name in known}
    own = own_model(model, x, target, asking=Asking(outputs, output, forward), reading=reading, **given)
    return _attributed(MemoryEngine(own.machine, raises=True), own.place, method, Question(), own.blocks)


def _attributed(
    memory: MemoryEngine, place: Place, method: Any, question: Question, blocks: tuple[Block, ...]
) -> Attributed:
    instance, name = method_and_name(method)
    trials = make_trials(place, Component("methods", instance=instance), question, blocks)
    memory.realise(trials)
    return Attributed(name, trials, memory)


def _place(environment: Environment | str, seed: int) -> Place:
    instance = component_and_name("environments", environment)[0]
    return make_place(Component("environments", instance=instance), seed, seed)


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
    """Run a study, or what the store lacks of it.

    Parameters
    ----------
    study : the name of a shipped study, a study file, or a Study
    store : the folder of results; default: ``runs/<name of the study>``
    limit : at most so many samples of each environment
    seeds : instead of those of the study
    workers : processes; 0: compute in this one
    scale : quick, as the file is written, or full
    """
    whole_study = (study if isinstance(study, Study) else find(str(study))).at(scale)
    root = Path(store) if store is not None else Path("runs") / whole_study.name
    finished = run_study(whole_study.narrowed(limit, None if seeds is None else tuple(seeds)), root, Resources(workers))
    return Run(root, result(finished.store, finished.run))


def _reading(given: Mapping[str, Any]) -> Reading:
    """How data are read, from keyword arguments; SpecError names those that there are not."""
    names = HowRead.__annotations__
    for name in given:
        if name not in names:
            raise SpecError(f"there is no parameter '{name}'.{suggest(name, names)} Data: {', '.join(names)}.")
    return Reading(**given)


@torch.inference_mode(False)
def evaluate(
    model: nn.Module | Any,
    x: Rows,
    target: Tensor | Array | int | None = None,
    methods: Components | None = None,
    metrics: Components | None = None,
    *,
    label: Tensor | Array | None = None,
    reference: Rows | None = None,
    background: Rows | None = None,
    readout: str | None = None,
    outputs: str | None = None,
    baseline: str | float | None = None,
    canvas: Canvas | Sequence[Canvas] | None = None,
    imputer: Canvas | Sequence[Canvas] | None = None,
    limit: int | None = None,
    budget: float | None = 60.0,
    memory: int = USER_PROCESS.memory,
    output: str | int | None = None,
    forward: Callable[[Any, Any], Any] | None = None,
    **reading: Unpack[HowRead],
) -> Evaluation:
    """Which explanations of your model can you trust? No truth is needed. ``print`` the result.

    Every method is tested against chance: do the features that it names change the model's answer more than others, and
    do its numbers say by how much? ``result.verdict`` has the outcome for each method.

    Parameters
    ----------
    model : a torch module, or an estimator in scikit-learn's manner
    x : rows as the model reads them, floats: images (N, C, H, W) or a table (N, D)
    target : the class to explain, one for all or one per row; None: the predicted class
    methods, metrics : specs and objects, or a dict of them by label; None: those that fit the model, and those that
        decide. Explainers of Captum and shap, arrays and callables are methods, too (docs/evaluate.md)
    label : the true class of each row, for metrics that use accuracy; None: ``target`` if given, else the predictions
    reference : training rows, for what replaces features and for methods that fit; None: the rows themselves.
        ``background`` is another name for it
    readout : the number explained: logit, probability, margin or value; None: what the model returns
    outputs : what the model returns: logits (None, but for an estimator what it has), probabilities or a value
    baseline : what methods compare with: zero, mean (of the reference), uniform (noise) or a number; None: mean for a
        table, zero for images
    canvas : what replaces a removed feature in metrics that do not say it: rows (of the reference, answers averaged),
        mean, blur, colour, zero, ..., a number, or a function (x, keep) -> x; or a list of these. None: two of them.
        ``imputer`` is another name for it: "marginal" is rows, "baseline" what methods compare with
    limit : at most so many rows, the first ones
    budget : seconds that it may take: rows, steps and methods are chosen to fit; None: everything, however long
    memory : bytes for one model call
    """
    reference, canvas = either(reference=reference, background=background), either(canvas=canvas, imputer=imputer)
    own = own_model(
        model,
        x,
        target,
        label=label,
        reference=reference,
        readout=readout,
        asking=Asking(outputs, output, forward),
        baseline=baseline,
        memory=memory,
        own_reference=True,
        reading=_reading(reading),
    )
    return evaluate_in_memory(own, methods, metrics, canvas, limit, budget, reference is not None)


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
    """Raise AssertionError when the environment refutes the method, or cannot: where the best map that the method can
    return scores less than gamma. With ``strict``, also when the test is undecided.

    F1 is checked overall, for positive and for negative truth. With at least three seeds that draw the model, a method
    is refuted where the whole interval lies below gamma. With fewer seeds, or with ``rule="point"``, the value decides.

    Parameters
    ----------
    method : a name or spec, one of our methods, a Captum class, or your callable
    environment : an environment with known truth, or its name or spec
    gamma : the floor of the metric
    metric : one that is better when higher
    n, seeds : how many samples of each seed
    signs : False: only F1 overall decides, as in the paper
    agreement : share of the true effect on which the signs must agree
    rule : interval or point
    strict : raise also where the test is undecided
    """
    metric_spec = resolve("metrics", Spec.parse(metric))
    if not card("metrics", metric_spec.name).with_params(metric_spec).fact("higher_is_better", True):
        raise SpecError(f"'{metric}' is better when lower; the test needs a metric with a floor.")
    metric_by_check = {
        check: Component("metrics", instance=component_and_name("metrics", str(spec))[0])
        for check, spec in floors(metric_spec, metric, gamma, signs, agreement)
    }
    places = [_place(environment, seed) for seed in seeds]
    name = environment if isinstance(environment, str) else describe(environment).name
    checks, measured = _measured(method, places, n, metric_by_check, {"environment": name}, rule)
    verdict = Verdict(str(method), gamma, measured, checks != tuple(metric_by_check))
    if not verdict.measured:
        raise AssertionError(f"{metric} is undefined on all {n} samples")
    if verdict.fails(strict or verdict.outcome == "not testable"):
        raise AssertionError(str(verdict))


def _measured(
    method: Any,
    places: Sequence[Place],
    n: int,
    metric_by_check: Mapping[Check, Component],
    names: Mapping[str, str],
    rule: Rule,
) -> tuple[tuple[Check, ...], tuple[Measured, ...]]:
    """The checks that apply to the method, since one that is positive by design is not asked about signs; and the
    scores of those that are defined."""
    memory, component = (
        MemoryEngine(USER_PROCESS, raises=True),
        Component("methods", instance=method_and_name(method)[0]),
    )
    trials = [make_trials(place, component, Question(), split_blocks(n, BLOCK, n)) for place in places]
    memory.realise(trial for seed_trials in trials for trial in seed_trials)
    remarks = method_remarks([memory[trial].data for trial in trials[0]])
    checks = checks_for(tuple(metric_by_check), remarks.positive_only)
    scores = {check: make_score(metric_by_check[check], trials, n) for check in checks}
    memory.realise(scores.values())
    found = {check: read_score(memory[score], names) for check, score in scores.items()}
    defined = ((check, score) for check, score in found.items() if score.value is not None)
    return checks, tuple(Measured(check, score, rule, remarks.grid) for check, score in defined)
