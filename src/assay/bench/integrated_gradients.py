"""Integrated Gradients against Captum: the same quadrature, the same steps, the same numbers."""

from __future__ import annotations

from importlib.metadata import version

import torch
from torch import Tensor, nn

from assay.bench.bench import Problem
from assay.core.features import Columns
from assay.core.machine import Machine
from assay.core.query import Query
from assay.core.question import Question
from assay.core.setting import Samples, Setting
from assay.environments.color_count import ColorCount
from assay.execute.trial import pose
from assay.methods.integrated_gradients import IntegratedGradients
from assay.train.networks import initialise, mlp

STEPS = 50


def problems() -> list[Problem]:
    return [_table(1000), _image(64, 8), _image(224, 2)]


def _table(rows: int) -> Problem:
    random = torch.Generator().manual_seed(0)
    network: nn.Module = mlp(20, (64, 64), 3)
    initialise(network, random)
    x = torch.randn(rows, 20, generator=random)
    samples = Samples(x, torch.arange(rows) % 3, None, tuple(range(rows)))
    setting = Setting(network.eval(), Columns.plain(20), "table", Question("logit", 1.0, "zero", "label"))
    return _problem(f"MLP 20-64-64-3, {rows} rows", pose(setting, samples, Question(), ("bench",), Machine()), None)


def _image(side: int, images: int) -> Problem:
    environment = ColorCount(side=side)
    query = pose(environment.setting(0, {}), environment.sample(range(images), 0), Question(), ("bench",), Machine())
    return _problem(f"color_count {side}x{side}, {images} images", query, 16)


def _problem(what: str, query: Query, internal: int | None) -> Problem:
    """``internal`` is Captum's internal_batch_size, where it is faster with one."""
    from captum.attr import IntegratedGradients as Captum

    method, peer = IntegratedGradients(STEPS, "gauss_legendre"), Captum(query.module)

    def theirs() -> Tensor:
        found: Tensor = peer.attribute(
            query.x, query.baseline, target=query.target, n_steps=STEPS, internal_batch_size=internal
        )
        return found.detach()

    name = f"captum {version('captum')}" + (f", internal_batch_size={internal}" if internal else "")
    return Problem(f"{what}, {STEPS} Gauss-Legendre steps", len(query.x), lambda: method(query), theirs, name)
