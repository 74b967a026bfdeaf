"""What a metric asks the model and no attribution changes is asked once for all methods."""

import pytest

from assay.core.question import Question
from assay.engine.artifacts.artifact import Block
from assay.engine.artifacts.evidence import make_evidence
from assay.engine.artifacts.probe import ProbeArtifact
from assay.engine.artifacts.trial import make_trials
from yard_study import component, finish, here, kinds, realised


def probe(target=None, where=None, block=Block(0, 2)):
    return ProbeArtifact(where or here(), component("metrics", "yard:Probes"), target, block)


def test_a_probe_is_made_once_for_all_methods_and_used(study, store):
    records = finish(study(methods=["yard:Copy(k=0)", "yard:Copy(k=1)"], metrics=["yard:Probes"]), store)
    assert kinds(records).count(("probe", "ok")) == 2
    scores = [store.load(record)["score"].tolist() for record in records if record.kind == "probe"]
    judged = [store.load(record)["rows.value"].tolist() for record in records if record.kind == "evidence"]
    assert scores[0] in judged  # of the attribution that is 0
    assert scores[1] in judged
    assert len({tuple(values) for values in judged}) == 4


def test_a_probe_is_asked_about_the_class_that_methods_explain():
    labels, predictions = probe(), probe("predicted")
    memory = realised(labels, predictions)
    assert memory.arrays(labels)["score"].tolist() == [1.0, -1.0]  # logits of the labels 0 and 1
    assert memory.arrays(predictions)["score"].tolist() == [1.0, 4.0]
    assert memory[labels].data == {"metric": "yard:Probes", "block": [0, 2]}


def test_methods_of_one_place_have_one_probe():
    place, metric = here(), component("metrics", "yard:Probes")
    methods = [component("methods", text) for text in ("yard:Copy", "gradient")]
    found = [make_trials(place, method, Question(), (Block(0, 2), Block(2, 4))) for method in methods]
    probes = [[make_evidence(trial, metric).probe for trial in asked] for asked in found]
    assert probes[0] == probes[1]
    assert probes[0][0] is not probes[0][1]


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("yard:BadProbe", "failed", "its probe failed: RuntimeError: the bucket leaks"),
        ("yard:BadProbe(skips=True)", "skipped", "needs a well"),
    ],
)
def test_a_probe_that_did_not_end_well_is_told_by_its_evidence_and_score(study, store, text, status, reason):
    records = finish(study(metrics=[text, "yard:Total"]), store)
    blocked = [record for record in records if record.kind in ("evidence", "score") and record.status == status]
    assert [record.kind for record in blocked] == ["evidence", "evidence", "score"]
    assert {record.reason for record in blocked} == {reason}
    assert kinds(records).count(("score", "ok")) == 1
