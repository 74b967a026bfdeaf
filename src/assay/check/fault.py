"""Contracts: promises that every component of a kind keeps, and the faults that are found where one is broken.

A contract is a function that takes a case (a component and where it is tried) and yields faults; none means that the
promise is kept. Its name is the contract's name, its docstring says what is promised and why.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

from assay.check.surroundings import undisturbed
from assay.core.errors import NotApplicable


@dataclass(frozen=True)
class Fault:
    """A broken promise."""

    contract: str
    target: str  # the component, and where it was tried
    message: str
    witness: str = ""  # what shows it: a sample, a layer, the last lines of a traceback

    def __str__(self) -> str:
        shown = f" ({self.witness})" if self.witness else ""
        return f"{self.contract}: {self.target} {self.message}{shown}"


class Unanswered(Exception):
    """There is nothing to check here; the contract about answers says why."""


class Case(Protocol):
    """A component and where it is tried."""

    @property
    def name(self) -> str: ...

    def fresh(self) -> Self:
        """The same case on copies: what one contract's trial leaves behind does not reach the next."""


C = TypeVar("C", bound=Case)
Contract = Callable[[C], Iterator[Fault]]


@dataclass(frozen=True)
class Finding:
    """What became of one contract: kept, broken, or nothing to check."""

    contract: str
    promise: str  # the first sentence of its docstring
    faults: tuple[Fault, ...] = ()
    reason: str = ""  # why it does not apply

    @property
    def status(self) -> str:
        return "fault" if self.faults else "not applicable" if self.reason else "pass"


def examine(case: C, contracts: Sequence[Contract[C]]) -> list[Fault]:
    """Everything that is wrong with a case."""
    return [fault for contract in contracts for fault in find(case, contract).faults]


def find(case: C, contract: Contract[C]) -> Finding:
    """One contract, tried on copies."""
    name, promise = contract.__name__, str(contract.__doc__).partition("\n")[0]
    with undisturbed():
        try:
            return Finding(name, promise, tuple(contract(case.fresh())))
        except (NotApplicable, Unanswered) as error:
            return Finding(name, promise, reason=str(error) or "there is no answer to check")
        except Exception as error:
            place = "".join(traceback.format_tb(error.__traceback__)[-2:]).strip()
            fault = Fault(name, case.name, f"stopped with {type(error).__name__}: {error}", place)
            return Finding(name, promise, (fault,))
