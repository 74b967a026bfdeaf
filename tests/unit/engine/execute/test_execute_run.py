"""Running a study here: a store that explains itself, and what two labels share."""

import pytest
import torch

from assay.core.errors import AssayError
from assay.core.machine import Machine
from assay.engine.artifacts.desk import Desk
from assay.engine.execute.grid import grid
from assay.engine.execute.inline import Inline
from assay.engine.execute.run import run
from assay.engine.store.store import Store
from assay.report.runs import latest_run
from yard_study import todo


def scores(study, root):
    store = Store.open(root, create=False)
    return [store.get(row.score.key) for row in grid(study).rows]


def test_a_run_leaves_a_store_that_explains_itself(study, tmp_path):
    asked, watched = study(gallery=1), []
    run(asked, tmp_path / "s", watch=lambda record, todo, store: watched.append(record))
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
    assert record == finished.run
    (series,) = record.data["trials"]
    (gallery,) = record.data["gallery"]
    named = [
        series["fit"],
        gallery["key"],
        *(block["trial"] for block in series["blocks"]),
        *series["evidence"]["yard:Total"],
    ]
    assert [store.get(key).kind for key in named] == ["fit", "samples", "trial", "trial", "evidence", "evidence"]


def test_a_run_that_is_repeated_computes_nothing(study, tmp_path):
    first, again = (run(study(gallery=1), tmp_path / "s") for _ in range(2))
    assert (len(first.plan.artifacts), again.plan.artifacts) == (6, ())
    left, right = Store.open(tmp_path / "s", create=False).records("run")
    assert left.data["rows"] == right.data["rows"]


def test_the_last_run_is_the_latest_also_when_the_clock_was_set_back(study, tmp_path, monkeypatch):
    with monkeypatch.context() as ahead:
        ahead.setattr("assay.engine.execute.run.origin", lambda: {"time": "2099-01-01T00:00:00+00:00"})
        run(study(), tmp_path / "s")
    for samples in (2, 1):
        last = run(study(samples=samples), tmp_path / "s")
        assert latest_run(Store.open(tmp_path / "s", create=False)) == last.run


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
    running = Inline(Desk(store, Machine(threads=before + 1))).run(artifacts, store)
    next(running)
    assert torch.get_num_threads() == before + 1
    running.close()
    assert torch.get_num_threads() == before
