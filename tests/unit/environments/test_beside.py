"""Two models for the same samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from assay.catalogue.build import build, describe
from assay.core.errors import SpecError
from assay.core.setting import Samples, Setting
from assay.environments.beside import Beside
from assay.environments.cifar import Cifar
from assay.environments.color_count import ColorCount
from assay.environments.tabular_rule import TabularRule

TINY = Beside.tiny()
DRAWN = replace(Cifar.tiny(), epochs=1)
FACTOR, SHIFT = torch.tensor([0.5, 2.0, 3.0]).view(3, 1, 1), torch.tensor([1.0, -0.3, 0.0]).view(3, 1, 1)


@dataclass(frozen=True)
class Other:
    """The drawn pictures, in other units, in another order of labels, or slightly different ones."""

    units: bool = False
    labels: int = 0
    noise: float = 0.0
    bent: bool = False

    def train(self, seed: int) -> dict[str, Tensor]:
        return DRAWN.train(seed)

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        return DRAWN.setting(seed, weights)

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        found = DRAWN.sample(indices, seed)
        x = FACTOR * found.x + SHIFT if self.units else found.x
        x = x.square() * x.sign() if self.bent else x
        return replace(found, x=x + self.noise * x.roll(1, 3), label=(found.label + self.labels) % 3)


@cache
def trained(environment: Any) -> Mapping[str, Tensor]:
    return environment.train(0)  # type: ignore[no-any-return]


def setting(environment: Beside) -> Setting:
    return environment.setting(0, trained(environment))


def test_everything_but_the_sibling_is_the_first_environment_s() -> None:
    here = setting(TINY)
    first = TINY.of.setting(0, trained(TINY.of))
    second = TINY.other.setting(0, trained(TINY.other))
    samples = TINY.sample(range(6), 2)
    assert torch.equal(samples.x, TINY.of.sample(range(6), 2).x)
    assert torch.equal(here.model(samples.x), first.model(samples.x))
    assert here.sibling is not None
    assert torch.equal(here.sibling(samples.x), second.model(samples.x))
    assert not torch.allclose(here.model(samples.x), here.sibling(samples.x))
    assert {name.partition(".")[0] for name in trained(TINY)} == {"of", "other"}


def test_hints_of_the_sibling_are_marked_as_its_own() -> None:
    assert setting(TINY).hints == {"grad_cam": "layer3", "sibling.grad_cam": "features.26"}
    unhinted = setting(Beside(DRAWN, replace(DRAWN, network="vit2", width=16)))
    assert unhinted.hints == {"grad_cam": "layer3", "sibling.grad_cam": ""}


def test_a_sibling_that_reads_other_units_is_told_what_it_would_have_read() -> None:
    environment = Beside(DRAWN, Other(units=True))
    here = setting(environment)
    x = DRAWN.sample(range(20, 30), 0).x
    direct = DRAWN.setting(0, trained(DRAWN)).model(FACTOR * x + SHIFT)
    assert here.sibling is not None
    torch.testing.assert_close(here.sibling(x), direct, rtol=1e-4, atol=1e-4)
    assert not torch.allclose(here.model(x), direct, atol=1e-2)
    assert here.hints["sibling.grad_cam"] == "network.layer3"
    assert "network.layer3" in dict(here.sibling.named_modules())
    assert not here.sibling.training


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (ColorCount(side=16, sizes=(3, 6)), r"inputs of shape \(3, 12, 12\) and \(3, 16, 16\)"),
        (TabularRule.tiny(), r"are not the same samples"),
        (Other(labels=1), "label the same samples differently"),
        (Other(noise=0.05), "different samples"),
        (Other(bent=True), "different samples"),
    ],
)
def test_other_samples_are_refused_before_anything_is_compared(other: Any, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Beside(DRAWN, other).train(0)


def test_other_classes_are_refused() -> None:
    table = TabularRule.tiny()
    with pytest.raises(SpecError, match="logits of 3 classes, the other with logits of 4"):
        Beside(table, replace(table, classes=4)).train(0)
    with pytest.raises(SpecError, match="the other with probabilities of 3"):
        Beside(table, replace(table, model="forest")).train(0)


def test_tables_may_have_two_models_too() -> None:
    table = TabularRule.tiny()
    here = setting(Beside(table, replace(table, hidden=(4,))))
    assert here.sibling is not None
    assert here.sibling(table.sample(range(3), 0).x).shape == (3, 3)


def test_it_is_written_with_both_environments_inside() -> None:
    spec = describe(TINY)
    assert build("environments", spec) == TINY
    assert str(spec).startswith("beside(of=cifar(")
