"""What a metric promises on linear models, where exact attributions are known; faults have their smallest witness."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
from torch import Tensor

from assay.check import maps
from assay.check.company import every_sample
from assay.check.fault import Fault
from assay.check.judges import Answer, ForeignJudge
from assay.check.ladder_case import LadderCase, apart, asked_again, close
from assay.check.literal import literal
from assay.check.preference import best_on_linear, direction_on_linear, exact_on_linear
from assay.check.rungs import Rung
from assay.core.errors import NotApplicable

MANY = 8  # numbers in a map: no order of theirs is right by chance


def answers_on_ladder(case: LadderCase) -> Iterator[Fault]:
    """Every rung gets numbers: tables and images, one channel and three, maps per channel and per pixel.

    So do maps of other signs: that a feature speaks against a class is no mistake.
    """
    seen: dict[str, Rung] = {}
    for rung, answer in case.tried:
        tries = [(rung.exact, answer)]
        if isinstance(answer, Answer):
            tries += [(other, case.attempt(rung, other)) for other in (-rung.exact, maps.random(rung.exact))]
        for attribution, found in tries:
            if isinstance(found, Exception) and not isinstance(found, NotApplicable):
                kind = _without_numbers(what := said(found))
                if kind not in seen or _other_map(seen[kind], rung):
                    seen[kind] = rung
                    yield case.fault(answers_on_ladder, f"raised {what}", rung.told(attribution))


def _other_map(first: Rung, rung: Rung) -> bool:
    """The same images, now with a map per pixel: where channels are the trouble, both are told."""
    return rung.per_pixel and not first.per_pixel and first.weights.shape == rung.weights.shape


def finite_on_ladder(case: LadderCase) -> Iterator[Fault]:
    """Exact attributions of a linear model are judged with finite numbers, or the value is said to be undefined."""
    for rung in case.answered:
        answer = case.ask(rung, rung.exact)
        if not np.isfinite(answer.values[answer.defined]).all():
            yield case.fault(finite_on_ladder, "returned NaN or infinite values", rung.told(rung.exact, answer))
            return


def batch_size(case: LadderCase) -> Iterator[Fault]:
    """The batch size is no hyper-parameter: 1, 2 or all samples at a time give the same numbers."""
    if not case.judge.batches:
        raise NotApplicable("its call takes no batch size")
    raised = differed = False
    for rung in case.several:
        for attribution in (rung.exact, maps.half_negated(rung.exact)):
            for size in (1, 2)[: len(rung) - 1]:
                found = _cut(case, rung, attribution, size)
                if isinstance(found, Exception) and not raised:
                    message = f"raised {said(found)} with batch_size={size}"
                    yield case.fault(batch_size, message, rung.told(attribution))
                    raised = True
                elif isinstance(found, tuple) and not differed:
                    yield _differs(case, rung, attribution, size)
                    differed = True


Cut = tuple[list[Answer], list[Answer]]


def _cut(case: LadderCase, rung: Rung, attribution: Tensor, size: int) -> Cut | Exception | None:
    """Answers with all samples at a time and with ``size``, where these differ; or what the latter raised."""
    whole = case.attempts(rung, attribution, len(rung))
    try:
        found = case.draws(rung, attribution, size) if whole else []
    except Exception as error:
        return error
    return (whole, found) if found and apart(whole, found, case.noisy) else None


def _differs(case: LadderCase, rung: Rung, attribution: Tensor, size: int) -> Fault:
    """With as few of the samples as show it."""
    for count in range(size + 1, len(rung) + 1):
        part, some = rung.rows(range(count)), attribution[:count]
        if isinstance(cut := _cut(case, part, some, size), tuple):
            break
    whole, found = cut  # type: ignore[misc]
    told = f"{found[0]} with batch_size={size} and {whole[0]} with batch_size={len(part)}"
    return case.fault(batch_size, _blame(case, part, some, size, found), part.told(some, told))


def _blame(case: LadderCase, rung: Rung, attribution: Tensor, size: int, found: list[Answer]) -> str:
    """Whether it is the score of the first batch, in place of all."""
    alone = case.attempts(rung.rows(range(size)), attribution[:size])
    first = alone and not alone[0].each and not apart(alone, found, case.noisy)
    if first and np.isfinite(found[0].values).all():
        return f"scored the first batch only with batch_size={size}"
    return f"returned other numbers with batch_size={size}"


def no_memory(case: LadderCase) -> Iterator[Fault]:
    """What was judged before changes nothing: an instance is used for many models and many sizes."""
    for rung in case.answered:
        plain = case.draws(rung, rung.exact)
        for before in _of_other_sizes(case, rung):
            try:
                after = case.draws_after(before, rung)
            except NotApplicable:
                raise
            except Exception as error:
                message = f"raised {said(error)}, having judged {before.name}"
                yield case.fault(no_memory, message, rung.told(rung.exact))
                return
            if apart(plain, after, case.noisy):
                told = f"{plain[0]}, and {after[0]} having judged {before.name}"
                yield case.fault(no_memory, "returned other numbers when used again", rung.told(rung.exact, told))
                return


def model_as_it_was(case: LadderCase) -> Iterator[Fault]:
    """The model is given back as it was: weights, mode, hooks. Others are judged on it next."""
    if not isinstance(case.judge, ForeignJudge):
        raise NotApplicable("is asked about trials: sites tell")
    for rung in case.answered:
        if found := case.judge.changes(rung):
            yield case.fault(model_as_it_was, f"left the model changed: {', '.join(found)}", rung.told(rung.exact))
            return


def _of_other_sizes(case: LadderCase, rung: Rung) -> list[Rung]:
    """The smallest and the largest rung of its kind, where these are of another size."""
    alike = [other for other in case.answered if other.kind == rung.kind]
    return [other for other in (alike[0], alike[-1]) if other.weights.shape != rung.weights.shape]


@asked_again
def invariances(case: LadderCase) -> Iterator[Fault]:
    """What is declared not to matter does not: the scale of a map, a shift, everything but its order."""
    if not case.promises.invariant:
        raise NotApplicable("declares no invariance so: give --invariant scale, shift or monotone")
    for kind in case.promises.invariant:
        found = next(_differing(case, kind), None)
        if found is not None:
            yield found


def _differing(case: LadderCase, kind: str) -> Iterator[Fault]:
    # A metric may add up channels: what keeps their order need not keep the order of their sums.
    for rung in (one for one in case.answered if kind == "scale" or one.exact[0].numel() == prod(one.features.shape)):
        for start in (rung.exact, maps.random(rung.exact)):
            changed = maps.changed(start, kind)
            plain, *answers = case.attempts_at(rung, [start, *changed.values()])
            for name, found in zip(changed, answers, strict=True):
                if plain and found and apart(plain, found, case.noisy):
                    told = f"{plain[0]}, and {found[0]} for {name}"
                    yield case.fault(invariances, f"declares '{kind}' and is not invariant", rung.told(start, told))


def constant_maps(case: LadderCase) -> Iterator[Fault]:
    """Maps of equal numbers get a number, or the value is said to be undefined; they are worse than exact ones.

    The latter where there is an ideal and a direction, and where a map half of which is constant is worse, too: an
    axiom that says nothing about what is left out is content with zeros.
    """
    for name in ("zeros", "ones", "minus ones"):
        for rung in case.answered:
            attribution = maps.constant(rung.exact)[name]
            try:
                answer = case.ask(rung, attribution)
            except NotApplicable:
                continue
            except Exception as error:
                yield case.fault(constant_maps, f"raised {said(error)} for a map of {name}", rung.told(attribution))
                break
            if not np.isfinite(answer.values[answer.defined]).all():
                message = f"returned NaN or infinite values for a map of {name}"
                yield case.fault(constant_maps, message, rung.told(attribution, answer))
                break
    if case.promises.ideal is not None and case.promises.higher is not None:
        yield from _content(case)


def _content(case: LadderCase) -> Iterator[Fault]:
    """With a constant map. Among few features it may be right by chance; many show it, the smallest rung is told."""
    for name in ("zeros", "ones", "minus ones"):
        tried = [rung for rung in case.answered if rung.exact[0].numel() >= MANY]
        if any(_as_good(case, rung, name) and not _as_good(case, rung, name, half=True) for rung in tried):
            rung = next(rung for rung in case.answered if _as_good(case, rung, name))
            attribution = maps.constant(rung.exact)[name]
            told = f"{case.ask(rung, attribution)}, and {case.ask(rung, rung.exact)} for exact attributions"
            message = f"likes a map of {name} no less than exact attributions, which reach {case.promises.ideal:g}"
            yield case.fault(constant_maps, message, rung.told(attribution, told))
            return


def _as_good(case: LadderCase, rung: Rung, name: str, half: bool = False) -> bool:
    """True where no sample's constant map is worse than the exact one in any draw; False where nothing is defined."""
    flat = maps.constant(rung.exact)[name]
    found = case.attempts(rung, maps.half_constant(rung.exact, flat) if half else flat)
    if not found:
        return False
    plain = case.draws(rung, rung.exact)
    one, other = (case.direction * np.stack([answer.means for answer in side]) for side in (found, plain))
    known = np.stack([answer.defined for answer in (*found, *plain)]).all(axis=0)
    good = one.min(axis=0) >= other.max(axis=0) - close(other)
    return bool(known.any() and good[known].all())


def said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")


def _without_numbers(text: str) -> str:
    """Messages that differ in sizes only are one."""
    return "".join(letter for letter in text if not letter.isdigit())


CONTRACTS = (
    answers_on_ladder,
    finite_on_ladder,
    exact_on_linear,
    best_on_linear,
    direction_on_linear,
    batch_size,
    every_sample,
    no_memory,
    model_as_it_was,
    invariances,
    constant_maps,
    literal,
)
