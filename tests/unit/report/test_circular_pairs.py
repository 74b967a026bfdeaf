"""Methods that a metric cannot judge: they compute what it measures, or answer another question."""

import pytest

from assay.core.spec import Spec
from assay.report.circular_pairs import circular, other_question

SETS, DROPS = "it is fitted to these very drops", "it computes these very drops"


@pytest.mark.parametrize(
    ("method", "baseline", "metric", "reason"),
    [
        ("kernel_shap", "mean", "sensitivity_n(canvas='mean')", SETS),
        ("exact_shapley", "zero", "sensitivity_n(canvas='zero')", SETS),
        ("lime_image", "mean", "infidelity(canvas='mean')", SETS),
        (
            "lime_tabular(times='product')",
            "mean",
            "infidelity(canvas='mean')",
            "",
        ),  # it draws rows, and replaces nothing
        ("absolute(of=kernel_shap())", "mean", "sensitivity_n(canvas='mean')", SETS),
        ("occlusion", "zero", "single_deletion(canvas='zero')", DROPS),
        ("feature_ablation", "mean", "single_deletion(canvas='mean')", DROPS),
        ("kernel_shap", 0.5, "sensitivity_n(canvas=0.5)", SETS),
        ("kernel_shap", 0.0, "sensitivity_n(canvas='zero')", SETS),
        ("kernel_shap", "zero", "sensitivity_n(canvas=0.0)", SETS),
        ("kernel_shap", "mean", "sensitivity_n(canvas='rows')", ""),  # other drops
        ("kernel_shap", "mean", "sensitivity_n(canvas='mean()')", ""),  # a function of that name
        ("kernel_shap", "mean", "symmetric_relevance_gain(canvas='mean')", ""),  # an order, no sizes
        ("occlusion", "zero", "sensitivity_n(canvas='zero')", ""),
        ("gradient", "zero", "sensitivity_n(canvas='zero')", ""),
        ("kernel_shap", "mean", "single_deletion(canvas='mean')", ""),
    ],
)
def test_a_pair_is_circular_where_a_method_was_fitted_to_what_the_metric_measures(method, baseline, metric, reason):
    assert circular(Spec.parse(method), baseline, Spec.parse(metric)) == reason


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("gradient", "not what its value adds"),
        ("smoothed(of=gradient())", "not what its value adds"),
        ("absolute(of=guided_backprop())", "not what its value adds"),
        ("lime_tabular", "not what its value adds"),
        ("tree_shap", "takes both branches of a tree"),
        ("tree_shap(background=0)", "takes both branches of a tree"),
        ("tree_shap(background=50)", ""),
        ("lime_tabular(times='product')", ""),
        ("input_x_gradient", ""),
        ("integrated_gradients", ""),
        ("somebody:Else", ""),
    ],
)
def test_slopes_and_paths_answer_another_question(method, words):
    found = other_question(Spec.parse(method))
    assert words in found if words else found == ""
