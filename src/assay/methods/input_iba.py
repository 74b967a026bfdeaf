"""Information bottleneck attribution at the input (Zhang et al., 2021)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.core.query import Query
from assay.kit.bottleneck import Bottleneck
from assay.kit.critic import Critic
from assay.methods._bottleneck import Descent, bottleneck_layer, layer_output, objective
from assay.methods._layer_maps import activations
from assay.methods.iba import Iba, bits


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
        alpha = descent(query, bottleneck, objective(query, self.objective), "input")
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
