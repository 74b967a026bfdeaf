"""Verdicts of assay evaluate where truth is known but hidden: ``python -m benchmarks.verdict_validation``.

Every seed of an environment is a model with rows. The methods that ``assay evaluate`` would choose are judged as a user
would see it, with the canvases of that kind of data. Beside them stand null maps, which say nothing about the model:
random ones, maps of real methods shuffled within each row, and maps of real methods on a copy of the model with new
weights. Each null gets a verdict as one further method beside the real ones.

Truth is not part of any verdict. In tables it is the signed rank correlation with the effects of the rule, on rows that
the model predicts correctly: order and size read signs, few columns have an effect, and sizes differ. For images and
tokens, whose effects are -1, 0 and 1, it is F1. Both know the best score that a map can reach, the ceiling.
``--centred`` takes, for tables with a rule, the effects on the label's score minus the mean score of all classes: a
network that is trained by its softmax learns scores only up to what all classes have in common.
``--json FILE`` also writes every verdict to a file.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import combinations, cycle, islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy
import torch
from torch import Tensor

from assay.catalogue.build import build
from assay.catalogue.registry import resolve
from assay.core.machine import Machine
from assay.core.protocols import Method
from assay.core.query import Query
from assay.core.setting import Samples, Setting, Truth
from assay.core.spec import Spec
from assay.core.trial import per_feature
from assay.engine.artifacts.artifact import default_block_size
from assay.engine.execute.run import run_in_memory
from assay.evaluation.canvases import canvases, on_canvases
from assay.evaluation.defaults import METRICS, default_methods
from assay.evaluation.plan import SAVINGS
from assay.metrics.sanity import layer_names, reinitialised
from assay.report.answer import OUTCOMES, judged
from assay.report.board import result
from assay.report.components import by_label
from assay.stats.judged import Judged
from assay.stats.method_verdicts import method_verdicts
from assay.studies.study import Entry, Study
from benchmarks.tables import Row, markdown

TRAINED = "train_rows=4000, epochs=60, hidden=(64, 64)"
ENVIRONMENTS = {
    "linear": "linear(shape=(20,))",
    "rule, linear": f"tabular_rule(task='linear', {TRAINED})",
    "rule, sparse": f"tabular_rule(task='sparse', {TRAINED})",
    "rule, interaction": f"tabular_rule(task='interaction', {TRAINED})",
    "colours": "color_count(side=32, reference=200, forward='program', unseen=False)",
    "colours, unseen": "color_count(side=32, reference=200, forward='program', unseen=True)",
    "tokens": "token_count(length=10)",
}
MOST_ROWS = {"image": 32}  # by kind: images take longer. assay evaluate goes no lower of its own accord
SAVED = {"image": SAVINGS[1]}  # and has then as many steps and sets as here
QUICKER = {"image": {"integrated_gradients": "integrated_gradients(most=512)"}}
FURTHER = {"tokens": ("feature_ablation", "attention_rollout", "chefer_relevance")}  # by kind, where they apply
TRUTHS = {"table": "spearman(absolute=False, samples='correct')", "image": "f1(truth='signed')"}
TRUTHS["tokens"] = TRUTHS["image"]
TRUTH = "truth"  # its label
NO_NULL = {"edge_map", "integrated_gradients", "kernel_shap", "exact_shapley", "lrp"}  # control, slow, not everywhere
NULLS = {"random": 7, "shuffled": 7, "new weights": 6}  # of each seed
REAL = "real"
GOOD, REFUTED = 0.8, 0.5  # of the ceiling
LEAST_CEILING = 0.5  # where no map can score more, truth tells little
SAMPLINGS = 5  # of the first model
APART = 1000  # between the first rows of two samplings
ALL = "all"


@dataclass(frozen=True)
class RandomMap:
    """A null: standard normal numbers."""

    copy: int

    @property
    def stream_name(self) -> str:
        return f"null random {self.copy}"

    def __call__(self, query: Query) -> Tensor:
        return query.draws("map").normal(*query.setting.features.shape).to(query.x)


@dataclass(frozen=True)
class Shuffled:
    """A null: a method's map with its values in random order, anew in each row."""

    of: Method
    copy: int

    @property
    def stream_name(self) -> str:
        return f"null shuffled {self.copy}"

    def __call__(self, query: Query) -> Tensor:
        values = per_feature(self.of(query), query.setting.features)
        order = query.draws("order").permutations(values[0].numel()).to(values.device)
        return values.flatten(1).gather(1, order).view_as(values)


@dataclass(frozen=True)
class NewWeights:
    """A null: a method's map of a copy of the model in which every layer has new weights."""

    of: Method
    copy: int

    @property
    def stream_name(self) -> str:
        return f"null new weights {self.copy}"

    def __call__(self, query: Query) -> Tensor:
        model = query.setting.model
        other = reinitialised(model, layer_names(model), lambda name: query.generator(f"layer {name}"))
        return self.of(replace(query, setting=replace(query.setting, model=other, forward=None)))


@dataclass(frozen=True, eq=False)
class Shown:
    """One model of an environment with several samplings of rows: the seed of a study is the sampling."""

    environment: Any
    model: Setting
    seed: int
    stream_name: str
    centred: bool = False  # truth is about a score minus the mean of all classes

    draws_model: ClassVar[bool] = False

    def setting(self, _seed: int, _weights: Mapping[str, Tensor]) -> Setting:
        return self.model

    def sample(self, indices: Sequence[int], sampling: int) -> Samples:
        rows = [sampling * APART + index for index in indices]
        found: Samples = self.environment.sample(rows, self.seed)
        if self.centred and found.truth is not None:
            found = replace(found, truth=Truth(found.truth.effect - self._common(found.x)))
        return replace(found, indices=tuple(indices))

    def _common(self, x: Tensor) -> Tensor:
        """The effect on the mean score."""
        point = x.double().requires_grad_()
        with torch.enable_grad():
            (slope,) = torch.autograd.grad(self.environment.program(point, self.seed).mean(dim=1).sum(), point)
        return (point.detach() * slope).float()


@dataclass(frozen=True)
class Job:
    """One evaluation."""

    environment: str  # a label
    spec: str
    seed: int
    sampling: int
    rows: int
    centred: bool = False

    def found(self) -> list[Found]:
        torch.set_num_threads(1)
        return list(_found(self))


@dataclass(frozen=True)
class Found:
    """The verdict on one method or null."""

    environment: str
    seed: int
    sampling: int
    canvas: str  # a single one, or all
    method: str
    kind: str  # of null, or real
    outcome: str
    relative: float | None = None  # truth score over ceiling; None for nulls, and where the ceiling is too low


def jobs(rows: int, seeds: int, environments: Mapping[str, str] = ENVIRONMENTS, centred: bool = False) -> list[Job]:
    """All seeds, then further samplings of the first; slow environments first."""
    places = [(seed, 0) for seed in range(seeds)] + [(0, sampling) for sampling in range(1, SAMPLINGS)]
    ordered = sorted(environments.items(), key=lambda item: "color_count" not in item[1])
    return [Job(name, spec, seed, sampling, rows, centred) for name, spec in ordered for seed, sampling in places]


def shown(job: Job) -> Shown:
    environment = build("environments", resolve("environments", Spec.parse(job.spec)))
    weights = environment.train(job.seed) if hasattr(environment, "train") else {}
    model = environment.setting(job.seed, weights)
    centred = job.centred and job.spec.startswith("tabular_rule")
    return Shown(environment, model, job.seed, f"validation {job.environment} {job.seed}", centred)


def method_specs(place: Shown) -> list[Spec]:
    """The methods that ``assay evaluate`` would choose, without random maps, which are chance itself."""
    kind = place.model.kind
    chosen, _ = default_methods(place.model, place.sample(range(2), 0))
    names = dict.fromkeys((*chosen, *FURTHER.get(kind, ())))
    return [Spec.parse(QUICKER.get(kind, {}).get(name, name)) for name in names if name != "random_map"]


def null_methods(specs: Sequence[Spec], model: Setting) -> dict[str, tuple[str, Any]]:
    """By label: kind and object. Inner methods take turns; those with a fit are left out."""
    built = [build("methods", resolve("methods", spec)) for spec in specs if spec.name not in NO_NULL]
    inner = [method for method in built if not hasattr(method, "fit")]
    counts = dict(NULLS)
    if not layer_names(model.model):
        counts["shuffled"] += counts.pop("new weights")
    makers: dict[str, Any] = {"shuffled": Shuffled, "new weights": NewWeights}
    nulls: dict[str, tuple[str, Any]] = {}
    for kind, count in counts.items():
        for copy, method in enumerate(islice(cycle(inner), count)):
            null = RandomMap(copy) if kind == "random" else makers[kind](method, copy)
            nulls[f"null, {kind} {copy}"] = (kind, null)
    return nulls


def metric_entries(kind: str) -> list[Entry]:
    """Those that decide, on the canvases of this kind of data; and truth."""
    chosen = canvases(kind, None, "")
    saved = SAVED.get(kind, {})
    decide = [
        item
        for label, name in METRICS
        for item in on_canvases(label, Spec(name).replace(**saved.get(name, {})), chosen)
    ]
    pairs = [(f"{label} {canvas}", spec) for label, spec, canvas in decide]
    return [Entry(resolve("metrics", spec), label) for label, spec in (*pairs, (TRUTH, Spec.parse(TRUTHS[kind])))]


def _found(job: Job) -> Iterator[Found]:
    place = shown(job)
    kind, specs = place.model.kind, method_specs(place)
    nulls = null_methods(specs, place.model) if job.sampling == 0 else {}
    methods = [Entry(resolve("methods", spec), str(spec)) for spec in specs]
    methods += [Entry(Spec(f"null_{index}"), label) for index, label in enumerate(nulls)]
    spec = resolve("environments", Spec.parse(job.spec))
    entry = Entry(
        spec, job.environment, samples=min(job.rows, MOST_ROWS.get(kind, APART)), block=default_block_size(kind)
    )
    study = Study("validation", (entry,), tuple(methods), tuple(metric_entries(kind)), seeds=(job.sampling,), gallery=0)
    objects: dict[tuple[str, str], Any] = {("methods", label): null for label, (_, null) in nulls.items()}
    finished = run_in_memory(study, {**objects, ("environments", job.environment): place}, Machine())
    board_result = result(finished.store, finished.run)
    (board,) = board_result.boards
    if failed := board_result.failed():
        raise RuntimeError(f"{job}: {failed[0].method} by {failed[0].metric} failed: {failed[0].reason}")
    values = judged(finished.run, finished.store, board, board_result.records)
    controls = [label for label, one in by_label(finished.run, "methods").items() if one.control]
    relative = {line.method: relative_truth(line.cells[TRUTH].value, line.cells[TRUTH].ceiling) for line in board.lines}
    skipped = {score.method for score in board_result.skipped()}
    real = [str(spec) for spec in specs if str(spec) not in (*controls, *skipped)]
    kinds = {label: kind for label, (kind, _) in nulls.items()}
    for canvas, method, outcome in verdicts(values, real, kinds, controls):
        of_truth = relative[method] if method in real else None
        yield Found(job.environment, job.seed, job.sampling, canvas, method, kinds.get(method, REAL), outcome, of_truth)


def relative_truth(score: float | None, ceiling: float | None) -> float | None:
    """Score over ceiling."""
    ceiling = 1.0 if ceiling is None else ceiling
    return None if score is None or ceiling < LEAST_CEILING else score / ceiling


def verdicts(
    values: Sequence[Judged], real: Sequence[str], nulls: Sequence[str] | Mapping[str, str], controls: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """Canvas, method and outcome: of real methods among each other, and of each null as one more method."""
    every = list(dict.fromkeys(cell.canvas for cell in values))
    for canvas in (ALL, *(every if len(every) > 1 else ())):
        here = [cell for cell in values if canvas in (ALL, cell.canvas)]
        known = [cell for cell in here if cell.method in (*real, *controls)]
        yield from ((canvas, one.method, one.outcome) for one in method_verdicts(known, controls).methods)
        for null in nulls:
            with_null = [*known, *(cell for cell in here if cell.method == null)]
            yield canvas, null, method_verdicts(with_null, controls)[null].outcome


def clustered(hits: Sequence[tuple[Any, bool]]) -> str:
    """The share of hits with its 95 % interval over clusters, which come first: Student's t for a ratio. Where all
    clusters agree, Clopper and Pearson's, as if each were a single draw."""
    if not hits:
        return "none"
    names = list(dict.fromkeys(cluster for cluster, _ in hits))
    found = np.array([sum(hit for cluster, hit in hits if cluster == name) for name in names], float)
    sizes = np.array([sum(cluster == name for cluster, _ in hits) for name in names], float)
    share, count = float(found.sum() / sizes.sum()), len(names)
    if share in (0.0, 1.0) or count == 1:
        miss = float(scipy.special.betaincinv(1, count, 0.975))
        low, high = (0.0, miss) if share == 0 else (1 - miss, 1.0) if share == 1 else (0.0, 1.0)
    else:
        error = math.sqrt(count / (count - 1) * float(((found - share * sizes) ** 2).sum())) / float(sizes.sum())
        half = float(scipy.stats.t.ppf(0.975, count - 1)) * error
        low, high = max(0.0, share - half), min(1.0, share + half)
    return f"{share:.2f} [{low:.2f}, {high:.2f}]"


def groups(found: Sequence[Found], single: bool = True) -> Iterator[tuple[str, str, list[Found]]]:
    """By environment and canvas; at last all environments, on all canvases."""
    for name, canvas in dict.fromkeys((one.environment, one.canvas) for one in found):
        if single or canvas == ALL:
            yield name, canvas, [one for one in found if (one.environment, one.canvas) == (name, canvas)]
    yield "every one", ALL, [one for one in found if one.canvas == ALL]


def _hits(found: Sequence[Found]) -> list[tuple[Any, bool]]:
    return [((one.environment, one.seed), one.outcome == "passes") for one in found]


def _counts(found: Sequence[Found]) -> str:
    counts = Counter(one.outcome for one in found)
    return ", ".join(f"{outcome} {counts[outcome]}" for outcome in OUTCOMES if counts[outcome]) or "none"


def nulls_table(found: Sequence[Found]) -> Iterator[Row]:
    """The share of nulls that pass."""
    nulls = [one for one in found if one.kind != REAL]
    for name, canvas, here in groups(nulls):
        kinds = {f"{kind} passes": clustered(_hits([one for one in here if one.kind == kind])) for kind in NULLS}
        yield {"environment": name, "canvas": canvas, "nulls": len(here), **kinds, "any passes": clustered(_hits(here))}


def outcomes_table(found: Sequence[Found]) -> Iterator[Row]:
    """The share of each verdict among nulls, on all canvases."""
    nulls = [one for one in found if one.kind != REAL]
    for name, _, here in groups(nulls, single=False):
        for kind in NULLS:
            ours = [one for one in here if one.kind == kind]
            counts = Counter(one.outcome for one in ours)
            shares = {outcome: f"{counts[outcome] / max(1, len(ours)):.2f}" for outcome in OUTCOMES}
            if ours:
                yield {"environment": name, "null": kind, **shares}


def truth_table(found: Sequence[Found]) -> Iterator[Row]:
    """What methods get that truth refutes, or finds good."""
    real = [one for one in found if one.kind == REAL and one.sampling == 0]
    for name, canvas, here in groups(real):
        refuted = [one for one in here if one.relative is not None and one.relative <= REFUTED]
        good = [one for one in here if one.relative is not None and one.relative >= GOOD]
        missed = [(cluster, not hit) for cluster, hit in _hits(good)]
        yield {
            "environment": name,
            "canvas": canvas,
            "refuted pass": clustered(_hits(refuted)),
            "refuted get": _counts(refuted),
            "good do not pass": clustered(missed),
            "good get": _counts(good),
        }


def methods_table(found: Sequence[Found]) -> Iterator[Row]:
    """By method, on all canvases: its truth score, and its verdicts."""
    real = [one for one in found if one.kind == REAL and one.sampling == 0 and one.canvas == ALL]
    for name, method in dict.fromkeys((one.environment, one.method) for one in real):
        here = [one for one in real if (one.environment, one.method) == (name, method)]
        relative = [one.relative for one in here if one.relative is not None]
        mean = f"{sum(relative) / len(relative):.2f}" if relative else "none"
        yield {"environment": name, "method": method, "truth / ceiling": mean, "verdicts": _counts(here)}


def flips_table(found: Sequence[Found]) -> Iterator[Row]:
    """How often the verdict on a method differs between two samplings of rows of the same model."""
    real = [one for one in found if one.kind == REAL and one.seed == 0]
    for name, canvas, here in groups(real):
        by_method: dict[tuple[str, str], list[str]] = {}
        for one in here:
            by_method.setdefault((one.environment, one.method), []).append(one.outcome)
        pairs = [first != second for outcomes in by_method.values() for first, second in combinations(outcomes, 2)]
        passing = [
            (first == "passes") != (second == "passes")
            for outcomes in by_method.values()
            for first, second in combinations(outcomes, 2)
        ]
        yield {
            "environment": name,
            "canvas": canvas,
            "methods": len(by_method),
            "with several verdicts": sum(len(set(outcomes)) > 1 for outcomes in by_method.values()),
            "pairs that differ": f"{sum(pairs) / len(pairs):.2f}" if pairs else "none",
            "pairs that differ in passing": f"{sum(passing) / len(pairs):.2f}" if pairs else "none",
        }


def tables(found: Sequence[Found]) -> dict[str, tuple[list[Row], int]]:
    """By name: rows, and how many of the columns are text."""
    return {
        "nulls": (list(nulls_table(found)), 2),
        "outcomes": (list(outcomes_table(found)), 2),
        "truth": (list(truth_table(found)), 2),
        "methods": (list(methods_table(found)), 2),
        "flips": (list(flips_table(found)), 2),
    }


def validate(todo: Sequence[Job], workers: int = 1) -> list[Found]:
    """All verdicts, in the order of the environments."""
    if workers < 2:
        parts = list(_told(map(Job.found, todo), todo))
    else:
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            parts = list(_told(pool.map(Job.found, todo), todo))
    names = list(ENVIRONMENTS)
    every = [one for part in parts for one in part]
    return sorted(every, key=lambda one: names.index(one.environment) if one.environment in names else len(names))


def _told(parts: Iterable[list[Found]], todo: Sequence[Job]) -> Iterator[list[Found]]:
    """The same, with a line for each on the error stream."""
    for number, (part, job) in enumerate(zip(parts, todo, strict=True), 1):
        print(f"{number} of {len(todo)}: {job.environment}, seed {job.seed}", file=sys.stderr, flush=True)
        yield part


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seeds", type=int, default=10, help="of each environment")
    parser.add_argument("--rows", type=int, default=48, help=f"of each evaluation, at most {APART}")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--only", choices=ENVIRONMENTS, action="append", help="an environment; all")
    parser.add_argument("--centred", action="store_true", help="truth of rules: scores minus their mean over classes")
    parser.add_argument("--json", type=Path, help="a file for all verdicts and tables")
    options = parser.parse_args(arguments)
    began = time.perf_counter()
    chosen = {name: spec for name, spec in ENVIRONMENTS.items() if name in (options.only or ENVIRONMENTS)}
    found = validate(jobs(min(options.rows, APART), options.seeds, chosen, options.centred), options.workers)
    made = tables(found)
    for rows, texts in made.values():
        print("\n".join(markdown(rows, texts)), end="\n\n", flush=True)
    print(f"{options.seeds} seeds, {options.rows} rows, {time.perf_counter() - began:.0f} s, {options.workers} workers")
    if options.json:
        plain = {"tables": {name: rows for name, (rows, _) in made.items()}, "found": [asdict(one) for one in found]}
        options.json.write_text(json.dumps(plain, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
