"""The oracles of the methods bite: they reject wrong versions of every method."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from assay.catalogue.registry import card
from assay.catalogue.sources import source_files
from contracts.mutants.mutant import Mutant, path_of
from contracts.mutants.mutants import METHOD_MUTANTS as MUTANTS
from contracts.mutants.planted import planted

HERE = Path(__file__).parent
TESTS = HERE.parents[1]
ORACLES = TESTS / "oracles" / "methods"
# The oracle of a method is test_<method>.py, or this one.
SHARED = {
    "fixed_map": "random_maps",
    "gradient": "gradients",
    "input_x_gradient": "gradients",
    "random_map": "random_maps",
    "random_shifted": "random_maps",
    "random_squared": "random_maps",
}
# Neither tells what a method computes: they hold several of them together.
OF_MANY = {"and_or", "attention_of_others"}
METHODS = sorted({mutant.component for mutant in MUTANTS})
# A run within a run: quiet, and without what reaches beyond it (signals, garbage collections).
OPTIONS = [
    *("-x", "-o", "addopts=", "--import-mode=importlib", "--rootdir", str(TESTS.parent)),
    *("-o", "timeout=0"),  # the outer run's counts
    *(f"-pno:{plugin}" for plugin in ("terminal", "cacheprovider", "faulthandler", "unraisableexception")),
]


class Failures:
    """What tests of the inner run said when they failed, and what kept it from running."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.errors: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.errors.append(str(report.longrepr))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.when == "call":
            self.texts.append(report.longreprtext)


def survives(mutant: Mutant) -> bool:
    """True when all tests of the method's oracle pass; an oracle that cannot run, or does not end, is an error."""
    failures = Failures()
    with planted(mutant, "oracles.methods", "tests.oracles.methods"):
        oracle = oracle_of(mutant.component)
        code = pytest.main([*OPTIONS, str(oracle)], plugins=[failures])
    if code != pytest.ExitCode.OK and not failures.texts:
        raise RuntimeError(f"{mutant}: {oracle.name} cannot run ({code!r}). {' '.join(failures.errors)}")
    if any("from pytest-timeout" in text for text in failures.texts):  # the outer run's alarm
        raise RuntimeError(f"{mutant}: {oracle.name} does not end")
    return not failures.texts


def oracle_of(method: str) -> Path:
    return ORACLES / f"test_{SHARED.get(method, method)}.py"


def with_files(name: str) -> object:
    """A method, and the files that decide which of its wrong versions are rejected."""
    helpers = [path for path in ORACLES.glob("*.py") if not path.stem.startswith("test_")]
    here = [oracle_of(name), *helpers, *HERE.glob("*.py"), *(HERE / "methods").glob("*.py")]
    source = path_of(card("methods", name).target.partition(":")[0])
    return pytest.param(name, marks=pytest.mark.rests_on([*source_files(source), *sorted(here)]))


every_method = pytest.mark.parametrize("name", [*map(with_files, METHODS)])


def wrong_versions(name: str) -> list[Mutant]:
    return [mutant for mutant in MUTANTS if mutant.component == name]


@every_method
def test_wrong_versions_of_a_method_are_rejected(name: str) -> None:
    assert [mutant.wrong for mutant in wrong_versions(name) if survives(mutant)] == []


@every_method
def test_a_method_that_is_planted_unchanged_survives(name: str) -> None:
    """Or planting, and not what is wrong, would be what the oracle rejects."""
    mutant = wrong_versions(name)[0]
    assert survives(replace(mutant, new=mutant.old))


def test_every_method_with_an_oracle_has_wrong_versions() -> None:
    count = Counter(mutant.component for mutant in MUTANTS)
    oracles = {path.stem.removeprefix("test_") for path in ORACLES.glob("test_*.py")}
    assert {SHARED.get(name, name) for name in count} == oracles - OF_MANY
    assert set(SHARED) <= set(count)
    assert min(count.values()) >= 2
    assert len({replace(mutant, wrong="") for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.timeout(300)
def test_an_oracle_that_cannot_run_or_does_not_end_is_no_kill() -> None:
    mutant = wrong_versions("gradient")[0]
    with pytest.raises(RuntimeError, match="cannot run"):
        survives(replace(mutant, component="no_such_method"))
    with pytest.raises(RuntimeError, match="does not end"):
        survives(replace(mutant, new="__import__('signal').raise_signal(14)"))  # the alarm of the mark above
