"""What ``--changed`` chooses: tests near to a change, in this order, and nothing that it cannot break."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from selection import ROOT, SECONDS, _chosen, _distance

OCCLUSION = ROOT / "src/assay/methods/occlusion.py"
SPEARMAN = ROOT / "src/assay/metrics/ranks.py"


def item(path: str, **parameters: str) -> SimpleNamespace:
    name = f"{path}::test[{'-'.join(parameters.values())}]"
    callspec = SimpleNamespace(params=parameters)
    return SimpleNamespace(path=ROOT / path, nodeid=name, callspec=callspec, get_closest_marker=lambda _: None)


@pytest.mark.parametrize(
    ("test", "changed", "steps"),
    [
        (item("tests/oracles/methods/test_occlusion.py"), OCCLUSION, 1),
        (item("tests/oracles/methods/test_occlusion.py"), SPEARMAN, None),
        (item("tests/oracles/methods/test_occlusion.py"), ROOT / "tests/oracles/methods/test_occlusion.py", 0),
        (item("tests/contracts/test_methods.py", spec="occlusion"), OCCLUSION, 0),
        (item("tests/contracts/test_methods.py", spec="smoothed(of=gradient(), samples=4)"), OCCLUSION, None),
        (item("tests/contracts/test_metrics.py", spec="road_lerf"), ROOT / "src/assay/metrics/road.py", 0),  # an alias
    ],
)
def test_a_test_is_as_near_as_its_imports_and_its_component(
    test: SimpleNamespace, changed: Path, steps: int | None
) -> None:
    assert _distance(test, {changed}) == steps


def test_the_nearest_come_first_and_there_is_an_end() -> None:
    near, far = (
        item("tests/contracts/test_methods.py", spec="occlusion"),
        item("tests/oracles/methods/test_occlusion.py"),
    )
    assert list(_chosen([far, near], {OCCLUSION}, {})) == [near.nodeid, far.nodeid]
    assert list(_chosen([far, near], {OCCLUSION}, {near.nodeid: SECONDS - 1, far.nodeid: 2.0})) == [near.nodeid]


def test_what_reads_a_file_that_is_no_code_is_chosen_with_it() -> None:
    page, other = item("tests/journeys/test_pages.py"), item("tests/oracles/methods/test_occlusion.py")
    assert list(_chosen([page, other], {ROOT / "README.md"}, {})) == [page.nodeid]
