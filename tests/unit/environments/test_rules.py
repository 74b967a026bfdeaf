"""The rules of tabular_rule: what each reads, its truth, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from assay.check.contracts.environment_case import EnvironmentCase
from assay.check.contracts.environments import CONTRACTS
from assay.check.contracts.fault import examine
from assay.core.errors import SpecError
from assay.environments._gaussian_shapley import conditional_maps
from assay.environments._rules import FORMS
from assay.environments.tabular_rule import TabularRule

SMALL = {"train_rows": 8, "hidden": (4,), "epochs": 1}
LINEAR = TabularRule(**SMALL)
INTERACTION = TabularRule(task="interaction", **SMALL)
SPARSE = {form: TabularRule(task="sparse", form=form, **SMALL) for form in FORMS}  # type: ignore[arg-type]
ENVIRONMENTS = {"linear": LINEAR, "interaction": INTERACTION, **SPARSE}


def sin(x: float) -> float:
    return math.sin(x)


def literal_scores(name: str, x: Sequence[float]) -> list[float]:
    """The formulas of the reconstruction, with plain numbers."""
    x0, x1, x2, x3, x4, x5 = x[:6]
    tanh = math.tanh
    b = [2 * sin(x0) + x1**2 - 1, 2 * tanh(x2) + abs(x3), x4 + sin(2 * x0)]

    def f(u: float, v: float, w: float) -> float:
        return u * u - abs(v) + sin(2 * w)

    def h(u: float, v: float, w: float) -> float:
        return u * u - v + sin(2 * w) - 1

    return {
        "interaction": [2 * x0 * x1, 2 * x2 * x3, 2 * x4 * x5],
        "A": [sin(x0) + x1**2, tanh(x2) + abs(x3), math.exp(-(x4**2)) + x5],
        "B": [3 * sin(x0) + 1.5 * (x1**2 - 1), 3 * tanh(x2) + 1.5 * abs(x3), 1.5 * x4 + 1.5 * sin(2 * x0)],
        "B_unscaled": b,
        "C": [sin(x0) + x1**2 - x2, tanh(2 * x2) + x3 + x4, abs(x3) - x0 + x4**2 - 1],
        "F": [f(x0, x1, x2), f(x2, x3, x4), f(x4, x0, x1)],
        "H": [h(x0, x1, x2), h(x2, x3, x4), h(x4, x0, x1)],
        "I": [
            2 * sin(x0) + x1**2 - 1 - abs(x2),
            2 * tanh(x2) + abs(x3) - x4,
            x4**2 - 1 + sin(2 * x0) + x3,
        ],
        "three_copies": [sin(2 * x0) + x1**2 - 1, sin(2 * x2) + x3**2 - 1, sin(2 * x4) + x5**2 - 1],
    }[name]


@pytest.mark.parametrize("name", [name for name in ENVIRONMENTS if name != "linear"])
def test_scores_are_those_of_the_reconstruction(name: str) -> None:
    x = ENVIRONMENTS[name].sample(range(20), 0).x.double()
    expected = torch.tensor([literal_scores(name, row) for row in x.tolist()], dtype=torch.float64)
    torch.testing.assert_close(ENVIRONMENTS[name].program(x, 0), expected, rtol=1e-9, atol=1e-12)


def central_differences(env: TabularRule, x: Tensor, label: Tensor, seed: int, h: float = 1e-4) -> Tensor:
    """x_j (s_y(x + h e_j) - s_y(x - h e_j)) / 2h, feature by feature."""
    columns = []
    for j in range(env.d):
        step = torch.zeros(env.d, dtype=torch.float64)
        step[j] = h
        up, down = (env.program(x + sign * step, seed).gather(1, label[:, None])[:, 0] for sign in (1, -1))
        columns.append(x[:, j] * (up - down) / (2 * h))
    return torch.stack(columns, dim=1)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_effect_is_what_central_differences_find(name: str) -> None:
    env = ENVIRONMENTS[name]
    samples = env.sample(range(60), 3)
    assert samples.truth is not None
    x = samples.x.double()
    expected = central_differences(env, x, samples.label, 3)
    torch.testing.assert_close(samples.truth.effect.double(), expected, rtol=1e-5, atol=1e-5)
    scores = env.program(x, 3).scatter(1, samples.label[:, None], -torch.inf)
    rival = central_differences(env, x, scores.argmax(dim=1), 3)
    torch.testing.assert_close(samples.truth.of("margin").double(), expected - rival, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "per_class"),
    [("interaction", (2, 2, 2)), ("A", (2, 2, 2)), ("B", (2, 2, 2)), ("C", (3, 3, 3)), ("F", (3, 3, 3)),
     ("H", (3, 3, 3)), ("I", (3, 3, 3)), ("three_copies", (2, 2, 2))],
)  # fmt: skip
def test_a_class_of_a_nonlinear_rule_reads_two_or_three_features(name: str, per_class: tuple[int, ...]) -> None:
    env = ENVIRONMENTS[name]
    samples = env.sample(range(200), 0)
    assert samples.truth is not None
    count = (samples.truth.effect != 0).sum(dim=1)
    for label, features in enumerate(per_class):
        assert set(count[samples.label == label].tolist()) == {features}
    seen = samples.truth.effect.ne(0).any(dim=0).nonzero().flatten().tolist()
    assert env.setting(0, env.train(0)).informative == tuple(seen)


def test_a_larger_interaction_rule_adds_pairs() -> None:
    env = TabularRule(task="interaction", classes=2, informative=8, d=9, **SMALL)  # type: ignore[arg-type]
    x = env.sample(range(5), 0).x.double()
    first, second = 2 * (x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3]), 2 * (x[:, 4] * x[:, 5] + x[:, 6] * x[:, 7])
    torch.testing.assert_close(env.program(x, 0), torch.stack([first, second], dim=1))


def test_the_kink_of_an_absolute_value_has_no_effect() -> None:
    env, x = SPARSE["B"], torch.zeros(1, 20)
    assert torch.equal(env._effect(x, torch.tensor([1]), 0), torch.zeros(1, 20, dtype=torch.float64))


def test_the_scale_multiplies_scores_and_effects_and_noise_hides_less() -> None:
    plain, large = LINEAR, TabularRule(scale=3.0, **SMALL)  # type: ignore[arg-type]
    x = plain.sample(range(400), 0).x
    torch.testing.assert_close(large.program(x, 0), 3 * plain.program(x, 0))
    same_rows = large.sample(range(400), 0)
    assert torch.equal(same_rows.x, x)
    right = [float((env.program(x, 0).argmax(dim=1) == env.sample(range(400), 0).label).float().mean())
             for env in (plain, large)]  # fmt: skip
    assert right[0] < right[1] < 1


def test_nonlinear_rules_are_fixed_so_that_only_the_linear_one_needs_equal_seeds() -> None:
    assert {name for name, env in ENVIRONMENTS.items() if env.draws_rule} == {"linear"}
    for name, env in ENVIRONMENTS.items():
        same = torch.equal(env.program(torch.ones(1, 20), 0), env.program(torch.ones(1, 20), 1))
        assert same is (name != "linear")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"task": "sparse", "classes": 4}, "3 classes"),
        ({"task": "sparse", "informative": 4}, "reads 5 columns"),
        ({"form": "A"}, "task='sparse'"),
        ({"task": "interaction", "informative": 5}, "multiple of 6"),
        ({"task": "interaction", "d": 5}, "between 1 and d=5"),
        ({"task": "interaction", "rule_seed": 0}, "has none"),
        ({"noise": -1.0}, "noise of 0 or more"),
        ({"scale": 0.0}, "positive scale"),
        ({"correlation": 1.0}, "less than 1"),
        ({"correlation": -0.1}, "at least 0"),
        ({"task": "sparse", "truth": "conditional"}, "linear task only"),
        ({"truth": "conditional"}, "at most 12 columns"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(wrong: dict[str, object], sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        TabularRule(**wrong)  # type: ignore[arg-type]


def correlated(correlation: float, truth: str) -> TabularRule:
    return TabularRule(d=12, correlation=correlation, truth=truth, **SMALL)  # type: ignore[arg-type]


def test_any_two_columns_of_samples_and_training_rows_have_the_correlation() -> None:
    env = TabularRule(d=6, correlation=0.6, train_rows=8000, hidden=(4,), epochs=1)
    reference = env._training_rows(0)
    for x in (env.sample(range(4000), 0).x, reference.x):
        covariance = torch.cov(x.T)
        expected = torch.full((6, 6), 0.6).fill_diagonal_(1.0)
        assert float((covariance - expected).abs().max()) < 5 * 2**0.5 / len(x) ** 0.5
        assert float(x.mean(dim=0).abs().max()) < 5 / len(x) ** 0.5


def test_without_correlation_all_three_truths_are_the_same() -> None:
    effects = [
        correlated(0.0, truth).sample(range(20), 1).truth for truth in ("effect", "interventional", "conditional")
    ]
    for found in effects[1:]:
        assert found is not None
        assert effects[0] is not None
        torch.testing.assert_close(found.effect, effects[0].effect)
        torch.testing.assert_close(found.of("margin"), effects[0].of("margin"))


def test_conditional_truth_is_that_of_the_labels_score_and_says_that_all_columns_may_count() -> None:
    env = correlated(0.5, "conditional")
    samples = env.sample(range(10), 2)
    assert samples.truth is not None
    weights = env.program(torch.eye(12, dtype=torch.float64), 2).T
    maps = conditional_maps(weights, torch.full((12, 12), 0.5, dtype=torch.float64).fill_diagonal_(1.0))
    for row, label, found in zip(samples.x.double(), samples.label, samples.truth.effect, strict=True):
        torch.testing.assert_close(found.double(), maps[label] @ row, rtol=1e-5, atol=1e-5)
    score = env.program(samples.x, 2).gather(1, samples.label[:, None])[:, 0]
    torch.testing.assert_close(samples.truth.effect.sum(dim=1), score, rtol=1e-4, atol=1e-4)
    assert bool((samples.truth.effect[:, 5:] != 0).all())  # columns that the rule does not read
    assert env.setting(2, env.train(2)).informative == tuple(range(12))
    unread = correlated(0.5, "interventional").sample(range(10), 2).truth
    assert unread is not None
    assert bool((unread.effect[:, 5:] == 0).all())


def test_conditional_truth_breaks_one_contract_which_is_its_point() -> None:
    """A column that the rule does not read has a value, and the rule's answer does not change without it."""
    env = replace(TabularRule.tiny(), correlation=0.5, truth="conditional")
    assert {fault.contract for fault in examine(EnvironmentCase("conditional", env), CONTRACTS)} == {"sensitivity"}


def test_the_setting_has_the_rule_of_its_seed() -> None:
    for env in (LINEAR, INTERACTION):
        setting, x = env.setting(3, env.train(3)), env.sample(range(4), 3).x
        assert setting.rule is not None
        assert torch.equal(setting.rule(x), env.program(x, 3))
