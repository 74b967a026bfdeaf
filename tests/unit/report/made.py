"""Stores made by hand, without torch: two environments, five methods, three metrics, and every kind of failure.

Blocks have 2 samples and 3 samples are asked for, so the second block holds one sample that must never be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from assay.core.records import Record, digest
from assay.engine.store.store import Store

TITLE = "<img src=x onerror=alert(1)> & \"who\" 'wins'"
SHAPES, ROWS = "shapes </td><b>bold", "rows & 100% \\columns"
IG = 'IG* "q" <i>'
METHODS = {
    "gradient": "gradient",
    IG: "integrated_gradients(steps=8)",
    "random_map": "random_map",
    "my_pkg:Bad": "my_pkg:Bad",
    "grad_cam": "grad_cam",
}
BASES = {(ROWS, "f1"): "two", (ROWS, "accuracy_lost"): "equal"}  # others: samples
METRICS = {"f1": "f1(sign='overall')", "sensitivity_n": "sensitivity_n(sizes=3)", "accuracy_lost": "completeness"}
LEVEL = {"gradient": 0.8, IG: 0.3, "random_map": 0.4, "grad_cam": 0.6}
AXIS = np.array([1.0, 10.0, 1000.0])
SAMPLES, BLOCKS = 3, (0, 2)
EMPTY = {"readout": None, "temperature": None, "baseline": None, "target": None}
ASKED = {"readout": "probability", "temperature": 1.0, "baseline": "zero", "target": "label"}
READOUT = {"name": "readout", "type": "str | None", "default": None, "note": "None: as the environment asks"}
VERSIONS = {"assay-xai": "0.1.0", "torch": "2.9.0", "host": "bench"}


def value(method: str, seed: int, sample: int) -> float:
    return LEVEL[method] + 0.01 * sample + 0.002 * seed


def is_defined(sample: int) -> bool:
    """sensitivity_n is undefined on sample 1."""
    return sample != 1


def evidence(metric: str, method: str, seed: int, start: int) -> dict[str, np.ndarray]:
    samples = range(start, start + 2)
    if metric == "f1":
        return {"rows.value": np.array([value(method, seed, i) for i in samples])}
    if metric == "accuracy_lost":
        return {"rows.defined": np.ones(2, bool), "rows.clean": np.ones(2, bool)}
    defined = np.array([is_defined(i) for i in samples])
    points = np.array([[True, True, False]] * 2)  # the last point of the curve means nothing
    curve = np.where(points, LEVEL[method], 0.0)
    values = np.where(defined, [value(method, seed, i) for i in samples], 0.0)
    return {
        "rows.value": values,
        "rows.defined": defined,
        "rows.curve": curve,
        "rows.curve_defined": points & defined[:, None],
        "axis.curve": AXIS,
    }


def card(kind: str, name: str, **facts: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "name": name,
        "target": f"pkg.{name}:Class",
        "summary": f"Summary of {name} <u>.",
        "doc": f"Summary of {name} <u>.\n\nUses ``a < b`` & more.",
        "params": [{"name": "steps", "type": "int", "default": 64, "note": "how <many>"}],
        "revision": "r1",
        **facts,
    }


def cards() -> dict[str, dict[str, Any]]:
    named = {f"methods/{spec.partition('(')[0]}": card("methods", spec.partition("(")[0]) for spec in METHODS.values()}
    named["methods/random_map"]["control"] = True
    named |= {f"environments/{name}": card("environments", name) for name in ("shapes", "rows")}
    return named | {
        "metrics/f1": card("metrics", "f1", higher_is_better=True, range=[0.0, 1.0], needs=["truth"]),
        "metrics/sensitivity_n": card("metrics", "sensitivity_n", higher_is_better=True, params=[READOUT]),
        "metrics/completeness": card("metrics", "completeness", higher_is_better=False),
    }


def study() -> dict[str, Any]:
    def entry(label: str, spec: str, **more: Any) -> dict[str, Any]:
        return {"label": label, "spec": spec, "question": dict(EMPTY), **more}

    methods = [entry(label, spec) for label, spec in METHODS.items()]
    methods[1]["question"]["baseline"] = "true"
    return {
        "name": "tricky",
        "title": TITLE,
        "seeds": [0, 1],
        "data_seed": None,
        "environments": [entry(SHAPES, "shapes", samples=3, block=2), entry(ROWS, "rows", samples=3, block=2)],
        "methods": methods,
        "metrics": [entry(label, spec) for label, spec in METRICS.items()],
        "faithfulness": [{"metric": "f1", "gamma": 0.5, "require": []}],
    }


class Builder:
    """Puts what a run would have put."""

    def __init__(self, store: Store, versions: Callable[[int], Mapping[str, str]] = lambda seed: VERSIONS) -> None:
        self.store, self.versions = store, versions
        self.random = np.random.default_rng(0)
        self.clock = 0

    def put(self, kind: str, name: object, arrays: Mapping[str, np.ndarray] | None = None, **fields: Any) -> str:
        self.clock += 1
        key = digest([kind, name])
        time = f"2026-01-01T00:{self.clock // 60:02d}:{self.clock % 60:02d}+00:00"
        origin = {"time": time, "pid": 7, **self.versions(fields.pop("seed", 0))}
        saved = self.store.save(arrays) if arrays else ""
        fields = {"status": "ok", "origin": origin, **fields}
        self.store.put(Record(kind, key, arrays=saved, **fields))  # type: ignore[arg-type]
        return key

    def run(self) -> None:
        trials = [
            self.trials(environment, method, seed)
            for environment in (SHAPES, ROWS)
            for seed in (0, 1)
            for method in METHODS
        ]
        rows = [
            {
                "environment": environment,
                "method": method,
                "metric": metric,
                "key": self.score(environment, method, metric),
            }
            for environment in (SHAPES, ROWS)
            for method in METHODS
            for metric in METRICS
        ]
        gallery = [{"environment": environment, "key": self.samples(environment)} for environment in (SHAPES, ROWS)]
        data = {
            "run": "20260101-run",
            "study": self.study(),
            "rows": rows,
            "trials": trials,
            "gallery": gallery,
            "cards": cards(),
            "machine": {"device": "cpu", "dtype": "float32", "memory": 2**25, "threads": 1},
            "command": ["assay", "run", "a file.toml"],
        }
        self.put("run", "run", data=data)

    def study(self) -> dict[str, Any]:
        return study()

    def samples(self, environment: str) -> str:
        image = environment == SHAPES
        shape, features = ((3, 4, 5), (4, 5)) if image else ((4,), (3,))
        x = self.random.uniform(0, 255, (4, *shape)).astype(np.float32)
        arrays = {"x": x, "label": np.array([0, 1, 0, 1]), "effect": self.random.normal(size=(4, *features))}
        facts = {
            "kind": "image" if image else "table",
            "entries": list(shape),
            "features": list(features),
            "names": [] if image else ["age <", "b", "c"],
            "groups": [] if image else [0, 1, 1, 2],
            "classes": ["cat & dog", "other"],
        }
        return self.put("samples", environment, arrays, data=facts)

    def trials(self, environment: str, method: str, seed: int) -> dict[str, Any]:
        return {
            "environment": environment,
            "method": method,
            "seed": seed,
            "samples": SAMPLES,
            "blocks": [{"start": s, "trial": self.trial(environment, method, seed, s)} for s in BLOCKS],
            "evidence": {
                metric: [self.evidence(environment, method, metric, seed, start) for start in BLOCKS]
                for metric in sorted(METRICS)
            },
        }

    def trial(self, environment: str, method: str, seed: int, start: int) -> str:
        name = [environment, method, seed, start]
        obstacle = self.obstacle(environment, method)
        if obstacle:
            return self.put("trial", name, **obstacle)
        shape = (3, 4, 5) if environment == SHAPES else (4,)
        attribution = self.random.normal(size=(2, *shape)).astype(np.float32)
        cost = {"cpu": 9.0 if start == 0 else 0.5, "wall": 1.0}
        data: dict[str, Any] = {"block": [start, start + 2], "environment_question": ASKED, "outputs": "logits"}
        data["question"] = {**ASKED, "readout": "logit" if method in ("gradient", "random_map") else "probability"}
        if method == IG:
            data["completeness"] = {"promised": 2.0, "gap": 0.05 if start == 0 else 0.03}
        return self.put("trial", name, {"attribution": attribution}, data=data, cost=cost, seed=seed)

    def evidence(self, environment: str, method: str, metric: str, seed: int, start: int) -> str:
        name = [environment, method, metric, seed, start]
        if self.obstacle(environment, method):
            return digest(["evidence", name])  # none was computed: the trial's record says why
        return self.put("evidence", name, evidence(metric, method, seed, start), seed=seed)

    def score(self, environment: str, method: str, metric: str) -> str:
        name = [environment, method, metric]
        obstacle = self.obstacle(environment, method)
        if obstacle:
            return self.put("score", name, status=obstacle["status"], reason=obstacle["reason"])
        defined = [i for i in range(SAMPLES) if metric != "sensitivity_n" or is_defined(i)]
        mean = float(np.mean([value(method, seed, i) for seed in (0, 1) for i in defined]))
        data = {"value": mean, "low": mean - 0.05, "high": mean + 0.05, "per_seed": [mean, mean], "count": 6}
        data["basis"] = BASES.get((environment, metric), "samples")
        if data["basis"] != "samples":
            data |= {"low": None, "high": None}
        if data["basis"] == "two":
            data["per_seed"] = [mean - 0.02, mean + 0.02]
        arrays = None
        if metric == "sensitivity_n":
            arrays = {"axis": AXIS, "curve": np.array([LEVEL[method]] * 2 + [0.0])}
            arrays["curve_defined"] = np.array([True, True, False])
        return self.put("score", name, arrays, data={**data, "defined": 2 * len(defined)})

    def obstacle(self, environment: str, method: str) -> dict[str, str] | None:
        if method == "my_pkg:Bad":
            trace = 'Traceback: File "<bad>", line 1'
            return {"status": "failed", "reason": "ValueError: NaN & <worse>", "traceback": trace}
        if method == "grad_cam" and environment == ROWS:
            return {"status": "skipped", "reason": "needs a convolutional layer"}
        return None
