"""Imputation solves its linear system: against a literal one, on easy masks and on hard ones."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from torch.nn.functional import interpolate

from assay.kit.imputation.impute import Singular, add_noise, impute
from benchmarks.imputation import Ratios, Sweep, reference

SIDE = 224
ALLOWED = 1e-3  # of the value range of the known pixels


def literal(x, removed):
    """One pixel at a time: (C, H, W) and (H, W) in float64, a dense matrix."""
    height, width = removed.shape
    unknown = [(row, column) for row in range(height) for column in range(width) if removed[row, column]]
    matrix = np.zeros((len(unknown), len(unknown)))
    right_side = np.zeros((len(unknown), len(x)))
    for i, (row, column) in enumerate(unknown):
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                neighbour = (row + down, column + right)
                if (down, right) == (0, 0) or not (0 <= neighbour[0] < height and 0 <= neighbour[1] < width):
                    continue
                weight = 1 / 6 if down == 0 or right == 0 else 1 / 12
                matrix[i, i] += weight
                if removed[neighbour]:
                    matrix[i, unknown.index(neighbour)] -= weight
                else:
                    right_side[i] += weight * x[:, neighbour[0], neighbour[1]]
    filled = x.copy()
    if unknown:
        filled[:, removed] = np.linalg.solve(matrix, right_side).T
    return filled


def error(filled, expected, x, removed):
    """The largest of all images, in parts of the value range of their known pixels; inf where a kept pixel changed."""
    assert filled.dtype == x.dtype
    mask = removed[:, None].expand_as(x)
    if not torch.equal(filled[~mask], x[~mask]):
        return float("inf")
    low = x.double().masked_fill(mask, torch.inf).amin(dim=(1, 2, 3))
    span = x.double().masked_fill(mask, -torch.inf).amax(dim=(1, 2, 3)) - low
    difference = (filled.double() - expected).abs().amax(dim=(1, 2, 3))
    return float((difference / torch.where(span > 0, span, 1.0)).max())


def numbers(seed=0):
    return torch.Generator().manual_seed(seed)


def pictures(side=SIDE):
    """(3, side, side) as channels of one image: noise, a slope, and a step between 0 and 1."""
    line = torch.linspace(0, 1, side)
    slope = (line[:, None] + line) / 2
    return torch.stack([torch.rand(side, side, generator=numbers(3)), slope, (slope > 0.5).float()])


def lowest(level, ratio):
    """The pixels with the smallest values."""
    return level < level.flatten().sort().values[int(level.numel() * ratio)]


def maps(rough, seed=0):
    size = SIDE if rough else 7
    level = torch.rand(1, 1, size, size, generator=numbers(seed))
    return interpolate(level, (SIDE, SIDE), mode="bilinear")[0, 0]


def all_but(*known, side=SIDE):
    """All removed but the indexed parts."""
    mask = torch.ones(side, side, dtype=torch.bool)
    for part in known:
        mask[part] = False
    return mask


def gated_wall():
    mask = all_but((slice(None), slice(111, 113)))
    mask[50] = True
    return mask


def comb():
    """Long removed teeth, joined at one end."""
    mask = all_but((slice(None), slice(None, None, 2)))
    mask[0] = True
    return mask


every = slice(None, None, 2)
block = slice(100, 116)
hole = ~all_but((slice(2, -2), slice(2, -2)))
ADVERSARIAL = {
    "two opposite corners": all_but((0, 0), (-1, -1)),
    "two neighbours": all_but((100, 100), (100, 101)),
    "a strip in two corners": all_but((0, slice(8)), (-1, slice(-8, None))),
    "a block": all_but((block, block)),
    "a block in a corner": all_but((slice(23), slice(23))),
    "first and last row": all_but(0, -1),
    "frame": all_but(0, -1, (slice(None), 0), (slice(None), -1)),
    "hole": hole,
    "lattice": all_but((every, every)),
    "wide lattice": all_but((slice(None, None, 32), slice(None, None, 32))),
    "comb": comb(),
    "checkerboard": torch.arange(SIDE)[:, None] % 2 == torch.arange(SIDE) % 2,
    "alternate rows": all_but(every),
    "diagonal": ~torch.eye(SIDE, dtype=torch.bool),
    "gated wall": gated_wall(),
    **{
        f"{ratio} at random": torch.rand(SIDE, SIDE, generator=numbers(5)) < ratio
        for ratio in (0.7, 0.99, 0.999, 0.9995)
    },
}


def images(height, width):
    shape = (2, height, width)
    steps = arrays_of.arrays(np.float64, shape, elements=st.sampled_from([0.0, 1.0]))
    return st.one_of(steps, arrays_of.arrays(np.float64, shape, elements=st.floats(-100, 100, width=16)))


@st.composite
def problems(draw):
    height, width = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    removed = draw(arrays_of.arrays(np.bool_, (height, width)))
    if draw(st.booleans()):  # almost everything
        removed[:] = True
    if removed.all():
        removed[draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))] = False
    return draw(images(height, width)), removed


def as_tensors(x, removed):
    return torch.from_numpy(x)[None], torch.from_numpy(removed)[None]


@settings(max_examples=40)
@given(problem=problems())
def test_small_images_of_any_size_match_a_literal_system(problem):
    x, removed = as_tensors(*problem)
    expected = torch.from_numpy(literal(*problem))[None]
    assert error(impute(x, removed), expected, x, removed) < 1e-9
    assert error(impute(x.float(), removed), expected, x.float(), removed) < ALLOWED
    assert (reference(x, removed) - expected).abs().max() < 1e-9


@pytest.mark.parametrize("shape", [(1, 40), (33, 1), (2, 2), (12, 12), (32, 32), (64, 48), (37, 91)])
def test_sizes_with_many_channels(shape):
    x = torch.randn(1, 5, *shape, generator=numbers())
    removed = torch.rand(1, *shape, generator=numbers(1)) < 0.8
    removed[0, 0, 0] = False
    assert error(impute(x, removed), reference(x, removed), x, removed) < ALLOWED
    double = x.double()
    assert error(impute(double, removed), reference(double, removed), double, removed) < 1e-9


@pytest.mark.parametrize(("rough", "ratio"), [(False, 0.1), (True, 0.5), (False, 0.98)])
def test_photographs_with_their_least_relevant_pixels_removed(rough, ratio):
    removed = lowest(maps(rough), ratio)[None]
    x = pictures()[None] * 4.5 - 2  # as normalised images are
    assert error(impute(x, removed), reference(x, removed), x, removed) < ALLOWED


@pytest.mark.full
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("rough", [False, True])
@pytest.mark.parametrize("ratio", [0.1, 0.3, 0.5, 0.7, 0.9, 0.98])
@pytest.mark.parametrize("seed", [11, 40])
def test_every_ratio_on_every_map_in_both_orders(sign, rough, ratio, seed):
    removed = lowest(sign * maps(rough, seed), ratio)[None]
    x = pictures()[None]
    expected = reference(x, removed)
    assert error(impute(x, removed), expected, x, removed) < ALLOWED
    assert error(impute(x.double(), removed), reference(x.double(), removed), x.double(), removed) < 1e-9


QUICK = ("two opposite corners", "checkerboard")


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.full) for n in ADVERSARIAL])
def test_hard_masks(name):
    removed = ADVERSARIAL[name][None]
    x = pictures()[None]
    assert error(impute(x, removed), reference(x, removed), x, removed) < ALLOWED


def border_rows(side):
    """Two to five removed pixels in a row at the bottom and at the right, wherever they fit."""
    for length in (2, 3, 4, 5):
        for start in range(side - length + 1):
            for turn in (False, True):
                gone = torch.zeros(side, side, dtype=torch.bool)
                gone[-1, start : start + length] = True
                yield gone.T if turn else gone


@pytest.mark.parametrize("side", [4, 8, 16, 31])
def test_a_few_pixels_at_the_border_are_finite_in_double_precision_too(side):
    removed = torch.stack([*border_rows(side)])
    for seed in range(8):
        x = torch.rand(1, 1, side, side, generator=numbers(seed), dtype=torch.float64).expand(len(removed), -1, -1, -1)
        filled = impute(x, removed)
        for gone, values in zip(removed[::5], filled[::5], strict=True):
            np.testing.assert_allclose(values, literal(x[0].numpy(), gone.numpy()), rtol=0, atol=1e-9)
        assert filled.isfinite().all()


@pytest.mark.parametrize(
    ("length", "known"),
    [(12, (2, 5)), (500, (5, 6, 7)), (1000, (22, 23, 24)), (5000, (60, 61, 62, 63))],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_long_thin_images_with_few_known_pixels_are_interpolated(length, known, dtype):
    x = torch.rand(1, 1, 1, length, generator=numbers(1), dtype=dtype)
    removed = torch.ones(1, 1, length, dtype=torch.bool)
    removed[..., list(known)] = False
    expected = np.interp(np.arange(length), known, x[0, 0, 0, list(known)].double())  # flat beyond the ends
    largest_error = error(impute(x, removed), torch.tensor(expected).view(1, 1, 1, -1), x, removed)
    assert largest_error < (ALLOWED / 100 if dtype == torch.float32 else 1e-9)


def test_what_does_not_converge_is_an_error_and_leaves_nothing_behind(monkeypatch):
    from assay.kit.imputation import solver

    good = (torch.rand(1, 1, 9, 9, generator=numbers(3)), torch.rand(1, 9, 9, generator=numbers(4)) < 0.5)
    before, solve = impute(*good), solver.solve

    def broken(image, cells, *rest):
        cells.fill(np.nan)
        return np.inf, np.inf

    monkeypatch.setattr(solver, "solve", broken)
    with pytest.raises(ArithmeticError, match="did not converge"):
        impute(*good)
    monkeypatch.setattr(solver, "solve", solve)
    assert torch.equal(impute(*good), before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_known_pixel_is_the_answer(dtype):
    x = torch.randn(1, 3, 40, 30, generator=numbers(), dtype=dtype)
    filled = impute(x, all_but((20, 11), side=40)[None, :, :30])
    assert torch.equal(filled, x[:, :, 20:21, 11:12].expand_as(x))
    assert (filled.dtype, filled.device) == (x.dtype, x.device)


def test_a_row_does_not_depend_on_its_neighbours():
    x = torch.randn(1, 3, 45, 52, generator=numbers()).expand(6, -1, -1, -1)
    chance = torch.tensor([0.3, 0.99, 0.0, 0.7, 0.9, 0.5])[:, None, None]
    removed = torch.rand(6, 45, 52, generator=numbers(2)) < chance
    together = impute(x, removed)
    for row in range(6):
        assert torch.equal(impute(x[row : row + 1], removed[row : row + 1])[0], together[row])
    assert torch.equal(together[2], x[2])
    assert torch.equal(impute(x.flip(0), removed.flip(0)), together.flip(0))


def test_what_stood_on_removed_pixels_has_no_influence():
    x = torch.randn(2, 3, 20, 21, generator=numbers())
    removed = torch.rand(2, 20, 21, generator=numbers(1)) < 0.6
    spoilt = x.masked_fill(removed[:, None], torch.nan)
    assert torch.equal(impute(spoilt, removed), impute(x, removed))
    assert x.isfinite().all()


def test_channels_are_solved_on_their_own_scale():
    x = torch.rand(1, 2, 24, 24, generator=numbers())
    removed = torch.rand(1, 24, 24, generator=numbers(1)) < 0.9
    apart = torch.cat([x[:, :1], 1e4 + 1e3 * x[:, 1:]], dim=1)
    shifted, plain = impute(apart, removed), impute(x, removed)
    assert torch.equal(shifted[:, 0], plain[:, 0])
    assert ((shifted[:, 1] - 1e4) / 1e3 - plain[:, 1]).abs().max() < ALLOWED


def test_a_mask_without_known_pixels_is_refused_by_its_row():
    removed = torch.zeros(3, 4, 4, dtype=torch.bool)
    removed[1] = True
    with pytest.raises(Singular, match="row 1"):
        impute(torch.zeros(3, 1, 4, 4), removed)
    with pytest.raises(ValueError, match="finite"):
        impute(torch.full((1, 1, 4, 4), torch.inf), all_but((0, 0), side=4)[None])
    with pytest.raises(ValueError, match="finite"):
        impute(torch.tensor([[[[-1.7e308, 0, 1.7e308]]]], dtype=torch.float64), torch.tensor([[[False, True, False]]]))
    with pytest.raises(ValueError, match=r"\(N, H, W\)"):
        impute(torch.zeros(3, 1, 4, 4), removed[:2])
    with pytest.raises(ValueError, match="float32"):
        impute(torch.zeros(3, 1, 4, 4, dtype=torch.half), removed)


def test_noise_lands_on_removed_pixels_alone():
    filled, noise = torch.rand(2, 3, 5, 6, generator=numbers()), torch.ones(2, 3, 5, 6)
    removed = torch.rand(2, 5, 6, generator=numbers(1)) < 0.5
    assert torch.equal(add_noise(filled, removed, noise) - filled > 0.5, removed[:, None].expand_as(filled))


def test_compiled_code_is_kept_under_a_digest_of_all_kernels():
    from assay.kit.imputation import compiled, cycle, operator, start

    assert compiled.sources_digest() == compiled.SOURCES
    entries = [
        operator.build,
        cycle.solve,
        *(getattr(start, n) for n in ("known_range", "load", "fill", "store")),
    ]
    for entry in entries:
        assert list(inspect.signature(entry.py_func).parameters.values())[-1].default == compiled.SOURCES


def test_where_compiled_code_cannot_be_kept_it_is_compiled_anyway(monkeypatch):
    from assay.kit.imputation import compiled

    njit, calls = compiled.njit, []

    def njit_without_cache(**options):
        calls.append(options)
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(compiled, "njit", njit_without_cache)
    assert compiled.cached_kernel(lambda value: value + 1)(2) == 3
    assert [bool(options.get("cache")) for options in calls] == [True, False]


def test_the_bench_states_both_sides_and_the_difference():
    rows = Ratios(ratios=(0.1,)).rows("imputation", 1) + Sweep(ratios=(0.1, 0.05)).rows("imputation", 1)
    assert {"task", "problem", "repeats", "who", "figure", "ratio", "note"} <= set.intersection(*map(set, rows))
    assert all(row["seconds"] > 0 and row["difference"] < ALLOWED for row in rows)
    assert [row["ratio"] for row in rows if row["who"].startswith("lil matrix")] == ["1.0x"] * 3
