"""``make bench`` races us and a peer on equal work; how fast is nobody's test."""

import json
from importlib import import_module

import pytest

from assay.core.errors import AssayError
from benchmarks import extremal_perturbation, integrated_gradients
from benchmarks.__main__ import TASKS, main
from benchmarks.problems import mlp_query, peer


@pytest.fixture
def small_race(monkeypatch):
    race = integrated_gradients._problem("MLP, 8 rows", mlp_query(8), None)
    monkeypatch.setattr(integrated_gradients, "problems", lambda: [race])


def test_both_sides_are_told_with_their_rate_and_the_difference_of_their_numbers(small_race, capsys):
    main(["integrated_gradients", "--repeats", "1", "--json"])
    ours, theirs = json.loads(capsys.readouterr().out)
    assert (ours["who"], theirs["who"].split()[0]) == ("assay", "captum")
    assert ours["rate"] > 0 < theirs["rate"]
    assert float(ours["difference"].split()[0]) < 1e-6


def test_an_unknown_task_is_a_usage_error(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["integrated_gradient"])
    assert "Did you mean 'integrated_gradients'?" in capsys.readouterr().err


@pytest.mark.parametrize("task", TASKS)
def test_every_task_is_a_file_with_problems(task):
    assert callable(import_module(f"benchmarks.{task}").problems)


def test_a_peer_that_is_not_installed_is_said_to_be_an_extra():
    with pytest.raises(AssayError, match=r"needs nobody: pip install 'assay-xai\[peers\]'"):
        peer("a_peer_that_nobody_has", "nobody")


def test_a_peer_outside_the_extra_says_how_to_install_it():
    with pytest.raises(AssayError, match=r"needs nobody: pip install 'nobody==1'"):
        peer("a_peer_that_nobody_has", "nobody", "'nobody==1'")


def test_a_task_whose_peer_is_absent_is_skipped(monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.__main__.TASKS", ("pixel_flipping", "kernel_shap_shapiq"))
    monkeypatch.setattr("benchmarks.problems.import_module", _absent)
    main(["--json"])
    told = capsys.readouterr()
    assert json.loads(told.out) == []
    assert "skipped pixel_flipping: this benchmark needs quantus: pip install 'quantus==0.6.0'" in told.err
    assert "skipped kernel_shap_shapiq: this benchmark needs shapiq: pip install shapiq" in told.err


def _absent(module):
    raise ImportError(module)


def test_tasks_with_and_without_a_peer_are_printed(small_race, monkeypatch, capsys):
    cost = extremal_perturbation.Cost(iterations=1, images=1)
    monkeypatch.setattr(extremal_perturbation, "problems", lambda: [cost])
    main(["integrated_gradients", "extremal_perturbation", "--repeats", "1"])
    told = capsys.readouterr().out
    assert "captum" in told
    assert "largest difference" in told
    assert "making masks alone" in told
    assert "without making masks" in told
