"""Random forests: scikit-learn grows them, plain tensors keep them, and a genuine forest comes back. No pickle.

scikit-learn is imported where it is used: it takes a second, which only those who ask for a forest should pay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from assay.core.errors import AssayError

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestClassifier

# What scikit-learn 1.9 knows about a tree's node, as C lays it out.
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


def grow(x: Tensor, label: Tensor, trees: int, seed: int) -> RandomForestClassifier:
    """A forest with scikit-learn's defaults, on one core."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(n_estimators=trees, random_state=seed % 2**32, n_jobs=1)
    return forest.fit(x.cpu().numpy(), label.cpu().numpy())


def to_tensors(forest: RandomForestClassifier) -> dict[str, Tensor]:
    """Everything that prediction needs, the trees one after the other; whole-number classes and one label per row."""
    states = [member.tree_.__getstate__() for member in forest.estimators_]
    check_layout(states[0]["nodes"].dtype)
    nodes = np.concatenate([state["nodes"] for state in states])
    arrays = {
        **{f"node.{name}": np.ascontiguousarray(nodes[name]) for name in nodes.dtype.names},
        "values": np.concatenate([state["values"] for state in states]),  # (nodes, 1, classes)
        "sizes": np.array([state["node_count"] for state in states]),
        "depths": np.array([state["max_depth"] for state in states]),
        "classes": forest.classes_.astype(np.int64),
        "columns": np.array([forest.n_features_in_]),
    }
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def from_tensors(tensors: Mapping[str, Tensor]) -> RandomForestClassifier:
    """A forest that predicts bit for bit like the one that was kept; how it was grown is not known to it."""
    from sklearn.ensemble import RandomForestClassifier

    arrays = {name: tensor.cpu().numpy() for name, tensor in tensors.items()}
    cuts = np.cumsum(arrays["sizes"])[:-1]
    parts = zip(np.split(_nodes(arrays), cuts), np.split(arrays["values"], cuts), arrays["depths"], strict=True)
    forest = RandomForestClassifier(n_estimators=len(arrays["sizes"]), n_jobs=1)
    forest.estimators_ = [_member(arrays, *part) for part in parts]
    return _fitted(forest, arrays, arrays["classes"])


def check_layout(found: np.dtype[Any]) -> None:
    """AssayError unless scikit-learn's nodes are what this file knows."""
    if found != NODE:
        import sklearn

        raise AssayError(
            f"scikit-learn {sklearn.__version__} describes a tree's node by {_told(found)}; assay knows {_told(NODE)}. "
            "Install scikit-learn 1.9, or an assay that was made for yours, to keep and read forests."
        )


def _told(layout: np.dtype[Any]) -> str:
    return ", ".join(f"{name} ({layout[name]})" for name in layout.names or ())


def _nodes(arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    nodes = np.zeros(len(arrays["values"]), dtype=NODE)
    for name in NODE.names or ():
        nodes[name] = arrays[f"node.{name}"]
    return nodes


def _member(arrays: Mapping[str, NDArray[Any]], nodes: NDArray[Any], values: NDArray[Any], depth: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.tree._tree import Tree

    classes = len(arrays["classes"])
    tree = Tree(int(arrays["columns"][0]), np.array([classes], dtype=np.intp), 1)
    check_layout(tree.__getstate__()["nodes"].dtype)
    tree.__setstate__({"max_depth": int(depth), "node_count": len(nodes), "nodes": nodes, "values": values})
    member = DecisionTreeClassifier()
    member.tree_ = tree
    return _fitted(member, arrays, np.arange(classes, dtype=float))  # members know classes by their position


def _fitted(model: Any, arrays: Mapping[str, NDArray[Any]], classes: NDArray[Any]) -> Any:
    """What ``fit`` leaves on a forest and on its trees besides the trees."""
    model.classes_, model.n_classes_, model.n_outputs_ = classes, len(classes), 1
    model.n_features_in_ = int(arrays["columns"][0])
    return model
