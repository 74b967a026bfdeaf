"""The tables of README and of docs/experiments.md are those of the kept results."""

from __future__ import annotations

import re
from types import ModuleType

import make_experiments
import make_readme
import pages
import pytest

PAGES = [make_readme, make_experiments]


@pytest.mark.parametrize("made", PAGES)
def test_every_table_is_made_from_what_is_kept(made: ModuleType) -> None:
    text = made.PAGE.read_text(encoding="utf-8")
    assert made.written(text) == text, f"python docs/{made.__name__}.py"


@pytest.mark.parametrize("made", PAGES)
def test_a_changed_number_in_each_table_is_noticed(made: ModuleType) -> None:
    text = forged = made.PAGE.read_text(encoding="utf-8")
    for name in re.findall("<!-- (?!end)(.+?) -->", text):
        block = text.partition(f"<!-- {name} -->")[2].partition("<!-- end -->")[0]
        if number := re.search(r"0\.\d\d\d", block):
            forged = forged.replace(block, block.replace(number[0], "7.777", 1))
    assert forged.count("7.777") > 1
    assert made.written(forged) == text


def test_no_row_of_the_demo_has_a_large_gap_without_a_mark() -> None:
    for board in pages.kept("demo")["boards"]:
        assert all((line["gap"] or 0) <= 0.1 or line["gap_mark"] for line in board["methods"].values())
