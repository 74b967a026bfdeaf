"""Files and folders give what their data in memory give; what is no data is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from assay.core.errors import SpecError
from assay.users.files import KINDS, PYTHON, open_data
from assay.users.images import Photos
from assay.users.pictures import Preparation
from assay.users.read import read_rows
from assay.users.reading import Reading


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to work in, so that messages name short paths."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(data, **options):
    with pytest.raises(SpecError) as caught:
        read_rows(data, **options)
    return str(caught.value)


def people():
    return pd.DataFrame({"age": [39, 50, 38], "pay": [1.5, np.nan, 0.1], "sex": ["m", "f", None], "y": ["a", "b", "a"]})


@pytest.mark.parametrize("name", ["people.csv", "people.tsv", "people.parquet", "PEOPLE.CSV"])
def test_a_table_in_a_file_gives_the_rows_of_its_frame(here, name):
    frame = people()
    write = frame.to_parquet if name.endswith("parquet") else frame.to_csv
    write(name, **({} if name.endswith("parquet") else {"sep": "\t" if name.endswith("tsv") else ","}), index=False)
    reading = Reading(dtype=torch.float64, missing=True)
    found = read_rows(here / name, label="y", reference=name, reading=reading)
    expected = read_rows(frame, label="y", reference=frame, reading=reading)
    assert torch.equal(found.x, expected.x)
    assert torch.equal(found.reference, expected.reference)
    assert found.label.tolist() == found.reference_label.tolist() == expected.label.tolist()
    assert found.notes == expected.notes
    pd.testing.assert_frame_equal(found.given(found.x), frame.drop(columns="y"))


@pytest.mark.parametrize("mark, word", [(";", "semicolons"), ("\t", "tabs")])
def test_another_separator_is_found_and_told(here, mark, word):
    pd.DataFrame({"a": [1, 2], "b": [3, 4]}).to_csv("wine.csv", sep=mark, index=False)
    rows = read_rows("wine.csv")
    assert rows.features.names == ("a", "b")
    assert rows.notes[0] == f"'wine.csv' is separated by {word}."


def test_a_file_of_texts_has_one_a_line(here):
    (here / "reviews.txt").write_text("a great movie\n\nwhat a bore\n", encoding="utf-8-sig")
    rows = read_rows("reviews.txt")
    assert rows.words == (("a", "great", "movie"), ("what", "a", "bore"))
    assert rows.notes[0] == "Every line of 'reviews.txt' is a text."
    pd.DataFrame({"review": ["a b", "c"], "y": [0, 1]}).to_csv("reviews.csv", index=False)
    assert read_rows("reviews.csv", label="y").words == (("a", "b"), ("c",))


def test_arrays_in_a_file_stand_beside_their_labels_and_reference(here):
    arrays = {
        "x": np.eye(3),
        "y": np.array([0, 1, 2]),
        "reference_x": 2 * np.eye(3),
        "reference_y": np.array([1, 1, 0]),
    }
    np.savez("all.npz", **arrays)
    rows = read_rows("all.npz")
    assert rows.x.tolist() == np.eye(3).tolist()
    assert rows.reference.tolist() == (2 * np.eye(3)).tolist()
    assert (rows.label.tolist(), rows.reference_label.tolist(), rows.notes) == ([0, 1, 2], [1, 1, 0], ())
    np.save("x.npy", np.eye(2))
    assert read_rows("x.npy").x.tolist() == np.eye(2).tolist()
    assert read_rows("x.npy", reference="x.npy").reference.tolist() == np.eye(2).tolist()
    np.savez("one.npz", np.eye(2))
    assert read_rows("one.npz").notes == ("Rows are arr_0 of 'one.npz'.",)


def test_arrays_by_the_names_of_the_model_s_inputs(here):
    inputs = {"image": np.zeros((2, 1, 2, 2)), "meta": np.ones((2, 3))}
    more = {"reference_image": np.ones((4, 1, 2, 2)), "reference_meta": np.ones((4, 3)), "target": np.array([0, 1])}
    np.savez("two.npz", **inputs, **more)
    rows = read_rows("two.npz", label="target")
    assert rows.x.shape == (2, 7)
    assert rows.reference.shape == (4, 7)
    assert rows.label.tolist() == [0, 1]
    assert rows.notes[0] == "Rows are image, meta of 'two.npz'."
    assert refusal("two.npz", label="targe") == (
        "'two.npz' has no array 'targe'. Did you mean 'target'? It has image, meta, reference_image, reference_meta, "
        "target."
    )
    np.savez("x.npz", x=np.ones((2, 3)), ids=np.arange(2), meta=np.ones((2, 1)))
    assert read_rows("x.npz").x.shape == (2, 3)
    assert read_rows("x.npz", reading=Reading(inputs=("x", "meta"))).x.shape == (2, 4)
    np.savez("none.npz", y=np.arange(3))
    assert refusal("none.npz") == "'none.npz' has y, and no rows: name their array 'x'."


def save(path, number, size=(20, 30), mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = (size[1], size[0]) if mode == "L" else (size[1], size[0], 3)
    Image.fromarray(np.random.default_rng(number).integers(0, 256, shape, dtype=np.uint8)).save(path)


@pytest.fixture
def photos(here):
    for label, name in enumerate(("ant", "bee")):
        for place in range(3):
            save(here / "photos" / name / f"{place}.png", 10 * label + place, (20 + place, 30))
    return here


def test_a_folder_of_classes_is_read_one_of_each_after_the_other(photos):
    rows = read_rows("photos", reading=Reading(resize=12, side=8, limit=4))
    assert rows.label.tolist() == [0, 1, 0, 1]
    assert rows.classes == ("ant", "bee")
    prepared = Preparation(12, 8)
    for x, name in zip(rows.x, ("ant/0", "bee/0", "ant/1", "bee/1"), strict=True):
        with Image.open(f"photos/{name}.png") as image:
            assert torch.equal(x, prepared.standardised(prepared.cut_out(image)))
    assert rows.notes == (
        "'photos': the first 4 of 6 images of 2 classes are read. More are read with a larger limit.",
        "Images are resized to 12 pixels (the shorter side) and cropped to 8 x 8, with colours in 0..1, standardised "
        "by mean=(0.485, 0.456, 0.406) and deviation=(0.229, 0.224, 0.225). Say what the model reads with resize, "
        "side, mean and deviation.",
    )
    assert torch.allclose(rows.picture(rows.x) * 255, (rows.picture(rows.x) * 255).round(), atol=1e-3)
    trained = read_rows("photos", reference="photos", reading=Reading(side=8))
    assert torch.equal(trained.x, trained.reference)
    assert trained.x.shape == (6, 3, 8, 8)


def test_images_of_several_sizes_become_what_most_networks_read(photos):
    rows = read_rows("photos", reading=Reading(limit=3, mean=(0.5,) * 3, deviation=(0.5,) * 3))
    assert rows.x.shape == (3, 3, 224, 224)
    assert rows.notes[1] == (
        "Images are resized to 256 pixels (the shorter side) and cropped to 224 x 224, with colours in 0..1, "
        "standardised by mean=(0.5, 0.5, 0.5) and deviation=(0.5, 0.5, 0.5). Say what the model reads with resize, "
        "side, mean and deviation."
    )


def test_images_of_one_size_keep_it_and_grey_ones_stay_grey(here):
    for place in range(2):
        save(here / "digits" / f"{place}.png", place, (6, 5), "L")
    rows = read_rows("digits")
    assert rows.x.shape == (2, 1, 5, 6)
    assert (rows.label, rows.classes) == (None, ())
    with Image.open("digits/1.png") as image:
        assert torch.equal(rows.x[1, 0], torch.from_numpy(np.array(image)) / 255)
    assert rows.notes == (
        "'digits': all 2 images without classes are read.",
        "Images keep their size, 6 x 5 pixels, as grey ones with colours in 0..1. Say what the model reads with "
        "resize, side, mean and deviation.",
    )
    assert read_rows("digits", reading=Reading(mean=(0.5,) * 3, deviation=(0.5,) * 3)).x.shape == (2, 3, 5, 6)
    assert read_rows("digits/0.png").x.shape == (1, 1, 5, 6)


def test_pillow_s_images_are_read_like_files(photos):
    images = [Image.open(f"photos/{name}/0.png") for name in ("ant", "bee")]
    rows = read_rows(images, label=["ant", "bee"], reference=images[:1])
    assert torch.equal(rows.x, read_rows("photos", reading=Reading(limit=2)).x)
    assert rows.label.tolist() == ["ant", "bee"]
    assert torch.equal(rows.reference, rows.x[:1])
    assert torch.equal(read_rows(images[0]).x, rows.x[:1])
    moved = read_rows(images, reading=Reading(channels_last=True))
    assert torch.equal(moved.given(moved.x), rows.x.movedim(1, -1))
    for image in images:
        image.close()
    assert refusal(images[:1], reference=np.eye(2)) == (
        "x holds images, and reference is ndarray: give images there, too."
    )
    assert refusal([Image.new("RGB", (2, 2)), Image.new("I;16", (2, 2))]) == (
        "x: image 1 (counted from 0) has more than 8 bits a colour (mode I;16): give such images as an array of "
        "floats, as the model reads them."
    )


def test_files_of_images_for_a_model_that_reads_0_to_255(photos):
    rows = read_rows("photos/ant/0.png", reading=Reading(scale="as is"))
    with Image.open("photos/ant/0.png") as image:
        assert torch.allclose(rows.x[0], torch.from_numpy(np.array(image)).permute(2, 0, 1).float(), atol=1e-4)
    assert ", with colours in 0..255. Say" in rows.notes[0]
    assert torch.allclose(rows.picture(rows.x), rows.x / 255, atol=1e-6)
    assert refusal("photos", reading=Reading(scale="as is", mean=(0.5,) * 3, deviation=(0.5,) * 3)) == (
        "mean and deviation standardise colours in 0..1, and scale='as is' keeps 0..255: give one of both."
    )


def test_a_label_that_a_folder_does_not_have_is_not_passed_over(photos):
    assert refusal("photos", label="kind") == (
        "label='kind' names a column, and x has none (Photos): give one label per row as an array, or leave label out."
    )


def test_folders_of_other_classes_are_no_reference(photos):
    save(photos / "others" / "cat" / "0.png", 0)
    assert refusal("photos", reference="others") == (
        "x has the classes ant, bee, and the reference cat: give a folder with the same sub-folders, or list the "
        "classes of both in their classes.txt."
    )


def test_images_are_opened_when_they_are_needed(photos, monkeypatch):
    opened = open_data("photos")
    monkeypatch.setattr(Image, "open", lambda *_, **__: pytest.fail("opened"))
    assert isinstance(opened.data, Photos)
    assert len(opened.data[:2]) == 2


def test_folders_without_images_are_refused(photos):
    (photos / "empty" / ".hidden").mkdir(parents=True)
    (photos / "tables").mkdir()
    (photos / "tables" / "a.csv").write_text("a\n1\n")
    (photos / "hollow" / "ant").mkdir(parents=True)
    assert refusal("empty") == (
        "the folder 'empty' is empty: give one of images, or with a sub-folder of images for each class."
    )
    assert refusal("tables") == "the folder 'tables' has no images, only files such as 'a.csv': give one of its files."
    assert refusal("hollow") == "the sub-folders of 'hollow' have no images."
    (photos / "photos" / "ant" / "notes.txt").write_text("-")
    assert refusal("photos") == "photos/ant/notes.txt is no PNG, JPEG or WEBP image: move it away."


def test_a_wrong_path_is_answered_with_what_is_near(here):
    people().to_csv("people.csv", index=False)
    assert refusal("peple.csv") == "there is no file 'peple.csv'. Did you mean 'people.csv'?"
    assert refusal("what a movie") == "there is no file 'what a movie'. For a text, give a list of texts."
    assert refusal("data/people.csv") == "there is no file 'data/people.csv'. There is no folder 'data' either."
    assert refusal(people().drop(columns="y"), reference="peple.csv", label=[1, 2, 3]) == (
        "there is no file 'peple.csv'. Did you mean 'people.csv'?"
    )


@pytest.mark.parametrize(
    "name, content, words",
    [
        ("empty.csv", b"", "'empty.csv' is empty: data are needed."),
        ("header.csv", b"a,b\n", "'header.csv' is a table of 0 rows and 2 columns: give one with rows."),
        ("latin.csv", "a,b\né,1\n".encode("latin-1"), "'latin.csv' is no text in UTF-8: save it as that."),
        (
            "ragged.csv",
            b"a,b\n1,2\n1,2,3\n",
            "'ragged.csv' is no readable CSV file: ParserError: Error tokenizing data. C error: Expected 2 fields in "
            "line 3, saw 3. It may be cut off.",
        ),
        ("latin.txt", b"\xe9\n", "'latin.txt' is no text in UTF-8: save it as that."),
        (
            "model.pkl",
            b"-",
            f"'model.pkl' is no data that are read: {KINDS}. A pickle can run code as it is opened: {PYTHON}.",
        ),
        ("net.pt", b"-", f"'net.pt' is no data that are read: {KINDS}. Files of torch are for weights: {PYTHON}."),
        ("book.xlsx", b"-", f"'book.xlsx' is no data that are read: {KINDS}. This format is not read: {PYTHON}."),
        ("what.foo", b"-", f"'what.foo' is no data that are read: {KINDS}. Give one of these."),
        (
            "a.npy",
            b"-",
            "cannot read 'a.npy' as .npz or .npy of plain arrays: ValueError: it is neither of them; numpy.savez "
            "writes such a file.",
        ),
    ],
)
def test_files_that_are_no_data_are_refused(here, name, content, words):
    (here / name).write_bytes(content)
    assert (
        refusal(name) == words.replace("unexpected end of data", "invalid continuation byte") or refusal(name) == words
    )


def test_a_damaged_parquet_file_and_objects_in_arrays_are_refused(here):
    (here / "cut.parquet").write_bytes(b"PAR1 and no more")
    assert refusal("cut.parquet").startswith("'cut.parquet' is no readable PARQUET file: ArrowInvalid: ")
    np.save("objects.npy", np.array([1, "a"], dtype=object))
    assert refusal("objects.npy").startswith("cannot read 'objects.npy' as .npz or .npy of plain arrays: ")


def test_a_parquet_file_without_pyarrow_is_answered_with_its_name(here, monkeypatch):
    people().to_parquet("people.parquet")

    def refuse(*_, **__):
        raise ImportError("Unable to find a usable engine")

    monkeypatch.setattr(pd, "read_parquet", refuse)
    assert refusal("people.parquet") == (
        "'people.parquet' needs pyarrow to be read: install it, with pip install pyarrow."
    )
