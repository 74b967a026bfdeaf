"""AND and OR of inputs that are -1 or 1, where everybody can say who decided."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.methods.deep_shap import DeepShap
from assay.methods.exact_shapley import ExactShapley
from assay.methods.kernel_shap import KernelShap
from scenes import ask
from streams import seeded

IDLE = 1  # inputs that the gate does not read


@seeded()
def gate(count: int, sign: int) -> nn.Module:
    """AND (1) or OR (-1) of the first inputs, 1 for true and -1 for false: sign * (2 ReLU(sign * sum - n + 1) - 1)."""
    layers = nn.Sequential(nn.Linear(count + IDLE, 1), nn.ReLU(), nn.Linear(1, 1)).double()
    with torch.no_grad():
        layers[0].weight.copy_(torch.tensor([[sign] * count + [0] * IDLE]))
        layers[0].bias.fill_(1 - count)
        layers[2].weight.fill_(2 * sign)
        layers[2].bias.fill_(-sign)
    return layers


def everything(count: int) -> torch.Tensor:
    """Every input, and an idle one that goes along."""
    rows = torch.tensor(list(product([-1.0, 1.0], repeat=count)), dtype=torch.float64)
    return torch.cat([rows, rows[:, :1] * 0.7], dim=1)


def literal(row: list[float], sign: int) -> tuple[float, list[float]]:
    """The answer, and what each input has of it: those that agree with the answer decided, and share the change."""
    true = [value > 0 for value in row[:-IDLE]]
    answer = 1.0 if (all(true) if sign > 0 else any(true)) else -1.0
    deciding = [value == answer for value in row[:-IDLE]]
    return answer, [2 * answer / sum(deciding) if decided else 0.0 for decided in deciding] + [0.0] * IDLE


@pytest.mark.parametrize("sign", [1, -1], ids=["and", "or"])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("method", [ExactShapley(), DeepShap(), KernelShap()], ids=lambda method: type(method).__name__)
def test_those_who_decided_share_the_change_from_the_opposite_answer_equally(method, count, sign):
    x = everything(count)
    answers, expected = zip(*(literal(row, sign) for row in x.tolist()), strict=True)
    found = torch.tensor(answers, dtype=torch.float64)
    assert_close(gate(count, sign)(x)[:, 0].detach(), found, rtol=0, atol=0)
    opposite = -found[:, None].expand_as(x)  # every input says what the answer is not
    query = ask(gate(count, sign), x, "value", baseline=opposite)
    assert_close(method(query), torch.tensor(expected, dtype=torch.float64), rtol=1e-9, atol=1e-9)
