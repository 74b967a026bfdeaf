"""An interrupt, be it by the keyboard or by a batch system, says what is done and how to go on; and going on works."""

import re
import signal
import subprocess
import sys
import time

import pytest

from assay.engine.store.store import Store

STUDY = """
samples = 60
block = 2
gallery = 0
environments = ["counted:Ward"]
methods = ["counted:Slow(seconds=0.2)"]
metrics = ["f1"]
"""


def lines(folder):
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("s/logs/*"))


def started(folder, workers):
    """A run that has three records."""
    (folder / "study.toml").write_text(STUDY)
    asked = ["run", str(folder / "study.toml"), "--store", str(folder / "s"), "--workers", str(workers)]
    process = subprocess.Popen(
        [sys.executable, "-m", "assay.cli.main", *asked], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + 100
    while process.poll() is None and lines(folder) < 3:
        assert time.monotonic() < end
        time.sleep(0.05)
    return process, " ".join(["assay", *asked])


@pytest.mark.parametrize(
    ("number", "workers"),
    [(signal.SIGINT, 0), (signal.SIGTERM, 1), pytest.param(signal.SIGTERM, 0, marks=pytest.mark.full)],
)
def test_an_interrupt_says_what_is_done_and_what_is_left(tmp_path, number, workers):
    process, asked = started(tmp_path, workers)
    process.send_signal(number)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert out == ""
    assert "Traceback" not in error
    said = re.search(
        r"^assay: interrupted: (\d+) of (\d+) done and kept, (\d+) left\. .*again to go on: (.*)$", error, re.M
    )
    assert said, error
    done, total, left = map(int, said.groups()[:3])
    kept = [record for record in Store.open(tmp_path / "s", create=False).records() if record.kind != "run"]
    assert 0 < done < total == done + left
    assert done <= len(kept) <= done + 1  # the interrupt may fall between a record and its count
    assert said[4] == asked
