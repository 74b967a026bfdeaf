"""Linear imputation: a removed pixel becomes the weighted mean of its neighbours, including removed ones.

Direct neighbours weigh 1/6, diagonal ones 1/12; at the border of the image the weights that remain are scaled to add up
to 1. This is one linear system per mask, which all channels share (the imputation of ROAD, without its noise).

The system is solved by conjugate gradients with a multigrid cycle as the preconditioner, each channel on the scale of
the value range of its known pixels. In float32 the iteration ends when a step changes no pixel by 4e-4 of that range;
the intended error is at most 1e-3 of it (largest seen on masks made to be hard and on random ones: 4.4e-4). In float64
the error is at most 1e-9 of it. The residual is computed in double precision and corrected in single precision. One
round is enough in float32; float64, and masks that leave fewer than a 64th of the pixels known, take several. Nearly
singular systems need no other treatment.
"""

from __future__ import annotations

import torch
from torch import Tensor


class Singular(ValueError):
    """No pixel of a row is known: every constant would solve the system."""


def impute(x: Tensor, removed: Tensor) -> Tensor:
    """``x`` (N, C, H, W) with its removed pixels (N, H, W) replaced; float32 or float64, kept pixels bit for bit.

    A row's result depends on that row alone, and has no gradient. ``x`` may be expanded: one image, many masks.
    The CPU solves it for every device; the result is copied back.
    ``Singular`` where a row has no known pixel; ValueError where known pixels are not finite.
    """
    from assay.kit.imputation.solver import Solver  # numba takes a second to import

    _check(x, removed)
    out = x.detach().cpu().clone(memory_format=torch.contiguous_format)
    solver = Solver(*x.shape[2:])
    for values, mask in zip(out.numpy(), removed.cpu().contiguous().numpy(), strict=True):
        if mask.any():
            solver(values, mask)
    return out.to(x.device)


def add_noise(filled: Tensor, removed: Tensor, noise: Tensor) -> Tensor:
    """Add ``noise`` (N, C, H, W) to removed pixels (N, H, W) alone."""
    return torch.where(removed[:, None], filled + noise, filled)


def _check(x: Tensor, removed: Tensor) -> None:
    if x.dtype not in (torch.float32, torch.float64) or removed.dtype != torch.bool:
        raise ValueError(f"needs values in float32 or float64 and a boolean mask, not {x.dtype} and {removed.dtype}")
    if x.dim() != 4 or removed.shape != (x.shape[0], *x.shape[2:]):
        raise ValueError(
            f"needs values (N, C, H, W) and a mask (N, H, W), not {tuple(x.shape)} and {tuple(removed.shape)}"
        )
    without_known = removed.flatten(1).all(dim=1)
    if without_known.any():
        raise Singular(f"row {int(without_known.nonzero()[0])}: no pixel is known, so that every constant would do")
