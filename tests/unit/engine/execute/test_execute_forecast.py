"""The cost of a run before it starts: from the store where it has times, else from one measured block."""

import pytest

from assay.core.machine import Machine, Resources
from assay.core.records import Record
from assay.engine.execute import forecast as module
from assay.engine.execute.cost import Costs
from assay.engine.execute.forecast import forecast
from assay.engine.execute.local import timeout_reason
from assay.engine.execute.measure import LONGEST, measure
from assay.engine.execute.run import run
from assay.engine.store.memory import MemoryStore
from assay.engine.store.store import Store
from yard_study import finish, todo


def put_times(store, artifacts, seconds):
    """Records of these artifacts, which took so many seconds, by their kind."""
    for artifact in artifacts:
        cost = {"cpu": seconds[artifact.kind], "wall": 2 * seconds[artifact.kind]}
        store.put(Record(artifact.kind, artifact.key, "ok", cost=cost, origin={"group": artifact.group.key}))


@pytest.fixture
def unmeasured(monkeypatch):
    monkeypatch.setattr(module, "measure", lambda *_: pytest.fail("everything is known"))


def test_times_are_those_of_the_same_method_also_of_another_seed(study, store, unmeasured):
    both = {"methods": ["yard:Copy", "yard:Copy(k=2)"], "metrics": ["f1"]}
    for methods, seconds in ((both["methods"][:1], 1.0), (both["methods"][1:], 100.0)):
        earlier = todo(study(**{**both, "methods": methods}, seeds=[7]), store).artifacts
        put_times(store, earlier, {"trial": seconds, "evidence": 3.0, "score": 0.5})
    found = forecast(study(**both), store.root, Resources(2))
    assert found.plan.kinds == {"trial": 4, "evidence": 4, "score": 2}
    assert found.seconds == 2 * 1.0 + 2 * 100.0 + 4 * 3.0 + 2 * 0.5
    assert found.wall == 2 * found.seconds / 2  # wall time is twice the CPU time here, and there are two workers
    assert (found.complete, found.measured, found.workers) == (True, 0, 2)
    assert found.largest == (
        ("method", "yard:Copy(k=2)", 200.0),
        ("metric", "f1", 13.0),
        ("method", "yard:Copy", 2.0),
    )


def test_more_workers_do_not_shorten_the_longest_chain(study, store, unmeasured):
    put_times(store, todo(study(seeds=[7]), store).artifacts, {"trial": 8.0, "evidence": 1.0, "score": 0.0})
    assert forecast(study(), store.root, Resources(50)).wall == 2 * (8.0 + 1.0)


def test_a_finished_study_costs_nothing(study, tmp_path, unmeasured):
    run(study(), tmp_path / "s")
    found = forecast(study(), tmp_path / "s", Resources())
    assert (found.seconds, found.wall, found.plan.reused, found.complete) == (0, 0, 2, True)


def test_what_nobody_has_computed_is_measured_and_nothing_is_kept(study, tmp_path):
    asked, announced = study(environments=["yard:Orchard"], methods=["yard:Fits", "grad_cam"], gallery=1), []
    found = forecast(asked, tmp_path / "s", Resources(), announced.append)
    assert found.seconds > 0
    assert found.complete
    assert "grad_cam" not in [label for _, label, _ in found.largest]  # does not apply, which costs nothing
    assert announced == [7]  # a model, samples, a fit, two methods; the metric, which may ask both again
    assert found.measured < len(found.plan.artifacts)
    assert not (tmp_path / "s").exists()


def test_a_measurement_uses_what_the_store_has_and_the_second_of_a_group_has_no_warm_up(study, store, yard):
    finish(study(environments=["yard:Orchard"], seeds=[0]), store)
    again = todo(study(environments=["yard:Orchard"], methods=["yard:Copy(k=3)"], samples=10), store).artifacts
    records = [(record.kind, record.origin["first"]) for record in measure(again, store, Machine())]
    assert sorted(records) == [("evidence", False), ("evidence", True), ("trial", False), ("trial", True)]  # no model


def test_a_block_that_takes_too_long_to_measure_makes_a_lower_bound(study, tmp_path, monkeypatch):
    def stopped(artifacts, store, machine):
        trial = next(artifact for artifact in artifacts if artifact.kind == "trial")
        yield Record("trial", trial.key, "failed", reason=timeout_reason(LONGEST))

    monkeypatch.setattr(module, "measure", stopped)
    found = forecast(study(), tmp_path / "s", Resources(1))
    assert (found.seconds, found.complete) == (2 * LONGEST, False)


def test_no_further_block_is_measured_after_the_time_is_over(study, monkeypatch):
    monkeypatch.setattr("assay.engine.execute.measure.TOTAL", -1.0)
    assert list(measure(todo(study(), MemoryStore()).artifacts, MemoryStore(), Machine())) == []


def test_times_in_a_store_are_read_back(study, store):
    records = finish(study(), store)
    costs = Costs(Machine()).read(store, ["trial"])
    group = todo(study(seeds=[1]), store).artifacts[0].group
    (warm,) = [record for record in records if record.kind == "trial" and not record.origin["first"]]
    assert costs.of_group(group).wall == warm.cost["wall"]
    assert Store.open(store.root, create=False).sample("trial", 1)[0].origin["group"] == group.key
