"""The number that decides each claim of the study of IDSDS (Zabička et al.), D01 to D14; nothing is decided here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from math import hypot
from statistics import mean

from assay.report.table import piped
from assay.studies.shipped import find

from experiments.reading import Difference, boards, cell, compared, per_seed, with_interval
from pages import Json, head, is_kept, kept

FOLDER = "idsds"
Row = tuple[str, str, str, str]  # claim and record, column, number, the document's number
SCORE, SOFTMAX = "IDSDS", "IDSDS, softmax"
SUFFIX = ", softmax"
DUMMIES = ("Gaussians", "entropy", "random", "edges", "frequencies")  # families of the 37
EDGES = ("Sobel", "Intensity gradient")
CAMS = ("Grad-CAM", "Grad-CAM++", "SG-CAM++", "XGrad-CAM", "Layer-CAM")
LAYOUTS = {  # networks of one layout, from shallow to deep
    "ResNet, CIFAR-10": ("CIFAR-10, ResNet-20", "CIFAR-10, ResNet-32", "CIFAR-10, ResNet-44"),
    "ResNet wide, CIFAR-100": (
        "CIFAR-100, ResNet-8 wide",
        "CIFAR-100, ResNet-14 wide",
        "CIFAR-100, ResNet-20 wide",
    ),
}
DATA_SETS = (  # a network on CIFAR-10, and one on CIFAR-100
    ("CIFAR-10, ResNet-8 wide", "CIFAR-100, ResNet-8 wide"),
    ("CIFAR-10, ResNet-20", "CIFAR-100, ResNet-20 wide"),
)


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


def families(name: str) -> Mapping[str, Sequence[str]]:
    """The methods of each family, in the order of the study; methods asked about probabilities have none."""
    found: dict[str, list[str]] = {}
    for entry in find(f"{FOLDER}/{name}").methods:
        if entry.family and not entry.label.endswith(SUFFIX):
            found.setdefault(entry.family, []).append(entry.label)
    return found


def scores(board: Json, methods: Sequence[str], metric: str = SCORE) -> dict[str, float]:
    """Of the methods that have one."""
    found = {method: cell(board, method, metric).get("value") for method in methods if method in board["methods"]}
    return {method: value for method, value in found.items() if value is not None}


def unlike(values: Mapping[str, float]) -> list[float]:
    """Scores without those of maps that coincide: equal to the last digit that is kept."""
    return sorted(set(values.values()))


def _dummies(name: str) -> Iterator[Row]:
    methods = [label for family in DUMMIES for label in families(name)[family]]
    for environment, board in boards(f"{FOLDER}/{name}").items():
        found = scores(board, methods)
        number = f"{mean(found.values()):+.3f} (of {len(found)} maps), from {min(found.values()):+.3f} to "
        largest = max(found, key=found.__getitem__)
        yield f"D01, {environment}", "mean of the 37 dummies", f"{number}{found[largest]:+.3f} ({largest})", ".017"
        different = unlike(found)
        number = f"{mean(different):+.3f} (of {len(different)} maps)"
        yield f"D01, {environment}, duplicates once", "mean of different scores", number, ""
        for family in (*DUMMIES, "corrected"):
            own = scores(board, families(name)[family])
            number = f"{mean(own.values()):+.3f} (of {len(own)} maps, {len(unlike(own))} different)"
            yield f"D01, {environment}, {family}", "mean of the family", number, ""
        yield from _beaten(environment, board, name)
    for environment in (place for place in boards(f"{FOLDER}/{name}") if place.startswith("CIFAR-100")):
        number = with_interval(cell(boards(f"{FOLDER}/{name}")[environment], "IG-SG", SCORE))
        yield f"D10, {environment}", "IG-SG", number, "about 0"


def _beaten(environment: str, board: Json, name: str) -> Iterator[Row]:
    """Methods below a dummy: by value, and by intervals that do not overlap."""
    own = [label for family in ("gradients", "IG", "CAM", "RISE") for label in families(name).get(family, ())]
    dummies = [label for family in DUMMIES for label in families(name)[family]]
    for dummy in dict.fromkeys((*EDGES, max(scores(board, dummies), key=scores(board, dummies).__getitem__))):
        value = cell(board, dummy, SCORE)
        below = [method for method, score in scores(board, own).items() if score < value["value"]]
        surely = [method for method in below if cell(board, method, SCORE)["high"] < value["low"]]
        number = f"{with_interval(value)}; above {', '.join(below) or 'none'}; intervals apart: {', '.join(surely) or 'none'}"
        yield f"D02, {environment}", f"{dummy}, and the methods below it", number, "no such map above IG-SG on ResNets"


def _vgg() -> Iterator[Row]:
    found = boards(f"{FOLDER}/vgg")
    for environment, board in found.items():
        for dummy in (*EDGES, *(f"{edge}, border repeated" for edge in EDGES), "Entropy 3", "Entropy 9", "Entropy 31"):
            document = ".08 to .16" if dummy in EDGES else ".07 to .12" if dummy.startswith("Entropy") else ""
            yield f"D02, {environment}", dummy, with_interval(cell(board, dummy, SCORE)), document
            difference = Difference.of(per_seed(board, dummy, SCORE), per_seed(board, "IG-SG", SCORE))
            document = "above 0" if dummy in EDGES else ""
            yield f"D02, {environment}, beats IG-SG", f"{dummy} minus IG-SG", str(difference), document
    for shallow, deep in (("VGG-11", "VGG-16"), ("VGG-11-BN", "VGG-16-BN")):
        yield from _between("D05", "vgg", deep, shallow, "below 0")
    for plain, normalised in (("VGG-11", "VGG-11-BN"), ("VGG-16", "VGG-16-BN")):
        yield from _between("D11", "vgg", plain, normalised, "above 0")
    for environment, board in found.items():
        yield f"accuracy, {environment}", "accuracy", with_interval(cell(board, "Random", "accuracy")), ""


def _between(claim: str, name: str, left: str, right: str, document: str) -> Iterator[Row]:
    """Networks drawn by seeds: a family's mean score in one environment minus that in another, paired by seed."""
    found = boards(f"{FOLDER}/{name}")
    for family in ("gradients", "IG", "CAM"):
        means = [_family_by_seed(found[place], families(name)[family]) for place in (left, right)]
        yield f"{claim}, {family}", f"mean of the family, {left} minus {right}", str(Difference.of(*means)), document


def _family_by_seed(board: Json, methods: Sequence[str]) -> list[float | None]:
    columns = zip(*(per_seed(board, method, SCORE) for method in methods), strict=True)
    return [None if None in column else mean(value for value in column if value is not None) for column in columns]


def _depth() -> Iterator[Row]:
    found = boards(f"{FOLDER}/depth")
    for layout, networks in LAYOUTS.items():
        for family in ("gradients", "IG", "CAM"):
            methods = families("depth")[family]
            means = [mean(scores(found[network], methods).values()) for network in networks]
            number = ", ".join(f"{value:.3f}" for value in means)
            lower = [method for method in methods if _clearly_lower(found[networks[-1]], found[networks[0]], method)]
            number += f"; deepest clearly below shallowest: {', '.join(lower) or 'none'} of {len(methods)}"
            yield f"D05, {layout}, {family}", f"mean, {', '.join(networks)}", number, "falling"
    for left, right in DATA_SETS:
        yield from _concordance(found[left], found[right], f"{left} and {right}")


def _clearly_lower(left: Json, right: Json, method: str) -> bool:
    """Whether the difference is below 0 by more than both intervals over images together: one model each."""
    first, second = cell(left, method, SCORE), cell(right, method, SCORE)
    if first.get("low") is None or second.get("low") is None:
        return False
    half = hypot(first["high"] - first["value"], second["value"] - second["low"])
    return bool(first["value"] - second["value"] + half < 0)


def _concordance(left: Json, right: Json, places: str) -> Iterator[Row]:
    """Kendall's tau over pairs of methods, of one family and of two."""
    member = {method: family for family in ("gradients", "IG", "CAM") for method in families("depth")[family]}
    first, second = (scores(board, tuple(member)) for board in (left, right))
    pairs = [pair for pair in combinations(member, 2) if set(pair) <= first.keys() & second.keys()]
    within = [pair for pair in pairs if member[pair[0]] == member[pair[1]]]
    across = [pair for pair in pairs if member[pair[0]] != member[pair[1]]]
    for kind, chosen in (("one family", within), ("two families", across)):
        agree = [(first[a] - first[b]) * (second[a] - second[b]) for a, b in chosen]
        tau = (sum(value > 0 for value in agree) - sum(value < 0 for value in agree)) / len(chosen)
        document = "higher" if kind == "one family" else "lower"
        yield f"D08, {places}", f"Kendall's tau over pairs of {kind}", f"{tau:+.2f} ({len(chosen)} pairs)", document


def _readouts(name: str) -> Iterator[Row]:
    by_environment = {row["environment"]: row for row in kept(f"{FOLDER}/{name}")["slope"]}
    for environment, board in boards(f"{FOLDER}/{name}").items():
        row = by_environment[environment]
        number = "; ".join(f"{name}: {text}" for name, text in zip(MOVES, moves(row), strict=True))
        yield f"D03, {environment}", "logits against probabilities", number, "2 or 3 (files: 0 to 7 of 10)"
        methods = [method for method in board["methods"] if f"{method}{SUFFIX}" in board["methods"]]
        after = {method: cell(board, f"{method}{SUFFIX}", SOFTMAX)["value"] for method in methods}
        changes = [after[method] - value for method, value in scores(board, methods).items()]
        number = f"{mean(changes):+.3f}; lower in {sum(change < 0 for change in changes)} of {len(changes)} methods"
        document = "lower" if "VGG" in environment else "not lower"
        yield f"D04, {environment}", "probability minus logit, mean over methods", number, document
        conflict = next(metric for metric in board["methods"][methods[0]]["metrics"] if metric.startswith("logit falls"))
        number = with_interval(cell(board, methods[0], conflict))
        yield f"readouts, {environment}", "share of cells: logit falls, probability rises", number, ""


MOVES = ("methods that change place", "without coinciding ones", "by resampling images alone", "rank correlation")


def moves(row: Json) -> tuple[str, ...]:
    """The texts below ``MOVES``; nothing but the reason where fewer than three methods have both scores."""
    if "moves" not in row:
        return (row["reason"], "", "", "")
    different = len(row["methods"]) - sum(len(group) - 1 for group in row["coinciding"])
    drawn = row["moves_by_resampling"]
    return (
        f"{row['moves']} of {len(row['methods'])}" + (_of_seeds(row) if len(row["moves_per_seed"]) > 1 else ""),
        f"{row['moves_without_coinciding']} of {different}",
        drawn["reason"] or f"{drawn['value']:.1f} [{drawn['low']:g}, {drawn['high']:g}]",
        f"{row['correlation']:.2f}" if "correlation" in row else "undefined",
    )


def _of_seeds(row: Json) -> str:
    return f" (mean of {len(row['moves_per_seed'])} seeds: {row['mean_moves']:.1f})"


def _similarity(name: str) -> Iterator[Row]:
    found = boards(f"{FOLDER}/{name}")
    for data in ("CIFAR-10", "CIFAR-100"):
        for kind in ("top-1", "top-5", "top-1 without a cell", "top-5 without a cell"):
            place = f"{data}, without a cell" if "cell" in kind else f"{data}, accuracy"
            board = found.get(place, found[f"{data}, accuracy"])
            before, after = (cell(board, "Random", f"{kind}{when}") for when in (", before", ""))
            number = f"{before['value']:.4f} to {after['value']:.4f}: {with_interval(cell(board, 'Random', f'{kind}, gain'))}"
            document = "higher" if "cell" in kind else "within .01"
            yield f"D06, {data}, {kind}", "before, after, and gain over the same images", number, document
        tuned, control = found[f"{data}, fine-tuned"], found[f"{data}, unrelated"]
        for metric in ("target's probability", "all probabilities", "all logits"):
            yield _ratio(data, metric, *(cell(board, "Random", metric) for board in (tuned, control)))
        for method in ("Grad-CAM", "SG-CAM++", "Score-CAM", "Grad-CAM++"):
            yield _ratio(data, f"maps of {method}", *(cell(board, method, "maps") for board in (tuned, control)))
        numbers = [with_interval(cell(board, "Random", "top images")) for board in (tuned, control)]
        yield f"D07, {data}, top images", "share in common, fine-tuned; unrelated", "; ".join(numbers), "far more"


def _ratio(data: str, column: str, tuned: Json, control: Json) -> Row:
    number = f"{with_interval(tuned)} / {with_interval(control)} = {tuned['value'] / control['value']:.2f}"
    return f"D07, {data}, {column}", "difference after fine-tuning / from the unrelated network", number, "at most .5"


def _resolution() -> Iterator[Row]:
    for curve in kept(f"{FOLDER}/cam_resolution")["sweep"]["curves"]:
        if curve["metric"] == SCORE:
            points = ", ".join(f"{point['at']}: {with_interval(point)}" for point in curve["points"])
            yield f"D09, {curve['environment']}", curve["method"], points, ""


def _temperature() -> Iterator[Row]:
    for curve in kept(f"{FOLDER}/temperature")["sweep"]["curves"]:
        known = [point["value"] for point in curve["points"] if point.get("value") is not None]
        equal = "equal to the last digit kept" if len(set(known)) == 1 else f"{min(known):.4f} to {max(known):.4f}"
        yield f"D12, {curve['environment']}", f"{curve['metric']}, {curve['method']}", equal, ""


def _leakage() -> Iterator[Row]:
    """Of each metric the methods' excess accuracy; methods that share a number are named together."""
    for environment, board in boards(f"{FOLDER}/leakage").items():
        for metric in next(iter(board["methods"].values()))["metrics"]:
            named: dict[str, list[str]] = {}
            for method in board["methods"]:
                named.setdefault(with_interval(cell(board, method, metric)), []).append(method)
            told = {", ".join(methods): number for number, methods in named.items()}
            told = {"every method": next(iter(named))} if len(named) == 1 else told
            number = "; ".join(f"{methods}: {value}" for methods, value in told.items())
            yield f"D13, {environment}", f"excess accuracy from masks: {metric}", number, ""


def _truth() -> Iterator[Row]:
    for row in kept(f"{FOLDER}/truth")["agreement"]:
        yield f"D14, {row['environment']}", f"{row['metric']} with {row['truth']}", with_interval(row), ""


CLAIMS: Sequence[tuple[str, str, Callable[[], Iterator[Row]]]] = (
    ("D01, D02, D10", "dummies", partial(_dummies, "dummies")),
    ("D01, D02, D10", "dummies_256", partial(_dummies, "dummies_256")),
    ("D03, D04", "readouts", partial(_readouts, "readouts")),
    ("D03, D04", "dummies_256", partial(_readouts, "dummies_256")),
    ("D05, D08", "depth", _depth),
    ("D02, D05, D11", "vgg", _vgg),
    ("D06, D07", "similarity", partial(_similarity, "similarity")),
    ("D06, D07", "similarity_30", partial(_similarity, "similarity_30")),
    ("D09", "cam_resolution", _resolution),
    ("D12", "temperature", _temperature),
    ("D13", "leakage", _leakage),
    ("D14", "truth", _truth),
)
