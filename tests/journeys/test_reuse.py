"""Nothing is computed twice: what is in the store is reused, whatever is added to the study."""

import numpy as np
import pytest

from assay.engine.store.store import Store

IN_TWO_OTHERS = pytest.param(2, marks=pytest.mark.full)
WORKERS = (0, IN_TWO_OTHERS)  # 0: in this process


@pytest.mark.parametrize("workers", [0, 1, IN_TWO_OTHERS])
def test_adding_a_metric_recomputes_no_attribution(ward, finish, tmp_path, diary, workers):
    finish(ward(), tmp_path / "s", workers)
    assert diary.kinds()["attribute"] == 4
    finish(ward(metrics=["counted:Probes", "counted:Probes(name='more')", "f1"]), tmp_path / "s", workers)
    done = diary.kinds()
    assert (done["attribute"], done["train"], done["probe"], done["judge"]) == (0, 0, 4, 4)


@pytest.mark.parametrize("workers", WORKERS)
def test_adding_a_method_recomputes_no_probe_and_trains_no_model(ward, finish, tmp_path, diary, workers):
    finish(ward(seeds=(0, 1)), tmp_path / "s", workers)
    first = diary.kinds()
    assert (first["train"], first["probe"], first["attribute"]) == (2, 8, 8)
    finish(
        ward(methods=["counted:Slow", "counted:Slow(name='b')", "counted:Fits"], seeds=(0, 1)), tmp_path / "s", workers
    )
    done = diary.kinds()
    assert (done["train"], done["probe"], done["attribute"], done["fit"]) == (0, 0, 8, 2)


@pytest.mark.parametrize("workers", WORKERS)
def test_a_limited_run_followed_by_the_full_one_recomputes_nothing(ward, finish, tmp_path, diary, workers):
    study = ward(samples=16)
    finish(study.narrowed(8, None), tmp_path / "s", workers)
    limited = diary.new()
    full = finish(study, tmp_path / "s", workers)
    rest = diary.new()
    assert sum(count for line, count in limited.items() if line.startswith("attribute")) == 2
    assert not {line for line in limited if line.startswith(("attribute", "train", "probe"))} & set(rest)
    scores = lambda dump: [row for row in dump if row["kind"] != "score"]  # noqa: E731  the limited run's own score stays
    assert scores(full) == scores(finish(study, tmp_path / "fresh"))


def test_running_a_finished_study_again_calls_no_model(ward, finish, tmp_path, diary):
    before = finish(ward(), tmp_path / "s")
    diary.new()
    assert finish(ward(), tmp_path / "s") == before
    assert not diary.new()


def test_a_model_trained_for_one_store_is_not_trained_again_for_another(ward, finish, tmp_path, diary):
    finish(ward(), tmp_path / "a")
    assert diary.kinds()["train"] == 1
    finish(ward(), tmp_path / "b")
    assert diary.kinds()["train"] == 0


def test_one_and_two_workers_and_none_give_equal_stores(ward, finish, tmp_path):
    study = ward(methods=["counted:Slow", "counted:Fits", "random_map", "integrated_gradients"], seeds=(0, 1))
    dumps = [finish(study, tmp_path / str(workers), workers) for workers in (0, 1, 2)]
    assert dumps[0] == dumps[1] == dumps[2]
    assert {row["kind"] for row in dumps[0]} == {"model", "fit", "probe", "trial", "evidence", "score"}


def test_a_different_parameter_is_a_different_trial(ward, finish, tmp_path, diary):
    finish(ward(methods=["integrated_gradients(steps=4)"]), tmp_path / "s")
    diary.new()
    finish(ward(methods=["integrated_gradients(steps=5)"]), tmp_path / "s")
    assert diary.kinds()["call"] > 0


def test_precomputed_arrays_are_known_by_their_content(ward, finish, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = ward(methods=["precomputed(path='maps.npz')"], metrics=["f1"])
    values = []
    for level in (1.0, 2.0, 1.0):
        maps = np.zeros((16, 5), dtype=np.float32)
        maps[:, 0], maps[:, 1] = level, 1.0
        np.savez("maps.npz", attribution=maps)
        finish(study, tmp_path / "s")
        values.append(len(Store.open(tmp_path / "s").records("trial")))
    assert values == [4, 8, 8]


@pytest.mark.parametrize("kind", ["trial", "evidence", "model", "probe"])
def test_a_damaged_array_is_computed_again(ward, finish, tmp_path, kind):
    """At the latest by the run after the one that read it."""
    finish(ward(), tmp_path / "s")
    more = ward(methods=["counted:Slow", "random_map"], metrics=["counted:Probes", "f1"], samples=12)
    sound = {result["key"]: result for result in finish(more, tmp_path / "sound")}
    store = Store.open(tmp_path / "s", create=False)
    record = next(record for record in store.records(kind) if record.key in sound)
    store.arrays.path(record.arrays).write_bytes(b"torn")
    for _ in range(2):
        again = finish(more, tmp_path / "s")
    assert {result["key"]: result for result in again if result["key"] in sound} == sound
