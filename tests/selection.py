"""Which tests a run leaves out: slow ones whose subject is as it was, and with ``--changed`` what no change can break.

- ``@pytest.mark.rests_on(files)``: a slow test that need not run again while the code of these files is what it was
  when the test last passed with ``--record``. While it is, the test is ``full``.
- ``--changed BASE``: only tests that the files changed since a commit can break, nearest first: those that import a
  changed file, then those that import a file that imports it, and so on, until their times add up to ``SECONDS``. A
  test with a component among its parameters is about that component and what it imports. A comment is no change.
"""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from assay.catalogue import sources
from assay.catalogue.registry import KINDS, aliases, catalogue
from assay.core.errors import SpecError
from assay.core.spec import Spec

ROOT = Path(__file__).parent.parent
RECORD = Path(__file__).with_name("passed.json")
TIMES = "assay/seconds"  # in pytest's cache
SECONDS = 100  # of both processes together
UNKNOWN = {"journeys": 2.0, "reliability": 10.0}  # seconds of a test that has not run here yet, by folder
BESIDE = {  # what reads files that are no code
    "src/assay/catalogue": ("tests/contracts/test_catalogue.py", "tests/unit/catalogue"),
    "src/assay/studies": ("tests/unit/studies", "tests/journeys/test_experiments.py"),
    "src/assay/report/templates": ("tests/unit/report",),
    "src/assay/metrics": ("tests/unit/metrics",),
    "docs": ("tests/journeys/test_pages.py", "tests/journeys/test_verified.py"),
    "README.md": ("tests/journeys/test_pages.py",),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("assay")
    group.addoption("--changed", metavar="BASE", help="run what the files changed since a commit can break")
    group.addoption("--record", action="store_true", help=f"note in {RECORD.name} what passed, for rests_on")


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    passed = recorded()
    for item in items:
        if mark := item.get_closest_marker("rests_on"):
            digest = code_digest(mark.args[0])
            item.user_properties.append(("rests_on", digest))  # it travels with the report to where that is recorded
            if passed.get(item.nodeid) == digest:
                item.add_marker(pytest.mark.full)
    if base := config.getoption("--changed"):
        chosen = set(_chosen(items, set(changed_files(base)), known_times(config)))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
        items[:] = [item for item in items if item.nodeid in chosen]


class Notes:
    """Times of tests, and what passed; collected where reports arrive, also those of other processes."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.seconds: dict[str, float] = {}
        self.passed: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = round(self.seconds.get(report.nodeid, 0.0) + report.duration, 2)
        if report.when == "call" and report.passed:
            digests = [str(value) for name, value in report.user_properties if name == "rests_on"]
            self.passed |= dict.fromkeys([report.nodeid], digests[0]) if digests else {}

    def pytest_sessionfinish(self) -> None:
        if self.config.pluginmanager.hasplugin("cacheprovider"):
            self.config.cache.set(TIMES, {**known_times(self.config), **self.seconds})
        if self.config.getoption("--record"):
            text = json.dumps({**recorded(), **self.passed}, indent=1, sort_keys=True)
            RECORD.write_text(f"{text}\n", encoding="utf-8")


def recorded() -> dict[str, str]:
    """By test: the digest of the code it rests on, when it last passed."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}


def known_times(config: pytest.Config) -> dict[str, float]:
    return config.cache.get(TIMES, {}) if config.pluginmanager.hasplugin("cacheprovider") else {}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "rests_on(files): slow; full while these files are as when it last passed")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Notes(config))


def code_digest(files: Iterable[Path]) -> str:
    """Of the code of files, in their order, without comments."""
    return hashlib.sha256(b"".join(map(_file_digest, files))).hexdigest()[:16]


@cache
def _file_digest(file: Path) -> bytes:
    return sources.code_digest(file.read_bytes())


def changed_files(base: str) -> Iterator[Path]:
    """Files whose code is not what it was in a commit; other files where their bytes differ."""
    listed = [*_git("diff", "--name-only", base), *_git("ls-files", "--others", "--exclude-standard")]
    for name in dict.fromkeys(listed):
        path = ROOT / name
        before = subprocess.run(["git", "show", f"{base}:{name}"], cwd=ROOT, capture_output=True)
        now = path.read_bytes() if path.is_file() else b""
        digest = sources.code_digest if path.suffix == ".py" else bytes
        if before.returncode or not path.is_file() or digest(before.stdout) != digest(now):
            yield path


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True, text=True).stdout.splitlines()


def _chosen(items: list[pytest.Item], changed: set[Path], times: dict[str, float]) -> Iterator[str]:
    """Node ids, nearest to a change first, as long as there is time; the quick ones first among equally near ones."""
    places = tuple(place for folder, users in BESIDE.items() for place in users if _any_within(changed, folder))
    known = {
        item.nodeid: times.get(item.nodeid, UNKNOWN.get(item.path.relative_to(ROOT).parts[1], 0.1)) for item in items
    }
    steps = {item.nodeid: 0 if item.nodeid.startswith(places) else _distance(item, changed) for item in items}
    full = {item.nodeid for item in items if item.get_closest_marker("full")}
    reached = sorted((step, known[id], id) for id, step in steps.items() if step is not None and id not in full)
    spent = 0.0
    for _, seconds, id in reached:
        spent += seconds
        if spent <= SECONDS:
            yield id


def _any_within(changed: set[Path], folder: str) -> bool:
    return any(path.suffix != ".py" and path.is_relative_to(ROOT / folder) for path in changed)


def _distance(item: pytest.Item, changed: set[Path]) -> int | None:
    """How many imports lie between a test and a changed file; None where none leads there."""
    if item.path in changed:
        return 0
    if components := list(_components(item)):
        found = [steps for file in components for steps in _steps(file, frozenset(changed))]
        return min(found, default=None)
    return min(_steps(item.path, frozenset(changed)), default=None)


def _components(item: pytest.Item) -> Iterator[Path]:
    """The files of the components that a test has among its parameters."""
    parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    for value in parameters.values():
        yield from _component_files(value) if isinstance(value, str) else ()


@cache
def _component_files(text: str) -> tuple[Path, ...]:
    try:
        name = Spec.parse(text.format(rows="")).name
    except (SpecError, ValueError, KeyError, IndexError):
        return ()
    names = [(kind, aliases(kind)[name].name if name in aliases(kind) else name) for kind in KINDS]
    cards = [catalogue(kind)[found] for kind, found in names if found in catalogue(kind)]
    return tuple(file for card in cards for file in _files_of(card.target.partition(":")[0]))


@cache
def _steps(start: Path, changed: frozenset[Path]) -> tuple[int, ...]:
    """The number of imports from a file to the nearest changed one; empty where none leads there."""
    seen, layer, steps = {start}, {start}, 0
    while layer:
        if layer & changed:
            return (steps,)
        layer = {file for known in layer for file in imported(known)} - seen
        seen |= layer
        steps += 1
    return ()


@cache
def imported(path: Path) -> frozenset[Path]:
    """The files of this repository that a file imports, also inside functions."""
    tree = sources.parsed(path.read_bytes()) if path.is_file() else None
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)] if tree else []
    names = {name for node in nodes for name in sources.module_names(node)}
    return frozenset(file for name in names for file in _files_of(name))


@cache
def _files_of(name: str) -> tuple[Path, ...]:
    stems = [ROOT.joinpath(folder, *name.split(".")) for folder in ("src", "tests", "docs", "")]
    files = [file for stem in stems for file in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py")]
    return tuple(file for file in files if file.is_file())
