"""The three random maps of the IDSDS reproduction, against the distributions they are drawn from."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from scipy.stats import kstest

from assay.core.errors import SpecError
from assay.core.features import Columns
from assay.core.rng import Stream
from assay.methods.content_free import FixedMap, RandomMap, RandomShifted, RandomSquared
from scenes import ask, cnn, data, mlp, rows

# The chance that a number is at most v.
UNIFORM, SQUARED, SHIFTED = (lambda v: v.clip(0, 1)), (lambda v: v.clip(0, 1) ** 0.5), (lambda v: (v - 1).clip(0, 1))
MAPS = [
    (RandomSquared(), SQUARED),
    (RandomSquared("faithful"), UNIFORM),
    (RandomShifted(), SHIFTED),
    (RandomShifted(0.0), UNIFORM),
]


@pytest.mark.parametrize("method, chance", MAPS)
def test_numbers_have_their_distribution_and_no_other(method, chance):
    values = method(ask(cnn(), data(100, 2, 8, 8))).flatten().numpy()
    assert len(values) == 6400
    for other in (UNIFORM, SQUARED, SHIFTED):
        assert (kstest(values, other).pvalue > 1e-4) == (other is chance)


@pytest.mark.parametrize("method", [method for method, _ in MAPS])
def test_a_map_has_one_number_per_feature_and_belongs_to_its_sample(method):
    query = ask(mlp(), data(6, 6), features=Columns((0, 0, 1, 1, 2, 3)))
    found = method(query)
    assert found.shape == (6, 4)
    assert torch.equal(method(rows(query, slice(4, 6))), found[4:])
    assert not torch.equal(method(replace(query, stream=Stream("test", seed=1))), found)


def test_the_corrected_map_is_the_square_and_the_study_never_squared():
    query = ask(cnn(), data(3, 2, 8, 8))
    uniform = query.draws("map").uniform(8, 8).to(query.x)
    assert torch.equal(RandomMap()(query), uniform)
    assert torch.equal(RandomSquared("faithful")(query), uniform)
    assert torch.equal(RandomSquared()(query), uniform * uniform)
    assert torch.equal(RandomShifted(2.0)(query), uniform + 2)


def test_an_offset_that_is_no_number_is_refused():
    with pytest.raises(SpecError, match="is not finite"):
        RandomShifted(float("inf"))


def test_a_fixed_map_repeats_its_values_in_reading_order_for_every_sample():
    found = FixedMap((1.0, 1.1, 100.0))(ask(cnn(), data(2, 2, 8, 8)))
    expected = [[(1.0, 1.1, 100.0)[(8 * row + column) % 3] for column in range(8)] for row in range(8)]
    torch.testing.assert_close(found, torch.tensor([expected, expected]))
    with pytest.raises(SpecError, match="finite number or more"):
        FixedMap(())
