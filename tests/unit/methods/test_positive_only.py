"""Which methods can only answer with numbers that are not negative, and that they say so."""

from __future__ import annotations

import pytest

from assay.catalogue.build import build
from assay.catalogue.registry import catalogue, resolve
from assay.core.protocols import positive_only
from assay.core.spec import Spec

DECLARED = {
    "absolute",
    "agop",
    "attention_rollout",
    "bands",
    "chefer_gradient",
    "chefer_relevance",
    "damaged",
    "extremal_perturbation",
    "grad_cam",
    "grad_cam_plus_plus",
    "iba",
    "input_iba",
    "layer_cam",
    "positive",
    "rectangle",
    "score_cam",
    "smooth_grad_cam_plus_plus",
    "vit_grad_cam",
    "x_grad_cam",
}
CAMS = ("grad_cam", "grad_cam_plus_plus", "smooth_grad_cam_plus_plus", "x_grad_cam", "layer_cam", "score_cam")


def made(spec: str) -> object:
    return build("methods", resolve("methods", Spec.parse(spec)))


def test_these_say_so_by_default():
    names = set(catalogue("methods")) - {"precomputed"}
    assert {name for name in names if positive_only(made(name))} == DECLARED


@pytest.mark.parametrize(
    "spec",
    [
        "lime_image(positive=True)",
        "pooled(of=absolute())",
        "pooled(of=grad_cam())",
        "coarse(of=grad_cam())",
        "smoothed(reduce='square')",
        "smoothed(reduce='variance')",
        "smoothed(of=positive())",
        "positive(of=grad_cam(relu=False))",
    ],
)
def test_parameters_and_inner_methods_can_make_a_method_positive(spec):
    assert positive_only(made(spec))


@pytest.mark.parametrize(
    "spec",
    [
        *(f"{name}(relu=False)" for name in (*CAMS, "vit_grad_cam")),
        "lime_image",
        "pooled(of=gradient())",
        "coarse(of=grad_cam(relu=False))",
        "pooled(of=smoothed(of=gradient()))",
        "smoothed(of=grad_cam(relu=False))",
        "rise",
        "constant",
        "edge_map",
        "random_squared",
    ],
)
def test_others_do_not(spec):
    assert not positive_only(made(spec))


def test_what_says_nothing_may_be_negative():
    assert not positive_only(lambda query: query.x)
