"""Every artifact is handed out once, when its needs are known, and gets them."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.records import Record
from assay.engine.artifacts.artifact import Group
from assay.engine.artifacts.component import Component
from assay.engine.execute.queue import RANK, Queue
from assay.engine.store.memory import MemoryStore
from yard_study import todo

FULL = {
    "environments": ["yard:Orchard"],
    "methods": ["yard:Copy", "yard:Fits"],
    "metrics": ["yard:Total", "yard:Probes"],
    "seeds": [0, 1],
    "gallery": 2,
}


def record(artifact, status="ok"):
    return Record(artifact.kind, artifact.key, status, reason="" if status == "ok" else "oh")


def test_an_artifact_is_handed_out_when_its_needs_are_known_and_gets_them(study, store):
    artifacts = todo(study(**FULL), store).artifacts
    queue, order = Queue(artifacts, store), []
    while (found := queue.next()) is not None:
        artifact, records = found
        assert set(records) == {need.key for need in artifact.needs}
        order.append(artifact.key)
        queue.add_record(record(artifact))
    assert sorted(order) == sorted(artifact.key for artifact in artifacts)


def test_artifacts_that_wait_let_others_pass(study, store):
    queue = Queue(todo(study(**FULL), store).artifacts, store)
    (first, _), (second, _) = queue.next(), queue.next()
    assert (first.kind, second.kind) == ("model", "model")
    assert queue.next() is None  # everything else needs a model
    queue.add_record(record(first))
    third, records = queue.next()
    assert third.kind in ("samples", "fit", "probe")
    assert records == {first.key: record(first)}


def test_what_is_begun_is_finished_first(study, store):
    """Evidence of a trial comes before the next trial, and a score as soon as its evidence is there."""
    queue, order = Queue(todo(study(methods=["yard:Copy", "yard:Copy(k=2)"]), store).artifacts, store), []
    while (found := queue.next()) is not None:
        order.append(found[0].kind)
        queue.add_record(record(found[0]))
    assert order == ["trial", "evidence", "trial", "evidence", "score"] * 2


def test_a_queue_takes_from_the_store_what_nobody_makes(study, store):
    model = todo(study(**FULL), store).artifacts[0]
    store.put(record(model))
    queue = Queue(todo(study(**FULL), store).artifacts, store)
    assert queue.records == {model.key: store.get(model.key)}


def test_a_queue_keeps_only_what_somebody_needs(study, store):
    queue = Queue(todo(study(**FULL), store).artifacts, store)
    queue.add_record(Record("evidence", "nobody needs this", "ok"))
    assert queue.records == {}


def test_a_failed_need_is_known_too(study, store):
    queue = Queue(todo(study(environments=["yard:Orchard"]), store).artifacts, store)
    model, _ = queue.next()
    queue.add_record(record(model, "failed"))
    _, records = queue.next()
    assert records[model.key].status == "failed"


def test_what_takes_longest_comes_first_once_that_is_known():
    """One of each group tells; then groups in the order of their times, and blocks of a group in the plan's order."""
    components = {name: Component("methods", instance=name) for name in ("quick", "slow", "slower")}
    nodes = [Node(f"{name} {n}", "trial", (), component) for name, component in components.items() for n in range(3)]
    queue, order = Queue(nodes, MemoryStore()), []
    while (found := queue.next()) is not None:
        node, _ = found
        order.append(node.key)
        wall = {"quick": 0.01, "slow": 2.0, "slower": 9.0}[node.key.split()[0]]
        origin = {"group": node.group.key, "first": node.key.endswith("0")}
        queue.add_record(Record("trial", node.key, "ok", cost={"wall": wall, "cpu": wall}, origin=origin))
    assert order[:3] == ["quick 0", "slow 0", "slower 0"]
    assert order[3:] == ["slower 1", "slower 2", "slow 1", "slow 2", "quick 1", "quick 2"]


def test_times_that_differ_little_leave_the_order_of_the_plan():
    components = {name: Component("methods", instance=name) for name in "ab"}
    nodes = [Node(f"{name}{n}", "trial", (), component) for name, component in components.items() for n in range(3)]
    queue, order = Queue(nodes, MemoryStore()), []
    while (found := queue.next()) is not None:
        node, _ = found
        order.append(node.key)
        wall = {"a": 1.1, "b": 1.3}[node.key[0]]
        queue.add_record(Record("trial", node.key, "ok", cost={"wall": wall}, origin={"group": node.group.key}))
    assert order == ["a0", "b0", "a1", "a2", "b1", "b2"]


def test_evidence_comes_first_however_short_it_is(study, store):
    queue, order = Queue(todo(study(samples=8), store).artifacts, store), []
    while (found := queue.next()) is not None:
        artifact, _ = found
        order.append(artifact.kind)
        wall = {"trial": 9.0, "evidence": 0.01, "score": 0.01}[artifact.kind]
        origin = {"group": artifact.group.key}
        queue.add_record(Record(artifact.kind, artifact.key, "ok", cost={"wall": wall}, origin=origin))
    assert order == ["trial", "evidence"] * 4 + ["score"]


# Any graph.


@dataclass(frozen=True, eq=False)
class Node:
    key: str
    kind: str
    needs: tuple["Node", ...] = ()
    component: Component = Component("methods", instance=None)

    @property
    def group(self):
        return Group(self.kind, self.component)


@st.composite
def graphs(draw):
    """Nodes that need some of those before them, in any order; some of them are in the store already."""
    nodes = []
    for number in range(draw(st.integers(1, 14))):
        needs = draw(st.lists(st.sampled_from(nodes), max_size=4)) if nodes else []
        nodes.append(Node(str(number), draw(st.sampled_from(sorted(RANK))), tuple(needs)))
    known = draw(st.sets(st.sampled_from(nodes)))
    return draw(st.permutations([node for node in nodes if node not in known])), known


@settings(max_examples=200)
@given(graphs(), st.integers(1, 4), st.randoms(use_true_random=False), st.data())
def test_every_artifact_of_any_graph_is_handed_out_once_and_after_its_needs(graph, workers, random, data):
    """Also where several are under way at once and end in any order, well or not."""
    artifacts, known = graph
    store = MemoryStore()
    for node in known:
        store.put(record(node))
    queue, done, begun, busy = Queue(artifacts, store), {node.key: record(node) for node in known}, [], []
    while True:
        while len(busy) < workers and (found := queue.next()) is not None:
            node, records = found
            assert records == {need.key: done[need.key] for need in node.needs}
            begun.append(node)
            busy.append(node)
        if not busy:
            break
        node = busy.pop(random.randrange(len(busy)))
        done[node.key] = record(node, data.draw(st.sampled_from(["ok", "skipped", "failed"])))
        queue.add_record(done[node.key])
    assert len(begun) == len(artifacts)
    assert set(begun) == set(artifacts)
    assert queue.next() is None
