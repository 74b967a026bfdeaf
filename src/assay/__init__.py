"""assay: test feature-attribution methods, and the metrics that judge them, against known truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.api import assert_faithful, attribute, environment, evaluate, run
    from assay.core.errors import AssayError, NotApplicable
    from assay.core.evidence import Evidence, Score
    from assay.core.query import Query
    from assay.core.question import Question
    from assay.core.trial import Trial

    __version__: str

__all__ = [
    "AssayError",
    "Evidence",
    "NotApplicable",
    "Query",
    "Question",
    "Score",
    "Trial",
    "__version__",
    "assert_faithful",
    "attribute",
    "environment",
    "evaluate",
    "run",
]

_MODULES = {
    "AssayError": "core.errors",
    "Evidence": "core.evidence",
    "NotApplicable": "core.errors",
    "Query": "core.query",
    "Question": "core.question",
    "Score": "core.evidence",
    "Trial": "core.trial",
}

if not TYPE_CHECKING:  # type checkers see the imports above

    def __getattr__(name: str) -> object:
        """Import the module of a name on first use, so that ``import assay`` imports no torch."""
        from importlib import import_module, metadata

        if name == "__version__":
            return metadata.version("assay-xai")
        if name in __all__:
            return getattr(import_module(f"assay.{_MODULES.get(name, 'api')}"), name)
        raise AttributeError(f"module 'assay' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return __all__
