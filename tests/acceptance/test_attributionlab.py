"""What AttributionLab (Zhang et al., 2024) promises about its designed networks, at the paper's size."""

import pytest
import torch
from torch import Tensor

from assay.craft.audit import audit
from assay.environments.color_count import ColorCount
from assay.environments.pixel_count import PixelCount
from assay.environments.pixel_modulo import PixelModulo

VARIANTS = [
    pytest.param(ColorCount(uniform=uniform, unseen=unseen), id=f"uniform={uniform},unseen={unseen}")
    for uniform in (False, True)
    for unseen in (True, False)
]


def image_with(count: int, side: int) -> Tensor:
    """A count of white pixels at random places, different for every count."""
    flat = torch.zeros(side * side)
    flat[torch.randperm(side * side, generator=torch.Generator().manual_seed(count))[:count]] = 1
    return flat.view(1, side, side)


@pytest.mark.parametrize("count", [16, pytest.param(1000, marks=pytest.mark.full)])
@pytest.mark.parametrize("uniform", [False, True])
def test_the_counting_network_is_exact_on_designed_images(uniform, count):
    environment = PixelCount(uniform=uniform)
    network = environment.network(0)
    for start in range(0, count, 8):
        samples = environment.sample(range(start, start + 8), 0)
        with torch.no_grad():
            assert torch.equal(network(samples.x)[:, 0], samples.truth.effect.sum(dim=(1, 2)))


def test_the_modulo_network_has_the_published_size():
    found = audit(PixelModulo().network(0), (1, 224, 224))
    assert (found.layers, found.parameters) == (17, 675_033)


@pytest.mark.parametrize("step", [49, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("uniform", [False, True])
def test_the_modulo_network_is_exact_for_every_count_up_to_4900(uniform, step):
    network = PixelModulo(uniform=uniform).network(0)
    counts = torch.arange(0, 4901, step)
    with torch.no_grad():
        answers = torch.cat(
            [network(torch.stack([image_with(int(count), 224) for count in part])) for part in counts.split(8)]
        )
    assert torch.equal(answers[:, 0], (counts % 30).float())


def accuracy_and_agreement(environment: ColorCount, count: int) -> tuple[float, bool]:
    network, right, equal = environment.network(0), 0, True
    for start in range(0, count, 8):
        samples = environment.sample(range(start, start + 8), 0)
        with torch.no_grad():
            logits = network(samples.x)
        right += int((logits.argmax(dim=1) == samples.label).sum())
        equal &= torch.equal(logits, environment.program(samples.x, 0))
    return right / count, equal


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("environment", VARIANTS)
def test_every_colour_network_is_right_on_a_thousand_images(environment):
    assert accuracy_and_agreement(environment, 1000) == (1.0, True)


@pytest.mark.parametrize("environment", VARIANTS)
def test_every_colour_network_is_right_and_equals_its_program_on_some_of_them(environment):
    assert accuracy_and_agreement(environment, 24) == (1.0, True)


@pytest.mark.full
def test_the_colour_program_is_right_on_a_thousand_images():
    environment = ColorCount()
    for start in range(0, 1000, 20):
        samples = environment.sample(range(start, start + 20), 0)
        assert torch.equal(environment.program(samples.x, 0).argmax(dim=1), samples.label)


# Propositions 3.1 and 3.2: taking away any true pixel changes the output, and every one does so equally.


def without_each(x: Tensor, places: Tensor, background: Tensor) -> Tensor:
    """Copies of one image (C, H, W), in each of which one place (row, column) shows the background."""
    copies = x.repeat(len(places), 1, 1, 1)
    copies[torch.arange(len(places)), :, places[:, 0], places[:, 1]] = background
    return copies


def with_each(places: Tensor, colour: Tensor, background: Tensor, side: int) -> Tensor:
    """Blank canvases (n, C, H, W), each with one pixel of a colour."""
    blank = background[:, None, None].expand(-1, side, side).repeat(len(places), 1, 1, 1)
    blank[torch.arange(len(places)), :, places[:, 0], places[:, 1]] = colour
    return blank


def answers(model, rows: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.cat([model(part) for part in rows.split(8)])


def steps_down(model, environment: ColorCount, index: int, pick=None) -> tuple[Tensor, Tensor]:
    """How the logits move when a coloured pixel is taken away (n, C), and each pixel's class (n,)."""
    samples = environment.sample([index], 0)
    places = samples.truth.effect[0].nonzero() if pick is None else pick(samples)
    background = torch.tensor(environment.background, dtype=torch.float32)
    pixels = samples.x[0, :, places[:, 0], places[:, 1]].T
    colours = torch.tensor(environment.colors, dtype=torch.float32)
    classes = (pixels[:, None] == colours).all(dim=2).int().argmax(dim=1)
    return model(samples.x) - answers(model, without_each(samples.x[0], places, background)), classes


def own_colour_by_one(moved: Tensor, classes: Tensor) -> bool:
    return torch.equal(moved, torch.nn.functional.one_hot(classes, moved.shape[1]).float())


def some_pixels(samples, count=200) -> Tensor:
    places = samples.truth.effect[0].nonzero()
    return places[torch.randperm(len(places), generator=torch.Generator().manual_seed(0))[:count]]


@pytest.mark.parametrize("images", [2, pytest.param(10, marks=pytest.mark.full)])
@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("unseen", [True, False])
def test_every_coloured_pixel_moves_its_own_count_by_exactly_one_at_64(uniform, unseen, images):
    environment = ColorCount(side=64, uniform=uniform, unseen=unseen)
    network = environment.network(0)
    with torch.no_grad():
        assert all(own_colour_by_one(*steps_down(network, environment, index)) for index in range(images))


def test_the_probability_moves_equally_within_a_colour_and_unequally_over_losing_colours():
    environment = ColorCount(side=64)
    network, temperature = environment.network(0), environment.setting(0, {}).question.temperature
    for index in range(10):
        samples = environment.sample([index], 0)
        winner = int(samples.label)
        with torch.no_grad():
            logits = network(samples.x)
            moved, classes = steps_down(network, environment, index)
        left = ((logits - moved).double() / temperature).softmax(dim=1)[:, winner]
        by_colour = [left[classes == colour].unique() for colour in range(4)]
        assert [len(values) for values in by_colour] == [1] * 4
        assert len({float(values) for colour, values in enumerate(by_colour) if colour != winner}) > 1


@pytest.mark.full
@pytest.mark.parametrize("witness", ["network", "program"])
def test_every_pixel_added_to_the_background_counts_equally_at_64(witness):
    environment = ColorCount(side=64)
    model = environment.network(0) if witness == "network" else lambda x: environment.program(x, 0)
    everywhere = torch.cartesian_prod(torch.arange(64), torch.arange(64))
    background = torch.tensor(environment.background, dtype=torch.float32)
    for number, color in list(enumerate(environment.colors))[: 1 if witness == "network" else None]:
        moved = answers(model, with_each(everywhere, torch.tensor(color).float(), background, 64))
        assert own_colour_by_one(moved, torch.full((len(everywhere),), number))


@pytest.mark.full
def test_every_coloured_pixel_moves_its_own_count_by_exactly_one_at_224():
    environment = ColorCount()
    with torch.no_grad():
        assert own_colour_by_one(*steps_down(lambda x: environment.program(x, 0), environment, 0))
        assert own_colour_by_one(*steps_down(environment.network(0), environment, 1, some_pixels))


def remainders_without_each(model, environment: PixelModulo, index: int, count=None) -> tuple[float, Tensor]:
    samples = environment.sample([index], 0)
    places = some_pixels(samples, count) if count else samples.truth.effect[0].nonzero()
    with torch.no_grad():
        full = float(model(samples.x))
    return full, answers(model, without_each(samples.x[0], places, torch.zeros(1)))[:, 0]


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("index", range(10))
def test_every_white_pixel_moves_the_remainder_by_exactly_one_at_64(uniform, index):
    environment = PixelModulo(side=64, uniform=uniform)
    full, left = remainders_without_each(environment.network(0), environment, index)
    assert torch.equal(left, torch.full_like(left, (full - 1) % 30))


@pytest.mark.full
def test_every_white_pixel_moves_the_remainder_by_exactly_one_at_224():
    environment = PixelModulo()
    full, left = remainders_without_each(lambda x: environment.program(x, 0), environment, 0)
    assert torch.equal(left, torch.full_like(left, (full - 1) % 30))
    full, left = remainders_without_each(environment.network(0), environment, 1, count=200)
    assert torch.equal(left, torch.full_like(left, (full - 1) % 30))
