"""Data frames become entries and, given back, frames again; what no model could read is refused by row and column."""

from __future__ import annotations

import datetime

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings

from assay.core.errors import SpecError
from assay.users import frames
from assay.users.read import read_rows
from assay.users.reading import Reading

EXACT = Reading(dtype=torch.float64)
MISSING = Reading(dtype=torch.float64, missing=True)
ADVICE = (
    "Leave the field of a missing value empty (in Python: pd.to_numeric(column, errors='coerce')) or leave these rows "
    "out; if the numbers are names of categories, give the column as such, with .astype(str).astype('category')."
)


def people(**more):
    columns = {
        "age": [39, 50, 38, 28],
        "pay": [1.5, 2.25, -1.0, 0.1],
        "sex": ["m", "f", "m", "m"],
        "job": pd.Categorical(["clerk", "cook", "cook", "clerk"], categories=["cook", "clerk", "smith"]),
        "left": [True, False, True, True],
    }
    return pd.DataFrame({**columns, **more})


def refusal(data, **options):
    with pytest.raises(SpecError) as caught:
        read_rows(data, **options)
    return str(caught.value)


def test_a_text_is_a_group_of_entries_and_a_number_one():
    rows = read_rows(people(), reading=EXACT)
    assert rows.x.tolist() == [
        [39, 1.5, 0, 1, 0, 1, 0, 1],
        [50, 2.25, 1, 0, 1, 0, 0, 0],
        [38, -1, 0, 1, 1, 0, 0, 1],
        [28, 0.1, 0, 1, 0, 1, 0, 1],
    ]
    assert rows.features.groups == (0, 1, 2, 2, 3, 3, 3, 4)
    assert rows.features.names == ("age", "pay", "sex", "job", "left")
    assert (rows.kind, rows.x.dtype, rows.label, len(rows)) == ("table", torch.float64, None, 4)
    assert rows.notes == (
        "2 columns hold categories, an entry for each, explained as one column: sex (2), job (3).",
        "Columns of bool, int64 are read as float64.",
    )
    pd.testing.assert_frame_equal(rows.given(rows.x), people())


def test_a_mean_row_reads_as_the_most_frequent_category():
    rows = read_rows(people(), reading=EXACT)
    mean = rows.given(rows.x.mean(dim=0, keepdim=True))
    assert mean.iloc[0].to_dict() == {"age": 39, "pay": 0.7125, "sex": "m", "job": "cook", "left": True}
    assert mean.dtypes.tolist() == people().dtypes.tolist()
    zero = {"age": 0, "pay": 0.0, "sex": "f", "job": "cook", "left": False}
    assert rows.given(torch.zeros(1, 8)).iloc[0].to_dict() == zero


def test_whole_numbers_are_rounded_into_their_format_or_stay_floats():
    frame = pd.DataFrame({"small": np.array([1, 2], np.uint8), "wide": [2**40, -(2**40)]})
    rows = read_rows(frame, reading=EXACT)
    far = rows.given(torch.tensor([[1.5, 1e30], [-7.0, -1e30]]))
    assert far["small"].tolist() == [2, 0]
    assert far["wide"].tolist() == [2**63 - 1024, -(2**63)]
    floats = read_rows(frame, reading=Reading(dtype=torch.float64, whole=False))
    assert floats.given(torch.tensor([[1.5, 0.25]])).to_dict("list") == {"small": [1.5], "wide": [0.25]}


def test_large_whole_numbers_that_the_format_rounds_are_told():
    rows = read_rows(pd.DataFrame({"id": [2**24, 2**24 + 1], "n": [1, 2]}))
    assert rows.notes == (
        "Columns of int64 are read as float32.",
        "Careful: float32 rounds whole numbers above 16,777,216, as there are in 'id'.",
    )
    assert len(read_rows(pd.DataFrame({"id": [2**24, 2]})).notes) == 1


def test_missing_values_have_an_entry_where_the_model_reads_them():
    frame = people(pay=[1.0, np.nan, 3.0, np.nan], sex=["m", None, "f", "m"])
    rows = read_rows(frame, reading=MISSING)
    assert rows.features.groups == (0, 1, 1, 2, 2, 2, 3, 3, 3, 4)
    assert rows.x[:, 1:6].tolist() == [[1, 0, 0, 1, 0], [2, 1, 0, 0, 1], [3, 0, 1, 0, 0], [2, 1, 0, 1, 0]]
    pd.testing.assert_frame_equal(rows.given(rows.x), frame)
    assert "Columns with missing values have an entry that says so: pay (2 rows), sex (1 row)." in rows.notes
    mean = rows.given(rows.x[:3].mean(dim=0, keepdim=True))
    assert mean["pay"].tolist() == [2.0]  # of those that have one
    assert refusal(frame) == (
        "x has missing values in 2 of 4 rows (1, 3; counted from 0), in 2 columns, 'pay', 'sex', and the model does "
        "not read them: leave these rows out, or fill them as those that the model was trained on."
    )


def test_a_column_without_any_value_stays_empty():
    frame = people(none=[None] * 4, nan=[np.nan] * 4, text=pd.array([None] * 4, dtype="str"))
    rows = read_rows(frame, reading=MISSING)
    pd.testing.assert_frame_equal(rows.given(rows.x), frame)


def test_missing_values_of_the_reference_count():
    reference = people(pay=[1.0, np.nan, 3.0, 5.0])
    rows = read_rows(people(), reference=reference, reading=MISSING)
    pd.testing.assert_frame_equal(rows.given(rows.x), people())
    pd.testing.assert_frame_equal(rows.given(rows.reference), reference)
    assert refusal(people(), reference=reference) == (
        "reference has missing values in 1 of 4 rows (1; counted from 0), in the column 'pay', and the model does "
        "not read them: leave these rows out, or fill them as those that the model was trained on."
    )


def test_the_reference_has_the_same_columns_in_any_order_and_adds_its_categories():
    reference = people(sex=["x", "f", "m", "f"], job=["baker", "cook", "cook", "cook"])[
        ["left", "job", "sex", "pay", "age"]
    ]
    rows = read_rows(people(), reference=reference, reading=EXACT)
    assert rows.x.shape == rows.reference.shape == (4, 10)
    back = rows.given(rows.reference)
    assert back["sex"].tolist() == ["x", "f", "m", "f"]
    assert back["job"].tolist() == ["baker", "cook", "cook", "cook"]
    assert back["job"].cat.categories.tolist() == ["cook", "clerk", "smith", "baker"]
    assert rows.given(rows.x)["job"].tolist() == ["clerk", "cook", "cook", "clerk"]


@pytest.mark.parametrize(
    "reference, words",
    [
        (
            people().rename(columns={"sex": "sexe"}),
            "reference has no column 'sex', which x has: give the same columns in both. Did you mean 'sexe'?",
        ),
        (
            people(z=1),
            "reference has columns that x has not, 'z': leave them out, or give them in x, too.",
        ),
        (
            people(pay="a"),
            "column 'pay' holds numbers in x and text in the reference: give the same in both.",
        ),
        (people().iloc[:0], "reference has no rows."),
    ],
)
def test_another_reference_is_refused_by_the_name_of_the_column(reference, words):
    assert refusal(people(), reference=reference) == words


def test_true_and_false_beside_numbers_are_numbers():
    rows = read_rows(pd.DataFrame({"a": [True, False]}), reference=pd.DataFrame({"a": [0, 2]}))
    assert rows.x.tolist() == [[1], [0]]
    assert rows.given(rows.reference)["a"].tolist() == [0.0, 2.0]


def test_text_beside_a_category_has_its_categories_and_more():
    named = pd.DataFrame({"a": pd.Categorical(["u", "w"], categories=["w", "v", "u"])})
    text = pd.DataFrame({"a": ["t", "v"]})
    reading = Reading(columns=("a",))
    for first, second in ((named, text), (text, named)):
        rows = read_rows(first, reference=second, reading=reading)
        assert rows.given(rows.x)["a"].cat.categories.tolist() == ["w", "v", "u", "t"]
        assert rows.given(rows.x)["a"].tolist() == first["a"].tolist()
        assert rows.given(rows.reference)["a"].tolist() == second["a"].tolist()


def test_an_array_as_reference_has_the_columns_of_the_frame():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    rows = read_rows(frame, reference=np.array([[5.0, 6.0]]))
    assert rows.reference.tolist() == [[5, 6]]
    assert refusal(frame, reference=np.ones((2, 3))).startswith("reference is no table like x: ValueError:")


@pytest.mark.parametrize(
    "column, words",
    [
        (["1", "2", "?", "3"], f"holds numbers, and '?' in 1 of 4 rows (2; counted from 0). {ADVICE}"),
        ([1, "n/a", 2.5, "?"], None),
        ([1, "n/a", 2.5, 2], f"holds numbers, and 'n/a' in 1 of 4 rows (1; counted from 0). {ADVICE}"),
        (
            ["a", "b", "c", 1],
            "mixes text and other values, such as 1 (int): make all of it text, with .astype(str), or all "
            "of it numbers.",
        ),
        (
            pd.to_datetime(["2020-01-01"] * 4).astype("datetime64[ns]"),
            "holds dates or times (datetime64[ns]): a number or a category is needed. Make it one, as the model reads "
            "it (.dt.year, .dt.dayofweek, or the days since a date), or leave the column out.",
        ),
        ([datetime.date(2020, 1, 1)] * 4, None),
        (pd.to_timedelta([1, 2, 3, 4]), None),
        (pd.period_range("2020", periods=4), None),
        ([b"a", b"b", b"c", b"d"], "holds bytes: give them as text, with .str.decode('utf-8')."),
        ([[1], [2], [3], [4]], "holds mixed values such as [1] (list): numbers, categories or text are needed."),
        (
            [1j, 2.0, 3.0, 4.0],
            "holds complex values such as np.complex128(1j) (complex128): numbers, categories or text are needed.",
        ),
        ([1.0, np.inf, 2.0, -np.inf], "has infinite values in 2 of 4 rows (1, 3; counted from 0): leave them out."),
    ],
    ids=str,
)
def test_what_no_model_reads_is_refused_by_column_and_row(column, words):
    found = refusal(people(odd=column))
    assert found.startswith("x: column 'odd' ")
    assert words is None or found == f"x: column 'odd' {words}"


def test_dates_of_every_type_are_refused_as_dates():
    for column in ([datetime.date(2020, 1, 1)] * 4, pd.to_timedelta([1, 2, 3, 4]), pd.period_range("2020", periods=4)):
        assert "holds dates or times" in refusal(people(odd=column))


@pytest.mark.parametrize(
    "values, categories",
    [
        (["0", "1", "2", "3+"], 4),
        (["94110", "94103", "94110", "94103"], 2),
        (["1-3", "4-6", "7", "1-3"], 3),
        (["?", "a", "b", "a"], 3),
    ],
)
def test_texts_that_are_no_numbers_are_categories(values, categories):
    rows = read_rows(pd.DataFrame({"code": values, "n": [1.0, 2.0, 3.0, 4.0]}))
    assert rows.x.shape[1] == categories + 1


def test_a_column_of_many_numbers_with_one_text_is_no_category():
    values = [str(number) for number in range(11)] + ["eleven"]
    assert "holds numbers, and 'eleven' in 1 of 12 rows (11; counted from 0)." in refusal(
        pd.DataFrame({"n": values, "m": 1})
    )


def test_many_categories_work_and_are_told():
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(51)], "zip": [str(i) for i in range(51)], "v": 1.0})
    frame["review"] = [f"a movie of {i}" for i in range(51)]
    rows = read_rows(frame, reading=EXACT)
    assert rows.x.shape == (51, 154)
    assert rows.notes[1:] == (
        "Column 'name' has 51 different values in 51 rows: each is a category by itself. Leave the column out if it "
        "only names the row.",
        "Column 'zip' has 51 different values in 51 rows: they are numbers written as text: pd.to_numeric makes it one "
        "column of numbers.",
        "Column 'review' has 51 different values in 51 rows: each is a category by itself. Write text='review' if the "
        "rows are these texts.",
    )
    assert len(read_rows(frame[:50], reading=EXACT).notes) == 1


def test_more_entries_than_memory_holds_are_refused(monkeypatch):
    monkeypatch.setattr(frames, "LARGEST", 100)
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(20)], "v": 1.0})
    assert refusal(frame) == (
        "x: column 'name' has 20 categories, and all rows together 420 entries, more than 100: leave the column out, "
        "or give fewer rows."
    )


@pytest.mark.parametrize(
    "frame, words",
    [
        (people().iloc[:0], "x has no rows."),
        (people()[[]], "x has no columns that could be explained."),
        (
            pd.concat([people(), people()[["age"]]], axis=1),
            "x has several columns named 'age': give each another name.",
        ),
    ],
)
def test_frames_without_a_question_are_refused(frame, words):
    assert refusal(frame) == words


def test_the_columns_of_the_model_are_taken_in_its_order():
    rows = read_rows(people(id=1), reading=Reading(columns=("pay", "age")))
    assert rows.features.names == ("pay", "age")
    assert rows.given(rows.x).columns.tolist() == ["pay", "age"]
    assert refusal(people(), reading=Reading(columns=("pay", "aeg"))) == (
        "x has no column 'aeg', and the model reads 2 columns: pay, aeg. Did you mean 'age'? x has age, pay, sex, job, "
        "left."
    )
    trained = read_rows(people(), reference=people(id=1), reading=Reading(columns=("pay", "age")))
    assert trained.reference.shape == (4, 2)


def test_a_saved_index_is_told():
    note = (
        "Careful: the column 'Unnamed: 0' looks like row numbers that were saved with the table. Leave it out, if so."
    )
    frame = people(**{"Unnamed: 0": [0, 1, 2, 3]})
    assert read_rows(frame).notes[0] == note
    assert note not in read_rows(frame, reading=Reading(columns=("age",))).notes


def test_the_label_is_taken_out_of_the_rows_and_of_the_reference():
    frame, reference = people(y=["no", "yes", "no", "no"]), people(y=["yes", "yes", "no", "no"])
    rows = read_rows(frame, label="y", reference=reference)
    assert rows.features.names == ("age", "pay", "sex", "job", "left")
    assert rows.label.tolist() == ["no", "yes", "no", "no"]
    assert rows.reference_label.tolist() == ["yes", "yes", "no", "no"]
    alone = read_rows(frame, label="y", reference=people())
    assert alone.reference_label is None
    assert alone.reference.shape == (4, 8)


@pytest.mark.parametrize(
    "column, dtype",
    [
        ([0, 1, 2, 1], "int64"),
        ([True, False, True, True], "bool"),
        ([0.5, 1.5, 2.5, 1.0], "float64"),
        (pd.Categorical(["b", "a", "b", "b"]), "<U1"),
        (pd.array([1, 2, 3, 4], dtype="Int64"), "int64"),
        (pd.array(["a", "b", "c", "d"], dtype="string"), "<U1"),
    ],
    ids=str,
)
def test_labels_stay_what_they_were(column, dtype):
    label = read_rows(people(y=column), label="y").label
    assert label.dtype.str.lstrip("<|") == np.dtype(dtype).str.lstrip("<|")
    assert label.tolist() == list(column)


@pytest.mark.parametrize(
    "column, words",
    [
        (
            ["no"] * 4,
            "label 'y' is 'no' in all 4 rows: labels of several classes or values are needed. Name another column, add "
            "rows, or leave the label out.",
        ),
        (["no", None, "yes", "no"], "label 'y' is missing in 1 of 4 rows (1; counted from 0): leave these rows out."),
        (
            pd.array([1, None, 2, None], dtype="Int64"),
            "label 'y' is missing in 2 of 4 rows (1, 3; counted from 0): leave these rows out.",
        ),
        ([0, 1, np.nan, 1], "label 'y' is missing in 1 of 4 rows (2; counted from 0): leave these rows out."),
        (
            pd.to_datetime(["2020", "2021", "2022", "2023"]).astype("datetime64[ns]"),
            "label 'y' holds datetime64[ns]: give classes, as texts or whole numbers, or values.",
        ),
    ],
    ids=str,
)
def test_labels_that_say_nothing_are_refused(column, words):
    assert refusal(people(y=column), label="y") == words


def test_a_wrong_label_is_answered_with_the_columns():
    assert refusal(people(), label="sexe") == (
        "there is no column 'sexe' for the label. Did you mean 'sex'? x has age, pay, sex, job, left."
    )
    assert refusal(np.eye(3), label="y") == (
        "label='y' names a column, and x has none (ndarray): give one label per row as an array, or leave label out."
    )
    assert refusal(people(), label=["no", "yes"]) == "label has shape (2,): one label per row is needed, (4,)."


def test_labels_may_stand_beside_the_rows():
    assert read_rows(people(), label=["no"] * 4).label.tolist() == ["no"] * 4
    assert read_rows(people(), label=torch.tensor([[1], [0], [1], [1]])).label.tolist() == [1, 0, 1, 1]


FORMS = {
    "arrow": (lambda: pa.table({"a": [1, 2], "b": ["x", "y"]}), None),
    "records": (lambda: [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], list),
    "structured": (lambda: np.array([(1, "x"), (2, "y")], dtype=[("a", "i8"), ("b", "U1")]), np.recarray),
    "columns": (lambda: {"a": np.array([1, 2]), "b": np.array(["x", "y"])}, dict),
    "objects": (lambda: np.array([[1, "x"], [2, "y"]], dtype=object), np.ndarray),
    "lists": (lambda: [[1, "x"], [2, "y"]], np.ndarray),
}


@pytest.mark.parametrize("form", FORMS)
def test_tables_in_other_forms_are_the_same_rows_and_come_back_in_theirs(form):
    make, kind = FORMS[form]
    rows = read_rows(make(), reference=make())
    assert rows.x.tolist() == rows.reference.tolist() == [[1, 1, 0], [2, 0, 1]]
    assert rows.features.names == (() if form in ("objects", "lists") else ("a", "b"))
    back = rows.given(rows.x)
    assert isinstance(back, kind or pd.DataFrame)
    told = "x is pyarrow's Table, read as a frame of pandas." in rows.notes
    assert told is (form == "arrow")
    values = pd.DataFrame(back).to_numpy(dtype=object).tolist()
    assert values == [[1, "x"], [2, "y"]]


def test_a_frame_s_index_and_the_names_of_its_columns_do_not_matter():
    frame = pd.DataFrame([[1.0, "a"], [2.0, "b"]], columns=[0, ("x", 1)], index=[7, 7])
    rows = read_rows(frame)
    assert rows.features.names == ("0", "('x', 1)")
    assert rows.given(rows.x).columns.tolist() == [0, ("x", 1)]


def test_sparse_decimal_and_object_columns_are_numbers():
    frame = pd.DataFrame(
        {
            "sparse": pd.arrays.SparseArray([0.0, 1.0]),
            "object": pd.array([1, 2], dtype=object),
            "truth": pd.array([True, None], dtype=object),
        }
    )
    rows = read_rows(frame, reading=MISSING)
    assert rows.x.tolist() == [[0, 1, 1, 0], [1, 2, 1, 1]]
    back = rows.given(rows.x)
    assert [str(dtype) for dtype in back.dtypes] == ["float64", "int64", "boolean"]
    assert back["truth"].isna().tolist() == [False, True]


TEXT = st.text("abcxyz Äßω", max_size=6)
WHOLE = st.integers(-(2**53), 2**53)
KINDS = {
    "int64": (WHOLE, "int64", False),
    "uint8": (st.integers(0, 255), "uint8", False),
    "float64": (st.floats(allow_nan=False, allow_infinity=False), "float64", True),
    "float32": (st.floats(width=32, allow_nan=False, allow_infinity=False), "float32", True),
    "bool": (st.booleans(), "bool", False),
    "Int64": (WHOLE, "Int64", True),
    "Float64": (st.floats(allow_nan=False, allow_infinity=False), "Float64", True),
    "boolean": (st.booleans(), "boolean", True),
    "str": (TEXT, "str", True),
    "string": (TEXT, "string", True),
    "object": (TEXT, "object", True),
    "category": (TEXT, "category", True),
    "ordered": (st.sampled_from("lmh"), pd.CategoricalDtype(["l", "m", "h"], ordered=True), True),
    "codes": (st.integers(0, 3), pd.CategoricalDtype([3, 2, 1, 0]), True),
}


@st.composite
def mixed_frames(draw):
    rows = draw(st.integers(1, 6))
    columns = {}
    for place, kind in enumerate(draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=5))):
        values, dtype, lacks = KINDS[kind]
        each = st.one_of(values, st.none()) if lacks else values
        columns[f"{kind} {place}"] = pd.Series(draw(st.lists(each, min_size=rows, max_size=rows)), dtype=dtype)
    return pd.DataFrame(columns)


@given(mixed_frames())
@settings(max_examples=150)
def test_frames_of_all_kinds_come_back_as_they_were(frame):
    rows = read_rows(frame, reading=Reading(dtype=torch.float64, missing=True, columns=tuple(frame.columns)))
    assert rows.x.isfinite().all()
    assert len(rows.features.groups) == rows.x.shape[1]
    pd.testing.assert_frame_equal(rows.given(rows.x), frame)
    mean = rows.given(rows.x.mean(dim=0, keepdim=True))
    assert mean.dtypes.tolist() == frame.dtypes.tolist()
    for name in frame:
        if isinstance(frame[name].dtype, pd.CategoricalDtype | pd.StringDtype):
            counts = frame[name].value_counts(dropna=False)
            assert counts[mean[name].iloc[0]] == counts.max()


@given(mixed_frames(), st.randoms(use_true_random=False))
@settings(max_examples=50)
def test_rows_and_reference_are_encoded_alike(frame, shuffle):
    order = list(frame.columns)
    shuffle.shuffle(order)
    reading = Reading(dtype=torch.float64, missing=True, columns=tuple(frame.columns))
    rows = read_rows(frame, reference=frame[order], reading=reading)
    assert torch.equal(rows.x, rows.reference)
