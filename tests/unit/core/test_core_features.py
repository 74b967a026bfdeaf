"""pool and expand are each other's transpose, whatever axes come before."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.features import Columns, Pixels, Tokens

quick = settings(max_examples=40)


@st.composite
def columns(draw):
    """Every feature has at least one entry; entries are in any order."""
    count = draw(st.integers(1, 5))
    extra = draw(st.lists(st.integers(0, count - 1), max_size=4))
    return Columns(tuple(draw(st.permutations([*range(count), *extra]))))


features = (
    columns()
    | st.builds(Pixels, st.integers(1, 3), st.integers(1, 4), st.integers(1, 4))
    | st.builds(Tokens, st.integers(1, 4), st.integers(1, 3))
)
leading = st.lists(st.integers(0, 3), max_size=3).map(tuple)


def noise(seed, *shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@quick
@given(features, leading, st.integers(0, 9))
def test_expand_is_the_transpose_of_pool(what, before, seed):
    x, per_feature = noise(seed, *before, *what.entries), noise(seed + 100, *before, *what.shape)
    pooled, expanded = what.pool(x), what.expand(per_feature)
    assert pooled.shape == (*before, *what.shape)
    assert expanded.shape == (*before, *what.entries)
    torch.testing.assert_close((pooled * per_feature).sum(), (x * expanded).sum(), rtol=1e-9, atol=1e-12)


@quick
@given(features, leading, st.integers(0, 9))
def test_every_entry_belongs_to_exactly_one_feature(what, before, seed):
    ones = torch.ones(*before, *what.shape, dtype=torch.float64)
    assert torch.equal(what.expand(ones), torch.ones(*before, *what.entries, dtype=torch.float64))
    x = noise(seed, *before, *what.entries)
    torch.testing.assert_close(what.pool(x).sum(), x.sum(), rtol=1e-9, atol=1e-12)


@quick
@given(columns(), st.integers(0, 9))
def test_columns_pool_as_a_loop_over_entries_does(what, seed):
    x = noise(seed, 2, 3, len(what.groups))
    expected = torch.zeros(2, 3, *what.shape, dtype=torch.float64)
    for entry, group in enumerate(what.groups):
        expected[:, :, group] += x[:, :, entry]
    torch.testing.assert_close(what.pool(x), expected, rtol=1e-12, atol=1e-12)


def test_entries_in_any_order_find_their_column():
    what = Columns((2, 0, 2, 1))
    assert what.pool(torch.tensor([[1.0, 2.0, 4.0, 8.0]])).tolist() == [[2.0, 8.0, 5.0]]
    assert what.expand(torch.tensor([[10.0, 20.0, 30.0]])).tolist() == [[30.0, 10.0, 30.0, 20.0]]


def test_a_pixel_is_the_sum_of_its_channels():
    x = torch.arange(12.0).view(1, 3, 2, 2)
    assert Pixels(3, 2, 2).pool(x).tolist() == [[[12.0, 15.0], [18.0, 21.0]]]


def test_a_token_is_the_sum_of_its_embedding_and_not_of_a_dimension():
    x = torch.arange(6.0).view(1, 2, 3)
    assert Tokens(2, 3).pool(x).tolist() == [[3.0, 12.0]]
    assert Tokens(2, 3).expand(torch.tensor([[1.0, 2.0]])).tolist() == [[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]]


@pytest.mark.parametrize("what", [Pixels(3, 4, 5), Columns.plain(4), Columns((0, 0, 1)), Tokens(3, 2)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bool])
def test_expand_keeps_the_number_format(what, dtype):
    assert what.expand(torch.ones(2, *what.shape, dtype=dtype)).dtype == dtype


def test_plain_columns_are_their_own_entries():
    x = noise(0, 3, 4)
    assert Columns.plain(4).shape == Columns.plain(4).entries == (4,)
    assert torch.equal(Columns.plain(4).pool(x), x)
    assert torch.equal(Columns.plain(4).expand(x), x)


def test_pool_does_not_write_into_its_input():
    x = noise(0, 2, 4)
    before = x.clone()
    Columns.plain(4).pool(x).zero_()
    Columns((0, 1, 1, 0)).pool(x).zero_()
    assert torch.equal(x, before)
