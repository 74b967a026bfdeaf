"""Which run of a store is shown."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import StoreError
from assay.core.records import Record
from assay.engine.store.store import Store
from assay.report.export import samples, write
from assay.report.page import page
from assay.report.runs import latest_run, studies


def add(store: Store, run_id: str, ended: str, study: str = "tricky") -> Record:
    """Another run with the rows of the first one."""
    run = latest_run(store, "tricky")
    data: dict[str, Any] = deepcopy(dict(run.data)) | {"run": run_id}
    data["study"] |= {"name": study, "title": f"title of {study}"}
    store.put(replace(run, key=run_id, data=data, origin={**run.origin, "time": ended}))
    added = store.get(run_id)
    assert added is not None
    return added


def test_the_run_that_ended_last_is_the_latest_and_not_the_one_that_started_last(fresh: Store) -> None:
    add(fresh, "20260202-late", "2026-02-02T00:00:01+00:00")
    add(fresh, "20260201-long", "2026-02-02T09:00:00+00:00")
    assert latest_run(fresh).data["run"] == "20260201-long"


def test_each_study_in_a_store_can_be_asked_for(fresh: Store, tmp_path: Path) -> None:
    add(fresh, "20260202-b", "2026-02-02T00:00:00+00:00", "folder/b")
    add(fresh, "20260203-b", "2026-02-03T00:00:00+00:00", "folder/b")
    assert studies(fresh) == ["folder/b", "tricky"]
    for study in studies(fresh):
        run = latest_run(fresh, study)
        assert run.data["study"]["name"] == study
        assert set(samples(fresh, run)["study"]) == {study}
        html = page(fresh, tmp_path / "r", run).read_text(encoding="utf-8")
        assert ("<h1>title of folder/b</h1>" in html) == (study == "folder/b")
        assert ("2 runs of this study; this is the latest" in html) == (study == "folder/b")
        other = {"folder/b": "tricky", "tricky": "folder/b"}[study]
        assert f"other studies too: {other}" in html
    write(fresh, tmp_path / "b.md", latest_run(fresh, "folder/b"))
    assert "title of folder/b" in (tmp_path / "b.md").read_text(encoding="utf-8")


def test_an_older_run_says_that_it_is_not_the_latest(fresh: Store, tmp_path: Path) -> None:
    first = latest_run(fresh)
    add(fresh, "20260203", "2026-02-03T00:00:00+00:00")
    html = page(fresh, tmp_path / "r", first).read_text(encoding="utf-8")
    assert "2 runs of this study; this is not the latest" in html


def test_a_study_that_is_not_there_is_suggested_and_all_are_listed(fresh: Store) -> None:
    with pytest.raises(StoreError, match=r"no finished run of 'trick'. Did you mean 'tricky'\? It has: tricky\."):
        latest_run(fresh, "trick")
