"""The command ``assay``: parsing and printing only. Each command imports what it needs when it runs."""

from __future__ import annotations

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # ``python -m`` puts the current folder first on the path, where a numpy.py beside a downloaded study would replace
    # numpy. The command ``assay`` starts without it. (``python -P`` also protects what Python imports before this.)
    del sys.path[0]

import atexit
import gc
import io
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, NoReturn

import typer

from assay.cli import check, demo, evaluate, export, ls, report, run, show, store
from assay.core.errors import AssayError
from assay.core.heap import keep_pages
from assay.core.records import printable

LONGEST = 12_000  # characters of a message

app = typer.Typer(
    help="Test feature-attribution methods, and the metrics that judge them, against known truth.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


store_app = typer.Typer(help="Look after a store: verify, gc, merge, ls.", no_args_is_help=True)
app.add_typer(store_app, name="store")


def _command(function: Callable[..., None], loads: bool = False, group: typer.Typer = app) -> None:
    """Register a function as the command of its name. With ``loads``, it loads 'module:attr' from the current folder.

    The folder comes last on the path, so that nothing in it replaces an installed package.
    """

    @wraps(function)
    def command(**arguments: Any) -> None:
        if loads and "" not in sys.path:
            sys.path.append("")  # also for spawned workers: multiprocessing passes sys.path on
        try:
            function(**arguments)
        except KeyboardInterrupt as interrupt:  # caught here, because typer would only print "Aborted"
            print(f"assay: {str(interrupt) or 'interrupted.'}", file=sys.stderr)
            raise typer.Exit(130) from None

    group.command(function.__name__)(command)


_command(demo.demo)
_command(ls.ls)
_command(show.show, loads=True)
_command(run.run, loads=True)
_command(report.report)
_command(export.export)
_command(evaluate.evaluate, loads=True)
_command(check.check, loads=True)
for function in store.COMMANDS:
    _command(function, group=store_app)


def main() -> None:
    """Exit codes: 0 success; 1 a requested test failed; 2 invalid input; 130 interrupted."""
    keep_pages()
    atexit.register(gc.freeze)  # at its end, Python would search all objects of torch for cycles: 0.3 s
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # a batch system's SIGTERM is an interrupt too
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name or a label may have letters that a terminal has not
    try:
        with _safe_path():
            app()
    except AssayError as error:
        _refuse(str(error))
    except OSError as error:
        name = error.filename2 or error.filename  # where a file replaces another, the one that is replaced
        where = f" '{printable(str(name), 200)}'" if name else ""
        reason = error.strerror or str(error)
        _refuse(f"the system refuses{where}: {reason}. Check the path, its permissions and the space on the disk.")
    except MemoryError as error:
        _refuse(f"there is not enough memory ({error}): give fewer samples, smaller blocks or smaller files.")
    finally:
        signal.signal(signal.SIGTERM, before)


def _refuse(message: str) -> NoReturn:
    print(f"assay: {printable(message, LONGEST)}", file=sys.stderr)
    sys.exit(2)


@contextmanager
def _safe_path() -> Iterator[None]:
    """Keep the current folder off the path of workers: they start by ``python -c``, which would put it first."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


if __name__ == "__main__":
    main()
