"""What follows from a run: findings, by rules, each with the scores it rests on.

A rule writes nothing where the scores do not support it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import ceil
from typing import TYPE_CHECKING

from assay.core.evidence import Score
from assay.engine.store.protocol import RunStore
from assay.report.board_findings import Scene
from assay.report.components import Component, by_label
from assay.report.finding import Finding
from assay.report.missing import grouped_by_reason
from assay.report.sweep import run_sweep
from assay.report.text import counted, listed, number, percent
from assay.stats.faithfulness import Verdict
from assay.stats.ranks import ROUNDING

if TYPE_CHECKING:
    from assay.report.board import Result

LEFT_OUT = "Left out:"  # begins sentences of an evaluation's plan
ZERO = "0 everywhere"  # the note of maps that say nothing
REASONS = 3  # reasons for missing scores that are told


def findings(result: Result, store: RunStore) -> tuple[Finding, ...]:
    """What follows from a run, the most important first."""
    found = [Finding("answer", text) for answer in result.answers.values() for text in answer.results()]
    for verdicts in result.verdicts.values():
        found += _verdicts(verdicts, by_label(result.run, "methods"))
    found += (Finding("damage", sentence) for table in result.damages for sentence in table.sentences())
    if result.has_sweep:
        compared = (*_curves(result), *_agreements(result), *_slopes(result))
        return (*found, *compared, *_zeros(result), *_gaps(result), *_missing(result))
    scenes = [Scene.of(result, board, store) for board in result.boards if board.environment not in result.answers]
    for scene in scenes:
        found += [] if result.verdicts else scene.best()
    for scene in scenes:
        found += scene.against_truth()
    found += (*_agreements(result), *_slopes(result))
    for rule in (Scene.controls, Scene.inseparable):
        found += (finding for scene in scenes for finding in rule(scene))
    return (*found, *_left_out(result), *_zeros(result), *_gaps(result), *_missing(result))


# Faithfulness tests


def _verdicts(verdicts: Sequence[Verdict], methods: Mapping[str, Component]) -> Iterator[Finding]:
    """Which methods the truth refutes and by what; controls only where it does not refute them."""
    by_outcome: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if not methods[verdict.method].control:
            partly = verdict.outcome == "not refuted" and verdict.not_testable
            by_outcome.setdefault("not testable" if partly else verdict.outcome, []).append(verdict)
        elif verdict.outcome == "not refuted":
            by_outcome.setdefault("control", []).append(verdict)
    everywhere = {place for verdict in verdicts for place in verdict.tested_in}
    if passed := by_outcome.get("not refuted"):
        yield Finding("not refuted", _not_refuted(passed, everywhere), _worst(passed))
    elif verdicts:
        yield Finding("not refuted", "The truth refutes every method that could be tested, or leaves it undecided.")
    if refuted := by_outcome.get("refuted"):
        yield Finding("refuted", _refuted(refuted), tuple(one.refuting[0].score for one in refuted))
    for verdict in by_outcome.get("not testable", []):
        yield Finding("not testable", _not_testable(verdict), tuple(check.score for check in verdict.not_testable))
    for verdict in by_outcome.get("undecided", []):
        yield _undecided(verdict)
    if controls := by_outcome.get("control"):
        names = listed([verdict.method for verdict in controls])
        yield Finding(
            "controls", f"The test is too easy here: it does not refute {names}, which cannot know the model."
        )


def _not_refuted(passed: Sequence[Verdict], everywhere: set[str]) -> str:
    names = [verdict.method for verdict in passed]
    text = f"The truth does not refute {listed(names)}: at least {passed[0].gamma:g} in every check"
    partly = [f"{one.method} in {listed(one.tested_in)} only" for one in passed if set(one.tested_in) < everywhere]
    return f"{text} ({'; '.join(partly)})." if partly else f"{text}."


def _worst(verdicts: Iterable[Verdict]) -> tuple[Score, ...]:
    """The lowest check of each."""
    return tuple(min(one.measured, key=lambda check: check.value - check.check.floor).score for one in verdicts)


def _refuted(refuted: Sequence[Verdict]) -> str:
    """With the worst check of each method, environment by environment."""
    ordered = sorted(refuted, key=lambda one: one.refuting[0].environment)
    parts = []
    for environment, group in groupby(ordered, key=lambda one: one.refuting[0].environment):
        checks = [f"{one.method} ({one.refuting[0].check.metric} {number(one.refuting[0].value)})" for one in group]
        parts.append(f"{listed(checks)} in {environment}")
    return f"It refutes {'; '.join(parts)}."


def _not_testable(verdict: Verdict) -> str:
    checks = verdict.not_testable
    lowest = min(checks, key=lambda measured: measured.ceiling or 0.0)
    of_grid = f" of its {lowest.grid}" if lowest.grid else ""
    places = list(dict.fromkeys(check.environment for check in checks))
    text = f"{verdict.method} cannot be tested in {listed(places)}: the best map{of_grid} has {lowest.check.metric} "
    text += f"{number(lowest.ceiling or 0.0)}, and {lowest.check.floor:g} is asked for."
    tested = [place for place in verdict.tested_in if place not in places]
    return f"{text} It is not refuted in {listed(tested)}." if tested else text


def _undecided(verdict: Verdict) -> Finding:
    """With the number of draws that would decide, if the interval shrinks as it does with independent draws."""
    one = min(verdict.undecided, key=lambda check: check.value - check.check.floor)
    low, high = one.limits or (one.value, one.value)
    text = f"{verdict.method} is undecided: {one.check.metric} {number(one.value)} [{number(low)}, {number(high)}] in "
    text += f"{one.environment}, and {one.check.floor:g} lies between."
    half, distance, count = (high - low) / 2, abs(one.value - one.check.floor), one.draws_below[1]
    unit = "seed" if one.score.basis == "seeds" else "sample"
    if distance > 0 and half > distance:
        units = count if unit == "seed" else one.score.count
        text += f" About {counted(ceil(units * (half / distance) ** 2 - ROUNDING), unit)} would decide."
    return Finding("undecided", text, (one.score,))


# The whole run


def _curves(result: Result) -> Iterator[Finding]:
    """By the study's first metrics: methods whose score at the last value of the sweep is another than at the first."""
    sweep = run_sweep(result)
    first, last = sweep.texts[0], sweep.texts[-1]
    for table in sweep.tables:
        varied = [line for line in table.lines if not line.level]
        ends = [(line.label, line.cells[0], line.cells[-1]) for line in varied]
        changes = {"falls": [row for row in ends if _above(row[1], row[2])]}
        changes["rises"] = [row for row in ends if _above(row[2], row[1])]
        parts = [_moved(word, rows) for word, rows in changes.items() if rows]
        if not ends:
            continue
        text = listed(parts) if parts else "no score surely changes"
        scores = tuple(score for rows in changes.values() for _, *pair in rows for score in pair)
        yield Finding(
            "curve",
            f"{table.metric} in {table.environment}, as {sweep.label} goes from {first} to {last}: {text}.",
            scores,
        )


def _moved(word: str, rows: Sequence[tuple[str, Score, Score]]) -> str:
    """``that of IG (0.9 to 0.5) falls``."""
    names = [f"{name} ({number(first.value or 0.0)} to {number(last.value or 0.0)})" for name, first, last in rows]
    return f"that of {listed(names)} {word if len(rows) == 1 else word.removesuffix('s')}"


def _above(left: Score, right: Score) -> bool:
    """Whether the whole interval lies above the other one."""
    if left.low is None or right.high is None:
        return False
    return left.low > right.high


def _agreements(result: Result) -> Iterator[Finding]:
    """Metrics whose order of methods agrees with the truth, or does not, beyond doubt."""
    for table in result.agreements:
        for environment in table.environments:
            rows = [row for metric in table.metrics if (row := table.row(environment, metric)) is not None]
            sure = [row for row in rows if row.agreement.low is not None and row.agreement.high is not None]
            above = [row for row in sure if (row.agreement.low or 0.0) > 0]
            below = [row for row in sure if (row.agreement.high or 0.0) < 0]
            if not sure:
                continue
            parts = [f"{row.metric} {number(row.agreement.value or 0.0)}" for row in (*above, *below)]
            rest = [row.metric for row in sure if row not in above and row not in below]
            text = f"In {environment}, the correlation with {table.truth} over methods is "
            text += f"{listed(parts)}" if parts else "not separated from 0"
            text += f" for {listed(rest)}." if rest and not parts else ""
            text += f"; that of {listed(rest)} may be 0." if rest and parts else ("." if parts else "")
            yield Finding("agreement", text)


def _slopes(result: Result) -> Iterator[Finding]:
    """How many methods change rank, beside those that resampling alone moves."""
    for table in result.slopes:
        rows = [row for row in table.rows if row.slope.moves is not None and row.by_resampling.value is not None]
        parts = [
            f"{row.slope.moves} of {len(row.slope.methods)} methods change rank in {row.name} "
            f"({row.texts[2]} by resampling samples alone)"
            for row in rows
        ]
        if parts:
            yield Finding("slope", f"From {table.asked.left} to {table.asked.right}, {listed(parts)}.")


def _left_out(result: Result) -> Iterator[Finding]:
    """What of a user's rows, methods and metrics was not evaluated."""
    if sentences := [note for note in result.study.notes if note.startswith(LEFT_OUT)]:
        yield Finding("left out", " ".join(sentences))


def _zeros(result: Result) -> Iterator[Finding]:
    """Methods whose maps are zero on all samples: their scores say nothing."""
    where: dict[str, list[str]] = {}
    controls = {name for name, part in by_label(result.run, "methods").items() if part.control}
    for board in result.boards:
        for line in board.lines:
            if ZERO in line.remarks.notes and line.method not in controls:
                where.setdefault(line.method, []).append(board.environment)
    for method, places in where.items():
        yield Finding("zero", f"{method} is 0 everywhere in {listed(places)}: it says nothing there.")


def _gaps(result: Result) -> Iterator[Finding]:
    """Methods whose attributions do not add up to what they promise."""
    for board in result.boards:
        for line in board.lines:
            if line.remarks.mark and line.remarks.gap is not None:
                gap = f"its sum misses the promised one by {percent(line.remarks.gap)}"
                yield Finding("gap", f"{line.method} in {board.environment}: {gap} ({line.remarks.mark}).")


def _missing(result: Result) -> Iterator[Finding]:
    """Scores that were skipped or failed."""
    groups = grouped_by_reason(result.scores())
    for status in ("failed", "skipped"):
        of_status = [group for group in groups if group.status == status]
        if not of_status:
            continue
        count = sum(len(group.cells) for group in of_status)
        reasons = list(map(str, of_status[:REASONS]))
        more = f"; and {counted(len(of_status) - REASONS, 'more reason')}" if len(of_status) > REASONS else ""
        yield Finding("missing", f"{counted(count, 'score')} {status}: {'; '.join(reasons)}{more}.")
