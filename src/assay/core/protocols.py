"""The protocols of environments, methods and metrics: any object with these calls is one.

A component is a frozen dataclass; its fields are its hyper-parameters. Optional parts may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from assay.core.evidence import Evidence
from assay.core.query import Query
from assay.core.setting import Samples, Setting
from assay.core.trial import Scene, Trial


@runtime_checkable
class Environment(Protocol):
    """A model with samples, on which attributions are tested.

    Optional: ``program(x, seed)`` if it claims truth; ``train(seed)``; ``draws_model``, False if seeds draw samples
    only and the model is always the same (``core/facts.py``); ``draws_rule``, True if the seed draws a rule that labels
    training rows and samples alike; ``identities(indices, seed)``, keys of samples, if two seeds may have samples in
    common; ``check_data()``, if it reads files: raises AssayError where one is missing or damaged.
    """

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        """The model and its surroundings; ``weights`` is what ``train(seed)`` returned, empty without ``train``."""

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        """Sample i depends on (environment, seed, i) only."""


@runtime_checkable
class Trained(Protocol):
    """An environment whose model is trained: the weights are an artifact of their own."""

    def train(self, seed: int) -> dict[str, Tensor]: ...


@runtime_checkable
class Method(Protocol):
    """An attribution method. Optional: ``fit``, ``promised``, ``positive_only``."""

    def __call__(self, query: Query) -> Tensor:
        """Attribution in the input's shape, or one number per feature; signed and raw."""


class Fitted(Protocol):
    """A method that sees the setting once, before any sample. Test with ``hasattr(method, "fit")``: a combinator has
    ``fit`` only if the method inside has it, which a runtime check of protocols would miss."""

    def fit(self, query: Query) -> dict[str, Tensor]:
        """``query`` asks the same question about the reference rows."""


class Promising(Protocol):
    """A method that promises what its attribution adds up to; the gap is reported with every map. Test with
    ``hasattr(method, "promised")``."""

    def promised(self, query: Query) -> Tensor:
        """(B,); ``query.change()`` for methods that divide score(x) - score(baseline) among the features."""


def positive_only(method: object) -> bool:
    """Whether the method declares (``positive_only``, a class attribute or a property) that by design its attributions
    are never negative. Such a method cannot show what lowers the explained number."""
    return bool(getattr(method, "positive_only", False))


@runtime_checkable
class Metric(Protocol):
    """Judges a trial. Optional: ``probe``, ``prepare`` and ``reduce`` (default: the mean over defined samples)."""

    def __call__(self, trial: Trial) -> Evidence: ...


@runtime_checkable
class Probing(Protocol):
    """A metric that needs model outputs that no attribution changes; they are computed once, for all methods."""

    def probe(self, scene: Scene) -> dict[str, Tensor]: ...


@runtime_checkable
class Preparing(Protocol):
    """A metric with work once per method, before it sees a block: retraining, for example."""

    def prepare(self, trial: Trial) -> dict[str, Tensor]:
        """``trial`` is the method's attribution of the reference rows."""


Component = Any
