"""The report: one folder that opens from disk. No server, no network, no component code, no torch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from assay.core.records import Record
from assay.report import words
from assay.report.components import KINDS, components, inner_cards
from assay.report.cost import costs
from assay.report.curves import curve_panels, frontier_panels
from assay.report.exhibits import exhibits
from assay.report.provenance import provenance
from assay.report.reading import Reading, read
from assay.report.standings import Test, standings, tests
from assay.report.trouble import gaps, groups
from assay.store.store import Store


def page(store: Store, output: Path, run: Record | None = None) -> Path:
    """Write the report of a run, the latest unless one is given, into a folder; the path of its index.html."""
    reading = read(store, run)
    output.mkdir(parents=True, exist_ok=True)
    html = _templates().get_template("index.html.j2").render(_context(reading, output))
    path = output / "index.html"
    path.write_text(html, encoding="utf-8")
    return path


def _context(reading: Reading, output: Path) -> dict[str, Any]:
    spent = costs(reading)
    return {
        "title": reading.title,
        "study": reading.study,
        "summary": summary(reading),
        **{kind: components(reading.run, kind) for kind in KINDS},
        "standings": standings(reading),
        "tests": tests(reading),
        "curves": curve_panels(reading),
        "exhibits": exhibits(reading, output),
        "groups": groups(reading),
        "failed": len(reading.result.failed()),
        "gaps": gaps(reading),
        "costs": spent,
        "frontiers": frontier_panels(reading, spent),
        "inner": inner_cards(reading.run),
        "provenance": provenance(reading, output),
    }


def summary(reading: Reading) -> str:
    """One sentence: how much was asked, and how much was answered."""
    methods, cells = components(reading.run, "methods"), list(reading.result.cells())
    controls = sum(method.control for method in methods)
    known = sum(cell.value is not None for *_, cell in cells)
    aside = f" ({words.counted(controls, 'control')} among them)" if controls else ""
    parts = [
        f"{words.counted(len(methods), 'attribution method')}{aside}",
        f"judged by {words.counted(len(reading.study['metrics']), 'metric')}",
        f"in {words.counted(len(reading.study['environments']), 'environment')}:",
        f"{known} of {words.counted(len(cells), 'score')} {'is' if known == 1 else 'are'} known",
    ]
    return " ".join(parts) + _missing(reading) + "." + "".join(_refuted(test) for test in tests(reading))


def _refuted(test: Test) -> str:
    tested = [verdict for _, verdict in test.rows if verdict.found]
    refuted, open_ = (sum(verdict.outcome == word for verdict in tested) for word in ("refuted", "undecided"))
    undecided = f" and leaves {open_} undecided" if open_ else ""
    methods = words.counted(len(tested), "method")
    return f" The test on {test.metric} at γ = {test.gamma:g} refutes {refuted} of {methods}{undecided}."


def _missing(reading: Reading) -> str:
    undefined = sum(cell.status == "ok" and cell.value is None for *_, cell in reading.result.cells())
    found = {
        "failed": len(reading.result.failed()),
        "skipped": len(reading.result.skipped()),
        "undefined": undefined,
    }
    told = [f"{count} {status}" for status, count in found.items() if count]
    return f", {words.listed(told)}" if told else ""


def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("assay.report"),
        autoescape=True,  # labels, reasons and docstrings are other people's text
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(_filters())
    return environment


def _filters() -> Mapping[str, Any]:
    return {
        "num": lambda value: words.number(value).replace("-", "−"),
        "spread": lambda cell: words.spread(cell).replace("-", "−"),
        "seconds": words.seconds,
        "share": words.share,
        "counted": words.counted,
        "prose": prose,
        "breakable": breakable,
    }


def prose(text: str) -> Markup:
    """A docstring: ``code`` between double backticks, paragraphs between empty lines; everything else is escaped."""
    paragraphs = [block.strip() for block in re.split(r"\n\s*\n", text) if block.strip()]
    return Markup("").join(Markup("<p>{}</p>").format(_coded(block)) for block in paragraphs)


def _coded(text: str) -> Markup:
    pieces = re.split(r"``(.+?)``", text, flags=re.DOTALL)
    frames = (Markup("{}"), Markup("<code>{}</code>"))
    return Markup("").join(frames[index % 2].format(piece) for index, piece in enumerate(pieces))


def breakable(label: str) -> Markup:
    """A label that may be wrapped after a mark, where its column is narrow."""
    return Markup("<wbr>").join(re.split(r"(?<=[_(=,])", label))
