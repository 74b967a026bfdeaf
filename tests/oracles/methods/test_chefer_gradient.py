"""Gradient-weighted attention, against the update rule by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.core.errors import NotApplicable
from assay.core.features import Tokens
from assay.methods.attention import CheferGradient
from oracles.methods.blocks import images, question, sample, spread, tokens, walks
from scenes import ask, cnn, data


def literal(net, query):
    """R <- R + A R, layer by layer."""
    result = []
    for _, steps, _ in walks(net, query):
        reached = torch.eye(len(steps[0].start), dtype=torch.float64)
        for step in steps:
            weighted = torch.zeros_like(reached)
            for weights in step.attention:
                weighted += torch.relu(weights.grad * weights.detach()) / len(step.attention)
            reached = reached + weighted @ reached
        result.append(reached[0])
    return torch.stack(result)


@pytest.mark.parametrize("readout", ["logit", "probability"])
@pytest.mark.parametrize("kind", [tokens, images])
@pytest.mark.parametrize("way", ["fused", "matmul"])
def test_the_map_is_the_literal_one(kind, way, readout):
    net = kind(way=way)
    query = question(net, sample(kind), readout, features=None if kind is images else Tokens(5, 4))
    expected = spread(query, literal(net, query))
    assert_close(CheferGradient()(query), expected, rtol=1e-9, atol=1e-12)
    assert expected.max() > 1e-3


def test_it_depends_on_the_class():
    net = tokens()
    query = question(net, sample(tokens, 1).expand(3, -1, -1), features=Tokens(5, 4))
    assert CheferGradient()(query).std(dim=0).max() > 1e-3


def test_attention_that_does_not_depend_on_the_input_counts():
    class Fixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.scores = nn.Parameter(torch.arange(50.0).view(2, 5, 5) / 50)

        def forward(self, x):
            weights = self.scores.expand(len(x), 2, 5, 5).softmax(-1)
            return (weights @ x[:, None]).sum(dim=1)[:, 0]

    for learned in (True, False):
        net = Fixed().double().requires_grad_(learned)
        query = ask(net, data(4, 5, 3).double(), features=Tokens(5, 3))
        weights = net.scores.softmax(-1)[:, 0].detach()
        values = query.x.gather(2, query.target.view(-1, 1, 1).expand(-1, 5, 1))[:, :, 0]
        expected = (weights[:, None] * values).clamp(min=0).mean(dim=0)
        expected[:, 0] += 1
        assert_close(CheferGradient()(query), expected, rtol=1e-9, atol=1e-12)


def test_models_without_attention_are_refused():
    with pytest.raises(NotApplicable, match="needs attention"):
        CheferGradient()(ask(cnn(), data(2, 2, 8, 8)))
