"""A few numbers of every component's output on a tiny instance, and where they are kept.

They are renewed on purpose, never by a test run:

    python tests/contracts/revisions.py --write            # new components; outputs that changed with their revision
    python tests/contracts/revisions.py --write NAME       # of these components alone
    python tests/contracts/revisions.py --write --anyway   # also outputs that changed although the revision did not

Nothing kept hangs on a processor. Training amplifies rounding (another instruction set moved the answers of a trained
network by 4 % of their size), so networks are designed, or drawn and never trained. What training starts from is kept
instead: hyper-parameters, rows, the sizes of layers and the answers of the initial weights.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parents[1]))  # this file is also run as a script

from assay.catalogue.registry import KINDS, aliases, card, catalogue, expand_alias
from assay.check.instruments.sites import Site, environments, sites
from assay.core.protocols import Environment, Trained
from assay.core.spec import Spec
from assay.engine.artifacts.artifact import FORMAT
from contracts.examples import EXAMPLES, method_at, metric_at

KEPT = Path(__file__).with_name("revisions.json")
RENEW = "python tests/contracts/revisions.py --write"
ROWS = range(4)
INSTANCES = environments()
EPS = torch.finfo(torch.float32).eps
# What processors may change, relative to a number and the mean size of its kind, by the type a model computes in.
# Measured between AVX-512, AVX2 and SSE kernels: 31 eps at most in float32 (3.7e-6, paths through color_count). In
# float64 6 eps of float32 (6.6e-7), because weights and noise are drawn in float32 with other last digits; where these
# agree, none of the 8 digits kept.
TOLERANCE = {"float32": 256 * EPS, "float64": 64 * EPS}
# Where the two networks of beside have equally many channels.
SPECS = {**EXAMPLES, "top_images": "top_images(layer='layer3', other='features.13', k=3)"}
ELSEWHERE = {"readout_conflict": "cifar"}  # 0 on every designed network
RETRAINING = ("roar",)  # their own work is training: one epoch, too short to amplify rounding


@dataclass(frozen=True)
class Output:
    """What a component gave, in short."""

    revision: str
    place: str  # the tiny environment
    dtype: str  # of the numbers that the model read
    recipe: str  # an environment's hyper-parameters, else empty
    numbers: dict[str, float]

    def like(self, other: Output) -> bool:
        """True where the numbers are those of the other output, up to rounding."""
        same_kind = all(getattr(self, name) == getattr(other, name) for name in ("place", "dtype", "recipe"))
        return (
            same_kind and self.numbers.keys() == other.numbers.keys() and all(map(self._close, other.numbers.items()))
        )

    def _close(self, number: tuple[str, float]) -> bool:
        name, value = number
        before, size = self.numbers[name], self.numbers[f"{name.rpartition('.')[0]}.size"]
        return abs(value - before) <= TOLERANCE[self.dtype] * (abs(before) + size)


def measure(kind: str, name: str) -> Output:
    """The component's output now, where it applies first."""
    revision = f"{FORMAT}/{card(kind, expand_alias(kind, Spec(name)).name).revision}"  # a new format renews everything
    if kind == "environments":
        place = str(expand_alias(kind, Spec(name)))
        recipe, here = repr(INSTANCES[place]), drawn(place)
        return Output(revision, name, _dtype(here), recipe, _numbers(_environment_parts(here)))
    case_at: Any = method_at if kind == "methods" else metric_at
    for place in _places(kind, name):
        here = drawn(place, epochs=int(name in RETRAINING))
        case = case_at(SPECS.get(name, name), here).fresh()
        if not case.reason() and (parts := _parts(case, kind)):
            return Output(revision, place, _dtype(here), "", _numbers(parts))
    raise AssertionError(f"{name} applies nowhere")


def _places(kind: str, name: str) -> Iterator[str]:
    """Where a component is tried: designed networks first."""
    if name in ELSEWHERE:
        yield ELSEWHERE[name]
    needs = card(kind, expand_alias(kind, Spec(name)).name).fact("needs", ())
    # Without fine-tuning, the model of in_domain is its own sibling; the two of beside differ from the start.
    found = ["beside" if place == "in_domain" else place for place in sites(kind, needs)]
    yield from sorted(found, key=lambda place: isinstance(INSTANCES[place], Trained))


@cache
def drawn(place: str, epochs: int = 0) -> Site:
    """An environment whose network is designed or has its initial weights; the latter in float64."""
    environment = _cut(INSTANCES[place], epochs)
    here = Site.of(place, environment)
    return here.precise() if isinstance(environment, Trained) else here


def _cut(environment: Any, epochs: int) -> Any:
    """The environment, and every one inside it, with so few epochs of each training."""
    values = {field.name: getattr(environment, field.name) for field in fields(environment)}
    inner = {name: _cut(value, epochs) for name, value in values.items() if isinstance(value, Environment)}
    trainings = {name: epochs for name in values if name == "epochs" or name.endswith("_epochs")}
    return replace(environment, **inner, **trainings)


def _dtype(here: Site) -> str:
    return str(here.pool.x.dtype).removeprefix("torch.")


def _environment_parts(here: Site) -> dict[str, Tensor]:
    model, pool, reference = here.setting.model, here.pool, here.setting.reference
    layers = torch.tensor([tensor.numel() for tensor in model.state_dict().values()])
    parts = {"x": pool.x, "label": pool.label, "layers": layers, "answers": model(pool.x)}
    if pool.truth is not None:
        parts["truth"] = pool.truth.effect
    if reference is not None:
        parts |= {"reference.x": reference.x, "reference.label": reference.label}
    return parts


def _parts(case: Any, kind: str) -> dict[str, Tensor]:
    """An attribution, or a metric's evidence and score; nothing where the score is undefined."""
    if kind == "methods":
        return {"attribution": case.answer(ROWS)}
    evidence = case.metric(case.trial(range(8)))
    score = case.reduce(evidence).value
    rows = {name: torch.from_numpy(array) for name, array in evidence.rows.items()}
    return {} if score is None else {**rows, "score": torch.tensor([score], dtype=torch.float64)}


def _numbers(parts: dict[str, Tensor]) -> dict[str, float]:
    return {f"{part}.{what}": value for part, tensor in parts.items() for what, value in _summary(tensor).items()}


def _summary(tensor: Tensor) -> dict[str, float]:
    """The mean size of an entry, with which all others are compared, and what tells an order from another."""
    flat = tensor.detach().double().flatten()
    centre = (flat @ torch.linspace(0, 1, len(flat), dtype=torch.float64)) / len(flat)
    found = {"size": flat.abs().mean(), "mean": flat.mean(), "centre": centre, "first": flat[0], "last": flat[-1]}
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
    found = ", ".join(f"{key} {old} -> {new}" for key, old, new in _changes(before, now))
    if before.revision != now.revision:
        return f"{name} gives another output, and its source changed: if that is meant, run '{RENEW}'. {found}"
    return (
        f"{name} gives another output under the same revision {now.revision}: something below it changed, and stored "
        "results would be taken for new ones. Undo that, or raise 'revision: ClassVar[int]' in its class (add it where "
        "there is none, above every earlier one; where something in core changed many of them, FORMAT in "
        f"engine/artifacts/artifact.py) and run '{RENEW}'. {found}"
    )


def _changes(before: Output, now: Output) -> Iterator[tuple[str, Any, Any]]:
    """What differs at all, by name."""
    old, new = ({**asdict(side), **side.numbers} for side in (before, now))
    names = [name for name in {**old, **new} if name not in ("revision", "numbers")]
    yield from ((name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name))


def write(names: Sequence[str], anyway: bool) -> list[str]:
    """Store what is new or changed with its revision; returns the complaints about the rest. No names: all."""
    every = {kind: (*catalogue(kind), *aliases(kind)) for kind in KINDS}
    if unknown := set(names).difference(*every.values()):
        sys.exit(
            f"{', '.join(sorted(unknown))}: not in the catalogue. New: 'python -m assay.catalogue.generate' first."
        )
    outputs = {
        kind: {name: measure(kind, name) for name in every[kind] if name in (names or every[kind])} for kind in KINDS
    }
    refused = [text for kind in KINDS for name in outputs[kind] if (text := _refusal(kind, name, outputs[kind][name]))]
    if anyway or not refused:
        found = {kind: {**(kept()[kind] if names else {}), **outputs[kind]} for kind in KINDS}
        told = {kind: {name: asdict(output) for name, output in found[kind].items()} for kind in KINDS}
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
    problems = write([name for name in sys.argv[1:] if not name.startswith("--")], "--anyway" in sys.argv)
    sys.exit("\n".join([*problems, "Nothing was written. --anyway writes all the same."]) if problems else 0)
