"""The faithfulness test separates methods on the designed transformer (claim E03)."""

import pytest

import assay
from assay.environments.token_count import TokenCount

GAMMA = 0.5
PASS = ["input_x_gradient", "integrated_gradients", "gradient_shap", "occlusion", "feature_ablation"]
FAIL = ["gradient", "attention_rollout", "attention_rollout(start=1)", "chefer_relevance", "chefer_gradient"]


@pytest.mark.parametrize("method", PASS)
@pytest.mark.parametrize("negation", [False, True])
def test_methods_that_ask_what_a_token_does_pass(method, negation):
    found = assay.attribute(TokenCount(negation=negation), method, n=64)
    assert found.score("f1").value >= GAMMA


@pytest.mark.parametrize("method", FAIL)
def test_methods_that_look_at_attention_or_slopes_alone_are_refuted_by_negation(method):
    found = assay.attribute(TokenCount(negation=True), method, n=64)
    assert found.score("f1").value < GAMMA


def test_attention_speaks_for_and_never_against():
    found = assay.attribute(TokenCount(), "chefer_gradient", n=64)
    assert found.score("f1", sign="positive").value > 0.99
    assert found.score("f1", sign="negative").value == 0
