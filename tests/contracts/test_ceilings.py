"""No method scores above its own ceiling, and the grids that methods state are those of their maps."""

from __future__ import annotations

from itertools import product

import pytest

from assay.check.instruments.sites import site
from assay.core.errors import NotApplicable
from assay.core.rng import Stream
from assay.core.trial import Scene, Trial
from assay.engine.artifacts.answer import answer
from assay.kit.map_grids import lies_on
from assay.metrics import F1
from contracts.examples import EXAMPLES, method_case, specs

IMAGES = ("color_count", "pixel_count", "pixel_modulo")
PLACES = (*IMAGES, "token_count", "tabular_rule")  # the sites with truth
VIT = "cifar(network='vit2', width=16)"
ENLARGED = (
    "grad_cam",
    "grad_cam_plus_plus",
    "smooth_grad_cam_plus_plus",
    "x_grad_cam",
    "layer_cam",
    "score_cam",
    "iba",
)
PATCHES = ("attention_rollout", "chefer_gradient", "chefer_relevance", "vit_grad_cam")
COARSE = (*ENLARGED, *PATCHES, "coarse(of=absolute, cells=3)", "lime_image", "occlusion")
# Maps that are made of coarse ones, on their grid or beside it.
OTHERS = (
    *(f"{name}(relu=False)" for name in ENLARGED if name != "iba"),
    "absolute(of=grad_cam(relu=False))",
    "absolute(of=occlusion)",
    "coarse(of=grad_cam(relu=False), cells=3)",
    "coarse(of=occlusion, cells=2)",
    "first_rows(of=lime_image(samples=16, segments='oracle'), rows=2)",
    "positive(of=lime_image(samples=16, segments='oracle'))",
    "smoothed(of=grad_cam, samples=2)",
    "smoothed(of=grad_cam, samples=2, reduce='square')",
    "smoothed(of=occlusion, samples=2, reduce='variance')",
)


def tried(spec: str, place: str) -> Trial | None:
    """The method's trial at a place; None where it does not apply."""
    case = method_case(spec, place).fresh()
    try:
        query = case.query(range(4))
        found = answer(case.method, query)
    except NotApplicable:
        return None
    scene = Scene(case.site.setting, case.site.rows(range(4)), query.question, query.target, Stream("metric", spec))
    return Trial(scene, found.attribution, resolution=found.resolution, grid=found.grid)


@pytest.mark.parametrize("spec", [*specs("methods"), *OTHERS])
def test_no_method_scores_above_its_ceiling(spec: str) -> None:
    trials = [(place, trial) for place in PLACES if (trial := tried(spec, place)) is not None]
    assert trials or spec.startswith(("tree_shap", "by_differences")), "applies nowhere with truth"
    for (place, trial), sign, truth in product(trials, ("overall", "positive", "negative"), ("explained", "signed")):
        for smooth in (0.0, 1.5) if place in IMAGES else (0.0,):
            found = F1(sign, smooth, truth)(trial)
            assert (found["value"] <= found["ceiling"] + 1e-6).all(), (place, sign, truth, smooth)


@pytest.mark.parametrize("method", COARSE)
def test_a_coarse_method_states_the_grid_of_its_maps(method: str) -> None:
    trials = [trial for place in (*IMAGES, VIT) if (trial := tried(EXAMPLES.get(method, method), place)) is not None]
    assert trials
    for trial in trials:
        assert trial.grid is not None
        assert trial.grid.name
        assert lies_on(trial.grid, trial.map).all()


def test_numbers_of_either_sign_at_nodes_make_no_grid() -> None:
    trial = tried("grad_cam(relu=False)", "color_count")
    assert trial is not None
    assert trial.grid is None


def test_the_sites_with_truth_are_tried() -> None:
    for place in PLACES:
        assert site(place).pool.truth is not None
