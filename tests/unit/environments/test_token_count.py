"""The designed transformer does what its program says, to a bound, and by attention."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.craft.token_count import leak
from assay.environments.token_count import TokenCount

SMALL = TokenCount(length=4, classes=2, words=1, decoys=1, fillers=1)
WORDS = SMALL.classes  # of the small vocabulary: 0, 1 count; 2, 3 are decoys of 0, 1; 4 does nothing; 5 negates
NEGATOR = 5


def every_text() -> Tensor:
    """All 6^4 texts of the small vocabulary, (1296, 4) word numbers."""
    return torch.tensor(list(product(range(6), repeat=4)))


def rows(ids: Tensor, vocabulary: int = 6) -> Tensor:
    return torch.eye(vocabulary)[ids]


def counted(text: list[int]) -> list[int]:
    """The sentence, word by word: words count for their class; after a negator they count against it."""
    total = [0] * WORDS
    for place, word in enumerate(text):
        if word < WORDS:
            total[word] += -1 if place > 0 and text[place - 1] == NEGATOR else 1
    return total


def test_the_program_is_the_sentence_on_every_text():
    texts = every_text()
    assert SMALL.program(rows(texts), 0).tolist() == [counted(text) for text in texts.tolist()]


@pytest.mark.parametrize("sharpness", [4.0, 8.0, 16.0, 24.0])
def test_the_network_is_the_program_up_to_the_leak_on_every_text(sharpness, record_property):
    environment = replace(SMALL, sharpness=sharpness)
    x = rows(every_text()).double()
    apart = (environment.network(0).double()(x) - environment.program(x, 0)).abs().max().item()
    allowed = leak(4, sharpness)
    assert apart <= allowed
    assert apart > allowed / 1000  # the bound says something
    record_property("told", f"token_count, sharpness {sharpness:g}: network off by {apart:.1e}, proved {allowed:.1e}")


@pytest.mark.parametrize("environment", [TokenCount(), TokenCount(negation=True), TokenCount(length=50, classes=5)])
def test_at_full_size_the_network_is_right_and_within_its_bound(environment):
    samples = environment.sample(range(500), 0)
    with torch.no_grad():
        logits = environment.network(0)(samples.x)
    assert bool((logits.argmax(dim=1) == samples.label).all())
    assert (logits - environment.program(samples.x, 0)).abs().max() <= environment.bound
    assert environment.bound < 1e-3


@pytest.mark.parametrize("negation", [False, True])
def test_without_query_and_key_the_network_falls_for_decoys(negation):
    environment = TokenCount(negation=negation)
    samples, network = environment.sample(range(300), 0), environment.network(0)
    for block in network.blocks:
        for layer in (block.attention.query, block.attention.key):
            layer.weight.data.zero_()
            layer.bias.data.zero_()
    with torch.no_grad():
        logits = network(samples.x)
    assert (logits.argmax(dim=1) == samples.label).float().mean() < 0.2
    assert (logits - environment.program(samples.x, 0)).abs().max() > 1


def test_attention_of_the_first_layer_depends_on_content():
    network = SMALL.network(0)
    one, other = rows(torch.tensor([[0, 4, 5, 1], [2, 4, 4, 1]]))
    weights = [attention(network, x[None]) for x in (one, other)]
    own, before = weights[0][0, 0], weights[0][0, 1]
    torch.testing.assert_close(own[1, 1], torch.tensor(1.0))  # a word reads itself
    torch.testing.assert_close(weights[1][0, 0, 1, 0], torch.tensor(1.0))  # a decoy reads position 0
    torch.testing.assert_close(before[4, 3], torch.tensor(1.0))  # the last word reads its negator
    torch.testing.assert_close(weights[1][0, 1, 4, 0], torch.tensor(1.0))  # without one, position 0


def attention(network, x: Tensor) -> Tensor:
    """(N, heads, S, S) of the first layer, from its linear layers."""
    words = network.embed(x)
    stream = torch.cat([torch.zeros_like(words[:, :1]), words], dim=1) + network.positions
    layer = network.blocks[0].attention
    query, key = (part(stream).unflatten(2, (2, -1)).transpose(1, 2) for part in (layer.query, layer.key))
    return torch.softmax(query @ key.transpose(-2, -1), dim=-1)


@pytest.mark.parametrize("negation", [False, True])
def test_the_effect_is_what_the_winner_loses_without_the_token(negation):
    environment = TokenCount(negation=negation)
    samples = environment.sample(range(100), 0)

    def lead(x: Tensor) -> Tensor:
        counts = environment.program(x, 0)
        return 2 * counts.gather(1, samples.label[:, None])[:, 0] - counts.sum(dim=1)

    places = torch.arange(environment.length)
    lost = [lead(samples.x) - lead(samples.x * (places != place)[:, None]) for place in places]
    assert torch.equal(torch.stack(lost, dim=1), samples.truth.effect)
    assert set(samples.truth.effect.unique().tolist()) == ({-2, -1, 0, 1, 2} if negation else {-1, 0, 1})


def test_texts_have_what_they_should():
    environment = TokenCount(negation=True)
    samples = environment.sample(range(400), 0)
    word = samples.x.argmax(dim=2)
    counts, decoy = word < 12, (word >= 12) & (word < 24)
    assert (samples.x.sum(dim=2) == 1).all()
    assert abs(counts.float().mean() - 0.25) < 0.02
    looks_like = (word - 12) // 4
    assert not (decoy & (looks_like == samples.label[:, None])).any()  # decoys never help the winner
    for text, is_decoy in zip(looks_like, decoy, strict=True):
        assert len(text[is_decoy].unique()) <= 1
    negator = word == environment._vocabulary - 1
    after = torch.nn.functional.pad(counts, (0, 1))[:, 1:]
    assert (negator & after).any()
    assert (negator & ~after).any()  # some turn nothing
    assert not TokenCount().sample(range(50), 0).x[..., -1].any()


@pytest.mark.parametrize("negated", [0.4, 0.8, 1.0])
def test_negators_are_as_likely_as_the_docstring_says(negated):
    environment = TokenCount(negation=True, negated=negated)
    x, _, _ = environment._draw([("likely", index) for index in range(2000)])  # with ties, which are drawn again later
    counted = x @ environment._lexicon.counts > 0
    free, follows = ~counted[:, :-1], counted[:, 1:]
    negator = (x @ environment._lexicon.negates > 0)[:, :-1]
    for place, likely in ((free & follows, min(1.0, 1.25 * negated)), (free & ~follows, negated / 4)):
        assert abs(negator[place].double().mean() - likely) <= 4 * (likely * (1 - likely) / place.sum()) ** 0.5


def test_half_a_word_is_no_word():
    """Between words the network does what its attention does, not what the program says: that is what methods meet."""
    x = SMALL.sample(range(8), 0).x
    network = SMALL.network(0)
    assert torch.allclose(network(0.4 * x), torch.zeros(8, 2), atol=0.05)
    torch.testing.assert_close(network(0.9 * x), 0.9 * SMALL.program(x, 0), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "changes", [{"classes": 1}, {"words": 0}, {"length": 0}, {"counted": 0}, {"counted": 0.9}, {"sharpness": 0}]
)
def test_what_cannot_be_is_refused(changes):
    with pytest.raises(SpecError, match="token_count: "):
        TokenCount(**changes)
