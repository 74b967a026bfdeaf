"""Verdicts are checked where truth is known: the shares add up, and nulls know nothing about the model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from assay.catalogue.build import build
from assay.catalogue.registry import resolve
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.spec import Spec
from assay.engine.artifacts.answer import attribute, make_query
from benchmarks.verdict_validation import (
    ALL,
    ENVIRONMENTS,
    NULLS,
    REAL,
    Found,
    Job,
    NewWeights,
    RandomMap,
    Shuffled,
    clustered,
    flips_table,
    nulls_table,
    outcomes_table,
    relative_truth,
    shown,
    truth_table,
    validate,
)

PAGE = (Path(__file__).parents[3] / "docs" / "verdicts.md").read_text(encoding="utf-8")
TINY = Job("tiny", "linear(shape=(8,))", seed=0, sampling=0, rows=12)


def _real(outcome: str, relative: float | None, seed: int = 0, sampling: int = 0, method: str = "m") -> Found:
    return Found("e", seed, sampling, ALL, method, REAL, outcome, relative)


def test_a_tiny_environment_gives_a_verdict_on_each_method_and_null_under_each_canvas() -> None:
    found = validate([TINY])
    real = {one.method for one in found if one.kind == REAL}
    nulls = [one for one in found if one.kind != REAL]
    assert {one.canvas for one in found} == {ALL, "rows", "mean"}
    assert len(nulls) == 3 * sum(NULLS.values())
    assert len(found) == len(nulls) + 3 * len(real)
    assert all(one.relative is None for one in nulls)
    exact = [one for one in found if one.method in ("input_x_gradient", "integrated_gradients", "exact_shapley")]
    assert all(one.relative == pytest.approx(1.0) and one.outcome == "passes" for one in exact)
    assert not any(one.outcome == "passes" for one in nulls if one.kind != "new weights")


def test_another_sampling_has_other_rows_of_the_same_model() -> None:
    place = shown(TINY)
    assert not torch.equal(place.sample([0, 1], 0).x, place.sample([0, 1], 1).x)
    assert torch.equal(place.sample([1], 1).x, place.environment.sample([1001], 0).x)


def test_nulls_are_what_they_say_and_do_not_depend_on_blocks() -> None:
    place, machine = shown(TINY), Machine()
    inner = build("methods", resolve("methods", Spec("input_x_gradient")))
    samples = place.sample(range(4), 0)
    query = make_query(place.model, samples, Question(), Stream("method", "null"), machine)
    true = attribute(inner, query)
    shuffled, other, noise = (
        attribute(null, query) for null in (Shuffled(inner, 0), NewWeights(inner, 0), RandomMap(0))
    )
    assert torch.equal(shuffled.sort(dim=1).values, true.sort(dim=1).values)
    assert not torch.equal(shuffled, true)
    slopes = other / samples.x  # of the new weights, which all rows of a class share
    same = samples.label == samples.label[0]
    assert torch.allclose(slopes[same], slopes[same][:1].expand_as(slopes[same]))
    assert not torch.allclose(other, true)
    for null, whole in ((Shuffled(inner, 0), shuffled), (NewWeights(inner, 0), other), (RandomMap(0), noise)):
        assert torch.allclose(attribute(null, query.take(slice(2, 4))), whole[2:])


def test_shares_are_clustered_by_seed() -> None:
    assert clustered([]) == "none"
    assert clustered([(seed, False) for seed in range(10) for _ in range(20)]) == "0.00 [0.00, 0.31]"
    assert clustered([(seed, True) for seed in range(10)]) == "1.00 [0.69, 1.00]"
    # Seed shares of 0.5 and 0: mean 0.25, standard error 0.25, t(1) = 12.7.
    assert clustered([(0, True), (0, False), (1, False), (1, False)]) == "0.25 [0.00, 1.00]"
    # Ten seeds, half with 1 of 2: mean 0.25, deviation sqrt(10 / 9) / 4, t(9) = 2.262.
    hits = [(seed, hit) for seed in range(10) for hit in (seed < 5, False)]
    assert clustered(hits) == "0.25 [0.06, 0.44]"


def test_the_tables_count_what_was_found() -> None:
    nulls = [Found("e", seed, 0, ALL, "n", "random", "passes" if seed == 0 else "undecided") for seed in range(4)]
    row, total = nulls_table(nulls)
    assert row["nulls"] == total["nulls"] == 4
    assert row["random passes"].startswith("0.25 ")
    assert row["shuffled passes"] == "none"
    (shares, _) = outcomes_table(nulls)
    assert (shares["passes"], shares["undecided"], shares["behind"]) == ("0.25", "0.75", "0.00")


def test_truth_divides_methods_into_refuted_and_good_ones() -> None:
    found = [
        _real("passes", 0.5),
        _real("behind", 0.2),
        _real("passes", 0.8, seed=1),
        _real("depends", 0.9, seed=1),
        _real("undecided", 0.6),  # neither
        _real("passes", None),  # the ceiling is too low
        _real("behind", 1.0, sampling=1),  # other rows: for flips only
    ]
    row, _ = truth_table(found)
    assert row["refuted pass"].startswith("0.50 ")
    assert row["good do not pass"].startswith("0.50 ")
    assert (row["refuted get"], row["good get"]) == ("passes 1, behind 1", "passes 1, depends 1")
    assert relative_truth(0.4, 0.8) == 0.5
    assert relative_truth(0.4, 0.45) is None
    assert relative_truth(0.4, None) == 0.4
    assert relative_truth(None, 1.0) is None


def test_flips_are_pairs_of_samplings_with_different_verdicts() -> None:
    outcomes = ("passes", "passes", "behind", "undecided")
    found = [_real(outcome, None, sampling=sampling) for sampling, outcome in enumerate(outcomes)]
    found += [_real("passes", None, sampling=sampling, method="steady") for sampling in range(4)]
    row, _ = flips_table(found)
    assert (row["methods"], row["with several verdicts"]) == (2, 1)
    assert row["pairs that differ"] == f"{5 / 12:.2f}"
    assert row["pairs that differ in passing"] == f"{4 / 12:.2f}"


def test_the_page_has_a_line_for_each_environment() -> None:
    section = PAGE.split("## Checked where truth is known")[1].split("\n## ")[0]
    assert all(f"| {name} | " in section for name in ENVIRONMENTS)
