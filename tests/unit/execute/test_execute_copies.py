"""Whoever writes into what it was given writes into a copy; what is cached is sound or made again."""

import pytest
import torch

from assay.artifacts.asking import fit
from assay.artifacts.cache import fetch
from assay.core.machine import Machine
from assay.core.question import Question
from assay.execute.inline import Inline
from assay.execute.plan import plan
from scenes import ask, data, mlp

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


def seen(study, store):
    """What the last metric saw, block by block."""
    found = []
    for record in Inline().run(plan(study, store).jobs, store):
        store.put(record)
        assert record.status == "ok", record.traceback
        if record.kind == "evidence" and "Sees" in record.data["metric"]:
            found.append(store.load(record)["rows.value"].tolist())
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
def test_a_metric_sees_nothing_of_what_another_wrote(study, store, what, tmp_path):
    from assay.store.store import Store

    see = f"tramplers:Sees(what='{what}')"
    alone = seen(study(metrics=[see]), store)
    other = Store.open(tmp_path / "other", sync=False)
    assert seen(study(metrics=[f"tramplers:Tramples(what='{what}')", see]), other) == alone


@pytest.mark.usefixtures("tramplers")
@pytest.mark.parametrize("what", ["x", "effect"])
def test_nobody_sees_what_a_probe_wrote(study, store, what, tmp_path):
    from assay.store.store import Store

    see = f"tramplers:Sees(what='{what}')"
    alone = seen(study(metrics=[see]), store)
    other = Store.open(tmp_path / "other", sync=False)
    assert seen(study(metrics=[f"tramplers:ProbeTramples(what='{what}')", see]), other) == alone


def test_a_fit_works_on_copies():
    class Method:
        def fit(self, own):
            own.x.zero_()
            return {}

    setting = ask(mlp(), data(4, 6)).setting
    before = setting.reference.x.clone()
    fit(Method(), setting, Question(), (), Machine())
    assert torch.equal(setting.reference.x, before)


def test_what_a_fit_draws_does_not_depend_on_the_evaluated_samples(study, store, tmp_path, monkeypatch):
    """Two data seeds share a fit: its key has none."""
    from assay.store.store import Store

    (tmp_path / "drawing.py").write_text(
        "import torch\nfrom dataclasses import dataclass\n\n"
        "@dataclass(frozen=True)\nclass Draws:\n"
        "    def fit(self, query):\n"
        "        return {'r': torch.rand(3, generator=query.generator('r')), 's': query.draws('s').uniform(2)}\n\n"
        "    def __call__(self, query):\n        return query.x * query.fitted['r']\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    digests = []
    for seed in (1, 2):
        own = Store.open(tmp_path / str(seed), sync=False)
        drawn = study(methods=["drawing:Draws"], data_seed=seed)
        records = list(Inline().run(plan(drawn, own).jobs, own))
        digests += [(record.key, record.arrays) for record in records if record.kind == "fit"]
    assert digests[0] == digests[1]


@pytest.mark.parametrize("damage", [b"", b"0" * 64, b"\xff\xfe"])
def test_a_damaged_checksum_only_costs_time(tmp_path, damage):
    import numpy as np

    key, counted = "ef" * 32, []

    def train():
        counted.append(1)
        return {"a": np.arange(3.0)}

    fetch(key, train)
    checksums = list((tmp_path / "cache" / "models").glob("*.sha256"))
    for path in checksums:
        path.write_bytes(damage)
    assert fetch(key, train)["a"].tolist() == [0, 1, 2]
    assert len(counted) == 1 + bool(checksums)
