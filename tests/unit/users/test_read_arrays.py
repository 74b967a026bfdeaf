"""Arrays, tensors and lists become rows; what is ambiguous is refused with the lines that would work."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import torch

from assay.core.errors import SpecError
from assay.core.features import Columns, Pixels, Steps
from assay.users import numbers
from assay.users.read import read_rows
from assay.users.reading import Reading

SINGLE = Reading(dtype=torch.float32)


def refusal(data, **options):
    with pytest.raises(SpecError) as caught:
        read_rows(data, **options)
    return str(caught.value)


def drawn(*shape):
    return np.random.default_rng(0).normal(size=shape)


@pytest.mark.parametrize(
    "data, reading, dtype, notes",
    [
        (drawn(3, 4), Reading(), torch.float64, ()),
        (drawn(3, 4).astype(np.float32), SINGLE, torch.float32, ()),
        (drawn(3, 4), SINGLE, torch.float32, ("x holds float64 numbers, which are read as float32.",)),
        (np.ones((3, 4), int), Reading(), torch.float32, ("x holds int64 numbers, which are read as float32.",)),
        (
            np.ones((3, 4), np.uint16),
            Reading(dtype=torch.float64),
            torch.float64,
            ("x holds int64 numbers, which are read as float64.",),
        ),
        (
            torch.ones(3, 4, dtype=torch.bool),
            Reading(),
            torch.float32,
            ("x holds bool numbers, which are read as float32.",),
        ),
        (drawn(3, 4).astype(">f8"), Reading(), torch.float64, ()),
        (drawn(3, 4).astype(np.longdouble), Reading(), torch.float64, ()),
        ([torch.ones(4), torch.zeros(4)], Reading(), torch.float32, ()),
        (scipy.sparse.csr_matrix(np.eye(3)), Reading(), torch.float64, ()),
    ],
    ids=str,
)
def test_a_table_is_read_in_the_model_s_format_and_a_change_is_told(data, reading, dtype, notes):
    rows = read_rows(data, reading=reading)
    expected = np.stack([part.numpy() for part in data]) if isinstance(data, list) else data
    expected = expected.toarray() if scipy.sparse.issparse(data) else np.asarray(expected)
    assert torch.equal(rows.x, torch.tensor(expected.astype(float)).to(dtype))
    assert (rows.kind, rows.features, rows.given, rows.x.dtype) == (
        "table",
        Columns.plain(rows.x.shape[1]),
        None,
        dtype,
    )
    assert rows.notes == notes


def test_lists_have_torch_s_format_or_the_model_s_with_all_digits():
    assert read_rows([[0.1, 1], [2, 3]]).x.dtype == torch.float32
    assert read_rows([[0.1, 1], [2, 3]], reading=Reading(dtype=torch.float64)).x[0, 0] == 0.1


def test_rows_are_new_tensors():
    array, tensor = drawn(2, 2), torch.ones(2, 2)
    read_rows(array).x.zero_()
    read_rows(tensor).x.zero_()
    assert array.all()
    assert tensor.all()


def test_missing_values_of_arrays_have_an_entry_where_the_model_reads_them():
    array = np.array([[1, np.nan], [2, 3], [4, 5.0]])
    rows = read_rows(array, reading=Reading(missing=True, dtype=torch.float64))
    assert rows.x.tolist() == [[1, 4, 1], [2, 3, 0], [4, 5, 0]]
    assert rows.features == Columns((0, 1, 1))
    np.testing.assert_array_equal(rows.given(rows.x), array)
    tensor = torch.tensor(array, dtype=torch.float32)
    back = read_rows(tensor, reading=Reading(missing=True)).given(rows.x.float())
    assert back.dtype == torch.float32
    assert torch.equal(back.isnan(), tensor.isnan())
    complete = read_rows(array[1:], reading=Reading(missing=True))
    assert complete.given is None
    masked = np.ma.masked_array(array, mask=[[0, 1], [0, 0], [1, 0]])
    assert refusal(masked) == "x has NaN or infinite values in 2 of 3 rows: 0, 2."


@pytest.mark.parametrize(
    "data, words",
    [
        (np.array([[1, np.nan], [2, 3]]), "x has NaN or infinite values in 1 of 2 rows: 0."),
        (np.zeros((0, 3)), "x has no rows."),
        (
            np.zeros(3),
            "x has shape (3,): for one row, give x[None]; write tables as (N, columns), images as (N, channels, "
            "height, width), and series as (N, channels, steps) or (N, steps, channels).",
        ),
        (
            np.zeros((1, 2, 3, 4, 5)),
            "x has shape (1, 2, 3, 4, 5): write tables as (N, columns), images as (N, channels, height, width), and "
            "series as (N, channels, steps) or (N, steps, channels).",
        ),
        (
            np.zeros((2, 2), complex),
            "x holds complex numbers: give real ones, for example their real and imaginary parts.",
        ),
        (
            np.array(["2020-01-01"], "M8[D]")[None],
            "x holds dates: give numbers; text and numbers together go into a pandas.DataFrame.",
        ),
        (None, "x holds objects (NoneType): give numbers; text and numbers together go into a pandas.DataFrame."),
        (torch.eye(2).to_sparse(), "x is a sparse tensor: give x.to_dense()."),
        (
            [torch.zeros(2), torch.zeros(3)],
            "x has rows of different shapes, (2,), (3,): give all of them one shape.",
        ),
    ],
    ids=str,
)
def test_what_is_no_array_of_rows_is_refused(data, words):
    assert refusal(data) == words


def test_rows_of_different_lengths_are_refused():
    assert refusal([[1.0, 2], [3]]).startswith("x cannot be read as an array: ValueError: ")
    assert refusal([[1.0, 2], [3]]).endswith(" Give rows of one shape.")


def test_numbers_that_the_format_cannot_hold_are_refused():
    assert refusal(np.array([[1e300, 1]]), reading=SINGLE) == (
        "x holds numbers up to 1e+300, which float32 cannot hold: give it in units that make them smaller."
    )


def test_a_large_sparse_matrix_is_refused_before_it_fills_the_memory(monkeypatch):
    monkeypatch.setattr(numbers, "LARGEST", 8)
    assert refusal(scipy.sparse.eye(3).tocsr()) == "x is a sparse matrix of 9 entries: give at most 8."


def test_the_reference_is_read_like_the_rows():
    rows = read_rows(drawn(3, 2), reference=np.ones((2, 2), int), reading=SINGLE)
    assert rows.reference.dtype == torch.float32
    assert refusal(drawn(3, 2), reference=drawn(3, 4)) == "reference has rows of shape (4,), and x of shape (2,)."
    assert refusal(drawn(3, 2), reference=drawn(3, 2) * np.nan) == (
        "reference has NaN or infinite values in 3 of 3 rows: 0, 1, 2."
    )


@pytest.mark.parametrize(
    "first, by, features",
    [
        (True, None, Steps(5, 7, True, "steps")),
        (False, None, Steps(7, 5, False, "steps")),
        (True, "channels", Steps(5, 7, True, "channels")),
        (False, "both", Steps(7, 5, False, "both")),
    ],
)
def test_series_are_rows_of_channels_or_of_steps(first, by, features):
    x = drawn(3, 5, 7)
    rows = read_rows(x, reference=x[:2], reading=Reading(channels_first=first, by=by))
    assert (rows.kind, rows.features, rows.reference.shape) == ("series", features, (2, 5, 7))
    assert features.entries == (5, 7)
    np.testing.assert_array_equal(rows.x.numpy(), x)


def test_an_array_of_three_axes_is_refused_with_the_lines_that_would_work():
    lines = (
        ", which may be series or grey images. For series (N, channels, steps), write channels_first=True; for series "
        "(N, steps, channels), channels_first=False. For grey images (N, height, width), give x[:, None]."
    )
    assert refusal(drawn(2, 8, 8)) == f"x has shape (2, 8, 8){lines}"
    assert refusal(drawn(3, 8, 8)) == f"x has shape (3, 8, 8){lines} For one image, give x[None]."


@pytest.mark.parametrize(
    "shape, first",
    [
        ((3, 8, 8), True),
        ((8, 8, 3), False),
        ((1, 28, 28), True),
        ((28, 28, 1), False),
        ((480, 640, 3), False),
        ((3, 480, 640), True),
        ((16, 4, 4), True),  # maps of features
        ((12, 64, 48), True),
        ((4, 4, 3), False),
        ((3, 4, 4), True),
        ((3, 3, 3), True),
        ((64, 7, 3), None),
        ((3, 8, 3), None),
        ((1, 8, 3), None),
    ],
)
def test_channels_are_found_first_or_last_or_asked_for(shape, first):
    x = drawn(2, *shape)
    if first is None:
        assert refusal(x) == (
            f"x has images of shape {shape}, whose channels may come first or last. Write channels_first=True if they "
            "are (channels, height, width), or channels_first=False if they are (height, width, channels)."
        )
        return
    rows = read_rows(x, reference=x)
    moved = x if first else np.moveaxis(x, -1, 1)
    np.testing.assert_array_equal(rows.x.numpy(), moved)
    np.testing.assert_array_equal(rows.reference.numpy(), moved)
    assert (rows.kind, rows.features, rows.given) == ("image", Pixels(*moved.shape[1:]), None)
    note = f"x has shape {x.shape}: its channels are moved to the front, {moved.shape}."
    assert rows.notes == (() if first else (note,))


@pytest.mark.parametrize("first", [True, False])
def test_channels_stand_where_the_user_says(first):
    rows = read_rows(drawn(2, 3, 8, 3), reading=Reading(channels_first=first))
    assert rows.x.shape == ((2, 3, 8, 3) if first else (2, 3, 3, 8))


def test_a_model_of_channels_last_gets_them_last():
    x = drawn(2, 8, 8, 3)
    rows = read_rows(x, reading=Reading(channels_last=True))
    np.testing.assert_array_equal(rows.given(rows.x).numpy(), x)


def colours(dtype=np.uint8):
    return np.random.default_rng(1).integers(0, 256, (4, 3, 6, 6)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_whole_colours_are_divided_by_255_with_a_word(dtype):
    rows = read_rows(colours(dtype), reference=colours(dtype)[:1])
    assert torch.equal(rows.x, torch.tensor(colours(np.float32)) / 255)
    assert torch.equal(rows.reference, rows.x[:1])
    assert rows.notes == (
        f"x holds colours in 0..255 ({np.dtype(dtype).name}): they are divided by 255. Write scale='as is' if the "
        "model reads 0..255.",
    )
    assert torch.equal(rows.picture(rows.x), rows.x)


def test_colours_as_they_are_and_standardised_ones():
    as_is = read_rows(colours(), reading=Reading(scale="as is"))
    assert torch.equal(as_is.x, torch.tensor(colours(np.float32)))
    assert as_is.notes == ("x holds uint8 numbers, which are read as float32.",)
    mean, deviation = (0.1, 0.2, 0.3), (0.5, 0.4, 0.3)
    rows = read_rows(colours(), reading=Reading(mean=mean, deviation=deviation))
    wanted = (colours() / 255 - np.array(mean)[:, None, None]) / np.array(deviation)[:, None, None]
    np.testing.assert_allclose(rows.x.numpy(), wanted, atol=1e-6)
    np.testing.assert_allclose(rows.picture(rows.x).numpy(), colours() / 255, atol=1e-6)
    assert "divided by 255, standardised by mean=(0.1, 0.2, 0.3) and deviation=(0.5, 0.4, 0.3)." in rows.notes[0]


def test_dark_whole_numbers_are_no_colours_in_0_to_255():
    assert torch.equal(read_rows(colours() // 128).x, torch.tensor(colours() // 128).float())


def test_floats_in_0_to_255_are_refused_with_two_ways_on():
    x = colours(np.float32)
    words = (
        " holds images with colours up to 255, and a network for images reads numbers of about -3 to 3. Divide by 255 "
        "(scale='unit' does), or write scale='as is' if the model was trained on 0..255."
    )
    assert refusal(x) == "x" + words
    assert refusal(x / 255, reference=x) == "reference" + words
    assert torch.equal(read_rows(x, reading=Reading(scale="as is")).x, torch.tensor(x))
    unit = read_rows(x, reading=Reading(scale="unit"))
    assert torch.equal(unit.x, torch.tensor(x) / 255)
    for fine in (x / 255, x - 128, x * 100, np.repeat(x, 4, axis=1)[:, :5]):
        assert torch.equal(read_rows(fine).x, torch.tensor(fine))


@pytest.mark.parametrize(
    "x, options, words",
    [
        (
            drawn(2, 3, 6, 6),
            {"mean": (0.5,), "deviation": (0.5,)},
            "mean and deviation standardise colours that are read as 0..255, and x holds others: standardise x by "
            "yourself, or write scale='unit'.",
        ),
        (
            colours()[:, :1],
            {"mean": (0.5,) * 3, "deviation": (0.5,) * 3},
            "mean=(0.5, 0.5, 0.5) has 3 numbers, and images have 1 channel.",
        ),
        (
            colours(),
            {"side": 4},
            "resize and side are for image files and Pillow's images, and x is an array: leave them out.",
        ),
    ],
    ids=str,
)
def test_options_of_images_that_do_not_fit_are_refused(x, options, words):
    assert refusal(x, reading=Reading(**options)) == words


@pytest.mark.parametrize(
    "options, words",
    [
        ({"by": "steps"}, "by is about series, and x is read as a table: leave it out."),
        (
            {"channels_first": False},
            "channels_first is about images and series, and x is read as a table: leave it out.",
        ),
        ({"scale": "unit"}, "scale is about images, and x is read as a table: leave it out."),
        ({"resize": 8}, "resize is about images, and x is read as a table: leave it out."),
        ({"mean": (0.5,), "deviation": (0.5,)}, "mean is about images, and x is read as a table: leave it out."),
        ({"words": (("a",),)}, "words is about words or tokens, and x is read as a table: leave it out."),
    ],
    ids=str,
)
def test_an_option_that_would_be_passed_over_is_refused(options, words):
    assert refusal(drawn(3, 8), reading=Reading(**options)) == words


@pytest.mark.parametrize(
    "options, words",
    [
        ({"by": "step"}, "by='step': write steps or channels or both. Did you mean 'steps'?"),
        ({"scale": "unity"}, "scale='unity': write unit or as is. Did you mean 'unit'?"),
        ({"limit": 0}, "limit=0 leaves no rows: give 1 or more."),
        (
            {"resize": 8, "side": 9},
            "side=9 cannot be cut out of images of resize=8 pixels: write 1 <= side <= resize <= 4096.",
        ),
        ({"side": 0}, "side=0 cannot be cut out of images of resize=0 pixels: write 1 <= side <= resize <= 4096."),
        (
            {"mean": (0.5,)},
            "mean=(0.5,) and deviation=None need three numbers each, for red, green and blue, or one for grey, and "
            "deviations above 0.",
        ),
        (
            {"mean": (0.5,), "deviation": (0.0,)},
            "mean=(0.5,) and deviation=(0.0,) need three numbers each, for red, green and blue, or one for grey, and "
            "deviations above 0.",
        ),
    ],
    ids=str,
)
def test_a_reading_that_cannot_be_is_refused_at_once(options, words):
    with pytest.raises(SpecError) as caught:
        Reading(**options)
    assert str(caught.value) == words
