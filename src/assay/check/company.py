"""Is every sample scored, and by itself?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch import Tensor

from assay.check import maps
from assay.check.fault import Fault
from assay.check.judges import Answer
from assay.check.ladder_case import LadderCase, apart
from assay.check.rungs import Rung


def every_sample(case: LadderCase) -> Iterator[Fault]:
    """Every sample is scored, by itself and whatever its place; one number for all depends on all, not on their order.

    Where there is one value per sample, it is the same alone, in company and in another order.
    """
    for rung in case.several:
        for attribution in (rung.exact, maps.random(rung.exact)):  # an error of exact maps is 0 in any company
            if fault := _in_company(case, rung, attribution):
                yield fault
                return
    yield from _forgotten(case)


def _in_company(case: LadderCase, rung: Rung, attribution: Tensor) -> Fault | None:
    order = list(reversed(range(len(rung))))
    plain, moved = case.attempts(rung, attribution), case.attempts(rung.rows(order), attribution[order])
    if not plain or not moved:
        return None  # it stops there: another contract's business
    if plain[0].each:
        moved = [_rows(answer, order) for answer in moved]
    if apart(plain, moved, case.noisy):
        told = f"{plain[0]}, and {moved[0]} in reverse order, put back"
        return case.fault(every_sample, "returned other numbers in another order", rung.told(attribution, told))
    if plain[0].each:
        alone = [case.attempts(rung.rows([row]), attribution[[row]]) for row in range(len(rung))]
        if all(alone) and apart(plain, [_joined(parts) for parts in zip(*alone, strict=True)], case.noisy):
            told = f"{plain[0]}, and one by one {', '.join(str(parts[0]) for parts in alone)}"
            return case.fault(every_sample, "returned other numbers for samples alone", rung.told(attribution, told))
    return None


def _forgotten(case: LadderCase) -> Iterator[Fault]:
    """A number for all samples that notices when all maps are wrong, and never when one sample's map is."""
    for row in (-1, 0):
        rungs = [rung for rung in case.several if not case.ask(rung, rung.exact).each]
        noticed = [rung for rung in rungs if _notices(case, rung, -rung.exact)]
        blind = [rung for rung in noticed if not _notices(case, rung, _spoiled(rung, row))]
        if noticed and blind == noticed:
            which = "last" if row else "first"
            told = f"{case.ask(blind[0], blind[0].exact)} whatever the map of the {which} sample"
            yield case.fault(every_sample, f"does not score the {which} sample", blind[0].told(blind[0].exact, told))
            return


def _notices(case: LadderCase, rung: Rung, attribution: Tensor) -> bool:
    found = case.attempts(rung, attribution)
    return bool(found) and apart(case.draws(rung, rung.exact), found, case.noisy)


def _spoiled(rung: Rung, row: int) -> Tensor:
    attribution = rung.exact.clone()
    attribution[row] *= -1
    return attribution


def _rows(answer: Answer, order: Sequence[int]) -> Answer:
    back = np.argsort(order)
    return Answer(answer.values[back], answer.each, answer.defined[back])


def _joined(parts: Sequence[Answer]) -> Answer:
    values = np.concatenate([part.values for part in parts])
    return Answer(values, True, np.concatenate([part.defined for part in parts]))
