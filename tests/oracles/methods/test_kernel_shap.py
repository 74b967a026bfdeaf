"""KernelSHAP, against the average over all orders, a literal regression, Captum's exact values and shap's errors."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import comb

import captum.attr
import numpy as np
import pytest
import torch
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.core.features import Columns
from assay.core.rng import Stream
from assay.methods.kernel_shap import KernelShap, _draw_coalitions
from scenes import TINY, ask, cnn, data, mlp, randomised
from streams import seeded


@seeded()
def net(count, seed=0):
    return randomised(torch.nn.Sequential(torch.nn.Linear(count, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3)), seed)


def value(query, row, coalition):
    point = query.baseline[row].clone()
    point[list(coalition)] = query.x[row, list(coalition)]
    return query.module(point[None])[0, query.target[row]].item()


def exact(query):
    """Shapley's formula, coalition by coalition."""
    count = query.x.shape[1]
    result = torch.zeros_like(query.x, dtype=torch.float64)
    for row in range(len(query.x)):
        for size in range(count):
            for coalition in combinations(range(count), size):
                before = value(query, row, coalition)
                for feature in set(range(count)) - set(coalition):
                    gain = value(query, row, (*coalition, feature)) - before
                    result[row, feature] += gain / (count * comb(count - 1, size))
    return result


def watched(query):
    """The query, and the list that collects every point its model sees."""
    seen = []
    query.setting.model.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0].clone()))
    return query, seen


def asked(method, query):
    """Which coalitions a method asks about a sample of ones with a baseline of zeros; it is the only sample."""
    query, seen = watched(query)
    method(query)
    return [tuple(row.nonzero().flatten().tolist()) for row in torch.cat(seen)]


def ones(count):
    return ask(net(count), torch.ones(1, count))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6])
def test_all_coalitions_give_exact_values(count):
    query = ask(net(count).double(), data(3, count).double(), "probability", baseline=0.3)
    assert_close(KernelShap()(query), exact(query), rtol=1e-9, atol=1e-12)
    if count > 1:
        assert_close(KernelShap(samples=2**count - 2)(query), exact(query), rtol=1e-9, atol=1e-12)


def test_all_coalitions_give_captums_exact_values():
    groups = (0, 1, 1, 1, 2, 3)
    query = ask(mlp(), data(5, 6), "probability", baseline=0.2, features=Columns(groups))
    expected = captum.attr.ShapleyValues(query.module).attribute(
        query.x, query.baseline, query.target, feature_mask=torch.tensor([groups])
    )
    assert_close(KernelShap()(query), expected[:, [0, 1, 4, 5]], rtol=1e-5, atol=1e-5)


@seeded()
def test_all_coalitions_give_what_captums_regression_gives_on_them():
    """Of 4 features, kernel weights are 2 : 1 : 2: coalitions of 1 and 3 twice, those of 2 once, in place of draws."""

    def every(_inputs, num_interp_features, **_):
        everything = [size for size, times in ((4, 1), (0, 1), (1, 2), (2, 1), (3, 2)) for _ in range(times)]
        for size in everything:
            for members in combinations(range(num_interp_features), size):
                yield torch.tensor([[int(j in members) for j in range(num_interp_features)]])

    query = ask(net(4).double(), data(3, 4).double(), "probability", baseline=0.2)
    peer = captum.attr.KernelShap(query.module)
    peer.perturb_func = every
    expected = peer.attribute(query.x, query.baseline, query.target, n_samples=24)
    assert_close(KernelShap()(query), expected.double(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("count, samples", [(7, 40), (8, 100), (12, 200)])
def test_values_are_the_constrained_weighted_regression_on_what_was_asked(count, samples):
    """Every number of the regression is written down: kernel weights, scores, efficiency by a Lagrange multiplier."""
    query = ask(net(count).double(), data(1, count).double(), "probability", baseline=5.0)
    found = KernelShap(samples)(query)[0]
    query, seen = watched(query)
    KernelShap(samples)(query)
    coalitions = {tuple((row == query.x[0]).tolist()) for row in torch.cat(seen)}
    sizes = [sum(keep) for keep in coalitions]
    whole = {size for size in range(1, count) if sizes.count(size) == comb(count, size)}
    share = {size: 1 / (size * (count - size)) for size in range(1, count)}
    left = sum(share[size] for size in share if size not in whole)
    drawn = sum(size in share and size not in whole for size in sizes)
    rows = [keep for keep in coalitions if 0 < sum(keep) < count]
    weight = torch.tensor(
        [share[s] / comb(count, s) if s in whole else left / drawn for s in map(sum, rows)], dtype=torch.float64
    )
    design = torch.tensor(rows, dtype=torch.float64)
    kept = [[j for j in range(count) if keep[j]] for keep in rows]
    nothing, everything = value(query, 0, []), value(query, 0, range(count))
    gain = torch.tensor([value(query, 0, keep) - nothing for keep in kept], dtype=torch.float64)
    system = torch.ones(count + 1, count + 1, dtype=torch.float64)
    system[:count, :count] = design.T @ (weight[:, None] * design)
    system[count, count] = 0
    right = torch.cat([design.T @ (weight * gain), torch.tensor([everything - nothing], dtype=torch.float64)])
    assert_close(found, torch.linalg.solve(system, right)[:count], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("count, samples", [(12, 200), (12, 1000), (9, 60), (40, 400)])
def test_coalitions_are_different_and_come_with_their_complements(count, samples):
    coalitions = asked(KernelShap(samples), ones(count))[-samples - 2 :]  # what came before measures the memory
    assert len(set(coalitions)) == len(coalitions) == samples + 2  # with all and none
    assert {tuple(sorted(set(range(count)) - set(c))) for c in coalitions} == set(coalitions)


def test_small_and_large_coalitions_are_asked_all():
    coalitions = asked(KernelShap(1000), ones(12))[-1002:]
    sizes = [len(coalition) for coalition in coalitions]
    assert [sizes.count(size) for size in (0, 1, 2, 10, 11, 12)] == [1, 12, 66, 66, 12, 1]
    between = {size: sizes.count(size) for size in range(3, 10)}
    left = 1000 - 2 * (12 + 66)
    shares = {size: 1 / (size * (12 - size)) for size in between}
    for size, found in between.items():
        assert abs(found - left * shares[size] / sum(shares.values())) <= 2  # rounded; pairs of the middle count twice


def test_drawn_coalitions_of_a_size_are_equally_likely():
    """Every feature is in as many of the coalitions of 4 among 9 as any other: to 5 standard errors."""
    inside = torch.zeros(9)
    total = 0
    for seed in range(60):
        query = replace(ones(9), stream=Stream("draw", seed=seed))
        drawn = [c for c in asked(KernelShap(100), query)[-102:] if len(c) == 4]
        total += len(drawn)
        for coalition in drawn:
            inside[list(coalition)] += 1
    assert total > 500
    assert ((inside / total - 4 / 9).abs() < 5 * (4 / 9 * 5 / 9 / total) ** 0.5).all()


def test_values_of_few_coalitions_sum_to_the_difference():
    query = ask(net(12), data(20, 12), "probability", baseline=0.5)
    found = KernelShap(30)(query)
    assert_close(found.sum(dim=1), query.score(query.x) - query.score(query.baseline), rtol=1e-5, atol=1e-6)
    assert_close(KernelShap(30).promised(query), found.sum(dim=1), rtol=1e-5, atol=1e-6)


def shaps(query, samples, seed):
    """The values of shap's KernelExplainer, which draws from numpy's global numbers."""
    import shap

    explainer = shap.KernelExplainer(lambda x: query.outputs(torch.from_numpy(x)).numpy(), np.zeros((1, 12)))
    state = np.random.get_state()
    try:
        np.random.seed(seed)
        values = explainer.shap_values(query.x.numpy(), nsamples=samples, l1_reg=False, silent=True)
    finally:
        np.random.set_state(state)
    return torch.from_numpy(values)[torch.arange(len(query.x)), :, query.target]  # (rows, features, classes)


def test_errors_are_no_larger_than_shaps_and_fall_with_more_coalitions(record_property):
    """Relative errors on 12 features, mean of 16 samples and 3 designs, with as many coalitions as shap has."""
    query = ask(net(12).double(), data(16, 12).double(), "probability")
    truth = KernelShap(2**12 - 2)(query)
    ours = dict.fromkeys((100, 200, 1000), 0.0)
    theirs = dict(ours)
    for samples in ours:
        for seed in range(3):
            drawn = KernelShap(samples)(replace(query, stream=Stream("error", seed=seed)))
            for errors, found in ((ours, drawn), (theirs, shaps(query, samples, seed))):
                errors[samples] += ((found - truth).norm(dim=1) / truth.norm(dim=1)).mean().item() / 3
    ratios = {samples: ours[samples] / theirs[samples] for samples in ours}
    told = ", ".join(f"{ratio:.2f} with {samples} coalitions" for samples, ratio in ratios.items())
    record_property("told", f"KernelSHAP's error, relative to shap's: {told}")
    assert max(ratios.values()) <= 1.2, ratios
    assert ours[100] > ours[200] > ours[1000]


def test_little_memory_is_enough():
    x = data(6, 12)
    assert_close(KernelShap(300)(ask(net(12), x, machine=TINY)), KernelShap(300)(ask(net(12), x)), rtol=1e-5, atol=1e-5)


def test_where_it_does_not_apply():
    with pytest.raises(NotApplicable, match=r"at most 50 features.* there are 64"):
        KernelShap(limit=50)(ask(cnn(), data(1, 2, 8, 8)))
    with pytest.raises(NotApplicable, match="two coalitions per feature, 24 here, but samples=20"):
        KernelShap(20)(ask(net(12), data(1, 12)))
    with pytest.raises(SpecError, match="too few for a coalition and its complement"):
        KernelShap(1)
    assert KernelShap()(ask(cnn(), data(1, 2, 8, 8))).shape == (1, 8, 8)


@pytest.mark.parametrize(("count", "size", "all_of_them"), [(5, 2, 10), (6, 3, 10)])
def test_all_coalitions_of_a_size_can_be_drawn_and_no_more(count, size, all_of_them):
    stream = torch.Generator().manual_seed(0)
    assert len(_draw_coalitions(count, size, all_of_them, stream).unique(dim=0)) == all_of_them
    with pytest.raises(ValueError, match="cannot draw 11 different coalitions"):
        _draw_coalitions(count, size, 11, stream)
