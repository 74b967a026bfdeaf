"""What the faithfulness test holds a method to."""

from __future__ import annotations

from assay.core.floors import Check
from assay.core.registry import resolve
from assay.core.spec import Spec

AGREEMENT = 0.75  # ours: of the true effect that a map names, this much has the right sign


def floors(metric: Spec, label: str, gamma: float, signs: bool, agreement: float) -> list[tuple[Check, Spec]]:
    """The checks of a test on one metric, each with the spec of its metric.

    F1 overall cannot see signs: unless these are not asked for, positive and negative truth are checked by the same
    floor, and the agreement of signs by its own.
    """
    if metric.name != "f1" or metric.get("sign") != "overall":
        return [(Check(label, gamma, str(metric.get("sign") or "")), metric)]
    overall = [(Check(label, gamma, "overall"), metric)]
    if not signs:
        return overall
    parts = ("positive", "negative")
    own = [(Check(f"{label}, {sign}", gamma, sign), metric.replace(sign=sign)) for sign in parts]
    agreeing = resolve("metrics", Spec.of("sign_agreement", truth=metric.get("truth", "explained")))
    return [*overall, *own, (Check("sign agreement", agreement, "agreement"), agreeing)]
