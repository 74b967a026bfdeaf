"""Methods that a metric cannot judge: those that compute what it measures, or answer another question."""

from __future__ import annotations

from assay.core.spec import Spec, walk

SINGLE = {"occlusion", "feature_ablation"}  # the drop of each feature alone
FITS = {"kernel_shap", "exact_shapley", "lime_image"}  # least-squares fits of the drops of sets
COMBINATORS = {"smoothed", "absolute", "positive", "pooled", "by_differences", "coarse", "first_rows"}
SETS = {"sensitivity_n", "infidelity"}
PATHS = "tree_shap"  # without a background: expectations over the training rows of the trees
ZERO: dict[object, float] = {"zero": 0.0}  # a name for a number
SLOPES = {"gradient", "guided_backprop"}  # and what is made of these alone


def circular(method: Spec, baseline: str | float, metric: Spec) -> str:
    """Why a pair is circular under the same replacement; empty where it is not."""
    canvas = metric.get("canvas")
    if ZERO.get(canvas, canvas) != ZERO.get(baseline, baseline):
        return ""
    names: set[str] = set()
    walk(method, lambda spec: names.add(spec.name))
    if names & SINGLE and metric.name == "single_deletion":
        return "it computes these very drops"
    if names & FITS and metric.name in SETS:
        return "it is fitted to these very drops"
    return ""


def other_question(method: Spec) -> str:
    """Where a method's game is not that of any canvas; empty where it is, or where nothing is known."""
    if method.name == PATHS and not method.get("background"):
        return "a feature that is not known takes both branches of a tree, by the training rows that went there"
    names: set[str] = set()
    walk(method, lambda spec: names.add(spec.name))
    is_slope = names & SLOPES and not names - SLOPES - COMBINATORS
    if is_slope or (method.name == "lime_tabular" and method.get("times") != "product"):
        return "how the answer changes with a feature, not what its value adds"
    return ""
