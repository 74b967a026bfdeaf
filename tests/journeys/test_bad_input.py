"""Bad input is refused in a sentence, with exit code 2, soon, in little memory, and without running anything of it."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from assay.cli import main as command
from assay.core.errors import BadAttribution
from assay.engine.artifacts.answer import promised_sum
from assay.engine.store.store import Store
from assay.methods.precomputed import Precomputed
from journeys import bad_inputs
from scenes import ask, data, mlp

LONGEST = 13_000  # characters of a message
GROUPS = {
    "studies": bad_inputs.studies,
    "arrays": bad_inputs.arrays,
    "weights": bad_inputs.weights,
    "specs": bad_inputs.specs,
    "systems": bad_inputs.systems,
    "unreadable": bad_inputs.unreadable,
    "stores": bad_inputs.stores,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where commands run: a store with a run, and rows for a model."""
    folder = tmp_path_factory.mktemp("bad")
    np.save(folder / "rows.npy", np.linspace(0, 1, 48, dtype=np.float32).reshape(8, 6))
    (folder / "folder.toml").mkdir()
    (folder / "study.toml").write_text(bad_inputs.BODY + "samples = 2\nblock = 2\n")
    before = Path.cwd()
    os.chdir(folder)
    try:
        done = CliRunner().invoke(command.app, ["run", "study.toml", "--workers", "0", "--store", "good"])
        assert done.exit_code == 0, done.output
        yield folder
    finally:
        os.chdir(before)


@pytest.fixture
def assay(folder, monkeypatch, capsys):
    """Runs a command in this process; returns its exit code and what it says on standard error."""

    def late(*_):
        raise TimeoutError("no answer within 20 seconds of CPU time")

    def call(*arguments):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["assay", *arguments])
        before = signal.signal(signal.SIGPROF, late)
        signal.setitimer(signal.ITIMER_PROF, 20)
        try:
            with pytest.raises(SystemExit) as ended:
                command.main()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)
        return ended.value.code, capsys.readouterr().err

    return call


@pytest.mark.parametrize("group", GROUPS)
def test_a_command_refuses_it_in_a_sentence(folder, assay, group):
    faults = {}
    for case in GROUPS[group](folder):
        code, message = assay(*case.arguments)
        if not (code == 2 and case.says in message and len(message) < LONGEST and "\x1b" not in message):
            faults[case.name] = (code, message[:300])
    assert not faults
    assert not (folder / "executed").exists()  # of a pickle


@pytest.mark.full
@pytest.mark.parametrize("group", GROUPS)
def test_the_installed_command_does_so_within_gigabytes(folder, group):
    def limits():
        resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))

    faults = {}
    for case in GROUPS[group](folder):
        done = subprocess.run(
            [sys.executable, "-m", "assay.cli.main", *(os.fsencode(word) for word in case.arguments)],
            cwd=folder,
            capture_output=True,
            timeout=100,
            preexec_fn=limits,
        )
        message = done.stderr.decode()
        if not (done.returncode == 2 and case.says in message and "Traceback" not in message):
            faults[case.name] = (done.returncode, message[-300:])
    assert not faults


@pytest.mark.parametrize("size", [0, *(pytest.param(size, marks=pytest.mark.full) for size in (200, 3_000))])
def test_a_disk_that_is_full_is_a_sentence_and_the_same_command_goes_on(folder, tmp_path, size):
    def full_disk():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    run = [sys.executable, "-m", "assay.cli.main", "run", str(folder / "study.toml"), "--workers", "0", "--store", "s"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=200, preexec_fn=full_disk)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "assay: " in done.stderr
    again = ["run", str(folder / "study.toml"), "--workers", "0", "--store", str(tmp_path / "s")]
    assert CliRunner().invoke(command.app, again).exit_code == 0
    assert Store.open(tmp_path / "s", create=False).dump() == Store.open(folder / "good", create=False).dump()


def test_names_that_are_no_text_and_letters_that_a_terminal_lacks_are_escaped(folder):
    name = b"stud\xff\x1b.toml"
    (folder / os.fsdecode(name)).write_text(
        bad_inputs.BODY.replace('"gradient"', '{ use = "gradient", label = "\\u001b[2J\\u202e\\u0416" }')
    )
    done = subprocess.run(
        [sys.executable, "-m", "assay.cli.main", b"run", name, b"--workers", b"0", b"--store", b"escaped"],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stdout + done.stderr
    assert rb"\x1b[2J\u202e\u0416" in done.stdout


def test_complex_numbers_are_no_attribution_and_no_promise(tmp_path):
    query = ask(mlp(), data(5, 6))
    np.savez(tmp_path / "maps.npz", attribution=np.ones((5, 6), dtype=np.complex64))
    with pytest.raises(Exception, match="real numbers"):
        Precomputed(str(tmp_path / "maps.npz"))(query)

    class Promises:
        def promised(self, query):
            return query.x.sum(dim=1) * 1j

    with pytest.raises(BadAttribution, match="complex"):
        promised_sum(Promises(), query)
