"""Attention in the transformers of another library, against what that library says about it."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.core.features import Tokens
from assay.kit.attention import attention
from assay.methods.attention import AttentionRollout, CheferGradient, CheferRelevance, VitGradCam
from scenes import ask, data, randomised
from streams import seeded

SIZES = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 32}
METHODS = [AttentionRollout(), CheferGradient(), CheferRelevance(), VitGradCam(relu=False)]

pytestmark = pytest.mark.full  # the library takes seconds to import


class Wrapped(nn.Module):
    def __init__(self, model, inputs, read):
        super().__init__()
        self.model, self.inputs, self.read = model, inputs, read

    def forward(self, x):
        return self.read(self.model(**{self.inputs: x}))


@seeded()
def built(name, way):
    library = pytest.importorskip("transformers")
    if name == "Bert":
        config = library.BertConfig(vocab_size=10, attn_implementation=way, **SIZES)
        model = Wrapped(library.BertModel(config), "inputs_embeds", lambda found: found.last_hidden_state[:, 0])
        return randomised(model, scale=0.2), data(4, 7, 16), Tokens(7, 16)
    config = getattr(library, f"{name}Config")(
        image_size=12, patch_size=4, num_labels=3, attn_implementation=way, **SIZES
    )
    model = Wrapped(
        getattr(library, f"{name}ForImageClassification")(config), "pixel_values", lambda found: found.logits
    )
    return randomised(model, scale=0.2), data(4, 3, 12, 12), None


@pytest.mark.parametrize("name", ["ViT", "DeiT", "Bert"])  # with a class token; with two tokens more; with no more
def test_attention_is_what_the_library_tells_and_methods_apply_to_both_of_its_ways(name):
    model, x, features = built(name, "eager")
    told = model.model(**{model.inputs: x}, output_attentions=True).attentions
    assert_close(attention(model, x), [layer.detach() for layer in told], rtol=1e-6, atol=1e-6)
    fused, _, _ = built(name, "sdpa")
    for method in METHODS:
        found, other = (method(ask(net, x, features=features)) for net in (model, fused))
        assert_close(other, found, rtol=1e-3, atol=1e-5 * float(found.abs().max()))
        assert (found.flatten(1).std(dim=1) > 0).all()
    assert torch.equal(model(x), model(x))
