"""Randomness depends on what is asked, never on what ran before."""

import hashlib
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.records import canonical, digest
from assay.core.rng import Draws, Stream, generator, seed_of

quick = settings(max_examples=50)
keys = st.lists(st.integers(-5, 5) | st.text(max_size=3), max_size=4).map(tuple)


def test_seeds_are_what_they_were():
    assert seed_of("a") == 529978260370350907
    assert seed_of("color_count", 0, 7, "fill") == 7708861420131898462
    assert seed_of() == 2858069222894195974


def test_a_seed_is_the_first_63_bits_of_the_digest_of_the_key():
    text = b'["color_count",0,7,"fill"]'
    assert seed_of("color_count", 0, 7, "fill") == int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1


def test_drawn_numbers_are_what_they_were():
    draws = Draws([("a", 0), ("a", 1)])
    expected = torch.tensor(
        [
            [0.132779061794281, 0.7443897128105164, 0.47581321001052856],
            [0.4317941665649414, 0.8633157014846802, 0.3012692332267761],
        ]
    )
    assert torch.equal(draws.uniform(3), expected)
    torch.testing.assert_close(
        draws.normal(2), torch.tensor([[1.5647958517, 0.1958222836], [1.0701711178, 0.3307520747]]), rtol=1e-6, atol=0
    )
    assert draws.permutations(5).tolist() == [[2, 4, 3, 0, 1], [0, 4, 1, 3, 2]]


@quick
@given(keys, keys)
def test_different_keys_have_different_seeds(left, right):
    assert (seed_of(*left) == seed_of(*right)) == (canonical(list(left)) == canonical(list(right)))
    assert 0 <= seed_of(*left) < 2**63


@pytest.mark.parametrize(
    ("left", "right"), [(("a", "b"), ("ab",)), ((1,), ("1",)), (("a", 1), ("a1",)), ((1, 2), (12,)), ((), ("",))]
)
def test_keys_do_not_run_together(left, right):
    assert seed_of(*left) != seed_of(*right)


@quick
@given(st.lists(st.integers(0, 50), min_size=1, max_size=6, unique=True), st.data())
def test_a_row_is_the_same_in_every_block(indices, data):
    part = data.draw(st.lists(st.sampled_from(indices), min_size=1, unique=True))
    whole = Draws([("s", index) for index in indices])
    some = Draws([("s", index) for index in part])
    at = [indices.index(index) for index in part]
    for draw in (lambda d: d.uniform(2, 3), lambda d: d.normal(4), lambda d: d.permutations(6), lambda d: d.uniform()):
        assert torch.equal(draw(whole)[at], draw(some))


def test_a_second_draw_is_a_new_one():
    draws = Draws([("s", 0)])
    assert not torch.equal(draws.uniform(8), draws.uniform(8))
    assert len(draws) == 1


def test_a_fresh_generator_begins_again():
    assert torch.equal(torch.rand(4, generator=generator("k", 1)), torch.rand(4, generator=generator("k", 1)))
    assert not torch.equal(torch.rand(4, generator=generator("k", 1)), torch.rand(4, generator=generator("k", 2)))


def test_shapes_have_one_row_per_sample():
    draws = Draws([(index,) for index in range(3)])
    assert draws.uniform(2, 4).shape == (3, 2, 4)
    assert draws.normal().shape == (3,)
    found = draws.permutations(7)
    assert torch.equal(found.sort(dim=1).values, torch.arange(7).expand(3, 7))


def test_numbers_follow_their_laws():
    draws = Draws([("law", index) for index in range(4)])
    uniform, normal = draws.uniform(5000), draws.normal(5000)
    assert uniform.min() >= 0
    assert uniform.max() < 1
    error = 20_000**-0.5
    assert abs(uniform.mean() - 0.5) < 5 * error * 12**-0.5
    assert abs(normal.mean()) < 5 * error
    assert abs(normal.var() - 1) < 5 * error * 2**0.5


@pytest.mark.parametrize(("left", "right"), [({"a": 1, "b": 2}, {"b": 2, "a": 1}), ([1, (2, 3)], [1, [2, 3]])])
def test_equal_data_has_one_digest(left, right):
    assert digest(left) == digest(right)


@pytest.mark.parametrize(
    ("left", "right"), [(1, 1.0), (1, True), (None, "null"), ("1", 1), ([1], 1), ({}, []), ("é", "e")]
)
def test_different_data_has_different_digests(left, right):
    assert digest(left) != digest(right)


def test_the_canonical_text_is_what_it_was():
    assert canonical({"b": [1, 1.0, None, True, "é"], "a": {}}) == '{"a":{},"b":[1,1.0,null,true,"é"]}'
    assert digest({"a": 1}) == "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1, float("-inf")]])
def test_what_is_no_number_has_no_digest(value):
    with pytest.raises(ValueError):
        digest(value)


# Streams of components.

STREAM = Stream("method", "smoothed(samples=4)", "color_count", 3, 7)
names = st.sampled_from(["", "a", "b"])
parts = st.tuples(names) | st.tuples(names, st.integers(0, 2))  # they begin with a name
streams = st.builds(
    Stream,
    st.sampled_from(["method", "metric", "fit"]),
    names,
    names,
    st.integers(0, 2),
    st.none() | st.integers(0, 2),
    st.just(()) | parts,
)


def numbers(stream):
    """One draw of each kind."""
    shared = torch.rand(3, generator=stream.generator("purpose"))
    return [
        *shared.tolist(),
        *stream.draws("purpose", (0, 5)).uniform(2).flatten().tolist(),
        stream.seed_for("purpose"),
    ]


@quick
@given(streams, streams)
def test_equal_fields_give_equal_numbers_and_different_fields_different_ones(left, right):
    assert numbers(left) == numbers(replace(left))
    same = left == right
    assert (numbers(left) == numbers(right)) is same
    assert (left.seed_for("purpose") == right.seed_for("purpose")) is same
    assert bool(set(numbers(left)) & set(numbers(right))) is same


@pytest.mark.parametrize(
    "other",
    [
        replace(STREAM, role="metric"),
        replace(STREAM, component="smoothed(samples=5)"),
        replace(STREAM, environment="pixel_count"),
        replace(STREAM, seed=4),
        replace(STREAM, data_seed=8),
        replace(STREAM, seed=7, data_seed=3),
        STREAM.before_samples(),
        STREAM.for_fit(),
        STREAM.within("copy", 0),
    ],
)
def test_every_field_counts(other):
    assert not set(numbers(STREAM)) & set(numbers(other))


@quick
@given(streams)
def test_what_sees_no_evaluated_sample_draws_the_same_for_every_data_seed(stream):
    other = replace(stream, data_seed=9)
    assert stream.before_samples() == other.before_samples()
    assert stream.before_samples().data_seed is None
    assert numbers(stream.before_samples()) == numbers(other.before_samples())
    assert stream.for_fit() == other.for_fit() == replace(stream.before_samples(), role="fit")
    assert stream.for_fit().for_fit() == stream.for_fit()


@quick
@given(streams, parts, parts)
def test_parts_of_the_work_have_streams_of_their_own(stream, left, right):
    assert (numbers(stream.within(*left)) == numbers(stream.within(*right))) is (left == right)
    assert stream.within(*left).within(*right) == stream.within(*left, *right)
    assert stream.within(*left).for_fit().part == (*stream.part, *left)  # one part's fit is not another's


def test_a_stream_is_its_key():
    """What the numbers of all results rest on, kept as it was."""
    assert STREAM.key == ("method", "smoothed(samples=4)", "color_count", 3, 7)
    assert STREAM.for_fit().key == ("fit", "smoothed(samples=4)", "color_count", 3)
    assert STREAM.within("copy", 2).key == ("method", "smoothed(samples=4)", "color_count", 3, 7, "copy", 2)
    assert STREAM.seed_for("noise") == seed_of(*STREAM.key, "noise")
    assert torch.equal(
        torch.rand(4, generator=STREAM.generator("noise")), torch.rand(4, generator=generator(*STREAM.key, "noise"))
    )
