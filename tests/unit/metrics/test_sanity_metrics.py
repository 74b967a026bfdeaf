"""Infidelity and max-sensitivity are captum's; sanity checks and axioms tell real methods apart."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import captum.attr
import captum.metrics
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from assay.catalogue.build import build
from assay.catalogue.registry import resolve
from assay.check.instruments.sites import environments, site
from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.machine import Machine
from assay.core.query import Query
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.setting import Setting
from assay.core.spec import Spec
from assay.core.trial import Scene, Trial
from assay.engine.artifacts.answer import attribute, fit, make_query, make_trial
from assay.metrics.infidelity import Infidelity
from assay.metrics.max_sensitivity import MaxSensitivity
from assay.metrics.sanity import similarity
from oracles.metrics.again import LOGIT, Method, products, slopes
from oracles.metrics.checks_again import perturbed
from oracles.metrics.scenes import PIXELS, PLAIN, VALUE, Lambda, numbers, scene, table_scene
from streams import seeded

MACHINE = Machine()


def made(kind: str, spec: str) -> Any:
    return build(kind, resolve(kind, Spec.parse(spec)))


@cache
def posed(place: str, method: str, readout: str | None) -> tuple[Query, Tensor]:
    here, means = site(place), made("methods", method)
    query = make_query(
        here.setting, here.rows(range(6)), Question(readout=readout), Stream("method", method, place), MACHINE
    )
    if hasattr(means, "fit"):
        query = replace(
            query, fitted=fit(means, here.setting, Question(readout=readout), ("fit", method, place), MACHINE)
        )
    return query, attribute(means, query)


def judged(metric: str, method: str, place: str, readout: str | None = None) -> Evidence:
    """The evidence of a metric about a real method at a site."""
    query, attribution = posed(place, method, readout)
    samples = site(place).rows(range(6))
    where = Scene(query.setting, samples, query.question, query.target, Stream("metric", metric), MACHINE)
    judge = made("metrics", metric)
    evidence: Evidence = judge(make_trial(judge, made("methods", method), query, where, attribution))
    return evidence


# Captum


@pytest.mark.parametrize("normalise", ["none", "any"])
@pytest.mark.parametrize("perturbation", ["noise", "noisy_baseline", "removal", "square"])
@seeded()
def test_infidelity_is_captum_s_given_the_same_perturbations(perturbation: str, normalise: str) -> None:
    form = {"perturbation": perturbation, "normalise": normalise, "trend": "none"}
    metric = Infidelity(**form, samples=6, canvas=0.7)  # type: ignore[arg-type]
    model = nn.Sequential(nn.Flatten(), nn.Linear(72, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    where = scene(numbers(1, 4, *PIXELS.entries), model, PIXELS, LOGIT)
    moved, attribution = torch.from_numpy(perturbed(metric, where)), numbers(2, 4, *PIXELS.entries)
    x = where.samples.x
    change = x - moved
    change = change if "nois" in perturbation else (change != 0).any(dim=2, keepdim=True).expand_as(change).double()
    order = torch.arange(24).view(6, 4).T.flatten()  # captum repeats each sample before the next

    def perturb(inputs: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
        return change.flatten(0, 1)[order], moved.flatten(0, 1)[order]

    expected = captum.metrics.infidelity(
        model, perturb, x, attribution, target=where.target, n_perturb_samples=6, normalize=normalise == "any"
    )
    found = metric(Trial(where, attribution))
    np.testing.assert_allclose(found["value"], expected.detach().numpy(), rtol=1e-9)


@pytest.mark.parametrize("normalise", ["none", "any", "positive"])
@seeded()
def test_the_exact_gradient_of_a_linear_model_has_no_infidelity(normalise: str) -> None:
    model = nn.Linear(7, 3).double()
    where = scene(numbers(3, 5, 7), model, PLAIN, LOGIT)
    gradient = model.weight.detach()[where.target]
    for perturbation in ("noise", "noisy_baseline"):
        metric = Infidelity(perturbation=perturbation, normalise=normalise)  # type: ignore[arg-type]
        assert (metric(Trial(where, gradient))["value"] < 1e-9**2).all()
    removal = Infidelity(normalise=normalise)  # type: ignore[arg-type]
    assert (removal(Trial(where, gradient * where.samples.x))["value"] < 1e-9**2).all()
    slope = Infidelity(normalise=normalise, reads="slope", canvas="true")  # type: ignore[arg-type]
    assert (slope(Trial(where, gradient))["value"] < 1e-9**2).all()


def test_a_map_of_equal_numbers_forecasts_nothing_that_the_size_of_a_region_does_not() -> None:
    """Drops that are nearly the same for all sets reward every positive map, and larger regions a constant one."""
    model = Lambda(lambda x: 5 * x.square().flatten(1).sum(1, keepdim=True).sqrt())
    where = scene(numbers(5, 6, *PIXELS.entries), model, PIXELS, VALUE)
    exact = numbers(6, 6, 6, 6) + where.setting.features.pool(where.samples.x.square())
    flat = torch.ones(6, 6, 6, dtype=torch.float64)
    captum = Infidelity(perturbation="removal", trend="none")
    noisy = exact - 2 * exact.mean()
    assert (captum(Trial(where, flat))["value"] < captum(Trial(where, noisy))["value"]).all()
    ours, none = Infidelity(), Infidelity()(Trial(where, 0 * flat))["value"]
    np.testing.assert_array_equal(ours(Trial(where, flat))["value"], none)
    assert (ours(Trial(where, noisy))["value"] < none).all()


@pytest.mark.parametrize("name", ["Saliency", "InputXGradient", "IntegratedGradients"])
def test_max_sensitivity_is_captum_s_given_the_same_perturbations(name: str) -> None:
    where = table_scene(5)
    attribute_ = getattr(captum.attr, name)(where.setting.model).attribute

    def explain(x: Tensor, target: Tensor, setting: Setting) -> Tensor:
        with torch.enable_grad():
            found: Tensor = attribute_(x.clone().requires_grad_(), target=target)
        return found.detach()

    method = Method(explain)
    plain = explain(where.samples.x, where.target, where.setting)
    found = MaxSensitivity(radius=0.1, samples=8)(Trial(where, plain, explain=method))
    moved = method.calls[0][0].view(8, 5, -1).transpose(0, 1).flatten(0, 1)
    expected = captum.metrics.sensitivity_max(
        lambda x, target: (explain(x[0] if isinstance(x, tuple) else x, target, where.setting),),
        where.samples.x,
        perturb_func=lambda _: moved,
        n_perturb_samples=8,
        target=where.target,
    )
    np.testing.assert_allclose(found["value"], expected.numpy(), rtol=1e-9)


# Real methods


def test_maps_that_never_look_at_the_model_fail_every_sanity_check() -> None:
    for metric in ("parameter_randomisation", "class_sensitivity", "parameter_randomisation(order='independent')"):
        found = judged(metric, "random_map", "tabular_rule")
        np.testing.assert_allclose(found["value"], 1.0, rtol=1e-12)
        assert found["defined"].all()
    np.testing.assert_allclose(judged("axiom_linearity", "random_map", "tabular_rule")["value"], 1.0, rtol=1e-6)
    assert not judged("max_sensitivity", "random_map", "tabular_rule")["value"].any()


def test_constant_maps_are_like_no_other_and_perfectly_insensitive() -> None:
    assert not judged("parameter_randomisation", "constant", "tabular_rule")["defined"].any()
    assert not judged("class_sensitivity", "constant", "tabular_rule")["defined"].any()
    assert judged("max_sensitivity", "constant", "tabular_rule")["defined"].all()
    assert not judged("max_sensitivity", "constant", "tabular_rule")["value"].any()


def test_a_gradient_follows_the_model() -> None:
    last = judged("parameter_randomisation(at='last')", "input_x_gradient", "tabular_rule")
    assert abs(last["value"].mean()) < 0.6  # eight columns: of 6 x 1 correlations, 5 standard errors are 0.77
    assert judged("parameter_randomisation", "input_x_gradient", "tabular_rule")["value"].mean() < 0.9


def test_the_fast_twin_of_a_model_does_not_answer_for_its_random_copies() -> None:
    """Occlusion asks for scores alone, which the program of a designed network answers, too."""
    network, program = environments()["color_count"], environments()["color_count(forward='program')"]
    assert network != program
    spec = "parameter_randomisation(depths=3)"
    found = [judged(spec, "occlusion", place)["curve"] for place in ("color_count", "color_count(forward='program')")]
    np.testing.assert_allclose(found[0], found[1], atol=1e-3)
    assert abs(found[0]).max() < 0.99


@pytest.mark.parametrize("method", ["gradient", "input_x_gradient", "integrated_gradients(steps=8)", "deep_shap"])
def test_linear_methods_are_linear(method: str) -> None:
    found = judged("axiom_linearity(weights=(2.0, -0.5))", method, "tabular_rule")
    assert found["defined"].all()
    assert found["value"].max() < 1e-4


def test_sizes_are_not_linear() -> None:
    assert judged("axiom_linearity", "absolute(of=gradient())", "tabular_rule")["value"].mean() > 0.3


def test_integrated_gradients_are_complete_and_gradients_are_not() -> None:
    complete = judged("axiom_completeness", "exact_integrated_gradients", "tabular_rule")
    assert complete["value"].max() < 1e-4
    assert judged("axiom_completeness", "gradient", "tabular_rule")["value"].mean() > 0.1


def test_integrated_gradients_treat_interchangeable_pixels_alike_and_random_maps_do_not() -> None:
    fair = judged("axiom_symmetry", "integrated_gradients(steps=16)", "pixel_count")
    assert fair["defined"].all()
    assert fair["pairs"].min() >= 2
    unfair = judged("axiom_symmetry", "random_map", "pixel_count")
    assert unfair["value"].mean() > 0.3 > fair["value"].mean()


def test_columns_that_no_tree_reads_are_dummies() -> None:
    found = judged("axiom_dummy", "feature_ablation", "tabular_rule(model='forest')")
    assert found["defined"].any()
    assert not found["value"].any()
    assert judged("axiom_dummy", "random_map", "tabular_rule(model='forest')")["value"].mean() > 0.1


@seeded()
def test_products_and_slopes_are_what_they_say() -> None:
    """The methods of the checks: on a linear model, the weights, and weights times input."""
    model = nn.Linear(7, 3, bias=False).double().requires_grad_(False)
    where = scene(numbers(4, 3, 7), model, PLAIN, replace(VALUE, readout="logit"))
    weights = model.weight[where.target]
    torch.testing.assert_close(slopes(where.samples.x, where.target, where.setting), weights)
    torch.testing.assert_close(products(where.samples.x, where.target, where.setting), weights * where.samples.x)


# Choices made otherwise


def similar(left: Tensor, right: Tensor) -> np.ndarray:
    return similarity(left.flatten(1), right.flatten(1), "spearman", absolute=False)[0].numpy()


def test_a_map_is_compared_with_the_one_that_the_other_baseline_gives() -> None:
    method, place = "integrated_gradients(steps=16)", "tabular_rule"
    query, plain = posed(place, method, None)
    other = make_query(query.setting, site(place).rows(range(6)), Question(baseline=0.5), query.stream, MACHINE)
    found = judged("choice_sensitivity(value=0.5)", method, place)["value"]
    np.testing.assert_array_equal(found, similar(plain, attribute(made("methods", method), other)))
    assert found.max() < 1


def test_a_method_is_fitted_again_for_its_other_choice() -> None:
    found = judged("choice_sensitivity(parameter='form', value='diagonal')", "agop", "tabular_rule")["value"]
    _, (plain, other) = zip(
        *(posed("tabular_rule", spec, None) for spec in ("agop", "agop(form='diagonal')")), strict=True
    )
    np.testing.assert_array_equal(found, similar(plain, other))
    assert found.max() < 1


def test_a_choice_that_a_map_does_not_depend_on_changes_nothing() -> None:
    for method in ("random_map", "gradient"):
        np.testing.assert_allclose(judged("choice_sensitivity", method, "tabular_rule")["value"], 1.0, rtol=1e-12)
    inner = judged(
        "choice_sensitivity(parameter='of.steps', value=512)",
        "absolute(of=integrated_gradients(steps=256))",
        "tabular_rule",
    )
    assert inner["value"].min() > 0.9


@pytest.mark.parametrize(
    "choice, reason",
    [
        ("parameter='segments', value='felzenszwalb'", "no parameter 'segments'"),
        ("parameter='of.steps', value=3", "no parameter 'of.steps'"),
        ("parameter='steps', value=16", "made with steps=16"),
        ("value='mean'", "made with question.baseline='mean'"),
    ],
)
def test_a_choice_that_is_not_there_or_not_another_is_no_comparison(choice: str, reason: str) -> None:
    with pytest.raises(NotApplicable, match=reason):
        judged(f"choice_sensitivity({choice})", "integrated_gradients(steps=16)", "tabular_rule")


def test_a_value_that_the_parameter_does_not_take_is_an_error() -> None:
    for choice in ("parameter='steps', value='many'", "value='black'", "parameter='question.colour'"):
        with pytest.raises(SpecError):
            judged(f"choice_sensitivity({choice})", "integrated_gradients(steps=16)", "tabular_rule")
