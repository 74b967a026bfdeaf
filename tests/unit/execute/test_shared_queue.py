"""Two runs, one store: an artifact is given to one of them, and to the other only if the first does not finish it."""

import threading
from contextlib import ExitStack

import pytest

from assay.artifacts.artifact import Group
from assay.artifacts.component import Component
from assay.core.records import Record
from assay.execute.other_runs import OtherRuns
from assay.execute.shared_queue import SharedQueue
from assay.store import running
from assay.store.running import RunningRun, RunningRuns
from assay.store.store import Store
from unit.execute.pieces import Piece


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("assay.execute.other_runs.BEAT", 0.02)


class Run:
    """A run that computes by hand."""

    def __init__(self, scope, root, run_id, pieces):
        self.store = Store(root, sync=False)
        scope.enter_context(self.store.writer(run_id))
        self.others = OtherRuns(self.store, run_id, "study")
        self.context = ExitStack()
        scope.enter_context(self.context)
        self.context.enter_context(self.others)
        self.queue = SharedQueue(pieces, self.store, self.others)

    def next(self):
        task = self.queue.next()
        return task and task[0].key

    def finish(self, key, status="ok"):
        record = Record("trial", key, status)
        self.queue.add_record(record)
        self.store.put(record)
        self.others.note_stored(key)


@pytest.fixture
def runs(store):
    with ExitStack() as scope:
        yield lambda *ids: [Run(scope, store.root, run_id, PIECES) for run_id in ids]


class Timed(Piece):
    """Of one group, as blocks of one method are."""

    group = Group("trial", Component("methods", instance="piece"))


A, B = Timed("a"), Timed("b")
PIECES = (A, B, Timed("ab", needs=(A, B)))


def test_a_run_alone_gets_what_a_queue_gives(runs):
    (run,) = runs("r1")
    assert [run.next(), run.next(), run.next()] == ["a", "b", None]
    run.finish("a")
    run.finish("b")
    assert run.next() == "ab"
    run.finish("ab")
    assert not run.queue.wait()


def test_what_one_run_computes_the_other_does_not(runs):
    first, second = runs("r1", "r2")
    assert [first.next(), second.next()] == ["a", "b"]
    assert [first.next(), second.next()] == [None, None]
    first.finish("a")
    second.finish("b")
    second.others.look()
    assert second.next() == "ab"
    first.others.look()
    assert first.next() is None
    assert [record.key for record in first.queue.taken_over()] == ["b"]
    second.finish("ab")
    assert not first.queue.wait()
    assert [record.key for record in first.queue.taken_over()] == ["ab"]
    assert first.queue.taken_over() == []


def test_a_run_that_begins_later_puts_off_what_is_under_way(runs):
    (first,) = runs("r1")
    assert first.next() == "a"
    (second,) = runs("r2")
    assert [second.next(), second.next()] == ["b", None]


def test_the_second_run_says_so_and_the_first_does_not(runs, capsys):
    runs("r1")
    assert capsys.readouterr().err == ""
    runs("r2")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("assay: another run (r1, ")
    assert line.endswith("is writing into this store: what it has done or is computing is not computed again.")


@pytest.mark.parametrize("ends", ["leaves", "fails"])
def test_what_the_other_run_does_not_finish_is_computed_here(runs, ends):
    first, second = runs("r1", "r2")
    assert [first.next(), second.next(), second.next()] == ["a", "b", None]
    if ends == "leaves":
        first.context.close()
    else:
        first.finish("a", "failed")
    assert second.queue.wait()
    assert second.next() == "a"


def test_a_failure_of_its_own_is_not_tried_again(runs):
    (run,) = runs("r1")
    assert [run.next(), run.next()] == ["a", "b"]
    run.finish("a", "failed")
    run.finish("b")
    assert run.next() == "ab"
    run.finish("ab", "failed")
    assert not run.queue.wait()


def test_what_the_other_run_has_done_since_the_plan_was_made_is_taken_over(runs):
    first, second = runs("r1", "r2")
    for key in ("a", "b"):
        assert first.next() == key
        first.finish(key)
    assert second.queue.wait()
    assert second.next() == "ab"
    assert [record.key for record in second.queue.taken_over()] == ["a", "b"]


def test_a_run_elsewhere_that_died_holds_nobody_up(runs, store, monkeypatch):
    monkeypatch.setattr(running, "SILENCE", 0.3)
    monkeypatch.setattr("assay.execute.other_runs.GREETING", 0.0)
    RunningRuns(store.root).write(RunningRun("r0", "study", "far", "another machine", 1, 7, ("a", "b")))
    (run,) = runs("r1")
    assert run.next() is None
    assert run.queue.wait()
    assert run.next() in ("a", "b")
    assert not (store.root / "running" / "r0.json").exists()


def test_of_runs_that_claim_at_the_same_time_one_gets_each_artifact(store):
    pieces, given = [Timed(f"k{n}") for n in range(40)], [[], [], []]

    def compute(run, keys):
        while run.queue.wait():
            while (key := run.next()) is not None:
                keys.append(key)
                run.finish(key)

    with ExitStack() as scope:
        all_runs = [Run(scope, store.root, f"r{n}", pieces) for n in range(3)]
        threads = [threading.Thread(target=compute, args=pair) for pair in zip(all_runs, given, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert sorted(key for keys in given for key in keys) == sorted(piece.key for piece in pieces)
