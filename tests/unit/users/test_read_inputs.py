"""Several inputs, data sets and loaders."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, WeightedRandomSampler

from assay.core.errors import SpecError
from assay.users.read import read_rows
from assay.users.reading import Reading


def refusal(data, **options):
    with pytest.raises(SpecError) as caught:
        read_rows(data, **options)
    return str(caught.value)


def inputs():
    generator = np.random.default_rng(0)
    return {
        "image": generator.normal(size=(2, 3, 2, 2)).astype(np.float32),
        "age": np.array([30, 40]),
        "flags": np.array([[True, False], [False, True]]),
        "steps": torch.tensor(generator.normal(size=(2, 1, 2))),
    }


def test_several_inputs_stand_in_one_row_and_come_back():
    x = inputs()
    rows = read_rows(x, reference={name: part[:1] for name, part in x.items()}, reading=Reading(dtype=torch.float64))
    assert rows.features.groups == (0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 8)
    assert rows.features.names == (
        *(f"image[{i},{j}]" for i in (0, 1) for j in (0, 1)),
        *("age", "flags[0]", "flags[1]", "steps[0,0]", "steps[0,1]"),
    )
    assert torch.equal(rows.reference, rows.x[:1])
    back = rows.given(rows.x)
    assert list(back) == list(x)
    for name, part in x.items():
        assert type(back[name]) is type(part)
        assert back[name].dtype == part.dtype
        np.testing.assert_array_equal(np.asarray(back[name]), np.asarray(part))
    assert rows.notes == (
        "Several inputs stand in one row, 9 features: image (2, 3, 2, 2), age (2,), flags (2, 2), steps (2, 1, 2).",
    )


def test_a_torch_model_gets_tensors_with_gradients_in_its_format_and_order():
    rows = read_rows(
        inputs(), reading=Reading(dtype=torch.float32, tensors=True, inputs=("age", "steps", "image", "flags"))
    )
    x = rows.x.requires_grad_()
    back = rows.given(x)
    assert list(back) == ["age", "steps", "image", "flags"]
    assert [part.dtype for part in back.values()] == [torch.int64, torch.float32, torch.float32, torch.bool]
    (back["image"].sum() + 2 * back["steps"].sum()).backward()
    assert x.grad[0].tolist() == [0, 2, 2, *[1] * 12, 0, 0]


@pytest.mark.parametrize(
    "change, options, words",
    [
        (
            {"age": np.arange(3)},
            {},
            "x needs equally many rows in each input: image has 2, age has 3, flags has 2, steps has 2.",
        ),
        (
            {},
            {"reading": Reading(inputs=("image", "aged"))},
            "x has 'age', 'flags', 'steps', and the model's inputs are image, aged: leave out what it does not read. "
            "Did you mean 'aged'?",
        ),
        (
            {},
            {"reference": {"age": np.arange(2)}},
            "reference has inputs {'age': ()}, and x has {'image': (3, 2, 2), 'age': (), 'flags': (2,), 'steps': (1, "
            "2)} (by name, the shape of a row): give the same.",
        ),
        ({"age": np.array([1.0, np.nan])}, {}, "x['age'] has NaN or infinite values in 1 of 2 rows: 1."),
    ],
    ids=str,
)
def test_inputs_that_do_not_fit_are_refused(change, options, words):
    assert refusal({**inputs(), **change}, **options) == words
    assert refusal({}) == "x has no inputs."


@pytest.mark.parametrize("names", [("batch",), ("image", "kwargs"), ()])
def test_names_that_say_nothing_about_the_inputs_do_not_count(names):
    assert list(read_rows(inputs(), reading=Reading(inputs=names)).given(read_rows(inputs()).x)) == list(inputs())


def dataset(count=600):
    generator = torch.Generator().manual_seed(0)
    return TensorDataset(torch.randn(count, 4, generator=generator), torch.arange(count) % 3)


def test_the_first_rows_of_a_data_set_are_read_with_their_labels():
    rows = read_rows(dataset())
    assert torch.equal(rows.x, dataset().tensors[0][:256])
    assert rows.label.tolist() == [place % 3 for place in range(256)]
    assert rows.notes == (
        "x: the first 256 of 600 rows of the TensorDataset were read. More are read with a larger limit.",
    )
    assert len(read_rows(dataset(), reading=Reading(limit=300))) == 300
    small = read_rows(dataset(5), reference=dataset(7))
    assert (len(small), small.reference.shape, small.reference_label.shape) == (5, (7, 4), (7,))
    assert small.notes == (
        "x: all 5 rows of the TensorDataset were read.",
        "reference: all 7 rows of the TensorDataset were read.",
    )
    assert read_rows(dataset(5), label=[1] * 5).label.tolist() == [1] * 5


@pytest.mark.parametrize("size", [7, 256, 1000])
def test_a_loader_that_shuffles_is_read_in_order(size):
    first = read_rows(DataLoader(dataset(), batch_size=size, shuffle=True))
    again = read_rows(DataLoader(dataset(), batch_size=size, drop_last=True))
    assert torch.equal(first.x, dataset().tensors[0][:256])
    assert torch.equal(again.x, first.x)
    assert first.label.tolist() == again.label.tolist()
    assert first.notes[0].startswith(
        "x: the first 256 of 600 rows of the DataLoader were read, in the order of its data set."
    )
    assert ", in the order" not in again.notes[0]


def test_a_loader_that_draws_its_rows_draws_the_same_each_time():
    def loader():
        return DataLoader(dataset(), batch_size=50, sampler=WeightedRandomSampler([1.0] * 600, 600))

    assert torch.equal(read_rows(loader()).x, read_rows(loader()).x)
    assert len(read_rows(loader())) == 256


class Stream(IterableDataset):
    def __iter__(self):
        return iter([(torch.full((4,), float(place)), place) for place in range(10)])


class Augmented(Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, place):
        return {"pixels": torch.rand(2), "label": "ab"[place % 2]}


def test_data_sets_without_length_and_with_random_numbers_are_read():
    for data in (Stream(), DataLoader(Stream(), batch_size=3)):
        rows = read_rows(data, reading=Reading(limit=4))
        assert rows.x[:, 0].tolist() == rows.label.tolist() == [0, 1, 2, 3]
    rows = read_rows(Augmented())
    assert torch.equal(rows.x, read_rows(Augmented()).x)
    assert rows.label.tolist() == ["a", "b", "a"]
    assert list(rows.given(rows.x)) == ["pixels"]
    assert read_rows(Augmented(), label="label").label.tolist() == ["a", "b", "a"]
    assert "names a column, and x has none (Tensor)" in refusal(dataset(4), label="y")


class Listed(Dataset):
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, place):
        return self.items[place]


def test_rows_of_a_data_set_may_be_images_texts_and_arrays():
    image = Image.new("RGB", (4, 4))
    assert read_rows(Listed([(image, 1), (image, 0)])).kind == "image"
    assert read_rows(Listed([image, image])).kind == "image"
    texts = read_rows(Listed([("a b", 1), ("c", 0)]))
    assert (texts.words, texts.label.tolist()) == ((("a", "b"), ("c",)), [1, 0])
    assert read_rows(DataLoader(Listed(["a b", "c", "d"]), batch_size=2)).words == (("a", "b"), ("c",), ("d",))
    assert read_rows(Listed([np.ones(3), np.ones(3)])).x.shape == (2, 3)
    pairs = read_rows([(torch.ones(3), 1)] * 2)
    assert (pairs.x.tolist(), pairs.label.tolist()) == ([[1, 1, 1]] * 2, [1, 1])


def test_data_sets_that_cannot_be_read_are_refused():
    assert refusal(Listed([])) == "x: the Listed has no rows."
    assert refusal(Listed([(torch.ones(2), torch.ones(2), 1)])) == (
        "x: the data gives 3 things for each row, and rows and labels are needed: give a dict of the model's inputs in "
        "place of several, or leave out what the model does not read."
    )
    assert refusal(Listed([torch.ones(2), torch.ones(3)])).startswith(
        "x: the Listed cannot be read: RuntimeError: stack"
    )
    batches = DataLoader(Listed([torch.ones(2), torch.ones(3)]), batch_size=1)
    assert refusal(batches).startswith("x has batches that cannot be joined: RuntimeError: Sizes of tensors must match")


def test_reading_moves_no_random_numbers_of_the_user():
    before = torch.get_rng_state()
    read_rows(Augmented())
    assert torch.equal(torch.get_rng_state(), before)
