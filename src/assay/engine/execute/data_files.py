"""Files that components read: whether they are there, before anything is computed."""

from __future__ import annotations

from assay.catalogue.registry import KINDS, catalogue, named_paths
from assay.core.errors import AssayError
from assay.core.spec import Spec, walk
from assay.engine.execute.plan import Plan
from assay.studies.study import Study


def check_data(study: Study, plan: Plan) -> None:
    """Raises AssayError where a file is missing that a component names, or one is missing or damaged that an
    environment of the catalogue reads. Scores alone need no files."""
    if plan.kinds.keys() <= {"score"}:
        return
    check_named_files(study)
    specs: list[Spec] = []
    for entry in study.environments:
        walk(entry.spec, specs.append)
    for spec in dict.fromkeys(specs):
        card = catalogue("environments").get(spec.name)
        if card and "check_data" in card.calls:
            from assay.catalogue.build import build  # here: it imports torch

            build("environments", spec).check_data()


def check_named_files(study: Study) -> None:
    """Raises AssayError where a parameter names a file or folder that is missing."""
    for kind in KINDS:
        for entry in getattr(study, kind):
            for path in named_paths(kind, entry.spec):
                if not path.is_there:
                    whose = "" if entry.spec.name == "own" else f"{entry.spec.name}: "  # a user's own files
                    raise AssayError(f"{whose}{path.missing}")
