"""Verdicts on methods by constructed data, by a literal version of the rules, and their counts."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t, wilcoxon

from assay.core.errors import AssayError
from assay.stats.judged import Judged
from assay.stats.method_verdicts import MethodVerdict, Verdicts, by_class, method_verdicts

PLACES = (("order", "blur"), ("order", "zero"), ("size", "blur"), ("size", "zero"))
Means = float | Mapping[tuple[str, str], float]


def judged(means: Mapping[str, Means], rows: int = 40, spread: float = 0.1, seed: int = 0) -> list[Judged]:
    """Cells whose means are exactly as given, and so are their standard deviations."""
    cells = []
    for method, mean in means.items():
        for place in PLACES:
            noise = np.random.default_rng([crc32(f"{method}{place}".encode()), rows, seed]).normal(size=rows)
            noise = spread * (noise - noise.mean()) / noise.std(ddof=1)
            shift = mean if isinstance(mean, float) else mean[place]
            cells.append(Judged(method, *place, tuple((noise + shift).tolist())))
    return cells


def spoiled(cells: Sequence[Judged], method: str, place: tuple[str, str], **fields) -> list[Judged]:
    """The same cells, one of them with other fields."""
    chosen = [replace(c, **fields) if (c.method, c.family, c.canvas) == (method, *place) else c for c in cells]
    assert chosen != list(cells)
    return chosen


def outcomes(verdicts: Verdicts) -> dict[str, str]:
    return {verdict.method: verdict.outcome for verdict in verdicts.methods}


def everywhere(mean: float, **others: float) -> dict[tuple[str, str], float]:
    """A mean in all places but some, such as ``size_zero``."""
    return {place: others.get("_".join(place), mean) for place in PLACES}


def test_methods_above_chance_that_nobody_beats_pass():
    verdicts = method_verdicts(judged({"lime": 0.3, "shap": 0.31}))
    assert outcomes(verdicts) == {"lime": "passes", "shap": "passes"}
    assert verdicts["lime"].reason == "above chance in order and size under both canvases; not separated below the best"
    assert verdicts["lime"].rows_needed is None
    assert all(p <= 0.05 for p in verdicts["lime"].p_holm.values())
    assert set(verdicts.best.values()) == {"shap"}


def test_a_method_that_is_below_the_best_everywhere_is_behind_and_the_best_is_named():
    verdict = method_verdicts(judged({"lime": 0.1, "shap": 0.5}, 30))["lime"]
    assert verdict.outcome == "behind"
    assert verdict.reason == "above chance in order and size under both canvases; separated below shap"
    assert {cell.state for cell in verdict.cells} == {"behind"}


def test_a_method_that_is_behind_by_less_than_a_tenth_of_the_best_passes_however_sure_the_difference_is():
    means = {"near": 0.95, "shap": 1.0}
    verdicts = method_verdicts(judged(means, spread=0.02))
    values = {(c.method, c.family, c.canvas): np.array(c.values) for c in judged(means, spread=0.02)}
    for place in PLACES:
        difference = values["shap", *place] - values["near", *place]
        assert wilcoxon(difference, alternative="greater").pvalue < 1e-6
    assert outcomes(verdicts) == {"near": "passes", "shap": "passes"}
    assert {(cell.best, cell.separated) for cell in verdicts["near"].cells} == {("shap", False)}
    assert all(cell.behind_by == pytest.approx(0.05) for cell in verdicts["near"].cells)


def test_a_tenth_of_the_best_is_the_limit_of_being_behind():
    found = {mean: outcomes(method_verdicts(judged({"lime": mean, "shap": 1.0}, spread=0.02))) for mean in (0.92, 0.88)}
    assert found == {0.92: {"lime": "passes", "shap": "passes"}, 0.88: {"lime": "behind", "shap": "passes"}}


def test_a_method_with_a_negligible_lead_in_all_cells_is_no_better_than_chance():
    verdict = method_verdicts(judged({"noise": 0.0, "shap": 0.5}))["noise"]
    assert verdict.outcome == "no better than chance"
    assert verdict.reason == "no better than chance in order and size under both canvases"


def test_a_lead_of_a_tenth_of_the_best_is_the_limit():
    rows, spread = 40, 0.1
    half = t.ppf(0.95, rows - 1) * spread / math.sqrt(rows)  # one-sided
    for upper, outcome in ((0.0499, "no better than chance"), (0.0501, "undecided")):
        cells = judged({"noise": upper - half, "shap": 0.5}, rows, spread)
        assert all(cell.leads[0].upper == pytest.approx(upper) for cell in method_verdicts(cells)["noise"].cells)
        assert method_verdicts(cells)["noise"].outcome == outcome


def test_a_method_that_leads_in_one_cell_and_has_nothing_in_another_depends_and_the_numbers_are_said():
    verdict = method_verdicts(judged({"cam": everywhere(0.5, size_zero=0.0), "shap": 0.5}))["cam"]
    assert verdict.outcome == "depends"
    assert "above chance in order under blur (0.500 [0.468, 0.532])" in verdict.reason
    assert "but no better than chance in size under zero (0.000 [-0.032, 0.032])" in verdict.reason


def test_a_method_that_is_separated_in_one_cell_and_not_in_another_depends():
    verdict = method_verdicts(judged({"cam": everywhere(0.5, size_zero=0.2), "shap": 0.5}))["cam"]
    assert verdict.outcome == "depends"
    assert verdict.reason.endswith("but below shap by 0.300 in size under zero (0.200 [0.168, 0.232])")
    assert {cell.state for cell in verdict.cells} == {"above", "behind"}


def test_a_method_with_a_small_lead_and_much_noise_is_undecided_with_a_number_of_rows():
    cells = [*judged({"shap": 0.5}), *judged({"wild": 0.1}, spread=0.5)]
    verdict = method_verdicts(cells)["wild"]
    assert verdict.outcome == "undecided"
    assert verdict.rows_needed is not None
    assert 40 < verdict.rows_needed < 1000
    assert f"about {verdict.rows_needed} rows would decide" in verdict.reason


def test_a_method_without_a_deciding_cell_is_not_tested_and_the_reasons_are_given():
    cells = judged({"ks": 0.5, "shap": 0.5})
    cells = [replace(c, circular="solves it") if (c.method, c.family) == ("ks", "size") else c for c in cells]
    cells = spoiled(cells, "ks", PLACES[0], values=[None] * 40)
    cells = spoiled(cells, "ks", PLACES[1], values=())
    verdict = method_verdicts(cells)["ks"]
    assert (verdict.outcome, verdict.p_holm, verdict.rows) == ("not tested", {}, 0)
    assert "order under blur: no row has a value" in verdict.reason
    assert "size under zero: solves it" in verdict.reason


def test_one_family_is_enough_for_a_verdict_and_circular_cells_are_named():
    cells = [c for c in judged({"ks": 0.5, "shap": 0.5}) if (c.method, c.family) != ("ks", "size")]
    circular = Judged("ks", "size", "zero", [0.9] * 40, "it fits the same sets")
    verdict = method_verdicts([*cells, circular])["ks"]
    assert verdict.outcome == "passes"
    assert verdict.reason.startswith("above chance in order under both canvases; not separated below the best")
    assert verdict.reason.endswith("(not counted: size under zero, it fits the same sets)")
    assert set(verdict.p_holm) == {"order"}


@pytest.mark.parametrize("mean", [-9.0, 0.0, 9.0])
def test_circular_cells_are_shown_and_decide_nothing(mean):
    cells = judged({"ks": 0.3, "lime": 0.3, "shap": 0.4})
    without = [c for c in cells if (c.method, c.family) != ("ks", "size")]
    values = [mean + 0.001 * row for row in range(40)]
    circular = [Judged("ks", "size", canvas, values, "fits the same sets") for canvas in ("blur", "zero")]
    plain, shown = method_verdicts(without), method_verdicts([*without, *circular])
    assert (plain.best, plain.counts) == (shown.best, shown.counts)
    for method in ("lime", "shap"):
        assert plain[method] == shown[method]
    assert (plain["ks"].outcome, plain["ks"].p_holm) == (shown["ks"].outcome, shown["ks"].p_holm)
    extra = [cell for cell in shown["ks"].cells if cell.family == "size"]
    assert [(cell.state, cell.p, cell.p_holm) for cell in extra] == [("circular", None, None)] * 2
    assert extra[0].mean == pytest.approx(np.mean(values))


def test_every_family_must_be_above_chance():
    weak = {"lime": everywhere(0.3, size_blur=-0.01, size_zero=0.3), "shap": 0.3}
    verdicts = method_verdicts(judged(weak, spread=0.4))
    assert verdicts["lime"].p_holm["order"] <= 0.05 < verdicts["lime"].p_holm["size"]
    assert verdicts["lime"].outcome != "passes"


def test_tests_are_counted_by_methods_families_and_canvases_without_controls():
    cells = judged({"a": 0.1, "b": 0.2, "c": 0.3, "edges": 0.0})
    counts = method_verdicts(cells, ["edges"]).counts
    assert (counts.tests, counts.cell_tests, counts.pairs) == (6, 12, 3 * 2 * 4)
    assert 2.0**-counts.fewest_rows * 6 <= 0.05 < 2.0 ** -(counts.fewest_rows - 1) * 6
    skipped = [c for c in cells if (c.method, c.family) != ("a", "size")]
    counts = method_verdicts(skipped, ["edges"]).counts
    assert (counts.tests, counts.cell_tests, counts.pairs) == (5, 10, 2 * (3 * 2) + 2 * (2 * 1))


def test_a_control_gets_no_verdict_and_is_never_the_best():
    verdicts = method_verdicts(judged({"edges": 0.9, "lime": 0.3}), ["edges"])
    assert outcomes(verdicts) == {"lime": "no better than chance"}
    assert verdicts["lime"].reason.startswith("no better than edges in order and size")
    assert set(verdicts.best.values()) == {"lime"}
    assert verdicts.controls == ("chance", "edges")


def test_a_constant_added_to_a_control_changes_what_is_above_it():
    found = [
        method_verdicts(judged({"edges": shift, "lime": 0.3, "shap": 0.3}), ["edges"])["lime"]
        for shift in (-1.0, 0.0, 0.29, 1.0)
    ]
    assert [verdict.outcome for verdict in found] == ["passes", "passes", "undecided", "no better than chance"]
    assert found[0].reason.startswith("above chance and edges in order and size")
    p = [verdict.p_holm["order"] for verdict in found]
    assert p == sorted(p)


def test_a_control_is_left_out_of_rows_in_which_it_is_undefined():
    cells = judged({"edges": 0.1, "lime": 0.3, "shap": 0.3})
    values = [None if row % 2 else 0.1 for row in range(40)]
    verdicts = method_verdicts(spoiled(cells, "edges", PLACES[0], values=values), ["edges"])
    leads = {one.over: one for one in verdicts["lime"].cells[0].leads}
    assert (leads["chance"].rows, leads["edges"].rows) == (40, 20)
    every_other = next(c for c in cells if c.method == "lime" and (c.family, c.canvas) == PLACES[0]).values[::2]
    assert leads["edges"].mean == pytest.approx(np.mean(every_other) - 0.1)
    assert verdicts.controls_left_out == ()


@pytest.mark.parametrize(
    ("values", "said"), [([None] * 40, "no value"), ([9.0] * 4 + [None] * 36, "4 rows of 7 needed")]
)
def test_a_control_without_enough_values_is_left_out_and_that_is_said(values, said):
    cells = judged({"edges": 0.1, "lime": 0.3, "shap": 0.3})
    verdicts = method_verdicts(spoiled(cells, "edges", PLACES[0], values=values), ["edges"])
    assert verdicts.controls_left_out == (f"edges by order under blur: {said}",)
    assert outcomes(verdicts) == {"lime": "passes", "shap": "passes"}
    assert [one.over for one in verdicts["lime"].cells[0].leads] == ["chance"]


def test_rows_without_a_value_are_left_out():
    cells = judged({"lime": 0.3, "shap": 0.3}, rows=60)
    holes = [replace(c, values=[None if row % 3 == 0 else v for row, v in enumerate(c.values)]) for c in cells]
    short = [replace(c, values=[v for row, v in enumerate(c.values) if row % 3]) for c in cells]
    holed, dense = method_verdicts(holes), method_verdicts(short)
    assert holed["lime"] == dense["lime"]
    assert (holed.rows, holed["lime"].rows) == (60, 40)


def test_a_method_with_a_few_rows_is_not_the_best_whatever_it_scores():
    cells = judged({"lime": 0.3, "rare": 0.3, "shap": 0.3})
    cells = [replace(c, values=[9.0] * 3 + [None] * 37) if c.method == "rare" else c for c in cells]
    verdicts = method_verdicts(cells)
    assert "rare" not in verdicts.best.values()
    assert outcomes(verdicts) == {"lime": "passes", "rare": "undecided", "shap": "passes"}


def test_a_few_rows_do_not_show_that_a_method_is_no_better_than_chance():
    cells = judged({"lime": 0.3, "rare": 0.3, "shap": 0.3})
    cells = [replace(c, values=[-0.001, 0.0, 0.001, *[None] * 37]) if c.method == "rare" else c for c in cells]
    verdict = method_verdicts(cells)["rare"]
    assert (verdict.outcome, verdict.rows) == ("undecided", 3)
    assert verdict.rows_needed == math.ceil(40 * 7 / 3)  # 7 rows with a value


def test_a_circular_control_is_no_control():
    cells = judged({"edges": 0.9, "lime": 0.3, "shap": 0.3})
    cells = [replace(c, circular="it is the mask") if c.method == "edges" else c for c in cells]
    assert outcomes(method_verdicts(cells, ["edges"])) == {"lime": "passes", "shap": "passes"}


def test_with_too_few_rows_every_verdict_is_undecided_and_says_how_many_are_needed():
    means = {"lime": 0.5, "noise": 0.0, "shap": 0.6}  # 6 tests: 7 rows
    verdicts = method_verdicts(judged(means, rows=6, spread=0.001))
    assert set(outcomes(verdicts).values()) == {"undecided"}
    assert all(
        verdict.reason == "6 rows are too few for any verdict: 6 tests need 7 or more" for verdict in verdicts.methods
    )
    assert verdicts["shap"].rows_needed >= 7
    assert "passes" in outcomes(method_verdicts(judged(means, rows=7, spread=0.001))).values()


def test_where_no_method_is_above_chance_nothing_is_no_better_than_chance():
    verdicts = method_verdicts(judged({"lime": -0.5, "shap": -0.1}))
    assert outcomes(verdicts) == {"lime": "undecided", "shap": "undecided"}
    assert verdicts["lime"].rows_needed is None
    assert "no number of rows up to 100,000 would decide" in verdicts["lime"].reason


def test_one_cell_that_cannot_show_it_keeps_a_method_from_being_no_better_than_chance():
    good = everywhere(0.5, size_zero=-0.3)
    assert (
        method_verdicts(judged({"noise": everywhere(0.0, size_zero=-0.3), "shap": good}))["noise"].outcome
        == "undecided"
    )


@given(st.permutations(range(16)))
@settings(max_examples=25, deadline=None)
def test_the_order_of_cells_does_not_matter(order):
    cells = judged({"cam": everywhere(0.5, size_zero=0.0), "edges": 0.1, "lime": 0.3, "shap": 0.5}, rows=25)
    assert method_verdicts([cells[index] for index in order], ["edges"]) == method_verdicts(cells, ["edges"])


@given(st.permutations(range(25)))
@settings(max_examples=25, deadline=None)
def test_the_order_of_rows_does_not_matter(order):
    cells = judged({"cam": everywhere(0.5, size_zero=0.0), "lime": 0.3, "shap": 0.5}, rows=25)
    shuffled = [replace(c, values=[c.values[row] for row in order]) for c in cells]
    assert outcomes(method_verdicts(shuffled)) == outcomes(method_verdicts(cells))


def test_a_smaller_lead_needs_more_rows_until_none_suffice():
    needed = []
    for lead in (0.15, 0.12, 0.1, 0.08):
        cells = [*judged({"shap": 0.5}), *judged({"wild": lead}, spread=0.5)]
        verdict = method_verdicts(cells)["wild"]
        assert verdict.outcome == "undecided"
        needed.append(verdict.rows_needed)
    assert needed == sorted(needed)
    assert len(set(needed)) == len(needed)
    at_margin = method_verdicts(
        [*judged({"shap": 0.5}), *judged({"wild": everywhere(-1.0, size_zero=0.05)}, spread=0.5)]
    )
    assert (
        at_margin["wild"].rows_needed is None
    )  # its lead in size under zero is the margin, and below chance elsewhere


def test_so_many_rows_as_are_needed_decide_if_means_and_deviations_stay():
    cells = [*judged({"shap": 0.5}), *judged({"wild": 0.1}, spread=0.5)]
    verdict = method_verdicts(cells)["wild"]
    needed, cells_of = verdict.rows_needed, verdict.cells
    z = [-norm.ppf(max(cell.p for cell in cells_of if cell.family == family)) for family in ("order", "size")]
    assert needed == math.ceil(40 * (norm.ppf(0.05 / 4) / min(z)) ** 2)
    for times, outcome in ((1.5, "behind"), (0.35, "undecided")):
        rows = round(times * needed)
        found = method_verdicts([*judged({"shap": 0.5}, rows), *judged({"wild": 0.1}, rows, 0.5)])["wild"]
        assert found.outcome == outcome


def test_rows_are_also_estimated_for_no_better_than_chance():
    cells = [*judged({"shap": 0.5}), *judged({"wild": -0.1}, spread=0.8)]
    verdict = method_verdicts(cells)["wild"]
    half = t.ppf(0.95, 39) * 0.8 / math.sqrt(40)
    assert verdict.rows_needed == math.ceil(40 * (half / 0.15) ** 2)


def times_for(p: float, tests: int) -> float:
    return float(norm.ppf(0.05 / tests) / norm.ppf(p)) ** 2


def test_rows_are_also_estimated_for_a_method_that_would_be_above_in_one_cell_and_has_nothing_in_another():
    means = {
        "cam": everywhere(0.0, order_blur=0.1, order_zero=0.12),
        "shap": everywhere(1.0, order_blur=0.15, order_zero=0.15),
    }
    size = [c for c in judged(means) if c.family == "size"]
    order = [c for c in judged(means, spread=0.5) if c.family == "order"]
    verdict = method_verdicts([*size, *order])["cam"]
    assert [cell.state for cell in verdict.cells] == ["open", "open", "no better than chance", "no better than chance"]
    assert verdict.rows_needed == math.ceil(40 * min(times_for(cell.p, 8) for cell in verdict.cells[:2]))


def test_a_method_that_is_separated_in_some_cells_needs_rows_for_one_of_the_others_by_itself():
    size = [c for c in judged({"cam": 0.2, "shap": 0.5}) if c.family == "size"]
    order = [c for c in judged({"cam": 0.1, "shap": 0.11}, spread=0.5) if (c.family, c.canvas) == PLACES[0]]
    verdict = method_verdicts([*size, *order, *(replace(c, canvas="zero") for c in order)])["cam"]
    assert [cell.state for cell in verdict.cells] == ["open", "open", "behind", "behind"]
    assert verdict.rows_needed == math.ceil(40 * times_for(verdict.cells[0].p, 8))


@given(st.integers(0, 10_000), st.integers(2, 12), st.floats(0, 2))
@settings(max_examples=60, deadline=None)
def test_more_rows_are_needed_than_there_are_and_at_least_as_many_as_any_test_needs(seed, rows, mean):
    verdicts = method_verdicts(judged({"a": 0.0, "b": mean, "c": 1.0}, rows, spread=1.0, seed=seed))
    for verdict in verdicts.methods:
        if verdict.rows_needed is not None:
            assert verdict.outcome == "undecided"
            assert verdict.rows_needed > rows
            assert verdict.rows_needed >= verdicts.counts.fewest_rows


def test_cells_are_listed_where_a_family_lacks_a_canvas():
    cells = spoiled(judged({"ks": 0.3, "shap": 0.3}), "ks", ("size", "zero"), values=[None] * 40)
    reason = method_verdicts(cells)["ks"].reason
    assert reason.startswith("above chance in order under blur, order under zero and size under blur; not separated")


def test_a_verdict_in_json_is_what_it_was_and_never_says_too_much():
    verdicts = method_verdicts(judged({"edges": 0.1, "lime": 0.3, "noise": 0.0, "shap": 0.5}), ["edges"])
    plain = verdicts.to_json()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert [row["outcome"] for row in plain["methods"]] == list(outcomes(verdicts).values())
    assert plain["methods"][0]["cells"][0]["leads"][1]["over"] == "edges"
    assert plain["counts"]["tests"] == 6
    assert "faithful" not in json.dumps(plain)


def test_classes_with_enough_rows_have_verdicts_of_their_own_corrected_over_classes():
    cells = judged({"lime": 0.3, "shap": 0.3}, rows=50)
    labels = ["cat"] * 20 + ["dog"] * 11 + ["cow"] * 19
    found = by_class(cells, labels)
    assert list(found) == ["cat", "cow"]
    assert {verdicts.counts.tests for verdicts in found.values()} == {2 * 2 * 2}
    assert [verdicts.rows for verdicts in found.values()] == [20, 19]
    cats = method_verdicts([replace(c, values=c.values[:20]) for c in cells])
    assert outcomes(found["cat"]) == outcomes(cats)
    assert found["cat"]["lime"].cells[0].leads == cats["lime"].cells[0].leads
    assert found["cat"]["lime"].p_holm["order"] > cats["lime"].p_holm["order"]


def test_a_class_may_contradict_the_whole():
    cells = judged({"lime": 0.3, "shap": 0.4}, rows=40, spread=0.05)
    cells = [
        replace(c, values=[v - (c.method == "lime") * 0.3 * (row < 20) for row, v in enumerate(c.values)])
        for c in cells
    ]
    found = by_class(cells, [row < 20 for row in range(40)])
    assert found[True]["lime"].outcome == "no better than chance"
    assert found[False]["lime"].outcome in ("passes", "behind")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([Judged("a", "order", "zero", [1.0]), Judged("a", "order", "zero", [2.0])], "given twice"),
        ([Judged("a", "order", "zero", [1.0]), Judged("b", "order", "zero", [1.0, 2.0])], "has 1 values, others 2"),
    ],
)
def test_cells_that_do_not_fit_are_named(cells, message):
    with pytest.raises(AssayError, match=message):
        method_verdicts(cells)


def test_labels_fit_the_rows():
    with pytest.raises(AssayError, match="2 labels for 40 rows"):
        by_class(judged({"a": 0.1}), ["x", "y"])


def test_nothing_judged_gives_no_verdict():
    assert method_verdicts([]).methods == ()


def test_the_rules_read_literally_give_the_same_outcomes():
    seen = set()
    for seed in range(60):
        cells = random_cells(seed)
        verdicts = method_verdicts(cells, ["edges"])
        assert outcomes(verdicts) == literally(cells), seed
        seen |= set(outcomes(verdicts).values())
    assert seen == {"passes", "behind", "no better than chance", "depends", "undecided"}


def random_cells(seed: int) -> list[Judged]:
    """Three methods and a control; what they score in a cell, they often score in all."""
    random = np.random.default_rng(seed)
    rows, cells = int(random.integers(7, 41)), []
    for method in ("a", "b", "c", "edges"):
        common = random.choice([0.0, 0.5, 1.0]) * (method != "edges")
        for place in PLACES:
            mean = common if random.random() < 0.8 else random.choice([0.0, 1.0])
            cells.append(Judged(method, *place, random.normal(mean, random.choice([0.1, 0.5]), rows).tolist()))
    return cells


def literally(cells: Sequence[Judged]) -> dict[str, str]:
    """The rules, written once more, with SciPy's tests; no ties, no gaps, enough rows."""
    value = {(c.method, (c.family, c.canvas)): np.array(c.values) for c in cells}
    names = ("a", "b", "c")

    def p_of(difference: np.ndarray) -> float:
        return float(wilcoxon(difference, alternative="greater", method="exact").pvalue)

    def against(name: str, place: tuple[str, str]) -> list[np.ndarray]:
        return [value[name, place], value[name, place] - value["edges", place]]

    cell = {(n, q): max(p_of(d) for d in against(n, q)) for n in names for q in PLACES}
    family = {(n, f): max(cell[n, q] for q in PLACES if q[0] == f) for n in names for f in ("order", "size")}
    best = {q: max(names, key=lambda n: value[n, q].mean()) for q in PLACES}
    tolerated = {q: max(0.0, value[best[q], q].mean()) / 10 for q in PLACES}
    compared = {
        (n, q): p_of(value[best[q], q] - value[n, q] - tolerated[q]) for n in names for q in PLACES if n != best[q]
    }

    def significant(p: Mapping, tests: int) -> set:
        rejected = set()
        for step, key in enumerate(sorted(p, key=lambda key: p[key])):
            if p[key] * (tests - step) > 0.05:
                break
            rejected.add(key)
        return rejected

    above, above_in = significant(family, 6), significant(cell, 12)
    separated = significant(compared, 3 * 2 * 4)

    def negligible(name: str, place: tuple[str, str]) -> bool:
        lead, rows = value[best[place], place].mean(), len(value[name, place])
        upper = [d.mean() + t.ppf(0.95, rows - 1) * d.std(ddof=1) / math.sqrt(rows) for d in against(name, place)]
        return lead > 0 and min(upper) < lead / 10

    def outcome(name: str) -> str:
        passed = all((name, f) in above for f in ("order", "size"))
        below = [(name, q) in separated for q in PLACES]
        flat = [negligible(name, q) for q in PLACES]
        if passed and not any(below):
            return "passes"
        if passed and all(below):
            return "behind"
        if all(flat):
            return "no better than chance"
        good = [(name, q) in above_in and (name, q) not in separated for q in PLACES]
        bad = [not g and (b or f) for g, b, f in zip(good, below, flat, strict=True)]
        return "depends" if any(good) and any(bad) else "undecided"

    return {name: outcome(name) for name in names}


def test_equal_methods_are_rarely_separated_from_the_best():
    """Without the correction for the choice of the best, in more than a fifth of the draws."""
    names = [f"m{index}" for index in range(6)]
    wrong = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        cells = [Judged(name, *place, random.normal(1, 1, 30).tolist()) for name in names for place in PLACES]
        found: tuple[MethodVerdict, ...] = method_verdicts(cells).methods
        wrong += any(cell.separated for verdict in found for cell in verdict.cells)
    assert wrong <= 12  # 5 are allowed, and three standard errors more
