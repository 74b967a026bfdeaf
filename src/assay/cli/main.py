"""The command ``assay``: parsing and printing, nothing else. Each command imports what it needs when it runs."""

from __future__ import annotations

import sys

import typer

from assay.cli import bench, check, demo, evaluate, export, ls, report, run, show
from assay.core.errors import AssayError
from assay.core.pages import keep_pages, start_without_cache

app = typer.Typer(
    help="Test feature-attribution methods, and the metrics that judge them, against known truth.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("demo")(demo.demo)
app.command("ls")(ls.ls)
app.command("show")(show.show)
app.command("run")(run.run)
app.command("report")(report.report)
app.command("export")(export.export)
app.command("evaluate")(evaluate.evaluate)
app.command("check")(check.check)
app.command("bench")(bench.bench)


def main() -> None:
    """Exit codes: 0 fine; 1 a test the user asked for failed; 2 a mistake in what was asked."""
    keep_pages()
    start_without_cache()
    sys.path.insert(0, "")  # 'module:attr' may live in the current folder
    try:
        app()
    except AssayError as error:
        print(f"assay: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("assay: interrupted. Run the same command again to go on where it stopped.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
