"""Which artifacts a Dask driver hands out together, and what becomes of them when their worker fails."""

from types import SimpleNamespace

import pytest
from distributed.scheduler import KilledWorker

from assay.core.records import Record
from assay.engine.artifacts.artifact import Group
from assay.engine.artifacts.component import Component
from assay.engine.execute.cost import Cost
from assay.engine.execute.dask_driver import BUNDLE_SIZE, Driver
from unit.engine.execute.pieces import Piece

SECONDS = {"quick": 0.03, "slow": 9.0}


class Timed(Piece):
    """Its key begins with the name of its group."""

    @property
    def group(self):
        return Group("trial", Component("methods", instance=self.key.split()[0]))


class Costs:
    def of_group(self, group):
        seconds = SECONDS.get(group.component.instance)
        return None if seconds is None else Cost(seconds, seconds)


class Future:
    def __init__(self, outcome):
        self.outcome = outcome

    def result(self):
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def driver(*keys):
    tasks = iter([(Timed(key), {}) for key in keys])
    queue = SimpleNamespace(next=lambda: next(tasks, None), costs=Costs())
    return Driver(SimpleNamespace(status="running"), SimpleNamespace(timeout=5.0), queue, [])


def keys(bundle):
    return [artifact.key for artifact, _ in bundle]


def bundles(given):
    return [keys(bundle) for bundle in iter(given._next_bundle, ())]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["slow 1", "slow 2"], [["slow 1"], ["slow 2"]]),
        (["quick 1", "quick 2", "slow 1", "quick 3"], [["quick 1", "quick 2", "slow 1"], ["quick 3"]]),
        ([f"quick {n}" for n in range(6)], [[f"quick {n}" for n in range(4)], ["quick 4", "quick 5"]]),
        (["new 1", "quick 1", "new 2", "quick 2"], [["new 1"], ["quick 1", "new 2"], ["quick 2"]]),
    ],
)
def test_short_artifacts_go_together_and_nothing_is_added_to_a_long_or_an_unknown_one(given, expected, monkeypatch):
    monkeypatch.setattr("assay.engine.execute.dask_driver.BUNDLE_SECONDS", 0.1)
    assert bundles(driver(*given)) == expected


def test_a_bundle_has_a_largest_size(monkeypatch):
    monkeypatch.setitem(SECONDS, "quick", 0.0)
    assert len(driver(*(f"quick {n}" for n in range(2 * BUNDLE_SIZE)))._next_bundle()) == BUNDLE_SIZE


def test_of_a_bundle_that_fails_each_is_tried_alone_and_only_the_one_to_blame_is_recorded():
    given = driver("quick 1", "quick 2", "quick 3")
    assert given._records(Future(RuntimeError("died")), given._next_bundle()) == []
    retried = bundles(given)
    assert sorted(retried) == [["quick 1"], ["quick 2"], ["quick 3"]]
    (record,) = given._records(Future(RuntimeError("died")), ((Timed("quick 2"), {}),))
    assert (record.key, record.status) == ("quick 2", "failed")
    assert "died" in record.reason


def test_an_artifact_whose_workers_died_is_tried_again_before_it_is_blamed():
    given = driver("quick 1")
    death = Future(KilledWorker("quick 1", SimpleNamespace(address="tcp://127.0.0.1:1"), 3))
    assert given._records(death, given._next_bundle()) == []
    bundle = given._next_bundle()
    assert [artifact.key for artifact, _ in bundle] == ["quick 1"]
    (record,) = given._records(death, bundle)
    assert record.status == "failed"
    assert "several workers died" in record.reason


def test_of_a_bundle_with_a_late_artifact_the_others_are_given_out_again():
    given = driver("quick 1", "quick 2")
    bundle = given._next_bundle()
    given.late.add("quick 2")
    (record,) = given._records(Future(RuntimeError("cancelled")), bundle)
    assert (record.key, record.status) == ("quick 2", "failed")
    assert "took longer than 5 s" in record.reason
    assert bundles(given) == [["quick 1"]]


def test_all_records_of_a_bundle_are_results():
    given = driver("quick 1", "quick 2")
    made = [Record("trial", key, "ok") for key in ("quick 1", "quick 2")]
    assert given._records(Future([(record, b"") for record in made]), given._next_bundle()) == made
