"""A fit looks at the reference rows once, before any evaluated sample."""

import pytest

from assay.catalogue.build import build
from assay.catalogue.registry import card, catalogue
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.spec import Spec
from assay.engine.artifacts.answer import fit
from assay.engine.artifacts.artifact import Block
from assay.engine.artifacts.fit import FitArtifact
from assay.engine.artifacts.trial import TrialArtifact
from yard_study import component, finish, here, kinds, realised


def fit_of(text, where=None, question=Question()):
    return FitArtifact(where or here(), component("methods", text), question)


def test_a_fit_is_made_once_and_used(study, store):
    records = finish(study(methods=["yard:Fits", "yard:Copy"]), store)
    (made,) = [record for record in records if record.kind == "fit"]
    assert store.load(made)["mean"].tolist() == [4.5, 5.5, 6.5]
    fitted = [record for record in records if record.kind == "trial" and record.data["method"] == "yard:Fits"]
    assert store.load(fitted[0])["attribution"].tolist() == [[-4.5, -5.0, -6.5], [-3.5, -4.0, -6.5]]
    assert kinds(records).count(("fit", "ok")) == 1


def test_two_data_seeds_share_a_fit_and_what_it_draws():
    first, second = (fit_of("yard:DrawsFit", here(data_seed=seed)) for seed in (1, 2))
    assert first.key == second.key
    arrays = [realised(fit).arrays(fit) for fit in (first, second)]
    assert arrays[0]["random"].tolist() == arrays[1]["random"].tolist()
    assert arrays[0]["each"].tolist() == arrays[1]["each"].tolist()
    other = fit_of("yard:DrawsFit", here(seed=1))
    assert realised(other).arrays(other)["random"].tolist() != arrays[0]["random"].tolist()


def test_without_reference_rows_a_method_that_fits_does_not_apply():
    fit = fit_of("yard:Fits", here("yard:Desert"))
    trial = TrialArtifact(fit, Block(0, 2))
    memory = realised(trial)
    for artifact in (fit, trial):
        assert (memory[artifact].status, memory[artifact].reason) == (
            "skipped",
            "needs reference data to fit, and this environment has none",
        )


@pytest.mark.parametrize("text", ["deep_shap", "yard:Copy"])
def test_a_method_that_may_fit_and_does_not_has_an_empty_fit(text):
    """``fit`` is a property that the values of parameters take away."""
    fit = fit_of(text)
    memory = realised(fit)
    assert (memory[fit].status, memory.arrays(fit)) == ("ok", {})


def test_a_combinator_that_fits_itself_runs(study, store):
    records = finish(study(methods=["yard:Around"]), store)
    assert {status for _, status in kinds(records)} == {"ok"}
    fit = next(record for record in records if record.kind == "fit")
    assert store.load(fit)["scale"].tolist() == 2.0


OTHERS = {  # of methods that share fits: other values of the parameters that their fits do not read
    "iba": {
        "beta": 40.0,
        "steps": 3,
        "lr": 0.5,
        "copies": 2,
        "alpha": 1.0,
        "sigma": 0.0,
        "objective": "squared_error",
    }
}


def test_methods_that_differ_only_in_what_the_fit_does_not_read_share_it():
    place = here("color_count(side=16, sizes=(3, 6), reference=16)")
    plain, other, fewer = (fit_of(text, place) for text in ("iba", "iba(beta=40.0, sigma=0.0)", "iba(rows=4)"))
    assert plain.key == other.key != fewer.key
    assert len({TrialArtifact(fit, Block(0, 2)).key for fit in (plain, other)}) == 2


@pytest.mark.parametrize("name", [name for name, card in catalogue("methods").items() if card.fact("after_fit")])
def test_a_fit_does_not_read_the_parameters_that_its_method_names(name):
    place, others = here("color_count(side=16, sizes=(3, 6), reference=16)"), OTHERS[name]
    assert set(card("methods", name).fact("after_fit")) == set(others)
    setting = build("environments", place.environment.spec).setting(0, {})
    made = [
        fit(build("methods", spec), setting, Question(), Stream("method", name, "color_count", 0, 0), Machine())
        for spec in (Spec(name), Spec.of(name, **others))
    ]
    assert {key: value.tolist() for key, value in made[0].items()} == {
        key: value.tolist() for key, value in made[1].items()
    }
