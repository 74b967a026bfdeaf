"""What can go wrong, said so that a reader knows what to do next."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class AssayError(Exception):
    """A mistake in what was asked: the command line prints it and exits with 2."""


class SpecError(AssayError):
    """A component spec that cannot be read or does not fit its component."""


class StudyError(AssayError):
    """Everything that is wrong with a study file, listed at once."""

    def __init__(self, where: str, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        lines = "\n".join(f"  - {problem}" for problem in self.problems)
        noun = "problem" if count == 1 else "problems"
        super().__init__(f"{where}: {count} {noun}\n{lines}")


class StoreError(AssayError):
    """A store that cannot be read, or is not a store."""


class NotApplicable(Exception):
    """An answer, not an accident: this component does not fit this setting, and why."""


class BadAttribution(Exception):
    """A method returned something that is not an attribution of its input."""


def suggest(name: str, known: Iterable[str]) -> str:
    """``" Did you mean 'x'?"`` or the empty string; a name in a folder is meant by its last part, too."""
    names = list(known)
    close = [one for one in names if one.endswith(f"/{name}")] or get_close_matches(name, names, n=1, cutoff=0.6)
    return f" Did you mean '{close[0]}'?" if close else ""
