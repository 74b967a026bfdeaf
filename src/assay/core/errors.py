"""Exceptions; every message says what is wrong and what to do next."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from assay.core.records import printable

MOST_PROBLEMS = 20  # that a message lists
LONGEST_PROBLEM = 500  # characters


class AssayError(Exception):
    """A user's mistake. The command line prints the message and exits with code 2."""


class SpecError(AssayError):
    """A component spec that cannot be read or does not fit its component."""


class StudyError(AssayError):
    """All problems of a study file, listed at once."""

    def __init__(self, source: str, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        listed = [printable(problem, LONGEST_PROBLEM) for problem in self.problems[:MOST_PROBLEMS]]
        listed += [f"and {count - MOST_PROBLEMS} more"] if count > MOST_PROBLEMS else []
        lines = "\n".join(f"  - {problem}" for problem in listed)
        noun = "problem" if count == 1 else "problems"
        super().__init__(f"{source}: {count} {noun}\n{lines}")


class StoreError(AssayError):
    """A store that cannot be read, or is not a store."""


class NotApplicable(Exception):
    """The component does not apply to this setting; the message says why. An answer, not a failure."""


class BadAttribution(Exception):
    """A method returned something that is not an attribution of its input."""


def suggest(name: str, candidates: Iterable[str]) -> str:
    """``" Did you mean 'x'?"``, or the empty string. The last part of ``folder/name`` matches, too."""
    if len(name) > 100:  # a comparison takes time
        return ""
    names = list(candidates)
    close = [full for full in names if full.endswith(f"/{name}")] or get_close_matches(name, names, n=1, cutoff=0.6)
    return f" Did you mean '{close[0]}'?" if close else ""
