"""Information bottleneck attribution at the input (Zhang et al., 2021)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm, conv2d, leaky_relu, linear, pad

from assay.core.errors import SpecError
from assay.core.query import Query
from assay.core.rng import Draws
from assay.methods._bottleneck import Bottleneck, Descent, bottleneck_layer, layer_output, objective
from assay.methods._layer_maps import activations
from assay.methods.iba import Iba, bits

SLOPE = 0.2  # of the leaky ReLUs
SMALLEST = 4  # positions per side that two convolutions of stride 2 need


@dataclass(frozen=True)
class InputIba:
    """Share of each pixel that a bottleneck at the input passes on, with a prior from a bottleneck at a layer.

    1. A bottleneck at a layer, without smoothing, gives its capacity (``iba``). 2. An image mask g and noise per
    channel are fitted, so that the layer's outputs for g * x + (1 - g) * noise look to a Wasserstein critic like
    capacity * features + (1 - capacity) * noise. As in the authors' program, this mask is the capacity in nats, which
    may exceed 1. 3. A mask at the input is fitted like a layer's, but only what g does not explain counts as
    information. The attribution is its mean over channels, unsmoothed, between 0 and 1.

    The loss is that of ``iba``. With the defaults, an image costs 5,974 rows of the model. Images are explained one at
    a time, because each has its own critic: side by side in grouped convolutions, eight critics took 0.6 times (1
    channel, 9 x 9 pixels) to 1.4 times (64 channels, 14 x 14) as long on a CPU thread. So an attribution has the same
    bits in any block.
    """

    layer: str = ""  # a layer's name; empty: the environment's choice, or the last block of more than one pixel
    feature_beta: float = 20.0  # weight of the information at the layer
    feature_steps: int = 10  # forward passes of Adam at the layer
    beta: float = 20.0  # weight of the information at the input
    steps: int = 60  # of Adam at the input
    lr: float = 1.0  # learning rate of Adam, at the layer and at the input
    copies: int = 10  # noisy copies in each step of Adam
    alpha: float = 5.0  # start of both masks: sigmoid(5) = 0.993
    sigma: float = 1.0  # of the Gaussian that smooths the input's mask, in pixels; 0: none
    mean: float = 0.0  # of the noise at the input; the generator's noise starts with it
    std: float = 1.0  # of the noise at the input; the generator's noise starts with it
    targets: int = 200  # masked feature maps for the critic
    group: int = 20  # targets that share a mean and a deviation of their noise
    spread: float = 5.0  # largest deviation of a group's noise
    shift: float = 2.0  # largest size of the mean of a group's noise
    epochs: int = 20  # of the critic
    batch: int = 32  # targets in each step of the critic
    every: int = 5  # batches of an epoch for one step of the generator
    mask_lr: float = 0.003  # learning rate of the generator's mask
    mean_lr: float = 0.1  # learning rate of the mean of the generator's noise
    std_lr: float = 0.05  # learning rate of the deviation of the generator's noise
    critic_lr: float = 5e-5  # learning rate of the critic
    clip: float = 0.01  # largest size of the critic's weights
    hidden: tuple[int, int] = (512, 256)  # widths of the critic's linear layers
    min_std: float = 0.01  # smallest deviation of the noise at the layer
    objective: Literal["auto", "cross_entropy", "squared_error"] = "auto"  # the loss
    rows: int = 1000  # most reference rows for the layer's statistics
    active: float = 0.01  # share of the reference rows above which a neuron counts as not silent

    paper: ClassVar[str] = "Zhang et al., 2021"
    positive_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.targets < self.group or self.group < 1 or self.targets % self.group:
            raise SpecError(f"input_iba: {self.targets} targets are not made of whole groups of {self.group}.")
        if self.batch < 2 or self.targets % self.batch == 1:
            raise SpecError(
                f"input_iba: {self.targets} targets in batches of {self.batch} leave the critic with one target, which "
                "it cannot normalise. Choose another batch, of 2 or more."
            )
        if self.steps < 1 or self.epochs < 0 or self.every < 1 or min(self.hidden) < 1:
            raise SpecError(
                f"input_iba: steps={self.steps}, epochs={self.epochs}, every={self.every}, hidden={self.hidden} cannot "
                "fit a mask. Choose epochs of 0 or more, and steps, every and hidden of 1 or more."
            )
        positive = ("std", "mask_lr", "mean_lr", "std_lr", "critic_lr", "clip")
        invalid = [name for name in positive if getattr(self, name) <= 0]
        invalid += [name for name in ("beta", "sigma", "spread", "shift") if getattr(self, name) < 0]
        if invalid:
            raise SpecError(
                f"input_iba: {invalid[0]}={getattr(self, invalid[0])} cannot fit a mask. Choose a positive number."
            )
        _ = self._at_layer  # checks the parameters that it shares with iba

    @property
    def _at_layer(self) -> Iba:
        return Iba(
            layer=self.layer,
            beta=self.feature_beta,
            steps=self.feature_steps,
            lr=self.lr,
            copies=self.copies,
            alpha=self.alpha,
            sigma=0.0,
            min_std=self.min_std,
            objective=self.objective,
            rows=self.rows,
            active=self.active,
        )

    def fit(self, query: Query) -> dict[str, Tensor]:
        return self._at_layer.fit(query)

    def __call__(self, query: Query) -> Tensor:
        layer = bottleneck_layer(query, self.layer)
        return torch.cat([self._map(query.take(slice(row, row + 1)), layer) for row in range(len(query.x))])

    def _map(self, query: Query, layer: nn.Module) -> Tensor:
        """The attribution of one image: (1, height, width)."""
        x, prior = query.x, self.prior(query, layer, self._at_layer.capacity(query, layer))
        mean, deviation, active = (x.new_tensor(number) for number in (self.mean, self.std, 1.0))
        bottleneck = Bottleneck(x, mean, deviation, self.sigma, active, prior)
        descent = Descent(self.beta, self.steps, self.lr, self.copies, self.alpha)
        prediction_loss = objective(query, self.objective)

        def loss(mixed: Tensor) -> Tensor:
            return prediction_loss(mixed.flatten(0, 1), mixed.shape[1])

        alpha = descent(query, bottleneck, loss, "input")
        return alpha.sigmoid().mean(dim=1).to(x.dtype)

    def prior(self, query: Query, layer: nn.Module, capacity: Tensor) -> Tensor:
        """The image mask g, (1, channels, height, width), of one image with this capacity at the layer."""
        features, draws = activations(query, layer), query.draws("generator")
        targets = self.masked(query, features, capacity.to(features))
        critic = Critic(query.draws("critic"), features, self.hidden, self.critic_lr, self.clip)
        channels = query.x[:, :, :1, :1]
        start = bits(query, capacity).to(query.x.dtype).expand_as(query.x)
        starts = (start, torch.full_like(channels, self.mean), torch.full_like(channels, self.std))
        generator = Generator(query, layer, starts, (self.mask_lr, self.mean_lr, self.std_lr))
        for _ in range(self.epochs):
            order = draws.permutations(len(targets))[0].to(targets.device)
            for number, rows in enumerate(order.split(self.batch)):
                noise = draws.normal(len(rows), *query.x.shape[1:])[0].to(query.x)
                fake = generator.features(noise)
                critic.learn(targets[rows], fake)
                if number % self.every == 0:
                    generator.learn(noise, critic.gradient_at(fake))
        return generator.mask()

    def masked(self, query: Query, features: Tensor, mask: Tensor) -> Tensor:
        """The features mixed with noise by a mask, which the generator imitates: (targets, C, h, w)."""
        draws, groups = query.draws("targets"), self.targets // self.group
        deviation = self.spread * draws.uniform(groups)[0]
        mean = self.shift * (2 * draws.uniform(groups)[0] - 1)
        noise = draws.normal(self.targets, *features.shape[1:])[0].to(features)
        scale, offset = (
            values.to(features).repeat_interleave(self.group).view(-1, 1, 1, 1) for values in (deviation, mean)
        )
        return mask * features + (1 - mask) * (scale * noise + offset)


class Generator:
    """An image mixed with noise per channel by a mask, and a layer's output for it."""

    def __init__(self, query: Query, layer: nn.Module, starts: Iterable[Tensor], rates: Iterable[float]) -> None:
        self.query, self.layer = query, layer
        self.parameters = [start.clone() for start in starts]  # the mask before its sigmoid, noise's mean and deviation
        groups = [{"params": [start], "lr": rate} for start, rate in zip(self.parameters, rates, strict=True)]
        self.optimiser = torch.optim.RMSprop(groups)

    def mask(self) -> Tensor:
        return self.parameters[0].sigmoid()

    def features(self, noise: Tensor) -> Tensor:
        """The layer's outputs for the image under each noise (B, channels, height, width)."""
        with torch.no_grad():
            return torch.cat([self._output(noise[part]) for part in self.query.parts(len(noise))])

    def learn(self, noise: Tensor, gradient: Tensor) -> None:
        """One descent step; ``gradient`` is the loss's at the features."""
        for parameter in self.parameters:
            parameter.requires_grad_().grad = None
        for part in self.query.parts(len(noise), gradients=True):
            with torch.enable_grad():
                self._output(noise[part]).backward(gradient[part], inputs=self.parameters)
        self.optimiser.step()
        for parameter in self.parameters:
            parameter.requires_grad_(False)

    def _output(self, noise: Tensor) -> Tensor:
        _, mean, deviation = self.parameters
        mask = self.mask()
        images = mask * self.query.x + (1 - mask) * (deviation * noise + mean)
        return layer_output(self.query, self.layer, images)


class Critic:
    """Distinguishes maps (B, C, h, w) from imitations of them.

    Convolutions C -> 2C -> 4C -> C (kernels 4, 4, 3, strides 2, 2, 1), each with batch normalisation by the
    statistics of the batch, then linear layers down to one number. Maps with fewer than four positions per side are
    padded with zeros. ``draws`` is one sample's stream; weights are initialised as in PyTorch.
    """

    def __init__(self, draws: Draws, maps: Tensor, hidden: tuple[int, ...], lr: float, clip: float) -> None:
        channels, *sides = maps.shape[1:]
        kernels = [(2 * channels, channels, 4), (4 * channels, 2 * channels, 4), (channels, 4 * channels, 3)]
        self.convolutions = [
            (*_initial_weights(draws, maps, out, inputs, side, side), maps.new_ones(out), maps.new_zeros(out))
            for out, inputs, side in kernels
        ]
        height, width = (max(side, SMALLEST) // 4 for side in sides)
        widths = (channels * height * width, *hidden, 1)
        self.linears = [_initial_weights(draws, maps, outputs, inputs) for inputs, outputs in pairwise(widths)]
        self.clip = clip
        self.optimiser = torch.optim.RMSprop(self._weights(), lr=lr)

    def __call__(self, maps: Tensor) -> Tensor:
        """One number per map, larger for maps that look real."""
        height, width = maps.shape[2:]
        maps = pad(maps, (0, max(0, SMALLEST - width), 0, max(0, SMALLEST - height)))
        for (weight, bias, scale, offset), stride in zip(self.convolutions, (2, 2, 1), strict=True):
            maps = conv2d(maps, weight, bias, stride=stride, padding=1)
            maps = leaky_relu(batch_norm(maps, None, None, scale, offset, training=True), SLOPE)
        rows = maps.flatten(1)
        for weight, bias in self.linears[:-1]:
            rows = leaky_relu(linear(rows, weight, bias), SLOPE)
        return linear(rows, *self.linears[-1]).squeeze(1)

    def learn(self, real: Tensor, fake: Tensor) -> None:
        """One training step; weights are then clipped."""
        weights = [weight.requires_grad_() for weight in self._weights()]
        with torch.enable_grad():
            slopes = torch.autograd.grad(self(fake).mean() - self(real).mean(), weights)
        for weight, slope in zip(weights, slopes, strict=True):
            weight.requires_grad_(False).grad = slope
        self.optimiser.step()
        for weight in weights:
            weight.clamp_(-self.clip, self.clip)

    def gradient_at(self, fake: Tensor) -> Tensor:
        """The gradient of minus the mean output, with respect to the imitations."""
        fake = fake.detach().requires_grad_()
        with torch.enable_grad():
            (slope,) = torch.autograd.grad(-self(fake).mean(), fake)
        return slope

    def _weights(self) -> list[Tensor]:
        return [weight for layer in (*self.convolutions, *self.linears) for weight in layer]


def _initial_weights(draws: Draws, like: Tensor, *shape: int) -> tuple[Tensor, Tensor]:
    """A weight and a bias, uniform between -1 / sqrt(inputs) and 1 / sqrt(inputs)."""
    bound = (torch.Size(shape).numel() / shape[0]) ** -0.5
    weight, bias = (bound * (2 * draws.uniform(*size)[0].to(like) - 1) for size in (shape, shape[:1]))
    return weight, bias
