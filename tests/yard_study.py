"""Studies of the yard's small components, and running them in this process.

The fixtures are imported by the conftest.py of every folder that uses them.
"""

import pytest

import yard as components
from assay.catalogue.registry import resolve
from assay.core.machine import Machine
from assay.core.spec import Spec
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.desk import Desk
from assay.engine.artifacts.model import make_place
from assay.engine.execute.grid import grid
from assay.engine.execute.inline import Inline, MemoryEngine
from assay.engine.execute.plan import plan
from assay.engine.store.store import Store
from assay.studies.file import read


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Models that are trained in a test are cached for this test only."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def yard():
    components.trained.clear()
    return components


@pytest.fixture
def store(tmp_path):
    with_store = Store.open(tmp_path / "store", sync=False)
    yield with_store
    with_store.close()


def small(**changed):
    table = {
        "environments": ["yard:Meadow"],
        "methods": ["yard:Copy"],
        "metrics": ["yard:Total"],
        "samples": 4,
        "block": 2,
        "gallery": 0,
    }
    return read({**table, **changed}, "small")


@pytest.fixture
def study():
    return small


def full(kind, text):
    """A resolved spec."""
    return resolve(kind, Spec.parse(text))


def component(kind, text):
    return Component(kind, full(kind, text))


def here(environment="yard:Meadow", seed=0, data_seed=0, dtype="float32"):
    return make_place(component("environments", environment), seed, data_seed, dtype)


def realised(*artifacts, machine=Machine(), raises=False):
    """A memory in which these artifacts, and what they need, were computed."""
    memory = MemoryEngine(machine, raises)
    memory.realise(artifacts)
    return memory


def todo(study, store, dtype="float32"):
    return plan(grid(study, dtype), store)


def finish(study, store, machine=Machine()):
    """Compute what is missing; the records, in the order in which they were made."""
    records = []
    for record in Inline(Desk(store, machine)).run(todo(study, store, machine.dtype).artifacts, store):
        store.put(record)
        records.append(record)
    return records


def kinds(records):
    return [(record.kind, record.status) for record in records]
