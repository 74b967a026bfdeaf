"""scikit-learn's trees as plain tensors and back, exactly. No pickle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from assay.core.errors import AssayError

# A tree's node in scikit-learn 1.9, in C's memory layout.
NODE = np.dtype(
    [
        ("left_child", "<i8"),
        ("right_child", "<i8"),
        ("feature", "<i8"),
        ("threshold", "<f8"),
        ("impurity", "<f8"),
        ("n_node_samples", "<i8"),
        ("weighted_n_node_samples", "<f8"),
        ("missing_go_to_left", "u1"),
    ],
    align=True,
)


def trees_to_tensors(trees: Sequence[Any]) -> dict[str, Tensor]:
    """Everything that prediction needs of trees (``tree_`` of an estimator) with one output, concatenated."""
    states = [tree.__getstate__() for tree in trees]
    check_layout(states[0]["nodes"].dtype)
    nodes = np.concatenate([state["nodes"] for state in states])
    arrays = {
        **{f"node.{name}": np.ascontiguousarray(nodes[name]) for name in nodes.dtype.names},
        "values": np.concatenate([state["values"] for state in states]),  # (nodes, 1, classes or 1)
        "sizes": np.array([state["node_count"] for state in states]),
        "depths": np.array([state["max_depth"] for state in states]),
        "columns": np.array([trees[0].n_features]),
    }
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def trees_from_tensors(tensors: Mapping[str, Tensor]) -> list[Any]:
    """The trees again."""
    arrays = {name: tensor.cpu().numpy() for name, tensor in tensors.items()}
    cuts = np.cumsum(arrays["sizes"])[:-1]
    parts = zip(np.split(_nodes(arrays), cuts), np.split(arrays["values"], cuts), arrays["depths"], strict=True)
    return [_tree(int(arrays["columns"][0]), *part) for part in parts]


def check_layout(layout: np.dtype[Any]) -> None:
    """Raise AssayError unless scikit-learn's nodes have the layout ``NODE``."""
    if layout != NODE:
        import sklearn

        raise AssayError(
            f"scikit-learn {sklearn.__version__} describes a tree's node by {_fields(layout)}; assay knows "
            f"{_fields(NODE)}. Install scikit-learn 1.9, or a version of assay for yours, to store and read forests."
        )


def _fields(layout: np.dtype[Any]) -> str:
    return ", ".join(f"{name} ({layout[name]})" for name in layout.names or ())


def _nodes(arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    nodes = np.zeros(len(arrays["values"]), dtype=NODE)
    for name in NODE.names or ():
        nodes[name] = arrays[f"node.{name}"]
    return nodes


def _tree(columns: int, nodes: NDArray[Any], values: NDArray[Any], depth: int) -> Any:
    from sklearn.tree._tree import Tree  # here: importing scikit-learn takes a second

    tree = Tree(columns, np.array([values.shape[2]], dtype=np.intp), 1)
    check_layout(tree.__getstate__()["nodes"].dtype)
    tree.__setstate__({"max_depth": int(depth), "node_count": len(nodes), "nodes": nodes, "values": values})
    return tree
