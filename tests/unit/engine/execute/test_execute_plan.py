"""The plan is the study minus the store, in an order in which every need comes first."""

import pytest

from assay.core.records import Record
from assay.engine.execute.grid import grid
from assay.engine.execute.plan import missing
from yard_study import finish, here, small, todo

FULL = {
    "environments": ["yard:Orchard"],
    "methods": ["yard:Copy", "yard:Fits"],
    "metrics": ["yard:Total", "yard:Probes"],
    "seeds": [0, 1],
    "gallery": 2,
}


def put(store, *artifacts, status="ok"):
    """Say of these artifacts that they ended so, without arrays."""
    for artifact in artifacts:
        store.put(Record(artifact.kind, artifact.key, status))


def of_kind(found, *kinds):
    return [artifact for artifact in found.artifacts if artifact.kind in kinds]


def test_a_fresh_store_needs_everything_once(study, store):
    found = todo(study(**FULL), store)
    # two seeds: 2 models, 2 fits of one method, 2 probes each, 2 methods x 2 blocks each; samples of the first seed
    counts = {"model": 2, "samples": 1, "fit": 2, "probe": 4, "trial": 8, "evidence": 16, "score": 4}
    assert found.kinds == counts
    assert len(found.artifacts) == sum(counts.values())
    assert (found.trials, found.reused) == (8, 0)
    keys = [artifact.key for artifact in found.artifacts]
    assert len(set(keys)) == len(keys)
    assert {artifact.key for artifact in grid(study(**FULL)).wanted} <= set(keys)


def test_needs_come_before_those_who_need_them(study, store):
    known = set()
    for artifact in todo(study(**FULL), store).artifacts:
        assert {need.key for need in artifact.needs} <= known
        known.add(artifact.key)


def test_nothing_is_trained_fitted_or_probed_for_those_who_do_not_need_it(study, store):
    found = todo(study(), store)
    assert found.kinds == {"trial": 2, "evidence": 2, "score": 1}
    assert all(trial.needs == () for trial in of_kind(found, "trial"))


def test_a_finished_study_needs_nothing(study, store):
    put(store, *todo(study(**FULL), store).artifacts)
    found = todo(study(**FULL), store)
    assert (found.artifacts, found.trials, found.reused) == ((), 8, 8)


def test_a_partly_finished_study_needs_the_rest(study, store):
    fresh = todo(study(**FULL), store)
    first, *others = of_kind(fresh, "trial")
    put(store, *of_kind(fresh, "model", "samples", "fit", "probe"), first)
    put(store, *(found for found in of_kind(fresh, "evidence") if found.trial.key == first.key))
    found = todo(study(**FULL), store)
    assert [trial.key for trial in of_kind(found, "trial")] == [trial.key for trial in others]
    assert found.kinds == {"trial": 7, "evidence": 14, "score": 4}
    assert found.reused == 1


def test_a_known_trial_is_only_judged_by_what_is_missing(study, store):
    more = study(metrics=["yard:Total", "yard:Picky"])
    put(store, *todo(study(), store).artifacts)
    found = todo(more, store)
    assert found.kinds == {"evidence": 2, "score": 1}
    assert {str(evidence.metric) for evidence in of_kind(found, "evidence")} == {"yard:Picky(below=2)"}
    assert (found.trials, found.reused) == (2, 0)


def test_a_known_trial_is_not_fitted_again(study, store):
    """For a metric that does not ask the method again; one that may ask needs the fit."""
    fresh = todo(study(methods=["yard:Fits"]), store)
    put(store, *of_kind(fresh, "trial", "evidence", "score"))
    assert todo(study(methods=["yard:Fits"]), store).artifacts == ()
    calm = todo(study(methods=["yard:Fits"], metrics=["yard:Total", "yard:Calm"]), store)
    assert calm.kinds == {"evidence": 2, "score": 1}
    may_ask = todo(study(methods=["yard:Fits"], metrics=["yard:Total", "yard:Picky"]), store)
    assert may_ask.kinds == {"fit": 1, "evidence": 2, "score": 1}


def test_a_skipped_trial_is_an_answer_and_a_failed_one_is_tried_again(study, store):
    fresh = todo(study(), store)
    (first, second), (judged, unjudged) = of_kind(fresh, "trial"), of_kind(fresh, "evidence")
    put(store, first, judged, status="skipped")
    put(store, second, unjudged, *of_kind(fresh, "score"), status="failed")
    found = todo(study(), store)
    assert [artifact.key for artifact in found.artifacts] == [second.key, unjudged.key, grid(study()).rows[0].score.key]
    assert (found.trials, found.reused) == (2, 1)


def test_failed_evidence_is_judged_again_and_skipped_evidence_is_not(study, store):
    fresh = todo(study(), store)
    first, second = of_kind(fresh, "evidence")
    put(store, *of_kind(fresh, "trial"))
    put(store, first, *of_kind(fresh, "score"), status="failed")
    put(store, second, status="skipped")
    assert [found.key for found in todo(study(), store).artifacts] == [first.key, grid(study()).rows[0].score.key]


@pytest.mark.parametrize(("status", "again"), [("failed", 1), ("skipped", 0), ("ok", 0)])
def test_a_failed_model_is_trained_again(study, store, status, again):
    orchard = study(environments=["yard:Orchard"])
    put(store, *of_kind(todo(orchard, store), "model"), status=status)
    assert todo(orchard, store).kinds.get("model", 0) == again


def test_more_samples_keep_what_is_there(study, store):
    put(store, *todo(study(samples=2), store).artifacts)
    found = todo(study(samples=6), store)
    assert [trial.block.start for trial in of_kind(found, "trial")] == [2, 4]
    assert found.kinds == {"trial": 2, "evidence": 2, "score": 1}
    assert (found.trials, found.reused) == (3, 1)


def test_two_labels_for_one_thing_are_computed_once(study, store):
    twice = study(methods=["yard:Copy", {"use": "yard:Copy(k=1.0)", "label": "again"}])
    found = todo(twice, store)
    assert found.kinds == {"trial": 2, "evidence": 2, "score": 1}
    assert found.trials == 4


def test_two_labels_of_one_environment_keep_the_metrics_of_both(study, store):
    double = study(
        environments=[{"use": "yard:Meadow", "label": "A"}, {"use": "yard:Meadow", "label": "B"}],
        metrics=[{"use": "yard:Total", "only": ["A"]}, {"use": "yard:Picky", "only": ["B"]}],
    )
    found = todo(double, store)
    assert found.kinds == {"trial": 2, "evidence": 4, "score": 2}
    assert {artifact.key for artifact in grid(double).wanted} <= {artifact.key for artifact in found.artifacts}


def test_a_probe_is_shared_by_methods_and_asked_for_each_target(study, store):
    methods = ["yard:Copy", "yard:Fits", {"use": "yard:Copy", "label": "p", "question": {"target": "predicted"}}]
    found = todo(study(methods=methods, metrics=["yard:Probes"]), store)
    assert sorted((probe.block.start, str(probe.target)) for probe in of_kind(found, "probe")) == [
        (0, "None"),
        (0, "predicted"),
        (2, "None"),
        (2, "predicted"),
    ]


def test_a_preparation_is_made_once_for_each_method(study, store):
    found = todo(study(methods=["yard:Copy", "yard:Fits"], metrics=["yard:Prepares"]), store)
    assert sorted(str(one.trial.method) for one in of_kind(found, "prepared")) == ["yard:Copy(k=1.0)", "yard:Fits"]
    assert len(of_kind(found, "trial")) == 4


def test_methods_and_metrics_stay_where_they_belong(study, store):
    found = todo(
        study(
            environments=["yard:Meadow", "yard:Orchard"],
            methods=["yard:Copy", {"use": "yard:Fits", "only": ["yard:Orchard"]}],
            metrics=["yard:Total", {"use": "yard:Probes", "only": ["yard:Meadow"]}],
        ),
        store,
    )
    judged = of_kind(found, "evidence")
    assert {
        (one.trial.place.environment.spec.name, one.trial.method.spec.name, one.metric.spec.name) for one in judged
    } == {
        ("yard:Meadow", "yard:Copy", "yard:Total"),
        ("yard:Meadow", "yard:Copy", "yard:Probes"),
        ("yard:Orchard", "yard:Copy", "yard:Total"),
        ("yard:Orchard", "yard:Fits", "yard:Total"),
    }


def test_the_gallery_asks_for_samples_of_the_first_seed(study, store):
    asked = study(gallery=3, seeds=[4, 5])
    (kept,) = of_kind(todo(asked, store), "samples")
    assert (kept.indices, kept.place.data_seed) == ((0, 1, 2), 4)
    put(store, kept)
    assert "samples" not in todo(asked, store).kinds


def test_another_number_format_is_another_study(study, store):
    put(store, *todo(study(), store).artifacts)
    assert todo(study(), store, "float64").kinds == {"trial": 2, "evidence": 2, "score": 1}


# Arrays that are gone or damaged.


def damage(store, record, how):
    path = store.arrays.path(record.arrays)
    path.unlink() if how == "gone" else path.write_bytes(b"rubbish")


@pytest.mark.parametrize("how", ["gone", "damaged"])
def test_a_trial_whose_arrays_are_needed_and_cannot_be_read_is_computed_again(study, store, how):
    finish(study(), store)
    lost = store.records("trial")[0]
    damage(store, lost, how)
    more = study(metrics=["yard:Total", "yard:Picky"])
    assert [trial.key for trial in of_kind(todo(more, store), "trial")] == [lost.key]
    assert {record.status for record in finish(more, store)} == {"ok"}
    assert store.has(lost.key, intact=True)


@pytest.mark.parametrize("how", ["gone", "damaged"])
def test_evidence_that_a_new_score_needs_and_cannot_be_read_is_computed_again(study, store, how):
    finish(study(), store)
    lost = store.records("evidence")[0]
    damage(store, lost, how)
    again = finish(study(samples=3), store)
    assert [(record.kind, record.status) for record in again] == [("evidence", "ok"), ("score", "ok")]
    assert again[0].result == lost.result


def test_a_model_whose_arrays_are_gone_is_made_again_for_those_who_need_it(study, store):
    orchard = study(environments=["yard:Orchard"])
    finish(orchard, store)
    damage(store, store.records("model")[0], "gone")
    assert todo(orchard, store).artifacts == ()  # everything wanted is there, and nobody reads the model
    assert todo(study(environments=["yard:Orchard"], samples=6), store).kinds["model"] == 1


def test_what_is_wanted_may_be_any_artifact(store):
    """Not only those of a study: a place's model alone, for example."""
    model = here("yard:Orchard").model
    assert missing([model], store) == [model]
    assert missing([model, model], store) == [model]


def test_a_study_that_is_read_again_is_planned_alike(study, store):
    """Nothing in a key or an order depends on an object's place in memory."""
    first, second = (todo(small(**FULL), store).artifacts for _ in range(2))
    assert [artifact.key for artifact in first] == [artifact.key for artifact in second]
