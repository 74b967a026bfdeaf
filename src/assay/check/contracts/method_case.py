"""A method at a site, set up for its contracts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

from torch import Tensor

from assay.check.contracts.fault import Fault, Unanswered
from assay.check.instruments.budgets import budgets, metered
from assay.check.instruments.process_state import process_state_restored
from assay.check.instruments.sites import POOL, Site
from assay.core.errors import NotApplicable
from assay.core.machine import Machine
from assay.core.protocols import Fitted, Method
from assay.core.query import Query
from assay.core.question import Question
from assay.core.rng import Stream
from assay.engine.artifacts.answer import fit, make_query

PAIR = (0, 1)
CALLED_ROWS = {1: 8, 8: 16, 64: 64}  # by rows per call, how many rows must be called: several calls of each size


@dataclass(frozen=True, eq=False)
class MethodCase:
    """A method at a site."""

    target: str
    method: Method
    origin: Site
    _plain: dict[tuple[int, ...], Tensor | Exception] = field(default_factory=dict)  # shared by fresh cases

    @property
    def name(self) -> str:
        return f"{self.target} at {self.origin.name}"

    @cached_property
    def site(self) -> Site:
        """The site with a copy of its model, which only this case uses."""
        return self.origin.fresh()

    @cached_property
    def _fitted(self) -> dict[str, Tensor]:
        return self.fit(Machine())

    @property
    def fits(self) -> bool:
        return hasattr(self.method, "fit")

    def fresh(self) -> MethodCase:
        return replace(self)

    def precise(self) -> MethodCase:
        """The same case in float64."""
        return replace(self, origin=self.origin.precise(), _plain={})

    def fault(self, contract: Callable[..., object], message: str, witness: str = "") -> Fault:
        return Fault(contract.__name__, self.name, message, witness)

    def query(self, rows: Sequence[int], machine: Machine = Machine()) -> Query:
        """The site's own question, with the result of the method's ``fit`` if it has one."""
        query = make_query(self.site.setting, self.site.rows(rows), Question(), self._stream, machine)
        if not self.fits:
            return query
        fitted = self._fitted if machine == Machine() else self.fit(machine)
        return replace(query, fitted={name: tensor.clone() for name, tensor in fitted.items()})

    def fit(self, machine: Machine) -> dict[str, Tensor]:
        """The result of the method's ``fit``, computed anew; ``query`` computes it once per case."""
        return fit(cast(Fitted, self.method), self.site.setting, Question(), self._stream, machine)

    @property
    def _stream(self) -> Stream:
        return Stream("method", self.target, self.origin.name)

    def answer(self, rows: Sequence[int], machine: Machine = Machine()) -> Tensor:
        """The attribution; raises Unanswered if it is not a tensor with one row per sample."""
        result = self.method(self.query(rows, machine))
        if not isinstance(result, Tensor) or result.dim() == 0 or len(result) != len(rows):
            raise Unanswered
        return result.detach()

    def plain(self, rows: Sequence[int]) -> Tensor:
        """The answer that others are compared with; raises Unanswered in place of errors other than NotApplicable.

        Computed once for all contracts, on a model of its own.
        """
        known = tuple(rows)
        if known not in self._plain:
            with process_state_restored():
                try:
                    self._plain[known] = self.fresh().answer(rows).clone()
                except Exception as error:
                    self._plain[known] = error
        answer = self._plain[known]
        if isinstance(answer, NotApplicable):
            raise answer
        if isinstance(answer, Exception):
            raise Unanswered from answer
        return answer

    def budgets(self) -> dict[str, tuple[range, Machine]]:
        """Machines that take 1, 8 and 64 rows per call, and samples that need several such calls.

        Methods with many model rows per sample need only 2, 4 or 8 samples, which share a call of 8 rows evenly.
        """
        query = self.query(PAIR)
        footprint = query.footprint  # measured before the meter runs
        with metered(self.site.setting.model) as meter:
            self.method(query)
        per_sample = meter.rows / len(PAIR)
        fill = {
            rows: next((count for count in (2, 4, 8, 16) if count * per_sample >= wanted), POOL)
            for rows, wanted in CALLED_ROWS.items()
        }
        return {name: (range(fill[rows]), machine) for name, (rows, machine) in budgets(footprint, meter.kinds).items()}

    def reason(self) -> str:
        """Why the method does not apply at this site; empty if it does."""
        try:
            self.plain(PAIR)
        except NotApplicable as error:
            return str(error)
        return ""
