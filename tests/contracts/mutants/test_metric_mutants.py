"""The checks of the metrics bite: they reject wrong versions of every metric."""

from __future__ import annotations

import traceback
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import assay.metrics.signed_truth
from assay.catalogue.registry import card, expand_alias
from assay.catalogue.sources import source_files
from assay.core.spec import Spec
from contracts.mutants.mutant import SOURCE, Mutant, path_of
from contracts.mutants.mutants import METRIC_MUTANTS as MUTANTS
from contracts.mutants.planted import planted_metric
from oracles.metrics.checks import CHECKS

HERE = Path(__file__).parent
ORACLES = HERE.parents[1] / "oracles" / "metrics"
METRIC_CODE = (SOURCE / "assay" / "kit", SOURCE / "assay" / "metrics")

# A change that leaves a metric as it was (an equivalent mutant) is no wrong version: its list says so in a comment, and
# does not hold it. So no wrong version may survive.


def survives(mutant: Mutant) -> bool:
    """True when the metric's own check accepts the wrong version; an accident of the check itself is an error."""
    with planted_metric(mutant) as metric, np.errstate(all="ignore"), torch.no_grad():
        try:
            CHECKS[mutant.component](metric)
        except AssertionError:
            return False
        except ImportError:  # of something that is not there: no wrong version does that
            raise
        except Exception as error:
            if not in_metric(error):
                raise
            return False
    return True


def in_metric(error: Exception) -> bool:
    """Did the code of the metric, or of the kit below it, crash: is some of it on the way to the error?"""
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return any(file.startswith(("<changed ", *map(str, METRIC_CODE))) for file in files)


def wrong_versions(name: str) -> list[Mutant]:
    return [mutant for mutant in MUTANTS if mutant.component == name]


def with_files(name: str) -> object:
    """A metric, and the files that decide which of its wrong versions are rejected."""
    here = [*HERE.glob("*.py"), *ORACLES.glob("*.py")]
    source = path_of(card("metrics", expand_alias("metrics", Spec(name)).name).target.partition(":")[0])
    return pytest.param(name, marks=pytest.mark.rests_on([*source_files(source), *sorted(here)]))


every_metric = pytest.mark.parametrize("name", [*map(with_files, CHECKS)])


@every_metric
def test_wrong_versions_of_a_metric_are_rejected(name: str) -> None:
    assert [mutant.wrong for mutant in wrong_versions(name) if survives(mutant)] == []


@every_metric
def test_a_metric_that_is_planted_unchanged_survives(name: str) -> None:
    """Or planting, and not what is wrong, would be what the check rejects."""
    mutant = wrong_versions(name)[0]
    assert survives(replace(mutant, new=mutant.old))


def test_a_crash_of_a_check_is_no_kill_and_one_of_the_metric_is(monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = wrong_versions("f1")[0]

    def broken(_: object) -> None:
        raise ValueError("of the check")

    def without_a_library(_: object) -> None:
        raise ModuleNotFoundError("of the check")

    for check in (broken, without_a_library):
        monkeypatch.setitem(CHECKS, "f1", check)
        with pytest.raises((ValueError, ModuleNotFoundError), match="of the check"):
            survives(mutant)
    monkeypatch.setitem(CHECKS, "f1", lambda metric: metric()(None))  # the metric reads a trial that is none
    assert not survives(mutant)


def test_every_metric_has_at_least_three_wrong_versions() -> None:
    count = Counter(mutant.component for mutant in MUTANTS)
    assert min(count[name] for name in CHECKS) >= 3
    assert set(count) == set(CHECKS)
    assert len({replace(mutant, wrong="") for mutant in MUTANTS}) == len(MUTANTS)


def test_planting_leaves_the_real_metrics_alone() -> None:
    real = assay.metrics.signed_truth.F1
    with planted_metric(wrong_versions("f1")[0]) as wrong:
        assert wrong is not real
    from assay.metrics.signed_truth import F1

    assert F1 is real
    CHECKS["f1"](F1)
