"""Doing a job: from the data that describes it to the records it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from assay.core.errors import AssayError
from assay.core.evidence import Evidence
from assay.core.global_streams import lent
from assay.core.protocols import Preparing, Probing
from assay.core.query import Query
from assay.core.records import Kind, Record
from assay.core.registry import stream_name
from assay.core.setting import Samples
from assay.core.trial import Trial
from assay.execute import models
from assay.execute.desk import Desk, numpy_arrays
from assay.execute.jobs import FitJob, Job, Judging, ModelJob, PrepareJob, ProbeJob, SamplesJob, TrialJob
from assay.execute.outcome import Arrays, Made, outcome, require
from assay.execute.trial import (
    answered,
    explainer,
    fit,
    pose,
    prepare,
    reference_samples,
)
from assay.study.keys import Block, evidence_key

Records = Mapping[str, Record]
T = TypeVar("T")


def perform(job: Job, records: Records, desk: Desk) -> Iterator[Record]:
    """The job's records, each as soon as it is there. ``records`` has everything in ``job.needs``."""
    match job:
        case ModelJob():
            yield _outcome("model", job, lambda: _model(job, desk), desk)
        case SamplesJob():
            yield _outcome("samples", job, lambda: _samples(job, records, desk), desk)
        case FitJob():
            yield _outcome("fit", job, lambda: _fit(job, records, desk), desk)
        case ProbeJob():
            yield _outcome("probe", job, lambda: _probe(job, records, desk), desk)
        case PrepareJob():
            yield _outcome("prepared", job, lambda: _prepare(job, records, desk), desk)
        case TrialJob():
            yield from _trial(job, records, desk)


def _outcome(kind: Kind, job: Job, work: Callable[[], Made], desk: Desk) -> Record:
    return outcome(kind, job.key, lambda: _unless_changed(work(), job.key, job.now), desk.save)


def _unless_changed(made: T, planned: str, now: str) -> T:
    """What was made, if code, weights and data are what its key says: that was planned before, in another process."""
    if now != planned:
        raise AssayError(
            "what this rests on (code, weights, attributes of a model, data) was changed during the run, or is not the "
            "same in every process: run the study again"
        )
    return made


def _model(job: ModelJob, desk: Desk) -> Made:
    environment = desk.component("environments", job.place.environment)

    def made() -> Arrays:
        with lent():
            trained = environment.train(job.place.seed)
        return _unless_changed(numpy_arrays(trained), job.key, job.now)

    weights = models.fetch(job.key, made)
    return Made(weights, {"environment": str(job.place.environment), "seed": job.place.seed})


def _samples(job: SamplesJob, records: Records, desk: Desk) -> Made:
    setting = desk.setting(job.place, job.model, records)
    samples = desk.samples(job.place, Block(0, job.count))
    arrays = {"x": samples.x, "label": samples.label}
    if samples.truth is not None:
        arrays["effect"] = samples.truth.effect
    features = setting.features
    data: dict[str, Any] = {
        "kind": setting.kind,
        "entries": list(features.entries),
        "features": list(features.shape),
        "names": list(getattr(features, "names", ())),
        "groups": list(getattr(features, "groups", ())),
        "classes": list(setting.classes),
    }
    return Made(numpy_arrays(arrays), data)


def _fit(job: FitJob, records: Records, desk: Desk) -> Made:
    method = desk.component("methods", job.method)
    if not hasattr(method, "fit"):
        return Made({}, {})  # a combinator around a method that fits nothing
    setting = desk.setting(job.place, job.model, records)
    found = fit(method, setting, job.question, _fit_stream(job), desk.machine)
    return Made(numpy_arrays(found), {"method": str(job.method)})


def _probe(job: ProbeJob, records: Records, desk: Desk) -> Made:
    metric = desk.component("metrics", job.metric)
    assert isinstance(metric, Probing)
    setting = desk.setting(job.place, job.model, records)
    samples = desk.samples(job.place, job.block)
    scene = desk.scene(job.place, setting, samples, job.question, job.metric)
    return Made(
        numpy_arrays(metric.probe(scene)), {"metric": str(job.metric), "block": [job.block.start, job.block.stop]}
    )


def _prepare(job: PrepareJob, records: Records, desk: Desk) -> Made:
    metric = desk.component("metrics", job.metric)
    assert isinstance(metric, Preparing)
    setting = desk.setting(job.place, job.model, records)
    rows = reference_samples(setting, "prepare")
    # Like a fit, it sees no evaluated sample: its random numbers know no data seed.
    stream = ("metric", str(job.metric), *job.place.fit_stream)
    scene = replace(desk.scene(job.place, setting, rows, job.question, job.metric), stream=stream)
    query = replace(
        _query(job, rows, records, desk), stream=("method", stream_name("methods", job.method), *job.place.fit_stream)
    )
    found = prepare(metric, desk.component("methods", job.method), query, scene)
    return Made(numpy_arrays(found), {"metric": str(job.metric), "method": str(job.method)})


def _trial(job: TrialJob, records: Records, desk: Desk) -> Iterator[Record]:
    trial = records[job.key] if job.known else _outcome("trial", job, lambda: _attribute(job, records, desk), desk)
    if not job.known:
        yield trial
    if trial.status != "ok":
        return  # nothing to judge; the trial's own record says why
    for judging in job.judgings:
        yield outcome("evidence", judging.key, partial(_judged, job, judging, trial, records, desk), desk.save)


def _attribute(job: TrialJob, records: Records, desk: Desk) -> Made:
    method = desk.component("methods", job.method)
    query = _query(job, desk.samples(job.place, job.block), records, desk)
    found = answered(method, query)
    data = {
        "environment": str(job.place.environment),
        "method": str(job.method),
        "seed": job.place.seed,
        "block": [job.block.start, job.block.stop],
        "question": query.question.to_json(),
        "environment_question": query.setting.question.to_json(),  # which metrics ask where they leave it open
        "outputs": query.setting.outputs,
        **found.facts(),
    }
    arrays = {
        "attribution": found.attribution,
        "resolution": found.resolution,
        "promised": found.promised,
        "gap": found.gap,
    }
    return Made(numpy_arrays({name: array for name, array in arrays.items() if array is not None}), data)


def _judged(job: TrialJob, judging: Judging, trial: Record, records: Records, desk: Desk) -> Made:
    made = _judge(job, judging, trial, records, desk)
    return _unless_changed(made, judging.key, evidence_key(job.now, judging.metric))


def _judge(job: TrialJob, judging: Judging, trial: Record, records: Records, desk: Desk) -> Made:
    answer = desk.tensors(trial)
    metric = desk.component("metrics", judging.metric)
    setting = desk.setting(job.place, job.model, records)
    samples = desk.samples(job.place, job.block)
    scene = desk.scene(job.place, setting, samples, job.question, judging.metric)
    probe = desk.tensors(require(records, judging.probe)) if judging.probe else {}
    prepared = desk.tensors(require(records, judging.prepared)) if judging.prepared else {}
    explain = None
    if judging.again:
        query = _query(job, scene.samples, records, desk)
        explain = explainer(desk.component("methods", job.method), query, _fit_stream(job))
    evidence: Evidence = metric(Trial(scene, answer["attribution"], probe, prepared, explain, answer.get("resolution")))
    _check_evidence(evidence, len(samples))
    return Made(evidence.to_arrays(), {"metric": str(judging.metric), "trial": job.key})


def _query(job: PrepareJob | TrialJob, samples: Samples, records: Records, desk: Desk) -> Query:
    """The question as it is put to the method, with what its fit found."""
    setting = desk.setting(job.place, job.model, records)
    stream = ("method", stream_name("methods", job.method), *job.place.stream)
    fitted = desk.tensors(require(records, job.fit)) if job.fit else {}
    return replace(pose(setting, samples, job.question, stream, desk.machine), fitted=fitted)


def _fit_stream(job: FitJob | TrialJob) -> tuple[str | int, ...]:
    return ("fit", stream_name("methods", job.method), *job.place.fit_stream)


def _check_evidence(evidence: Evidence, count: int) -> None:
    for name, rows in evidence.rows.items():
        if len(rows) != count:
            raise ValueError(f"the metric returned {len(rows)} rows of '{name}' for {count} samples")
        if not np.isfinite(rows.astype(np.float64)).all():
            raise ValueError(f"the metric returned NaN or infinite values in '{name}'; undefined is defined=False")
