"""Which layer class activation maps and bottlenecks are hung on, where nobody names one; and that they say so."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from assay.core.errors import NotApplicable
from assay.core.machine import Machine
from assay.core.rng import Stream, generator
from assay.engine.artifacts.answer import ZERO, answer, fit, make_query
from assay.environments.color_count import ColorCount
from assay.environments.pixel_count import PixelCount
from assay.environments.pixel_modulo import PixelModulo
from assay.methods.cam import GradCam, GradCamPlusPlus, LayerCam, ScoreCam, SmoothGradCamPlusPlus, XGradCam
from assay.methods.iba import Iba
from assay.methods.input_iba import InputIba
from assay.methods.smoothed import Smoothed
from assay.train.networks import initialise
from assay.train.resnet import Block, resnet, resnet18, resnet_wide_stem
from scenes import Flat, ask, cnn, data, fitted, randomised
from streams import seeded

# Side and uniform -> for grad_cam and for iba, the index in accumulator.layers and the shape of what it returns.
OF_COLOURS = {
    (16, False): (5, (4, 2, 2), 3, (12, 2, 2)),
    (32, False): (5, (4, 4, 4), 7, (12, 2, 2)),
    (224, False): (5, (4, 25, 25), 7, (12, 9, 9)),
    (16, True): (3, (4, 2, 2), 3, (4, 2, 2)),
    (32, True): (3, (4, 4, 4), 5, (4, 2, 2)),
    (224, True): (3, (4, 25, 25), 5, (4, 9, 9)),
}
OF_WHITE = {
    (16, False): (5, (3, 2, 2), 7, (1, 2, 2)),
    (32, False): (5, (3, 4, 4), 11, (1, 2, 2)),
    (224, False): (5, (3, 25, 25), 11, (1, 9, 9)),
    (16, True): (3, (1, 2, 2), 3, (1, 2, 2)),
    (32, True): (3, (1, 4, 4), 5, (1, 2, 2)),
    (224, True): (3, (1, 25, 25), 5, (1, 9, 9)),
}
PLACES = [(ColorCount, *place, *found) for place, found in OF_COLOURS.items()]
PLACES += [(made, *place, *found) for made in (PixelCount, PixelModulo) for place, found in OF_WHITE.items()]


def returned(model: nn.Module, name: str, x: Tensor) -> Tensor:
    seen: list[Tensor] = []
    handle = model.get_submodule(name).register_forward_hook(lambda _m, _i, output: seen.append(output.clone()))
    with torch.no_grad():
        model(x)
    handle.remove()
    return seen[-1]


def noted(method: object, query) -> list[str]:
    """The layers that are noted about all samples; a map of a random network may also be noted as 0 everywhere."""
    notes = answer(method, query).notes.items()
    return [text.removeprefix("layer ") for text, count in notes if text != ZERO and count == len(query.x)]


@pytest.mark.parametrize("environment, side, uniform, cam, cam_shape, iba, iba_shape", PLACES)
def test_at_every_side_it_is_the_papers_layer_or_the_last_block(
    environment, side, uniform, cam, cam_shape, iba, iba_shape
):
    setting = environment(side=side, uniform=uniform).setting(0, {})
    assert setting.hints == {"grad_cam": f"accumulator.layers.{cam}", "iba": f"accumulator.layers.{iba}"}
    x = torch.zeros(1, *setting.features.entries)
    for name, shape in zip(setting.hints.values(), (cam_shape, iba_shape), strict=True):
        assert isinstance(setting.model.get_submodule(name), nn.ReLU)
        assert returned(setting.model, name, x).shape == (1, *shape)


@pytest.mark.parametrize("side", [16, 32])
def test_grad_cam_on_colours_hangs_on_the_relu_after_the_first_convolution_of_single_pixels(side):
    environment = ColorCount(side=side)
    setting = environment.setting(0, {})
    layers = list(setting.model.accumulator.layers)
    joins = [at for at, part in enumerate(layers) if isinstance(part, nn.Conv2d) and part.kernel_size == (1, 1)]
    query = make_query(setting, environment.sample(range(2), 0), setting.question, Stream("test"), Machine())
    assert noted(GradCam(), query) == [f"accumulator.layers.{joins[0] + 1}"]


def test_where_the_first_block_is_all_there_is_it_is_that():
    setting = ColorCount(side=8, sizes=(1, 2)).setting(0, {})
    assert set(setting.hints.values()) == {"accumulator.layers.1"}
    assert returned(setting.model, "accumulator.layers.1", torch.zeros(1, 3, 8, 8)).shape == (1, 4, 3, 3)


def trained(network: nn.Module) -> nn.Module:
    initialise(network, generator("test"))
    stream = torch.Generator().manual_seed(3)
    for part in network.modules():
        if isinstance(part, nn.BatchNorm2d):  # means of both signs, so that a branch differs from its block
            part.running_mean.copy_(0.3 * torch.randn(part.running_mean.shape, generator=stream))
    return network.eval()


def literal(block: Block, x: Tensor) -> Tensor:
    """Both paths, their sum, and its ReLU."""
    inner = block.bn2(block.conv2(block.bn1(block.conv1(x)).relu()))
    return (inner + block.shortcut(x)).relu()


@pytest.mark.parametrize(
    "network, side",
    [
        (resnet(8, 4, width=4), 32),
        (resnet(20, 4, width=4), 32),
        (resnet_wide_stem(8, 4, width=4), 32),
        (resnet_wide_stem(14, 4, width=4), 32),
        (resnet18(4, width=4), 64),
    ],
)
def test_on_a_residual_network_it_is_the_last_block_after_its_sum_and_relu(network, side):
    model, x = trained(network), data(2, 3, side, side)
    last = [part for part in model.modules() if isinstance(part, Block)][-1]
    entered: list[Tensor] = []
    handle = last.register_forward_hook(lambda _m, inputs, _o: entered.append(inputs[0]))
    with torch.no_grad():
        model(x)
        expected = literal(last, entered[0])
        branch = last.bn2(last.conv2(last.relu1(last.bn1(last.conv1(entered[0])))))
    handle.remove()
    query = ask(model, x)
    (cam,), (iba,) = noted(GradCam(), query), noted(Iba(steps=1, copies=1), fitted(Iba(), query))
    assert cam == iba
    assert torch.equal(returned(model, cam, x), expected)
    assert (expected - branch).abs().max() > 1e-3
    assert min(expected.shape[2:]) > 1


class Residual(nn.Module):
    """A block in another hand: its sum and its ReLU are made in place, by functions or by one module used twice."""

    @seeded()
    def __init__(self, way: str) -> None:
        super().__init__()
        self.one, self.two = nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1)
        self.relu, self.way = nn.ReLU(inplace=True), way

    def forward(self, x: Tensor) -> Tensor:
        inner = self.two(self.relu(self.one(x)))
        if self.way == "function":
            return F.relu(inner + x)
        inner += x
        return self.relu(inner) if self.way == "module in place" else inner.relu_()


@pytest.mark.parametrize("way", ["function", "in place", "module in place"])
@pytest.mark.parametrize("again", [False, True])
@seeded()
def test_it_does_not_matter_how_a_block_is_written(way, again):
    blocks = nn.Sequential(Residual(way), Residual(way))
    ends = [nn.Flatten(), nn.Linear(192, 8), blocks[1].relu if again else nn.Tanh(), nn.Linear(8, 3)]
    model = randomised(nn.Sequential(blocks, nn.AvgPool2d(1), *ends))
    x = data(2, 3, 8, 8)
    with torch.no_grad():
        middle = x
        for block in blocks:
            middle = (block.two(block.one(middle).relu()) + middle).relu()
    (name,) = noted(GradCam(), ask(model, x))
    assert torch.equal(returned(model, name, x), middle)
    assert torch.isfinite(GradCam()(ask(model, x))).all()


@seeded()
def test_of_several_modules_that_return_the_same_map_the_innermost_is_named():
    model = randomised(
        Flat(nn.Sequential(nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU()), nn.Dropout()), nn.Linear(108, 3))
    )
    assert noted(GradCam(), ask(model, data(2, 2, 8, 8))) == ["body.0.1"]


@seeded()
def test_a_pooled_map_counts_only_where_there_is_no_other():
    pooled = randomised(Flat(nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.MaxPool2d(2)), nn.Linear(27, 3)))
    assert noted(GradCam(), ask(pooled, data(2, 2, 8, 8))) == ["body.1"]
    alone = randomised(Flat(nn.Sequential(nn.Identity(), nn.AvgPool2d(2)), nn.Linear(32, 3)))
    assert noted(GradCam(), ask(alone, data(2, 2, 8, 8))) == ["body.1"]


@seeded()
def test_neither_the_model_itself_nor_its_input_is_a_layer():
    for model in (nn.Sequential(nn.Dropout(), nn.Flatten(), nn.Linear(128, 3)), nn.Sequential(nn.Flatten(), nn.Tanh())):
        with pytest.raises(NotApplicable, match="needs a convolutional layer"):
            GradCam()(ask(randomised(model), data(2, 2, 8, 8)))


CAMS = [GradCam(), GradCamPlusPlus(), SmoothGradCamPlusPlus(samples=2), XGradCam(), LayerCam(), ScoreCam()]
SHORT_INPUT_IBA = InputIba(feature_steps=2, steps=2, copies=6, targets=6, group=3, epochs=1, batch=6, hidden=(4, 4))


@pytest.mark.parametrize(
    "method", [*CAMS, Iba(steps=2, copies=2), SHORT_INPUT_IBA], ids=lambda method: type(method).__name__
)
def test_every_method_that_uses_a_layer_names_it(method):
    query = fitted(method, ask(cnn(), data(2, 2, 8, 8)))
    assert noted(method, query) == ["body.4"]


def test_a_named_layer_and_one_inside_a_combinator_are_named_too():
    query = ask(cnn(), data(2, 2, 8, 8))
    assert noted(GradCam("body.1"), query) == ["body.1"]
    assert noted(Smoothed(GradCam(), samples=3), query) == ["body.4"]


def test_a_bottleneck_takes_the_environments_layer_for_bottlenecks():
    environment = ColorCount(side=32, reference=8)
    setting = environment.setting(0, {})
    method = Iba(steps=1, copies=1)
    query = make_query(setting, environment.sample(range(1), 0), setting.question, Stream("test"), Machine())
    found = fit(method, setting, setting.question, ("fit", 0), Machine())
    assert found["mean"].shape == (12, 2, 2)
    assert noted(method, replace(query, fitted=found)) == ["accumulator.layers.7"]
