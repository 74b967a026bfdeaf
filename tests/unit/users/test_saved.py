"""Saved estimators: nothing of a pickle runs unless it is trusted."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from assay.core.errors import SpecError
from assay.users.saved import is_saved_model, load_saved

X = np.random.default_rng(0).normal(size=(20, 3))
MODEL = GaussianNB().fit(X, X[:, 0] > 0)


class Opens:
    """Leaves a mark as it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def saved(path):
    if path.suffix == ".joblib":
        joblib.dump(MODEL, path)
    else:
        path.write_bytes(pickle.dumps(MODEL))
    return str(path)


@pytest.mark.parametrize("name", ["model.joblib", "model.pkl", "model.PICKLE"])
def test_a_trusted_pickle_is_the_estimator(name, tmp_path):
    path = saved(tmp_path / name)
    assert is_saved_model(path)
    np.testing.assert_array_equal(load_saved(path, trusted=True).predict_proba(X), MODEL.predict_proba(X))


def test_a_pickle_without_trust_runs_nothing(tmp_path):
    path, mark = tmp_path / "model.pkl", tmp_path / "mark"
    path.write_bytes(pickle.dumps(Opens(str(mark))))
    with pytest.raises(
        SpecError, match=r"runs whatever code it holds, with your rights.*--trust .*model\.pkl.*\.safetensors"
    ):
        load_saved(str(path))
    assert not mark.exists()
    load_saved(str(path), trusted=True).close()
    assert mark.exists()


def test_files_that_are_no_models_are_told(tmp_path):
    with pytest.raises(SpecError, match="there is no file"):
        load_saved(str(tmp_path / "model.pkl"), trusted=True)
    with pytest.raises(SpecError, match=r"no saved estimator: write \.joblib, \.pkl"):
        load_saved(str(tmp_path / "model.onnx"))
    assert not is_saved_model("my_package:net")
    (tmp_path / "model.pkl").write_bytes(b"damaged")
    with pytest.raises(SpecError, match=r"cannot read '.*model.pkl'"):
        load_saved(str(tmp_path / "model.pkl"), trusted=True)
    (tmp_path / "model.joblib").write_bytes(b"cno_such_package\nModel\n.")
    with pytest.raises(SpecError, match="needs 'no_such_package', which cannot be imported here"):
        load_saved(str(tmp_path / "model.joblib"), trusted=True)


@pytest.mark.parametrize("name, package", [("model.json", "xgboost"), ("model.txt", "lightgbm")])
def test_a_damaged_file_of_trees_is_told(name, package, tmp_path):
    pytest.importorskip(package)
    (tmp_path / name).write_text("damaged")
    with pytest.raises(SpecError, match="cannot read"):
        load_saved(str(tmp_path / name))
