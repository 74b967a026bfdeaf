"""Integrated Gradients against Captum: the same quadrature, the same steps, the same numbers."""

from __future__ import annotations

from torch import Tensor

from assay.core.query import Query
from assay.methods.integrated_gradients import IntegratedGradients
from benchmarks.measuring import Problem
from benchmarks.problems import image_query, mlp_query, peer, resnet_query

STEPS = 50
PER_CALL = 16  # Captum's internal_batch_size; it is fastest about here, on ResNet-18 of 4, 8, 16, 32


def problems() -> list[Problem]:
    return [
        _problem("MLP 20-64-64-3, 1000 rows", mlp_query(1000), None),
        _problem("color_count 64x64, 8 images", image_query(64, 8), PER_CALL),
        _problem("color_count 224x224, 2 images", image_query(224, 2), PER_CALL),
        _problem("ResNet-18 224x224, 2 images", resnet_query(2), PER_CALL),
    ]


def _problem(what: str, query: Query, internal: int | None) -> Problem:
    """``internal`` is Captum's internal_batch_size, where it makes Captum faster."""
    captum, name = peer("captum.attr", "captum")
    method, theirs = IntegratedGradients(STEPS, "gauss_legendre"), captum.IntegratedGradients(query.module)

    def attribute() -> Tensor:
        attribution: Tensor = theirs.attribute(
            query.x, query.baseline, target=query.target, n_steps=STEPS, internal_batch_size=internal
        )
        return attribution.detach()

    name += f", internal_batch_size={internal}" if internal else ""
    return Problem(f"{what}, {STEPS} Gauss-Legendre steps", len(query.x), lambda: method(query), attribute, name)
