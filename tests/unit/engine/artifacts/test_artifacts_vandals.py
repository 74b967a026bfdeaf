"""Somebody else's code may spoil the model it is given: no other number changes, nor its own about later blocks."""

from functools import cache

import numpy as np
import pytest

import spoilers
from assay.catalogue.build import component_and_name, is_ours, method_and_name
from assay.core.machine import Machine
from assay.core.question import Question
from assay.engine.artifacts.artifact import Block
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.desk import Desk
from assay.engine.artifacts.evidence import make_evidence
from assay.engine.artifacts.trial import make_trials
from assay.engine.execute.inline import MemoryEngine
from assay.engine.store.memory import MemoryStore
from yard_study import component, here, realised

BLOCKS = (Block(0, 2), Block(2, 4))
OURS = ("gradient", "integrated_gradients(steps=4)")  # they work on the very model that is at hand
SPOILT = [*spoilers.WAYS, "reference", "background"]
METHODS = ["spoilers:VandalMethod(how='{}')", "smoothed(of=spoilers:VandalMethod(how='{}'), samples=1)"]
METRICS = ["spoilers:VandalMetric(how='{}')"]
PLAIN = ["spoilers:vandal_function(how='{}')", "spoilers:VandalScore(how='{}')"]  # they are given no more than a model


def asked(text, place):
    return make_trials(place, component("methods", text), Question(), BLOCKS)


def judged(found, *metrics):
    return [make_evidence(trial, component("metrics", metric)) for trial in found for metric in metrics]


@cache
def witnesses():
    """What may not change: answers and judgements of ours and of others; and a memory of what they say undisturbed."""
    found = [asked(text, here("spoilers:Glasshouse")) for text in ("spoilers:WitnessMethod", *OURS)]
    by = ("spoilers:WitnessMetric", "deletion(canvas='zero')", "max_sensitivity(samples=2)")
    watched = [artifact for answers in found for artifact in (*answers, *judged(answers, *by))]
    return watched, realised(*watched)


def damage(text, place):
    """The vandal's work, block by block."""
    if "Metric" in text or "Score" in text:
        return judged(asked("yard:Copy", place), text)
    answers = asked(text, place)
    return [*answers, *judged(answers, "spoilers:WitnessMetric", "yard:DrawsFirst", "max_sensitivity(samples=2)")]


def same(artifact, left, right):
    """Whether an artifact ended well, with the same bytes, in two memories."""
    assert left[artifact].status == right[artifact].status == "ok", right[artifact].traceback or right[artifact].reason
    first, second = left.arrays(artifact), right.arrays(artifact)
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("how", SPOILT)
@pytest.mark.parametrize("text", [*METHODS, *METRICS])
def test_what_a_vandal_spoils_is_its_own(text, how):
    spoilt, (watched, alone), crowd = (
        damage(text.format(how), here("spoilers:Glasshouse")),
        witnesses(),
        MemoryEngine(Machine()),
    )
    crowd.realise(spoilt)
    crowd.realise(watched)
    assert [artifact.kind for artifact in watched if not same(artifact, alone, crowd)] == []
    for artifact in spoilt:  # after what came before, and as the first thing that a desk does
        assert same(artifact, realised(artifact), crowd)


@pytest.mark.parametrize("how", list(spoilers.WAYS))
@pytest.mark.parametrize("text", PLAIN)
def test_what_a_plain_function_or_class_spoils_is_its_own(text, how):
    test_what_a_vandal_spoils_is_its_own(text, how)


@pytest.mark.parametrize("how", ["weights", "hooks", "train mode"])
def test_a_vandal_that_was_made_by_hand_is_no_exception(how):
    place, (watched, alone), crowd = here("spoilers:Glasshouse"), witnesses(), MemoryEngine(Machine())

    def function(model, inputs, targets):
        return spoilers.vandal_function(model, inputs, targets, how)

    made = [
        Component("methods", instance=method_and_name(function)[0]),
        Component("methods", instance=spoilers.VandalMethod(how)),
    ]
    judge = Component("metrics", instance=component_and_name("metrics", spoilers.VandalScore(how))[0])
    spoilt = [trial for method in made for trial in make_trials(place, method, Question(), BLOCKS)]
    crowd.realise([*spoilt, *(make_evidence(trial, judge) for trial in spoilt)])
    crowd.realise(watched)
    assert all(same(artifact, alone, crowd) for artifact in watched)
    assert all(same(artifact, realised(artifact), crowd) for artifact in spoilt)


@pytest.mark.draws("a vandal switches the dropout of a model on")
def test_the_vandals_do_spoil_what_they_get():
    """Without this the tests above would prove nothing."""
    setting = spoilers.Glasshouse().setting(0, {})
    x = spoilers.Glasshouse().sample(range(4), 0).x
    before = setting.model(x)
    for how in ("weights", "hooks", "inner hooks", "train mode", "other forward", "a layer"):
        spoilt = setting.copied()
        spoilers.spoil_setting(spoilt, how)
        assert not np.array_equal(spoilt.model(x).detach(), before.detach()), how
    assert np.array_equal(setting.model(x).detach(), before.detach())


# Who gets a copy.


@pytest.mark.parametrize(
    ("kind", "text", "ours"),
    [
        ("methods", "gradient", True),
        ("methods", "smoothed(of=gradient)", True),
        ("methods", "yard:Copy", False),
        ("methods", "strangers:noise", False),
        ("methods", "strangers:Saliency", False),
        ("methods", "smoothed(of=yard:Copy)", False),
        ("methods", "absolute(of=pooled(of=strangers:query_noise))", False),
        ("methods", "yard:Around(of=gradient)", False),
        ("metrics", "deletion", True),
        ("metrics", "yard:Total", False),
        ("metrics", "strangers:noisy_mean", False),
    ],
)
def test_somebody_else_s_code_gets_a_copy_of_the_model_and_ours_does_not(kind, text, ours):
    desk, model, user = Desk(MemoryStore()), here("spoilers:Glasshouse").model, component(kind, text)
    assert is_ours(desk.component(user)) is ours
    kept, given = desk.setting(model), desk.setting(model, user)
    assert (given is kept) is ours
    assert (given.model is kept.model) is ours
    assert (given.sibling is kept.sibling) is ours


def test_a_copy_shares_no_memory():
    desk, model, user = Desk(MemoryStore()), here("spoilers:Glasshouse").model, component("methods", "yard:Copy")
    kept, given, other = desk.setting(model), desk.setting(model, user), desk.setting(model, user)

    def tensors(setting):
        yield from (*setting.model.parameters(), *setting.sibling.parameters())
        yield from (setting.reference.x, setting.reference.label, setting.background)

    addresses = [{tensor.data_ptr() for tensor in tensors(setting)} for setting in (kept, given, other)]
    assert len(set.union(*addresses)) == sum(map(len, addresses))
