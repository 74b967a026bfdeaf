"""Progress of a run on standard error: the current kind of work, the count done, the time left."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from assay.core.machine import Resources
from assay.core.records import Record
from assay.engine.execute.plan import Plan
from assay.engine.store.protocol import RunStore
from assay.report.text import seconds, shortened
from assay.report.time_left import SHORT, RunProgress

if TYPE_CHECKING:
    from assay.engine.execute.run import Watch

DOING = {
    "trial": "attributing",
    "evidence": "judging",
    "model": "training",
    "probe": "probing",
    "fit": "fitting",
    "prepared": "preparing",
}
WIDTH = 32  # characters of what is being done
ESTIMATE_INTERVAL = 1.0  # seconds between two estimates of the time left
ANNOUNCED_AFTER = 3.0  # seconds after which a run announces its time, unless it did so at its start
BOUND_AFTER = 10.0  # seconds after which a run announces a lower bound, if much of the work has no time yet
LOG_INTERVAL = 60.0  # seconds between the first two announcements in a log; later intervals double


@contextmanager
def progress(resources: Resources, quiet: bool, again: str = "") -> Iterator[Watch]:
    """A watcher that announces how long the run will take and, unless quiet, draws a bar.

    An interrupt gets a message that says what is done and, where the work can go on, how: ``again`` is the command.
    """
    run_progress, console = RunProgress(resources.workers, resources.machine), Console(stderr=True)
    has_bar = console.is_terminal and not quiet
    announcer = _Announcer(run_progress, lambda text: console.print(text, highlight=False, soft_wrap=True), has_bar)
    with _bar(console, quiet, run_progress) as draw:

        def watch(record: Record | None, plan: Plan, store: RunStore) -> None:
            if record is None:
                run_progress.begin(plan, store)
                announcer.begin()
            else:
                run_progress.note(record)
                announcer.go_on()
            draw(record)

        try:
            yield watch
        except KeyboardInterrupt:
            raise KeyboardInterrupt(run_progress.interrupted(again)) from None
        finally:
            announcer.timer.cancel()


class _Announcer:
    """Announces the time of a run as soon as it is known; says after ``ANNOUNCED_AFTER`` seconds if it is not.

    Where no bar shows how far the run is, it announces the time left again, at intervals that double.
    """

    def __init__(self, run_progress: RunProgress, say: Callable[[str], None], has_bar: bool) -> None:
        self.run_progress, self.say, self.has_bar = run_progress, say, has_bar
        self.due = ANNOUNCED_AFTER  # seconds after the beginning
        self.timer = threading.Timer(ANNOUNCED_AFTER, self.announce_or_explain)
        self.timer.daemon = True

    def begin(self) -> None:
        self.began = time.monotonic()
        estimate = self.run_progress.estimate()
        if estimate is not None and estimate.complete:
            self.announce()
        elif self.run_progress.left:
            self.timer.start()

    def go_on(self) -> None:
        if time.monotonic() - self.began >= self.due:
            self.announce()

    def announce(self) -> None:
        estimate, passed = self.run_progress.estimate(), time.monotonic() - self.began
        if estimate is None or not (estimate.complete or passed >= BOUND_AFTER):
            return
        if estimate.seconds + passed >= SHORT:
            self.due = math.inf if self.has_bar else passed + max(LOG_INTERVAL, passed)
            about = "About" if estimate.complete else "At least about"
            self.say(f"{about} {seconds(estimate.seconds)} to go: {self.run_progress.how_far()}.")

    def announce_or_explain(self) -> None:
        """Called by the timer, possibly before any record has come in."""
        estimate = self.run_progress.estimate()
        if estimate is None or not estimate.complete:
            self.say(f"{self.run_progress.how_far()}. The time left is not known yet.")
        else:
            self.go_on()


@contextmanager
def _bar(console: Console, quiet: bool, run_progress: RunProgress) -> Iterator[Callable[[Record | None], None]]:
    """A function that updates the bar after each record."""
    if quiet:
        yield lambda record: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[trouble]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("planning", total=None, trouble="", left="")
        estimated = 0.0

        def draw(record: Record | None) -> None:
            nonlocal estimated
            if record is None:
                bar.update(task, total=run_progress.rest, description="starting")
                return
            trouble = ", ".join(f"{count} {status}" for status, count in sorted(run_progress.trouble.items()))
            doing = f"{DOING.get(record.kind, record.kind)} {run_progress.subject(record)}"
            bar.update(task, advance=1, description=shortened(doing, WIDTH).ljust(WIDTH), trouble=trouble)
            if time.monotonic() - estimated >= ESTIMATE_INTERVAL:
                estimated, estimate = time.monotonic(), run_progress.estimate()
                bound = "" if estimate and estimate.complete else "at least "
                bar.update(task, left=f"{bound}{seconds(estimate.seconds)} left" if estimate else "")

        yield draw
