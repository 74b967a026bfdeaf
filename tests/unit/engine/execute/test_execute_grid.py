"""The grid of a study: which artifacts it wants, and what a change of the study adds or leaves alone."""

import pickle

import pytest

from assay.core.errors import AssayError
from assay.engine.execute.grid import grid
from assay.studies.file import read
from yard_study import small

TABLE = {
    "seeds": [0, 5],
    "samples": 20,
    "block": 8,
    "environments": ["color_count", {"use": "pixel_modulo", "samples": 4, "block": 2}],
    "methods": ["gradient", {"use": "lrp", "only": ["pixel_modulo"]}],
    "metrics": ["f1", {"use": "recall", "only": ["color_count"]}],
}


def study(**changed):
    return read({**TABLE, **changed}, "s")


def trials(of, dtype="float32"):
    return {trial.key for series in grid(of, dtype).series for trial in series.trials}


def evidence(of):
    return {block.key for series in grid(of).series for found in series.evidence.values() for block in found}


def test_series_are_every_method_where_it_belongs_seed_by_seed():
    found = [
        (series.environment.label, series.seed, series.method.label, len(series.trials), list(series.evidence))
        for series in grid(study()).series
    ]
    assert found == [
        ("color_count", 0, "gradient", 3, ["f1", "recall"]),
        ("color_count", 5, "gradient", 3, ["f1", "recall"]),
        ("pixel_modulo", 0, "gradient", 2, ["f1"]),
        ("pixel_modulo", 0, "lrp", 2, ["f1"]),
        ("pixel_modulo", 5, "gradient", 2, ["f1"]),
        ("pixel_modulo", 5, "lrp", 2, ["f1"]),
    ]
    assert len(trials(study())) == 3 * 2 + 2 * 4


def test_a_row_has_the_evidence_of_all_seeds_and_names_its_labels():
    found = {(row.environment, row.method, row.metric): row for row in grid(study()).rows}
    assert list(found) == [
        ("color_count", "gradient", "f1"),
        ("color_count", "gradient", "recall"),
        ("pixel_modulo", "gradient", "f1"),
        ("pixel_modulo", "lrp", "f1"),
    ]
    row = found["color_count", "gradient", "f1"]
    assert [[block.trial.place.seed for block in blocks] for blocks in row.score.evidence] == [[0] * 3, [5] * 3]
    assert row.score.samples == 20
    labelled = small(methods=[{"use": "yard:Copy", "label": "C"}], metrics=[{"use": "yard:Total", "label": "T"}])
    (row,) = grid(labelled).rows
    assert row.to_json() == {"environment": "yard:Meadow", "method": "C", "metric": "T", "key": row.score.key}


def test_the_data_seed_is_the_seed_unless_it_is_given():
    assert {(series.seed, series.trials[0].place.data_seed) for series in grid(study()).series} == {(0, 0), (5, 5)}
    assert {(series.seed, series.trials[0].place.data_seed) for series in grid(study(data_seed=0)).series} == {
        (0, 0),
        (5, 0),
    }


def test_samples_of_another_seed_are_refused_where_the_seed_draws_the_rule_of_both():
    def asked(environment):
        return grid(study(data_seed=0, environments=[environment], methods=["gradient"], metrics=["f1"]))

    with pytest.raises(AssayError, match="seed 5 cannot be tested with samples of data_seed 0"):
        asked("tabular_rule")
    for environment in ("tabular_rule(rule_seed=0)", "tabular_rule(task='sparse')"):
        assert [series.trials[0].place.data_seed for series in asked(environment).series] == [0, 0]


def test_the_number_of_samples_is_in_no_key():
    assert trials(study().narrowed(8, None)) < trials(study())
    assert evidence(study().narrowed(8, None)) < evidence(study())
    assert trials(study(samples=17)) == trials(study(samples=24))


def test_adding_a_metric_leaves_every_trial_and_all_evidence():
    more = study(metrics=["f1", "precision", {"use": "recall", "only": ["color_count"]}])
    assert trials(more) == trials(study())
    assert evidence(more) > evidence(study())


def test_adding_a_method_a_seed_or_an_environment_leaves_what_was_there():
    for more in (
        study(methods=[*TABLE["methods"], "occlusion"]),
        study(seeds=[0, 5, 6]),
        study(environments=[*TABLE["environments"], "tabular_rule"]),
    ):
        assert trials(more) > trials(study())
        assert evidence(more) > evidence(study())


def test_labels_titles_galleries_and_verdicts_are_in_no_key():
    renamed = study(title="T", gallery=0, methods=[{"use": "gradient", "label": "G"}, TABLE["methods"][1]])
    assert trials(renamed) == trials(study())
    tested = study(faithfulness=[{"metric": "f1", "signs": False}])  # signs would add metrics
    assert evidence(tested) == evidence(study())


def test_a_default_that_is_written_out_is_the_same_key():
    assert trials(study(environments=["color_count(side=224)", TABLE["environments"][1]])) == trials(study())


def test_the_number_format_is_in_every_trial():
    assert not trials(study()) & trials(study(), "float64")


def test_equal_places_and_probes_are_one_object():
    methods = ["yard:Copy", "yard:Fits"]
    environments = [{"use": "yard:Meadow", "label": "A"}, {"use": "yard:Meadow", "label": "B"}]
    found = grid(small(environments=environments, methods=methods, metrics=["yard:Probes"])).series
    assert len({id(series.trials[0].place) for series in found}) == 1
    assert len({id(series.evidence["yard:Probes"][0].probe) for series in found}) == 1


def test_an_artifact_takes_only_what_it_needs_to_another_process():
    (series,) = grid(small(metrics=["yard:Probes"], samples=400)).series
    first, last = series.evidence["yard:Probes"][0], series.evidence["yard:Probes"][-1]
    assert len(first.trial.place.probes) == 200
    sent = pickle.loads(pickle.dumps(last))
    assert not sent.trial.place.probes
    assert (sent.key, [need.key for need in sent.needs]) == (last.key, [need.key for need in last.needs])
