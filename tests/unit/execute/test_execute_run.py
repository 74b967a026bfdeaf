"""Running a study here: a store that explains itself, a forecast, and what two labels share."""

import pytest
import torch

from assay.artifacts.desk import Desk
from assay.core.errors import AssayError
from assay.core.machine import Machine
from assay.core.records import Record
from assay.execute.forecast import forecast
from assay.execute.grid import grid
from assay.execute.inline import Inline
from assay.execute.queue import Queue
from assay.execute.run import run
from assay.store.store import Store
from yard_study import todo


def scores(study, root):
    store = Store.open(root, create=False)
    return [store.get(row.score.key) for row in grid(study).rows]


def test_a_run_leaves_a_store_that_explains_itself(study, tmp_path):
    asked, watched = study(gallery=1), []
    run(asked, tmp_path / "s", watch=lambda record, todo: watched.append(record))
    store = Store.open(tmp_path / "s", create=False)
    assert watched[0] is None
    assert [record.kind for record in watched[1:]] == ["samples", "trial", "evidence", "trial", "evidence", "score"]
    (record,) = store.records("run")
    (row,) = grid(asked).rows
    assert record.data["rows"] == [row.to_json()]
    assert store.get(row.score.key).data["value"] == 3.5
    assert set(record.data["cards"]) == {"environments/yard:Meadow", "methods/yard:Copy", "metrics/yard:Total"}


def test_a_run_says_under_which_keys_everything_is(study, tmp_path):
    finished = run(study(gallery=1, methods=["yard:Fits"]), tmp_path / "s")
    store = Store.open(tmp_path / "s", create=False)
    (record,) = store.records("run")
    assert record.data["run"] == finished.run
    (cell,) = record.data["trials"]
    (gallery,) = record.data["gallery"]
    named = [
        cell["fit"],
        gallery["key"],
        *(block["trial"] for block in cell["blocks"]),
        *cell["evidence"]["yard:Total"],
    ]
    assert [store.get(key).kind for key in named] == ["fit", "samples", "trial", "trial", "evidence", "evidence"]


def test_a_run_that_is_repeated_computes_nothing(study, tmp_path):
    first, again = (run(study(gallery=1), tmp_path / "s") for _ in range(2))
    assert (len(first.plan.artifacts), again.plan.artifacts) == (6, ())
    left, right = Store.open(tmp_path / "s", create=False).records("run")
    assert left.data["rows"] == right.data["rows"]


def test_two_labels_of_one_environment_have_the_scores_of_both(study, tmp_path):
    double = study(
        environments=[{"use": "yard:Meadow", "label": "A"}, {"use": "yard:Meadow", "label": "B"}],
        metrics=[{"use": "yard:Total", "only": ["A"]}, {"use": "yard:Picky", "only": ["B"]}],
    )
    run(double, tmp_path / "s")
    assert [score.status for score in scores(double, tmp_path / "s")] == ["ok", "ok"]


def test_a_study_of_no_samples_is_refused(study):
    with pytest.raises(AssayError, match="a limit of 0 samples leaves nothing to evaluate: give at least 1"):
        study().narrowed(0, None)


def test_threads_are_given_back(study, store):
    before = torch.get_num_threads()
    artifacts = todo(study(), store).artifacts
    running = Inline(Desk(store, Machine(threads=before + 1))).run(Queue(artifacts, store))
    next(running)
    assert torch.get_num_threads() == before + 1
    running.close()
    assert torch.get_num_threads() == before


# The forecast.


def test_a_forecast_of_a_store_that_is_not_there_counts_and_writes_nothing(study, tmp_path):
    found = forecast(study(environments=["yard:Orchard"], gallery=1), tmp_path / "s", "float32")
    jobs = {"model": 1, "samples": 1, "trial": 2, "evidence": 2, "score": 1}
    assert found == {"jobs": jobs, "trials": 2, "reused": 0, "seconds": None}
    assert not (tmp_path / "s").exists()


def test_a_forecast_adds_up_the_times_of_what_is_known(study, store):
    artifacts = todo(study(), store).artifacts
    trial, evidence = (next(found for found in artifacts if found.kind == kind) for kind in ("trial", "evidence"))
    store.put(Record("trial", trial.key, "ok", cost={"cpu": 3.0, "wall": 9.0}))
    store.put(Record("evidence", evidence.key, "ok", cost={"cpu": 1.0, "wall": 9.0}))
    store.put(Record("trial", "x", "ok", cost={"cpu": 5.0}))
    store.put(Record("trial", "y", "ok", cost={"cpu": 100.0}))
    found = forecast(study(samples=6), store.root, "float32")
    jobs = {"trial": 2, "evidence": 2, "score": 1}
    assert found == {"jobs": jobs, "trials": 3, "reused": 1, "seconds": 2 * (5.0 + 1.0)}  # medians
    assert forecast(study(samples=2), store.root, "float32")["seconds"] == 0.0  # no score was timed


def test_a_forecast_of_a_finished_study_is_nothing(study, tmp_path):
    run(study(), tmp_path / "s")
    assert forecast(study(), tmp_path / "s", "float32") == {"jobs": {}, "trials": 2, "reused": 2, "seconds": 0}
    assert forecast(study(), tmp_path / "s", "float64")["jobs"] == {"trial": 2, "evidence": 2, "score": 1}
