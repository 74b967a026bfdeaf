"""Data files that environments read: whether they are there, before anything is computed."""

from __future__ import annotations

from assay.catalogue.registry import catalogue
from assay.core.spec import Spec, walk
from assay.engine.execute.plan import Plan
from assay.studies.study import Study


def check_data(study: Study, plan: Plan) -> None:
    """Raises AssayError where a file is missing or damaged that an environment of the catalogue reads. Scores alone
    need no files."""
    if plan.kinds.keys() <= {"score"}:
        return
    specs: list[Spec] = []
    for entry in study.environments:
        walk(entry.spec, specs.append)
    for spec in dict.fromkeys(specs):
        card = catalogue("environments").get(spec.name)
        if card and "check_data" in card.calls:
            from assay.catalogue.build import build  # here: it imports torch

            build("environments", spec).check_data()
