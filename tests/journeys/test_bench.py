"""``assay bench`` races us and a peer on equal work; how fast is nobody's test."""

import json

import pytest
from typer.testing import CliRunner

from assay.bench import bench
from assay.cli.main import app


def run(*arguments):
    return CliRunner().invoke(app, ["bench", *arguments], catch_exceptions=True)


def test_both_sides_are_told_with_their_rate_and_the_difference_of_their_numbers(monkeypatch):
    from assay.bench import integrated_gradients as task
    from assay.bench.problems import mlp_query

    monkeypatch.setattr(task, "problems", lambda: [task._problem("MLP, 8 rows", mlp_query(8), None)])
    ours, theirs = json.loads(run("integrated_gradients", "--repeats", "1", "--json").stdout)
    assert (ours["who"], theirs["who"].split()[0]) == ("assay", "captum")
    assert ours["rate"] > 0 < theirs["rate"]
    assert float(ours["difference"].split()[0]) < 1e-6


def test_an_unknown_task_is_a_usage_error_that_names_the_known_ones():
    done = run("integrated_gradient")
    assert "Did you mean 'integrated_gradients'?" in str(done.exception)


@pytest.mark.parametrize("task", bench.TASKS)
def test_every_task_is_a_file_with_problems(task):
    assert callable(__import__(f"assay.bench.{task}", fromlist=["problems"]).problems)


def test_a_peer_that_is_not_installed_is_said_to_be_an_extra(monkeypatch):
    from assay.bench.problems import peer
    from assay.core.errors import AssayError

    with pytest.raises(AssayError, match=r"needs nobody: pip install 'assay-xai\[peers\]'"):
        peer("a_peer_that_nobody_has", "nobody")


def test_tasks_with_and_without_a_peer_are_printed(monkeypatch):
    from assay.bench import extremal_perturbation as cost
    from assay.bench import integrated_gradients as race
    from assay.bench.problems import mlp_query

    monkeypatch.setattr(race, "problems", lambda: [race._problem("MLP, 8 rows", mlp_query(8), None)])
    told = run("integrated_gradients", "--repeats", "1").stdout
    assert "captum" in told
    assert "largest difference" in told
    monkeypatch.setattr(cost, "problems", lambda: [cost.Cost(iterations=1, images=1)])
    told = run("extremal_perturbation", "--repeats", "1").stdout
    assert "making masks alone" in told
    assert "without making masks" in told
