"""Whoever writes into what it was given writes into a copy."""

import pytest
import torch

from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.rng import Stream
from assay.engine.artifacts.answer import fit
from assay.engine.artifacts.artifact import split_blocks
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.trial import make_trials
from assay.engine.store.store import Store
from scenes import ask, data, mlp
from yard_study import finish, here, realised

TRAMPLERS = """
from dataclasses import dataclass
from assay.core.evidence import Evidence
from assay.core.trial import Trial


def _parts(trial: Trial):
    scene = trial.scene
    return {
        "attribution": trial.attribution,
        "x": scene.samples.x,
        "label": scene.samples.label,
        "effect": scene.samples.truth.effect,
        "target": scene.target,
    }


@dataclass(frozen=True)
class Tramples:
    what: str = "x"

    def __call__(self, trial: Trial) -> Evidence:
        _parts(trial)[self.what].fill_(7)
        return Evidence({"value": trial.map.sum(dim=1).numpy().copy()})


@dataclass(frozen=True)
class ProbeTramples:
    what: str = "x"

    def probe(self, scene):
        {"x": scene.samples.x, "effect": scene.samples.truth.effect}[self.what].fill_(7)
        return {"x": scene.samples.x.clone()}

    def __call__(self, trial: Trial) -> Evidence:
        return Evidence({"value": trial.map.sum(dim=1).numpy().copy()})


@dataclass(frozen=True)
class TramplesQuery:
    what: str = "x"

    def __call__(self, query):
        return query.x * 0 + getattr(query, self.what).fill_(1).sum()


@dataclass(frozen=True)
class Sees:
    what: str = "x"

    def __call__(self, trial: Trial) -> Evidence:
        part = _parts(trial)[self.what].double()
        return Evidence({"value": part.view(len(part), -1).sum(dim=1).numpy()})
"""


@pytest.fixture
def tramplers(tmp_path, monkeypatch):
    (tmp_path / "tramplers.py").write_text(TRAMPLERS)
    monkeypatch.syspath_prepend(str(tmp_path))


def seen(study, root):
    """What the last metric saw, block by block."""
    store, found = Store.open(root, sync=False), []
    for record in finish(study, store):
        assert record.status == "ok", record.traceback
        if record.kind == "evidence" and "Sees" in record.data["metric"]:
            found.append(store.load(record)["rows.value"].tolist())
    assert len(found) == 2
    return found


@pytest.mark.usefixtures("tramplers")
@pytest.mark.parametrize(
    "what",
    [
        "attribution",
        "x",
        "effect",
        "label",
        "target",  # the label itself, where the label is the target
    ],
)
def test_a_metric_sees_nothing_of_what_another_wrote(study, what, tmp_path):
    see = f"tramplers:Sees(what='{what}')"
    alone = seen(study(metrics=[see]), tmp_path / "alone")
    assert seen(study(metrics=[f"tramplers:Tramples(what='{what}')", see]), tmp_path / "both") == alone


@pytest.mark.usefixtures("tramplers")
@pytest.mark.parametrize("what", ["x", "effect"])
def test_nobody_sees_what_a_probe_wrote(study, what, tmp_path):
    see = f"tramplers:Sees(what='{what}')"
    alone = seen(study(metrics=[see]), tmp_path / "alone")
    assert seen(study(metrics=[f"tramplers:ProbeTramples(what='{what}')", see]), tmp_path / "both") == alone


@pytest.mark.usefixtures("tramplers")
@pytest.mark.parametrize("what", ["x", "baseline", "target"])
def test_a_method_sees_nothing_of_what_another_wrote(study, what, tmp_path):
    see = "tramplers:Sees(what='attribution')"
    alone = seen(study(methods=["input_x_gradient"], metrics=[see]), tmp_path / "alone")
    both = study(methods=[f"tramplers:TramplesQuery(what='{what}')", "input_x_gradient"], metrics=[see])
    store = Store.open(tmp_path / "both", sync=False)
    methods = {record.key: record.data["method"] for record in finish(both, store) if record.kind == "trial"}
    found = [record for record in store.records("evidence") if "input_x" in methods[record.data["trial"]]]
    assert sorted(store.load(record)["rows.value"].tolist() for record in found) == sorted(alone)


def test_a_metric_cannot_change_what_the_next_one_sees(study, store):
    records = finish(study(metrics=["yard:Tramples", "yard:Total"]), store)
    judged = [record for record in records if record.kind == "evidence"]
    values = {(record.data["metric"], record.data["trial"]): store.load(record)["rows.value"] for record in judged}
    for trial in {record.data["trial"] for record in judged}:
        assert values["yard:Tramples", trial].tolist() == values["yard:Total(k=1.0)", trial].tolist()


def test_a_method_that_reuses_its_answer_changes_no_answer_that_is_kept():
    """In memory, too."""
    buffer = torch.zeros(2, 3)

    def reuses(query):
        return buffer.copy_(query.x)

    found = make_trials(here(), Component("methods", instance=reuses), Question(), split_blocks(4, 2))
    memory = realised(*found)
    assert memory.arrays(found[0])["attribution"].tolist() == [[0.0, 0.5, 0.0], [1.0, 1.5, 0.0]]


def test_a_fit_works_on_copies():
    class Method:
        def fit(self, own):
            own.x.zero_()
            return {}

    setting = ask(mlp(), data(4, 6)).setting
    before = setting.reference.x.clone()
    fit(Method(), setting, Question(), Stream("fit"), Machine())
    assert torch.equal(setting.reference.x, before)
