"""Claim C12: the definitions against Python sets, the families against brute force, and planted wrong theorems."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations, product

import pytest
import torch

from assay.claims import expansion, small_games
from assay.claims.expansion_errors import VARIANTS, attributions, cases, errors
from assay.claims.game_families import ADMITTED, STRICT, all_orders, order_types, ranks
from assay.claims.game_search import equal_attribution, positive_attributions, smallest_counterexample, tally
from assay.kit import games
from assay.metrics._soco_sets import counts_by_mass
from assay.metrics.soundness import Rule

# ---- the paper's section 4 with sets: a game is a dict from frozensets of features to performance


def subsets(of):
    items = sorted(of)
    return [frozenset(part) for part in chain.from_iterable(combinations(items, n) for n in range(len(items) + 1))]


def size(features, weights):
    return sum(weights[feature] for feature in features)


def literal_soundness(included, eta, phi):
    return Fraction(size([f for f in included if phi[f] > 0], eta), size(included, eta))


def literal_completeness(subset, phi):
    return Fraction(size([f for f in subset if phi[f] > 0], phi), sum(phi))


def literal_assumption(rho, phi):
    return all(size(a, phi) < size(b, phi) for a in rho for b in rho if rho[a] < rho[b])


def literal_strict(rho, phi):
    return all((size(a, phi) < size(b, phi)) == (rho[a] < rho[b]) for a in rho for b in rho)


def literal_theorem_4_11(included, rho, eta):
    least = min(size(part, eta) for part in subsets(included) if rho[part] == rho[included])
    return Fraction(least, size(included, eta))


def number(subset):
    return sum(2**feature for feature in subset)


def as_sets(performance, d):
    return {part: performance[number(part)] for part in subsets(range(d))}


def some_games(seed, count, most=4):
    """Games with and without the assumption: performance by information, by chance, or by information with one slip."""
    dice = random.Random(seed)
    for kind in range(count):
        d = dice.randint(1, most)
        phi, eta = [dice.randint(0, 3) for _ in range(d)], [dice.randint(0, 3) for _ in range(d)]
        steps = [dice.randint(0, 1) for _ in range(3 * d)]
        rho = [sum(steps[: sum(phi[f] for f in range(d) if s >> f & 1)]) for s in range(2**d)]
        if kind % 3 == 1:
            rho = [dice.randint(0, 2) for _ in rho]
        if kind % 3 == 2:
            rho[dice.randrange(2**d)] += 1
        yield d, rho, phi, eta


def test_definitions_and_theorem_4_11_say_what_sets_say():
    kinds = set()
    for d, rho, phi, eta in some_games(0, 300):
        table = as_sets(rho, d)
        performance, information, attribution = torch.tensor([rho]), torch.tensor(phi), torch.tensor([eta])
        soundness = games.soundness(attribution, information)[0]
        minimal = games.minimal_share(performance, attribution)[0, 0]
        speaks, right = (answer[0, 0] for answer in games.theorem_4_11(performance, information, attribution))
        performing, _ = games.theorem_4_11_performing(performance, information, attribution)
        for part in table:
            index = number(part)
            if all(eta[f] > 0 for f in part) and any(phi[f] > 0 for f in part):
                defined, theorem = literal_soundness(part, eta, phi), literal_theorem_4_11(part, table, eta)
                assert speaks[index]
                assert soundness[index] == float(defined)
                assert minimal[index] == float(theorem)
                assert bool(right[index]) == (defined == theorem)
                assert bool(performing[0, 0, index]) == (table[part] > table[frozenset()])
                kinds.add((literal_assumption(table, phi), defined == theorem))
            else:
                assert not speaks[index]
        assert bool(games.satisfies_assumption_4_10(performance, information)) == literal_assumption(table, phi)
        assert bool(games.strictly_monotone(performance, information)) == literal_strict(table, phi)
    assert kinds == {(True, True), (True, False), (False, True), (False, False)}


def test_theorem_4_12_says_what_sets_say():
    kinds = set()
    for d, rho, phi, _ in some_games(1, 60, most=3):
        table, everything = as_sets(rho, d), frozenset(range(d))
        speaks, right = games.theorem_4_12(torch.tensor([rho]), torch.tensor(phi))
        for first, second in product(table, repeat=2):
            worse = table[everything - first] < table[everything - second]
            fuller = sum(phi) > 0 and literal_completeness(first, phi) > literal_completeness(second, phi)
            assert bool(speaks[0, number(first), number(second)]) == worse
            assert bool(right[0, number(first), number(second)]) == fuller
            kinds.add((worse, fuller))
    assert len(kinds) == 4


# ---- the families


@pytest.mark.parametrize("d, levels", [(1, 2), (2, 4), (3, 2)])
def test_the_admitted_games_are_all_that_satisfy_the_assumption(d, levels):
    """Brute force over every performance with this many levels, up to a strictly increasing change of values."""
    listed = {tuple(p.tolist()): {tuple(row) for row in rows.tolist()} for p, rows in ADMITTED[0].games(d)}
    for information, rows in listed.items():
        tables = (as_sets(rho, d) for rho in product(range(levels), repeat=2**d))
        satisfying = [table for table in tables if literal_assumption(table, information)]
        expected = {
            tuple(ranks(torch.tensor([table[s] for s in sorted(table, key=number)])).tolist()) for table in satisfying
        }
        assert expected == {row for row in rows if max(row) < levels}


def test_every_information_has_a_listed_order_type():
    """Strict orders of subsets by positive sums, features sorted: 1, 1, 2, 14 (Maclagan, 1999)."""
    listed = {
        d: {tuple(ranks(games.subset_sums(torch.tensor(w))).tolist()) for w in order_types(d)} for d in (1, 2, 3, 4)
    }
    assert [sum(max(order) == 2**d - 1 for order in listed[d]) for d in listed] == [1, 1, 2, 14]
    dice = random.Random(2)
    for largest in (3, 8, 40, 1000) * 100:
        d = dice.randint(1, 4)
        weights = sorted(dice.randint(0, largest) for _ in range(d))
        assert tuple(ranks(games.subset_sums(torch.tensor(weights))).tolist()) in listed[d]


def test_arrangements_are_all_orders_once():
    assert all_orders(((0, 1, 1), (0, 0, 2))) == ((0, 0, 2), (0, 1, 1), (0, 2, 0), (1, 0, 1), (1, 1, 0), (2, 0, 0))


# ---- what is decided


def test_whether_theorem_4_11_fails_does_not_depend_on_the_attribution():
    small = replace(ADMITTED[0], sizes=(1, 2, 3))
    for d in small.sizes:
        for information, performance in small.games(d):
            speaks, right = games.theorem_4_11(performance, information, positive_attributions(d))
            assert bool((right == right[:, :1])[speaks].all())


@pytest.mark.parametrize("theorem, floor", [(games.theorem_4_11, -1), (games.theorem_4_11_performing, 0)])
def test_the_counterexample_is_the_smallest(theorem, floor):
    """The first that a search with sets finds, in the order of ``smallest_counterexample``."""

    def searched():
        for d in (1, 2):
            for phi in sorted(product(range(3), repeat=d), key=lambda phi: (sum(phi), phi)):
                for rho in sorted(product(range(3), repeat=2**d), key=lambda rho: (len(set(rho)), rho)):
                    table = as_sets(rho, d)
                    for part in subsets(range(d)):
                        speaks = any(phi[f] > 0 for f in part) and table[part] > (
                            table[frozenset()] if floor == 0 else -1
                        )
                        if speaks and literal_assumption(table, phi) and list(phi) == sorted(phi):
                            ones = [1] * d
                            yield (
                                phi,
                                table,
                                part,
                                literal_theorem_4_11(part, table, ones),
                                literal_soundness(part, ones, phi),
                            )

    phi, table, part, theorem_value, soundness = next(row for row in searched() if row[3] != row[4])
    example = smallest_counterexample(theorem, ADMITTED)
    assert example.information == list(phi)
    assert list(example.performance.values()) == [table[s] for s in sorted(table, key=number)]
    assert example.included == "{" + ",".join(str(f + 1) for f in sorted(part)) + "}"
    assert (example.theorem, example.defined) == (float(theorem_value), float(soundness))


def feature_share(performance, information, attribution):
    """Wrong: the share of features in place of the share of attribution."""
    speaks, _ = games.theorem_4_11(performance, information, attribution)
    counted = games.minimal_share(performance, torch.ones_like(attribution))
    return speaks, counted == games.soundness(attribution, information)


def reversed_ordering(performance, information, attribution):
    """Wrong: the set without which the model performs better is the more complete one."""
    speaks, right = games.theorem_4_12(performance, information)
    return speaks.transpose(1, 2), right


def larger_is_fuller(performance, information, attribution):
    """Wrong: the larger set is the more complete one."""
    _, right = games.theorem_4_12(performance, information)
    count = games.subset_sums(torch.ones_like(information))
    return (count[:, None] > count).expand_as(right), right


@pytest.mark.parametrize("wrong", [feature_share, reversed_ordering, larger_is_fuller])
def test_a_planted_wrong_theorem_is_found_false(wrong):
    row = tally(wrong, games.strictly_monotone, replace(STRICT[0], sizes=(1, 2, 3)), positive_attributions)
    assert row.wrong > 0
    assert small_games.all_or_nothing([row]) == "not reproduced"


def test_a_theorem_wrong_in_one_case_of_the_last_game_is_found_false():
    last = torch.tensor(STRICT[1].informations(6)[-1])

    def almost(performance, information, attribution):
        speaks, right = games.theorem_4_11(performance, information, attribution)
        slip = torch.zeros_like(right)
        slip[-1, -1, -1] = torch.equal(information, last)
        return speaks, right & ~slip

    row = tally(almost, games.strictly_monotone, replace(STRICT[1], sizes=(5, 6)), positive_attributions)
    assert (row.wrong, row.wrong_games) == (1, 1)


def test_games_without_the_premise_do_not_count():
    strict_ones = tally(
        games.theorem_4_11, games.strictly_monotone, replace(ADMITTED[0], sizes=(3,)), equal_attribution
    )
    assert (strict_ones.games, strict_ones.wrong) == (len(order_types(3)), 0)
    all_of_them = tally(
        games.theorem_4_11, games.satisfies_assumption_4_10, replace(ADMITTED[0], sizes=(3,)), equal_attribution
    )
    assert all_of_them.wrong > all_of_them.games > all_of_them.wrong_games > 0


def test_theorem_4_11_holds_exactly_where_the_least_predictive_feature_counts():
    small = replace(ADMITTED[0], sizes=(1, 2, 3))
    row = tally(small_games.sharp_condition, games.satisfies_assumption_4_10, small, positive_attributions)
    assert (row.wrong, row.cases > 0) == (0, True)
    for d, rho, phi, _ in some_games(4, 60):
        counts = games.last_feature_counts(torch.tensor([rho]), torch.tensor(phi))[0]
        for part in subsets(range(d)):
            predictive = sorted((phi[f], f) for f in part if phi[f] > 0)
            rest = part - {predictive[0][1]} if predictive else part
            assert bool(counts[number(part)]) == (rho[number(rest)] < rho[number(part)])


@pytest.mark.parametrize(
    "holds, verdict", [(10, "reproduced"), (9, "reproduced"), (8, "depends (x)"), (1, "not reproduced")]
)
def test_a_share_decides_as_the_ledger_says(holds, verdict):
    assert small_games.by_share([True] * holds + [False] * (10 - holds), "x") == verdict


# ---- Algorithm 1


def steps_of(name, rho, eta, start, stop):
    """The next step of features start, ... of those that are attributed (the first ``stop``), as their end."""
    if name.startswith("one"):
        return [start + 1]
    if name.startswith("two"):
        return [min(start + 2, stop)]
    if name.startswith("a quarter"):
        done = [4 * sum(eta[:end]) // sum(eta) for end in range(stop + 1)]
        return [next(end for end in range(start + 1, stop + 1) if done[end] > done[start])]

    def halved(a, b, width):
        if b - a <= 1 or rho[b] - rho[a] < 0.01:
            return [b]
        middle = a + width // 2
        return (
            halved(a, b, width // 2) if middle >= b else halved(a, middle, width // 2) + halved(middle, b, width // 2)
        )

    return halved(start, min(start + 4, stop), 4)


def algorithm_1(name, start_level, rho, eta, phi, level):
    """Stops at a predictive level; returns claimed and defined soundness. Features come in the order of ``eta``."""
    included, false, s, waiting = 0, set(), 0.0, []
    stop = sum(value > 0 for value in eta)
    while s < level:
        waiting = waiting or steps_of(name, rho, eta, included, stop)
        end = waiting.pop(0)
        new = set(range(included, end))
        if rho[end] - s < 0.01 and rho[end] > start_level:
            false |= new
        s, included = rho[end], end
    claimed = 1 - Fraction(size(false, eta), sum(eta[:included]))
    return float(claimed), float(literal_soundness(range(included), eta, phi))


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_algorithm_1_is_the_papers(variant):
    """Single runs, stopped at every level."""
    dice = random.Random(3)
    for _ in range(200):
        d = dice.randint(1, 8)
        eta = sorted((dice.randint(0, 3) for _ in range(d)), reverse=True)
        phi = [dice.randint(0, 1) for _ in range(d)]
        levels = [0]
        for _ in range(d):
            levels.append(levels[-1] + dice.choice((0, 0, 1, 2)))
        top = max(1, levels[-1])
        rho, attribution = torch.tensor(levels).double() / top, torch.tensor(eta)
        ends = variant.ends(rho, attribution)
        claimed = expansion.claimed_soundness(rho, attribution, ends, 0.01, variant.start)
        reached = expansion.levels_reached(torch.tensor(levels), ends)
        stops = [position for position, count in enumerate(reached.tolist()) for _ in range(count)]
        attributed = levels[sum(value > 0 for value in eta)]
        assert len(stops) == attributed
        for level, position in enumerate(stops, start=1):
            expected, defined = algorithm_1(variant.name, variant.start, rho.tolist(), eta, phi, level / top - 1e-9)
            assert float(claimed[position]) == pytest.approx(expected, abs=1e-12)
            so_far = expansion.share_so_far(attribution * torch.tensor(phi), attribution)
            assert float(so_far[position]) == pytest.approx(defined, abs=1e-12)


@pytest.mark.parametrize(
    "family, sizes",
    [(STRICT[0], (1, 2, 3)), (ADMITTED[0], (1, 2)), (ADMITTED[1], (3,))],
    ids=["strict", "all", "units"],
)
def test_errors_are_those_of_single_runs(family, sizes):
    """Every game in every order, with every attribution, at every level."""
    family = replace(family, sizes=sizes)
    runs = []
    for d in family.sizes:
        for weights in all_orders(family.informations(d)):
            level = ranks(games.subset_sums(torch.tensor(weights)))
            for row in family.performances(int(level.max()) + 1)[:, level].tolist():
                curve, top = [row[2**size - 1] for size in range(d + 1)], max(1, row[-1])
                for eta in attributions(d).tolist():
                    for wanted in range(1, curve[sum(value > 0 for value in eta)] + 1):
                        runs.append(([value / top for value in curve], eta, weights, wanted / top - 1e-9))
    for variant, row in zip(VARIANTS, errors(family), strict=True):
        results = [algorithm_1(variant.name, variant.start, *run) for run in runs]
        off = [claimed - defined for claimed, defined in results]
        assert row.stops == len(runs)
        assert row.bias == pytest.approx(sum(off) / len(off), abs=1e-12)
        assert row.mean == pytest.approx(sum(map(abs, off)) / len(off), abs=1e-12)
        assert row.largest == pytest.approx(max(map(abs, off)), abs=1e-12)
        assert row.exact == pytest.approx(sum(abs(error) < 1e-12 for error in off) / len(off))
        assert row.unsound == pytest.approx(sum(defined < 1 for _, defined in results) / len(off))


def test_a_rise_by_the_threshold_is_a_rise():
    performance, attribution = torch.tensor([0.0, 0.25, 0.25, 0.5]), torch.tensor([1, 1, 2])
    ends = expansion.one_by_one(performance, attribution)
    assert expansion.claimed_soundness(performance, attribution, ends, 0.25, -1).tolist() == [1, 0.5, 0.75]
    assert expansion.claimed_soundness(performance, attribution, ends, 0.26, -1).tolist() == [0, 0, 0]


def test_a_step_that_raises_nothing_is_not_halved():
    """Performance that rises and falls again within a step is not looked at."""
    performance, attribution = torch.tensor([0.0, 0.5, 0.5, 0.2, 0.0]), torch.ones(4, dtype=torch.long)
    assert expansion.by_halves(performance, attribution, 4, 0.01).tolist() == [False, False, False, True]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_the_metric_soundness_runs_the_same_algorithm(variant):
    """The errors reported here are those of the metric: equal steps and equal shares on one sample."""
    dice = random.Random(5)
    for _ in range(50):
        d = dice.randint(1, 8)
        attribution = torch.tensor(sorted((dice.randint(1, 3) for _ in range(d)), reverse=True))
        rises = torch.tensor([dice.choice((0, 0, 1, 2)) for _ in range(d)])
        performance = torch.nn.functional.pad(rises.cumsum(0), (1, 0)).double() / max(1, int(rises.sum()))
        ends = variant.ends(performance, attribution)
        level, steps = performance[1:].numpy(), ends.nonzero()[:, 0].numpy()
        if variant.name.startswith("four"):
            assert Rule(0.01, True, 0.0, False).halved(level, 4).tolist() == steps.tolist()
        if variant.name.startswith("a quarter"):
            counts = counts_by_mass(attribution[None], torch.tensor([0.25, 0.5, 0.75, 1.0], dtype=torch.float64))
            assert (counts[0].unique() - 1).tolist() == steps.tolist()
        included = attribution.cumsum(0).double().numpy()[None, steps]
        expected = Rule(0.01, strict=True, start=variant.start, lag=False).soundness(level[steps], included)[0]
        claimed = expansion.claimed_soundness(performance, attribution, ends, 0.01, variant.start)[ends]
        assert claimed.tolist() == pytest.approx(expected.tolist(), abs=1e-12)


def test_cases_are_games_in_every_order():
    assert int(cases(STRICT[1], 5).count.sum()) == 3**5
    assert int(cases(ADMITTED[1], 5).count.sum()) == 3**5  # 2**k mergings of k of 5 predictive features


# ---- the command


@pytest.fixture
def few(monkeypatch):
    for name in ("STRICT", "ADMITTED"):
        first, second = getattr(small_games, name)
        monkeypatch.setattr(small_games, name, (replace(first, sizes=(1, 2, 3)), replace(second, sizes=(5,))))


def test_the_command_prints_four_verdicts_and_the_counterexamples(few, capsys):
    small_games.main([])
    printed = capsys.readouterr().out
    for line in ("C12a  reproduced", "C12b  not reproduced", "C12c  depends (", "C12d  reproduced"):
        assert line in printed
    assert "performance {} 0  {1} 1  {2} 1  {1,2} 1" in printed
    small_games.main(["--json"])
    parts = json.loads(capsys.readouterr().out)["parts"]
    assert [part["part"] for part in parts] == ["a", "b", "c", "d"]
    assert [bool(sum(row["wrong"] for row in part["tallies"])) for part in parts] == [False, True, False, False]
    assert len(parts[2]["errors"]) == 4 * len(VARIANTS)
