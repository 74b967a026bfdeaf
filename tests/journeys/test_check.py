"""``assay check``: the contract suite as a command, for our components and those of others."""

import json
import subprocess
import sys
from functools import partial

import pytest


@pytest.fixture
def check(assay):
    return partial(assay, "check")


def process(*arguments):
    """The same in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", "assay.cli.main", "check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=200)


def test_a_method_of_ours_keeps_every_contract_and_says_where_it_does_not_apply(check):
    done = check("gradient", "--json")
    certificate = json.loads(done.stdout)
    assert (done.returncode, certificate["kind"], certificate["passed"]) == (0, "methods", True)
    reason = "needs gradients, and this model has none"
    assert {place["place"]: place["reason"] for place in certificate["places"] if place["reason"]} == {
        "gradient at tabular_rule(model='forest')": reason,
        "gradient at tabular_rule(model='boosted')": reason,
    }


def test_the_contract_that_a_foreign_method_breaks_is_printed(check):
    done = check("counted:Bad")
    assert done.returncode == 1
    assert "finite: returned NaN" in done.stdout
    assert "counted:Bad has faults." in done.stdout


def test_a_metric_and_an_environment_are_recognised_by_what_they_take(check):
    assert "(metric)" in check("counted:Probes").stdout
    assert "(environment)" in check("counted:Ward").stdout


THEIRS = """
import numpy as np


class Adds:
    \"\"\"Does the map add up to the answer, as if that were a whole number?\"\"\"

    score_direction = "higher"

    def __init__(self, channels=3):
        self.channels = channels

    def __call__(self, model, x_batch, y_batch, a_batch, batch_size=64, **_):
        import torch

        assert x_batch.ndim == 2 or x_batch.shape[1] <= self.channels, "too many channels"
        x = torch.tensor(x_batch)
        answers = (model(x) - model(0 * x)).numpy()[np.arange(len(y_batch)), y_batch]
        return [float(row.sum() == round(answer)) for row, answer in zip(a_batch, answers)]


def within(model, x, y, a):
    answers = (model(x) - model(0 * x)).gather(1, y[:, None])[:, 0]
    return ((a.flatten(1).sum(dim=1) - answers).abs() < 1e-3).float()
"""


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    (tmp_path / "theirs.py").write_text(THEIRS)
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("theirs", None)


def test_a_foreign_metric_gets_a_certificate_with_the_smallest_witness(check, theirs):
    done = check("theirs:Adds(channels=1)", "--ideal", "1", "--literal", "theirs:within", "--json")
    certificate = json.loads(done.stdout)
    summary = [certificate[key] for key in ("kind", "passed", "package")]
    assert (done.returncode, *summary) == (1, "metrics", False, None)
    status = {part["contract"]: part["status"] for part in certificate["contracts"]}
    assert status["answers"] == status["exact_on_linear"] == status["literal"] == "fault"
    assert status["no_memory"] == "pass"
    assert status["invariances"] == "not applicable"
    faults = {fault["contract"]: fault for part in certificate["contracts"] for fault in part["faults"]}
    assert faults["answers"]["message"] == "raised AssertionError: too many channels"
    assert faults["exact_on_linear"]["message"].endswith("where numbers are tenths, which floats round")
    assert faults["exact_on_linear"]["witness"] == (
        "1 sample of 3 features; w = [0.2, 0.1, -0.2]; x = [0.3, -0.4, -0.1]; attribution = [0.06, -0.04, 0.02]; "
        "returned [0] instead of 1"
    )
    assert certificate["assay"]


def test_a_right_foreign_metric_passes_and_contracts_that_do_not_apply_are_listed(theirs):
    done = process("theirs:within", "--higher", "--ideal", "1", "--skip", "batch_size")
    assert done.returncode == 0, done.stdout
    assert "pass  exact_on_linear" in done.stdout
    assert "n/a   literal: no literal version is given" in done.stdout
    assert "theirs:within keeps every contract." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gradient", "--ideal", "1"), "only for metrics"),
        (("f1", "--invariant", "scal"), "Did you mean 'scale'?"),
        (("f1", "--skip", "every_sampl"), "Did you mean 'every_sample'?"),
        (("f1", "--literal", "math:sqrt"), "its call must take model, x, y and a"),
    ],
)
def test_an_option_that_makes_no_sense_is_a_usage_error(check, arguments, message):
    done = check(*arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_an_unknown_name_is_a_usage_error():
    done = process("gradeint")
    assert done.returncode == 2
    assert "Did you mean 'gradient'?" in done.stderr


BLIND = """
import torch


def sizes(model, x, y, a):
    return a.flatten(1).abs().amax(dim=1)


def order(model, x, y, a):
    rank = a.flatten(1).argsort(dim=1, stable=True).argsort(dim=1).double()
    return (rank * torch.arange(rank.shape[1])).sum(dim=1)


def constant(model, x, y, a):
    return torch.ones(len(x))
"""


@pytest.mark.parametrize(
    ("target", "note"),
    [
        ("damage_of_theirs:order", "partial Remove and Introduce; only where they change the order of features"),
        ("damage_of_theirs:constant", "does not notice that a map is damaged: constant, random, partial"),
        ("deletion", "only where they change the order of features"),
    ],
)
def test_whether_a_metric_notices_damaged_maps_is_a_note_and_no_fault(check, tmp_path, monkeypatch, target, note):
    (tmp_path / "damage_of_theirs.py").write_text(BLIND)
    monkeypatch.chdir(tmp_path)
    certificate = json.loads(check(target, "--json").stdout)
    notes = [text for place in certificate["places"] for text in place["notes"]]
    assert len(notes) == 1
    assert note in notes[0]
    if target == "deletion":
        assert certificate["passed"]
    printed = check(target).stdout
    assert f"note  {notes[0]}" in " ".join(printed.replace("\n", " ").split()).replace("note ", "note  ")
    sys.modules.pop("damage_of_theirs", None)
