"""The page of metrics is written from the cards."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def test_the_page_of_metrics_is_what_the_cards_say() -> None:
    path = Path(__file__).parents[3] / "docs" / "make_metrics.py"
    found = spec_from_file_location("make_metrics", path)
    assert found is not None
    assert found.loader is not None
    made = module_from_spec(found)
    found.loader.exec_module(made)
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), "write it: python docs/make_metrics.py"
