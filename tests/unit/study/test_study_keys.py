"""A key holds everything a result depends on, and nothing else."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import SpecError
from assay.core.question import Question
from assay.core.registry import resolve
from assay.core.spec import Spec
from assay.study import keys
from assay.study.file import read
from assay.study.grid import cells, metrics, place
from assay.study.keys import Block, Place, blocks

QUESTION = Question("logit", 1.0, "zero", "label")
BLOCK = Block(0, 8)


def full(kind, text):
    return resolve(kind, Spec.parse(text))


ENVIRONMENT, METHOD, METRIC = full("environments", "color_count"), full("methods", "smoothed"), full("metrics", "f1")
HERE = Place(ENVIRONMENT, 0, 0)


def all_keys(where=HERE, method=METHOD, question=QUESTION, metric=METRIC, block=BLOCK):
    trial = keys.trial_key(where, method, question, block)
    return {
        "model": where.setting,
        "data": where.data,
        "fit": keys.fit_key(where, method, question),
        "trial": trial,
        "probe": keys.probe_key(where, metric, question.target, block),
        "evidence": keys.evidence_key(trial, metric),
    }


@pytest.mark.parametrize(
    ("change", "touched"),
    [
        ({}, set()),
        ({"where": replace(HERE, seed=1)}, {"model", "fit", "trial", "probe", "evidence"}),
        ({"where": replace(HERE, data_seed=1)}, {"data", "trial", "probe", "evidence"}),
        ({"where": replace(HERE, dtype="float64")}, {"fit", "trial", "probe", "evidence"}),
        (
            {"where": replace(HERE, environment=full("environments", "color_count(side=64)"))},
            {"model", "data", "fit", "trial", "probe", "evidence"},
        ),
        ({"method": full("methods", "smoothed(samples=4)")}, {"fit", "trial", "evidence"}),
        ({"method": full("methods", "smoothed(of=occlusion)")}, {"fit", "trial", "evidence"}),
        ({"metric": full("metrics", "f1(sign='positive')")}, {"probe", "evidence"}),
        ({"block": Block(8, 16)}, {"trial", "probe", "evidence"}),
        ({"block": Block(0, 4)}, {"trial", "probe", "evidence"}),
        ({"question": replace(QUESTION, readout="margin")}, {"fit", "trial", "evidence"}),
        ({"question": replace(QUESTION, baseline="true")}, {"fit", "trial", "evidence"}),
        ({"question": replace(QUESTION, temperature=2.0)}, {"fit", "trial", "evidence"}),
        ({"question": replace(QUESTION, target="predicted")}, {"fit", "trial", "probe", "evidence"}),
    ],
)
def test_a_change_touches_exactly_the_keys_that_depend_on_it(change, touched):
    before, after = all_keys(), all_keys(**change)
    assert {name for name in before if before[name] != after[name]} == touched


def test_keys_of_different_kinds_never_meet():
    assert len(set(all_keys().values())) == len(all_keys())


def test_the_seed_of_the_model_and_the_seed_of_the_data_are_not_mixed_up():
    assert Place(ENVIRONMENT, 1, 0).setting != Place(ENVIRONMENT, 0, 1).setting
    assert Place(ENVIRONMENT, 1, 0).data != Place(ENVIRONMENT, 0, 1).data
    assert all_keys(Place(ENVIRONMENT, 1, 0))["trial"] != all_keys(Place(ENVIRONMENT, 0, 1))["trial"]


def test_a_score_depends_on_evidence_samples_and_the_rule_of_intervals():
    score = keys.score_key(METRIC, [["a", "b"]], 8, (2, 1000))
    assert score == keys.score_key(METRIC, (("a", "b"),), 8, (2, 1000))
    others = [
        keys.score_key(METRIC, [["a"], ["b"]], 8, (2, 1000)),
        keys.score_key(METRIC, [["b", "a"]], 8, (2, 1000)),
        keys.score_key(METRIC, [["a", "b"]], 7, (2, 1000)),
        keys.score_key(METRIC, [["a", "b"]], 8, (3, 1000)),
        keys.score_key(METRIC, [["a", "b"]], 8, (2, 999)),
        keys.score_key(full("metrics", "recall"), [["a", "b"]], 8, (2, 1000)),
    ]
    assert len({score, *others}) == 7


def test_kept_samples_depend_on_the_data_and_how_many():
    first = keys.samples_key(HERE, 4)
    assert first == keys.samples_key(replace(HERE, seed=9), 4)
    assert first != keys.samples_key(HERE, 5)
    assert first != keys.samples_key(replace(HERE, data_seed=1), 4)


# Blocks.


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(0, 200), st.integers(1, 40))
def test_blocks_are_whole_and_cover_every_sample_once(samples, size):
    found = blocks(samples, size)
    covered = [index for block in found for index in block.indices]
    assert covered == list(range(len(covered)))
    assert samples <= len(covered) < samples + size
    assert all(len(block.indices) == size for block in found)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 100), st.integers(0, 100), st.integers(1, 20))
def test_fewer_samples_are_the_first_blocks_of_more(few, more, size):
    few, more = sorted((few, more))
    assert blocks(more, size)[: len(blocks(few, size))] == blocks(few, size)


# The grid.

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


def trials(of):
    return {cell.trial(block) for cell in cells(of) for block in cell.blocks}


def evidence(of):
    return {
        cell.evidence(metric, block)
        for cell in cells(of)
        for block in cell.blocks
        for metric in metrics(of, cell.environment)
    }


def test_cells_are_every_method_where_it_belongs_seed_by_seed():
    found = [(cell.environment.label, cell.seed, cell.method.label, len(cell.blocks)) for cell in cells(study())]
    assert found == [
        ("color_count", 0, "gradient", 3),
        ("color_count", 5, "gradient", 3),
        ("pixel_modulo", 0, "gradient", 2),
        ("pixel_modulo", 0, "lrp", 2),
        ("pixel_modulo", 5, "gradient", 2),
        ("pixel_modulo", 5, "lrp", 2),
    ]
    assert len(trials(study())) == 3 * 2 + 2 * 4


def test_the_data_seed_is_the_seed_unless_it_is_given():
    assert [place(study(), study().environments[0], seed).data_seed for seed in (0, 5)] == [0, 5]
    fixed = study(data_seed=0)
    assert [place(fixed, fixed.environments[0], seed).data_seed for seed in (0, 5)] == [0, 0]
    assert {cell.place.data_seed for cell in cells(fixed)} == {0}


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
    assert not trials(study()) & {cell.trial(b) for cell in cells(study(), "float64") for b in cell.blocks}


# Faults.


def test_kept_samples_depend_on_the_number_format():
    assert keys.samples_key(HERE, 4) != keys.samples_key(replace(HERE, dtype="float64"), 4)


@pytest.mark.parametrize("text", ["smoothed(noise=1e999)", "precomputed(path='\\ud800')"])
def test_a_spec_that_could_have_no_key_is_not_read(text):
    with pytest.raises(SpecError):
        full("methods", text)
