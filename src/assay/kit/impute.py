"""Linear imputation: a removed pixel becomes the weighted mean of its neighbours, removed ones among them.

Direct neighbours weigh 1/6, diagonal ones 1/12; at the border of the image the weights that remain are scaled to add up
to 1. This is one linear system per mask, which all channels share (the imputation of ROAD, without its noise).

The system is solved by conjugate gradients with a multigrid cycle as the preconditioner, each channel on the scale of
the value range of its known pixels. In float32 steps end when one changes no pixel by 4e-4 of that range; the error is
meant to be at most 1e-3 of it (largest seen on masks made to be hard and on random ones: 4.4e-4). In float64 it is at
most 1e-9 of it. What is wrong with an image is found in double precision and corrected in single, in one round or, in
float64 and where fewer than a 64th of the pixels are known, in several: nearly singular systems need no other way.
"""

from __future__ import annotations

import torch
from torch import Tensor

CHUNK = 2**21  # pixels of masks that are solved at once where there is no compiled solver


class Singular(ValueError):
    """No pixel of a mask is known: every constant would do."""


def impute(x: Tensor, removed: Tensor) -> Tensor:
    """``x`` (N, C, H, W) with its removed pixels (N, H, W) replaced; float32 or float64, kept pixels bit for bit.

    A row's result depends on that row alone, and carries no gradient. ``x`` may be expanded: one image, many masks.
    ``Singular`` where a row has no known pixel; ValueError where known pixels are not finite.
    """
    _check(x, removed)
    if x.device.type == "cpu":
        return _on_cpu(x, removed)
    if x.device.type == "mps":  # has no double precision
        return _on_cpu(x.cpu(), removed.cpu()).to(x.device)
    return on_device(x, removed)


def add_noise(filled: Tensor, removed: Tensor, noise: Tensor) -> Tensor:
    """``noise`` (N, C, H, W) on removed pixels (N, H, W) alone."""
    return torch.where(removed[:, None], filled + noise, filled)


def on_device(x: Tensor, removed: Tensor) -> Tensor:
    """As ``impute``, in tensor operations."""
    from assay.kit._multigrid_torch import solved

    tolerance = 1e-11 if x.dtype == torch.float64 else 1e-7
    out = []
    rows = max(1, CHUNK // max(1, removed[0].numel())) if len(x) else 1
    for values, gone in zip(x.detach().split(rows), removed.split(rows), strict=True):
        low, high = _extent(values, gone)
        if not torch.isfinite(high - low).all():
            raise ValueError("needs known pixels that are finite, and so is the range of their values")
        span = torch.where(high > low, high - low, 1.0)
        found = solved((values.double() - low) / span, gone, tolerance)
        found = torch.where(high > low, low + found * span, low)
        out.append(torch.where(gone[:, None], found.to(x.dtype), values))
    return torch.cat(out) if out else x.clone()


def _extent(values: Tensor, removed: Tensor) -> tuple[Tensor, Tensor]:
    """The least and the largest known value of every channel: (N, C, 1, 1)."""
    gone = removed[:, None]
    low = values.double().masked_fill(gone, torch.inf).amin(dim=(2, 3), keepdim=True)
    return low, values.double().masked_fill(gone, -torch.inf).amax(dim=(2, 3), keepdim=True)


def _on_cpu(x: Tensor, removed: Tensor) -> Tensor:
    from assay.kit._multigrid import Solver  # numba takes a second to import

    out = x.detach().clone(memory_format=torch.contiguous_format)
    solver = Solver(*x.shape[2:])
    for values, gone in zip(out.numpy(), removed.contiguous().numpy(), strict=True):
        if gone.any():
            solver(values, gone)
    return out


def _check(x: Tensor, removed: Tensor) -> None:
    if x.dtype not in (torch.float32, torch.float64) or removed.dtype != torch.bool:
        raise ValueError(f"needs values in float32 or float64 and a boolean mask, not {x.dtype} and {removed.dtype}")
    if x.dim() != 4 or removed.shape != (x.shape[0], *x.shape[2:]):
        raise ValueError(
            f"needs values (N, C, H, W) and a mask (N, H, W), not {tuple(x.shape)} and {tuple(removed.shape)}"
        )
    nothing = removed.flatten(1).all(dim=1)
    if nothing.any():
        raise Singular(f"row {int(nothing.nonzero()[0])}: no pixel is known, so that every constant would do")
