"""The short form of the reliability suite (``make reliability``): every fault that needs no cluster, a few times."""

from random import Random

import pytest

from reliability import corruption, driver_kills, full_disk, shared_store, worker_kills
from reliability.arena import ARTIFACTS, COMPONENTS, Arena
from reliability.page import page
from reliability.scenarios import scenarios
from reliability.tally import Tally


@pytest.fixture
def arena(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(COMPONENTS))
    with Arena(tmp_path) as arena:
        yield arena


def test_a_run_killed_at_named_points_ends_like_one_that_was_not(arena):
    tally = driver_kills.at_points(arena, Random(0), 2, 1)
    assert tally.tried == 2
    assert tally.passed, tally


@pytest.mark.full
def test_a_worker_that_is_killed_leaves_a_failure_that_the_next_run_tries_again(arena):
    tally = worker_kills.local(arena, Random(0), 1, 2)
    assert tally.passed, tally


def test_a_full_disk_loses_nothing(arena):
    tally = full_disk.full_disk(arena, Random(0), 1)
    assert tally.passed, tally


def test_damaged_bytes_are_computed_again_and_never_read(arena):
    tally = corruption.corruption(arena, Random(0), 9)
    assert tally.passed, tally


@pytest.mark.full
def test_two_runs_at_a_time_leave_one_result(arena):
    tally = shared_store.concurrent(arena, Random(0), 1)
    assert tally.passed, tally


def test_a_tally_passes_only_without_loss_repetition_difference_or_idleness():
    sound = {"tried": 1, "stores": 1, "equal": 1}
    assert Tally("a", **sound).passed
    for fault in ({"lost": 1}, {"twice": 1}, {"equal": 0}, {"problems": ["a"]}, {"tried": 0}):
        assert not Tally("a", **{**sound, **fault}).passed


def test_the_page_has_a_row_for_each_scenario_and_names_those_that_failed():
    text = page([Tally("one", 3, 0, 0, 1, 1), Tally("two", 3, 1, 0, 1, 1)], 200, 0, 100.0)
    assert "| one | 3 | 0 | 0 | 1 of 1 |" in text
    assert "FAILED: two." in text


def test_the_study_has_as_many_artifacts_as_the_page_says(arena):
    assert len(arena.reference) == ARTIFACTS


def test_half_of_the_kills_strike_at_named_points():
    drivers = [name.rpartition("-")[0] for name in scenarios(8, 0) if name.startswith("driver")]
    assert drivers == ["driver-points", "driver-points", "driver-moments", "driver-moments"]
