"""Two objects in each image, and networks that are trained on them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from assay.core.errors import SpecError
from assay.core.facts import identities
from assay.environments.two_objects import TwoObjects

PAPER = TwoObjects()
TINY = TwoObjects.tiny()
VARIED = replace(PAPER, vary=0.5, train_rows=8)


def images(environment: TwoObjects = PAPER, count: int = 2, seed: int = 0) -> Tensor:
    """Grey values (N, side, side)."""
    return environment.sample(range(count), seed).x[:, 0]


def parts(environment: TwoObjects = PAPER) -> dict[str, Tensor]:
    blank = replace(environment, epochs=0)
    return dict(blank.setting(0, blank.train(0)).parts)


def test_a_class_has_rectangles_in_the_centre_and_at_the_top_left_edge() -> None:
    rectangles = images()[0]
    assert set(rectangles.unique().tolist()) == {0.0, 1.0}
    assert bool((rectangles[:6, :6] == 1).all())
    assert bool((rectangles[10:22, 10:22] == 1).all())
    assert float(rectangles.sum()) == 6 * 6 + 12 * 12  # and nothing else


def test_the_other_class_has_discs_in_the_centre_and_at_the_lower_right_edge() -> None:
    discs = images()[1]
    for middle, reach, first, last in ((16.0, 6.4, 10, 22), (28.8, 3.2, 26, 32)):
        expected = torch.zeros(32, 32)
        for down in range(32):
            for across in range(32):
                inside = (down + 0.5 - middle) ** 2 + (across + 0.5 - middle) ** 2 <= reach**2
                expected[down, across] = float(inside)
        assert torch.equal(discs[first:last, first:last], expected[first:last, first:last])
        assert float(expected.sum()) == float(expected[first:last, first:last].sum()) > 0
    assert float(discs[:10].sum()) == float(discs[:, :10].sum()) == 0


def test_channels_are_equal_and_labels_take_turns() -> None:
    samples = VARIED.sample([4, 7, 2], 3)
    assert torch.equal(samples.x[:, 0], samples.x[:, 1])
    assert torch.equal(samples.x[:, 0], samples.x[:, 2])
    assert samples.label.tolist() == [0, 1, 0]
    assert samples.truth is None


@pytest.mark.parametrize("environment", [PAPER, VARIED, TINY])
def test_each_part_holds_one_object_and_together_they_hold_both(environment: TwoObjects) -> None:
    centre, edge = parts(environment)["centre"], parts(environment)["edge"]
    assert not bool((centre & edge).any())
    for image in images(environment, 40):
        assert float(image[centre].sum()) > 0 < float(image[edge].sum())
        assert float(image.sum()) == pytest.approx(float(image[centre].sum() + image[edge].sum()), rel=1e-6)


def test_the_paper_s_data_are_two_images() -> None:
    assert torch.equal(images(count=4)[:2], images(count=4)[2:])
    assert torch.equal(images(seed=0), images(seed=5))
    assert torch.equal(PAPER.training_rows(3).x, PAPER.sample([0, 1], 0).x)
    assert identities(PAPER, range(4), 0) == identities(PAPER, range(4), 1) == [0, 1, 0, 1]


def test_varied_images_differ_from_each_other_and_from_training_images() -> None:
    rows = torch.cat([images(VARIED, 20, 0), images(VARIED, 20, 1), VARIED.training_rows(0).x[:, 0]])
    assert len({row.numpy().tobytes() for row in rows}) == len(rows)
    brightness = torch.tensor([float(row[row > 0].max()) for row in rows])
    assert 0.5 <= float(brightness.min()) < 0.8 < float(brightness.max()) <= 1
    assert not set(identities(VARIED, range(4), 0)) & set(identities(VARIED, range(4), 1))


def test_the_seed_trains_another_network_that_is_right_about_both_images() -> None:
    small = replace(PAPER, network="resnet8", side=16, width=4, epochs=20, lr=1e-2)
    samples, weights = small.sample([0, 1], 0), [small.train(seed) for seed in (0, 1)]
    assert any(not torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    for seed in (0, 1):
        outputs = small.setting(seed, weights[seed]).model(samples.x)
        assert outputs.argmax(dim=1).tolist() == [0, 1]


def test_every_mistake_is_listed() -> None:
    with pytest.raises(SpecError) as error:
        TwoObjects(centre=0.7, edge=0.2, vary=1.0, train_rows=3, lr=0.0)
    for words in ("overlap", "vary=1", "train_rows=3", "lr is positive"):
        assert words in str(error.value)
    with pytest.raises(SpecError, match="fewer than 3 pixels"):
        TwoObjects(side=12)
    with pytest.raises(SpecError, match="no network is called 'vgh'"):
        TwoObjects(network="vgh")
