"""Metrics with a call of their own: told by their parameters, read as numbers, usable in a trial."""

from __future__ import annotations

import enum
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from assay.catalogue.build import build
from assay.catalogue.registry import card, resolve
from assay.core.errors import AssayError, NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.features import Columns
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.setting import Samples, Setting
from assay.core.spec import Spec
from assay.core.trial import Scene, Trial
from assay.engine.artifacts.answer import attribute, make_trial
from assay.foreign.given import given_array
from assay.foreign.metrics import MetricInputs, as_numbers, foreign_metric, metric_of, roles
from assay.methods.gradient import Gradient
from assay.methods.occlusion import Occlusion
from assay.studies.file import read
from scenes import ask, cnn, data, mlp
from streams import seeded


class Which(enum.Enum):
    UP = "Higher"
    PICTURES = "image"
    SHEETS = "tabular"


class Batch:
    """In the shape that Quantus users know."""

    score_direction = Which.UP
    data_applicability = frozenset({Which.PICTURES, Which.SHEETS})

    def __init__(self, factor=1.0, function=None):
        self.factor, self.function = factor, function

    def __call__(self, model, x_batch, y_batch, a_batch, s_batch=None, softmax=True, device=None, batch_size=64):
        assert isinstance(x_batch, np.ndarray)
        self.seen = (softmax, device, batch_size)
        scores = self.factor * a_batch.reshape(len(a_batch), -1).sum(axis=1)
        return [float(self.function(score)) if self.function else float(score) for score in scores]


def plain(model, x, y, a):
    assert isinstance(x, torch.Tensor)
    return (x * a).flatten(1).sum(dim=1)


def annotated(model, inputs: np.ndarray, targets, attributions):
    assert isinstance(inputs, np.ndarray)
    return 0.5


def explain(model, inputs, targets, **kwargs):
    return inputs


class OfTrial:
    def __call__(self, trial):
        return trial


MADE = Batch(factor=3.0)
X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
MATERIAL = MetricInputs(nn.Identity(), X, torch.tensor([0, 1]), 10 * X)


@pytest.mark.parametrize("target", [Batch, MADE, plain, annotated])
def test_a_metric_is_told_by_the_parameters_of_its_call(target):
    assert {"model", "x", "y", "a"} <= set(roles(target))


@pytest.mark.parametrize("target", [explain, OfTrial, OfTrial(), nn.Linear, np.add, print, 3])
def test_anything_else_is_no_metric(target):
    assert roles(target) == {}
    assert foreign_metric("it", target, {}) is None


def test_a_class_is_made_anew_for_every_call_and_asked_without_softmax():
    metric = foreign_metric("it", Batch, {"factor": 2.0})
    assert metric.ask(MATERIAL) == [60.0, 140.0]
    assert metric.make() is not metric.make()
    instance = metric.make()
    metric.ask_instance(instance, MATERIAL, batch_size=1)
    assert instance.seen == (False, "cpu", 1)
    metric.ask_instance(instance, MATERIAL)
    assert instance.seen == (False, "cpu", 64)  # its own default


def test_an_instance_is_copied_so_that_it_stays_as_it_is():
    metric = foreign_metric("it", MADE, {})
    assert metric.ask(MATERIAL) == [90.0, 210.0]
    assert not hasattr(MADE, "seen")


def test_what_is_asked_about_is_copied():
    def spoils(model, x, y, a):
        x.zero_()
        return [0.0, 0.0]

    foreign_metric("it", spoils, {}).ask(MATERIAL)
    assert X.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_direction_and_kinds_of_data_are_read_from_members_of_enumerations():
    assert foreign_metric("it", Batch, {}).facts == {"higher_is_better": True, "kinds": ("image", "table")}
    assert foreign_metric("it", plain, {}).facts == {}


def test_a_function_is_a_parameter_by_its_name():
    metric = foreign_metric("it", Batch, {"function": "math:sqrt"})
    assert metric.ask(MATERIAL) == pytest.approx([30**0.5, 70**0.5])


@pytest.mark.parametrize(
    ("target", "params", "message"),
    [
        (Batch, {"fctor": 1}, "cannot make 'it': .*fctor"),
        (MADE, {"factor": 1}, "'it' is made already"),
        (Batch, {"function": "math:sqroot"}, "module 'math' has no 'sqroot'"),
    ],
)
def test_what_does_not_fit_is_said_at_once(target, params, message):
    with pytest.raises(SpecError, match=message):
        foreign_metric("it", target, params)


@pytest.mark.parametrize(
    ("result", "values", "per_sample"),
    [
        (0.5, [0.5], False),
        ([1, True], [1.0, 1.0], True),
        (torch.tensor([1.0, 2.0]), [1.0, 2.0], True),
        ({10: 0.25, 50: 0.75}, [0.25, 0.75], False),
        ({"a": [1, 2, 3], "b": [4, 5, 6]}, [[1, 4], [2, 5], [3, 6]], True),
    ],
)
def test_results_become_numbers(result, values, per_sample):
    found, each = as_numbers(result)
    assert (found.tolist(), each) == (values, per_sample)


@pytest.mark.parametrize("result", [None, [None], ["a"], ["1"], [[1, 2], [3]], {"a": {}}])
def test_what_is_no_number_is_said(result):
    with pytest.raises(TypeError, match="cannot be read as numbers"):
        as_numbers(result)


@seeded()
def trial() -> Trial:
    setting = Setting(nn.Linear(2, 2).eval(), Columns.plain(2), "table", Question("logit", 1.0, "zero", "label"))
    samples = Samples(X, torch.tensor([0, 1]), None, (0, 1))
    return Trial(Scene(setting, samples, setting.question, samples.label, Stream("here")), 10 * X)


def test_it_judges_a_trial_like_any_other():
    evidence = foreign_metric("it", Batch, {})(trial())
    assert isinstance(evidence, Evidence)
    assert evidence["value"].tolist() == [30.0, 70.0]
    assert evidence.defined.all()


def test_a_metric_that_wants_a_model_in_evaluation_mode_gets_one():
    def strict(model, x, y, a):
        assert not [name for name, module in model.named_modules() if module.training]
        return [1.0] * len(x)

    assert foreign_metric("it", strict, {})(trial())["value"].tolist() == [1.0, 1.0]


def test_one_number_for_all_samples_does_not_apply_to_a_trial():
    with pytest.raises(NotApplicable, match="scores sets of samples"):
        foreign_metric("it", annotated, {})(trial())


def test_global_random_numbers_are_the_same_for_the_same_trial_and_stay_where_they_were():
    def draws(model, x, y, a):
        return np.random.random(len(x)) + torch.rand(len(x)).numpy()

    metric, here = foreign_metric("it", draws, {}), trial()
    before = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    first, second = (metric(here)["value"].tolist() for _ in range(2))
    assert first == second
    assert before == (np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())


def test_a_spec_builds_it(tmp_path, monkeypatch):
    (tmp_path / "their_metrics.py").write_text(
        "class Sum:\n"
        "    def __init__(self, function):\n"
        "        self.function = function\n"
        "    def __call__(self, model, x_batch, y_batch, a_batch):\n"
        "        return [self.function(row.sum()) for row in a_batch]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    metric = build("metrics", resolve("metrics", Spec.parse("their_metrics:Sum(function='math:sqrt')")))
    assert metric.ask(MATERIAL) == pytest.approx([30**0.5, 70**0.5])


DECLARING = """
import enum

class Way(enum.Enum):
    DOWN = "lower"

class Base:
    def __call__(self, model, x, y, a): return [0.0] * len(x)

class Plain:
    higher_is_better = False
    def __call__(self, model, x, y, a): return [0.0] * len(x)

class Worded(Base):
    score_direction = Way.DOWN

class Inherited(Worded): ...

class Up(Base):
    higher_is_better = True

class Unsaid(Base): ...

class Instances(Base):
    @property
    def higher_is_better(self): return False

def function(model, x, y, a): return [0.0] * len(x)
function.higher_is_better = False
"""


@pytest.mark.parametrize(
    "name, higher",
    [
        ("Plain", False),
        ("Worded", False),
        ("Inherited", False),
        ("Up", True),
        ("Unsaid", None),
        ("Instances", None),
        ("function", False),
    ],
)
def test_the_card_of_somebody_s_metric_has_the_direction_that_it_declares(modules, name, higher):
    modules.write("declaring", DECLARING)
    assert card("metrics", f"declaring:{name}").fact("higher_is_better") is higher
    table = {"environments": ["color_count"], "methods": ["gradient"], "metrics": [f"declaring:{name}"]}
    table["faithfulness"] = [{"metric": f"declaring:{name}"}]
    if higher:
        assert read(table, "some", "some").faithfulness
        return
    with pytest.raises(AssayError, match="is better when lower" if higher is False else "does not say that higher"):
        read(table, "some", "some")


class AsksAgain:
    """In the shape of metrics that call ``explain_func``: how much the maps change."""

    def __init__(self, step=1, change=lambda model: model, return_aggregate=False):
        self.step, self.change, self.return_aggregate, self.aggregate_func = step, change, return_aggregate, np.mean

    def __call__(self, model, x_batch, y_batch, a_batch, explain_func=None):
        model = self.change(model)
        parts = [
            explain_func(
                model=model,
                inputs=x_batch[start : start + self.step] + 0.25,
                targets=y_batch[start : start + self.step],
            )
            for start in range(0, len(x_batch), self.step)
        ]
        maps = np.concatenate(parts)
        assert maps.shape == a_batch.shape
        scores = np.abs(maps - a_batch).reshape(len(maps), -1).max(axis=1)
        return [float(scores.mean())] if self.return_aggregate else list(scores)


def judged(metric, method, x, readout="logit"):
    """A trial as the engine makes it."""
    query = ask(cnn() if x.dim() == 4 else mlp(), x, readout)
    scene = Scene(
        query.setting, Samples(x, query.target, None, query.indices), query.question, query.target, query.stream
    )
    return foreign_metric("it", metric, {})(make_trial(metric, method, query, scene, attribute(method, query)))


@dataclass(frozen=True)
class NoisyGradient:
    """Noise of its own for each sample."""

    def __call__(self, query):
        return query.gradient(query.x) + query.draws("noise").normal(*query.x.shape[1:])


@pytest.mark.parametrize("step", [1, 2, 3, 6])
@pytest.mark.parametrize("method", [Gradient(), NoisyGradient()], ids=["gradient", "noisy"])
def test_a_metric_that_asks_again_gets_the_method_at_hand(step, method):
    x = data(6, 6)
    query = ask(mlp(), x)
    moved = (query.gradient(x + 0.25) - query.gradient(x)).abs().amax(dim=1)  # the same noise both times
    found = judged(AsksAgain(step), method, x)["value"]
    np.testing.assert_allclose(found, moved.numpy(), rtol=1e-4, atol=1e-6)


def test_maps_of_pixels_come_again_in_the_shape_that_they_had():
    found = judged(AsksAgain(2), Occlusion(window=4, stride=4), data(4, 2, 8, 8))["value"]
    assert (found > 0).all()


@pytest.mark.parametrize("readout", ["logit", "probability"])
def test_a_model_that_the_metric_changed_is_explained(readout):
    def doubled(model):
        copy = deepcopy(model)
        with torch.no_grad():
            for parameter in copy.parameters():
                parameter.mul_(2)
        return copy

    x = data(4, 6)
    changed = ask(doubled(mlp()), x, readout)
    expected = (changed.gradient(x + 0.25) - ask(mlp(), x, readout).gradient(x)).abs().amax(dim=1)
    found = judged(AsksAgain(4, doubled), Gradient(), x, readout)["value"]
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5)


def test_given_numbers_cannot_be_asked_again():
    given = given_array(np.ones((4, 6)))
    with pytest.raises(NotApplicable, match="needs to ask the method again, and this attribution was given as numbers"):
        judged(AsksAgain(), given, data(4, 6))
    assert judged(plain, given, data(4, 6))["value"].shape == (4,)


def test_a_mean_over_samples_is_taken_apart():
    x = data(4, 6)
    whole = judged(AsksAgain(return_aggregate=True), Gradient(), x)
    assert whole["value"].tolist() == judged(AsksAgain(), Gradient(), x)["value"].tolist()
    other = AsksAgain(return_aggregate=True)
    other.aggregate_func = np.median
    with pytest.raises(NotApplicable, match="scores sets of samples"):
        judged(other, Gradient(), x)


def test_an_instance_and_its_class_draw_the_same_numbers():
    assert foreign_metric("it", Batch, {"factor": 2.0}).stream_name == foreign_metric("it", MADE, {}).stream_name


@pytest.mark.parametrize("thing", [3, nn.Linear, nn.ReLU(), lambda prediction, target: 0.0, {"a": 1}])
def test_what_is_no_metric_is_told(thing):
    with pytest.raises(SpecError, match="a metric takes a trial, or a model, samples, classes and attributions"):
        metric_of("it", thing)


def test_what_takes_a_trial_is_left_as_it_is():
    metric = OfTrial()
    assert metric_of("it", metric) is metric
