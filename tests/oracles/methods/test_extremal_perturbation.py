"""Extremal perturbation, against a literal program: pixel by pixel, SciPy's blur, torch's own SGD and sort."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, exp, floor, hypot

import pytest
import torch
from scipy.ndimage import gaussian_filter
from torch import nn
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.core.machine import Machine
from assay.methods.extremal_perturbation import ExtremalPerturbation
from scenes import Flat, ask, data, mlp, randomised
from streams import seeded

CHEAP = ExtremalPerturbation(iterations=4, step=3, sigma=2.0)


@seeded()
def net(channels=2):
    body = nn.Sequential(nn.Conv2d(channels, 3, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
    return randomised(Flat(body, nn.Linear(12, 3))).double()


def pixel(numbers, y, x, step, sigma):
    """The smooth maximum at a place of the canvas, whose first number lies ``margin`` from its edge."""
    cells = ceil(sigma / step)
    margin, radius, padding = step * cells, 1 + cells, 1 + 2 * cells
    seen, outside = [], 0
    for down in range(2 * radius + 1):
        for across in range(2 * radius + 1):
            i, j = y // step + down - padding, x // step + across - padding
            distance = hypot(y - margin - step * i, x - margin - step * j)
            if 0 <= i < numbers.shape[0] and 0 <= j < numbers.shape[1]:
                seen.append(exp(-2 * max(distance / sigma - 0.5, 0) ** 2) * numbers[i, j])
            else:
                outside += 1  # a number 0
    values = torch.stack([*seen, *[torch.zeros_like(numbers[0, 0])] * outside])
    return (values * torch.exp(20 * values)).sum() / torch.exp(20 * values).sum()


def canvas_of(numbers, step, sigma):
    height, width = (step * (count - 1) + 2 * step * ceil(sigma / step) + 1 for count in numbers.shape)
    rows = [[pixel(numbers, y, x, step, sigma) for x in range(width)] for y in range(height)]
    return torch.stack([torch.stack(row) for row in rows])


def blurs(x, levels, largest):
    """From the most blurred to the image itself."""
    found = []
    for level in range(levels - 1):
        sigma = largest * (1 - level / (levels - 1))
        image = gaussian_filter(x.numpy(), sigma, mode="constant", radius=ceil(4 * sigma), axes=(1, 2))
        found.append(torch.from_numpy(image))
    return [*found, x]


def perturbed(method, x, baseline, mask, levels):
    """One pixel at a time."""
    columns = []
    for y, row in enumerate(mask):
        for z, value in enumerate(row):
            if method.perturbation == "fade":
                columns.append(value * x[:, y, z] + (1 - value) * baseline[:, y, z])
                continue
            place = value * (len(levels) - 1)
            lower = floor(place.item())
            upper = min(lower + 1, len(levels) - 1)
            share = place - lower
            columns.append((1 - share) * levels[lower][:, y, z] + share * levels[upper][:, y, z])
    return torch.stack(columns, dim=1).view_as(x)


def judge(method, query, row, nothing):
    """What an image is worth; ``nothing`` is the image with everything perturbed."""

    def score(image):
        return query.module(image[None])[0, query.target[row]]

    def worth(image):
        if not (method.reward == "closeness" or (method.reward == "auto" and query.question.readout == "value")):
            return score(image)
        whole = score(query.x[row])
        near = 0.01 * max(whole.abs().item(), score(nothing).abs().item())
        distance = (score(image) - whole).abs()
        return -(distance**2 / (2 * near) if distance < near else distance - near / 2)

    return worth


def literal(method, query, row, area):
    """The masks of all iterations for one sample."""
    x, baseline = query.x[row], query.baseline[row]
    height, width = x.shape[1:]
    step, sigma = method.step, method.sigma
    numbers = torch.ones(ceil(height / step), ceil(width / step), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([numbers], lr=0.01, momentum=0.9, dampening=0.9)
    levels = blurs(x, method.levels, method.blur or 20 * min(height, width) / 224)
    margin, weight, masks = step * ceil(sigma / step), method.weight, []

    def image(mask):
        return perturbed(method, x, baseline, mask, levels)

    worth = judge(method, query, row, image(torch.zeros(height, width)))
    for iteration in range(method.iterations):
        canvas = canvas_of(numbers, step, sigma)
        mask = canvas[margin : margin + height, margin : margin + width]
        masks.append(mask.detach().clone())
        kept, left = image(mask), image(1 - mask)
        if method.flip and iteration % 2 == 0:
            kept, left = kept.flip(2), left.flip(2)
        energy = {"preserve": worth(kept), "delete": -worth(left), "dual": worth(kept) - worth(left)}[method.variant]
        order = (canvas.detach().flatten() * 8192).round().sort(stable=True).indices
        step_of_area = torch.ones(canvas.numel(), dtype=torch.float64)
        step_of_area[: int(canvas.numel() * (1 - area))] = 0
        energy = energy - weight * ((canvas.flatten()[order] - step_of_area) ** 2).mean()
        optimizer.zero_grad()
        (-energy).backward()
        optimizer.step()
        numbers.data.clamp_(0, 1)
        weight *= 1.0035
    return masks


def agree(method, query):
    expected = [literal(method, query, row, method.areas[0]) for row in range(len(query.x))]
    for iterations in range(1, method.iterations + 1):
        found = replace(method, iterations=iterations)(query)
        wanted = torch.stack([masks[iterations - 1] for masks in expected])
        assert_close(found, wanted, rtol=1e-9, atol=1e-12)
    assert (wanted - expected[0][0]).abs().max() > 1e-3  # something was learnt


@pytest.mark.parametrize("variant", ["preserve", "delete", "dual"])
@pytest.mark.parametrize("perturbation", ["blur", "fade"])
def test_every_step_is_the_literal_one(variant, perturbation):
    method = replace(CHEAP, variant=variant, perturbation=perturbation)
    agree(method, ask(net(), 3 * data(1, 2, 6, 5).double(), baseline=0.3))


@pytest.mark.parametrize("readout, kind", [("value", "auto"), ("value", "score"), ("probability", "closeness")])
def test_every_reward_is_the_literal_one(readout, kind):
    agree(replace(CHEAP, reward=kind, blur=1.5), ask(net(), 3 * data(1, 2, 5, 6).double(), readout))


@pytest.mark.parametrize("variant", ["preserve", "dual"])
def test_small_distances_are_squared(variant):
    """Perturbed, the image is a little stronger: the score changes by up to 1.3 %."""
    x = 3 * data(1, 2, 6, 5).double()
    method = replace(CHEAP, perturbation="fade", variant=variant, weight=30.0, flip=False)
    agree(method, ask(net(), x, "value", baseline=1.002 * x))


def test_samples_of_one_channel_other_levels_and_another_area():
    method = replace(CHEAP, areas=(0.4,), levels=3, step=2, sigma=1.5)
    agree(method, ask(net(1), 3 * data(2, 1, 4, 5).double()))


def test_jitter_lowers_the_first_numbers_of_each_sample_at_random():
    """At step 1 and a small sigma a pixel is its own number, spread by a known smooth maximum that grows with it."""
    query = ask(net(), 3 * data(2, 2, 6, 5).double())
    ones = ExtremalPerturbation(iterations=1, step=1, sigma=0.1)
    lowered = replace(ones, jitter=0.5)(query) / ones(query)
    draws = query.draws("start").uniform(6, 5).double()
    order = [lowered.flatten(1).argsort(dim=1).tolist(), (1 - 0.5 * draws).flatten(1).argsort(dim=1).tolist()]
    assert order[0] == order[1]
    assert lowered.max() < 1
    assert lowered.min() > 0.45
    assert torch.equal(replace(ones, jitter=0.5)(query.take(slice(1, 2))), replace(ones, jitter=0.5)(query)[1:])


def test_of_several_areas_the_mean_is_taken():
    query = ask(net(), 3 * data(3, 2, 8, 8).double())
    first, second = (replace(CHEAP, areas=(area,))(query) for area in (0.1, 0.5))
    assert_close(replace(CHEAP, areas=(0.1, 0.5))(query), (first + second) / 2, rtol=1e-12, atol=1e-12)
    assert not torch.equal(first, second)


def test_sizes_are_in_proportion_to_the_shorter_side():
    """64 of 224 pixels are 2/7 of 7, 21 and 20."""
    query = ask(net(), data(2, 2, 64, 70).double())
    given = ExtremalPerturbation(iterations=2, step=2, sigma=6.0, blur=40 / 7)
    assert_close(ExtremalPerturbation(iterations=2)(query), given(query), rtol=1e-12, atol=1e-12)


class Region(nn.Module):
    """How much of the texture is left in one place."""

    def __init__(self, texture, top, left, side):
        super().__init__()
        weight = torch.zeros_like(texture)
        part = (slice(None), slice(top, top + side), slice(left, left + side))
        weight[part] = texture[part] / side**2
        self.register_buffer("weight", weight)

    def forward(self, x):
        return (self.weight * x).sum(dim=(1, 2, 3))[:, None]


KINDS = [("blur", "preserve"), ("blur", "dual"), ("fade", "preserve"), ("fade", "delete"), ("fade", "dual")]


@pytest.mark.parametrize("perturbation, variant", KINDS)
def test_the_mask_lies_where_the_model_reads(perturbation, variant):
    """A network that reads 8 x 8 of 24 x 24 pixels: 1/9 of the image, less of the canvas."""
    texture = data(1, 24, 24).sign()
    query = ask(Region(texture, 3, 12, 8), 10 * texture[None], "logit")
    method = ExtremalPerturbation(
        areas=(0.08,), variant=variant, perturbation=perturbation, iterations=100, step=2, sigma=2.5, flip=False
    )
    found = method(query)[0]
    inside = found[3:11, 12:20].mean()
    outside = (found.sum() - found[3:11, 12:20].sum()) / (24 * 24 - 64)
    assert inside > 0.75
    assert outside < 0.1


@seeded()
def test_a_value_is_kept_not_raised():
    """Where half of the image speaks against the other, the largest score keeps one half, the same score both."""
    weight = torch.cat([torch.full((1, 16, 8), 1 / 16), torch.full((1, 16, 8), -1 / 16)], dim=2)
    model = Flat(nn.Identity(), nn.Linear(256, 1, bias=False)).requires_grad_(False)
    model.head.weight.copy_(weight.view(1, -1))
    query = ask(model, torch.ones(1, 1, 16, 16), "value")
    method = ExtremalPerturbation(areas=(0.3,), perturbation="fade", iterations=50, step=2, sigma=2.0, flip=False)

    def score(mask):
        return query.score(mask[:, None]).item()

    assert abs(score(method(query))) < 1  # 0.2 to 0.6: the last bits of a sum, and so the processor, change the path
    assert score(replace(method, reward="score")(query)) > 2


def test_blocks_of_any_size_give_the_same_masks():
    query = ask(net(), 3 * data(5, 2, 9, 8).double())
    expected = CHEAP(query)
    for rows in (1, 4):
        machine = Machine(memory=query.footprint.gradient * rows)
        assert_close(CHEAP(replace(query, machine=machine)), expected, rtol=1e-12, atol=1e-12)


def test_where_it_does_not_apply():
    with pytest.raises(NotApplicable, match="needs images, and this is table data"):
        ExtremalPerturbation()(ask(mlp(), data(1, 6)))
    for wrong in ({"step": 0}, {"sigma": 0.0}, {"blur": -1.0}, {"levels": 1}):
        with pytest.raises(SpecError, match="cannot make masks"):
            ExtremalPerturbation(**wrong)
    for wrong in ({"areas": ()}, {"areas": (0.1, 1.0)}, {"iterations": 0}):
        with pytest.raises(SpecError, match="cannot be optimised"):
            ExtremalPerturbation(**wrong)
