"""The checks of the metrics bite: they reject wrong versions of every metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import torch

import assay.metrics.f1
from contracts.mutants.mutant import Mutant
from contracts.mutants.mutants import MUTANTS
from contracts.mutants.planted import changed, planted
from oracles.metrics.checks import CHECKS


def survives(mutant: Mutant) -> bool:
    """True when the metric's own check accepts the wrong version."""
    with planted(mutant) as metric, np.errstate(all="ignore"), torch.no_grad():
        try:
            CHECKS[mutant.metric](metric)
        except Exception:  # an answer that differs and a crash are both seen
            return False
    return True


def test_wrong_metrics_are_rejected(record_property: Callable[[str, object], None]) -> None:
    alive = [mutant for mutant in MUTANTS if survives(mutant)]
    killed, total = len(MUTANTS) - len(alive), len(MUTANTS)
    record_property("told", f"mutants killed {killed} of {total} ({100 * killed / total:.0f} %)")
    assert killed >= 0.9 * total, [str(mutant) for mutant in alive]


def test_every_metric_has_at_least_three_wrong_versions() -> None:
    count = Counter(mutant.metric for mutant in MUTANTS)
    assert min(count[name] for name in CHECKS) >= 3
    assert len({(mutant.metric, changed(mutant)) for mutant in MUTANTS}) == len(MUTANTS)


def test_planting_leaves_the_real_metrics_alone() -> None:
    real = assay.metrics.f1.F1
    with planted(next(mutant for mutant in MUTANTS if mutant.metric == "f1")) as wrong:
        assert wrong is not real
    from assay.metrics.f1 import F1

    assert F1 is real
    CHECKS["f1"](F1)
