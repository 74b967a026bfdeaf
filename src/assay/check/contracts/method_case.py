"""A method at a site, set up for its contracts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from torch import Tensor

from assay.artifacts.answer import fit, make_query
from assay.check.contracts.fault import Fault, Unanswered
from assay.check.instruments.budgets import ROWS, budgets, metered
from assay.check.instruments.sites import POOL, Site
from assay.core.errors import NotApplicable
from assay.core.machine import Machine
from assay.core.protocols import Fitted, Method
from assay.core.query import Query
from assay.core.question import Question
from assay.core.rng import Stream

PAIR = (0, 1)


@dataclass(frozen=True, eq=False)
class MethodCase:
    """A method at a site."""

    target: str
    method: Method
    site: Site

    @property
    def name(self) -> str:
        return f"{self.target} at {self.site.name}"

    @property
    def fits(self) -> bool:
        return hasattr(self.method, "fit")

    def fresh(self) -> MethodCase:
        return replace(self, site=self.site.fresh())

    def fault(self, contract: Callable[..., object], message: str, witness: str = "") -> Fault:
        return Fault(contract.__name__, self.name, message, witness)

    def query(self, rows: Sequence[int], machine: Machine = Machine()) -> Query:
        """The site's own question, with the result of the method's ``fit`` if it has one."""
        stream = Stream("method", self.target, self.site.name)
        query = make_query(self.site.setting, self.site.rows(rows), Question(), stream, machine)
        if not self.fits:
            return query
        method = cast(Fitted, self.method)
        return replace(query, fitted=fit(method, self.site.setting, Question(), stream, machine))

    def answer(self, rows: Sequence[int], machine: Machine = Machine()) -> Tensor:
        """The attribution; raises Unanswered if it is not a tensor with one row per sample."""
        result = self.method(self.query(rows, machine))
        if not isinstance(result, Tensor) or result.dim() == 0 or len(result) != len(rows):
            raise Unanswered
        return result.detach()

    def plain(self, rows: Sequence[int]) -> Tensor:
        """The answer that others are compared with; raises Unanswered in place of errors other than NotApplicable."""
        try:
            return self.answer(rows)
        except NotApplicable:
            raise
        except Exception as error:
            raise Unanswered from error

    def budgets(self) -> tuple[range, dict[str, Machine]]:
        """Machines that take 1, 8 and 64 rows per call, and enough samples to fill calls of 64 rows.

        Methods with many model rows per sample need only 2, 4 or 8 samples, which share a call of 8 rows evenly.
        """
        query = self.query(PAIR)
        footprint = query.footprint  # measured before the meter runs
        with metered(self.site.setting.model) as meter:
            self.method(query)
        per_sample = meter.rows / len(PAIR)
        count = next((count for count in (2, 4, 8) if count * per_sample >= max(ROWS)), POOL)
        return range(count), budgets(footprint, meter.kinds)

    def reason(self) -> str:
        """Why the method does not apply at this site; empty if it does."""
        try:
            self.fresh().answer(PAIR)
        except NotApplicable as error:
            return str(error)
        return ""
