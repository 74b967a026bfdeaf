"""``--timeout`` reaches the run, or is refused where no process could enforce it."""

import numpy as np
import pytest
from typer.testing import CliRunner

import assay.engine.execute.run
from assay.cli.main import app
from assay.core.errors import AssayError


class Begun(Exception):
    pass


@pytest.fixture
def begun(monkeypatch):
    """The arguments a run was started with; the run ends there."""
    arguments = {}

    def run(study, root, resources, watch):
        arguments.update(workers=resources.workers, timeout=resources.timeout)
        raise Begun

    monkeypatch.setattr(assay.engine.execute.run, "run", run)
    return arguments


MODEL = """
import torch


def model():
    linear = torch.nn.Linear(3, 2).eval()
    torch.nn.init.ones_(linear.weight)
    torch.nn.init.zeros_(linear.bias)
    return linear
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
    outcome = CliRunner().invoke(app, [*command, "--workers", "0", "--timeout", "5"])
    assert isinstance(outcome.exception, AssayError)
    assert "--timeout 5 needs a worker process" in str(outcome.exception)
    assert begun == {}
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(("options", "timeout"), [([], None), (["--timeout", "2.5"], 2.5)])
def test_a_limit_reaches_the_run(command, begun, options, timeout):
    outcome = CliRunner().invoke(app, [*command, "--workers", "2", *options])
    assert isinstance(outcome.exception, Begun), outcome.exception
    assert begun == {"workers": 2, "timeout": timeout}
