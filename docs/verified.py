"""Whether a kept result is still what the code gives.

A kept result records the digests of the components that made it, and a witness: its numbers for the first block of its
first seed. If a digest changed since, the result is *unverified*, until the witness, computed again, has the same
digits (``python docs/renew.py``). A result of a trained network may differ on another processor (determinism.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.catalogue.registry import card
from assay.core.errors import AssayError
from assay.core.machine import Resources
from assay.core.records import digest
from assay.core.spec import walk
from assay.studies.study import Entry, Study

from pages import Json

KINDS = ("environments", "methods", "metrics")
TOLERANCE = 5e-5  # of numbers that pages print with three decimals
RESULT = (
    "boards",
    "sweep",
    "agreement",
    "slope",
    "faithfulness",
    "common_levels",
    "damage",
)  # parts of a kept result; the rest says where it is from

Witness = Mapping[str, Mapping[str, Mapping[str, float | str]]]  # by environment, method, metric; text: no value


def stamp(study: Study) -> Json:
    """What a result of this study rests on now."""
    parts = dict(part for kind in KINDS for entry in getattr(study, kind) for part in _parts(kind, entry))
    return {"study": _asked(study), "components": dict(sorted(parts.items()))}


def changes(kept: Json, study: Study) -> list[str]:
    """What changed since the result was kept or verified: names of components, or "study"; none: it is verified."""
    now = stamp(study)
    before = kept.get("components", {})
    parts = [name for name, found in now["components"].items() if before.get(name) != found]
    return parts if kept.get("study") == now["study"] else ["study", *parts]


def values_digest(kept: Json) -> str:
    """Of the numbers of a kept result, and of nothing else: equal results have equal digests, whatever code, machine or
    store they come from."""
    return digest({name: kept[name] for name in RESULT if name in kept})


def witness(study: Study, root: Path, workers: int = 2) -> Witness:
    """The values of the first block of the first seed, computed in a store, or found there."""
    block = max(entry.block for entry in study.environments)
    cells = replace(study, faithfulness=(), agreement=(), slope=(), sweep=None, gallery=0)
    narrowed = cells.narrowed(block, study.seeds[:1])
    boards = computed(narrowed, root, workers)["boards"]
    return {board["environment"]: {line["method"]: _values(line) for line in board["methods"]} for board in boards}


def computed(study: Study, root: Path, workers: int = 2) -> Json:
    """What ``assay run --json`` prints."""
    from assay.cli.tables import to_json
    from assay.engine.execute.run import run
    from assay.report.board import result

    finished = run(study, root, Resources(workers))
    found = result(finished.store, finished.run)
    if found.failed():
        raise AssayError(f"{study.name}: cells failed in {root}, and a failure is no witness.")
    return to_json(found)


def touched(study: Study, changed: list[str]) -> Study:
    """The part of a study whose numbers may have changed with these components."""

    def those(kind: str) -> tuple[Entry, ...]:
        return tuple(entry for entry in getattr(study, kind) if any(part in changed for part, _ in _parts(kind, entry)))

    methods, metrics = those("methods"), those("metrics")
    if "study" in changed or those("environments") or (methods and metrics):
        return study
    return replace(study, methods=methods or study.methods, metrics=metrics or study.metrics)


def differences(before: Witness, now: Witness) -> Iterator[str]:
    """Sentences about every number that is not as it was."""
    for environment, methods in now.items():
        for method, values in methods.items():
            for metric, value in values.items():
                known = before.get(environment, {}).get(method, {}).get(metric, "not kept")
                if not _same(known, value):
                    yield f"{environment}, {method}, {metric}: {known} is now {value}"


def rounded(value: Any) -> Any:
    """Six digits: what is kept does not change with the last bits."""
    if isinstance(value, Mapping):
        return {name: rounded(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _same(before: float | str, now: float | str) -> bool:
    if isinstance(before, str) or isinstance(now, str):
        return before == now
    return abs(before - now) <= TOLERANCE * max(1.0, abs(before))


def _values(line: Json) -> Mapping[str, float | str]:
    found = {metric: (cell["value"], cell["status"]) for metric, cell in line["metrics"].items()}
    return {
        metric: rounded(value) if value is not None else "undefined" if status == "ok" else status
        for metric, (value, status) in found.items()
    }


def _asked(study: Study) -> str:
    """The digest of what is computed: not of labels, titles and pictures."""
    entries = {kind: [_entry(entry) for entry in getattr(study, kind)] for kind in KINDS}
    return digest({**entries, "seeds": study.seeds, "data_seed": study.data_seed})[:16]


def _entry(entry: Entry) -> Json:
    question = entry.question.to_json()
    return {"spec": str(entry.spec), "question": question, "samples": entry.samples, "block": entry.block}


def _parts(kind: str, entry: Entry) -> Iterator[tuple[str, str]]:
    """The components of an entry, at every depth, with the digests of their sources."""
    names: list[str] = []
    walk(entry.spec, lambda spec: names.append(spec.name))
    for name in names:
        yield f"{kind}/{name}", card(kind, name).source[:16]
