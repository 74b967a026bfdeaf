"""The reliability suite: faults of every kind, and what is left of a study after them.

    PYTHONPATH=tests python -m reliability [--kills N] [--only WORDS] [--seed N] [--jobs N] [--write PAGE]

Exit code 1 when an answer was lost, computed twice or differs.
"""

import argparse
import multiprocessing
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

from reliability.page import page
from reliability.play import play
from reliability.scenarios import scenarios


def main():
    options = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # or the processes of a scenario would go on
    start = time.monotonic()
    names = [name for name in scenarios(options.kills, options.seed) if options.only in name]
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        tallies = list(pool.map(play, names, repeat(options.kills), repeat(options.seed)))
    text = page(tallies, options.kills, options.seed, time.monotonic() - start)
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    print(text)
    return 0 if tallies and all(tally.passed for tally in tallies) else 1


def _options():
    parser = argparse.ArgumentParser(prog="python -m reliability", description="The reliability suite.")
    parser.add_argument("--kills", type=int, default=200, help="of the driver; half of them at named points")
    parser.add_argument("--only", default="", help="scenarios whose name contains this")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of points and moments")
    parser.add_argument("--jobs", type=int, default=2, help="scenarios at a time, each in a process of its own")
    parser.add_argument("--write", type=Path, help="the page to write")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
