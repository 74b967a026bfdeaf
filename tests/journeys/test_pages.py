"""The tables of README and of docs/experiments.md are those of the kept results."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import make_experiments
import make_readme
import pages
import pytest

PAGES = [*((make_readme, page) for page in make_readme.PAGES), (make_experiments, make_experiments.PAGE)]


@pytest.mark.parametrize("made, page", PAGES)
def test_every_table_is_made_from_what_is_kept(made: ModuleType, page: Path) -> None:
    assert made.written(page) == page.read_text(encoding="utf-8"), f"python docs/{made.__name__}.py"


@pytest.mark.parametrize("made, page", PAGES)
def test_a_changed_number_in_each_table_is_noticed(
    made: ModuleType, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = forged = page.read_text(encoding="utf-8")
    for name in re.findall("<!-- (?!end)(.+?) -->", text):
        block = text.partition(f"<!-- {name} -->")[2].partition("<!-- end -->")[0]
        if number := re.search(r"\d\.\d+", block):
            forged = forged.replace(block, block.replace(number[0], "7.777", 1))
    assert forged.count("7.777") > 0
    copy = tmp_path / page.name
    copy.write_text(forged, encoding="utf-8")
    if made is make_readme:
        monkeypatch.setitem(make_readme.PAGES, copy, make_readme.PAGES[page])
    assert made.written(copy) == text


def test_no_row_of_the_demo_has_a_large_gap_without_a_mark() -> None:
    for board in pages.kept("demo")["boards"]:
        assert all((line["gap"] or 0) <= 0.1 or line["gap_mark"] for line in board["methods"].values())
