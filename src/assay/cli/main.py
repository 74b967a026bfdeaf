"""The command ``assay``: parsing and printing, nothing else. Each command imports what it needs when it runs."""

from __future__ import annotations

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # ``python -m`` has put the current folder first, where a numpy.py beside a downloaded study would be run in place
    # of numpy. The command ``assay`` starts without it. (``python -P`` also guards what Python imports before this.)
    del sys.path[0]

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import typer

from assay.cli import bench, check, demo, evaluate, export, ls, report, run, show
from assay.core.errors import AssayError
from assay.core.pages import keep_pages

app = typer.Typer(
    help="Test feature-attribution methods, and the metrics that judge them, against known truth.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _command(function: Callable[..., None], loads: bool = False) -> None:
    """Make a function a command of its name. One that ``loads`` components finds 'module:attr' in the current folder.

    That folder is looked at last, so that nothing in it takes the place of what is installed.
    """

    @wraps(function)
    def command(**given: Any) -> None:
        if loads and "" not in sys.path:
            sys.path.append("")  # spawned workers get it too: multiprocessing hands sys.path on
        try:
            function(**given)
        except KeyboardInterrupt as interrupt:  # here: the framework would say "Aborted" and nothing else
            print(f"assay: {str(interrupt) or 'interrupted.'}", file=sys.stderr)
            raise typer.Exit(130) from None

    app.command(function.__name__)(command)


_command(demo.demo)
_command(ls.ls)
_command(show.show, loads=True)
_command(run.run, loads=True)
_command(report.report)
_command(export.export)
_command(evaluate.evaluate, loads=True)
_command(check.check, loads=True)
_command(bench.bench)


def main() -> None:
    """Exit codes: 0 fine; 1 a test the user asked for failed; 2 a mistake in what was asked; 130 interrupted."""
    keep_pages()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # a batch system's kill is an interrupt too
    try:
        with _safe_path():
            app()
    except AssayError as error:
        print(f"assay: {error}", file=sys.stderr)
        sys.exit(2)
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _safe_path() -> Iterator[None]:
    """Workers are started by ``python -c``, which looks into the current folder first until it is told otherwise."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]


if __name__ == "__main__":
    main()
