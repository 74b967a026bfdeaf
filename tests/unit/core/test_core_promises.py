"""What a metric promises with the parameters that it has."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from assay.core.build import named
from assay.core.promises import keeps, promised_range


@dataclass(frozen=True)
class Cut:
    cut: bool = True
    range: ClassVar[Any] = (0, 1)
    varies: ClassVar[Any] = (("cut", False, "range"),)


def test_a_range_is_promised_unless_a_parameter_costs_it():
    assert promised_range(Cut()) == (0.0, 1.0)
    assert promised_range(Cut(cut=False)) is None
    assert not keeps(Cut(cut=False), "range")
    assert keeps(Cut(cut=False), "scale")


@pytest.mark.parametrize("spec, expected", [("f1", (0.0, 1.0)), ("spearman", (-1.0, 1.0)),
                                            ("deletion(readout='logit')", None)])  # fmt: skip
def test_metrics_of_the_catalogue_promise_theirs(spec, expected):
    assert promised_range(named("metrics", spec)[0]) == expected


@pytest.mark.parametrize("said", [None, 3, "ab", ("a", "b"), (1.0,), (1.0, 0.0), (0.0, 0.0), range(2)])
def test_what_is_no_range_promises_nothing(said):
    assert promised_range(type("Odd", (), {"range": said})()) is None


def test_what_somebody_else_s_metric_says_of_itself_counts():
    def shares(model, x, y, a):
        return a.mean(dim=1)

    shares.range = (0.0, 2.0)
    metric, _ = named("metrics", shares)
    assert promised_range(metric) == (0.0, 2.0)
    del shares.range
    assert promised_range(named("metrics", shares)[0]) is None
