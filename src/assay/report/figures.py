"""The pictures of a run as files: every chart of its page as an SVG, and a contact sheet of each gallery."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from pathlib import Path
from textwrap import wrap

from assay.core.records import Record
from assay.engine.store.files import write_atomically
from assay.engine.store.protocol import RunStore
from assay.report.charts import Chart, Stroke
from assay.report.cost import costs
from assay.report.critical_differences import Diagram
from assay.report.curves import curve_panels, frontier_panels
from assay.report.family_bars import FamilyChart, family_panels
from assay.report.leaderboard import leaderboards
from assay.report.loaded_run import LoadedRun, load_run
from assay.report.page import templates
from assay.report.pictures import gallery_sheets
from assay.report.scatter import agreement_sections
from assay.report.slope_charts import SlopeChart, slope_sections
from assay.report.sweep_charts import LETTER, SweepChart, sweep_panels
from assay.report.text import slug
from assay.report.violins import Violins, violin_panels

LINE = 16  # pixels from one line of text to the next


@dataclass(frozen=True)
class Entry:
    """An entry of a legend; without a stroke, a sentence."""

    text: str
    stroke: Stroke | None = None
    mark: str = "line"  # or dot, level


@dataclass(frozen=True)
class LegendRow:
    """One line of text below a chart. The first one of an entry has its stroke."""

    text: str
    y: float
    stroke: Stroke | None
    mark: str
    indented: bool


@dataclass(frozen=True)
class Figure:
    """A chart with its title above and its legend below."""

    section: str  # of the page; its file begins with it
    drawing: str  # the macro of templates/charts.html.j2 that draws it
    title: str
    chart: Chart | SweepChart | Violins | Diagram | FamilyChart | SlopeChart
    entries: tuple[Entry, ...]

    @property
    def heading(self) -> list[str]:
        return wrap(self.title, self.chart.width // LETTER)

    @property
    def top(self) -> int:
        return LINE * len(self.heading) + 8

    @property
    def legend_rows(self) -> list[LegendRow]:
        rows: list[LegendRow] = []
        for entry in self.entries:
            indent = bool(entry.stroke)
            for number, text in enumerate(wrap(entry.text, self.chart.width // LETTER - 8 * indent)):
                y = self.top + self.chart.height + LINE * (len(rows) + 1)
                rows.append(LegendRow(text, y, entry.stroke if number == 0 else None, entry.mark, indent))
        return rows

    @property
    def height(self) -> int:
        return self.top + self.chart.height + LINE * len(self.legend_rows) + 10


def figures(store: RunStore, folder: Path, run: Record | None = None) -> list[Path]:
    """Write the pictures of a run, by default the latest, into a folder; returns their paths."""
    loaded = load_run(store, run)
    folder.mkdir(parents=True, exist_ok=True)
    return [*gallery_sheets(loaded, folder), *_write_charts(loaded, folder)]


def _write_charts(loaded: LoadedRun, folder: Path) -> Iterator[Path]:
    template, style = templates().get_template("figure.svg.j2"), svg_style()
    numbers: dict[str, int] = {}
    for figure in chart_figures(loaded):
        number = numbers[figure.section] = numbers.get(figure.section, 0) + 1
        path = folder / f"{figure.section}-{number:02d}-{slug(figure.title)}.svg"
        text = template.render(figure=figure, line=LINE, style=style)
        write_atomically(path, text.encode("utf-8", "backslashreplace"), sync=False)
        yield path


def svg_style() -> str:
    """The rules of style.css for SVG, with the colours of a light page. Few programs but browsers know variables."""
    css = files("assay.report").joinpath("templates/style.css").read_text(encoding="utf-8")
    colours = dict(re.findall(r"--([\w-]+): (#\w+);", css.partition("}")[0]))
    rules = [line for line in css.splitlines() if re.match(r"svg(\.chart)? [.a-z]", line)]
    return re.sub(r"var\(--([\w-]+)\)", lambda found: colours[found[1]], "\n".join(rules))


def chart_figures(loaded: LoadedRun) -> Iterator[Figure]:
    """Every chart of the page, in its order."""
    for panel in sweep_panels(loaded):
        for sweep in panel.charts:
            lines = [Entry(" = ".join(shape.labels), shape.stroke, _mark(shape.level)) for shape in sweep.shapes]
            gaps = [Entry(f"{sentence}.") for sentence in sweep.gaps]
            title = f"{panel.environment}: {sweep.title}"
            yield Figure("sweep", "failure_curves", title, sweep, (*lines, *gaps))
    for board in leaderboards(loaded):
        for diagram in board.diagrams:
            title = f"{board.environment.label}: {diagram.metric.label} {diagram.metric.arrow}"
            names = _whole_names((row.label, row.rank.method) for row in diagram.rows)
            yield Figure("differences", "mean_ranks", title, diagram, (Entry(f"{diagram.note}."), *names))
    for family_panel in family_panels(loaded):
        for bars in family_panel.charts:
            title = f"{family_panel.environment}: {bars.metric.label} {bars.metric.arrow}"
            names = _whole_names((bar.label, bar.method) for family in bars.families for bar in family.bars)
            yield Figure("families", "family_bars", title, bars, names)
    for section in agreement_sections(loaded):
        for chart in section.charts:
            yield Figure("agreement", "curves_and_dots", chart.title, chart, _legend(chart))
    for slope_section in slope_sections(loaded):
        for slopes in slope_section.charts:
            legend = (Entry(family, stroke) for family, stroke in slopes.families)
            names = _whole_names(dict.fromkeys((name.label, name.method) for name in slopes.names))
            yield Figure("slope", "slopes", slopes.title, slopes, (*legend, *names))
    for violin_panel in violin_panels(loaded):
        for violins in violin_panel.charts:
            title = f"{violin_panel.environment}: {violins.metric.label} {violins.metric.arrow}"
            names = _whole_names((row.label, row.method) for row in violins.rows)
            yield Figure("violins", "violins", title, violins, names)
    for curve_panel in curve_panels(loaded):
        for chart in curve_panel.charts:
            yield Figure(
                "curves", "curves_and_dots", f"{curve_panel.environment}: {chart.title}", chart, _legend(chart)
            )
    for chart in chain.from_iterable(panel.charts for panel in frontier_panels(loaded, costs(loaded))):
        yield Figure("cost", "curves_and_dots", chart.title, chart, _legend(chart))


def _mark(level: bool) -> str:
    return "level" if level else "line"


def _legend(chart: Chart) -> tuple[Entry, ...]:
    lines = (Entry(" = ".join(line.methods), line.stroke) for line in chart.lines)
    dots = (Entry(f"{number}  {dot.method}", dot.stroke, "dot") for number, dot in enumerate(chart.dots, 1))
    return (*lines, *dots)


def _whole_names(labels: Iterable[tuple[str, str]]) -> tuple[Entry, ...]:
    """Of methods whose labels were shortened."""
    return tuple(Entry(f"{label} is {name}.") for label, name in labels if label != name)
