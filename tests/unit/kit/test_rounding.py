"""What counts as equal: some units in the last place, but no visible part of a number."""

import torch

import assay
from assay.kit.rounding import answer_rounding
from streams import seeded


def test_a_unit_of_half_precision_is_large_enough():
    assert answer_rounding(torch.float32) == 16 * 2**-23
    assert answer_rounding(torch.float64) == 16 * 2**-52
    assert answer_rounding(torch.bfloat16) == 2**-7


@seeded()
def test_half_precision_keeps_the_drops_that_it_shows():
    stream = torch.Generator().manual_seed(0)
    model = torch.nn.Linear(12, 3)
    torch.nn.init.normal_(model.weight, generator=stream)
    x = torch.randn(64, 12, generator=stream)
    values = [
        assay.evaluate(model.to(dtype), x.to(dtype), 0, ["input_x_gradient"], ["single_deletion(canvas='zero')"])
        .cells[0]
        .value
        for dtype in (torch.float32, torch.bfloat16)
    ]
    assert values[0] > 0.9999
    assert values[1] > 0.99
