"""The report: one folder that opens from disk. No server, no network, no component code, no torch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from assay.catalogue.cards import KINDS
from assay.core.records import Record
from assay.engine.store.files import write_atomically
from assay.engine.store.protocol import RunStore
from assay.report.answer_page import answer_sections
from assay.report.components import components, inner_cards
from assay.report.cost import costs
from assay.report.curves import curve_panels, frontier_panels
from assay.report.damage_page import damage_sections
from assay.report.family_bars import family_panels
from assay.report.first_screen import first_screen
from assay.report.gallery_page import gallery_panels
from assay.report.leaderboard import Test, leaderboards, tests
from assay.report.loaded_run import LoadedRun, load_run
from assay.report.missing import groups, undefined_metrics
from assay.report.provenance import provenance
from assay.report.scatter import agreement_sections
from assay.report.slope_charts import slope_sections
from assay.report.sweep_charts import sweep_panels
from assay.report.text import counted, interval_text, listed, number, percent, seconds
from assay.report.top_images_page import top_images_panels
from assay.report.violins import violin_panels


def page(store: RunStore, output: Path, run: Record | None = None) -> Path:
    """Write the report of a run, by default the latest, into a folder; returns the path of its index.html."""
    loaded = load_run(store, run)
    output.mkdir(parents=True, exist_ok=True)
    html = templates().get_template("index.html.j2").render(_context(loaded, output))
    path = output / "index.html"
    write_atomically(path, html.encode("utf-8", "backslashreplace"), sync=False)
    return path


def _context(loaded: LoadedRun, output: Path) -> dict[str, Any]:
    cost_by_method, panels = costs(loaded), gallery_panels(loaded, output)
    return {
        "title": loaded.title,
        "study": loaded.study,
        "summary": summary(loaded),
        "answers": answer_sections(loaded),
        **{kind: components(loaded.run, kind) for kind in KINDS},
        "sweep_panels": sweep_panels(loaded),
        "leaderboards": leaderboards(loaded),
        "families": family_panels(loaded),
        "tests": tests(loaded),
        "agreements": agreement_sections(loaded),
        "slope_sections": slope_sections(loaded),
        "damages": damage_sections(loaded),
        "violins": violin_panels(loaded),
        "curves": curve_panels(loaded),
        "common_levels": loaded.result.common_levels,
        "first": first_screen(loaded.result, panels),
        "panels": panels,
        "top_panels": top_images_panels(loaded, output),
        "groups": groups(loaded),
        "failed_count": len(loaded.result.failed()),
        "undefined_metrics": undefined_metrics(loaded),
        "costs": cost_by_method,
        "frontiers": frontier_panels(loaded, cost_by_method),
        "inner_cards": inner_cards(loaded.run),
        "provenance": provenance(loaded, output),
    }


def summary(loaded: LoadedRun) -> str:
    """The size of the study, how many scores are known, and what the tests refute."""
    methods, cells = components(loaded.run, "methods"), list(loaded.result.scores())
    controls = sum(method.control for method in methods)
    scored = sum(cell.value is not None for cell in cells)
    control_note = f" ({counted(controls, 'control')} among them)" if controls else ""
    parts = [
        f"{counted(len(methods), 'attribution method')}{control_note}",
        f"judged by {counted(len(loaded.study.metrics), 'metric')}",
        f"in {counted(len(loaded.study.environments), 'environment')}:",
        f"{scored} of {counted(len(cells), 'score')} {'is' if scored == 1 else 'are'} known",
    ]
    return " ".join(parts) + _missing(loaded) + "." + "".join(_refuted(test) for test in tests(loaded))


def _refuted(test: Test) -> str:
    tested = [verdict for _, verdict in test.rows if verdict.measured]
    refuted, undecided, not_testable = (
        sum(verdict.outcome == word for verdict in tested) for word in ("refuted", "undecided", "not testable")
    )
    notes = [f"leaves {undecided} undecided"] if undecided else []
    notes += [f"cannot test {not_testable} at this size"] if not_testable else []
    refutes = f"refutes {refuted} of {counted(len(tested), 'method')}"
    return f" The test on {test.metric} at γ = {test.gamma:g} {listed([refutes, *notes])}."


def _missing(loaded: LoadedRun) -> str:
    undefined = sum(cell.status == "ok" and cell.value is None for cell in loaded.result.scores())
    counts = {
        "failed": len(loaded.result.failed()),
        "skipped": len(loaded.result.skipped()),
        "undefined": undefined,
    }
    parts = [f"{count} {status}" for status, count in counts.items() if count]
    return f", {listed(parts)}" if parts else ""


def templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("assay.report"),
        autoescape=True,  # labels, reasons and docstrings come from users
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(_filters())
    environment.globals["zip"] = zip
    return environment


def _filters() -> Mapping[str, Any]:
    return {
        "num": lambda value: number(value).replace("-", "−"),
        "spread": lambda cell: interval_text(cell).replace("-", "−"),
        "seconds": seconds,
        "share": percent,
        "counted": counted,
        "prose": prose,
        "breakable": breakable,
    }


def prose(text: str) -> Markup:
    """A docstring as HTML: double backticks become code, empty lines separate paragraphs, all else is escaped."""
    paragraphs = [block.strip() for block in re.split(r"\n\s*\n", text) if block.strip()]
    return Markup("").join(Markup("<p>{}</p>").format(_with_code(block)) for block in paragraphs)


def _with_code(text: str) -> Markup:
    pieces = re.split(r"``(.+?)``", text, flags=re.DOTALL)
    frames = (Markup("{}"), Markup("<code>{}</code>"))
    return Markup("").join(frames[index % 2].format(piece) for index, piece in enumerate(pieces))


def breakable(label: str) -> Markup:
    """A label that may wrap after a mark such as ``_``, for narrow columns."""
    return Markup("<wbr>").join(re.split(r"(?<=[_(=,])", label))
