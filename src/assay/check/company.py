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

CROWD = 72  # samples at least: more than usual batches hold


def every_sample(case: LadderCase) -> Iterator[Fault]:
    """Every sample is scored, by itself and whatever its place; one number for all depends on all, not on their order.

    Where there is one value per sample, it is the same alone, in company and in another order, and among many samples.
    """
    for rung in case.several:
        for attribution in (rung.exact, maps.random(rung.exact)):  # an error of exact maps is 0 in any company
            if fault := _in_company(case, rung, attribution):
                yield fault
                return
    mixed = [rung for rung in reversed(case.several) if len(rung.y.unique()) > 1 and len(rung) % 2]
    for rung in {rung.kind: rung for rung in mixed}.values():  # the smallest of each kind
        if fault := _in_a_crowd(case, rung):
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


def _in_a_crowd(case: LadderCase, rung: Rung) -> Fault | None:
    """An odd number of samples, of both classes, again and again: batches of even sizes begin with different ones.

    A batch size that can be told is that of the crowd: what smaller ones do is another contract's business.
    """
    times = -(-CROWD // len(rung))
    order = list(range(len(rung))) * times
    attribution = maps.random(rung.exact)
    plain = case.attempts(rung, attribution)
    crowd = case.attempts(rung.rows(order), attribution[order], len(order) if case.judge.batches else None)
    if not plain or not crowd or not plain[0].each:
        return None
    if not apart([_joined([answer] * times) for answer in plain], crowd, case.noisy):
        return None
    told = f"{plain[0]}, and {_first_other(plain[0], crowd[0])} among {len(order)}, in which they come {times} times"
    return case.fault(every_sample, "returned other numbers among many samples", rung.told(attribution, told))


def _first_other(plain: Answer, crowd: Answer) -> Answer:
    """The first of the crowd's answers about these samples that is not the plain one."""
    count = len(plain.values)
    parts = [slice(start, start + count) for start in range(0, len(crowd.values), count)]
    found = [Answer(crowd.values[part], True, crowd.defined[part]) for part in parts]
    return next((answer for answer in found if apart([plain], [answer], False)), crowd)


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
