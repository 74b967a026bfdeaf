"""The same study on a Dask cluster: the same store, whatever dies on the way."""

from dataclasses import replace
from itertools import count

import distributed
import pytest
from distributed.comm.core import CommClosedError

from assay.core.errors import AssayError
from assay.core.machine import Resources
from assay.engine.execute.dask import Dask
from assay.engine.execute.dask_driver import Driver
from assay.engine.execute.run import run
from assay.engine.store.store import Store
from assay.studies.file import read
from reliability.cluster import Cluster

pytestmark = pytest.mark.draws("Dask spreads its attempts to connect with Python's random numbers")

TABLE = {
    "seeds": [0, 1],
    "samples": 8,
    "block": 4,
    "environments": ["color_count(side=16, sizes=(3, 5))", "own"],
    "methods": ["gradient", "integrated_gradients(steps=8)", "random_map"],
    "metrics": ["f1", "deletion", "sensitivity_n"],
    "gallery": 2,
}


@pytest.fixture(scope="module")
def study():
    return read(TABLE, "tiny", "tiny")


@pytest.fixture(scope="module")
def expected(study, tmp_path_factory):
    """What one local process leaves behind."""
    root = tmp_path_factory.mktemp("local") / "store"
    run(study, root, Resources(1))
    return results(root)


def results(root):
    return [record for record in Store.open(root, create=False).dump() if record["kind"] != "run"]


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.kill(*cluster.processes)


def test_a_cluster_leaves_the_store_that_a_process_leaves(cluster, study, expected, tmp_path):
    run(study, tmp_path / "store", Resources(2, cluster=str(cluster.start().file)))
    assert results(tmp_path / "store") == expected


@pytest.mark.full
def test_arrays_travel_where_workers_do_not_see_the_folder(study, expected, tmp_path, monkeypatch):
    job = Dask._job
    monkeypatch.setattr(Dask, "_job", lambda self, client: replace(job(self, client), carries=True))
    run(study, tmp_path / "store", Resources(2, cluster=""))
    assert results(tmp_path / "store") == expected


@pytest.mark.full
def test_a_connection_that_breaks_is_made_again(study, expected, tmp_path, monkeypatch):
    submit, calls = Driver._submit, count()

    def breaks_once(self, bundle):
        if next(calls) == 5:
            raise CommClosedError(
                "in <TCP (closed)>: ConnectionResetError"
            )  # while the client takes itself for connected
        submit(self, bundle)

    monkeypatch.setattr(Driver, "_submit", breaks_once)
    run(study, tmp_path / "store", Resources(2, cluster=""))
    assert results(tmp_path / "store") == expected


@pytest.mark.full
def test_a_worker_and_the_scheduler_may_die(cluster, study, expected, tmp_path, monkeypatch):
    monkeypatch.setattr("assay.engine.execute.dask.CONNECT", 10.0)
    cluster.start()
    records = []

    def watch(record, plan, store):
        if record is None:
            return
        records.append(record)
        if len(records) == 10:
            cluster.kill(cluster.processes[1])
            cluster.worker()
        if len(records) == 40:
            cluster.kill(*cluster.processes)
            cluster.start()

    run(study, tmp_path / "store", Resources(2, cluster=str(cluster.file)), watch)
    assert results(tmp_path / "store") == expected
    assert len(records) > 40
    assert len({record.key for record in records}) == len(records)  # nothing that was complete was computed again


def test_a_scheduler_file_is_read_again_where_it_names_a_scheduler_that_is_gone(tmp_path, monkeypatch):
    file, connected = tmp_path / "scheduler.json", object()
    file.write_text("gone")

    def client(scheduler_file, **_):
        if file.read_text() == "gone":
            file.write_text("new")  # another scheduler comes up
            raise OSError("timed out")
        return connected

    monkeypatch.setattr("distributed.Client", client)
    assert Dask(tmp_path, address=str(file))._connect(None) is connected


def test_a_cluster_that_is_not_there_is_an_error_that_says_so(study, tmp_path, monkeypatch):
    monkeypatch.setattr("assay.engine.execute.dask.CONNECT", 1.0)
    client, waits = distributed.Client, []
    monkeypatch.setattr("distributed.Client", lambda **how: waits.append(how["timeout"]) or client(**how))
    with pytest.raises(AssayError, match="no Dask cluster at tcp:"):
        run(study, tmp_path / "store", Resources(2, cluster="tcp://127.0.0.1:9"))
    assert set(waits) == {1.0}  # nobody waits longer than was said
