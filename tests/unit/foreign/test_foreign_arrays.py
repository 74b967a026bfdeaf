"""Files of arrays: all that numpy writes of plain numbers is read, and no more memory is taken than they need."""

import numpy as np
import pytest

from assay.core.errors import SpecError, StoreError
from assay.foreign import arrays
from assay.foreign.arrays import read_arrays
from assay.report.samples import per_feature

PLAIN = [
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(6, dtype=">f8"),
    np.zeros((0, 3)),
    np.float32(1),
    np.array(["a", "b"]),
]


@pytest.mark.parametrize("array", PLAIN, ids=str)
def test_what_numpy_writes_is_read(tmp_path, array):
    np.save(tmp_path / "one.npy", array)
    np.savez_compressed(tmp_path / "many.npz", x=array, other=np.ones(1))
    for path, names in ((tmp_path / "one.npy", ["x"]), (tmp_path / "many.npz", ["x", "other"])):
        found, listed = read_arrays(str(path), ["x", "absent"], single="x")
        assert (list(found), listed) == (["x"], names)
        assert np.array_equal(found["x"], array)
        assert found["x"].flags.writeable
        assert type(found["x"]) is np.ndarray


def test_a_compressed_array_may_expand_a_hundredfold_only_while_it_is_small(tmp_path, monkeypatch):
    path = str(tmp_path / "zeros.npz")
    np.savez_compressed(path, x=np.zeros(1_000_000))
    assert read_arrays(path, ["x"], single="x")[0]["x"].size == 1_000_000
    monkeypatch.setattr(arrays, "LARGE", 2**20)
    with pytest.raises(SpecError, match=r"expands .*-fold to 8,000,128 bytes"):
        read_arrays(path, ["x"], single="x")
    np.savez(path, x=np.zeros(1_000_000))  # not compressed
    assert read_arrays(path, ["x"], single="x")[0]["x"].size == 1_000_000


def test_a_table_has_no_more_features_than_entries():
    facts = {"kind": "table", "entries": [2], "features": [10**12], "groups": [0, 1]}
    with pytest.raises(StoreError, match="features are stated"):
        per_feature(np.ones((1, 2)), facts)
