"""What methods said about their answers."""

from __future__ import annotations

from assay.report.promises import Said, said
from assay.report.words import share


def trial(gap: float | None = None, promised: float = 1.0, remedy: str = "", **more):
    sums = {} if gap is None else {"completeness": {"gap": gap, "promised": promised, "remedy": remedy}}
    return {"block": [0, 8], **sums, **more}


def test_gaps_are_added_up_over_blocks_before_they_are_divided():
    assert said([trial(0.3, 1.0), trial(0.0, 5.0)]).gap == 0.3 / 6


def test_nothing_is_shown_where_nothing_or_zero_is_promised():
    assert said([trial(), trial()]) == Said()
    assert said([trial(0.0, 0.0)]).gap is None
    assert said([trial(2.0, 0.0)]).gap is None


def test_a_gap_of_more_than_a_tenth_is_marked_by_what_it_means():
    assert said([trial(0.1)]).mark == ""
    assert said([trial(0.11)]).mark == "does not add up here"
    assert said([trial(0.11, remedy="raise samples")]).mark == "not converged: raise samples"


def test_a_note_stands_once_with_the_samples_it_is_about():
    found = said([trial(notes={"layer 5": 8, "slow": 2}), trial(notes={"layer 5": 8})])
    assert found.notes == ("layer 5", "slow (2 of 16 samples)")


def test_shares_are_short():
    assert [share(value) for value in (1.08, 0.034, 0.0002, 0.0)] == ["108 %", "3.4 %", "<0.1 %", "0 %"]
