"""The page: complete, safe, and readable from disk alone."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from assay.core.errors import StoreError
from assay.engine.store.store import Store
from assay.report.board import result
from assay.report.page import breakable, page, prose
from unit.report import made

VOID = {"meta", "img", "wbr", "br", "hr", "input", "link"}


class Outline(HTMLParser):
    """Tags in order, text, and what does not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.faults: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.stack or self.stack.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data: str) -> None:
        if self.stack and self.stack[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))


@pytest.fixture(scope="module")
def outline(html: str) -> Outline:
    return Outline(html)


def section(html: str, name: str) -> str:
    return html.split(f'<section id="{name}">')[1].split("</section>")[0]


def test_reporting_needs_no_torch() -> None:
    code = "import sys, assay.report.page, assay.report.pictures, assay.report.export; sys.exit('torch' in sys.modules)"
    environment = {"PYTHONPATH": ":".join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0


def test_the_page_loads_nothing_but_its_own_pictures(outline: Outline, html: str) -> None:
    loaded = [
        attrs[name] for tag, attrs in outline.tags for name in ("src", "srcset", "data", "poster") if name in attrs
    ]
    linked = [attrs["href"] for _, attrs in outline.tags if attrs.get("href")]
    assert loaded
    assert all(re.fullmatch(r"images/[\w-]+\.png", str(source)) for source in loaded)
    assert all(re.match(r"#|images/", str(target)) for target in linked)
    assert not {"link", "iframe", "object", "embed", "base"} & {tag for tag, _ in outline.tags}
    assert "@import" not in html
    assert "url(" not in html
    assert "http" not in re.sub(r"http-equiv", "", html)


def test_every_picture_exists_and_says_what_it_shows(outline: Outline, folder: Path) -> None:
    pictures = [attrs for tag, attrs in outline.tags if tag == "img"]
    first, rest = pictures[:4], pictures[4:]  # the first screen: input, truth, first and last map
    assert len(rest) == 3 * (2 + 4)  # samples x (input, truth, four methods with a map)
    assert {attrs["src"] for attrs in first} < {attrs["src"] for attrs in rest}
    assert all((folder / str(attrs["src"])).is_file() for attrs in pictures)
    assert all(attrs["alt"] for attrs in pictures)
    assert len({attrs["alt"] for attrs in rest}) == len(rest)


def test_every_drawing_has_a_name_for_those_who_cannot_see_it(outline: Outline) -> None:
    drawings = [attrs for tag, attrs in outline.tags if tag == "svg"]
    assert drawings
    assert all(attrs.get("aria-label") or attrs.get("aria-hidden") for attrs in drawings)


def test_every_link_inside_the_page_leads_somewhere(outline: Outline) -> None:
    ids = [attrs["id"] for _, attrs in outline.tags if "id" in attrs]
    links = {str(attrs["href"])[1:] for _, attrs in outline.tags if str(attrs.get("href", "")).startswith("#")}
    assert max(Counter(ids).values()) == 1
    assert links <= set(ids)


def test_hostile_labels_are_text_and_break_nothing(outline: Outline, html: str) -> None:
    assert outline.faults == []
    assert outline.stack == []
    for label in (made.TITLE, made.SHAPES, made.ROWS, *made.METHODS, *made.METRICS):
        assert re.sub(r"\s+", " ", label) in outline.text
        assert str(escape(label)).replace("&quot;", "&#34;").replace("&#x27;", "&#39;") in html
    assert "<img src=x" not in html
    assert "<u>" not in html
    assert not {"b", "u", "i"} & {tag for tag, _ in outline.tags}


def test_every_table_names_its_rows_and_columns(html: str) -> None:
    heads = re.findall(r"<th\b[^>]*>", html)
    assert heads
    assert all('scope="row"' in head or 'scope="col"' in head for head in heads)
    for table in re.findall(r"<table.*?</table>", html, re.DOTALL):
        assert "<thead>" in table


def test_every_score_stands_on_its_board_with_its_interval_or_both_values(html: str, store: Store) -> None:
    boards = re.split(r'<h3 id="board-\d+">', section(html, "boards"))[1:]
    for board, text in zip(result(store).boards, boards, strict=True):
        for line in board.lines:
            for cell in (cell for cell in line.cells.values() if cell.value is not None):
                assert f'<span class="value">{cell.value:.3f}</span>' in text
                assert {
                    "samples": lambda cell: f"[{cell.low:.3f}, {cell.high:.3f}]",
                    "two": lambda cell: f"({cell.per_seed[0]:.3f} | {cell.per_seed[1]:.3f})",
                    "equal": lambda cell: "",
                }[cell.basis](cell) in text


def test_below_each_board_stands_what_its_intervals_are_over(html: str) -> None:
    shapes, rows = re.split(r'<h3 id="board-\d+">', section(html, "boards"))[1:]
    for text in (shapes, rows):
        assert '<p class="note">95 % intervals over samples.</p>' in text
    assert ("both values, no interval" in rows, "both values, no interval" in shapes) == (True, False)
    assert ("equal in both seeds" in rows, "equal in both seeds" in shapes) == (True, False)
    assert "bootstrap" not in html


def test_the_best_of_each_column_is_bold_and_only_the_best(html: str) -> None:
    shapes = re.split(r'<h3 id="board-\d+">', section(html, "boards"))[1]
    best = [float(text) for text in re.findall(r'class="best".*?class="value">([\d.]+)<', shapes, re.DOTALL)]
    assert best == [0.811, 0.811, 0.311]  # lower is better for the last metric


def test_methods_that_tie_share_a_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(made.LEVEL, "grad_cam", made.LEVEL["gradient"])
    tied = Store.open(tmp_path / "tied", sync=False)
    made.Builder(tied).run()
    text = page(tied, tmp_path / "report").read_text(encoding="utf-8")
    shapes = re.split(r'<h3 id="board-\d+">', section(text, "boards"))[1]
    rows = re.findall(r"<tr[^>]*><th scope=.row.>.*?</tr>", shapes, re.DOTALL)
    f1 = [re.findall(r">#([^<]*)<", row)[:1] for row in rows]
    assert f1 == [["1 ="], ["1 ="], ["3"], ["4"], []]  # the last has failed
    assert [row.count('class="best"') for row in rows][:2] == [2, 2]


def test_intervals_of_a_column_are_drawn_on_one_scale(html: str) -> None:
    shapes = re.split(r'<h3 id="board-\d+">', section(html, "boards"))[1]
    drawn = re.findall(r'class="value">([\d.]+)<.*?<circle cx="([\d.]+)"', shapes, re.DOTALL)
    column = sorted((float(value), float(at)) for value, at in drawn[::3])  # every third cell is f1
    slopes = np.diff([at for _, at in column]) / np.diff([value for value, _ in column])
    assert len(column) == 4
    assert np.allclose(slopes, slopes[0], rtol=0.02)


def test_what_is_missing_is_shown_in_its_cell_and_explained(html: str, outline: Outline) -> None:
    boards, missing = section(html, "boards"), section(html, "missing")
    assert boards.count(">failed</a>") == 2 * 3
    assert boards.count(">skipped</a>") == 3
    assert str(escape("ValueError: NaN & <worse>")) in missing
    assert "needs a convolutional layer" in missing
    assert f"<pre>{escape('Traceback: File', quote=False)}" in missing
    assert "6 cells failed" in outline.text
    assert "21 of 30 scores are known, 6 failed and 3 skipped" in outline.text


def test_a_value_travels_with_the_number_of_samples_it_rests_on(html: str) -> None:
    assert section(html, "boards").count(">4/6</span>") == 4 + 3  # sensitivity_n, for methods that have a score
    assert "4 of 6 samples" in section(html, "missing")


def test_a_mean_rank_is_given_only_where_every_score_is_known(html: str) -> None:
    rows = re.findall(r"<tr.*?</tr>", section(html, "boards"), re.DOTALL)
    bad = [row for row in rows if "my_<wbr>pkg:Bad" in row]
    assert len(bad) == 2
    assert all('<td class="narrow" data-key="">' in row for row in bad)
    assert sum('<td class="narrow" data-key="">' in row for row in rows) == 3


def test_verdicts_say_refuted_or_not_refuted_and_nothing_more(html: str) -> None:
    text = Outline(section(html, "tests")).text
    assert f"{made.IG} refuted by {made.ROWS} and {made.SHAPES}" in text
    assert "gradient not refuted" in text
    assert "grad_cam not refuted (tested in 1 of 2)" in text
    assert "my_pkg:Bad not tested" in text
    assert not re.search(r"\bfaithful\b", text)


def test_controls_are_marked_and_stay_on_the_board(html: str) -> None:
    rows = re.findall(r'<tr class="control-row">.*?</tr>', section(html, "boards"), re.DOTALL)
    assert len(rows) == 2
    assert all("random_<wbr>map" in row and ">control<" in row for row in rows)


def test_a_method_that_does_not_beat_a_control_is_named(html: str) -> None:
    text = Outline(section(html, "boards")).text
    assert f"f1 ↑: {made.IG} (the control random_map scores 0.411)" in text
    assert "accuracy_lost ↓: gradient and grad_cam (the control" in text.replace(
        "grad_cam and gradient", "gradient and grad_cam"
    )


def test_a_point_that_is_defined_on_no_sample_is_not_drawn(html: str) -> None:
    lines = re.findall(r'<polyline class="(?:c\d|control)"[^>]*points="([^"]+)"><title>', section(html, "curves"))
    assert len(lines) == 4 + 3
    assert {len(points.split()) for points in lines} == {2}


def test_cost_leaves_out_the_first_block_of_a_process(html: str) -> None:
    text = Outline(section(html, "cost")).text
    # blocks of 2 samples: 0.5 s after the first one, which took 9 s; the first process second is gradient's, seed 0
    assert re.search(r"gradient 250 ms 250 ms to 4.5 s, 3 blocks", text)
    assert "†" not in text.split("only first blocks were measured.")[1]


def test_cost_says_so_when_only_first_blocks_were_measured(fresh: Store, tmp_path: Path) -> None:
    for trial in fresh.records("trial"):
        fresh.put(replace(trial, origin={**trial.origin, "time": "2026-01-01T00:00:00+00:00"}))
    text = Outline(section(page(fresh, tmp_path / "r").read_text(), "cost")).text
    assert text.split("only first blocks were measured.")[1].count("†") == 4 + 3


def test_the_completeness_gap_stands_beside_the_scores_of_methods_that_promise(html: str) -> None:
    cells = re.findall(r'<td class="gap num" data-key="([^"]*)">(.*?)</td>', section(html, "boards"), re.DOTALL)
    assert [text for key, text in cells if key] == ["2 %", "2 %"]  # 0.08 of 4, in both environments
    assert sum(not key for key, _ in cells) == len(cells) - 2  # the others promise nothing


def test_components_come_with_their_text_and_parameters_as_used(html: str) -> None:
    card = re.search(r'<details id="methods-1">.*?</details>', html, re.DOTALL)
    assert card
    text = Outline(card[0]).text
    assert "integrated_gradients(steps=8)" in text
    assert "baseline true" in text
    assert "Uses a < b & more." in text
    assert "steps8 changed 64" in text


def test_provenance_names_run_command_versions_and_store(html: str, folder: Path, store: Store) -> None:
    text = Outline(section(html, "provenance")).text
    assert "20260101-run" in text
    assert "assay run 'a file.toml'" in text
    assert "torch2.9.0" in text.replace(" ", "")
    assert "32 MB" in text
    relative = re.search(r"store(\S+) from", text.replace("store ", "store"))
    assert relative
    assert (folder / relative[1]).resolve() == store.root.resolve()


def test_results_of_different_versions_are_flagged(html: str, tmp_path: Path) -> None:
    mixed = Store.open(tmp_path / "mixed", sync=False)
    made.Builder(mixed, lambda seed: {**made.VERSIONS, "torch": f"2.{seed}"}).run()
    assert "different versions" not in html
    text = Outline(page(mixed, tmp_path / "r").read_text()).text
    assert "Results of different versions of torch are mixed" in text
    assert "versions of assay-xai" not in text


def test_the_same_store_gives_the_same_page(store: Store, folder: Path, html: str) -> None:
    other = page(store, folder.parent / "again").parent
    assert (other / "index.html").read_text() == html
    files = sorted(path.name for path in (folder / "images").iterdir())
    assert files == sorted(path.name for path in (other / "images").iterdir())
    assert all((folder / "images" / name).read_bytes() == (other / "images" / name).read_bytes() for name in files)


def test_a_gallery_that_lost_its_arrays_says_why_and_the_rest_is_there(fresh: Store, tmp_path: Path) -> None:
    samples = next(record for record in fresh.records("samples") if record.data["kind"] == "image")
    fresh.arrays.path(samples.arrays).unlink()
    html = page(fresh, tmp_path / "r").read_text()
    assert "nothing to show" in section(html, "gallery")
    assert "is missing" in section(html, "gallery")
    assert "0.811" in section(html, "boards")


def test_a_table_is_shown_as_bars_with_the_names_of_its_features(html: str) -> None:
    tables = re.findall(r'<table class="features">.*?</table>', section(html, "gallery"), re.DOTALL)
    assert len(tables) == 3
    assert "age &lt;" in tables[0]
    assert tables[0].count("<rect") == 3 * (1 + 3)  # features x (truth, three methods); x has two entries for b
    assert "needs a convolutional layer" in tables[0]


def test_a_store_without_a_finished_run_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no finished run"):
        page(Store.open(tmp_path / "empty", sync=False), tmp_path / "r")


def test_docstrings_become_paragraphs_with_code_and_nothing_else() -> None:
    assert prose("One ``a<b``\ntwo.\n\n<b>x</b>") == "<p>One <code>a&lt;b</code>\ntwo.</p><p>&lt;b&gt;x&lt;/b&gt;</p>"
    assert breakable("a_b(<i>") == "a_<wbr>b(<wbr>&lt;i&gt;"


def test_an_environment_without_metrics_and_a_study_without_tests_are_reported(fresh: Store, tmp_path: Path) -> None:
    run = fresh.records("run")[0]
    rows = [row for row in run.data["rows"] if row["environment"] == made.SHAPES]
    trials = [{**t, "evidence": t["evidence"] if t["environment"] == made.SHAPES else {}} for t in run.data["trials"]]
    study = {**run.data["study"], "faithfulness": []}
    fresh.put(replace(run, data={**run.data, "rows": rows, "trials": trials, "gallery": [], "study": study}))
    outline = Outline(page(fresh, tmp_path / "r").read_text())
    assert made.ROWS in outline.text
    assert not {"tests", "gallery"} & {attrs.get("id") for _, attrs in outline.tags}
    assert outline.faults == []
