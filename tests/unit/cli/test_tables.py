"""Numbers on the terminal are the numbers of the result."""

from __future__ import annotations

import pytest

from assay.cli.tables import _short


@pytest.mark.parametrize(
    "value, text",
    [(0.5, ".500"), (-0.25, "-.250"), (1.25, "1.250"), (10.555, "10.555"), (-10.5, "-10.500"), (100.0, "100.000")],
)
def test_only_a_leading_nought_is_left_out(value: float, text: str) -> None:
    assert _short(value) == text
    assert float(_short(value)) == value
