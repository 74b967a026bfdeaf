"""What a metric must refuse. Mutants are judged by ordinary exceptions, and that of ``pytest.raises`` is none."""

from __future__ import annotations

from collections.abc import Callable


def refuses(error: type[Exception], words: str, ask: Callable[[], object]) -> None:
    """AssertionError unless ``ask`` raises the error, and says these words."""
    said = None
    try:
        ask()
    except error as told:
        said = str(told)
    assert said is not None, f"no {error.__name__}"
    assert words in said
