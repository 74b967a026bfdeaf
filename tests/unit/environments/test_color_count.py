"""Images of colour count are stored with channels last, whether one or several are asked for."""

import pytest
import torch

from assay.environments.color_count import ColorCount


@pytest.mark.parametrize("count", [1, 2, 5])
def test_channels_are_last_in_memory(count):
    environment = ColorCount.tiny()
    images = [environment.sample(range(count), 0).x, environment.setting(0, {}).reference.x]
    assert all(each.stride(1) == 1 and each.is_contiguous(memory_format=torch.channels_last) for each in images)
