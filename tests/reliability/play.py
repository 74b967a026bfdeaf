"""Plays one scenario in a process of its own, with its progress on standard error."""

import sys
import tempfile
import time
from pathlib import Path

from reliability.arena import COMPONENTS, Arena
from reliability.scenarios import scenarios


def play(name, kills, seed):
    sys.path.insert(0, str(COMPONENTS))
    start, scenario = time.monotonic(), scenarios(kills, seed)[name]
    with tempfile.TemporaryDirectory(prefix="reliability-") as folder, Arena(Path(folder), _progress) as arena:
        tally = scenario(arena)
    result = "passed" if tally.passed else "FAILED"
    print(f"\n{name}: {result}, {tally}, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    return tally


def _progress(text):
    print(f"\r{text}   ", end="", file=sys.stderr, flush=True)
