"""Serving AGOP-IxG: latency of a prediction alone and with its attribution, and what many explanations cost next to
shap's DeepExplainer.

The model is the AGOP paper's network. DeepExplainer gives other numbers, so only times are compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

import torch
from torch import Tensor

from assay.serving import AgopExplainer
from benchmarks.deep_shap import BACKGROUND, deep_explainer, paper_query
from benchmarks.measuring import Measured, seconds

Work = Callable[[], object]

WHAT = "MLP 20-256-256-128-64-3"
BATCHES = (1, 16, 64, 256)
CALLS = 200  # of each kind, per repeat
COMPARED = 64  # rows per call of the comparison with shap
BAR = 1e-3  # seconds per explanation beyond the prediction, at that batch
TRAINING_ROWS = 4000  # the paper's
COUNTS = (1_000, 1_000_000)  # explanations: the paper's test rows, and a service
GROUP = 20  # calls that are timed as one, where a call takes about a millisecond


def problems() -> list[Measured]:
    return [*(Latency(batch) for batch in BATCHES), Projection(COMPARED)]


@dataclass(frozen=True)
class Latency:
    """Median and 99th percentile of calls with one batch, alternating with predictions alone."""

    batch: int
    calls: int = CALLS

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        query = paper_query(self.batch)
        model, x, explainer = query.setting.model, query.x, AgopExplainer().fit(query.setting.model, _training_rows())
        works = (lambda: _predict(model, x), lambda: explainer(x))
        for work in works:
            work()
        alone, both = _alternating(works, repeats * self.calls, _wall)
        beyond = (median(both) - median(alone)) / self.batch
        rows = f"{self.batch} row" + ("s" if self.batch > 1 else "")
        common = {"task": task, "problem": f"{WHAT}, {rows} per call", "repeats": repeats}
        common |= {"note": f"wall time, one thread; {len(alone):,} calls of each kind, alternating"}
        bar = f" (bar: below {BAR * 1e3:g} ms)" if self.batch == COMPARED else ""
        extra = {"beyond": beyond, "ratio": f"+{beyond * 1e3:.4f} ms per explanation{bar}"}
        return [
            {**common, "who": "prediction alone", **_percentiles(alone), "ratio": ""},
            {**common, "who": "prediction and attribution", **_percentiles(both), **extra},
        ]


@dataclass(frozen=True)
class Projection:
    """The time of many explanations, from the median of a few calls; with and without the fit.

    CPU time: on a busy machine, wall time counts more of others' work in shap's long calls than in our short ones.
    """

    batch: int

    def rows(self, task: str, repeats: int) -> list[dict[str, Any]]:
        query, training_rows = paper_query(self.batch), _training_rows()
        explainer = AgopExplainer().fit(query.setting.model, training_rows)
        attribute, peer = deep_explainer(query, training_rows[:BACKGROUND], one_class=True)
        works = (
            lambda: AgopExplainer().fit(query.setting.model, training_rows),
            lambda: [explainer(query.x) for _ in range(GROUP)],
            lambda: deep_explainer(query, training_rows[:BACKGROUND], one_class=True),
            attribute,
        )
        fit, calls, peer_fit, peer_call = (median(times) for times in _alternating(works, repeats, seconds))
        note = (
            f"CPU time, one thread; {self.batch} rows per call; the fit takes {fit:.3f} s on {TRAINING_ROWS:,} rows, "
            f"shap's {peer_fit:.3f} s on {BACKGROUND} background rows"
        )
        rows = []
        for count in COUNTS:
            common = {"task": task, "problem": f"{WHAT}, {count:,} explanations, projected", "repeats": repeats}
            ours, theirs = calls / GROUP / self.batch * count, peer_call / self.batch * count
            for who, cost, slower in (
                ("assay, prediction and attribution", ours, theirs),
                ("assay, fit included", fit + ours, peer_fit + theirs),
                (peer, theirs, theirs),
                (f"{peer}, fit included", peer_fit + theirs, peer_fit + theirs),
            ):
                figures = {"seconds": cost, "figure": f"{cost:,.2f} s", "ratio": f"{slower / cost:,.1f}x"}
                rows.append({**common, "note": note, "who": who, **figures})
        return rows


def _training_rows() -> Tensor:
    return torch.randn(TRAINING_ROWS, 20, generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def _predict(model: torch.nn.Module, x: Tensor) -> Tensor:
    return model(x)  # type: ignore[no-any-return]


def _alternating(works: tuple[Work, ...], count: int, clock: Callable[[Work], float]) -> list[list[float]]:
    """Times of each work, in turns, so that other load on the machine affects all."""
    turns = [[clock(work) for work in works] for _ in range(count)]
    return [list(times) for times in zip(*turns, strict=True)]


def _wall(work: Work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _percentiles(times: list[float]) -> dict[str, Any]:
    p50, p99 = median(times), quantiles(times, n=100, method="inclusive")[98]
    return {"p50": p50, "p99": p99, "figure": f"p50 {p50 * 1e3:.3f} ms, p99 {p99 * 1e3:.3f} ms"}
