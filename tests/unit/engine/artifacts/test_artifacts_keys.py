"""A key holds everything a result depends on, and nothing else."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import SpecError
from assay.core.question import Question
from assay.engine.artifacts.artifact import Block, split_blocks
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.evidence import EvidenceArtifact
from assay.engine.artifacts.fit import FitArtifact
from assay.engine.artifacts.prepared import PreparedArtifact
from assay.engine.artifacts.probe import ProbeArtifact
from assay.engine.artifacts.samples import SamplesArtifact
from assay.engine.artifacts.score import ScoreArtifact
from assay.engine.artifacts.trial import TrialArtifact
from yard_study import component, full, here

QUESTION = Question("logit", 1.0, "zero", "label")
BLOCK = Block(0, 8)
METHOD, METRIC = component("methods", "smoothed"), component("metrics", "f1")
HERE = here("color_count")


def judged(where=HERE, method=METHOD, question=QUESTION, metric=METRIC, block=BLOCK):
    return EvidenceArtifact(TrialArtifact(FitArtifact(where, method, question), block), metric)


def all_keys(where=HERE, method=METHOD, question=QUESTION, metric=METRIC, block=BLOCK):
    evidence = judged(where, method, question, metric, block)
    return {
        "model": where.model.key,
        "data": where.data_key,
        "samples": SamplesArtifact(where, (0, 1)).key,
        "fit": evidence.trial.fit.key,
        "trial": evidence.trial.key,
        "probe": ProbeArtifact(where, metric, question.target, block).key,
        "prepared": PreparedArtifact(evidence.trial, metric).key,
        "evidence": evidence.key,
        "score": ScoreArtifact(metric, ((evidence,),), 8).key,
    }


ALL = frozenset(all_keys())
ASKED = {"fit", "trial", "prepared", "evidence", "score"}  # what a method, or the question to it, changes
JUDGED = {"trial", "probe", "evidence", "score"}  # what depends on the evaluated samples


@pytest.mark.parametrize(
    ("change", "touched"),
    [
        ({}, set()),
        ({"where": here("color_count")}, set()),
        ({"where": here("color_count(side=224)")}, set()),  # a default that is written out
        ({"where": here("color_count", seed=1)}, ALL - {"data"}),
        ({"where": here("color_count", data_seed=1)}, {"data", "samples", *JUDGED}),
        ({"where": here("color_count", dtype="float64")}, ALL - {"model", "data"}),
        ({"where": here("color_count(side=64)")}, ALL),
        ({"method": component("methods", "smoothed(samples=4)")}, ASKED),
        ({"method": component("methods", "smoothed(of=occlusion)")}, ASKED),
        ({"metric": component("metrics", "f1(sign='positive')")}, {"probe", "prepared", "evidence", "score"}),
        ({"block": Block(8, 16)}, JUDGED),
        ({"block": Block(0, 4)}, JUDGED),
        ({"question": replace(QUESTION, readout="margin")}, ASKED),
        ({"question": replace(QUESTION, baseline="true")}, ASKED),
        ({"question": replace(QUESTION, temperature=2.0)}, ASKED),
        ({"question": replace(QUESTION, target="predicted")}, {*ASKED, "probe"}),
    ],
)
def test_a_change_touches_exactly_the_keys_that_depend_on_it(change, touched):
    before, after = all_keys(), all_keys(**change)
    assert {name for name in before if before[name] != after[name]} == touched


def test_keys_of_different_kinds_never_meet():
    assert len(set(all_keys().values())) == len(ALL)


def test_keys_are_digests():
    assert all(len(key) == 64 and set(key) <= set("0123456789abcdef") for key in all_keys().values())


def test_the_seed_of_the_model_and_the_seed_of_the_data_are_not_mixed_up():
    left, right = all_keys(here("color_count", seed=1)), all_keys(here("color_count", data_seed=1))
    assert not {left[name] for name in ("model", "data", "trial")} & {
        right[name] for name in ("model", "data", "trial")
    }


def test_a_new_format_is_new_keys_for_everybody(monkeypatch):
    before = all_keys(here("color_count"), component("methods", "smoothed"))
    monkeypatch.setattr("assay.engine.artifacts.artifact.FORMAT", 99)
    after = all_keys(here("color_count"), component("methods", "smoothed"))
    assert not set(before.values()) & set(after.values())


def test_a_score_depends_on_its_evidence_and_its_order_samples_and_metric():
    first, second = judged(), judged(block=Block(8, 16))
    score = ScoreArtifact(METRIC, ((first, second),), 16)
    assert score.key == ScoreArtifact(component("metrics", "f1"), ((judged(), second),), 16).key
    others = [
        ScoreArtifact(METRIC, ((first,), (second,)), 16),
        ScoreArtifact(METRIC, ((second, first),), 16),
        ScoreArtifact(METRIC, ((first, second),), 15),
        ScoreArtifact(component("metrics", "recall"), ((first, second),), 16),
    ]
    assert len({score.key, *(other.key for other in others)}) == 5


@pytest.mark.parametrize("name", ["RULE", "RESAMPLES"])
def test_a_score_is_made_again_when_the_rule_of_intervals_changes(name, monkeypatch):
    before = ScoreArtifact(METRIC, ((judged(),),), 8).key
    monkeypatch.setattr(f"assay.engine.artifacts.score.{name}", 99)
    assert ScoreArtifact(METRIC, ((judged(),),), 8).key != before


def test_kept_samples_depend_on_the_model_the_data_the_number_format_and_which_they_are():
    first = SamplesArtifact(HERE, (0, 1)).key
    assert first == SamplesArtifact(here("color_count"), (0, 1)).key
    others = [
        (here("color_count"), (0, 2)),
        (here("color_count"), (1, 0)),
        (here("color_count", seed=9), (0, 1)),
        (here("color_count", data_seed=1), (0, 1)),
        (here("color_count", dtype="float64"), (0, 1)),
    ]
    assert first not in {SamplesArtifact(*other).key for other in others}


def test_values_that_are_equal_and_not_the_same_are_different_components(tmp_path, monkeypatch):
    (tmp_path / "foreign_functions.py").write_text("def f(query, k): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = [component("methods", f"foreign_functions:f(k={k})") for k in ("1", "True", "1.0")]
    assert len({judged(method=method).trial.key for method in found}) == 3
    assert [type(method.build().params["k"]) for method in found] == [int, bool, float]


@pytest.mark.parametrize("text", ["smoothed(noise=1e999)", "precomputed(path='\\ud800')"])
def test_a_spec_that_could_have_no_key_is_not_read(text):
    with pytest.raises(SpecError):
        full("methods", text)


# Objects of this process.


def test_an_object_is_known_by_the_component_that_holds_it(yard):
    method = yard.Copy()
    first, second = Component("methods", instance=method), Component("methods", instance=method)
    assert judged(method=first).trial.key == judged(method=first).trial.key
    assert judged(method=first).trial.key != judged(method=second).trial.key


# Blocks.


@settings(max_examples=80)
@given(st.integers(0, 200), st.integers(1, 40))
def test_blocks_are_whole_and_cover_every_sample_once(samples, size):
    found = split_blocks(samples, size)
    covered = [index for block in found for index in block.indices]
    assert covered == list(range(len(covered)))
    assert samples <= len(covered) < samples + size
    assert all(len(block) == len(block.indices) == size for block in found)


@settings(max_examples=40)
@given(st.integers(0, 100), st.integers(0, 100), st.integers(1, 20))
def test_fewer_samples_are_the_first_blocks_of_more(few, more, size):
    few, more = sorted((few, more))
    assert split_blocks(more, size)[: len(split_blocks(few, size))] == split_blocks(few, size)


@settings(max_examples=40)
@given(st.integers(1, 100), st.integers(1, 40), st.data())
def test_the_last_block_ends_where_the_rows_end(rows, size, data):
    samples = data.draw(st.integers(1, rows))
    found, whole = split_blocks(samples, size, rows), split_blocks(samples, size)
    assert [block.start for block in found] == [block.start for block in whole]
    assert found[-1].stop == min(whole[-1].stop, rows)
    assert found[:-1] == whole[:-1]
