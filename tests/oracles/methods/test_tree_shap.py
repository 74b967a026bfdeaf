"""TreeSHAP, against Shapley's formula on conditional expectations that are read off the trees."""

from __future__ import annotations

import random
import warnings
from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
import pytest
import torch
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier
from torch.testing import assert_close

from assay.core.errors import AssayError, NotApplicable, SpecError
from assay.core.setting import Reference
from assay.methods import tree_shap
from assay.methods.tree_shap import TreeShap
from assay.train.estimator import Estimator
from scenes import ask, data, fitted, mlp

COUNT = 4
ROWS = data(200, COUNT, seed=5).double()
LABELS = torch.bucketize(ROWS[:, 0] * ROWS[:, 1] + ROWS[:, 2], torch.tensor([-0.5, 0.5], dtype=torch.float64))


def asked(estimator, labels=LABELS, classes=None, scores=False):
    """A question about three rows, one for every class; the reference are the training rows."""
    model = Estimator(estimator.fit(ROWS.numpy(), labels.numpy()), classes, scores)
    query = ask(model, data(3, COUNT).double(), "value")
    setting = replace(query.setting, reference=Reference(ROWS, LABELS), differentiable=False)
    return replace(query, setting=setting)


def shapley(value, shape=COUNT):
    """Shapley's formula, coalition by coalition; ``value`` of a set of features: a number, or several."""
    result = np.zeros(shape)
    for size in range(COUNT):
        for coalition in combinations(range(COUNT), size):
            for feature in set(range(COUNT)) - set(coalition):
                gain = value({*coalition, feature}) - value(set(coalition))
                result[feature] += gain / (COUNT * comb(COUNT - 1, size))
    return result


def expected(tree, node, row, known, column):
    """Walk down a tree; at a split on an unknown feature both ways, weighted by the training rows that went there."""
    left, right = tree.children_left[node], tree.children_right[node]
    if left == -1:
        return tree.value[node, 0, column]
    if tree.feature[node] in known:
        goes_left = np.float32(row[tree.feature[node]]) <= tree.threshold[node]
        return expected(tree, left if goes_left else right, row, known, column)
    weight = tree.weighted_n_node_samples
    ways = [weight[child] * expected(tree, child, row, known, column) for child in (left, right)]
    return sum(ways) / weight[node]


def path_dependent(trees, query, scale):
    """``scale`` times the sum over trees, for every sample and its class; trees of one output have one column."""
    found = []
    for row, target in zip(query.x.numpy(), query.target.tolist(), strict=True):
        columns = [min(target, tree.value.shape[2] - 1) for tree in trees]
        pairs = list(zip(trees, columns, strict=True))
        found.append(
            shapley(lambda known, row=row, pairs=pairs: scale * sum(expected(t, 0, row, known, c) for t, c in pairs))
        )
    return torch.from_numpy(np.array(found))


def replaced(score, row, rows):
    """Values of every row of the background: unknown features are the row's, all coalitions asked."""

    def value(known):
        points = rows.clone()
        points[:, list(known)] = row[list(known)]
        return score(points).numpy()

    return torch.from_numpy(shapley(value, (COUNT, len(rows)))).T


def interventional(query):
    """Unknown features taken from every row of the background in turn."""
    pairs = zip(query.x, query.target, strict=True)
    rows = query.fitted["background"]
    return torch.stack(
        [replaced(lambda x, t=target: query.module(x)[:, t], row, rows).mean(0) for row, target in pairs]
    )


def scaled(query):
    """Of log-odds, each reference's values scaled to what the probability changes."""
    rows, estimator, found = query.fitted["background"], query.setting.model.estimator, []
    for row, target in zip(query.x, query.target, strict=True):
        values = replaced(lambda x: torch.from_numpy(estimator.decision_function(x.numpy())), row, rows)
        change = query.module(row[None])[:, target] - query.module(rows)[:, target]
        scale = torch.where(change == 0, 0, change / values.sum(dim=1))
        found.append((values * scale[:, None]).mean(dim=0))
    return torch.stack(found)


def test_without_a_background_values_are_those_of_conditional_expectations_in_the_trees():
    forest = RandomForestClassifier(4, max_depth=4, random_state=0)
    query = asked(forest)
    found = TreeShap()(query)
    trees = [member.tree_ for member in forest.estimators_]
    assert_close(found, path_dependent(trees, query, 1 / 4), rtol=1e-9, atol=1e-12)
    start = sum(tree.value[0, 0] for tree in trees) / 4
    promised = query.score(query.x) - torch.from_numpy(start)[query.target]
    assert_close(found.sum(dim=1), promised, rtol=1e-9, atol=1e-12)
    assert_close(TreeShap().promised(query), promised, rtol=1e-9, atol=1e-12)


def test_one_tree_and_boosted_regression_are_read_in_the_same_way():
    tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    query = asked(tree)
    assert_close(TreeShap()(query), path_dependent([tree.tree_], query, 1), rtol=1e-9, atol=1e-12)
    boosted = GradientBoostingRegressor(n_estimators=5, learning_rate=0.3, random_state=0)
    query = asked(boosted, ROWS[:, 0] * ROWS[:, 1])
    trees = [member.tree_ for member in boosted.estimators_[:, 0]]
    assert_close(TreeShap()(query), path_dependent(trees, query, 0.3), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "estimator, labels, literal",
    [
        (RandomForestClassifier(4, max_depth=4, random_state=0), LABELS, interventional),
        (ExtraTreesRegressor(4, random_state=0), ROWS[:, 0] * ROWS[:, 1], interventional),
        (GradientBoostingClassifier(n_estimators=5, random_state=0), LABELS > 0, scaled),
        (HistGradientBoostingClassifier(max_iter=5, random_state=0), LABELS > 0, scaled),
    ],
)
def test_with_a_background_values_are_those_of_the_model_with_replaced_features(estimator, labels, literal):
    method = TreeShap(background=120)  # more than the 100 rows that shap takes by itself
    query = fitted(method, asked(estimator, labels))
    found = method(query)
    assert_close(found, literal(query), rtol=1e-6, atol=1e-8)
    start = query.outputs(query.fitted["background"]).mean(dim=0)
    assert_close(found.sum(dim=1), query.score(query.x) - start[query.target], rtol=1e-6, atol=1e-8)
    assert_close(method.promised(query), found.sum(dim=1), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("labels, factor", [(LABELS, 1.0), (LABELS > 0, 0.5)])
def test_scores_of_boosted_classifiers_are_explained_for_every_class(labels, factor):
    boosted = GradientBoostingClassifier(n_estimators=5, learning_rate=0.3, init="zero", random_state=0)
    query = asked(boosted, labels, scores=True)
    found = TreeShap()(query)
    for row, target in enumerate(query.target.tolist()):
        trees = [stage[target if factor == 1 else 0].tree_ for stage in boosted.estimators_]
        sign = 1 if factor == 1 or target == 1 else -1
        literal = path_dependent(trees, query.take(slice(row, row + 1)), 0.3 * sign * factor)
        assert_close(found[row : row + 1], literal, rtol=1e-9, atol=1e-12)
    method = TreeShap(background=20)
    query = fitted(method, query)
    assert_close(method(query), interventional(query), rtol=1e-6, atol=1e-8)


def test_scores_that_do_not_start_at_0_are_left_to_shap():
    with pytest.raises(NotApplicable, match="only supported for binary"):
        TreeShap()(asked(GradientBoostingClassifier(n_estimators=2, random_state=0), scores=True))


def test_columns_are_labels_also_where_a_label_was_never_seen():
    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    query = asked(forest, 2 * (LABELS > 0), classes=3)  # labels 0 and 2; the rows ask for 0, 1 and 2
    found = TreeShap()(query)
    assert torch.equal(found[1], torch.zeros(COUNT, dtype=torch.float64))
    trees = [member.tree_ for member in forest.estimators_]
    assert_close(found[[0, 2]], path_dependent(trees, query, 1 / 3)[[0, 2]], rtol=1e-9, atol=1e-12)
    constant = asked(RandomForestClassifier(2, random_state=0), 0 * LABELS, classes=3)
    assert torch.equal(TreeShap()(constant), torch.zeros(3, COUNT, dtype=torch.float64))


def test_where_it_does_not_apply():
    with pytest.raises(NotApplicable, match="needs trees in scikit-learn's manner"):
        TreeShap()(ask(mlp(), data(2, 6)))
    with pytest.raises(NotApplicable, match="of AdaBoostClassifier it says: Model type not yet supported"):
        TreeShap()(asked(AdaBoostClassifier(n_estimators=2, random_state=0)))
    with pytest.raises(NotApplicable, match="add up to something else, such as log-odds"):
        TreeShap()(asked(GradientBoostingClassifier(n_estimators=2, random_state=0), LABELS > 0))
    with pytest.raises(NotApplicable, match="only supported for binary"):
        TreeShap()(asked(GradientBoostingClassifier(n_estimators=2, random_state=0)))
    with pytest.raises(NotApplicable, match="needs 201 reference rows, and there are 200"):
        fitted(TreeShap(201), asked(DecisionTreeClassifier(random_state=0)))
    with pytest.raises(SpecError, match="background counts rows"):
        TreeShap(-1)
    assert not hasattr(TreeShap(), "fit")


def test_a_missing_package_is_said_to_be_an_extra(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(tree_shap, "import_module", missing)
    with pytest.raises(AssayError, match=r"needs shap: pip install 'assay-xai\[trees\]'"):
        TreeShap()(asked(DecisionTreeClassifier(random_state=0)))


def test_the_import_leaves_pythons_random_numbers_and_warns_nobody(monkeypatch, recwarn):
    def noisy(name):
        random.random()
        warnings.warn("something in another package", DeprecationWarning, stacklevel=1)
        return name

    monkeypatch.setattr(tree_shap, "import_module", noisy)
    before = random.getstate()
    assert tree_shap._import_shap() == "shap"
    assert random.getstate() == before
    assert not recwarn.list
