"""Reference rows that are drawn when they are first read."""

import torch

from assay.core.setting import DrawnReference, Reference


def drawn(calls):
    def draw():
        calls.append("drawn")
        return Reference(torch.arange(6.0).view(3, 2), torch.arange(3))

    return DrawnReference(draw)


def test_rows_are_drawn_once_and_only_when_read():
    calls = []
    reference = drawn(calls)
    elsewhere, copy = reference.to("cpu", torch.float64), reference.copy()
    assert not calls
    assert elsewhere.x.dtype == torch.float64
    assert elsewhere.label.tolist() == copy.label.tolist() == [0, 1, 2]
    assert reference.x.tolist() == copy.x.tolist() == elsewhere.x.tolist()
    assert calls == ["drawn"]


def test_a_copy_shares_no_rows():
    reference = drawn([])
    copy = reference.copy()
    copy.x.zero_()
    assert reference.x.sum() == 15
