"""Attention rollout, against products of matrices by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.core.features import Tokens
from assay.methods.attention import AttentionRollout
from oracles.methods.blocks import images, question, sample, spread, tokens, walks
from scenes import ask, cnn, data, mlp, randomised


def literal(net, query, start, reader=0):
    """One sample, one layer, one position at a time."""
    result = []
    for _, steps, _ in walks(net, query):
        count = len(steps[0].start)
        reached = torch.eye(count, dtype=torch.float64)
        for step in steps[start:]:
            new = torch.zeros_like(reached)
            for i in range(count):
                row = torch.zeros(count, dtype=torch.float64)
                for weights in step.attention:
                    row += weights[i].detach() / len(step.attention)
                row[i] += 1
                for j in range(count):
                    new[i] += row[j] / row.sum() * reached[j]
            reached = new
        result.append(reached[reader])
    return torch.stack(result)


def test_as_in_the_paper_all_layers_count():
    assert AttentionRollout() == AttentionRollout(start=0)


@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("kind", [tokens, images])
@pytest.mark.parametrize("way", ["fused", "matmul", "einsum"])
def test_rollout_is_the_literal_one(kind, way, start):
    net = kind(way=way)
    query = question(net, sample(kind), features=None if kind is images else Tokens(5, 4))
    expected = spread(query, literal(net, query, start))
    assert_close(AttentionRollout(start)(query), expected, rtol=1e-9, atol=1e-12)


def test_another_reader_reads_another_row():
    net = tokens()
    query = question(net, sample(tokens), features=Tokens(5, 4))
    for reader in (2, -1):
        expected = literal(net, query, 0, reader)[:, 1:]
        assert_close(AttentionRollout(reader=reader)(query), expected, rtol=1e-9, atol=1e-12)
    with pytest.raises(NotApplicable, match="needs a position 6 to read from"):
        AttentionRollout(reader=6)(query)


def test_a_reader_that_is_a_token_keeps_its_place():
    net = tokens()
    body = randomised(Body(net)).double()
    query = ask(body, data(3, 6, 6).double(), features=Tokens(6, 6))
    found = AttentionRollout(0)(query)
    assert found.shape == (3, 6)
    assert_close(found.sum(dim=1), torch.ones(3).double(), rtol=1e-9, atol=0)
    assert float(found[:, 0].min()) > 1 / 8  # half of what it has goes past each of three layers


class Body(nn.Module):
    """A transformer whose first token is the reader."""

    def __init__(self, net):
        super().__init__()
        self.layers, self.head = net.layers, net.head

    def forward(self, x):
        return self.head(self.layers(x)[:, 0])


def test_models_without_attention_are_refused():
    for net, x in ((mlp(), data(2, 6)), (cnn(), data(2, 2, 8, 8))):
        with pytest.raises(NotApplicable, match="needs attention"):
            AttentionRollout()(ask(net, x, "probability"))


def test_models_with_too_few_layers_are_refused():
    query = question(tokens(depth=1), sample(tokens), features=Tokens(5, 4))
    with pytest.raises(NotApplicable, match=r"more than 1 layers of attention, and the model has 1 \(see start\)"):
        AttentionRollout(start=1)(query)
    with pytest.raises(SpecError, match="Choose 0 for all layers"):
        AttentionRollout(start=-1)


def test_positions_that_are_no_features_are_refused():
    class Narrow(nn.Module):
        """Attends over pairs of pixels, or of tokens."""

        def __init__(self, net):
            super().__init__()
            self.body = Body(net)

        def forward(self, x):
            return self.body(x.flatten(1).unflatten(1, (-1, 6)))

    narrow = Narrow(tokens())
    with pytest.raises(NotApplicable, match="12 features, attention over 4"):
        AttentionRollout()(ask(narrow, data(2, 12, 2).double(), features=Tokens(12, 2)))
    for shape in ((3, 12, 8), (6, 6, 2)):  # 48 positions: no patches; 12 positions: pixels, but nobody who reads
        with pytest.raises(NotApplicable, match="needs a class token and square patches"):
            AttentionRollout()(ask(narrow, data(2, *shape).double()))
