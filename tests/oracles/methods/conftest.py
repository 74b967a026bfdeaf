"""Captum warns about hooks it sets and about gradients it asks for: not our concern here."""

from __future__ import annotations

import pytest
from torch import nn

import scenes


@pytest.fixture(autouse=True)
def _captum_may_warn(recwarn):
    """Fills ``recwarn``, which also keeps warnings from becoming errors."""


@pytest.fixture(params=["mlp", "cnn"])
def net(request) -> nn.Module:
    return scenes.mlp() if request.param == "mlp" else scenes.cnn()


@pytest.fixture
def x(request, net):
    return scenes.data(5, 6) if isinstance(net, nn.Sequential) else scenes.data(5, 2, 8, 8)
