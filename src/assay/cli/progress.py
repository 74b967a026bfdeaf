"""Progress of a run on standard error: what is being done, how far it is, how long it will take."""

from __future__ import annotations

import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from assay.cli.course import Course
from assay.core.records import Record
from assay.execute.plan import Plan
from assay.execute.run import Watch
from assay.report.words import seconds
from assay.store.store import Store

DOING = {
    "trial": "attributing",
    "evidence": "judging",
    "model": "training",
    "probe": "probing",
    "fit": "fitting",
    "prepared": "preparing",
}
SHORT = 5.0  # seconds that need no announcement
SOON = 3.0  # seconds after which a run says how long it will take, if it has not said so at its start


@contextmanager
def progress(root: Path, workers: int, quiet: bool) -> Iterator[Watch]:
    """A watcher that says how long the run will take and, unless quiet, draws a bar.

    An interrupt leaves with a sentence about what is done and how to go on.
    """
    course, console = Course(workers), Console(stderr=True)
    speaker = _Speaker(course, lambda text: console.print(text, highlight=False, soft_wrap=True))
    with _bar(console, quiet, course) as draw:

        def watch(record: Record | None, plan: Plan) -> None:
            if record is None:
                store = Store.open(root, create=False)
                course.begin(plan, store)
                store.close()
                speaker.begin()
            else:
                course.note(record)
                speaker.go_on()
            draw(record)

        try:
            yield watch
        except KeyboardInterrupt:
            raise KeyboardInterrupt(course.interrupted(shlex.join(["assay", *sys.argv[1:]]))) from None
        finally:
            speaker.timer.cancel()


class _Speaker:
    """Says once how long a run will take: at once, or as soon as that is known; and after a while that it is not."""

    def __init__(self, course: Course, say: Callable[[str], None]) -> None:
        self.course, self.say = course, say
        self.told = False
        self.timer = threading.Timer(SOON, self.admit)
        self.timer.daemon = True

    def begin(self) -> None:
        self.began = time.monotonic()
        found = self.course.estimate()
        if found is not None and found.complete:
            self.tell()
        elif self.course.left:
            self.timer.start()

    def go_on(self) -> None:
        if not self.told and time.monotonic() - self.began >= SOON:
            self.tell()

    def tell(self) -> None:
        found = self.course.estimate()
        if found is not None and found.seconds + time.monotonic() - self.began >= SHORT:
            self.told = True
            about = "About" if found.complete else "At least about"
            self.say(f"{about} {seconds(found.seconds)} to go: {self.course.how_far()}.")

    def admit(self) -> None:
        """Called when nothing may have come in for a while."""
        if self.course.estimate() is None:
            self.say(f"{self.course.how_far()}. How long it takes is not known before the first one is.")
        elif not self.told:
            self.tell()


@contextmanager
def _bar(console: Console, quiet: bool, course: Course) -> Iterator[Callable[[Record | None], None]]:
    """What draws the bar after each record."""
    if quiet:
        yield lambda record: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[trouble]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("planning", total=None, trouble="")

        def draw(record: Record | None) -> None:
            if record is None:
                bar.update(task, total=sum((course.left or {}).values()), description="starting")
                return
            said = ", ".join(f"{count} {status}" for status, count in sorted(course.trouble.items()))
            bar.update(task, advance=1, description=DOING.get(record.kind, record.kind), trouble=said)

        yield draw
