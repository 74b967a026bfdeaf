"""Contracts: promises that every component of a kind keeps, and the faults of those that do not.

A contract is a function that takes a case (a component and where it is tried) and yields faults; without any, it is
kept. The function's name is the contract's name; its docstring states the promise and the reason for it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

from assay.check.instruments.process_state import process_state_restored
from assay.core.errors import NotApplicable


@dataclass(frozen=True)
class Fault:
    """A broken promise."""

    contract: str
    target: str  # the component, and where it was tried
    message: str
    witness: str = ""  # what shows it: a sample, a layer, the last lines of a traceback

    def __str__(self) -> str:
        witness = f" ({self.witness})" if self.witness else ""
        return f"{self.contract}: {self.target} {self.message}{witness}"


class Unanswered(Exception):
    """There is no answer to check; the contract about answers reports the cause."""


class Case(Protocol):
    """A component and where it is tried."""

    @property
    def name(self) -> str: ...

    def fresh(self) -> Self:
        """The same case on copies, so that side effects of one contract do not reach the next."""


C = TypeVar("C", bound=Case)
Contract = Callable[[C], Iterator[Fault]]


@dataclass(frozen=True)
class Finding:
    """The result of one contract: kept, broken, or not applicable."""

    contract: str
    promise: str  # the first sentence of its docstring
    faults: tuple[Fault, ...] = ()
    reason: str = ""  # why it does not apply

    @property
    def status(self) -> str:
        return "fault" if self.faults else "not applicable" if self.reason else "pass"


def examine(case: C, contracts: Sequence[Contract[C]]) -> list[Fault]:
    """All faults of a case."""
    return [fault for contract in contracts for fault in check_contract(case, contract).faults]


def check_contract(case: C, contract: Contract[C]) -> Finding:
    """Try one contract on a fresh copy of the case; an error in it is a fault."""
    name, promise = contract.__name__, str(contract.__doc__).partition("\n")[0]
    with process_state_restored():
        try:
            return Finding(name, promise, tuple(contract(case.fresh())))
        except (NotApplicable, Unanswered) as error:
            return Finding(name, promise, reason=str(error) or "there is no answer to check")
        except Exception as error:
            lines = "".join(traceback.format_tb(error.__traceback__)[-2:]).strip()
            fault = Fault(name, case.name, f"stopped with {type(error).__name__}: {error}", lines)
            return Finding(name, promise, (fault,))
