"""The tables of AGOP-IxG's experiments (Katakam 2026)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from assay.report.table import piped

from experiments.reading import boards, boards_of, cell, compared, paired, readouts
from pages import Json, Table, head, kept

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
AGOP_FORMS = ("AGOP-IxG", "AGOP-IxG by differences", "AGOP-IxG by differences, any zeros")
MODEL_METRICS = ("Spearman", "precision at support", "noise mass")
ABLATED = ("Spearman", "precision at support", "noise mass, by column")
RIVALS = ("IxG", "IG", "DeepSHAP", "LIME")  # LIME as the lime package has it, of the probability
LIMES = ("LIME", "LIME, logit")
FORM_METHODS = ("AGOP-IxG", "DeepSHAP", *LIMES)
TASKS = ("linear", "sparse", "interaction")


def _accuracy() -> Iterator[str]:
    """Table 2 of the paper, and what a model could reach at best."""
    papers = {
        "linear": (0.921, 0.988, 0.992, 0.935),
        "sparse": (0.851, 0.984, 0.992, 0.939),
        "interaction": (0.840, 0.983, 0.990, 0.946),
    }
    metrics = ("test accuracy", "confidence", "confidence, correct", "confidence, wrong")
    papers_too = (f"{metric} (paper)" for metric in metrics)
    yield from head("task", *papers_too, "training accuracy", "accuracy of the rule", right=1)
    for task, board in boards("agop/confidence").items():
        values = {metric: cell(board, "IxG", metric)["value"] for metric in board["methods"]["IxG"]["metrics"]}
        ours = (f"{values[metric]:.3f} ({paper:.3f})" for metric, paper in zip(metrics, papers[task], strict=True))
        yield piped(task, *ours, f"{values['training accuracy']:.3f}", f"{values['accuracy of the rule']:.3f}")


ROAR = ("ROAR, accuracy", "ROAR, balanced accuracy", "ROAR, AUROC", "accuracy", "accuracy of the majority class")
PART_1 = ("Spearman", "top-k", "precision at support", "noise mass", "noise mass, by column")


def _significance() -> Iterator[str]:
    """How many of the pairs survive Holm's correction, and AGOP-IxG's own."""
    yield from head("task", "metric", "pairs separated", "AGOP-IxG is separated from", "groups, best first")
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
    names = (f"{metric}: {' / '.join(FORM_METHODS)}" for metric in metrics)
    yield piped("form", "test accuracy", "rule", *names, "Spearman, AGOP-IxG minus DeepSHAP")
    yield piped("---", "---:", "---:", *("---" for _ in metrics), "---")
    for form, board in boards("agop/sparse_forms").items():
        accuracies = (cell(board, "AGOP-IxG", name)["value"] for name in ("test accuracy", "accuracy of the rule"))
        values = (*(f"{value:.3f}" for value in accuracies), *(_values(board, metric) for metric in metrics))
        yield piped(form, *values, paired(board, "AGOP-IxG", "DeepSHAP", "Spearman"))


def _values(board: Json, metric: str) -> str:
    return " / ".join(f"{cell(board, method, metric)['value']:.3f}" for method in FORM_METHODS)


def _claims() -> Iterator[str]:
    """The number that decides each claim; nothing is decided here."""
    rows = list(_claim_rows())
    yield from rows
    yield ""
    yield compared([row.split(" | ")[2] for row in rows[2:]])


def _claim_rows() -> Iterator[str]:
    yield from head("claim", "study and column", "number")
    synthetic, confidence = boards("agop/synthetic"), boards("agop/confidence")
    twenty = boards("agop/significance")
    for task, paper in zip(TASKS, (0.921, 0.851, 0.840), strict=True):
        found = [cell(confidence[task], "IxG", name)["value"] for name in ("test accuracy", "training accuracy")]
        yield piped(
            f"B01 {task}, circular",
            "confidence: accuracy",
            f"test {found[0]:.3f} (paper {paper}), training {found[1]:.3f}",
        )
    for task in TASKS:
        for rival in (*RIVALS, LIMES[1]):
            difference = paired(twenty[task], "AGOP-IxG", rival, "Spearman")
            yield piped(f"B02 {task}", f"significance: Spearman, AGOP-IxG minus {rival}", difference)
    for task in TASKS:
        for metric in ("noise mass", "noise mass, by column"):
            lowest = min(
                (*RIVALS, LIMES[1]), key=lambda rival, metric=metric: cell(twenty[task], rival, metric)["value"]
            )
            difference = paired(twenty[task], "AGOP-IxG", lowest, metric)
            yield piped(f"B03 {task}", f"significance: {metric}, AGOP-IxG minus {lowest}, the lowest rival", difference)
    for task, rivals in zip(TASKS, (LIMES, ("DeepSHAP",), ("DeepSHAP",)), strict=True):
        for metric, rival in product(("top-k", "precision at support"), rivals):
            difference = paired(twenty[task], "AGOP-IxG", rival, metric)
            yield piped(f"B04 {task}", f"significance: {metric}, AGOP-IxG minus {rival}", difference)
    for task, name in product(TASKS[1:], LIMES):
        lime, linear = (cell(board, name, "Spearman")["value"] for board in (twenty[task], twenty["linear"]))
        others = [cell(twenty[task], method, "Spearman")["value"] for method in ("AGOP-IxG", *RIVALS[:3])]
        place = 1 + sum(other > lime for other in others)
        number = f"{lime:.3f}, place {place} of 5; linear {linear:.3f}"
        yield piped(f"B05 {task}", f"significance: Spearman of {name}", number)
    for task in TASKS:
        for name in ("confidence", "confidence, wrong"):
            yield piped(
                f"B08 {task}, circular", f"confidence: {name}", f"{cell(confidence[task], 'IxG', name)['value']:.3f}"
            )
    for task in TASKS:
        orders = _orders(twenty[task], "Spearman", ("AGOP-IxG", *RIVALS))
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


def _roar_differences() -> Iterator[str]:
    """What is said of methods, paired over four seeds."""
    board = boards("agop/roar_adult")["Adult"]
    yield from head("ROAR", *ROAR[:3])
    for method in ("IxG", "IG", "DeepSHAP", "LIME, 500 rows", "Random orders"):
        differences = (paired(board, method, "AGOP-IxG", metric) for metric in ROAR[:3])
        yield piped(f"{method} minus AGOP-IxG", *differences)


def _model_differences() -> Iterator[str]:
    """AGOP-IxG, by differences where there are no gradients, minus every other method, paired over four seeds."""
    yield from head("model", "method", *MODEL_METRICS)
    for environment, board in boards("agop/models").items():
        first = next(name for name in AGOP_FORMS if _scored(board, name))
        for method in board["methods"]:
            if method not in (*AGOP_FORMS, "Random") and _scored(board, method):
                differences = (paired(board, first, method, metric) for metric in MODEL_METRICS)
                yield piped(environment, f"{first} minus {method}", *differences)


def _scored(board: Json, method: str) -> bool:
    return cell(board, method, "Spearman").get("value") is not None


def _ablation_differences() -> Iterator[str]:
    """Every variant minus AGOP-IxG as it is, paired over four seeds."""
    yield from head("task", "variant", *ABLATED)
    for task, board in boards("agop/ablations").items():
        for variant in ("diagonal", "inverse, damped", "inverse", "IxG"):
            differences = (paired(board, variant, "AGOP-IxG, 1 %", metric) for metric in ABLATED)
            yield piped(task, f"{variant} minus AGOP-IxG", *differences)


def _serving() -> Iterator[str]:
    """Latencies and projections; what ``make bench TASK=serving`` printed."""
    yield from head("problem", "who", "figure", "ratio")
    for row in kept("serving"):
        yield piped(row["problem"].partition(", ")[2], row["who"], row["figure"], row["ratio"])


def _orders(board: Json, metric: str, methods: Sequence[str]) -> tuple[int, int]:
    """How many different orders of the methods there are, and over how many seeds."""
    columns = [cell(board, method, metric)["per_seed"] for method in methods]
    orders = [tuple(sorted(range(len(methods)), key=lambda index: row[index])) for row in zip(*columns, strict=True)]
    return len(set(orders)), len(orders)


TABLES: Mapping[str, Table] = {
    "accuracy": _accuracy,
    "agop-readouts": readouts(STUDIES),
    "synthetic": boards_of("agop/synthetic", (*PART_1, "top-k, ties in order")),
    "claims": _claims,
    "serving": _serving,
    "significance": _significance,
    "forms": _forms,
    "ablations": boards_of("agop/ablations", PART_1),
    "ablation-differences": _ablation_differences,
    "models": boards_of("agop/models", ("Spearman", "precision at support", "noise mass", "test accuracy")),
    "model-differences": _model_differences,
    "correlated": boards_of("agop/correlated", ("Spearman", "Spearman, signed", "top 5")),
    "roar": boards_of("agop/roar_adult", ROAR),
    "roar-differences": _roar_differences,
}
