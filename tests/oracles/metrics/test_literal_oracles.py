"""Every metric against its slow, literal version."""

from __future__ import annotations

import pytest

from assay.metrics.completeness import Completeness
from assay.metrics.deletion import Deletion
from assay.metrics.f1 import F1
from assay.metrics.insertion import Insertion
from assay.metrics.modulo_deletion import ModuloDeletion
from assay.metrics.modulo_insertion import ModuloInsertion
from assay.metrics.precision import Precision
from assay.metrics.recall import Recall
from assay.metrics.sensitivity_n import SensitivityN
from oracles.metrics.checks import CHECKS

METRICS = {
    "precision": Precision,
    "recall": Recall,
    "f1": F1,
    "insertion": Insertion,
    "deletion": Deletion,
    "modulo_insertion": ModuloInsertion,
    "modulo_deletion": ModuloDeletion,
    "sensitivity_n": SensitivityN,
    "completeness": Completeness,
}


@pytest.mark.parametrize("name", METRICS)
def test_the_metric_says_what_the_paper_says(name: str) -> None:
    CHECKS[name](METRICS[name])


def test_every_metric_has_a_check() -> None:
    assert set(CHECKS) == set(METRICS)
