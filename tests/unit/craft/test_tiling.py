"""The plan covers every pixel exactly once, for every size."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from assay.core.errors import SpecError
from assay.craft.tiling import plan, tiles


def covered(size: int, kernel: int, stride: int, padding: int) -> list[int]:
    """How often Conv2d reads each of ``size`` pixels, by its documented arithmetic."""
    outputs = (size + 2 * padding - kernel) // stride + 1
    reads = [stride * o + k - padding for o in range(outputs) for k in range(kernel)]
    return [reads.count(pixel) for pixel in range(size)]


def test_the_papers_plan() -> None:
    steps = plan(224)
    assert [s.size for s in steps] == [(n, n) for n in (75, 25, 9, 3, 1)]
    assert [s.stride for s in steps] == [(n, n) for n in (3, 3, 3, 3, 1)]
    assert [s.padding for s in steps] == [(n, n) for n in (1, 0, 2, 0, 0)]
    assert {s.kernel for s in steps} == {(3, 3)}


def test_the_papers_figure_12() -> None:
    assert [s.kernel for s in plan(6)] == [(3, 3), (2, 2)]


@given(st.integers(1, 300), st.integers(4, 300))
def test_every_step_reads_every_pixel_once_and_the_last_leaves_one(height: int, width: int) -> None:
    size, steps = (height, width), plan((height, width))
    assert len(steps) >= 2
    for step in steps:
        for axis in (0, 1):
            assert set(covered(size[axis], step.kernel[axis], step.stride[axis], step.padding[axis])) == {1}
            assert (size[axis] + 2 * step.padding[axis] - step.kernel[axis]) // step.stride[axis] + 1 == step.size[axis]
        size = step.size
    assert size == (1, 1)


@pytest.mark.parametrize("side", [0, 3, (0, 9), (3, 3), -5])
def test_images_too_small_for_two_steps_are_refused(side: int | tuple[int, int]) -> None:
    with pytest.raises(SpecError, match="too small"):
        plan(side)


@pytest.mark.parametrize("side", [4, 8, 9, (7, 11), (1, 5)])
def test_cells_hold_what_the_convolution_reads(side: int | tuple[int, int]) -> None:
    step = plan(side)[0]
    height, width = (side, side) if isinstance(side, int) else side
    x = torch.randint(0, 9, (2, 1, height, width), generator=torch.Generator().manual_seed(0)).float()
    kernel = torch.arange(9.0)
    convolved = functional.conv2d(x, kernel.reshape(1, 1, 3, 3), stride=step.stride, padding=step.padding)
    assert torch.equal(tiles(x, step) @ kernel, convolved.flatten(2))
