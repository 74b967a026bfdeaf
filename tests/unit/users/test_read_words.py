"""Texts, whose words are kept or removed, and token ids."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import NotApplicable, SpecError
from assay.core.features import Columns
from assay.users.read import read_rows
from assay.users.reading import Reading

TEXTS = ["a great  movie", " what a bore\n", "fine"]


def refusal(data, **options):
    with pytest.raises(SpecError) as caught:
        read_rows(data, **options)
    return str(caught.value)


def test_words_are_features_that_are_kept_or_removed():
    rows = read_rows(TEXTS)
    assert rows.words == (("a", "great", "movie"), ("what", "a", "bore"), ("fine",))
    assert (rows.kind, rows.features, rows.x.dtype) == ("tokens", Columns.plain(3), torch.float32)
    assert torch.equal(rows.x > 0.5, torch.tensor([[1, 1, 1], [1, 1, 1], [1, 0, 0]]).bool())
    assert bool((rows.x[:, 0] - 1).abs().max() < 1e-5)
    assert rows.given(rows.x) == TEXTS
    keep = torch.tensor([[0, 1, 1], [1, 0, 1], [0, 0, 0]])
    assert rows.given(rows.x * keep) == ["great  movie", "what bore", ""]
    assert rows.given(rows.x[[1]] * torch.tensor([[1, 1, 0]])) == ["what a"]
    assert rows.notes == ("Texts are split at white space: each of up to 3 words is a feature, and may be removed.",)


def test_a_word_of_another_text_is_that_word():
    rows = read_rows(TEXTS, reference=["one two three four"])
    assert rows.x.shape == (3, 4)
    assert rows.given(rows.reference) == ["one two three four"]
    mixed = rows.x[:1].clone()
    mixed[0, 1] = rows.reference[0, 1]
    assert rows.given(mixed) == ["a two movie"]


@pytest.mark.parametrize("change", [0.75, 1.0 + 2.0**-22, -1.0, 3.0])
def test_what_is_neither_kept_nor_removed_does_not_apply(change):
    rows = read_rows(TEXTS)
    if change < 0.5:
        assert rows.given(rows.x * change) == ["", "", ""]
        return
    with pytest.raises(NotApplicable, match="a word of a text is kept or removed"):
        rows.given(rows.x * change)


@given(
    st.lists(st.text(alphabet="ab \n\tß", min_size=1).filter(str.strip), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_any_text_comes_back_and_any_words_of_it(texts, shuffle):
    rows = read_rows(texts)
    assert rows.given(rows.x) == texts
    assert [list(words) for words in rows.words] == [text.split() for text in texts]
    keep = torch.tensor([[shuffle.random() < 0.5 for _ in row] for row in rows.x])
    for text, row, words in zip(rows.given(rows.x * keep), keep, rows.words, strict=True):
        assert text.split() == [word for word, kept in zip(words, row, strict=False) if kept]


@pytest.mark.parametrize(
    "make",
    [
        tuple,
        pd.Series,
        np.array,
        lambda texts: pd.DataFrame({"review": texts}),
    ],
)
def test_texts_may_stand_in_a_series_an_array_or_an_only_column(make):
    assert read_rows(make(TEXTS)).given(read_rows(TEXTS).x) == TEXTS


def test_a_column_of_texts_is_named_where_there_are_others():
    frame = pd.DataFrame({"id": [1, 2, 3], "review": TEXTS, "y": [0, 1, 1]})
    rows = read_rows(frame, label="y", reference=frame, reading=Reading(text="review"))
    assert rows.given(rows.x) == rows.given(rows.reference) == TEXTS
    assert rows.label.tolist() == rows.reference_label.tolist() == [0, 1, 1]
    assert refusal(frame, reading=Reading(text="reveiw")) == (
        "there is no column 'reveiw' of texts. Did you mean 'review'? x has id, review, y."
    )
    assert refusal(np.eye(2), reading=Reading(text="review")) == (
        "text='review' names a column, and x is ndarray: leave it out."
    )


def test_a_column_that_the_model_reads_as_a_table_is_no_text():
    frame = pd.DataFrame({"city": ["a b", "c d"]})
    assert read_rows(frame, reading=Reading(columns=("city",))).kind == "table"
    assert read_rows(frame.astype("category")).kind == "table"


@pytest.mark.parametrize(
    "texts, words",
    [
        (
            ["a", None, "b", 3],
            "x has no text in 2 of 4 rows (1, 3; counted from 0): leave these rows out, or write a text there.",
        ),
        (["a", " "], "x has texts without a word in 1 of 2 rows (1; counted from 0): leave these rows out."),
    ],
)
def test_rows_without_text_are_refused_by_number(texts, words):
    assert refusal(texts) == words
    assert refusal(["a"], reference=texts) == words.replace("x has", "reference has")


def test_a_reference_that_is_no_text_is_refused():
    assert refusal(["a b"], reference=np.eye(2)) == "x holds texts, and reference is ndarray: give texts there, too."


def test_single_words_are_told():
    assert read_rows(["你好", "好"]).notes[1] == (
        "Careful: every text is one word. For a language without white space, put some between its words."
    )


IDS = [[5, 6, 7], [8, 9, 2]]


@pytest.mark.parametrize("make", [np.array, torch.tensor, list])
def test_whole_numbers_are_token_ids_where_the_model_has_a_table_of_them(make):
    rows = read_rows(make(IDS), reading=Reading(tokens=True, words=(("a", "b", "c"), ("d", "e", "f"))))
    assert (rows.kind, rows.features, rows.x.tolist()) == ("tokens", Columns.plain(3), IDS)
    assert rows.words == (("a", "b", "c"), ("d", "e", "f"))
    back = rows.given(rows.x + 0.2)
    assert isinstance(back, torch.Tensor if make is torch.tensor else np.ndarray)
    assert back.tolist() == IDS
    assert rows.notes == ("Whole numbers are token ids: each of 3 positions is a feature.",)
    assert read_rows(make(IDS)).kind == "table"
    assert read_rows(np.array(IDS) + 0.5, reading=Reading(tokens=True)).kind == "table"


def test_rows_of_ids_of_different_lengths_end_with_padding():
    rows = read_rows([[5, 6, 7], [8]], reference=[[1, 2, 3, 4]], reading=Reading(tokens=True, tensors=True))
    assert rows.x.tolist() == [[5, 6, 7, -1], [8, -1, -1, -1]]
    assert rows.reference.tolist() == [[1, 2, 3, 4]]
    assert torch.equal(rows.given(rows.x), torch.tensor([[5, 6, 7, 0], [8, 0, 0, 0]]))


def test_a_tokenizer_s_answer_comes_back_with_its_mask():
    encoded = {
        "input_ids": torch.tensor([[5, 6, 7], [8, 99, 99]]),
        "token_type_ids": torch.zeros(2, 3, dtype=torch.long),
        "attention_mask": torch.tensor([[1, 1, 1], [1, 0, 0]]),
    }
    rows = read_rows(encoded)
    assert rows.x.tolist() == [[5, 6, 7], [8, -1, -1]]
    back = rows.given(rows.x)
    assert list(back) == list(encoded)
    assert all(torch.equal(back[name], encoded[name]) for name in encoded)
    labelled = read_rows({**encoded, "y": [0, 1]}, label="y")
    assert labelled.label.tolist() == [0, 1]
    assert refusal({**encoded, "token_type_ids": torch.ones(2, 3).long()}) == (
        "x['token_type_ids'] is not 0 everywhere, and rows are told by 'input_ids' and 'attention_mask' alone: leave "
        "it out, or explain one text at a time."
    )


def test_ids_that_are_none_are_refused():
    assert refusal({"input_ids": [[0.5]]}) == (
        "x['input_ids'] has no token ids: whole numbers (N, positions) are needed, as a tokenizer gives them."
    )
    assert refusal([[1, -2], [3, 4]], reading=Reading(tokens=True)) == (
        "x has negative token ids in 1 of 2 rows (0; counted from 0): ids count from 0."
    )
    assert refusal(IDS, reading=Reading(tokens=True, words=(("a",),))) == (
        "words has texts of 1 row, and x has 2 rows: give one for each."
    )
