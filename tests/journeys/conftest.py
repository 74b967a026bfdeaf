"""What every journey has: a diary, a cache of its own, and short ways to run a study."""

import os
import sys
import warnings
from collections import Counter
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from assay.cli.main import main
from assay.core.machine import Resources
from assay.engine.execute.run import run
from assay.engine.store.store import Store
from assay.studies.file import read
from assay.studies.study import Study

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("DIARY", str(tmp_path / "diary.txt"))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.syspath_prepend(str(HERE))


class Diary:
    """How often each thing was done since the last look."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seen = 0

    def new(self) -> Counter:
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        fresh, self.seen = lines[self.seen :], len(lines)
        return Counter(fresh)

    def kinds(self) -> Counter:
        total = Counter()
        for line, count in self.new().items():
            total[line.split()[0]] += count
        return total


@pytest.fixture
def diary(tmp_path):
    return Diary(tmp_path / "diary.txt")


def ward_study(
    methods=("counted:Slow",), metrics=("counted:Probes",), samples=16, seeds=(0,), block=4, **more
) -> Study:
    table = {
        "environments": ["counted:Ward"],
        "methods": list(methods),
        "metrics": list(metrics),
        "samples": samples,
        "seeds": list(seeds),
        "block": block,
        "gallery": 0,
        **more,
    }
    return read(table, "ward")


@pytest.fixture
def ward():
    return ward_study


def finish(study: Study, root: Path, workers: int = 0) -> list:
    """Run to the end; the store's canonical dump."""
    run(study, root, Resources(workers))
    return Store.open(root, create=False).dump()


@pytest.fixture
def assay(monkeypatch, capsys):
    """The command ``assay`` in this process, which has torch already."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["assay", *map(str, arguments)])
        monkeypatch.setattr(sys, "path", list(sys.path))  # commands that load components append the current folder
        with warnings.catch_warnings(action="ignore"), pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return CompletedProcess(sys.argv, stop.value.code or 0, printed.out, printed.err)

    return run


@pytest.fixture(name="finish")
def finish_fixture():
    return finish


@pytest.fixture(name="python")
def python_fixture():
    return sys.executable
