"""Grad-CAM on attention, against a literal sum over heads."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from assay.core.errors import NotApplicable
from assay.core.features import Tokens
from assay.engine.artifacts.answer import answer
from assay.methods.attention import VitGradCam
from oracles.methods.blocks import images, question, sample, spread, tokens, walks
from scenes import ask, cnn, data


def literal(net, query):
    result = []
    for _, steps, _ in walks(net, query):
        heads = steps[-1].attention
        row = torch.zeros(len(heads[0]), dtype=torch.float64)
        for weights in heads:
            slope = sum(float(weights.grad[0, j]) for j in range(1, len(row))) / (len(row) - 1)
            for j in range(1, len(row)):
                row[j] += slope * float(weights[0, j]) / len(heads)
        result.append(row)
    return torch.stack(result)


@pytest.mark.parametrize("readout", ["logit", "probability"])
@pytest.mark.parametrize("kind", [tokens, images])
def test_the_map_is_the_literal_one(kind, readout):
    net = kind()
    query = question(net, sample(kind, 6), readout, features=None if kind is images else Tokens(5, 4))
    expected = spread(query, literal(net, query))
    assert expected.min() < 0 < expected.max()
    assert_close(VitGradCam(relu=False)(query), expected, rtol=1e-9, atol=1e-12)
    assert_close(VitGradCam()(query), expected.clamp(min=0), rtol=1e-9, atol=1e-12)


def test_the_layer_is_named():
    query = question(tokens(depth=3), sample(tokens, 2), features=Tokens(5, 4))
    assert answer(VitGradCam(), query).notes["layer 3 of 3 with attention"] == 2


def test_models_without_attention_are_refused():
    with pytest.raises(NotApplicable, match="needs attention"):
        VitGradCam()(ask(cnn(), data(2, 2, 8, 8)))
