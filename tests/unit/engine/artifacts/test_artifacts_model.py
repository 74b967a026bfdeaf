"""A model is trained once, kept as arrays, and found again in the cache."""

import pytest

from assay.core.machine import Machine
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.model import make_place
from assay.engine.artifacts.samples import SamplesArtifact
from assay.engine.execute.inline import MemoryEngine
from assay.engine.store.store import Store
from yard_study import finish, here, kinds, realised


def test_a_model_is_trained_and_then_used(study, store, yard):
    records = finish(study(environments=["yard:Orchard"], methods=["gradient"], seeds=[3], data_seed=0), store)
    assert yard.trained == [3]
    model, trial = records[0], records[1]
    assert (model.kind, model.data["seed"]) == ("model", 3)
    assert store.load(model)["weight"].tolist() == [[4.0, 5.0, 6.0], [2.0, 3.0, 4.0]]
    assert store.load(trial)["attribution"].tolist() == [[4.0, 5.0, 6.0], [2.0, 3.0, 4.0]]  # targets 0 and 1


def test_only_what_is_trained_is_stored():
    trained, made = here("yard:Orchard").model, here("yard:Meadow").model
    assert trained.as_need == (trained,)
    assert made.as_need == ()
    assert SamplesArtifact(here("yard:Meadow"), (0,)).needs == ()


def test_a_model_that_failed_fails_what_needs_it_and_says_so(study, store):
    records = finish(study(environments=["yard:Orchard(fails=True)"], methods=["yard:Fits"], gallery=1), store)
    assert [kind for kind, _ in kinds(records)] == [
        *("model", "samples", "fit"),
        *("trial", "evidence", "trial", "evidence", "score"),
    ]
    assert {status for _, status in kinds(records)} == {"failed"}
    reason = "its model failed: RuntimeError: no fruit this year"
    assert {record.reason for record in records[1:]} == {reason}
    assert all("no fruit this year" in record.traceback for record in records)


def test_a_model_from_the_cache_is_the_model_that_was_trained(study, tmp_path, yard):
    orchard = study(environments=["yard:Orchard"], metrics=["yard:Probes"])
    stores = [Store.open(tmp_path / name, sync=False) for name in ("first", "second")]
    scores = [finish(orchard, store)[-1] for store in stores]
    assert yard.trained == [0]
    assert scores[0].kind == "score"
    assert scores[0].result == scores[1].result
    assert stores[0].dump() == stores[1].dump()


def test_an_environment_made_by_hand_is_trained_and_not_cached(tmp_path, yard):
    model = make_place(Component("environments", instance=yard.Orchard()), 5, 0).model
    assert realised(model).arrays(model)["weight"].shape == (2, 3)
    assert yard.trained == [5]
    assert not (tmp_path / "cache").exists()


def test_training_moves_no_global_stream(yard, monkeypatch):
    import torch

    monkeypatch.setattr(yard.Orchard, "train", lambda self, seed: {"weight": torch.rand(2, 3)})
    model = make_place(Component("environments", instance=yard.Orchard()), 0, 0).model
    before = torch.get_rng_state()
    assert realised(model).arrays(model)["weight"].std() > 0
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("raises", [True, False])
def test_a_failure_is_a_record_or_an_exception(raises):
    model, memory = here("yard:Orchard(fails=True)").model, MemoryEngine(Machine(), raises)
    if raises:
        with pytest.raises(RuntimeError, match="no fruit"):
            memory.realise([model])
    else:
        memory.realise([model])
        assert memory[model].status == "failed"


def test_what_is_realised_already_is_not_computed_again(yard):
    model, memory = make_place(Component("environments", instance=yard.Orchard()), 0, 0).model, MemoryEngine(Machine())
    memory.realise([model])
    memory.realise([model])
    assert yard.trained == [0]
