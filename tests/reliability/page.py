"""The page of the reliability suite."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version

from reliability.arena import ARTIFACTS

HEAD = """# Reliability

Written by the reliability suite; do not edit. `make reliability` makes it again:

```
{command}
```

A tiny study of {artifacts} artifacts, two of them trained models, is disturbed in every way below, and the same command
is given again until it is complete. *Tried* counts faults that really struck. *Lost*: answers that were in a log before
a fault and are not in the store afterwards. *Computed twice*: answers that were in a log and were computed again.
*Equal*: final stores whose canonical dump is equal to that of a run that nobody disturbed, of all final stores.

| fault | tried | lost | computed twice | equal | |
|---|---:|---:|---:|---:|---|
"""

FOOT = """
{verdict} {when}, {duration} on {cores} cores. {versions}.

Kills are SIGKILLs of the whole process group of `assay run`. The named points are listed in
`engine/store/fault_points.py`, the scenarios and their numbers in `tests/reliability/scenarios.py`. Which points and
moments are chosen follows from the seed; what a process is doing at a random moment does not.
"""


def page(tallies, kills, seed, seconds):
    command = f"PYTHONPATH=tests python -m reliability --kills {kills} --seed {seed} --write docs/reliability.md"
    rows = [_row(tally) for tally in tallies]
    failed = [tally.scenario for tally in tallies if not tally.passed]
    faults = [f"- {tally.scenario}: {problem}" for tally in tallies for problem in tally.problems[:5]]
    foot = FOOT.format(
        verdict="All passed." if not failed else f"FAILED: {'; '.join(failed)}.",
        when=f"{datetime.now(UTC):%Y-%m-%d}",
        duration=f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds",
        cores=os.cpu_count(),
        versions=_versions(),
    )
    head = HEAD.format(command=command, artifacts=ARTIFACTS)
    return head + "\n".join(rows) + "\n" + foot + ("\n" + "\n".join(faults) + "\n" if faults else "")


def _row(tally):
    cells = [tally.scenario, tally.tried, tally.lost, tally.twice, f"{tally.equal} of {tally.stores}"]
    return f"| {' | '.join(map(str, cells))} | {'; '.join(tally.notes)} |"


def _versions():
    packages = {"assay": "assay-xai", "torch": "torch", "distributed": "distributed"}
    numbers = [f"{name} {version(package)}" for name, package in packages.items()]
    return ", ".join([*numbers, f"Python {platform.python_version()}", platform.system()])
