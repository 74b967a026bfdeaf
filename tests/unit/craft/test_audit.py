"""The audit lists what ran, and its totals are the paper's."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from assay.craft.audit import Row, audit
from assay.craft.colors import Color
from assay.craft.networks import color_count, pixel_modulo
from streams import seeded

COLORS: list[Color] = [(255, 255, 255), (255, 127, 0), (0, 127, 255), (0, 255, 0)]


def test_the_papers_modulo_network_has_17_layers_and_675033_parameters() -> None:
    found = audit(pixel_modulo(224, 30, 4900, False, 0), (1, 224, 224))
    assert (found.layers, found.parameters) == (17, 675_033)
    assert sum(row.parameters for row in found.rows) == found.parameters
    rows = {row.name: row for row in found.rows}
    assert rows["accumulator.layers.5"] == Row("accumulator.layers.5", "ReLU", None, None, (3, 25, 25), 0)
    assert rows["accumulator.layers.11"].shape == (1, 9, 9)
    assert rows["modulo.4"] == Row("modulo.4", "Linear", 164, 656, (656,), 108_240)


def test_the_papers_color_network_has_15_layers_and_4323_parameters() -> None:
    found = audit(color_count(224, COLORS, (20, 20, 20), 1, False, 0, 0), (3, 224, 224))
    assert (found.layers, found.parameters) == (15, 4_323)
    rows = {row.name: row for row in found.rows}
    assert rows["accumulator.layers.5"].shape == (4, 25, 25)
    assert rows["accumulator.layers.7"].shape == (12, 9, 9)
    assert rows["detector.8"] == Row("detector.8", "Conv2d", 5, 5, (5, 224, 224), 30)
    assert rows["head"].parameters == 20


@seeded()
def test_rows_come_in_call_order_and_no_hook_stays() -> None:
    network = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1))
    assert [row.name for row in audit(network, (3,)).rows] == ["0", "1", "2"]
    assert not any(module._forward_hooks for module in network.modules())


@seeded()
def test_hooks_are_removed_when_the_input_does_not_fit() -> None:
    network = nn.Sequential(nn.Linear(3, 2))
    with pytest.raises(RuntimeError):
        audit(network, (4,))
    assert not any(module._forward_hooks for module in network.modules())
    assert network(torch.zeros(1, 3)).shape == (1, 2)
