"""Class activation maps: the sum of a layer's channels, weighted by gradients or by scores, enlarged to the image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.core.query import Query
from assay.methods._layer_maps import activations, activations_and_gradients, layer_grid, spatial_layer, upsampled

EPSILON = 1e-8  # torchcam's, against a division by 0 in channels that are 0 everywhere
Weigh = Callable[[Tensor, Tensor], Tensor]  # activations, gradients (N, C, h, w) -> weights of channels or of entries


def gradient_map(query: Query, name: str, relu: bool, weigh: Weigh) -> Tensor:
    """The map of a layer; ``weigh`` makes weights of its activations and the explained number's gradient there."""
    query.require_gradients()
    layer = spatial_layer(query, name)
    pairs = (activations_and_gradients(block, layer) for block in query.blocks())
    return pixel_map(query, torch.cat([weighted_sum(weigh(maps, gradients), maps) for maps, gradients in pairs]), relu)


def weighted_sum(weights: Tensor, maps: Tensor) -> Tensor:
    """The sum over channels of weight times map: (N, 1, h, w)."""
    return (weights * maps).sum(dim=1, keepdim=True)


def pixel_map(query: Query, maps: Tensor, relu: bool) -> Tensor:
    """(N, 1, h, w) enlarged to one number per pixel; ``relu`` first sets negative values to 0."""
    if relu:
        query.remarks.grid = layer_grid(query, maps)
    return upsampled(query, maps.clamp(min=0) if relu else maps).squeeze(1)


@dataclass(frozen=True)
class GradCam:
    """The sum of a layer's channels, each weighted by the mean of its gradient, enlarged to the image.

    The gradient is that of the explained number, readout included.
    """

    layer: str = ""  # a layer's name; empty: the environment's choice, or the last block of more than one pixel
    relu: bool = True  # keep only what speaks for the class

    paper: ClassVar[str] = "Selvaraju et al., 2017"

    @property
    def positive_only(self) -> bool:
        return self.relu

    def __call__(self, query: Query) -> Tensor:
        return gradient_map(query, self.layer, self.relu, lambda _, gradients: gradients.mean(dim=(2, 3), keepdim=True))


@dataclass(frozen=True)
class GradCamPlusPlus:
    """The sum of a layer's channels, each weighted by the sum of alpha * ReLU(gradient) over its pixels.

    With Y = exp(score) and a score that is piecewise linear in the activations A, the derivatives of Y are Y g, Y g^2
    and Y g^3, where g is the score's gradient. So alpha = Y'' / (2 Y'' + sum(A) Y''') = g^2 / (2 g^2 + sum(A) g^3), or
    1 / (2 + sum(A) g). Y itself, one positive factor per sample, is left out. alpha is 0 where its denominator is 0.
    The score is the explained number, readout included. Meant for layers after a ReLU: where sum(A) is negative, the
    denominator may come close to 0 and the weight may get very large. The authors' program also scales alphas to sum 1;
    the paper does not.

    ``torchcam``: torchcam 0.4 divides a copy only, so that its alpha is g^2. Published benchmarks used this form.
    """

    layer: str = ""  # a layer's name; empty: the environment's choice, or the last block of more than one pixel
    relu: bool = True  # keep only what speaks for the class
    form: Literal["paper", "torchcam"] = "paper"  # which alpha

    paper: ClassVar[str] = "Chattopadhyay et al., 2018"

    @property
    def positive_only(self) -> bool:
        return self.relu

    def __call__(self, query: Query) -> Tensor:
        return gradient_map(query, self.layer, self.relu, self._weights)

    def _weights(self, activations: Tensor, gradients: Tensor) -> Tensor:
        alpha = gradients**2 if self.form == "torchcam" else _alpha(activations, gradients)
        return (alpha * gradients.clamp(min=0)).sum(dim=(2, 3), keepdim=True)


def _alpha(activations: Tensor, gradients: Tensor) -> Tensor:
    # Both sides are divided by g^2, which underflows in float32 long before g. Where g is 0, alpha is multiplied by 0.
    denominator = 2 + activations.sum(dim=(2, 3), keepdim=True) * gradients
    return torch.where(denominator == 0, 0, 1 / denominator)


@dataclass(frozen=True)
class SmoothGradCamPlusPlus:
    """Grad-CAM++ with derivatives averaged over noisy copies of the input.

    With D1, D2, D3 the means of g, g^2, g^3 over copies, alpha = D2 / (2 D2 + sum(A) D3), and the weight of a channel
    is the sum of alpha * ReLU(D1). Without noise this is Grad-CAM++. (The paper prints D1 in the numerator of alpha,
    which would not give Grad-CAM++ without noise; torchcam corrects that, too.) alpha is 0 where its denominator is 0.
    If copies disagree about the sign of g, or the layer is before a ReLU, the denominator may come close to 0 and the
    weight may get very large.

    ``torchcam``: as torchcam 0.4, with ReLU(g) of the last copy, and sum(A * D3) instead of sum(A) D3. Noise is normal,
    independent per entry, in units of the input: choose it for the data's range.

    A is the input's own activation, in alpha always, in the weighted sum with ``maps='clean'``. Where noise does not
    change g, as in logits after global average pooling and a linear layer, that is Grad-CAM++ in the paper's form.
    torchcam adds up the activations of its last noisy copy: ``maps='last'``.
    """

    layer: str = ""  # a layer's name; empty: the environment's choice, or the last block of more than one pixel
    relu: bool = True  # keep only what speaks for the class
    samples: int = 4  # noisy copies
    noise: float = 0.3  # standard deviation, in units of the input
    form: Literal["paper", "torchcam"] = "paper"  # which weights
    maps: Literal["clean", "last"] = "clean"  # the activations that are added up: the input's, or its last noisy copy's

    paper: ClassVar[str] = "Omeiza et al., 2019"

    def __post_init__(self) -> None:
        if self.samples < 1 or self.noise < 0:
            raise SpecError(
                f"smooth_grad_cam_plus_plus: samples={self.samples}, noise={self.noise} cannot make noisy copies. "
                "Choose samples of 1 or more, and noise of 0 or more."
            )

    @property
    def positive_only(self) -> bool:
        return self.relu

    def __call__(self, query: Query) -> Tensor:
        query.require_gradients()
        layer = spatial_layer(query, self.layer)
        return pixel_map(query, torch.cat([self._map(block, layer) for block in query.blocks()]), self.relu)

    def _map(self, query: Query, layer: nn.Module) -> Tensor:
        clean, draws, gradients = activations(query, layer), query.draws("noise"), []
        for _ in range(self.samples):
            noise = self.noise * draws.normal(*query.x.shape[1:]).to(query.x)
            noisy, gradient = activations_and_gradients(replace(query, x=query.x + noise), layer)
            gradients.append(gradient)
        weigh = _smooth_torchcam if self.form == "torchcam" else _smooth_paper
        weights = weigh(clean, torch.stack(gradients)).sum(dim=(2, 3), keepdim=True)
        return weighted_sum(weights, noisy if self.maps == "last" else clean)


def _smooth_paper(maps: Tensor, g: Tensor) -> Tensor:
    # D2 / largest^2 and D3 / largest^3, because powers of g underflow in float32 long before g.
    largest = g.abs().amax(dim=0)
    scaled = g / torch.where(largest == 0, 1, largest)
    d2, d3 = (scaled**2).mean(dim=0), (scaled**3).mean(dim=0)
    denominator = 2 * d2 + maps.sum(dim=(2, 3), keepdim=True) * largest * d3
    return torch.where(denominator == 0, 0, d2 / denominator) * g.mean(dim=0).clamp(min=0)


def _smooth_torchcam(maps: Tensor, g: Tensor) -> Tensor:
    d2, d3 = (g**2).mean(dim=0), (g**3).mean(dim=0)
    return d2 / (2 * d2 + (maps * d3).sum(dim=(2, 3), keepdim=True) + EPSILON) * g[-1].clamp(min=0)


@dataclass(frozen=True)
class XGradCam:
    """The sum of a layer's channels, each weighted by the mean of its gradient, with the channel's values as weights.

    Conservation: before ``relu`` and enlarging, the map sums to the sum of gradient * activation. This is the score if
    the rest of the model after the layer is homogeneous (ReLU, pooling, layers without bias). Equal to Grad-CAM if the
    gradient is the same at every pixel of a channel, as before global average pooling and a linear layer. Meant for
    layers after a ReLU: values of both signs may add up to almost 0, which makes the weight meaningless.
    """

    layer: str = ""  # a layer's name; empty: the environment's choice, or the last block of more than one pixel
    relu: bool = True  # keep only what speaks for the class

    paper: ClassVar[str] = "Fu et al., 2020"

    @property
    def positive_only(self) -> bool:
        return self.relu

    def __call__(self, query: Query) -> Tensor:
        return gradient_map(query, self.layer, self.relu, _mean_by_value)


def _mean_by_value(activations: Tensor, gradients: Tensor) -> Tensor:
    total = activations.sum(dim=(2, 3), keepdim=True)
    return (gradients * activations).sum(dim=(2, 3), keepdim=True) / (total + EPSILON)


@dataclass(frozen=True)
class LayerCam:
    """The sum over channels of a layer's activations, each weighted by its own gradient if that is positive, else 0.

    Weights belong to pixels, not to channels, so early layers give sharp maps. The gradient is that of the explained
    number, readout included.
    """

    layer: str = ""  # a layer's name; empty: the environment's choice, or the last block of more than one pixel
    relu: bool = True  # keep only what speaks for the class

    paper: ClassVar[str] = "Jiang et al., 2021"

    @property
    def positive_only(self) -> bool:
        return self.relu

    def __call__(self, query: Query) -> Tensor:
        return gradient_map(query, self.layer, self.relu, lambda _, gradients: gradients.clamp(min=0))


@dataclass(frozen=True)
class ScoreCam:
    """The sum of a layer's channels, each weighted by the score of the input masked with that channel; no gradients.

    A channel enlarged to the image and scaled to [0, 1] is a mask H. Its increase of confidence is
    score(baseline + H * (x - baseline)) - score(baseline), the paper's for the baseline 0. Weights are the softmax of
    the increases over channels (the baseline's score then cancels), or the increases themselves. A constant channel has
    the weight 0, as in the authors' program. One model call per channel.

    The score is the explained number. If logits differ much, the softmax keeps hardly more than one channel.
    """

    layer: str = ""  # a layer's name; empty: the environment's choice, or the last block of more than one pixel
    relu: bool = True  # keep only what speaks for the class
    weights: Literal["softmax", "increase"] = "softmax"  # of the channels

    paper: ClassVar[str] = "Wang et al., 2020"

    @property
    def positive_only(self) -> bool:
        return self.relu

    def __call__(self, query: Query) -> Tensor:
        layer = spatial_layer(query, self.layer)
        return pixel_map(query, torch.cat([self._map(block, layer) for block in query.blocks()]), self.relu)

    def _map(self, query: Query, layer: nn.Module) -> Tensor:
        maps = activations(query, layer)  # (N, C, h, w)

        def masked(part: slice) -> Tensor:
            masks = _scaled(upsampled(query, maps[:, part])).transpose(0, 1)  # (K, N, height, width)
            return query.baseline + query.setting.features.expand(masks) * (query.x - query.baseline)

        increase = query.score_each(maps.shape[1], masked).T - query.score(query.baseline).unsqueeze(1)  # (N, C)
        constant = maps.amax(dim=(2, 3)) == maps.amin(dim=(2, 3))
        if self.weights == "softmax":
            increase = increase.masked_fill(constant, -torch.inf).softmax(dim=1)
        return weighted_sum(increase.masked_fill(constant, 0)[:, :, None, None], maps)


def _scaled(maps: Tensor) -> Tensor:
    """Every map scaled to [0, 1]; a constant map becomes 0."""
    low, high = maps.amin(dim=(2, 3), keepdim=True), maps.amax(dim=(2, 3), keepdim=True)
    return torch.where(high > low, (maps - low) / (high - low), 0)
