"""Expected times: of the same group, else of the same kind; warm-up counts only where nothing else is known."""

import pytest

from assay.core.machine import Machine
from assay.core.records import Record
from assay.engine.artifacts.artifact import Group
from assay.engine.artifacts.component import Component
from assay.engine.execute.cost import Cost, Costs, expected


@pytest.fixture
def groups():
    return {name: Group("trial", Component("methods", instance=name)) for name in ("quick", "slow", "new")}


def record(group, wall, first=False, status="ok", **origin):
    cost = {"wall": wall, "cpu": wall / 2} if status == "ok" else {}
    origin = {"group": group.key, "first": first, **origin}
    return Record(group.kind, f"{group.key} {wall}", status, cost=cost, origin=origin)


def costs(*records, machine=None):
    found = Costs(machine)
    for each in records:
        found.add(each)
    return found


def test_a_slow_method_says_nothing_about_a_quick_one(groups):
    known = costs(record(groups["quick"], 0.1), record(groups["slow"], 60.0), record(groups["slow"], 80.0))
    assert known.of_group(groups["quick"]) == Cost(0.1, 0.05)
    assert known.of_group(groups["slow"]) == Cost(70.0, 35.0)
    assert known.of_group(groups["new"]) is None


def test_the_first_of_a_process_counts_only_as_long_as_there_is_no_other(groups):
    quick = groups["quick"]
    known = costs(record(quick, 9.0, first=True), record(quick, 5.0, first=True))
    assert known.of_group(quick).wall == 5.0
    known.add(record(quick, 1.0))
    known.add(record(quick, 2.0))
    known.add(record(quick, 30.0, first=True))
    assert known.of_group(quick).wall == 1.5


def test_a_group_without_times_costs_what_its_kind_costs_and_each_group_counts_once(groups):
    known = costs(record(groups["slow"], 9.0), *(record(groups["quick"], 1.0) for _ in range(5)))
    assert expected([groups["new"]], known) == {groups["new"]: Cost(5.0, 2.5)}
    other = Group("probe", groups["new"].component)
    assert expected([other], known) == {}


def test_what_does_not_apply_costs_nothing(groups):
    known = costs(record(groups["slow"], 9.0), record(groups["new"], 0.0, status="skipped"))
    assert expected([groups["new"]], known) == {groups["new"]: Cost(0.0, 0.0)}


def test_the_first_source_that_knows_the_group_decides_then_the_first_that_knows_the_kind(groups):
    own, earlier = costs(record(groups["quick"], 1.0)), costs(record(groups["quick"], 5.0), record(groups["slow"], 7.0))
    found = expected(groups.values(), own, earlier)
    assert {group: cost.wall for group, cost in found.items()} == dict(
        zip(groups.values(), (1.0, 7.0, 1.0), strict=True)
    )


def test_times_of_another_device_number_format_or_thread_count_are_not_comparable(groups):
    made = {"device": "cpu", "dtype": "float32", "threads": 1}
    for machine in (Machine("cuda"), Machine(dtype="float64"), Machine(threads=2)):
        assert costs(record(groups["slow"], 9.0, **made), machine=machine).of_group(groups["slow"]) is None
    assert (
        costs(record(groups["slow"], 9.0, **made), machine=Machine(memory=2**20)).of_group(groups["slow"]).wall == 9.0
    )


def test_records_of_earlier_versions_have_a_kind_and_no_group(groups, store):
    store.put(Record("trial", "t", "ok", cost={"wall": 3.0, "cpu": 2.0}))
    known = Costs().read(store, ["trial"])
    assert known.of_group(groups["new"]) is None
    assert expected([groups["new"]], known) == {groups["new"]: Cost(3.0, 2.0)}
