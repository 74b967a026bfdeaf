"""What a seed draws: environments say it, it is so, and shipped studies heed it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from assay.catalogue.build import component_and_name
from assay.catalogue.registry import catalogue
from assay.core.facts import draws_model, draws_rule, identities
from assay.environments.cifar import Cifar
from assay.environments.public_table import PublicTable
from assay.environments.tabular_rule import TabularRule
from assay.environments.two_objects import TwoObjects
from assay.environments.watermark import Watermark
from assay.studies.shipped import find, shipped_studies

CASES = {
    "color_count": True,
    "color_count(unseen=False)": False,
    "color_count(redundant=0)": False,
    "color_count(weight_seed=3)": False,
    "linear": True,
    "linear(weights='ones')": False,
    "linear(weights='ones', read=0.5)": True,
    "pixel_count": True,
    "pixel_count(uniform=True)": False,
    "pixel_count(weight_seed=3)": False,
    "pixel_modulo": True,
    "pixel_modulo(uniform=True)": False,
    "pixel_modulo(weight_seed=3)": False,
    "public_table": True,
    "public_table(split_seed=0)": True,
    "token_count": False,
    "tabular_rule": True,
    "tabular_rule(model='forest')": True,
    "cifar": False,
    "cifar(weights='trained')": True,
    "spurious_retrain": True,
    "two_objects": True,
    "two_objects(vary=0.5)": True,
    "watermark": True,
    "watermark(mark='none', relabel=False)": True,
    "own": False,
    "image_folder": False,
    "in_domain(of=cifar())": True,
    "in_domain(of=cifar(), epochs=0)": False,
    "beside(of=cifar(), other=cifar(network='resnet8_wide_stem'))": False,
    "beside(of=cifar(), other=cifar(weights='trained'))": True,
    "calibrated(of=cifar())": False,
    "calibrated(of=in_domain(of=cifar()))": True,
}
"""Whether the seed draws the model."""


def environment(spec):
    return component_and_name("environments", spec)[0]


@pytest.mark.parametrize("spec", CASES)
def test_an_environment_says_whether_its_seed_draws_the_model(spec):
    assert draws_model(environment(spec)) is CASES[spec]


def test_every_environment_of_the_catalogue_says_it():
    assert {spec.partition("(")[0] for spec in CASES} == set(catalogue("environments"))
    for name in catalogue("environments"):
        assert hasattr(type(environment(next(spec for spec in CASES if spec.startswith(name)))), "draws_model")


def test_an_environment_says_whether_its_seed_draws_a_rule_also_inside_another_one():
    assert draws_rule(environment("tabular_rule"))
    assert draws_rule(environment("in_domain(of=tabular_rule())"))
    assert draws_rule(environment("public_table"))
    assert draws_rule(environment("watermark"))
    assert not draws_rule(environment("public_table(split_seed=0)"))
    for spec in ("tabular_rule(rule_seed=0)", "tabular_rule(task='sparse')", "cifar", "in_domain(of=cifar())"):
        assert not draws_rule(environment(spec))


def test_of_one_that_says_nothing_it_is_assumed():
    assert draws_model(object())


SMALL = {
    "color_count": "side=16, sizes=(3, 6)",
    "pixel_count": "side=24",
    "pixel_modulo": "side=24, modulus=5",
    "token_count": "length=7, words=2, decoys=1, fillers=2, reference=8",
    "own": "",
    "image_folder": "resize=18, side=16",
    "linear": "shape=(8,)",
}


@pytest.mark.parametrize("spec", [spec for spec in CASES if spec.partition("(")[0] in SMALL])
def test_what_is_said_is_so(spec):
    """Networks with hand-set weights, made for two seeds."""
    name, _, given = spec.partition("(")
    inside = ", ".join(part for part in (SMALL[name], given.removesuffix(")")) if part)
    made = environment(f"{name}({inside})")
    first, second = (made.setting(seed, {}).model.state_dict() for seed in (0, 1))
    assert any(not torch.equal(first[key], second[key]) for key in first) == CASES[spec]


TRAINED = [
    replace(Cifar.tiny(), epochs=1),
    replace(PublicTable.tiny(), epochs=1),
    replace(TwoObjects.tiny(), epochs=1),
    replace(Watermark.tiny(), epochs=1),
    *(replace(TabularRule.tiny(), model=model, epochs=1) for model in ("mlp", "attention", "forest")),
]


@pytest.mark.parametrize("made", TRAINED, ids=lambda made: f"{type(made).__name__} {getattr(made, 'model', '')}")
def test_another_seed_trains_another_model_also_on_the_same_rows(made):
    assert draws_model(made)
    setting = made.setting(0, made.train(0))
    rows = setting.reference
    first, second = (setting.recipe.train(rows.x, rows.label, seed)(rows.x) for seed in (0, 1))
    assert not torch.equal(first, second)


def test_rows_of_a_file_come_again_with_other_seeds(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.random.default_rng(0).normal(size=(12, 6)).astype(np.float32))
    made = environment(f"own(data='{path}')")
    samples = {
        seed: dict(zip(identities(made, range(12), seed), made.sample(range(12), seed).x, strict=True))
        for seed in (0, 1, 2)
    }
    assert list(samples[0]) == list(range(12)) != list(samples[1])
    for seed in (1, 2):
        assert set(samples[seed]) == set(samples[0])
        assert all(torch.equal(samples[0][name], x) for name, x in samples[seed].items())


def test_samples_that_are_made_on_the_spot_never_come_again():
    for spec in ("token_count", "cifar(dataset='drawn', network='resnet8', weights='trained')"):
        made = environment(spec)
        assert not set(identities(made, range(4), 0)) & set(identities(made, range(4), 1))


def test_environments_around_others_have_their_samples():
    around = environment("in_domain(of=own())")
    assert identities(around, range(5), 3) == identities(environment("own"), range(5), 3) != list(range(5))


def promised_seeds(study):
    """By what a title says, a study that draws models has these numbers of seeds."""
    if "the paper's four seeds" in study.title:
        return {4} if study.seeds == (0, 1, 2, 42) else set()
    return {1} if "one draw" in study.title else set(range(5, 1000))


def test_shipped_studies_that_draw_models_have_five_seeds_or_say_that_they_have_one_or_a_papers():
    studies = [find(name) for name in shipped_studies()]
    drawing = [study for study in studies if any(draws_model(environment(str(e.spec))) for e in study.environments)]
    assert len(drawing) > 5
    assert [study.name for study in drawing if len(study.seeds) not in promised_seeds(study)] == []
    assert [study.name for study in studies if "one draw" in study.title and len(study.seeds) > 1] == []
