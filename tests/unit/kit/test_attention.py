"""Attention is recorded as the model computes it, however it is implemented, and nothing else changes."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from assay.core.errors import NotApplicable
from assay.kit.attention import attention, attention_and_gradients
from scenes import data, randomised
from streams import seeded

S, WIDTH, HEADS = 5, 8, 2
CAUSAL = torch.ones(S, S, dtype=torch.bool).tril()
MASKS = {
    "none": {},
    "bool": {"attn_mask": CAUSAL},
    "numbers": {"attn_mask": torch.zeros(S, S).masked_fill(~CAUSAL, -torch.inf)},
    "causal": {"is_causal": True},
    "scale": {"scale": 0.3},
}


class Fused(nn.Module):
    """Heads of attention over (N, S, width), for scaled_dot_product_attention with some options."""

    @seeded()
    def __init__(self, flat=False, **options):
        super().__init__()
        self.flat, self.options = flat, options
        self.project = nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x):
        q, k, v = self.project(x).unflatten(2, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        if self.flat:
            q, k, v = (part.flatten(0, 1) for part in (q, k, v))
        read = F.scaled_dot_product_attention(q, k, v, **self.options)
        return read.reshape(len(x), -1)


class Stock(nn.Module):
    """PyTorch's own layers, with the samples on the axis that they expect."""

    def __init__(self, layers, first):
        super().__init__()
        self.layers, self.first = layers, first

    def forward(self, x):
        return self.layers(x if self.first else x.transpose(0, 1)).transpose(0, 0 if self.first else 1).flatten(1)


@seeded()
def encoder(first, **options):
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 16, batch_first=first, **options)
    return Stock(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), first)


class MultiHead(nn.Module):
    @seeded()
    def __init__(self, first=True, mask=None, padding=None, **options):
        super().__init__()
        self.heads = nn.MultiheadAttention(WIDTH, HEADS, batch_first=first, **options)
        self.mask, self.padding, self.first = mask, padding, first
        self.returned = []

    def forward(self, x):
        x = x if self.first else x.transpose(0, 1)
        padding = None if self.padding is None else self.padding.expand(3, -1)
        read, weights = self.heads(x, x, x, attn_mask=self.mask, key_padding_mask=padding)
        self.returned.append(weights)
        return read.transpose(0, 0 if self.first else 1).flatten(1)


def by_hand(fused, x):
    q, k, _ = fused.project(x).unflatten(2, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
    scores = q @ k.mT * fused.options.get("scale", (WIDTH // HEADS) ** -0.5)
    masked = fused.options.get("is_causal") or "attn_mask" in fused.options
    return (scores.masked_fill(~CAUSAL, -torch.inf) if masked else scores).softmax(-1).detach()


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("options", MASKS.values(), ids=MASKS)
def test_fused_attention_is_noted_and_does_what_it_did(options, flat):
    net, x = randomised(Fused(flat, **options)), data(3, S, WIDTH)
    (recorded,) = attention(net, x)
    assert_close(recorded, by_hand(net, x), rtol=1e-5, atol=1e-6)
    weights, gradient = attention_and_gradients(net, x, torch.tensor([0, 1, 2]))[0]
    assert_close(weights, recorded, rtol=1e-5, atol=1e-6)
    value = net.project(x).unflatten(2, (3, HEADS, -1))[:, :, 2, 0].detach()  # (N, S, inner): the first head's
    for row in range(3):
        assert_close(gradient[row, 0, 0], value[row, :, row], rtol=1e-5, atol=1e-6)  # output is the first row's entry


def outputs_in_scope(net, x):
    """What the model answers while its attention is computed step by step."""
    answers = []

    class Kept(nn.Module):
        def forward(self, rows):
            answers.append(net(rows))
            return answers[-1]

    attention(Kept(), x)
    return answers[0]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("options", [{}, {"norm_first": True, "activation": "gelu"}, {"bias": False}])
def test_pytorchs_layers_are_seen_past_their_shortcuts(first, options):
    net, x = randomised(encoder(first, **options)).requires_grad_(False), data(3, S, WIDTH)
    layers = attention(net, x)
    assert [tuple(layer.shape) for layer in layers] == 2 * [(3, HEADS, S, S)]
    assert_close(torch.stack(layers).sum(dim=-1), torch.ones(2, 3, HEADS, S), rtol=1e-5, atol=1e-6)
    with torch.no_grad():
        assert_close(outputs_in_scope(net, x), net(x), rtol=1e-5, atol=1e-5)


MULTI = {
    "plain": {},
    "second": {"first": False},
    "mask": {"mask": ~CAUSAL},
    "numbers": {"mask": torch.zeros(S, S).masked_fill(~CAUSAL, -torch.inf)},
    "every head": {"mask": (~CAUSAL).expand(3 * HEADS, S, S)},
    "padding": {"padding": torch.tensor([False, False, True, False, True])},
    "both": {"mask": ~CAUSAL, "padding": torch.tensor([False, False, True, False, True])},
}


@pytest.mark.parametrize("options", MULTI.values(), ids=MULTI)
def test_multi_head_attention_is_noted_and_does_what_it_did(options):
    net, x = randomised(MultiHead(**options)), data(3, S, WIDTH)
    expected = net(x)
    (recorded,) = attention(net, x)
    assert_close(recorded.mean(dim=1), net.returned[0].detach(), rtol=1e-5, atol=1e-6)
    assert_close(net.returned[1], net.returned[0], rtol=1e-5, atol=1e-6)  # the weights that the layer returns
    assert_close(outputs_in_scope(net, x), expected, rtol=1e-5, atol=1e-5)


class Across(nn.Module):
    def forward(self, x):
        return F.scaled_dot_product_attention(x[:, :1], x, x).flatten(1)


class Windows(nn.Module):
    def forward(self, x):
        parts = x.unflatten(1, (2, 2)).flatten(0, 1).unsqueeze(1)  # (2 N, 1, 2, width)
        return F.scaled_dot_product_attention(parts, parts, parts).reshape(len(x), -1)


class Shrinking(nn.Module):
    def forward(self, x):
        x = F.scaled_dot_product_attention(x, x, x)[:, ::2]
        return F.scaled_dot_product_attention(x, x, x).flatten(1)


@pytest.mark.parametrize(
    "net, reason",
    [
        (Fused(dropout_p=0.1), "has dropout"),
        (Fused(enable_gqa=True), "has shared keys"),
        (MultiHead(add_bias_kv=True), "has extra keys"),
        (MultiHead(add_zero_attn=True), "has extra keys"),
        (MultiHead(kdim=WIDTH, vdim=WIDTH, dropout=0.5).train(), "has dropout"),
        (Across(), "needs self-attention"),
        (Windows(), "softmax of"),
        (Shrinking(), "same positions in every layer"),
        (nn.Flatten(), "needs attention, and the model computes none"),
    ],
)
def test_other_attention_is_refused(net, reason):
    with pytest.raises(NotApplicable, match=reason):
        attention(net, data(3, 4, WIDTH))


def test_other_softmaxes_are_not_attention():
    class Gated(nn.Module):
        @seeded()
        def __init__(self):
            super().__init__()
            self.inner, self.gate = Fused(), nn.Linear(WIDTH, 3)

        def forward(self, x):
            gate = self.gate(x).softmax(-1).sum(dim=1)
            along = torch.softmax(x @ x.mT, dim=1).sum(dim=(1, 2))  # square, but along another axis
            return (self.inner(x)[:, :3] * gate * along[:, None]).softmax(1)

    assert len(attention(randomised(Gated()), data(3, S, WIDTH))) == 1


def test_nothing_stays_behind_when_the_model_breaks():
    class Broken(nn.Module):
        def forward(self, x):
            F.scaled_dot_product_attention(x, x, x)
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        attention(Broken(), data(3, S, WIDTH))
    assert not torch.overrides.has_torch_function((torch.ones(1),))
