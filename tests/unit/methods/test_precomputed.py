"""Attributions from a file."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from assay.core.errors import NotApplicable, SpecError
from assay.methods.precomputed import Precomputed
from scenes import ask, data, mlp, rows


@pytest.fixture
def query():
    return ask(mlp(), data(5, 6))


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "maps.npz"
    np.savez(path, attribution=np.arange(30.0).reshape(5, 6), short=np.zeros((3, 6)))
    return str(path)


def test_rows_go_to_the_samples_they_belong_to(query, path):
    found = Precomputed(path)(rows(query, slice(3, 5)))
    assert torch.equal(found, torch.arange(18.0, 30.0).reshape(2, 6))
    assert found.dtype == query.x.dtype


def test_too_few_rows_are_an_answer(query, path):
    with pytest.raises(NotApplicable, match=r"needs a row for sample 3, and 'short' in .* has 3"):
        Precomputed(path, "short")(rows(query, slice(0, 4)))
    assert Precomputed(path, "short")(rows(query, slice(0, 3))).shape == (3, 6)


def test_a_missing_file_is_named(query, tmp_path):
    with pytest.raises(SpecError, match=r"there is no file '.*nowhere.npz'"):
        Precomputed(str(tmp_path / "nowhere.npz"))(query)


def test_a_missing_array_is_suggested(query, path):
    with pytest.raises(
        SpecError, match=r"no array 'attributions'. Did you mean 'attribution'\? It has: attribution, short"
    ):
        Precomputed(path, "attributions")(query)


def test_pickled_objects_are_never_loaded(query, tmp_path):
    path = tmp_path / "objects.npz"
    np.savez(path, attribution=np.array([{"a": 1}], dtype=object))
    with pytest.raises(SpecError, match="plain arrays"):
        Precomputed(str(path))(query)


@pytest.mark.parametrize("content", [b"not a zip", b"PK\x03\x04 cut off"])
def test_a_broken_file_is_named(query, tmp_path, content):
    path = tmp_path / "broken.npz"
    path.write_bytes(content)
    with pytest.raises(SpecError, match=r"cannot read '.*broken.npz'"):
        Precomputed(str(path))(query)


def test_a_single_array_needs_no_name(query, tmp_path):
    path = tmp_path / "one.npy"
    np.save(path, np.ones((5, 6)))
    assert torch.equal(Precomputed(str(path))(query), torch.ones(5, 6))


@pytest.mark.parametrize("array", [np.ones((5, 6), dtype=complex), np.full((5, 6), "a"), np.float64(1)])
def test_other_things_than_rows_of_real_numbers_are_refused(query, tmp_path, array):
    np.savez(tmp_path / "odd.npz", attribution=array)
    with pytest.raises(SpecError, match="rows of real numbers"):
        Precomputed(str(tmp_path / "odd.npz"))(query)
