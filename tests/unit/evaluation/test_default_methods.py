"""Which methods are tried on a model where the user names none."""

import importlib.util

import numpy as np
import pytest
import torch
from torch import nn

import small_data
from assay.evaluation import defaults
from assay.evaluation.defaults import LIME, default_methods
from assay.own_model import own_model
from streams import seeded

CONTROLS = ("random_map", "edge_map", "centred_gaussian")  # of images
GRADIENTS = ["gradient", "input_x_gradient", "integrated_gradients", "smoothed(of=gradient())"]


def rows(*shape):
    return torch.rand(4, *shape, generator=torch.Generator().manual_seed(0))


def methods_of(model, x, **given):
    own = own_model(model, x, None, baseline=None, own_reference=True, **given)
    return default_methods(own.setting, own.samples)


@seeded()
def network(columns):
    return nn.Sequential(nn.Linear(columns, 4), nn.ReLU(), nn.Linear(4, 2))


def fitted(estimator, columns=4):
    random = np.random.default_rng(0)
    x = random.normal(size=(40, columns))
    return estimator.fit(x, (x[:, 0] > 0).astype(int))


@pytest.mark.parametrize(("columns", "shapley"), [(3, "exact_shapley"), (12, "exact_shapley"), (13, "kernel_shap")])
def test_a_network_on_a_table_gets_gradients_and_shapley_values_exact_ones_up_to_12_columns(columns, shapley):
    found, left_out = methods_of(network(columns), rows(columns))
    assert found == [*GRADIENTS, shapley, LIME, "feature_ablation", "agop", "random_map"]
    assert left_out == []


def test_a_wide_table_gets_no_method_that_solves_for_all_columns():
    found, _ = methods_of(network(257), rows(257))
    assert found == [*GRADIENTS, "feature_ablation", LIME, "agop", "random_map"]


def test_an_estimator_without_gradients_gets_no_method_that_needs_them():
    from sklearn.linear_model import LogisticRegression

    found, left_out = methods_of(fitted(LogisticRegression()), rows(4))
    assert found == ["exact_shapley", LIME, "feature_ablation", "by_differences(of=agop())", "random_map"]
    assert left_out == []


def forest():
    from sklearn.ensemble import RandomForestClassifier

    return fitted(RandomForestClassifier(n_estimators=3, max_depth=2, random_state=0))


def test_a_forest_gets_tree_shap_too():
    pytest.importorskip("shap")
    found, left_out = methods_of(forest(), rows(4))
    assert found[-2:] == ["tree_shap", "random_map"]
    assert set(found[:-2]) == {"exact_shapley", LIME, "feature_ablation", "by_differences(of=agop())"}
    assert left_out == []


def test_without_shap_it_is_said_what_a_forest_lacks(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(defaults, "find_spec", lambda name: None if name == "shap" else real(name))
    found, left_out = methods_of(forest(), rows(4))
    assert "tree_shap" not in found
    assert left_out == ["tree_shap was not tried: it needs shap, pip install 'assay-xai[trees]'"]


@seeded()
def test_a_convolutional_network_gets_methods_for_images_and_edges_as_a_control():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
    found, _ = methods_of(model, rows(1, 4, 4))
    assert found == [*GRADIENTS, "grad_cam", "guided_backprop", "lrp", "occlusion", *CONTROLS]


class Attending(nn.Module):
    """Patches of two pixels that attend to each other."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(2, 4)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        tokens = self.embed(x.flatten(1).unflatten(1, (-1, 2)))
        return self.head(self.attention(tokens, tokens, tokens)[0].mean(dim=1))


@seeded()
def test_a_network_that_attends_gets_methods_that_read_attention_and_none_for_convolutions():
    found, _ = methods_of(Attending(), rows(1, 4, 4))
    assert found == [*GRADIENTS, "occlusion", "attention_rollout", "chefer_relevance", *CONTROLS]


def test_an_image_model_without_gradients_gets_occlusion():
    class Counts(nn.Module):
        def forward(self, x):
            return torch.from_numpy(np.stack([x.numpy().sum((1, 2, 3)), -x.numpy().sum((1, 2, 3))], 1))

    found, _ = methods_of(Counts(), rows(1, 4, 4))
    assert found == ["occlusion", *CONTROLS]


@pytest.mark.parametrize("first", [True, False])  # a convolution, an LSTM
@pytest.mark.parametrize(
    ("by", "shapley"), [("channels", "exact_shapley"), ("steps", "kernel_shap"), ("both", "kernel_shap")]
)
def test_a_series_gets_gradients_and_shapley_values_of_its_steps_or_channels(by, shapley, first):
    given = small_data.series(by, first)
    found, left_out = default_methods(given.setting, given.samples)
    assert found == [*GRADIENTS, shapley, "feature_ablation", "random_map"]
    assert left_out == []


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (12, ["exact_shapley", "feature_ablation"]),
        (13, ["kernel_shap", "feature_ablation"]),
        (257, ["feature_ablation"]),
    ],
)
def test_words_that_a_black_box_reads_get_methods_that_leave_some_out(count, expected):
    given = small_data.texts(("good " * count, "boring"))
    assert default_methods(given.setting, given.samples)[0] == [*expected, "random_map"]
