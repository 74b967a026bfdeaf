"""Shuffled maps, against loops over samples and features."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from assay.core.errors import SpecError
from assay.core.features import Columns
from assay.core.query import Remarks
from assay.core.rng import Stream
from assay.methods.agop import Agop
from assay.methods.combinators import Absolute
from assay.methods.content_free import RandomMap
from assay.methods.gradient import Gradient
from assay.methods.shuffled import Shuffled
from scenes import ask, cnn, data, fitted, mlp
from streams import seeded

SHARES = (0.0, 0.2, 0.29, 0.6, 1.0)


@dataclass(frozen=True)
class Given:
    """These maps, whatever the question."""

    maps: Tensor

    def __call__(self, query):
        return self.maps


def images(count=3):
    return ask(cnn().double(), data(count, 2, 8, 8).double()), data(count, 2, 8, 8, seed=5).double()


@seeded()
def columns(entries, features=None):
    """A question about rows that are their own maps, too."""
    return ask(torch.nn.Linear(entries.shape[1], 2).to(entries), entries, features=features)


def literal(query, sample, values, share):
    """One sample's map: the first features of a random order, each with the number of another one of them."""
    one = replace(query, indices=query.indices[sample : sample + 1])
    one = replace(one, stream=replace(query.stream, component="shuffled Given"))
    count = int(share * len(values) + 1e-6)
    chosen = one.draws("shuffled features").permutations(len(values))[0].tolist()[:count]
    givers = one.draws("shuffled values").permutations(count)[0].tolist()
    after = list(values)
    for taker, giver in zip(chosen, givers, strict=True):
        after[taker] = values[chosen[giver]]
    return after


@pytest.mark.parametrize("share", SHARES)
def test_the_map_is_the_literal_loop(share):
    query, maps = images()
    found = Shuffled(Given(maps), share)(query)
    summed = (maps[:, 0] + maps[:, 1]).flatten(1).tolist()  # one number per pixel
    expected = [literal(query, sample, values, share) for sample, values in enumerate(summed)]
    assert_close(found, torch.tensor(expected, dtype=torch.float64).view(3, 8, 8), rtol=0, atol=0)


def test_no_share_is_the_map_and_every_share_has_its_numbers():
    query, maps = images()
    whole = maps.sum(dim=1).flatten(1)
    assert torch.equal(Shuffled(Given(maps), 0.0)(query).flatten(1), whole)
    for share in SHARES:
        found = Shuffled(Given(maps), share)(query).flatten(1)
        assert torch.equal(found.sort(dim=1).values, whole.sort(dim=1).values)


def test_so_many_features_change_and_those_of_a_smaller_share_are_among_them():
    """A random permutation leaves one number in its place on average."""
    entries = torch.arange(100.0).expand(400, 100)
    query = columns(entries)
    moved = {share: Shuffled(Given(entries), share)(query) != entries for share in (0.29, 0.57, 1.0)}
    for share, count in ((0.29, 29), (0.57, 57), (1.0, 100)):
        changed = moved[share].sum(dim=1)
        assert changed.max() <= count
        assert abs(float(changed.double().mean()) - (count - 1)) < 5 / 400**0.5
        assert (moved[share].double().mean(dim=0) - (count - 1) / 100).abs().max() < 5 * 0.5 / 400**0.5
    stayed = (moved[0.29] & ~moved[0.57]).sum()  # came back by chance: 1 in 57
    assert stayed < 2 * 400 * 28 / 57


def test_every_order_of_three_chosen_features_is_as_likely():
    entries = torch.arange(3.0).expand(6000, 3)
    found = Counter(map(tuple, Shuffled(Given(entries), 1.0)(columns(entries)).tolist()))
    assert len(found) == 6
    assert max(abs(count - 1000) for count in found.values()) < 5 * (6000 * 5 / 36) ** 0.5


def test_a_sample_s_shuffle_does_not_depend_on_its_block():
    query, maps = images()
    whole = Shuffled(Given(maps), 0.6)(query)
    assert torch.equal(Shuffled(Given(maps[2:]), 0.6)(query.take(slice(2, 3))), whole[2:])
    alike = Shuffled(Given(maps[:1].expand_as(maps)), 0.6)(query)
    assert not torch.equal(alike[0], alike[1])


def test_all_shares_are_of_one_map_even_if_the_inner_method_draws_numbers():
    query, _ = images()
    asked = [replace(query, stream=Stream("method", f"shuffled({share})")) for share in (0.0, 1.0)]
    first, last = (Shuffled(RandomMap(), share)(one) for share, one in zip((0.0, 1.0), asked, strict=True))
    assert torch.equal(first.flatten(1).sort().values, last.flatten(1).sort().values)
    assert not torch.equal(first, last)


def test_the_fit_is_the_inner_method_s_and_the_same_for_all_shares():
    query = ask(mlp().double(), data(4, 6).double())
    method = Shuffled(Agop(), 0.0)
    assert_close(method(fitted(method, query)), Agop()(fitted(Agop(), query)))
    assert not hasattr(Shuffled(Gradient()), "fit")


def test_it_has_no_negative_values_where_the_inner_method_has_none():
    assert Shuffled(Absolute()).positive_only
    assert not Shuffled(Gradient()).positive_only


def test_a_feature_of_several_columns_is_one():
    maps = torch.tensor([[1.0, -2.0, 3.0, 0.0, 0.5]]).double()
    found = Shuffled(Given(maps), 1.0)(columns(maps, Columns((0, 1, 1, 2, 3))))
    assert sorted(found[0].tolist()) == [0.0, 0.5, 1.0, 1.0]


def test_remarks_about_the_size_and_the_grid_of_the_inner_map_do_not_reach_the_shuffled_one():
    @dataclass(frozen=True)
    class Remarking(Given):
        def __call__(self, query):
            query.note("seen")
            query.remarks.resolution = torch.ones_like(self.maps)
            return self.maps

    query, maps = images()
    query = replace(query, remarks=Remarks())
    Shuffled(Remarking(maps))(query)
    assert query.remarks.notes == {"seen": 3}
    assert query.remarks.resolution is None


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_what_is_no_share_is_refused(share):
    with pytest.raises(SpecError, match="shuffled: share="):
        Shuffled(share=share)
