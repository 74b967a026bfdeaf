"""Single deletion on images of many sizes, and beside SciPy."""

from __future__ import annotations

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import nn

from assay.core.features import Columns, Pixels
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.setting import Samples, Setting
from assay.core.trial import Scene, Trial
from assay.metrics.single_deletion import SingleDeletion
from oracles.metrics.checks_cells import pictures, size_agrees
from oracles.metrics.scenes import numbers
from streams import seeded


def test_the_literal_score_at_the_size_of_photographs() -> None:
    size_agrees(SingleDeletion, Pixels(3, 224, 224), (7, 7), "raw", count=1)


def test_without_ties_it_is_scipy_s_correlation() -> None:
    where, attribution = pictures(Pixels(3, 32, 32), 5), numbers(1, 5, 3, 32, 32)
    metric = SingleDeletion(readout="logit")  # of probabilities near 1, drops are ties
    probe = metric.probe(where)
    found = metric(Trial(where, attribution, probe))
    cells = attribution.sum(dim=1).view(5, 4, 8, 4, 8).sum(dim=(2, 4)).flatten(1)
    drops = probe["clean"][:, None] - probe["without"]
    expected = [spearmanr(left, right).statistic for left, right in zip(cells.numpy(), drops.numpy(), strict=True)]
    np.testing.assert_allclose(found["value"], expected, rtol=1e-12)


def test_a_softmax_over_a_shifted_or_scaled_logit_changes_the_probability_s_score_only() -> None:
    """A temperature leaves the score of logits exactly as it is."""
    where, attribution = pictures(Pixels(3, 32, 32), 4), numbers(2, 4, 32, 32)
    values = {
        (readout, temperature): SingleDeletion(readout=readout, temperature=temperature)(Trial(where, attribution))
        for readout in ("logit", "probability")
        for temperature in (1.0, 50.0)
    }
    np.testing.assert_array_equal(values["logit", 1.0]["value"], values["logit", 50.0]["value"])
    assert not np.array_equal(values["probability", 1.0]["value"], values["probability", 50.0]["value"])


@seeded()
def test_many_cells_with_small_differences_are_told_apart() -> None:
    weights = torch.linspace(0, 0.1, 1000)
    layer = nn.Linear(1000, 1)
    with torch.no_grad():
        layer.weight.copy_(weights[None])
        layer.bias.fill_(10.0)
    question = Question("value", 1.0, "zero", "label")
    setting = Setting(layer, Columns.plain(1000), "table", question, outputs="value")
    x = torch.ones(2, 1000)
    scene = Scene(
        setting, Samples(x, torch.zeros(2).long(), None, (0, 1)), question, torch.zeros(2).long(), Stream("m")
    )
    found = SingleDeletion()(Trial(scene, weights.expand(2, -1)))
    assert found.defined.all()
    assert found["value"].min() > 0.99
