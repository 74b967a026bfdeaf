"""What replaces a removed feature decides a score: shipped studies write it out, and lean on no default."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.catalogue.registry import resolve
from assay.core.spec import Spec
from assay.studies.shipped import shipped_studies


def unpinned(table: dict[str, Any]) -> Iterator[str]:
    """The metrics of a study's table, at both scales, that take a canvas and do not name it."""
    for item in (*table["metrics"], *table.get("full", {}).get("metrics", ())):
        spec = Spec.parse(item if isinstance(item, str) else item["use"])
        if resolve("metrics", spec).has("canvas") and not spec.has("canvas"):
            yield str(spec)


@pytest.mark.parametrize("path", [pytest.param(path, id=name) for name, path in shipped_studies().items()])
def test_every_shipped_study_names_the_canvas_of_each_metric_that_has_one(path: Path):
    assert list(unpinned(tomllib.loads(path.read_text(encoding="utf-8")))) == []


def test_a_canvas_left_to_its_default_is_found_at_both_scales():
    full = {"metrics": [{"use": "roar(ranking='global')", "label": "ROAR"}]}
    table = {"metrics": ["deletion", "f1", "insertion(canvas='zero')"], "full": full}
    assert list(unpinned(table)) == ["deletion", "roar(ranking='global')"]
