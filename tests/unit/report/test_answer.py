"""The sentences about each outcome, the table, and what the words rest on."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pytest

from assay.report.answer import LIMITS, OUTCOMES, Answer
from assay.report.table import plain_lines
from assay.stats.judged import Judged
from assay.stats.method_verdicts import method_verdicts

PLACES = (("order", "mean"), ("order", "rows"), ("size", "mean"), ("size", "rows"))


def judged(method: str, mean: float | Mapping[str, float], spread: float = 0.05, rows: int = 40) -> list[Judged]:
    """Values with these means, by family or for both."""
    noise = np.random.default_rng(len(method)).normal(size=rows)
    noise = spread * (noise - noise.mean()) / noise.std()
    means = mean if isinstance(mean, Mapping) else {"order": mean, "size": mean}
    return [Judged(method, *place, (noise + means[place[0]]).tolist()) for place in PLACES]


def answer(*cells: list[Judged], controls: tuple[str, ...] = (), **fields) -> Answer:
    given = {
        "notes": ("40 rows of 6 columns.", "Reference: the rows themselves."),
        "explained": "logit of the predicted class",
        "baseline": "mean",
        "unfamiliar": {"mean": 0.05, "rows": None},
        "costs": {},
        "questions": {},
        "untested": {},
        **fields,
    }
    return Answer("your model", method_verdicts([cell for group in cells for cell in group], controls), **given)


GOOD, FLAT = judged("shap", 1.0), judged("noise", 0.0)


def sentence(found: Answer, start: str) -> str:
    (line,) = (line for line in found.lines() if line.startswith(start))
    return line


def test_methods_that_pass_are_named_first_the_best_and_the_cheapest_with_their_costs():
    found = answer(GOOD, judged("ig", 0.98), FLAT, costs={"shap": 2.0, "ig": 0.001, "noise": 1e-6})
    first, second, *_ = found.lines()
    assert first == "shap and ig pass: above chance in every test, and nowhere behind the best."
    assert second == "An explanation takes 2 s by shap and 1 ms by ig (CPU)."


def test_one_method_that_passes_is_the_best_and_the_cheapest():
    found = answer(GOOD, FLAT, costs={"shap": 0.001, "noise": 1e-6})
    assert found.lines()[:2] == (
        "shap passes: above chance in every test, and nowhere behind the best.",
        "An explanation takes 1 ms by shap (CPU).",
    )


def test_where_no_time_is_known_none_is_said():
    assert "An explanation takes" not in " ".join(answer(GOOD).lines())


def test_that_nothing_passes_is_said_first():
    found = answer(judged("a", 0.01, spread=1.0), judged("b", 0.02, spread=1.0))
    assert found.lines()[0] == "No method passes."


def test_a_method_behind_the_best_says_behind_whom():
    line = sentence(answer(GOOD, judged("lime", 0.5)), "lime")
    assert line.startswith("lime is above chance and behind the best: above chance in order and size")
    assert line.endswith("separated below shap.")


def test_a_method_that_depends_says_on_what():
    line = sentence(answer(GOOD, judged("cam", {"order": 1.0, "size": 0.0})), "cam")
    assert line.startswith("cam depends: above chance in order under mean (1.000 [")
    assert "but no better than chance in size under mean (0.000 [" in line


def test_methods_that_are_no_better_than_chance_share_a_sentence():
    assert sentence(answer(GOOD, FLAT), "noise") == "noise is no better than chance."
    both = answer(GOOD, FLAT, judged("sobel", 0.0))
    assert sentence(both, "noise") == "noise and sobel are no better than chance."


def test_an_undecided_method_says_once_how_many_rows_would_decide():
    found = answer(GOOD, judged("wild", 0.1, spread=0.5))
    line = sentence(found, "wild")
    assert line.startswith("wild is undecided: p = ")
    assert line.count("would decide") == 1
    assert f"about {found.verdicts['wild'].rows_needed:,} rows would decide" in line
    few = answer(judged("wild", 0.1, rows=3), judged("shap", 1.0, rows=3))
    assert sentence(few, "wild") == "wild is undecided: 3 rows are too few for any verdict: 4 tests need 7 or more."


def test_a_method_that_was_not_tested_says_why():
    skipped = [Judged("cam", *place, ()) for place in PLACES]
    found = answer(GOOD, skipped, untested={"cam": "needs a convolutional layer"})
    assert sentence(found, "cam") == "cam was not tested: needs a convolutional layer."
    circular = [Judged("ks", *place, c.values, "it is fitted to it") for place, c in zip(PLACES, GOOD, strict=True)]
    assert "size under rows: it is fitted to it" in sentence(answer(GOOD, circular), "ks was not tested")


def test_the_limits_stand_after_the_results_and_before_the_ground():
    lines = answer(GOOD, FLAT, questions={"noise": "how loud it is"}).lines()
    assert lines[lines.index(LIMITS) + 1] == (
        "Explained: the logit of the predicted class. Methods compare with the mean of the reference. "
        "40 rows of 6 columns. Reference: the rows themselves."
    )
    assert "A removed feature takes the mean of the reference (mean): 5 % of the perturbed rows are unlike the " in (
        " ".join(lines)
    )
    assert "A removed feature takes its values in 16 reference rows, whose answers are averaged (rows)." in lines
    assert lines[-1] == "noise answers another question: how loud it is."


@pytest.mark.parametrize(
    ("baseline", "words"), [("zero", "with 0"), (0.5, "with 0.5"), (2.0, "with 2"), ("uniform", "with noise")]
)
def test_what_methods_compare_with_is_said(baseline, words):
    assert f"Methods compare {words}. " in " ".join(answer(GOOD, baseline=baseline).lines())


def test_a_canvas_without_words_of_its_own_is_named():
    assert "A removed feature becomes halved()." in answer(GOOD, unfamiliar={"halved()": None}).lines()
    assert "A removed feature becomes 2.5." in answer(GOOD, unfamiliar={"2.5": None}).lines()


def test_circular_cells_are_named_with_the_reason_and_marked_in_the_table():
    ks = [
        Judged(cell.method.replace("shap", "ks"), cell.family, cell.canvas, cell.values, "it is fitted to these drops")
        if (cell.family, cell.canvas) == ("size", "mean")
        else Judged("ks", cell.family, cell.canvas, cell.values)
        for cell in GOOD
    ]
    found = answer(GOOD, ks)
    assert "ks in size under mean decides nothing: it is fitted to these drops." in found.lines()
    row = next(line for line in plain_lines(found.table()) if line.startswith("ks"))
    assert row.count(" c ") == 1


def test_a_control_that_is_left_out_of_a_place_is_named():
    edges = [Judged("edges", *place, [0.1] * 3 + [None] * 37) for place in PLACES]
    lines = answer(GOOD, edges, controls=("edges",)).lines()
    assert any(line.startswith("Control left out: ") and "edges" in line for line in lines)


def test_the_table_lists_methods_by_verdict_and_by_lead():
    cells = [GOOD, judged("ig", 0.98), FLAT, judged("lime", 0.5), judged("cam", {"order": 1.0, "size": 0.0})]
    table = answer(*cells, costs={"shap": 2.0}).table()
    assert table.columns == (
        "method", "verdict", "order under mean", "order under rows", "size under mean", "size under rows", "CPU a row",
    )  # fmt: skip
    assert [(row[0], row[1]) for row in table.rows] == [
        ("shap", "passes"),
        ("ig", "passes"),
        ("lime", "behind"),
        ("cam", "depends"),
        ("noise", "no better than chance"),
    ]
    assert [row[-1] for row in table.rows] == ["2 s", "", "", "", ""]
    assert "40 rows; signed-rank tests against chance, Holm over 10 tests" in " ".join(table.notes)


def test_an_answer_in_json_has_the_sentences_and_the_outcomes_and_never_says_truth():
    found = answer(GOOD, FLAT, judged("lime", 0.5))
    plain = found.to_json()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["outcomes"] == {"lime": "behind", "noise": "no better than chance", "shap": "passes"}
    assert set(plain["outcomes"].values()) <= set(OUTCOMES)
    assert plain["lines"] == list(found.lines())
    assert "truth" not in json.dumps(plain)


@pytest.mark.parametrize("shares, told", [((0.9, 0.42), True), ((0.9, 0.1), False), ((0.9, None), True)])
def test_where_every_canvas_makes_rows_unlike_the_reference_the_answer_warns(shares, told):
    found = answer(GOOD, unfamiliar=dict(zip(("mean", "rows"), shares, strict=True)))
    warnings = [line for line in found.lines() if line.startswith("Careful: under every canvas")]
    assert bool(warnings) is told
    if told:
        assert f"{min(share for share in shares if share is not None) * 100:.0f} % or more of the" in warnings[0]


def test_a_warning_of_all_rows_says_all_and_not_all_or_more():
    found = answer(GOOD, unfamiliar={"mean": 1.0, "rows": 1.0})
    assert "Careful: under every canvas 100 % of the" in "".join(found.lines())


def test_where_methods_depend_the_best_under_each_canvas_is_named():
    def better_under(canvas):
        return [
            Judged(cell.method, cell.family, cell.canvas, [value + (cell.canvas == canvas) for value in cell.values])
            for cell in judged(f"best under {canvas}", 1.0)
        ]

    found = answer(better_under("mean"), better_under("rows"))
    line = sentence(found, "Which method is best depends on what replaces a removed feature")
    assert line.endswith(": best under mean under mean; best under rows under rows.")
    assert not [line for line in answer(GOOD, FLAT).lines() if line.startswith("Which method is best")]
