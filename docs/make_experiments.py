"""Runs the studies of docs/experiments.md, keeps their results in docs/results, and writes the page's tables.

    python docs/make_experiments.py                               writes the tables from the results that are kept
    python docs/make_experiments.py --run agop/synthetic          runs a study (no name: all) and keeps its result
    python docs/make_experiments.py --keep agop/synthetic STORE   keeps the result of a run that is complete

A table stands between ``<!-- name -->`` and ``<!-- end -->``. A test compares the page with the kept results.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE, KEPT = ROOT / "docs" / "experiments.md", ROOT / "docs" / "results"
STUDIES = (
    "agop/synthetic",
    "agop/confidence",
    "agop/ablations",
    "agop/significance",
    "agop/sparse_forms",
    "agop/models",
    "agop/correlated",
    "agop/roar_adult",
)
CELL = ("status", "reason", "value", "low", "high", "deviation", "per_seed", "ceiling")
BENCH = ("task", "problem", "who", "figure", "ratio", "repeats", "note")
RIVALS = ("IxG", "IG", "DeepSHAP", "LIME")
TASKS = ("linear", "sparse", "interaction")

Json = Any
Cell = Mapping[str, Any]


# Keeping


def kept(name: str) -> Json:
    return json.loads((KEPT / f"{name}.json").read_text(encoding="utf-8"))


def keep(name: str, store: str) -> None:
    """Run a study, or complete it, and keep a summary of its result."""
    command = ["assay", "run", name]
    print(*command, file=sys.stderr)
    arguments = [sys.executable, "-m", "assay.cli.main", *command[1:], "--store", store, "--json"]
    told = json.loads(subprocess.run(arguments, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)
    summary = {
        "command": " ".join(command),
        "commit": _git("rev-parse", "--short", "HEAD"),
        "seconds": round(sum(map(_seconds, (ROOT / store / "logs").iterdir()))),
        "digest": _digest(store),
        "boards": [_shortened(board) for board in told["boards"]],
    }
    path = KEPT / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(summary, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def keep_serving() -> None:
    arguments = [sys.executable, "-m", "assay.cli.main", "bench", "serving", "--json"]
    rows = json.loads(subprocess.run(arguments, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)
    short = [{name: row[name] for name in BENCH} for row in rows]
    (KEPT / "serving.json").write_text(json.dumps(short, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _seconds(log: Path) -> float:
    """How long a run took: its log is named after its beginning and was written last at its end."""
    began = datetime.strptime(log.name.partition("-")[0], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    return log.stat().st_mtime - began.timestamp()


def _digest(store: str) -> str:
    """Of the keys, statuses, values and arrays in a store; times and hosts are not in it."""
    from assay.core.records import digest
    from assay.store.store import Store

    return digest(Store.open(ROOT / store, create=False).dump())


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout.strip()


def _shortened(board: Json) -> Json:
    methods = {
        line["method"]: {
            "gap": line["gap"],
            "notes": line["notes"],
            "metrics": {
                metric: {name: _rounded(cell.get(name)) for name in CELL if cell.get(name) not in (None, "")}
                for metric, cell in line["metrics"].items()
            },
        }
        for line in board["methods"]
    }
    comparisons = {
        metric: {
            "groups": comparison["groups"],
            "pairs": len(comparison["pairs"]),
            "separated": [
                {name: _rounded(pair[name]) for name in ("left", "right", "difference", "p_holm")}
                for pair in comparison["pairs"]
                if pair["separated"]
            ],
        }
        for metric, comparison in board["comparisons"].items()
    }
    return {"environment": board["environment"], "methods": methods, "comparisons": comparisons}


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


# Reading


def boards(name: str) -> dict[str, Json]:
    return {board["environment"]: board for board in kept(name)["boards"]}


def cell(board: Json, method: str, metric: str) -> Cell:
    return board["methods"][method]["metrics"][metric]


def seeds_ranked_alike(board: Json, metric: str, methods: Sequence[str]) -> tuple[int, int]:
    """How many different orders of the methods there are, and over how many seeds."""
    columns = [cell(board, method, metric)["per_seed"] for method in methods]
    orders = [tuple(sorted(range(len(methods)), key=lambda index: row[index])) for row in zip(*columns, strict=True)]
    return len(set(orders)), len(orders)


def paired(board: Json, left: str, right: str, metric: str) -> str:
    """Mean difference over seeds with its 95 % interval (Student's t), and in how many seeds it is positive."""
    from scipy import stats

    pairs = zip(cell(board, left, metric)["per_seed"], cell(board, right, metric)["per_seed"], strict=True)
    differences = [one - other for one, other in pairs]
    half = stats.t.ppf(0.975, len(differences) - 1) * stats.sem(differences)
    positive = sum(difference > 0 for difference in differences)
    middle = mean(differences)
    return f"{middle:+.3f} [{middle - half:+.3f}, {middle + half:+.3f}], > 0 in {positive} of {len(differences)} seeds"


# Writing


def piped(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def table(name: str, environment: str, metrics: Sequence[str]) -> Iterator[str]:
    """Mean and standard deviation over seeds; below it, methods that do not apply, with the reason."""
    board = boards(name)[environment]
    reasons: dict[str, list[str]] = {}
    yield piped("method", *metrics)
    yield piped("---", *("---:" for _ in metrics))
    for method in board["methods"]:
        cells = [cell(board, method, metric) for metric in metrics]
        if all(found["status"] == "skipped" for found in cells):
            reasons.setdefault(cells[0]["reason"], []).append(method)
        else:
            yield piped(method, *map(_value, cells))
    if reasons:
        yield ""
        yield "Skipped: " + "; ".join(f"{', '.join(methods)} ({reason})" for reason, methods in reasons.items()) + "."


def _value(found: Cell) -> str:
    if found.get("value") is None:
        return "undefined" if found["status"] == "ok" else str(found["status"])
    return f"{found['value']:.3f}" + (f" ± {found['deviation']:.3f}" if found.get("deviation") else "")


def _durations() -> Iterator[str]:
    yield piped("study", "minutes", "commit", "digest of the store")
    yield piped("---", "---:", "---", "---")
    for name in STUDIES:
        summary = kept(name)
        yield piped(
            f"`{summary['command']}`", f"{summary['seconds'] / 60:.1f}", summary["commit"], summary["digest"][:12]
        )


def _accuracy() -> Iterator[str]:
    """Table 2 of the paper, and what a model could reach at best."""
    papers = {
        "linear": (0.921, 0.988, 0.992, 0.935),
        "sparse": (0.851, 0.984, 0.992, 0.939),
        "interaction": (0.840, 0.983, 0.990, 0.946),
    }
    metrics = ("test accuracy", "confidence", "confidence, correct", "confidence, wrong")
    yield piped("task", *(f"{metric} (paper)" for metric in metrics), "training accuracy", "accuracy of the rule")
    yield piped("---", *("---:" for _ in metrics), "---:", "---:")
    for task, board in boards("agop/confidence").items():
        values = {metric: cell(board, "IxG", metric)["value"] for metric in board["methods"]["IxG"]["metrics"]}
        ours = (f"{values[metric]:.3f} ({paper:.3f})" for metric, paper in zip(metrics, papers[task], strict=True))
        yield piped(task, *ours, f"{values['training accuracy']:.3f}", f"{values['accuracy of the rule']:.3f}")


PART_1 = ("Spearman", "top-k", "precision at support", "noise mass", "noise mass, by column")


def _significance() -> Iterator[str]:
    """How many of the pairs survive Holm's correction, and AGOP-IxG's own."""
    yield piped("task", "metric", "pairs separated", "AGOP-IxG is separated from", "groups, best first")
    yield piped("---", "---", "---", "---", "---")
    for task, board in boards("agop/significance").items():
        for metric in PART_1:
            found = board["comparisons"][metric]
            rivals = [_other(pair) for pair in found["separated"] if "AGOP-IxG" in (pair["left"], pair["right"])]
            groups = "; ".join(", ".join(group) for group in found["groups"])
            yield piped(
                task, metric, f"{len(found['separated'])} of {found['pairs']}", ", ".join(rivals) or "none", groups
            )


def _other(pair: Json) -> str:
    return str(pair["right"] if pair["left"] == "AGOP-IxG" else pair["left"])


def _forms() -> Iterator[str]:
    metrics = ("Spearman", "precision at support", "noise mass", "noise mass, by column")
    three = (f"{metric}: AGOP-IxG / DeepSHAP / LIME" for metric in metrics)
    yield piped("form", "test accuracy", "rule", *three, "Spearman, AGOP-IxG minus DeepSHAP")
    yield piped("---", "---:", "---:", *("---" for _ in metrics), "---")
    for form, board in boards("agop/sparse_forms").items():
        accuracies = (cell(board, "AGOP-IxG", name)["value"] for name in ("test accuracy", "accuracy of the rule"))
        values = (*(f"{value:.3f}" for value in accuracies), *(_three(board, metric) for metric in metrics))
        yield piped(form, *values, paired(board, "AGOP-IxG", "DeepSHAP", "Spearman"))


def _three(board: Json, metric: str) -> str:
    return " / ".join(f"{cell(board, method, metric)['value']:.3f}" for method in ("AGOP-IxG", "DeepSHAP", "LIME"))


def _boards_of(name: str, metrics: Sequence[str]) -> Callable[[], Iterator[str]]:
    def write() -> Iterator[str]:
        for environment in boards(name):
            yield f"**{environment}**"
            yield ""
            yield from table(name, environment, metrics)
            yield ""

    return write


def _claims() -> Iterator[str]:
    """The number that decides each claim; nothing is decided here."""
    yield piped("claim", "study and column", "number")
    yield piped("---", "---", "---")
    synthetic, confidence = boards("agop/synthetic"), boards("agop/confidence")
    twenty = boards("agop/significance")
    for task, paper in zip(TASKS, (0.921, 0.851, 0.840), strict=True):
        found = [cell(confidence[task], "IxG", name)["value"] for name in ("test accuracy", "training accuracy")]
        yield piped(
            f"B01 {task}", "confidence: accuracy", f"test {found[0]:.3f} (paper {paper}), training {found[1]:.3f}"
        )
    for task in TASKS:
        for rival in RIVALS:
            difference = paired(twenty[task], "AGOP-IxG", rival, "Spearman")
            yield piped(f"B02 {task}", f"significance: Spearman, AGOP-IxG minus {rival}", difference)
    for task in TASKS:
        for metric in ("noise mass", "noise mass, by column"):
            lowest = min(RIVALS, key=lambda rival, metric=metric: cell(twenty[task], rival, metric)["value"])
            difference = paired(twenty[task], "AGOP-IxG", lowest, metric)
            yield piped(f"B03 {task}", f"significance: {metric}, AGOP-IxG minus {lowest}, the lowest rival", difference)
    for task, rival in zip(TASKS, ("LIME", "DeepSHAP", "DeepSHAP"), strict=True):
        for metric in ("top-k", "precision at support"):
            difference = paired(twenty[task], "AGOP-IxG", rival, metric)
            yield piped(f"B04 {task}", f"significance: {metric}, AGOP-IxG minus {rival}", difference)
    for task in TASKS[1:]:
        lime, linear = (cell(board, "LIME", "Spearman")["value"] for board in (twenty[task], twenty["linear"]))
        others = [cell(twenty[task], method, "Spearman")["value"] for method in ("AGOP-IxG", *RIVALS[:3])]
        place = 1 + sum(other > lime for other in others)
        yield piped(
            f"B05 {task}", "significance: Spearman of LIME", f"{lime:.3f}, place {place} of 5; linear {linear:.3f}"
        )
    for task in TASKS:
        for name in ("confidence", "confidence, wrong"):
            yield piped(f"B08 {task}", f"confidence: {name}", f"{cell(confidence[task], 'IxG', name)['value']:.3f}")
    for task in TASKS:
        orders = seeds_ranked_alike(twenty[task], "Spearman", ("AGOP-IxG", *RIVALS))
        yield piped(
            f"B12 {task}", "significance: Spearman, order of five methods", f"{orders[0]} orders in {orders[1]} seeds"
        )
    for task in TASKS:
        found = [cell(confidence[task], "IxG", name)["value"] for name in ("accuracy of the rule", "test accuracy")]
        yield piped(
            f"B13 {task}", "confidence: accuracy of the rule minus test accuracy", f"{found[0] - found[1]:+.3f}"
        )
    for task in TASKS:
        yield piped(
            f"B14 {task}", "synthetic: completeness gap of IG", f"{synthetic[task]['methods']['IG']['gap']:.2%}"
        )


def _serving() -> Iterator[str]:
    """Latencies and projections; what ``assay bench serving`` printed."""
    yield piped("problem", "who", "figure", "ratio")
    yield piped("---", "---", "---", "---")
    for row in kept("serving"):
        yield piped(row["problem"].partition(", ")[2], row["who"], row["figure"], row["ratio"])


TABLES: Mapping[str, Callable[[], Iterator[str]]] = {
    "durations": _durations,
    "accuracy": _accuracy,
    "synthetic": _boards_of("agop/synthetic", PART_1),
    "claims": _claims,
    "serving": _serving,
    "significance": _significance,
    "forms": _forms,
    "ablations": _boards_of("agop/ablations", PART_1),
    "models": _boards_of("agop/models", ("Spearman", "precision at support", "noise mass", "test accuracy")),
    "correlated": _boards_of("agop/correlated", ("Spearman", "Spearman, signed", "top 5")),
    "roar": _boards_of("agop/roar_adult", ("ROAR, accuracy", "ROAR, balanced accuracy", "ROAR, AUROC")),
}


def written(text: str) -> str:
    """The page with every table made from what is kept."""
    for name, made in TABLES.items():
        block = "\n".join([f"<!-- {name} -->", *made(), "<!-- end -->"])
        text, count = re.subn(rf"<!-- {name} -->\n.*?<!-- end -->", lambda _, block=block: block, text, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"the page has {count} places for the table '{name}', not one")
    return text


def main(arguments: Sequence[str]) -> None:
    if "--keep" in arguments:
        name, store = arguments[1:]
        keep(name, store)
    if "--run" in arguments:
        for name in arguments[1:] or (*STUDIES, "serving"):
            keep_serving() if name == "serving" else keep(name, f"runs/{name}")
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
