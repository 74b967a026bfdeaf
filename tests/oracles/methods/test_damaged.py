"""Damaged maps, against loops over samples and features after table 3 of Li et al."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from assay.core.errors import SpecError
from assay.core.features import Columns
from assay.core.query import Remarks
from assay.core.rng import Stream
from assay.methods.agop import Agop
from assay.methods.content_free import RandomMap
from assay.methods.damaged import Damaged
from assay.methods.gradient import Gradient
from scenes import ask, cnn, data, fitted, mlp
from streams import seeded

CHANGES, SCHEMES = ("remove", "introduce"), ("constant", "random", "partial", "half")


@dataclass(frozen=True)
class Given:
    """These maps, whatever the question."""

    maps: Tensor

    def __call__(self, query):
        return self.maps


def images(count=3):
    """A question about images of 8 x 8 pixels, and maps with both signs, many zeros and ties."""
    maps = (2 * data(count, 2, 8, 8, seed=5).double()).round() * 0.75
    maps[:, :, :3] = 0.0
    return ask(cnn().double(), data(count, 2, 8, 8).double()), maps


@seeded()
def columns(entries, features=None):
    """A question about rows that are their own maps, too."""
    return ask(torch.nn.Linear(entries.shape[1], 2).to(entries), entries, features=features)


def original(entries, transform):
    """One sample's map, brought to 0..1. ``entries``: the numbers of each feature."""
    if transform == "positive":
        sizes = [max(0.0, float(sum(numbers))) for numbers in entries]
    else:
        sizes = [float(sum(abs(number) for number in numbers)) for numbers in entries]
        sizes = [size - min(sizes) for size in sizes]
    return [size / max(sizes) if max(sizes) > 0 else 0.0 for size in sizes]


def quantile(values, share):
    """Between the two nearest values in order, in proportion."""
    ordered, place = sorted(values), share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def ascending(values, shuffle):
    """Features from the smallest value to the largest; equal ones in the order of the shuffle."""
    return sorted(shuffle, key=lambda feature: values[feature])


def literal(query, sample, entries, change, scheme, transform="abs"):
    before = original(entries, transform)
    features = range(len(before))
    one = replace(query, indices=query.indices[sample : sample + 1])
    after = list(before)
    if change == "none":
        return after
    if scheme == "constant":
        step = [0.6] * len(before)
    if scheme == "random":
        step = [0.6 * number for number in one.draws("shift").uniform(len(before))[0].tolist()]
    if scheme in ("constant", "random"):
        for feature in features:
            moved = before[feature] + step[feature] if change == "introduce" else before[feature] - step[feature]
            after[feature] = min(1.0, max(0.0, moved))
    if scheme == "partial":
        order = ascending(before, one.draws("ties").permutations(len(before))[0].tolist())
        first, last = (0, 4) if change == "introduce" else (6, 8)
        for place, feature in enumerate(order):
            if first * len(order) // 10 <= place < last * len(order) // 10:
                after[feature] = quantile(before, 0.8) if change == "introduce" else 0.0
    if scheme == "half":
        may_change = [feature for feature in features if (before[feature] > 0) == (change == "remove")]
        number = one.draws("half").uniform(len(before))[0].tolist()
        chosen = sorted(may_change, key=lambda feature: -number[feature])[: len(may_change) // 2]
        added = one.draws("introduced").uniform(len(before))[0].tolist()
        for feature in chosen:
            after[feature] = added[feature] if change == "introduce" else 0.0
    return after


def literal_maps(query, maps, *how):
    """By sample; the entries of a feature are the channels of a pixel."""
    samples = [
        literal(query, sample, [list(pixel) for pixel in channels.reshape(len(channels), -1).T], *how)
        for sample, channels in enumerate(maps.numpy())
    ]
    return torch.tensor(samples, dtype=torch.float64).view(len(maps), 8, 8)


@pytest.mark.parametrize("transform", ["abs", "positive"])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("change", ["none", *CHANGES])
def test_the_map_is_the_literal_loop(change, scheme, transform):
    query, maps = images()
    damaged = Damaged(Given(maps), change=change, scheme=scheme, transform=transform)(query)
    assert_close(damaged, literal_maps(query, maps, change, scheme, transform), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("change", CHANGES)
def test_partial_damage_of_a_row_of_ten(change):
    """Ranks by hand: 0.6 to 0.8 of ten are the seventh and the eighth, 0 to 0.4 the first four."""
    entries = torch.tensor([[9.0, 0.0, 8.0, 1.0, 7.0, 2.0, 6.0, 3.0, 5.0, 4.0]]).double()
    query = columns(entries)
    found = 9 * Damaged(Given(entries), change=change, scheme="partial")(query)[0]
    removed = [9.0, 0.0, 8.0, 1.0, 0.0, 2.0, 0.0, 3.0, 5.0, 4.0]
    introduced = [9.0, 7.2, 8.0, 7.2, 7.0, 7.2, 6.0, 7.2, 5.0, 4.0]  # 0.8 of the way from 0 to 9
    assert_close(found.tolist(), removed if change == "remove" else introduced, rtol=1e-6, atol=1e-6)


def test_ranges_and_sizes_are_parameters():
    query, maps = images()
    everything = Damaged(Given(maps), scheme="partial", emptied=(0.0, 1.0))(query)
    assert not everything.any()
    raised = Damaged(Given(maps), change="introduce", scheme="partial", raised=(0.0, 1.0), quantile=1.0)(query)
    assert (raised == 1).all()
    small = Damaged(Given(maps), change="introduce", size=0.25)(query)
    assert_close(small.amin(dim=(1, 2)), torch.full((3,), 0.25).double())


def test_shares_of_the_ranks_are_whole_features_despite_rounding_of_floats():
    """0.29 of 100 is 29; as a float it is below."""
    entries = torch.arange(100.0).view(1, 100)
    query = columns(entries)
    changed = Damaged(Given(entries), scheme="partial", emptied=(0.29, 0.57))(query)[0]
    assert (changed == 0).nonzero().flatten().tolist() == [0, *range(29, 57)]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_map_of_zeros_and_a_constant_one_have_no_attribution_to_take_away(change, scheme):
    query, maps = images()
    for empty in (0 * maps, 0 * maps + 3.0):
        changed = Damaged(Given(empty), change=change, scheme=scheme)(query)
        assert ((changed >= 0) & (changed <= 1)).all()
        if change == "remove":
            assert not changed.any()


def test_half_of_the_features_with_attribution_are_emptied_and_half_of_those_without_are_filled():
    query, maps = images()
    before = Damaged(Given(maps), change="none")(query).flatten(1)
    with_attribution = (before > 0).sum(dim=1)
    removed = Damaged(Given(maps), change="remove", scheme="half")(query).flatten(1)
    introduced = Damaged(Given(maps), change="introduce", scheme="half")(query).flatten(1)
    assert torch.equal((removed > 0).sum(dim=1), with_attribution - with_attribution // 2)
    without = before.shape[1] - with_attribution
    assert torch.equal((introduced > 0).sum(dim=1), with_attribution + without // 2)
    assert torch.equal(introduced[before > 0], before[before > 0])
    kept = removed[removed > 0]
    assert torch.equal(kept, before[removed > 0])


@pytest.mark.parametrize("scheme", ["random", "partial", "half"])
def test_a_sample_s_damage_does_not_depend_on_its_block(scheme):
    query, maps = images()
    whole = Damaged(Given(maps), scheme=scheme)(query)
    alone = Damaged(Given(maps[2:]), scheme=scheme)(query.take(slice(2, 3)))
    assert torch.equal(whole[2:], alone)
    assert not torch.equal(whole[0] == 0, whole[1] == 0)


def test_all_changes_are_of_one_map_even_if_the_inner_method_draws_numbers():
    """Each change is a method with a stream of its own."""
    query, _ = images()
    asked = [replace(query, stream=Stream("method", f"damaged({change})")) for change in ("none", *CHANGES)]
    maps = [Damaged(RandomMap(), change="none")(one) for one in asked]
    assert torch.equal(maps[0], maps[1])
    assert torch.equal(maps[0], maps[2])


def test_the_fit_is_the_inner_method_s_and_the_same_for_all_changes():
    query = ask(mlp().double(), data(4, 6).double())
    expected = Agop()(fitted(Agop(), query)).abs()
    expected = expected - expected.amin(dim=1, keepdim=True)
    method = Damaged(Agop(), change="none")
    assert_close(method(fitted(method, query)), expected / expected.amax(dim=1, keepdim=True))
    assert not hasattr(Damaged(Gradient()), "fit")


def test_a_feature_of_several_columns_has_one_number():
    maps = torch.tensor([[1.0, -2.0, 3.0, 0.0, 0.5]]).double()
    query = columns(maps, Columns((0, 1, 1, 2, 3)))
    found = Damaged(Given(maps), change="none")(query)
    assert_close(found, torch.tensor([[0.2, 1.0, 0.0, 0.1]]).double())
    cut = Damaged(Given(maps), change="none", transform="positive")(query)
    assert_close(cut, torch.tensor([[1.0, 1.0, 0.0, 0.5]]).double())


def test_remarks_about_the_size_and_the_grid_of_the_inner_map_do_not_reach_the_damaged_one():
    @dataclass(frozen=True)
    class Remarking(Given):
        def __call__(self, query):
            query.note("seen")
            query.remarks.resolution = torch.ones_like(self.maps)
            return self.maps

    query, maps = images()
    query = replace(query, remarks=Remarks())
    Damaged(Remarking(maps))(query)
    assert query.remarks.notes == {"seen": 3}
    assert query.remarks.resolution is None


@pytest.mark.parametrize(
    "wrong", [{"emptied": (0.8, 0.6)}, {"raised": (-0.1, 0.4)}, {"size": 1.5}, {"quantile": -0.2}, {"emptied": (0, 2)}]
)
def test_numbers_that_make_no_damage_are_refused(wrong):
    with pytest.raises(SpecError, match="damaged: "):
        Damaged(**wrong)


def test_a_quantile_is_numpy_s():
    values = np.random.default_rng(0).normal(size=13).tolist()
    assert quantile(values, 0.8) == pytest.approx(np.quantile(values, 0.8))
