"""Remarks about a method's attributions: gaps and notes."""

from __future__ import annotations

from assay.report.remarks import MethodRemarks, method_remarks
from assay.report.text import percent


def trial(gap: float | None = None, promised: float = 1.0, remedy: str = "", **more):
    sums = {} if gap is None else {"completeness": {"gap": gap, "promised": promised, "remedy": remedy}}
    return {"block": [0, 8], **sums, **more}


def test_gaps_are_added_up_over_blocks_before_they_are_divided():
    assert method_remarks([trial(0.3, 1.0), trial(0.0, 5.0)]).gap == 0.3 / 6


def test_nothing_is_shown_where_nothing_or_zero_is_promised():
    assert method_remarks([trial(), trial()]) == MethodRemarks()
    assert method_remarks([trial(0.0, 0.0)]).gap is None
    assert method_remarks([trial(2.0, 0.0)]).gap is None


def test_a_gap_of_more_than_a_tenth_is_marked_by_what_it_means():
    assert method_remarks([trial(0.1)]).mark == ""
    assert method_remarks([trial(0.11)]).mark == "does not add up here"
    assert method_remarks([trial(0.11, remedy="raise samples")]).mark == "not converged: raise samples"


def test_a_note_stands_once_with_the_samples_it_is_about():
    remarks = method_remarks([trial(notes={"layer 5": 8, "slow": 2}), trial(notes={"layer 5": 8})])
    assert remarks.notes == ("layer 5", "slow (2 of 16 samples)")


def test_what_maps_are_made_of_is_named_once():
    assert method_remarks([trial(grid="segments"), trial(grid="segments")]).grid == "segments"
    assert method_remarks([trial(grid="3x3 grid"), trial()]).grid == "3x3 grid"


def test_shares_are_short():
    assert [percent(value) for value in (1.08, 0.034, 0.0002, 0.0)] == ["108 %", "3.4 %", "<0.1 %", "0 %"]
