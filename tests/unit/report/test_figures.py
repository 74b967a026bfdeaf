"""Charts as files: every chart of the page, complete in itself."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay.engine.store.store import Store
from assay.report.axes import Axis
from assay.report.charts import Chart, Stroke
from assay.report.figures import Entry, Figure, figures, svg_style
from unit.report import made

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def paths(store: Store, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return figures(store, tmp_path_factory.mktemp("figures") / "new")


def texts(path: Path) -> list[str]:
    root = ElementTree.parse(path).getroot()
    assert root.tag == f"{SVG}svg"
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def test_every_chart_of_the_page_has_a_file_and_every_gallery(paths: list[Path], html: str) -> None:
    drawn = [path for path in paths if path.suffix == ".svg"]
    assert len(drawn) == html.count('<svg class="chart')
    assert {path.name.partition("-")[0] for path in paths} == {"gallery", "violins", "curves", "cost"}
    assert all(path.stat().st_size for path in paths)


def test_a_file_names_its_environment_its_metric_and_all_methods_unharmed(paths: list[Path]) -> None:
    curves, violins = (next(path for path in paths if path.name.startswith(name)) for name in ("curves", "violins"))
    assert {f"{made.SHAPES}: sensitivity_n ↑", "gradient", made.IG, "random_map", "grad_cam"} <= set(texts(curves))
    assert {f"{made.SHAPES}: f1 ↑", "gradient", made.IG, "random_map", "grad_cam"} <= set(texts(violins))


def test_the_style_has_every_class_that_is_drawn_and_no_variable(paths: list[Path]) -> None:
    style = svg_style()
    assert "var(" not in style
    assert style.count("{") == style.count("}")
    drawn = {name for path in paths if path.suffix == ".svg" for name in re.findall('class="(.*?)"', path.read_text())}
    assert {word for name in drawn for word in name.split()} - {"chart"} <= set(re.findall(r"\.([\w-]+)", style))


def test_long_legends_are_wrapped_inside_the_picture() -> None:
    chart = Chart("t", Axis(0, 1, 0, 100), Axis(0, 1, 0, 100), "x", "y")
    entries = (Entry("many words " * 20, Stroke("c0", "")), Entry("a sentence."))
    figure = Figure("curves", "curves_and_dots", "a long title " * 10, chart, entries)
    assert len(figure.heading) == 2
    *wrapped, last = figure.legend_rows
    assert [bool(row.stroke) for row in wrapped] == [True, False, False, False]
    assert not last.indented
    assert figure.top + chart.height < wrapped[0].y < last.y < figure.height
