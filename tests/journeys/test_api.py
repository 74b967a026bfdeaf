"""What ``import assay`` offers agrees with what a study computes."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import assay
import streams
from assay.core.errors import SpecError
from assay.core.question import Question
from assay.engine.store.store import Store
from assay.studies.file import read

PLACES = {"color_count(side=16, sizes=(3, 6))": 8, "tabular_rule(d=4, informative=2, train_rows=32, epochs=1)": 8}
METHODS = ("random_map", "smoothed(of=gradient(), samples=3)", "deep_shap", "occlusion(stride=4)")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("method", METHODS)
def test_an_attribution_by_hand_is_the_study_s_own(place, method, tmp_path, finish):
    study = read({"environments": [place], "methods": [method], "metrics": ["insertion(ties='random')"],
                  "samples": 8, "seeds": [3]}, "one")  # fmt: skip
    finish(study, tmp_path / "s")
    store = Store.open(tmp_path / "s")
    (trial,), (score,) = store.records("trial"), store.records("score")
    found = assay.attribute(place, method, n=8, seed=3)
    np.testing.assert_array_equal(store.load(trial)["attribution"], found.attribution.numpy())
    assert found.score("insertion", ties="random").data == score.data  # with its interval


def test_a_question_can_be_asked_differently():
    place = assay.environment("color_count", side=16, sizes=(3, 6))
    plain = assay.attribute(place, "gradient", n=2)
    logit = assay.attribute(place, "gradient", n=2, question=Question(readout="logit"))
    assert "probability of the label" in repr(plain)
    assert not np.allclose(plain.attribution, logit.attribution)


def test_a_captum_class_and_a_callable_are_methods():
    from captum.attr import Saliency

    place = assay.environment("color_count", side=16, sizes=(3, 6))
    ours = assay.attribute(place, "absolute(of=gradient())", n=4)
    np.testing.assert_allclose(assay.attribute(place, Saliency, n=4).attribution, ours.attribution, rtol=1e-5)
    named = assay.attribute(place, lambda model, inputs, targets: inputs, n=4)
    np.testing.assert_array_equal(named.attribution, named.samples.x)


def test_a_refuted_method_fails_as_a_test_fails():
    place = assay.environment("color_count", side=16, sizes=(3, 6))
    assay.assert_faithful("input_x_gradient", place, gamma=0.5)
    with pytest.raises(AssertionError, match=r"refuted by color_count \(f1.* 0\.\d+"):
        assay.assert_faithful("constant", place, gamma=0.5)
    with pytest.raises(SpecError, match="better when lower"):
        assay.assert_faithful("input_x_gradient", place, metric="deletion")


def test_the_picture_shows_input_truth_and_attribution(capsys):
    trial = assay.attribute(assay.environment("pixel_modulo", side=24, modulus=5), "lrp", n=2)
    picture = trial.show()
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert picture.width > 300
    assert trial._repr_png_().startswith(b"\x89PNG")


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'attribut'"):
        _ = assay.attribut


@pytest.mark.draws("other code may draw between two calls")
def test_a_captum_class_that_draws_random_numbers_gives_the_same_map_again_and_leaves_the_global_stream_alone():
    import torch
    from captum.attr import ShapleyValueSampling

    place = assay.environment("tabular_rule", d=4, informative=2, train_rows=32, epochs=1)
    before = torch.random.get_rng_state()
    first = assay.attribute(place, ShapleyValueSampling, n=3)
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.rand(5)
    assert torch.equal(first.attribution, assay.attribute(place, ShapleyValueSampling, n=3).attribution)


def test_a_captum_class_without_gradients_explains_a_forest():
    from captum.attr import FeatureAblation, Saliency

    forest = assay.environment("tabular_rule", model="forest", d=4, informative=2, train_rows=64, trees=3)
    found, ours = assay.attribute(forest, FeatureAblation, n=4), assay.attribute(forest, "occlusion", n=4)
    np.testing.assert_allclose(found.attribution, ours.attribution, atol=1e-6)
    with pytest.raises(assay.NotApplicable, match="needs gradients"):
        assay.attribute(forest, Saliency, n=4)


@pytest.mark.parametrize("metric", ["insertion", "deletion", "sensitivity_n", "completeness"])
def test_a_forest_is_a_classifier_for_every_metric_of_the_model(metric):
    forest = assay.environment("tabular_rule", model="forest", d=4, informative=2, train_rows=64, trees=3)
    assert assay.attribute(forest, "occlusion", n=8).score(metric, canvas="mean").value is not None


def small_model():
    with streams.seeded():
        return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4)).eval()


ROWS = torch.linspace(-2, 2, 30, dtype=torch.float32).reshape(5, 6).sin()


def test_a_model_and_rows_are_attributed_without_an_environment():
    from captum.attr import IntegratedGradients

    model = small_model()
    found = assay.attribute(model, ROWS, "integrated_gradients(steps=200)", target=3)
    expected = IntegratedGradients(model).attribute(ROWS, target=3, n_steps=200)
    np.testing.assert_allclose(found.attribution, expected.detach(), rtol=1e-3, atol=1e-4)
    change = (model(ROWS) - model(torch.zeros_like(ROWS)))[:, 3].detach()
    np.testing.assert_allclose(found.promised, change, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.gap, found.attribution.double().sum(dim=1) - found.promised)
    assert "logit of the label" in repr(found)


def test_a_model_s_attribution_has_the_scores_of_an_evaluation():
    model = small_model()
    metric = "insertion(canvas='zero')"
    found = assay.attribute(model, ROWS, "gradient").score(metric)
    cell = assay.evaluate(model, ROWS, methods=["gradient"], metrics=[metric])["gradient", metric]
    assert (found.value, found.low, found.defined) == (cell.value, cell.low, cell.defined)
    with pytest.raises(SpecError, match="target"):
        assay.attribute(model, ROWS, "gradient", target=4)


def test_an_attribution_compares_with_what_an_evaluation_compares_with():
    model = small_model()
    found = assay.attribute(model, ROWS, "integrated_gradients", reference=ROWS + 1)
    judged = assay.evaluate(model, ROWS, methods=["integrated_gradients"], metrics=["deletion"], reference=ROWS + 1)
    assert "baseline mean" in repr(found)
    np.testing.assert_allclose(found.attribution, judged.attributions["integrated_gradients"], rtol=1e-5, atol=1e-6)
    assert "baseline zero" in repr(assay.attribute(model, ROWS, "gradient"))


def test_the_package_s_names_are_there_and_typed():
    import importlib.metadata

    assert set(dir(assay)) == set(assay.__all__)
    assert all(getattr(assay, name) is not None for name in assay.__all__)
    assert assay.__version__ == importlib.metadata.version("assay-xai")


def test_a_refutation_needs_no_assert_statement():
    code = "import assay; assay.assert_faithful('constant', 'color_count(side=16, sizes=(3, 6))', n=2)"
    ended = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1
    assert "AssertionError" in ended.stderr
    assert "refuted by color_count" in ended.stderr
