"""The number that decides each claim of Li et al. (2024), C01 to C13; nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from statistics import mean

from assay.report.table import piped
from experiments.reading import Difference, Values, boards, cell, compared, per_seed, with_interval
from pages import Json, head, is_kept, kept

FOLDER = "soco"
Row = tuple[str, str, str, str]  # claim and record, column, number, the document's number
SCHEMES = ("half", "constant", "random", "partial")
FILLS = ("zero", "row")
HAUSDORFF = {  # table 1: mean and deviation
    "completeness": (0.503, 0.112),
    "soundness": (0.183, 0.046),
    "deletion, accuracy": (0.019, 0.011),
    "ROAD, MoRF": (0.014, 0.009),
}
ENSEMBLES = ("SG", "SQ", "Var")
UNITS = ("", ", pixel units")  # of the noise
ORDER_METRICS = ("ROAD, MoRF", "ROAD, LeRF", "deletion, accuracy")
CENTRE, LABEL, PREDICTED = (
    "centre removed (strategy 1)",
    "centre and class disc of the label removed (strategy 2)",
    "centre and class disc of the prediction removed (strategy 2)",
)
TESTED_INTACT = ("5 % by label", "5 % by prediction", "5 % by chance")
RETRAINED, ORIGINAL = "accuracy, retrained", "accuracy, original"


def claims() -> Iterator[str]:
    yield from head("claim", "study", "column", "number", "document")
    numbers = list[str]()
    for ids, study, rows in CLAIMS:
        found = rows() if is_kept(f"{FOLDER}/{study}") else [(ids, "", "not run", "")]
        for claim, column, number, document in found:
            numbers.append(number)
            yield piped(claim, study, column, number, document)
    yield ""
    yield compared(numbers)


def trials(board: Json) -> int:
    return len(per_seed(board, "truth", "zero"))


def _linear() -> Iterator[Row]:
    (board,) = boards(f"{FOLDER}/linear_validation").values()
    rules = [name for name in board["methods"]["truth"]["metrics"] if not name.startswith("completeness")]
    for scheme in SCHEMES:
        kept_at_1 = [cell(board, f"Remove, {scheme}", rule)["value"] for rule in rules]
        same = sum(value >= 0.99 for value in kept_at_1)
        number = f"{same} of {len(rules)} rules have .99 or more; lowest {min(kept_at_1):.3f}"
        yield f"C01 soundness, {scheme}", "soundness of Remove, by fill and rule", number, "1"
        for fill in FILLS:
            number = _minus(board, f"Remove, {scheme}", "truth", f"completeness, {fill}")
            yield f"C01 completeness, {scheme}", f"{fill}: Remove minus truth", number, "below 0"
    for scheme in SCHEMES:
        lower = [_of(board, f"Introduce, {scheme}", "truth", rule) for rule in rules]
        number = f"lower in {sum(found.is_below for found in lower)} of {len(rules)} rules: " + ", ".join(
            rule for rule, found in zip(rules, lower, strict=True) if found.is_below
        )
        yield f"C02 {scheme}", "soundness, Introduce minus truth, by fill and rule", number, "lower"
    for scheme, fill in product(SCHEMES, FILLS):
        number = _minus(board, f"Introduce, {scheme}", "truth", f"completeness, {fill}")
        yield (
            f"C03 both statements, {scheme}",
            f"{fill}: completeness, Introduce minus truth",
            number,
            "above 0 / below 0",
        )
    for scheme, fill in product(SCHEMES, FILLS):
        number = _minus(board, f"Remove, {scheme}", "truth", f"completeness, {fill}")
        yield f"C03 second statement, {scheme}", f"{fill}: completeness, Remove minus truth", number, "above 0"


def _order() -> Iterator[Row]:
    for environment, board in boards(f"{FOLDER}/order_or_value").items():
        for metric in next(iter(board["methods"].values()))["metrics"]:
            equal, models = equal_models(board, metric)
            document = "different" if metric.startswith(("soundness", "completeness")) else "equal"
            yield f"C04, {environment}", metric, f"equal in {equal} of {models} models", document


def equal_models(board: Json, metric: str) -> tuple[int, int]:
    """In how many models the two maps have exactly the same score."""
    pairs = list(zip(*(per_seed(board, method, metric) for method in board["methods"]), strict=True))
    return sum(left == right for left, right in pairs), len(pairs)


def damages(name: str) -> Sequence[Json]:
    return kept(f"{FOLDER}/{name}")["damage"]


def minima(name: str) -> Mapping[str, Sequence[float]]:
    """By metric: the smallest of three distances, for every method and scheme."""
    found: dict[str, list[float]] = {}
    for row in (row for table in damages(name) for row in table["rows"]):
        if row["minimum"]["value"] is not None:
            found.setdefault(row["metric"], []).append(row["minimum"]["value"])
    return found


def _damage(name: str) -> Iterator[Row]:
    found = {metric: mean(values) for metric, values in minima(name).items()}
    for metric, (document, _) in HAUSDORFF.items():
        yield "C05", f"{metric}: mean smallest distance", f"{found[metric]:.3f}", f"{document:.3f}"
    for metric, other in product(("completeness", "soundness"), ("deletion, accuracy", "ROAD, MoRF")):
        ratio = found[metric] / found[other] if found[other] else float("inf")
        yield (
            "C05",
            f"{metric} over {other}",
            f"{ratio:.1f} times",
            f"{HAUSDORFF[metric][0] / HAUSDORFF[other][0]:.0f} times",
        )
    for metric in ("soundness", "ROAD, MoRF", "deletion, accuracy"):
        stable = f"{metric}, ties in reading order"
        yield f"C05, {stable}", "mean smallest distance", f"{found[stable]:.3f}", ""


def _ensembles(name: str) -> Iterator[Row]:
    environment, board = next(iter(boards(f"{FOLDER}/{name}").items()))
    common = _common_levels(name, environment, "soundness")
    for ensemble, units in product(ENSEMBLES, UNITS):
        method = f"IG-{ensemble}{units}"
        number = str(Difference.of(common[method]["per_seed"], common["IG, 20 steps"]["per_seed"]))
        yield (
            f"C06 soundness, {ensemble}{units}",
            "soundness at common levels, minus IG with 20 steps",
            number,
            "above 0",
        )
        number = _minus(board, method, "IG, 20 steps", "completeness")
        document = "above 0" if ensemble == "SG" else "not above 0"
        yield f"C06 completeness, {ensemble}{units}", "completeness, minus IG with 20 steps", number, document
    for ensemble, units, metric in product(ENSEMBLES, UNITS, ORDER_METRICS):
        number = _minus(board, f"IG-{ensemble}{units}", "IG, 20 steps", metric)
        yield f"C13 {ensemble}{units}", f"{metric}, minus IG with 20 steps", number, "not notable"


def _methods(name: str, exturb: str) -> Iterator[Row]:
    environment, board = next(iter(boards(f"{FOLDER}/{name}").items()))
    common = _common_levels(name, environment, "soundness")
    for method in ("GradCAM", "IBA"):
        number = str(Difference.of(common[method]["per_seed"], common[exturb]["per_seed"]))
        yield f"C11 {method}", f"soundness at common levels, minus {exturb}", number, "above 0"
    rivals = [method for method in ("GradCAM", "IG", "DeepSHAP", "IBA")]
    best = max(rivals, key=lambda method: cell(board, method, "completeness")["value"])
    yield (
        "C11 ExPerturb first",
        f"completeness, {exturb} minus {best}",
        _minus(board, exturb, best, "completeness"),
        "above 0",
    )
    compared_methods = (*rivals, exturb)
    soundest = max(compared_methods, key=lambda method: common[method]["value"])
    fullest = max(compared_methods, key=lambda method: cell(board, method, "completeness")["value"])
    yield (
        "C11 no method first in both",
        "first in soundness; first in completeness",
        f"{soundest}; {fullest}",
        "two methods",
    )


def _common_levels(name: str, environment: str, metric: str) -> Mapping[str, Json]:
    for row in kept(f"{FOLDER}/{name}")["common_levels"]:
        if (row["environment"], row["metric"]) == (environment, metric):
            return dict(row["methods"])
    raise ValueError(f"{name} has no common levels of {metric} in {environment}")


def _retraining(name: str) -> Iterator[Row]:
    found = {environment.partition(", ")[2]: board for environment, board in boards(f"{FOLDER}/{name}").items()}
    first = found[CENTRE]
    for strategy, board in ((LABEL, found[LABEL]), (PREDICTED, found[PREDICTED])):
        difference = Difference.of(_accuracies(board, RETRAINED), _accuracies(first, RETRAINED))
        yield f"C07, {strategy}", "retrained accuracy, minus that of strategy 1", str(difference), ".88 - .60"
    for strategy in (CENTRE, LABEL, PREDICTED):
        number = with_interval(cell(found[strategy], "Random", ORIGINAL))
        yield f"C07 original, {strategy}", ORIGINAL, number, ".24" if strategy == CENTRE else ".29"
    for start in TESTED_INTACT:
        for environment, board in found.items():
            if environment.startswith(start):
                difference = Difference.of(_accuracies(board, ORIGINAL), _accuracies(board, RETRAINED))
                yield (
                    f"C08, {start}",
                    "accuracy on intact pictures, original minus retrained",
                    str(difference),
                    ".887 - .322",
                )


def _accuracies(board: Json, metric: str) -> Values:
    return per_seed(board, "Random", metric)


SETS = ("number", "stripes")
MAPS = ("", ", black", ", positive", ", positive, black")  # of IG: by size from the mean colour, and so on


def _semi_natural(name: str) -> Iterator[Row]:
    found = boards(f"{FOLDER}/{name}")
    named = {
        key: next(board for place, board in found.items() if place.endswith(f", {key}")) for key in ("natural", *SETS)
    }
    documents = {
        ("number", "Rect"): ".92",
        ("number", "Pooling"): ".31",
        ("stripes", "Rect"): ".60",
        ("stripes", "Pooling"): ".93",
    }
    for mark, method in product(SETS, ("Rect", "Pooling")):
        yield (
            f"C09 {method}, {mark}",
            "Attr%",
            with_interval(cell(named[mark], method, "Attr%")),
            documents[mark, method],
        )
    for maps in (maps for maps in MAPS if {f"Rect{maps}", f"Pooling{maps}"} <= set(named["number"]["methods"])):
        for mark, (left, right) in zip(SETS, (("Rect", "Pooling"), ("Pooling", "Rect")), strict=True):
            number = _minus(named[mark], f"{left}{maps}", f"{right}{maps}", "Attr%")
            yield f"C09 {mark}{maps}", f"Attr%, {left} minus {right}", number, "above 0"
    road = "ROAD, MoRF"
    for key, sign in (("number", "below 0"), ("natural", "above 0")):
        for method in ("GradCAM", "IG", "DeepSHAP"):
            number = _minus(named[key], "Rect", method, road)
            yield f"C10 Rect, {key}", f"{road}, Rect minus {method}", number, sign
        for method in ("IG", "DeepSHAP"):
            number = _minus(named[key], method, "GradCAM", road)
            yield f"C10 {method}, {key}", f"{road}, {method} minus GradCAM", number, sign
    alone = next(board for place, board in found.items() if place == "number alone" or place.endswith("number alone"))
    orders = [
        sorted(("GradCAM", "IG", "DeepSHAP"), key=lambda method, board=board: cell(board, method, road)["value"])
        for board in (named["number"], alone)
    ]
    yield "C10 synthetic", f"order by {road}, semi-natural; pure synthetic", "; ".join(map(", ".join, orders)), "equal"


def _of(board: Json, left: str, right: str, metric: str) -> Difference:
    return Difference.of(per_seed(board, left, metric), per_seed(board, right, metric))


def _minus(board: Json, left: str, right: str, metric: str) -> str:
    return str(_of(board, left, right, metric))


CLAIMS = (
    ("C01, C02, C03", "linear_validation", _linear),
    ("C04", "order_or_value", _order),
    ("C05", "damage", partial(_damage, "damage")),
    ("C05", "damage_cifar", partial(_damage, "damage_cifar")),
    ("C06, C13", "benchmark_256", partial(_ensembles, "benchmark_256")),
    ("C06, C13", "benchmark_cifar", partial(_ensembles, "benchmark_cifar")),
    ("C11", "benchmark_256", partial(_methods, "benchmark_256", "ExPerturb")),
    ("C11", "benchmark_cifar", partial(_methods, "benchmark_cifar", "ExPerturb, 200 iterations")),
    ("C07, C08", "retraining", partial(_retraining, "retraining")),
    ("C07, C08", "retraining_cifar", partial(_retraining, "retraining_cifar")),
    ("C07, C08", "retraining_wide", partial(_retraining, "retraining_wide")),
    ("C09, C10", "semi_natural", partial(_semi_natural, "semi_natural")),
    ("C09, C10", "semi_natural_cifar", partial(_semi_natural, "semi_natural_cifar")),
)
