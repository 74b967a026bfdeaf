"""A query answers as a loop over single rows would, within the memory it was given."""

import gc
import weakref
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from assay.core.errors import NotApplicable
from assay.core.footprint import GAPS, footprint, has_channels_last
from assay.core.machine import Machine
from assay.train.networks import initialise
from assay.train.resnet import resnet
from scenes import ask, cnn, data, mlp
from streams import seeded

STARVED = Machine(memory=1)  # one row per call


class Counting(nn.Module):
    """A model that notes how many rows each of its calls had."""

    def __init__(self, body):
        super().__init__()
        self.body, self.calls = body, []

    def forward(self, x):
        self.calls.append(len(x))
        return self.body(x)


def table(readout="logit", machine=Machine(), count=5, model=None):
    model = model or mlp(activation=nn.Tanh)
    return ask(model.double(), data(count, 6).double(), readout, temperature=0.7, machine=machine)


def image(readout="logit", machine=Machine()):
    return ask(cnn().double(), data(3, 2, 8, 8).double(), readout, machine=machine)


def literal_output(query, row):
    """The readout of one row, written out."""
    logits = query.setting.model(row.unsqueeze(0))[0]
    if query.question.readout == "probability":
        powers = (logits / query.question.temperature).exp()
        return powers / powers.sum()
    if query.question.readout == "margin":
        return torch.stack(
            [logits[c] - max(logits[:c].tolist() + logits[c + 1 :].tolist()) for c in range(len(logits))]
        )
    return logits


@pytest.mark.parametrize("readout", ["logit", "probability", "margin", "value"])
@pytest.mark.parametrize("leading", [(), (1,), (3,), (2, 2), (0,)])
@pytest.mark.parametrize("machine", [Machine(), STARVED])
def test_outputs_and_scores_are_those_of_single_rows(readout, leading, machine):
    query = table(readout, machine, count=3)
    points = data(int(torch.tensor(leading).prod()) * 3, 6, seed=4).double().view(*leading, 3, 6)
    found, scores = query.outputs(points), query.score(points)
    assert found.shape == (*leading, 3, 3)
    assert scores.shape == (*leading, 3)
    with torch.no_grad():
        rows = [literal_output(query, row) for row in points.reshape(-1, 6)]
    expected = torch.stack(rows).view(*leading, 3, 3) if rows else found
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
    picked = [row[query.target[index % 3]] for index, row in enumerate(rows)]
    torch.testing.assert_close(
        scores.flatten(), torch.stack(picked) if picked else scores.flatten(), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("make", [table, image])
@pytest.mark.parametrize("readout", ["logit", "probability"])
@pytest.mark.parametrize("machine", [Machine(), STARVED])
def test_gradients_are_those_of_single_rows(make, readout, machine):
    query = make(readout, machine)
    points = torch.stack([query.x, query.x * 0.5, query.x + 1])
    found = query.gradient(points)
    assert found.shape == points.shape
    for k, rows in enumerate(points):
        for b, row in enumerate(rows):
            leaf = row.clone().requires_grad_()
            (expected,) = torch.autograd.grad(literal_output(query, leaf)[query.target[b]], leaf)
            torch.testing.assert_close(found[k, b], expected, rtol=1e-9, atol=1e-12)


def test_a_gradient_agrees_with_differences():
    query, step = table("probability", count=2), 1e-6
    gradient = query.gradient(query.x)
    for entry in range(6):
        nudge = torch.zeros(6, dtype=torch.float64)
        nudge[entry] = step
        slope = (query.score(query.x + nudge) - query.score(query.x - nudge)) / (2 * step)
        torch.testing.assert_close(gradient[:, entry], slope, rtol=1e-6, atol=1e-9)


@settings(max_examples=25)
@given(st.integers(1, 40), st.integers(1, 4), st.integers(1, 6))
def test_calls_keep_to_the_budget_and_see_every_row_once(rows, k, count):
    model = Counting(mlp().double())
    per_row = footprint(model, torch.zeros(1, 6, dtype=torch.float64))
    model.calls.clear()
    budget = Machine(memory=rows * per_row.gradient)
    query = table(model=model, machine=budget, count=count)
    model.calls.clear()
    points = data(k * count, 6).double().view(k, count, 6)
    query.score(points)
    query.gradient(points)
    forward, backward = budget.rows(per_row.forward), budget.rows(per_row.gradient)
    cut = next(at for at in range(1, len(model.calls)) if sum(model.calls[:at]) == k * count)
    assert sum(model.calls) == 2 * k * count
    assert cut == -(-k * count // forward)
    assert len(model.calls) - cut == -(-k * count // backward)
    assert max(model.calls[:cut]) <= forward
    assert max(model.calls[cut:]) <= backward <= max(1, rows)


@settings(max_examples=60)
@given(st.integers(0, 60), st.integers(1, 9), st.integers(1, 2**15), st.booleans())
def test_parts_cover_every_point_exactly_once(count, samples, memory, gradients):
    query = PARTS[samples]
    parts = list(replace(query, machine=Machine(memory=memory)).parts(count, gradients))
    assert [index for part in parts for index in range(part.start, part.stop)] == list(range(count))
    assert all(part.stop <= count for part in parts)
    per_row = query.footprint.gradient if gradients else query.footprint.forward
    assert all((part.stop - part.start) * samples <= max(samples, memory // per_row) for part in parts)


PARTS = {samples: table(count=samples) for samples in range(1, 10)}


@pytest.mark.parametrize("machine", [Machine(), STARVED, Machine(memory=3000)])
def test_points_made_part_by_part_are_scored_as_points_made_at_once(machine):
    query = table("probability", machine, count=3)
    points = data(21, 6).double().view(7, 3, 6)
    torch.testing.assert_close(query.score_each(7, lambda part: points[part]), query.score(points), rtol=1e-9, atol=0)


def test_scores_carry_no_gradient_and_leave_their_points_alone():
    query = table()
    points = query.x.clone().requires_grad_()
    assert not query.score(points).requires_grad
    assert not query.outputs(points).requires_grad
    found = query.gradient(points)
    assert not found.requires_grad
    assert points.grad is None
    assert torch.equal(points.detach(), query.x)


def test_a_gradient_is_found_where_gradients_are_switched_off_and_parameters_get_none():
    query = table()
    expected = query.gradient(query.x)
    with torch.no_grad():
        assert torch.equal(query.gradient(query.x), expected)
    assert all(parameter.grad is None for parameter in query.setting.model.parameters())


def test_points_that_do_not_lie_in_order_in_memory_are_read_in_order():
    query = table(count=3)
    points = data(12, 6).double().view(4, 3, 6)
    turned = points.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    assert not turned.is_contiguous()
    torch.testing.assert_close(query.score(turned), query.score(points), rtol=1e-9, atol=0)
    torch.testing.assert_close(query.gradient(turned), query.gradient(points), rtol=1e-9, atol=1e-12)


def test_a_model_without_gradients_says_so():
    query = table()
    blind = replace(query, setting=replace(query.setting, differentiable=False))
    for call in (
        lambda: blind.gradient(blind.x),
        lambda: blind.gradient_through(blind.module, blind.x),
        blind.require_gradients,
    ):
        with pytest.raises(NotApplicable, match="needs gradients, and this model has none"):
            call()
    assert torch.equal(blind.score(blind.x), query.score(query.x))


def test_the_shortcut_is_taken_for_scores_and_never_for_gradients():
    calls = []

    def shortcut(rows):
        calls.append(len(rows))
        return query.setting.model(rows) + 1  # wrong by one, so that its use shows

    query = table("probability")
    quick = replace(query, setting=replace(query.setting, forward=shortcut))
    assert torch.equal(quick.gradient(quick.x), query.gradient(query.x))
    assert torch.equal(quick.gradient_through(quick.module, quick.x), query.gradient(query.x))
    assert torch.equal(quick.module(quick.x), query.module(query.x))
    assert calls == []
    torch.testing.assert_close(quick.outputs(quick.x), query.outputs(query.x), rtol=1e-9, atol=0)  # softmax of + 1
    assert sum(calls) == len(query.x)
    plain, logits = table("logit"), replace(table("logit").setting, forward=shortcut)
    torch.testing.assert_close(
        replace(plain, setting=logits).score(plain.x), plain.score(plain.x) + 1, rtol=1e-9, atol=0
    )


def test_the_shortcut_too_is_given_no_more_rows_than_fit():
    seen = []
    query = table(machine=STARVED)
    setting = replace(query.setting, forward=lambda rows: (seen.append(len(rows)), query.setting.model(rows))[1])
    replace(query, setting=setting).score(query.x)
    assert seen == [1] * len(query.x)


def test_a_pull_goes_through_the_module_it_is_given():
    query = table()
    double = nn.Sequential(query.module, _Twice())
    torch.testing.assert_close(query.gradient_through(double, query.x), 2 * query.gradient(query.x), rtol=1e-12, atol=0)


class _Twice(nn.Module):
    def forward(self, x):
        return 2 * x


@settings(max_examples=40)
@given(st.integers(1, 9), st.integers(1, 12), st.integers(1, 2**15))
def test_blocks_ask_about_every_sample_once_and_in_order(samples, copies, memory):
    query = replace(PARTS[samples], machine=Machine(memory=memory))
    parts = list(query.blocks(copies))
    assert torch.equal(torch.cat([part.x for part in parts]), query.x)
    assert torch.equal(torch.cat([part.target for part in parts]), query.target)
    assert torch.equal(torch.cat([part.baseline for part in parts]), query.baseline)
    assert sum((part.indices for part in parts), ()) == query.indices
    assert all(len(part.x) == 1 or len(part.x) * copies * query.footprint.gradient <= memory for part in parts)
    assert torch.equal(torch.cat([part.draws("p").uniform(2) for part in parts]), query.draws("p").uniform(2))


def stored_rows(model, x):
    """Whether the rows of each call had channels last: of scores, then of gradients."""
    query = ask(model, x, "logit")
    query.score(query.x)  # tries what the model takes
    seen = []
    query.setting.model.register_forward_pre_hook(lambda _, args: seen.append(has_channels_last(args[0])))
    for points in (query.x, query.x.contiguous().repeat(4, 1, 1, 1, 1)):
        query.score(points)
        query.gradient(points)
    return seen


@pytest.mark.parametrize("channels", [torch.contiguous_format, torch.channels_last])
def test_rows_of_a_convolution_have_channels_last(channels):
    assert all(stored_rows(cnn(), data(3, 2, 8, 8).contiguous(memory_format=channels)))


class _Viewed(nn.Module):
    """A model that channels last would stop."""

    def __init__(self):
        super().__init__()
        self.convolution, self.head = nn.Conv2d(2, 4, 3), nn.Linear(4 * 36, 3)

    def forward(self, x):
        return self.head(self.convolution(x).view(len(x), -1))


class _Laid(_Viewed):
    """A model that reads its input in the order of memory."""

    def forward(self, x):
        memory = x.permute(0, 2, 3, 1).reshape(x.shape) if has_channels_last(x) else x
        return super().forward(memory.contiguous())


@pytest.mark.parametrize("model", [_Viewed, _Laid, lambda: nn.Sequential(nn.Flatten(), nn.Linear(128, 3))])
@seeded()
def test_rows_stay_as_the_inputs_where_a_model_depends_on_it_or_does_not_convolve(model):
    assert not any(stored_rows(model().eval(), data(3, 2, 8, 8)))


# Footprints.


NETWORKS = {
    "table": (lambda: nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64), nn.Tanh()), (64,)),
    "pixels": (lambda: nn.Sequential(nn.Conv2d(16, 48, 1), nn.ReLU(), nn.Conv2d(48, 16, 1), nn.ReLU()), (16, 24, 24)),
    "patches": (lambda: nn.Sequential(nn.Conv2d(16, 64, 3), nn.ReLU(), nn.Conv2d(64, 16, 3, 2)), (16, 24, 24)),
    "exact": (lambda: nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3, 2)).double(), (4, 24, 24)),
    "residual": (lambda: trained(resnet(8, 10)), (3, 24, 24)),
}


def trained(network):
    initialise(network, torch.Generator().manual_seed(0))
    return network


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("kind", ["forward", "gradient"])
@pytest.mark.parametrize("channels", ["first", "last"])
@seeded()
def test_without_gaps_a_footprint_is_what_the_profiler_finds(name, channels, kind, monkeypatch):
    monkeypatch.setattr("assay.core.footprint.GAPS", 1)
    make, entries = NETWORKS[name]
    model = make().eval().requires_grad_(False)
    rows = data(64, *entries).to(next(model.parameters()).dtype)
    if channels == "last" and rows.dim() == 4:
        rows = rows.contiguous(memory_format=torch.channels_last)

    def run():
        with torch.set_grad_enabled(kind == "gradient"):
            points = rows.clone().requires_grad_(kind == "gradient")
            answer = model(points).sum()
            if kind == "gradient":
                torch.autograd.grad(answer, points)

    run()  # what is made once for all calls is made now
    points, size = 2 * rows[0].nbytes, getattr(footprint(model, rows[:1]), kind)
    held = size - points + (rows[0].nbytes if kind == "forward" else 0)
    # A convolution's result may not fit where the copy of its input was; without AVX no copy fills in a stride's gaps.
    unused = {"forward": 0.15, "gradient": 0.3 if name == "patches" else 0.1}[kind]
    assert -0.1 < held / (peak(run) / len(rows)) - 1 < unused


def peak(run):
    """The most bytes that torch's allocator had given out at a time."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as told:
        run()
    events = [event for event in told.profiler.kineto_results.events() if event.name() == "[memory]"]
    now, most = 0, 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        most = max(most, now)
    return most


def test_a_call_that_fills_the_budget_holds_no_more_than_it():
    model, budget = trained(resnet(8, 10)).eval().requires_grad_(False), 2**25
    rows = data(Machine(memory=budget).rows(footprint(model, torch.zeros(1, 3, 32, 32)).forward), 3, 32, 32)
    with torch.no_grad():
        assert budget / 2 < peak(lambda: model(rows.clone())) < budget / 1.4


def test_a_footprint_leaves_no_hooks_and_no_gradients():
    model = mlp()
    footprint(model, torch.zeros(1, 6))
    assert not any(module._forward_hooks for module in model.modules())
    assert all(parameter.grad is None for parameter in model.parameters())


@seeded()
def test_a_footprint_of_a_model_that_raises_leaves_no_hooks_either():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(3, 3))
    with pytest.raises(RuntimeError):
        footprint(model, torch.zeros(1, 4))
    assert not any(module._forward_hooks for module in model.modules())
    with pytest.raises(RuntimeError):
        footprint(model, torch.zeros(1, 4))  # and is not remembered


@seeded()
def test_a_footprint_keeps_no_model_alive():
    model = nn.Linear(2, 2)
    known = weakref.ref(model)
    footprint(model, torch.zeros(1, 2))
    del model
    gc.collect()
    assert known() is None


def test_a_model_of_one_piece_has_a_footprint_too():
    class Whole(nn.Module):
        def forward(self, x):
            return torch.cat([x, x], dim=1)

    found = footprint(Whole(), torch.zeros(1, 4))
    assert found.forward == int((32 + 2 * 16) * GAPS)
