"""``--timeout`` reaches the run, or is refused where nobody could keep it."""

import numpy as np
import pytest
from typer.testing import CliRunner

import assay.execute.run
from assay.cli.main import app
from assay.core.errors import AssayError


class Begun(Exception):
    pass


@pytest.fixture
def begun(monkeypatch):
    """What the run was begun with; it ends there."""
    given = {}

    def run(study, root, workers=0, machine=None, watch=None, timeout=None):
        given.update(workers=workers, timeout=timeout)
        raise Begun

    monkeypatch.setattr(assay.execute.run, "run", run)
    return given


MODEL = """
import torch


def model():
    found = torch.nn.Linear(3, 2).eval()
    torch.nn.init.ones_(found.weight)
    torch.nn.init.zeros_(found.bias)
    return found
"""


@pytest.fixture(params=["run", "evaluate"])
def command(request, tmp_path, monkeypatch):
    store = ["--store", str(tmp_path / "store")]
    if request.param == "run":
        return ["run", "demo", *store]
    (tmp_path / "ones.py").write_text(MODEL)
    monkeypatch.syspath_prepend(str(tmp_path))
    np.save(tmp_path / "x.npy", np.zeros((8, 3), np.float32))
    return ["evaluate", "--model", "ones:model", "--data", str(tmp_path / "x.npy"), *store]


def test_a_limit_without_workers_is_refused_before_anything_is_read(command, begun, tmp_path):
    found = CliRunner().invoke(app, [*command, "--workers", "0", "--timeout", "5"])
    assert isinstance(found.exception, AssayError)
    assert "--timeout 5 needs a worker process" in str(found.exception)
    assert begun == {}
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(("options", "timeout"), [([], None), (["--timeout", "2.5"], 2.5)])
def test_a_limit_reaches_the_run(command, begun, options, timeout):
    found = CliRunner().invoke(app, [*command, "--workers", "2", *options])
    assert isinstance(found.exception, Begun), found.exception
    assert begun == {"workers": 2, "timeout": timeout}
