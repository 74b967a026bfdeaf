"""Keys: a digest for everything that is expensive and does not depend on a later choice.

A key digests an artifact's resolved spec and the keys of its inputs. What is not in the key can be changed without
computing again: adding a metric touches no trial key, adding a method no probe key, and the number of samples is in no
key at all, only the block's own range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.question import Question
from assay.core.records import digest
from assay.core.registry import identity, stream_name
from assay.core.spec import Spec

FORMAT = 1  # of keys; raised when the meaning of a stored number changes for everybody


def _key(kind: str, **parts: Any) -> str:
    return digest({"format": FORMAT, "kind": kind, **parts})


@dataclass(frozen=True)
class Place:
    """An environment, its seed, and the seed of its samples."""

    environment: Spec
    seed: int
    data_seed: int
    dtype: str = "float32"

    @property
    def setting(self) -> str:
        """Key of the setting; of its trained model, where there is one."""
        return _key("model", environment=identity("environments", self.environment), seed=self.seed)

    @property
    def stream(self) -> tuple[str | int, ...]:
        """What random numbers depend on here."""
        return (*self.fit_stream, self.data_seed)

    @property
    def fit_stream(self) -> tuple[str | int, ...]:
        """The same for a fit, which sees no evaluated sample."""
        return (stream_name("environments", self.environment), self.seed)

    @property
    def data(self) -> str:
        return _key("data", environment=identity("environments", self.environment), seed=self.data_seed)


@dataclass(frozen=True)
class Block:
    """Samples start..stop-1 of an environment."""

    start: int
    stop: int

    @property
    def indices(self) -> range:
        return range(self.start, self.stop)


def blocks(samples: int, size: int) -> tuple[Block, ...]:
    """Whole blocks that hold at least ``samples`` samples; a block is always computed whole."""
    return tuple(Block(start, start + size) for start in range(0, samples, size))


def samples_key(place: Place, count: int) -> str:
    return _key("samples", data=place.data, dtype=place.dtype, count=count)


def fit_key(place: Place, method: Spec, question: Question) -> str:
    return _key("fit", **_asked(place, method, question))


def trial_key(place: Place, method: Spec, question: Question, block: Block) -> str:
    return _key("trial", **_asked(place, method, question), data=place.data, block=[block.start, block.stop])


def probe_key(place: Place, metric: Spec, target: str | None, block: Block) -> str:
    return _key(
        "probe",
        setting=place.setting,
        data=place.data,
        dtype=place.dtype,
        metric=identity("metrics", metric),
        target=target,
        block=[block.start, block.stop],
    )


def prepared_key(place: Place, method: Spec, question: Question, metric: Spec) -> str:
    return _key("prepared", **_asked(place, method, question), metric=identity("metrics", metric))


def evidence_key(trial: str, metric: Spec) -> str:
    return _key("evidence", trial=trial, metric=identity("metrics", metric))


def score_key(metric: Spec, evidence: Sequence[Sequence[str]], samples: int, rule: tuple[int, ...]) -> str:
    """``rule`` numbers the way in which intervals are made, and what it is made with."""
    found = [list(keys) for keys in evidence]
    return _key("score", metric=identity("metrics", metric), evidence=found, samples=samples, rule=list(rule))


def _asked(place: Place, method: Spec, question: Question) -> dict[str, Any]:
    return {
        "setting": place.setting,
        "dtype": place.dtype,
        "method": identity("methods", method),
        "question": question.to_json(),
    }
