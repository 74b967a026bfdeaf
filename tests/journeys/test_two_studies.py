"""Two studies in one store: the run that just finished is shown, whatever clocks say, and each can be asked for."""

import json
from dataclasses import replace

import pytest

import assay
from assay.cli.export import export
from assay.cli.options import RunOptions
from assay.cli.report import report
from assay.cli.run import execute
from assay.core.machine import Resources
from assay.engine.store.store import Store
from assay.studies.file import read


def study(name, **more):
    table = {
        "title": f"title of {name}",
        "environments": ["counted:Ward"],
        "methods": ["counted:Slow", "random_map"],
        "metrics": ["f1"],
        "samples": 4,
        "block": 4,
        "gallery": 0,
        **more,
    }
    return read(table, name)


@pytest.fixture
def store(tmp_path):
    """A store with a run of study a that says it ended in the year 9999: the clock has been set back since."""
    execute(study("a", metrics=["precision"]), tmp_path / "s", Resources(), RunOptions(as_json=True))
    found = Store.open(tmp_path / "s", create=False)
    (run,) = found.records("run")
    data = {**run.data, "run": "99990101T000000"}
    then = "9999-01-01T00:00:00+00:00"
    found.put(replace(run, key="later", data=data, origin={**run.origin, "time": then, "ended": then}))
    found.close()
    return tmp_path / "s"


def test_a_run_prints_its_own_table_and_ends_with_its_own_exit_code(store, capsys):
    required = [{"metric": "f1", "gamma": 0.9999, "require": ["random_map"], "signs": False}]
    for as_json in (True, False):
        capsys.readouterr()
        finished, code = execute(
            study("b", faithfulness=required), store, Resources(), RunOptions(as_json=as_json, full=True)
        )
        assert finished.run.data["study"]["name"] == "b"
        assert code == 1  # random_map is refuted
        out = capsys.readouterr().out
        if as_json:
            assert json.loads(out)["study"] == "b"
        else:
            assert "refuted" in out
            assert f"assay report {store} --study b" in out


def test_a_run_in_a_notebook_has_its_own_result(store, tmp_path):
    run = assay.run(study("b"), store)
    assert run.result.study.name == "b"
    assert set(run.samples()["study"]) == set(run.scores()["study"]) == {"b"}
    assert len(run.scores()) == len(list(run.result.scores()))
    assert "title of b" in run.report(tmp_path / "page").read_text(encoding="utf-8")


def test_report_and_export_show_each_study_and_report_lists_them(store, tmp_path, capsys):
    execute(study("b"), store, Resources(), RunOptions(as_json=True))
    for name in "ab":
        capsys.readouterr()
        report(store, study=name)
        page = (store / "report" / name / "index.html").read_text(encoding="utf-8")
        assert f"<h1>title of {name}</h1>" in page
        assert "Studies in this store: b, a" in capsys.readouterr().out
        export(store, tmp_path / "out.csv", study=name)
        assert (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()[1].startswith(f"{name},")
    capsys.readouterr()
    report(store, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["study"], found["studies"]) == ("b", ["b", "a"])  # the last one, though the clock was set back
