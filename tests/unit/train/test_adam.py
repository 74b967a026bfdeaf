from __future__ import annotations

import pytest
import torch
from torch import Generator

from assay.train import adam
from assay.train.adam import FlatAdam


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("part", [7, 64, 100, 1000])  # parts that do not divide 100, all at once, more than there is
def test_flat_steps_are_those_of_the_optimiser(dtype: torch.dtype, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adam, "PART", part)
    random = Generator().manual_seed(0)
    found = torch.randn(100, generator=random, dtype=dtype)
    wanted, begin = found.clone().requires_grad_(), found.clone()
    slopes = torch.empty_like(found)
    flat, reference = FlatAdam(found, slopes, lr=1e-2), torch.optim.Adam([wanted], lr=1e-2)
    for _ in range(20):
        slopes.copy_(torch.randn(100, generator=random, dtype=dtype))
        slopes[::9] = 0
        wanted.grad = slopes.clone()
        flat.step()
        reference.step()
        torch.testing.assert_close(found, wanted.detach(), rtol=8 * torch.finfo(dtype).eps, atol=0)
    assert not torch.allclose(found, begin, rtol=0.1)
