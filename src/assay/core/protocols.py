"""What an environment, a method and a metric are: anything that answers these calls.

A component is a frozen dataclass; its fields are its hyper-parameters. Parts marked optional may simply be missing.
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
    """A place where attributions are tested.

    Optional: ``program(x, seed)`` where truth is claimed; ``train(seed)``; ``draws_model``, False where seeds draw
    samples only and the model is always the same (``core/drawn.py``); ``identities(indices, seed)``, what tells samples
    from one another where the samples of two seeds may be the same.
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
    """A method that looks at the setting once, before any sample; ``hasattr(method, "fit")`` tells (a combinator has
    ``fit`` only if the method inside has it, which a runtime check of protocols would not see)."""

    def fit(self, query: Query) -> dict[str, Tensor]:
        """``query`` is the same question, put to the reference rows."""


class Promising(Protocol):
    """A method that says what its attribution adds up to: the gap between the two is reported with every map;
    ``hasattr(method, "promised")`` tells."""

    def promised(self, query: Query) -> Tensor:
        """(B,); ``query.change()`` for methods that divide score(x) - score(baseline) among the features."""


def positive_only(method: object) -> bool:
    """Does the method say (``positive_only``, a class attribute or a property) that it never answers with a negative
    number, by design? What speaks against the explained number it cannot tell."""
    return bool(getattr(method, "positive_only", False))


@runtime_checkable
class Metric(Protocol):
    """A judgement. Optional: ``probe``, ``prepare`` and ``reduce`` (default: the mean over defined samples)."""

    def __call__(self, trial: Trial) -> Evidence: ...


@runtime_checkable
class Probing(Protocol):
    """A metric that needs model outputs which no attribution changes: computed once, shared by all methods."""

    def probe(self, scene: Scene) -> dict[str, Tensor]: ...


@runtime_checkable
class Preparing(Protocol):
    """A metric with work to do once per method, before it sees a block: retraining, for example."""

    def prepare(self, trial: Trial) -> dict[str, Tensor]:
        """``trial`` is the method's attribution of the reference rows."""


Component = Any
