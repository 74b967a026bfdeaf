"""A few numbers of every component's output on a tiny instance, and where they are kept.

They are renewed on purpose, never by a test run:

    python tests/contracts/revisions.py --write            # new components; outputs that changed with their revision
    python tests/contracts/revisions.py --write --anyway   # also outputs that changed although the revision did not
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parents[1]))  # this file is also run as a script

from assay.artifacts.artifact import FORMAT
from assay.catalogue.registry import KINDS, aliases, card, catalogue, expand_alias
from assay.check.instruments.sites import site, sites
from assay.core.spec import Spec
from contracts.examples import EXAMPLES, method_case, metric_case

KEPT = Path(__file__).with_name("revisions.json")
RENEW = "python tests/contracts/revisions.py --write"
ROWS = range(4)
RELATIVE, ABSOLUTE = 1e-4, 1e-6  # of a number, and of the sum of all sizes: libraries and processors may differ so much


@dataclass(frozen=True)
class Output:
    """What a component gave, in short."""

    revision: str
    place: str  # the tiny environment
    numbers: dict[str, float]

    def like(self, other: Output) -> bool:
        """True where the numbers are those of the other output."""
        if self.place != other.place or self.numbers.keys() != other.numbers.keys():
            return False
        pairs = [(self.numbers[name], other.numbers[name], self.numbers[_scale(name)]) for name in self.numbers]
        return all(abs(a - b) <= RELATIVE * abs(a) + ABSOLUTE * scale for a, b, scale in pairs)


def _scale(name: str) -> str:
    return f"{name.rpartition('.')[0]}.size"


def measure(kind: str, name: str) -> Output:
    """The component's output now, where it applies first."""
    if kind == "environments":
        here = site(name)
        parts = {"x": here.pool.x, "answers": here.setting.model(here.pool.x), "label": here.pool.label}
        truth = here.pool.truth
        return _output(kind, name, name, parts if truth is None else {**parts, "truth": truth.effect})
    case_of: Any = method_case if kind == "methods" else metric_case
    for place in sites(kind, card(kind, expand_alias(kind, Spec(name)).name).fact("needs", ())):
        case = case_of(EXAMPLES.get(name, name), place).fresh()
        if not case.reason():
            return _output(kind, name, place, _parts(case, kind))
    raise AssertionError(f"{name} applies nowhere")


def _parts(case: Any, kind: str) -> dict[str, Tensor]:
    if kind == "methods":
        return {"attribution": case.answer(ROWS)}
    evidence = case.metric(case.trial(range(8)))
    score = case.reduce(evidence).value
    rows = {name: torch.from_numpy(array) for name, array in evidence.rows.items()}
    return {**rows, "score": torch.tensor([0.0 if score is None else score])}


def _output(kind: str, name: str, place: str, parts: dict[str, Tensor]) -> Output:
    numbers = {f"{part}.{what}": value for part, tensor in parts.items() for what, value in _summary(tensor).items()}
    revision = card(kind, expand_alias(kind, Spec(name)).name).revision
    return Output(f"{FORMAT}/{revision}", place, numbers)  # a new format of keys renews everything


def _summary(tensor: Tensor) -> dict[str, float]:
    flat = tensor.detach().double().flatten()
    centre = flat @ torch.linspace(0, 1, len(flat), dtype=torch.float64)  # tells an order from another
    found = {"size": flat.abs().sum(), "sum": flat.sum(), "centre": centre, "first": flat[0], "last": flat[-1]}
    return {name: float(f"{float(value):.8g}") for name, value in found.items()}


@cache
def kept() -> dict[str, dict[str, Output]]:
    """What was stored, by kind and name."""
    table = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
    return {kind: {name: Output(**entry) for name, entry in table.get(kind, {}).items()} for kind in KINDS}


@cache
def as_before(environment: str) -> bool:
    """True where an environment gives what it gave when its numbers were stored."""
    before = kept()["environments"].get(environment)
    return before is not None and before.like(measure("environments", environment))


def complaint(kind: str, name: str, now: Output) -> str:
    """What is wrong with a component's output now, and what to do; empty when it is what it was."""
    before = kept()[kind].get(name)
    if before is None or before.like(now):
        return ""
    found = ", ".join(f"{key} {before.numbers.get(key)} -> {value}" for key, value in now.numbers.items())
    if before.revision != now.revision:
        return f"{name} gives another output, and its source changed: if that is meant, run '{RENEW}'. {found}"
    return (
        f"{name} gives another output under the same revision {now.revision}: something below it changed, and stored "
        "results would be taken for new ones. Undo that, or raise 'revision: ClassVar[int]' in its class (add it where "
        "there is none, above every earlier one; where something in core changed many of them, FORMAT in "
        f"artifacts/artifact.py) and run '{RENEW}'. {found}"
    )


def write(anyway: bool) -> list[str]:
    """Store what is new or changed with its revision; returns the complaints about the rest."""
    outputs = {kind: {name: measure(kind, name) for name in (*catalogue(kind), *aliases(kind))} for kind in KINDS}
    refused = [text for kind in KINDS for name in outputs[kind] if (text := _refusal(kind, name, outputs[kind][name]))]
    if anyway or not refused:
        told = {kind: {name: asdict(output) for name, output in found.items()} for kind, found in outputs.items()}
        KEPT.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return []
    return refused


def _refusal(kind: str, name: str, now: Output) -> str:
    before = kept()[kind].get(name)
    moved = before is not None and (before.place != now.place or not _same_ground(kind, now.place))
    return "" if moved or before is None or before.revision != now.revision else complaint(kind, name, now)


def _same_ground(kind: str, place: str) -> bool:
    return kind == "environments" or place not in kept()["environments"] or as_before(place)


if __name__ == "__main__":
    torch.set_num_threads(1)
    if "--write" not in sys.argv:
        sys.exit(__doc__)
    problems = write("--anyway" in sys.argv)
    sys.exit("\n".join([*problems, "Nothing was written. --anyway writes all the same."]) if problems else 0)
