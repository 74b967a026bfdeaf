"""The plan is the study minus the store, in an order in which every need comes first."""

from dataclasses import replace

import pytest

from assay.core.question import Question
from assay.core.records import Record
from assay.core.registry import resolve
from assay.core.spec import Spec
from assay.execute.inline import Inline
from assay.execute.jobs import FitJob, Judging, ModelJob, ProbeJob, SamplesJob, TrialJob
from assay.execute.plan import _fits, plan
from assay.execute.queue import Queue
from assay.study import grid

FULL = {
    "environments": ["yard:Orchard"],
    "methods": ["yard:Copy", "yard:Fits"],
    "metrics": ["yard:Total", "yard:Probes"],
    "seeds": [0, 1],
    "gallery": 2,
}


def ok(store, *pairs):
    for kind, key in pairs:
        store.put(Record(kind, key, "ok"))


def makes(found):
    return [made for job in found.jobs for made in job.makes]


def wanted(of):
    """The keys of all trials and all evidence of a study."""
    trials, evidence = set(), set()
    for cell in grid.cells(of):
        for block in cell.blocks:
            trials.add(cell.trial(block))
            evidence |= {cell.evidence(metric, block) for metric in grid.metrics(of, cell.environment)}
    return trials, evidence


def test_a_fresh_store_needs_everything_once(study, store):
    found = plan(study(**FULL), store)
    # two seeds: 2 models, 2 fits of one method, 2 probes each, 2 methods x 2 blocks each; samples of the first seed
    assert found.counts() == {"model": 2, "samples": 1, "fit": 2, "probe": 4, "trial": 8}
    assert (found.trials, found.reused) == (8, 0)
    made = [key for _, key in makes(found)]
    assert len(set(made)) == len(made)
    trials, evidence = wanted(study(**FULL))
    assert trials | evidence <= set(made)


def test_needs_come_before_those_who_need_them(study, store):
    known = set()
    for job in plan(study(**FULL), store).jobs:
        assert set(job.needs) <= known
        known |= {key for _, key in job.makes}


def test_nothing_is_trained_fitted_or_probed_for_those_who_do_not_need_it(study, store):
    found = plan(study(), store)
    assert found.counts() == {"trial": 2}
    assert all(job.needs == () for job in found.jobs)


def test_a_finished_study_needs_nothing(study, store):
    ok(store, *makes(plan(study(**FULL), store)))
    found = plan(study(**FULL), store)
    assert (found.jobs, found.trials, found.reused) == ((), 8, 8)


def test_a_partly_finished_study_needs_the_rest(study, store):
    fresh = plan(study(**FULL), store)
    first, *others = [job for job in fresh.jobs if isinstance(job, TrialJob)]
    ok(store, *(made for job in fresh.jobs if not isinstance(job, TrialJob) for made in job.makes), *first.makes)
    found = plan(study(**FULL), store)
    assert list(found.jobs) == others
    assert found.reused == 1


def test_a_known_trial_is_only_judged_by_what_is_missing(study, store):
    fresh = plan(study(metrics=["yard:Total", "yard:Picky"]), store)
    trial, total, _picky = fresh.jobs[0].makes
    ok(store, trial, total)
    first = plan(study(metrics=["yard:Total", "yard:Picky"]), store).jobs[0]
    assert first.known
    assert [judging.metric.name for judging in first.judgings] == ["yard:Picky"]
    assert first.needs == (trial[1],)
    assert [kind for kind, _ in first.makes] == ["evidence"]


def test_a_known_trial_is_not_fitted_again(study, store):
    fresh = plan(study(methods=["yard:Fits"]), store)
    ok(store, *(made for job in fresh.jobs if isinstance(job, TrialJob) for made in job.makes))
    assert plan(study(methods=["yard:Fits"]), store).jobs == ()
    more = plan(study(methods=["yard:Fits"], metrics=["yard:Total", "yard:Picky"]), store)
    assert more.counts() == {"judging": 2}


def test_a_skipped_trial_is_an_answer_and_a_failed_one_is_tried_again(study, store):
    first, second = (job.key for job in plan(study(), store).jobs)
    store.put(Record("trial", first, "skipped", reason="no"))
    store.put(Record("trial", second, "failed", reason="oh"))
    found = plan(study(), store)
    assert [job.key for job in found.jobs] == [second]
    assert (found.trials, found.reused) == (2, 1)
    assert not found.jobs[0].known


def test_failed_evidence_is_judged_again_and_skipped_evidence_is_not(study, store):
    jobs = plan(study(), store).jobs
    ok(store, *(made for job in jobs for made in job.makes if made[0] == "trial"))
    store.put(Record("evidence", jobs[0].judgings[0].key, "failed", reason="oh"))
    store.put(Record("evidence", jobs[1].judgings[0].key, "skipped", reason="no"))
    (left,) = plan(study(), store).jobs
    assert (left.key, left.known) == (jobs[0].key, True)


@pytest.mark.parametrize(
    ("kind", "status", "again"), [("model", "failed", 1), ("model", "skipped", 0), ("model", "ok", 0)]
)
def test_a_failed_model_is_trained_again(study, store, kind, status, again):
    orchard = study(environments=["yard:Orchard"])
    (job,) = [job for job in plan(orchard, store).jobs if isinstance(job, ModelJob)]
    store.put(Record(kind, job.key, status))
    assert plan(orchard, store).counts().get("model", 0) == again


def test_more_samples_keep_what_is_there(study, store):
    ok(store, *makes(plan(study(samples=2), store)))
    found = plan(study(samples=6), store)
    assert [job.block.start for job in found.jobs] == [2, 4]
    assert (found.trials, found.reused) == (3, 1)


def test_two_labels_for_one_thing_are_one_job(study, store):
    twice = study(methods=["yard:Copy", {"use": "yard:Copy(k=1.0)", "label": "again"}])
    found = plan(twice, store)
    assert found.counts() == {"trial": 2}
    assert found.trials == 4


def test_a_probe_is_shared_by_methods_and_asked_for_each_target(study, store):
    methods = ["yard:Copy", "yard:Fits", {"use": "yard:Copy", "label": "p", "question": {"target": "predicted"}}]
    found = plan(study(methods=methods, metrics=["yard:Probes"]), store)
    probes = [job for job in found.jobs if isinstance(job, ProbeJob)]
    assert sorted((job.block.start, str(job.question.target)) for job in probes) == [
        (0, "None"),
        (0, "predicted"),
        (2, "None"),
        (2, "predicted"),
    ]


def test_methods_and_metrics_stay_where_they_belong(study, store):
    found = plan(
        study(
            environments=["yard:Meadow", "yard:Orchard"],
            methods=["yard:Copy", {"use": "yard:Fits", "only": ["yard:Orchard"]}],
            metrics=["yard:Total", {"use": "yard:Probes", "only": ["yard:Meadow"]}],
        ),
        store,
    )
    jobs = [job for job in found.jobs if isinstance(job, TrialJob)]
    seen = {(job.place.environment.name, job.method.name, tuple(j.metric.name for j in job.judgings)) for job in jobs}
    assert seen == {
        ("yard:Meadow", "yard:Copy", ("yard:Total", "yard:Probes")),
        ("yard:Orchard", "yard:Copy", ("yard:Total",)),
        ("yard:Orchard", "yard:Fits", ("yard:Total",)),
    }


def test_the_gallery_asks_for_samples_of_the_first_seed(study, store):
    (job,) = [job for job in plan(study(gallery=3, seeds=[4, 5]), store).jobs if isinstance(job, SamplesJob)]
    assert (job.count, job.place.data_seed) == (3, 4)
    ok(store, ("samples", job.key))
    assert "samples" not in plan(study(gallery=3, seeds=[4, 5]), store).counts()


def test_another_number_format_is_another_study(study, store):
    ok(store, *makes(plan(study(), store)))
    assert plan(study(), store, "float64").counts() == {"trial": 2}


# Jobs.


def trial_job(count=3):
    judgings = tuple(Judging(f"e{index}", Spec("m"), "p" if index == 1 else "") for index in range(count))
    place = next(iter_places())
    return TrialJob("t", place, "model", Spec("a"), Question(), "fit", place_block(), judgings)


def iter_places():
    from assay.study.keys import Place

    yield Place(Spec("e"), 0, 0)


def place_block():
    from assay.study.keys import Block

    return Block(0, 2)


def test_a_trial_needs_its_model_its_fit_and_its_probes_and_itself_when_it_is_known():
    job = trial_job()
    assert job.needs == ("model", "fit", "p")
    assert replace(job, known=True).needs == ("model", "fit", "p", "t")
    assert [key for _, key in job.makes] == ["t", "e0", "e1", "e2"]
    assert [key for _, key in replace(job, known=True).makes] == ["e0", "e1", "e2"]


def test_what_is_left_of_a_trial_is_what_was_not_judged():
    job = trial_job()
    left = job.without({"t", "e0"})
    assert left.known
    assert [judging.key for judging in left.judgings] == ["e1", "e2"]
    assert job.without({"t", "e0", "e1", "e2"}) is None
    assert job.without(set()) is None  # the trial itself went down


# What has something to fit.


def full(text):
    return resolve("methods", Spec.parse(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gradient", False),
        ("agop", True),
        ("smoothed(of=agop)", True),
        ("smoothed(of=gradient)", False),
        ("absolute(of=pooled(of=agop))", True),
        ("yard:Fits", True),
        ("yard:Copy", False),
        ("yard:Both(of=(agop, gradient))", True),
    ],
)
def test_a_method_is_fitted_when_it_or_what_is_inside_fits(text, expected):
    assert _fits(full(text)) is expected


# Faults.


def test_a_combinator_that_fits_itself_is_fitted():
    assert _fits(full("yard:Around(of=gradient)"))


def test_two_labels_of_one_environment_keep_the_metrics_of_both(study, store):
    double = study(
        environments=[{"use": "yard:Meadow", "label": "A"}, {"use": "yard:Meadow", "label": "B"}],
        metrics=[{"use": "yard:Total", "only": ["A"]}, {"use": "yard:Picky", "only": ["B"]}],
    )
    _, evidence = wanted(double)
    assert evidence <= {key for _, key in makes(plan(double, store))}


def test_a_trial_without_its_arrays_is_computed_again(study, store):
    for record in Inline().run(plan(study(), store).jobs, store):
        store.put(record)
    gone = store.records("trial")[0]
    store.arrays.path(gone.arrays).unlink()
    more = plan(study(metrics=["yard:Total", "yard:Picky"]), store)
    assert {job.key: job.known for job in more.jobs}[gone.key] is False


# The queue.


def test_a_job_starts_when_its_needs_are_known_and_gets_them(study, store):
    jobs = plan(study(**FULL), store).jobs
    queue = Queue(jobs, store)
    order = []
    while (found := queue.next()) is not None:
        job, records = found
        assert set(records) == set(job.needs)
        order.append(job)
        for kind, key in job.makes:
            queue.learn(Record(kind, key, "ok"))
    assert not queue
    assert sorted(job.key for job in order) == sorted(job.key for job in jobs)


def test_jobs_that_wait_let_others_pass(study, store):
    queue = Queue(plan(study(**FULL), store).jobs, store)
    first, _ = queue.next()
    second, _ = queue.next()
    assert isinstance(first, ModelJob)
    assert isinstance(second, ModelJob)
    assert queue.next() is None  # everything else needs a model
    assert queue
    queue.learn(Record("model", first.key, "ok"))
    third, records = queue.next()
    assert isinstance(third, SamplesJob | FitJob | ProbeJob)
    assert records == {first.key: Record("model", first.key, "ok")}


def test_a_queue_takes_from_the_store_what_no_job_makes(study, store):
    fresh = plan(study(**FULL), store)
    model = next(job for job in fresh.jobs if isinstance(job, ModelJob))
    ok(store, ("model", model.key))
    queue = Queue(plan(study(**FULL), store).jobs, store)
    assert queue.records == {model.key: store.get(model.key)}


def test_a_queue_keeps_only_what_somebody_needs(study, store):
    queue = Queue(plan(study(**FULL), store).jobs, store)
    queue.learn(Record("evidence", "nobody needs this", "ok"))
    assert queue.records == {}


def test_what_is_put_back_comes_first_and_may_need_more(study, store):
    queue = Queue(plan(study(samples=6), store).jobs, store)
    job, _ = queue.next()
    rest = replace(job, known=True)
    queue.again(rest)
    passing, _ = queue.next()
    assert passing.block.start == 2  # the rest needs its own trial, which is not known yet
    queue.learn(Record("trial", job.key, "ok"))
    found, records = queue.next()
    assert found == rest
    assert list(records) == [job.key]


def test_a_failed_need_is_known_too(study, store):
    queue = Queue(plan(study(environments=["yard:Orchard"]), store).jobs, store)
    model, _ = queue.next()
    queue.learn(Record("model", model.key, "failed", reason="oh"))
    _, records = queue.next()
    assert records[model.key].status == "failed"
