"""How much of a run is done, and how long the rest will take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assay.core.machine import Resources
from assay.core.records import Record
from assay.engine.artifacts.artifact import Group
from assay.engine.artifacts.component import Component
from assay.engine.store.store import Store
from assay.report import progress as module
from assay.report.progress import progress
from assay.report.time_left import RunProgress

COMPONENTS = {name: Component("methods", instance=name) for name in ("it", "other")}


def group(kind: str, name: str = "it") -> Group:
    return Group(kind, COMPONENTS[name])  # type: ignore[arg-type]


def planned(name: str = "it", **kinds: int) -> Any:
    """A plan of so many artifacts of one group of each kind."""
    artifacts = [
        SimpleNamespace(key=f"{kind} {name} {number}", kind=kind, group=group(kind, name))
        for kind, count in kinds.items()
        for number in range(count)
    ]
    return SimpleNamespace(kinds=Counter(kinds), artifacts=artifacts)


def record(kind: str, wall: float | None, status: str = "ok", number: int = 0, name: str = "it") -> Record:
    cost = {} if wall is None else {"wall": wall}
    origin = {"group": group(kind, name).key}
    return Record(kind, f"{kind} {name} {number}", status, cost=cost, origin=origin)  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "s", sync=False)


def two_methods(store: Store, it: int, other: int) -> RunProgress:
    """At the beginning of a run with so many trials of each."""
    plan = planned(trial=it)
    plan.artifacts += planned("other", trial=other).artifacts
    run_progress = RunProgress(workers=1)
    run_progress.begin(plan, store)
    return run_progress


def test_an_estimate_is_by_kind_and_shared_by_the_workers(store: Store) -> None:
    for earlier in (record("trial", 1.0), record("trial", 3.0, number=1), record("model", 60.0), record("fit", 9.0)):
        store.put(earlier)
    run_progress = RunProgress(workers=2)
    run_progress.begin(planned(trial=10, model=1), store)
    assert run_progress.estimate() == ((10 * 2.0 + 60.0) / 2, True)


def test_one_slow_method_does_not_spoil_the_estimate_of_the_others(store: Store) -> None:
    run_progress = two_methods(store, it=2, other=3)
    run_progress.note(record("trial", 100.0))
    run_progress.note(record("trial", 1.0, name="other"))
    assert run_progress.estimate() == (1 * 100.0 + 2 * 1.0, True)


def test_this_run_s_own_times_replace_those_of_earlier_ones(store: Store) -> None:
    store.put(record("trial", 100.0))
    run_progress = RunProgress(workers=1)
    run_progress.begin(planned(trial=5), store)
    run_progress.note(record("trial", 2.0))
    assert run_progress.estimate() == (4 * 2.0, True)


def test_what_is_left_out_of_an_estimate_is_known(store: Store) -> None:
    run_progress = RunProgress(workers=1)
    run_progress.begin(planned(trial=2, evidence=2), store)
    assert run_progress.estimate() is None
    run_progress.note(record("trial", 30.0))
    assert run_progress.estimate() == (30.0, False)


def test_the_first_method_s_time_is_not_taken_for_that_of_all(store: Store) -> None:
    """One method that takes 15 s a block, and 50 blocks of others not seen yet: 765 s would be far off."""
    run_progress = two_methods(store, it=4, other=50)
    run_progress.note(record("trial", 15.0))
    assert run_progress.estimate() == (3 * 15.0, False)
    run_progress.note(record("trial", 0.1, name="other"))
    assert run_progress.estimate() == (3 * 15.0 + 49 * 0.1, True)


def test_a_few_groups_not_seen_yet_are_estimated_from_their_kind(store: Store) -> None:
    run_progress = two_methods(store, it=4, other=2)
    run_progress.note(record("trial", 2.0))
    assert run_progress.estimate() == (5 * 2.0, True)


def test_a_bound_of_less_than_five_seconds_tells_nothing(store: Store) -> None:
    run_progress = RunProgress(workers=1)
    run_progress.begin(planned(trial=2, evidence=2), store)
    run_progress.note(record("trial", 4.0))
    assert run_progress.estimate() is None


def test_a_failure_tells_no_time_and_a_skip_takes_none(store: Store) -> None:
    run_progress = RunProgress(workers=1)
    run_progress.begin(planned(trial=3), store)
    run_progress.note(record("trial", None, "failed"))
    assert run_progress.estimate() is None
    run_progress.note(record("trial", None, "skipped", 1))
    assert run_progress.how_far() == "2 of 3 done"
    assert run_progress.estimate() == (0.0, True)  # the rest of the group will be skipped, too
    assert run_progress.trouble == {"skipped": 1, "failed": 1}


def test_an_interrupt_tells_the_counts(store: Store) -> None:
    run_progress = RunProgress(workers=1)
    assert run_progress.interrupted("assay run x") == (
        "interrupted: nothing is computed yet. Run the same command again to go on: assay run x"
    )
    run_progress.begin(planned(trial=120), store)
    for _ in range(38):
        run_progress.note(record("trial", 1.0))
    assert "interrupted: 38 of 120 done and kept, 82 left." in run_progress.interrupted("assay run x")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(module.threading.Timer, "start", lambda _: None)

    def pass_(seconds: float) -> None:
        now[0] += seconds

    return pass_


@pytest.mark.parametrize("quiet", [True, False])
def test_a_long_run_says_at_its_start_how_long_like_ones_took(
    store: Store, clock: Callable[[float], None], capsys: pytest.CaptureFixture[str], quiet: bool
) -> None:
    """On standard error, and also where that is a pipe, which has no bar."""
    store.put(record("trial", 2.0))
    with progress(Resources(1), quiet) as watch:
        watch(None, planned(trial=20), store)
        assert "About 40 s to go: 0 of 20 done." in capsys.readouterr().err
        clock(9.0)
        watch(record("trial", 2.0), planned(), store)
        assert "to go" not in capsys.readouterr().err


def test_a_log_says_again_how_far_a_run_is_at_intervals_that_double(
    store: Store, clock: Callable[[float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    store.put(record("trial", 10.0))
    with progress(Resources(1), True) as watch:
        watch(None, planned(trial=100), store)
        for _ in range(30):
            clock(10.0)
            watch(record("trial", 10.0), planned(), store)
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(": ")[2] for line in said] == [f"{done} of 100 done." for done in (0, 6, 12, 24)]


def test_a_run_of_a_new_kind_says_it_after_three_seconds(
    store: Store, clock: Callable[[float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress(Resources(1), True) as watch:
        watch(None, planned(trial=20), store)
        for _ in range(2):
            clock(1.4)
            watch(record("trial", 1.4), planned(), store)
            assert capsys.readouterr().err == ""
        clock(1.4)
        watch(record("trial", 1.4), planned(), store)
        assert capsys.readouterr().err == "About 24 s to go: 3 of 20 done.\n"


def test_a_lower_bound_is_said_only_after_ten_seconds(
    store: Store, clock: Callable[[float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a kind of work has no time yet; a bound from the first quick blocks would say little."""
    with progress(Resources(1), True) as watch:
        watch(None, planned(trial=20, evidence=20), store)
        clock(4.0)
        watch(record("trial", 4.0), planned(), store)
        assert capsys.readouterr().err == ""
        clock(6.5)
        watch(record("trial", 4.0), planned(), store)
        assert capsys.readouterr().err == "At least about 72 s to go: 2 of 40 done.\n"


def test_a_short_run_says_nothing(
    store: Store, clock: Callable[[float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    store.put(record("trial", 0.2))
    with progress(Resources(1), True) as watch:
        watch(None, planned(trial=20), store)
        for _ in range(20):
            clock(0.2)
            watch(record("trial", 0.2), planned(), store)
    assert capsys.readouterr().err == ""


def test_a_run_that_has_nothing_after_three_seconds_says_so(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module.threading.Timer, "start", lambda timer: timer.function())
    with progress(Resources(1), True) as watch:
        watch(None, planned(trial=20), store)
    assert capsys.readouterr().err == "0 of 20 done. The time left is not known yet.\n"


@pytest.mark.parametrize(
    "again, told",
    [
        ("assay run it", "1 of 2 done and kept, 1 left. Run the same command again to go on: assay run it"),
        ("", "1 of 2 done, nothing is kept"),
    ],
)
def test_an_interrupt_leaves_with_a_sentence(store: Store, again: str, told: str) -> None:
    def interrupt() -> None:
        with progress(Resources(1), True, again) as watch:
            watch(None, planned(trial=2), store)
            watch(record("trial", 0.1), planned(), store)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=told):
        interrupt()
