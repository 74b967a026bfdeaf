"""Relevance of attention, against relevance sent through the layers by hand, one sample, head and output at a time."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.core.errors import NotApplicable
from assay.core.features import Tokens
from assay.kit.backward.chefer import attention_relevance
from assay.methods.attention import CheferRelevance
from oracles.methods.blocks import images, question, sample, spread, tokens, walks
from scenes import ask, cnn, data


def away_from_zero(value, total):
    """value / total with the stabiliser on total's side of 0."""
    return torch.where(total == 0, 0, value / (total + 1e-9 * torch.sign(total)))


def authors(value, total):
    """value / total as in the authors' program: the stabiliser is added to negative totals, too."""
    below = total.clamp(min=1e-9) + total.clamp(max=1e-9)
    return value / (below + (below == 0) * 1e-9) * (total != 0)


def through_layer(x, weight, received, over):
    """LRP with alpha 1 and beta 0, one output at a time."""
    handed = torch.zeros_like(x)
    for j in range(weight.shape[0]):
        positive = (x * weight[j]).clamp(min=0)
        handed += positive * over(received[..., j], positive.sum(dim=-1)).unsqueeze(-1)
    return handed


def through_product(left, right, received, over):
    """left @ right, half to each."""
    share = over(received, left @ right)
    return left * (share @ right.T) / 2, right * (left.T @ share) / 2


def through_sum(left, right, received, over):
    """left + right, each scaled to its part of the total."""
    handed = []
    a, b = (part * over(received, left + right) for part in (left, right))
    for share in (a, b):
        part = share.sum().abs() / (a.sum().abs() + b.sum().abs()) * received.sum()
        handed.append(share * part / share.sum())
    return handed


@torch.no_grad()
def literal(net, target, steps, last, over=away_from_zero):
    """Relevance of each layer's attention (heads, S, S), of one sample."""
    received = torch.zeros(net.head.out_features, dtype=torch.float64)
    received[target] = 1
    stream = torch.zeros_like(steps[0].start)
    stream[0] = through_layer(last, net.head.weight, received, over)
    found = []
    for layer, step in reversed(list(zip(net.layers, steps, strict=True))):
        skipped, added = through_sum(step.middle, step.added, stream, over)
        active = through_layer(step.active, layer.down.weight, added, over)
        middle = skipped + through_layer(step.seen, layer.up.weight, active, over)
        skipped, attended = through_sum(step.start, step.attended, middle, over)
        read = through_layer(step.read, layer.o.weight, attended, over).split(step.v[0].shape[1], dim=1)
        attention, queries, keys, values = [], [], [], []
        for head, received in enumerate(read):
            weights, value = through_product(step.attention[head], step.v[head], received, over)
            query, key = through_product(step.q[head], step.k[head].T, weights, over)
            for part, parts in ((weights, attention), (query, queries), (key.T, keys), (value, values)):
                parts.append(part)
        stream = skipped
        for part, parts in ((layer.q, queries), (layer.k, keys), (layer.v, values)):
            stream = stream + through_layer(step.read_from, part.weight, torch.cat(parts, dim=1), over)
        found.insert(0, torch.stack(attention))
    return found


def attribution(net, query, start, over=away_from_zero):
    result = []
    for target, steps, last in walks(net, query):
        reached = torch.eye(len(steps[0].start), dtype=torch.float64)
        for step, part in list(zip(steps, literal(net, target, steps, last, over), strict=True))[start:]:
            slopes = torch.stack([weights.grad for weights in step.attention])
            reached = reached + (part * slopes).clamp(min=0).mean(dim=0) @ reached
        result.append(reached[0])
    return spread(query, torch.stack(result))


VARIANTS = [
    (tokens, {"way": "fused"}),
    (tokens, {"way": "matmul", "norm": nn.Identity, "activation": nn.ReLU}),
    (tokens, {"way": "matmul", "activation": lambda: nn.ReLU(inplace=True)}),
    (tokens, {"way": "einsum", "activation": nn.Tanh}),
    (images, {"way": "fused"}),
    (images, {"way": "matmul"}),
]


@pytest.mark.parametrize("kind, options", VARIANTS)
def test_relevance_is_the_literal_one(kind, options):
    net = kind(**options)
    query = asked(kind, net)
    expected = [literal(net, *walked) for walked in walks(net, query)]
    for start in (0, 2):
        found = attention_relevance(net, query.x, query.target, start)
        for layer, part in enumerate(found, start):
            wanted = torch.stack([layers[layer] for layers in expected])
            assert_close(part, wanted, rtol=1e-9, atol=1e-9 * float(wanted.abs().max()))
            assert wanted.abs().max() > 1e-3


@pytest.mark.parametrize(
    "kind, readout", [(tokens, "logit"), (tokens, "probability"), (tokens, "margin"), (images, "logit")]
)
def test_the_map_is_the_literal_one(kind, readout):
    net = kind()
    query = asked(kind, net, readout)
    for start in (0, 1):
        expected = attribution(net, query, start)
        assert_close(CheferRelevance(start)(query), expected, rtol=1e-9, atol=1e-12)
        assert expected.max() > 1e-4


def test_the_authors_stabiliser_makes_no_difference():
    net = tokens()
    query = asked(tokens, net)
    assert_close(CheferRelevance()(query), attribution(net, query, 1, authors), rtol=1e-6, atol=1e-9)


def asked(kind, net, readout="logit", count=3):
    return question(net, sample(kind, count), readout, features=None if kind is images else Tokens(5, 4))


@pytest.mark.parametrize("count", [6, 7])
def test_as_many_samples_as_positions_are_no_obstacle(count):
    net = tokens(depth=2)
    query = asked(tokens, net, count=count)
    assert_close(CheferRelevance()(query), attribution(net, query, 1), rtol=1e-9, atol=1e-12)


def test_float32_models_are_answered_in_float64_unless_told_otherwise():
    net = tokens()
    exact = CheferRelevance()(asked(tokens, net))
    query = question(net.float(), sample(tokens, 3).float(), features=Tokens(5, 4))
    wide, narrow = CheferRelevance()(query), CheferRelevance(double=False)(query)
    assert wide.dtype == narrow.dtype == next(net.parameters()).dtype == torch.float32
    assert_close(wide.double(), exact, rtol=1e-3, atol=1e-6)  # weights and samples are rounded, nothing else
    assert_close(narrow.double(), exact, rtol=1e-2, atol=1e-4)
    assert not torch.equal(wide, narrow)


def test_models_without_attention_are_refused():
    with pytest.raises(NotApplicable, match="needs attention"):
        CheferRelevance()(ask(cnn(), data(2, 2, 8, 8)))
