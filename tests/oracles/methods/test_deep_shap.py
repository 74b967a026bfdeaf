"""DeepLIFT and DeepSHAP, against hand-multiplied quotients, Captum and shap."""

from __future__ import annotations

import copy
from dataclasses import replace

import captum.attr
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from assay.core.errors import NotApplicable, SpecError
from assay.core.machine import Machine
from assay.core.rng import Stream
from assay.core.setting import Reference
from assay.environments.tabular_rule import TabularRule
from assay.methods.deep_shap import DeepShap
from assay.methods.gradient import InputXGradient
from scenes import TINY, Flat, ask, cnn, data, fitted, mlp, randomised, rows
from streams import seeded


def literal(layers, x, start, target):
    """One sample: change of output per change of input for each activation, multiplied back one unit at a time."""
    runs = [[x], [start]]
    for layer in layers:
        for run in runs:
            run.append(layer(run[-1][None])[0].detach())
    multiplier = torch.zeros_like(runs[0][-1])
    multiplier[target] = 1
    for index in reversed(range(len(layers))):
        layer = layers[index]
        if isinstance(layer, nn.Linear):
            back = torch.zeros(layer.in_features, dtype=x.dtype)
            for j in range(layer.out_features):
                back += multiplier[j] * layer.weight[j].detach()
            multiplier = back
        else:
            (own, other), (made, before) = ([run[k] for run in runs] for k in (index, index + 1))
            for i in range(len(multiplier)):
                multiplier[i] *= (made[i] - before[i]) / (own[i] - other[i])
    return multiplier * (x - start)


def one_by_one(query):
    """Captum, one sample at a time: its rule for Softmax takes the mean over the whole batch."""
    lift = captum.attr.DeepLift(query.module)
    parts = [rows(query, slice(i, i + 1)) for i in range(len(query.x))]
    return torch.cat([lift.attribute(part.x.clone(), part.baseline, part.target) for part in parts]).detach()


def completeness_gap(query, attribution, start=None):
    difference = query.score(query.x) - (query.score(query.baseline) if start is None else start)
    return (attribution.flatten(1).sum(1) - difference).abs().max() / difference.abs().max()


@pytest.mark.parametrize("activation", [nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.SiLU, nn.SELU, nn.Softplus, nn.ReLU6])
def test_multipliers_are_the_literal_quotients(activation):
    net = mlp(activation=activation).double()
    query = ask(net, data(4, 6).double(), baseline=data(1, 6, seed=7))
    expected = [
        literal(net, row, query.baseline[0], int(target)) for row, target in zip(query.x, query.target, strict=True)
    ]
    assert_close(DeepShap()(query), torch.stack(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("readout", ["logit", "probability"])
def test_deep_lift_is_captums(net, x, readout):
    query = ask(net.double(), x.double(), readout, baseline=0.3, temperature=2.0)
    assert_close(DeepShap(softmax="captum")(query), one_by_one(query), rtol=1e-10, atol=1e-12)


def test_captum_lets_the_batch_into_its_softmax_rule_and_we_do_not():
    query = ask(mlp(), data(5, 6), "probability")
    together = captum.attr.DeepLift(query.module).attribute(query.x.clone(), query.baseline, query.target)
    assert (together - one_by_one(query)).abs().max() > 1e-3
    method = DeepShap(softmax="captum")
    single = torch.cat([method(rows(query, slice(i, i + 1))) for i in range(5)])
    assert_close(method(query), single, rtol=1e-5, atol=1e-6)


def test_a_background_is_captums_deep_lift_shap_on_logits(net, x):
    method = DeepShap(background=7)
    query = fitted(method, ask(net, x))
    background = query.fitted["background"]
    expected = captum.attr.DeepLiftShap(net).attribute(x.clone(), background, query.target)
    assert_close(method(query), expected.detach(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("activation, readout", [(nn.ReLU, "logit"), (nn.ReLU, "probability"), (nn.Tanh, "logit")])
def test_a_background_is_shaps_deep_explainer(activation, readout):
    import shap

    method = DeepShap(background=200)
    query = ask(mlp(activation=activation).double(), data(6, 6).double(), readout)
    reference = Reference(data(300, 6, seed=4).double(), torch.arange(300) % 3)
    query = fitted(method, replace(query, setting=replace(query.setting, reference=reference)))
    explainer = shap.DeepExplainer(copy.deepcopy(query.module), query.fitted["background"])
    every = torch.from_numpy(explainer.shap_values(query.x.clone(), check_additivity=False))
    assert_close(method(query), every[torch.arange(6), :, query.target], rtol=1e-8, atol=1e-10)


def test_a_background_is_the_mean_of_single_references(x, net):
    """In float64: quotients of small changes are rounding in float32."""
    method, net, x = DeepShap("captum", background=3), net.double(), x.double()
    query = fitted(method, ask(net, x, "probability"))
    singles = [one_by_one(ask(net, x, "probability", baseline=start)) for start in query.fitted["background"]]
    pairwise = replace(query, machine=Machine(memory=3 * query.footprint.gradient))  # a call takes two pairs at most
    for asked in (query, pairwise):
        assert_close(method(asked), torch.stack(singles).mean(0), rtol=1e-10, atol=1e-12)


def test_the_background_is_drawn_from_the_reference_once_each():
    query = ask(mlp(), data(2, 6))
    reference = [tuple(row) for row in query.setting.reference.x.tolist()]
    drawn = [tuple(row) for row in fitted(DeepShap(background=20), query).fitted["background"].tolist()]
    assert len(set(drawn)) == 20
    assert set(drawn) < set(reference)
    assert drawn != reference[:20]
    other = fitted(DeepShap(background=20), replace(query, stream=Stream("test", seed=1))).fitted["background"]
    assert [tuple(row) for row in other.tolist()] != drawn
    with pytest.raises(NotApplicable, match="needs 33 reference rows, and there are 32"):
        fitted(DeepShap(background=33), query)


def test_a_baseline_per_sample_is_paired_with_its_sample(net, x):
    starts = torch.randn(x.shape, generator=torch.Generator().manual_seed(8))
    for machine in (TINY, ask(net, x).machine):
        query = ask(net, x, baseline=starts, machine=machine)
        assert_close(DeepShap()(query), one_by_one(query), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("background", [0, 6])
def test_attributions_sum_to_the_logit_difference(net, x, background):
    method = DeepShap(background=background)
    query = fitted(method, ask(net, x, baseline=0.3))
    start = None
    if background:
        refs = query.fitted["background"].unsqueeze(1).expand(-1, len(x), *x.shape[1:])
        start = query.score(refs).mean(0)
    found = method(query)
    assert completeness_gap(query, found, start) < 1e-5
    assert_close(method.promised(query), found.flatten(1).sum(dim=1), rtol=1e-4, atol=1e-5)
    assert not hasattr(DeepShap(skip="0"), "promised")


def test_through_a_softmax_attributions_add_up_by_default_and_by_captums_rule_they_do_not(net, x):
    query = ask(net, x, "probability", baseline=0.3, temperature=2.0)
    assert completeness_gap(query, DeepShap()(query)) < 1e-5
    assert completeness_gap(query, DeepShap(softmax="captum")(query)) > 1e-2


@pytest.mark.parametrize("seed", range(4))
@seeded()
def test_a_softmax_at_the_end_of_a_small_network_keeps_the_sum(seed):
    net = randomised(nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 4)), seed).double()
    query = ask(net, data(8, 5).double(), "probability")
    for method, least, most in ((DeepShap(), 0, 1e-12), (DeepShap(softmax="captum"), 0.1, 10)):
        change = query.change()
        gap = (method(query).sum(dim=1) - change).abs().sum() / change.abs().sum()
        assert least <= gap <= most


CURVED = [nn.SiLU, nn.SELU, lambda: nn.SELU(inplace=True), nn.ELU, nn.GELU, nn.Softplus]


@pytest.mark.parametrize("activation", CURVED)
@pytest.mark.parametrize("dtype, most", [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_through_curves_attributions_add_up(activation, dtype, most):
    query = ask(mlp(activation=activation).to(dtype), data(32, 6).to(dtype), baseline=data(1, 6, seed=7))
    assert completeness_gap(query, DeepShap()(query)) < most


@pytest.mark.parametrize("distance", [1.0, 1e-3, 1e-6, 1e-9])
def test_next_to_the_baseline_attributions_add_up_to_the_rounding_of_answers(distance):
    """Where rows and reference nearly agree, quotients are rounding: the slope stands for them."""
    net, start = mlp(activation=nn.SiLU).double(), data(1, 6, seed=7).double()
    query = ask(net, start + distance * data(16, 6).double(), baseline=start)
    rounding = torch.finfo(torch.float64).eps / distance  # of answers about 1, relative to their change
    assert completeness_gap(query, DeepShap()(query)) < 8 * rounding


@pytest.mark.parametrize("kernel, stride", [(2, 2), (3, 1)])
@pytest.mark.parametrize("after", [nn.Identity, nn.ReLU])
def test_max_pooling_keeps_the_sum_also_with_overlap_and_next_to_relu(kernel, stride, after):
    net = cnn(pool=lambda: nn.Sequential(after(), nn.MaxPool2d(kernel, stride), after())).double()
    query = ask(net, data(4, 2, 8, 8).double(), baseline=0.3)
    assert completeness_gap(query, DeepShap()(query)) < 1e-12


@seeded()
def test_max_pooling_is_captums_where_captum_keeps_the_sum():
    net = Flat(nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.MaxPool2d(2)), nn.Linear(64, 3))
    query = ask(randomised(net), data(4, 2, 8, 8), baseline=0.3)
    expected = one_by_one(query)
    assert completeness_gap(query, expected) < 1e-5
    assert_close(DeepShap()(query), expected, rtol=1e-5, atol=1e-5)


class Rewritten(nn.Module):
    """``mlp`` written in another way."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.layers, self.way, self.relu = mlp(), way, nn.ReLU(inplace="place" in way)

    def activate(self, x):
        match self.way:
            case "function":
                return F.relu(x)
            case "method":
                return x.relu()
            case "in place":
                return x.relu_()
            case "statement in place":
                F.relu(x, inplace=True)
                return x
        return self.relu(x)

    def forward(self, x):
        x = self.activate(self.layers[0](x))
        return self.layers[4](self.activate(self.layers[2](x)))


@pytest.mark.parametrize(
    "way", ["one module twice", "one module twice in place", "function", "method", "in place", "statement in place"]
)
def test_it_does_not_matter_how_relu_is_written(way):
    x = data(5, 6)
    for method in (DeepShap(), DeepShap(background=3)):
        found, expected = (method(fitted(method, ask(net, x))) for net in (Rewritten(way), mlp()))
        assert_close(found, expected, rtol=0, atol=1e-6)


def test_a_folded_axis_is_unfolded():
    class Tokens(nn.Module):
        """Each of two tokens through the same layers, folded into the batch, then added."""

        def __init__(self):
            super().__init__()
            self.layers = mlp()

        def forward(self, x):
            return self.layers(x.reshape(-1, 6)).reshape(len(x), 2, 3).sum(1)

    x = data(5, 12)
    starts = data(1, 12, seed=3)
    found = DeepShap()(ask(Tokens(), x, baseline=starts))
    halves = [DeepShap()(ask(mlp(), x[:, part], baseline=starts[:, part])) for part in (slice(0, 6), slice(6, 12))]
    assert_close(found, torch.cat(halves, 1), rtol=1e-5, atol=1e-6)
    several = DeepShap(background=3)
    query = fitted(several, ask(Tokens(), x))
    singles = [DeepShap()(ask(Tokens(), x, baseline=start)) for start in query.fitted["background"]]
    assert_close(several(query), torch.stack(singles).mean(0), rtol=1e-5, atol=1e-6)
    paired = DeepShap()(ask(Tokens(), x, baseline=query.setting.reference.x[:5]))
    alone = [
        DeepShap()(ask(Tokens(), x, baseline=start))[row] for row, start in enumerate(query.setting.reference.x[:5])
    ]
    assert_close(paired, torch.stack(alone), rtol=1e-5, atol=1e-6)


class Detector(nn.Module):
    """Two parts; Captum does not see the functions in the first one."""

    @seeded()
    def __init__(self, functional: bool) -> None:
        super().__init__()
        self.detector = randomised(nn.Sequential(nn.Linear(6, 10), nn.ReLU()))
        self.head = randomised(nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 3)), seed=1)
        self.functional = functional

    def forward(self, x):
        return self.head(F.relu(self.detector[0](x)) if self.functional else self.detector(x))


def test_a_skipped_part_has_plain_gradients_as_functions_have_in_captum():
    x = data(5, 6)
    query = ask(Detector(functional=False), x)
    expected = one_by_one(ask(Detector(functional=True), x))
    assert_close(DeepShap(skip="detector")(query), expected, rtol=1e-5, atol=1e-5)
    assert (DeepShap()(query) - expected).abs().max() > 1e-2
    assert completeness_gap(query, expected) > 1e-2


def test_skipping_everything_is_input_times_gradient():
    net = nn.Sequential(mlp())
    query = ask(net, data(5, 6))
    assert_close(DeepShap(skip="0")(query), InputXGradient()(query), rtol=1e-6, atol=1e-7)


def test_a_layer_to_skip_that_does_not_exist_is_suggested():
    with pytest.raises(SpecError, match=r"no layer 'detectr'. Did you mean 'detector'\?"):
        DeepShap(skip="detectr")(ask(Detector(False), data(2, 6)))


@seeded()
def test_where_nothing_changes_the_slope_is_used():
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False)).double()
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([[1.0, -1.0], [1.0, 1.0]]))
        net[2].weight.copy_(torch.tensor([[5.0, 1.0]]))
    x = torch.tensor([[2.0, 1.0]], dtype=torch.float64)
    start = torch.tensor([[1.0, 0.0]], dtype=torch.float64)  # the first unit is 1 at both: slope 1 there
    found = DeepShap()(ask(net, x, baseline=start))
    assert_close(found, torch.tensor([[6.0, -4.0]], dtype=torch.float64))


@seeded()
def test_rounding_does_not_leak_through_nearly_equal_sigmoids():
    net = nn.Sequential(nn.Linear(2, 1), nn.Sigmoid(), nn.Linear(1, 1))
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([[1.0, -1.0]]))
        net[0].bias.zero_()
        net[2].weight.fill_(1)
    x = torch.tensor([[1.0, 1.0 - 2e-7]])  # entries change by 1, the unit's input by 2e-7
    found = DeepShap()(ask(net, x))
    assert_close(found, torch.tensor([[0.25, -0.25]]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "last, name", [(nn.LayerNorm(3), "LayerNorm"), (nn.LogSoftmax(1), "LogSoftmax"), (nn.Hardswish(), "Hardswish")]
)
def test_layers_without_a_rule_are_named(last, name):
    with pytest.raises(NotApplicable, match=f"'model.5' is {name}"):
        DeepShap()(ask(nn.Sequential(*mlp(), last), data(2, 6)))


def test_attention_is_refused():
    class Attention(nn.Module):
        def forward(self, x):
            x = x.reshape(len(x), 3, 2)
            return (x @ x.transpose(1, 2)).softmax(-1).flatten(1)

    with pytest.raises(NotApplicable, match="the model computes Bmm"):
        DeepShap()(ask(Attention(), data(2, 6)))


def test_a_model_that_moves_its_rows_is_refused():
    class Moving(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = mlp()

        def forward(self, x):
            return self.layers[4](torch.relu(self.layers[2](torch.relu(self.layers[0](x)).T.T)).T.relu().T)

    with pytest.raises(NotApplicable, match="keeps rows along the first axis"):
        DeepShap()(ask(Moving(), data(5, 6)))
    several = DeepShap(background=4)
    for count in (4, 5, 8):  # of 8 units in the layer that moves, with 4 references
        with pytest.raises(NotApplicable, match="keeps rows along the first axis"):
            several(fitted(several, ask(Moving(), data(count, 6))))


def test_a_model_that_branches_on_its_input_is_refused():
    class Branching(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = mlp()

        def forward(self, x):
            return self.layers(x).relu() if x.abs().sum() > 0 else self.layers(x)

    with pytest.raises(NotApplicable, match="does the same to every row"):
        DeepShap()(ask(Branching(), data(2, 6)))


def two_classes(net, x, readout):
    """Attributions of both classes of a binary network, float64."""
    method = DeepShap(background=20)
    query = fitted(method, ask(net.double(), x.double(), readout))
    return [method(replace(query, target=torch.full_like(query.target, side))) for side in (0, 1)], query


def binary_network():
    """Trained on two classes."""
    environment = TabularRule(
        classes=2, d=6, informative=3, train_rows=256, hidden=(16, 8), epochs=10, batch=32, lr=0.01
    )
    return environment.setting(0, environment.train(0)).model


def opposite(left, right):
    """By how much they fail to be negatives of each other, in parts of the largest."""
    return float((left + right).abs().max() / left.abs().max())


@seeded()
def test_where_the_outputs_are_opposite_the_attributions_of_both_classes_are():
    last = nn.Linear(8, 2)
    net = randomised(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), last))
    with torch.no_grad():
        last.weight[1], last.bias[1] = -last.weight[0], -last.bias[0]
    (left, right), _ = two_classes(net, data(12, 6), "logit")
    assert opposite(left, right) < 1e-6


def test_completeness_makes_the_sums_of_two_classes_opposite_and_not_the_attributions():
    """Claim B15 does not hold, by our numbers and by shap's: in a binary task the two probabilities move in opposite
    ways, hence the sums; a feature's values do not, neither those of probabilities nor those of logits."""
    import shap

    for readout in ("probability", "logit"):
        (left, right), query = two_classes(binary_network(), data(12, 6), readout)
        explainer = shap.DeepExplainer(copy.deepcopy(query.module), query.fitted["background"])
        theirs = torch.from_numpy(explainer.shap_values(query.x.clone(), check_additivity=False))
        assert_close(torch.stack([left, right], dim=2), theirs, rtol=1e-8, atol=1e-10)
        assert opposite(left, right) > 1e-2
        if readout == "probability":
            assert opposite(left.sum(dim=1), right.sum(dim=1)) < 1e-10
