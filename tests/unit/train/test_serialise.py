from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from assay.train.serialise import decode, digest, encode

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
keys = st.integers() | st.text()
trees = st.recursive(
    plain,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(keys, inner),
    max_leaves=8,
)


@given(tree=trees)
def test_a_tree_comes_back_with_its_types(tree: Any) -> None:
    assert repr(decode(encode(tree))) == repr(tree)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor(3.5),
        torch.tensor([1, 2], dtype=torch.int64),
        torch.tensor([True, False]),
        torch.arange(6.0).view(2, 3).bfloat16(),
        torch.zeros(0, 3),
        torch.arange(12.0).view(4, 3).t(),
        torch.arange(96.0).view(2, 3, 4, 4).to(memory_format=torch.channels_last),
        nn.Parameter(torch.arange(3.0)),
    ],
    ids=lambda tensor: f"{tensor.dtype} {tuple(tensor.shape)}",
)
def test_a_tensor_comes_back_with_its_type_and_its_layout(tensor: Tensor) -> None:
    found = decode(encode({"a": [tensor]}))["a"][0]
    assert found.dtype == tensor.dtype
    assert torch.equal(found, tensor)
    assert found.stride() == tensor.stride()


def test_tensors_that_share_memory_come_back_apart() -> None:
    whole = torch.arange(4.0)
    first, second, spread = decode(encode([whole, whole[1:], whole[:1].expand(3)]))
    first.zero_()
    assert second.tolist() == [1, 2, 3]
    assert spread.tolist() == [0, 0, 0]


@pytest.mark.parametrize("strange", [object(), {1, 2}, lambda: 0, 1j])
def test_what_has_no_exact_text_is_refused(strange: Any) -> None:
    with pytest.raises(TypeError, match=f"{type(strange).__name__} cannot be kept"):
        encode({"a": strange})


def test_every_part_of_a_tree_is_in_its_digest() -> None:
    tensor = torch.arange(4.0)
    other = [
        [torch.tensor([0.0, 1.0, 2.0, 4.0]), 1],
        [tensor.view(2, 2), 1],
        [tensor.view(torch.int32), 1],
        [tensor, 2],
        [tensor, 1.0],
        (tensor, 1),
    ]
    assert digest([tensor.clone(), 1]) == digest([tensor, 1])
    assert len({digest(tree) for tree in [[tensor, 1], *other]}) == 1 + len(other)
