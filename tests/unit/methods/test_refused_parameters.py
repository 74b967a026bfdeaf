"""Parameters that make no sense are refused in a sentence when a method is built."""

from __future__ import annotations

import pytest

from assay.core.errors import SpecError
from assay.methods.deep_shap import DeepShap
from assay.methods.first_rows import FirstRows
from assay.methods.integrated_gradients import IntegratedGradients
from assay.methods.lrp import Lrp
from assay.methods.occlusion import Occlusion
from assay.methods.smoothed import Smoothed


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: IntegratedGradients(0), "needs at least 1 steps, not 0"),
        (lambda: IntegratedGradients(1, "trapezoid"), "trapezoid needs at least 2 steps, not 1"),
        (lambda: Occlusion(0, 0), "Choose 1 <= stride <= window"),
        (lambda: Lrp(epsilon=0.0), "epsilon must be positive, not 0.0"),
        (lambda: DeepShap(background=-1), "background counts rows, so it cannot be -1"),
        (lambda: Smoothed(samples=0), "samples of 1 or more"),
        (lambda: Smoothed(noise=-0.1), "noise of 0 or more"),
        (lambda: FirstRows(rows=0), "rows=0"),
    ],
)
def test_values_that_make_no_sense_are_refused(make, sentence):
    with pytest.raises(SpecError, match=sentence):
        make()
