"""Every artifact is handed out once, when its needs are known, and gets them."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.records import Record
from assay.execute.plan import RANK
from assay.execute.queue import Queue
from assay.store.memory import MemoryStore
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
        queue.learn(record(artifact))
    assert sorted(order) == sorted(artifact.key for artifact in artifacts)


def test_artifacts_that_wait_let_others_pass(study, store):
    queue = Queue(todo(study(**FULL), store).artifacts, store)
    (first, _), (second, _) = queue.next(), queue.next()
    assert (first.kind, second.kind) == ("model", "model")
    assert queue.next() is None  # everything else needs a model
    queue.learn(record(first))
    third, records = queue.next()
    assert third.kind in ("samples", "fit", "probe")
    assert records == {first.key: record(first)}


def test_what_is_begun_is_finished_first(study, store):
    """Evidence of a trial comes before the next trial, and a score as soon as its evidence is there."""
    queue, order = Queue(todo(study(methods=["yard:Copy", "yard:Copy(k=2)"]), store).artifacts, store), []
    while (found := queue.next()) is not None:
        order.append(found[0].kind)
        queue.learn(record(found[0]))
    assert order == ["trial", "evidence", "trial", "evidence", "score"] * 2


def test_a_queue_takes_from_the_store_what_nobody_makes(study, store):
    model = todo(study(**FULL), store).artifacts[0]
    store.put(record(model))
    queue = Queue(todo(study(**FULL), store).artifacts, store)
    assert queue.records == {model.key: store.get(model.key)}


def test_a_queue_keeps_only_what_somebody_needs(study, store):
    queue = Queue(todo(study(**FULL), store).artifacts, store)
    queue.learn(Record("evidence", "nobody needs this", "ok"))
    assert queue.records == {}


def test_a_failed_need_is_known_too(study, store):
    queue = Queue(todo(study(environments=["yard:Orchard"]), store).artifacts, store)
    model, _ = queue.next()
    queue.learn(record(model, "failed"))
    _, records = queue.next()
    assert records[model.key].status == "failed"


# Any graph.


@dataclass(frozen=True, eq=False)
class Node:
    key: str
    kind: str
    needs: tuple["Node", ...]


@st.composite
def graphs(draw):
    """Nodes that need some of those before them, in any order; some of them are in the store already."""
    nodes = []
    for number in range(draw(st.integers(1, 14))):
        needs = draw(st.lists(st.sampled_from(nodes), max_size=4)) if nodes else []
        nodes.append(Node(str(number), draw(st.sampled_from(sorted(RANK))), tuple(needs)))
    known = draw(st.sets(st.sampled_from(nodes)))
    return draw(st.permutations([node for node in nodes if node not in known])), known


@settings(max_examples=200, deadline=None, derandomize=True)
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
        queue.learn(done[node.key])
    assert len(begun) == len(artifacts)
    assert set(begun) == set(artifacts)
    assert queue.next() is None
