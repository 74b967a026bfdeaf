"""The number that decides each claim of AttributionLab, A01 to A19; nothing is decided here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise, product

from assay.report.table import piped

from experiments.reading import (
    Difference,
    Values,
    asked_methods,
    boards,
    cell,
    compared,
    gap_text,
    per_seed,
    with_interval,
)
from pages import Json, head, is_kept, kept

Row = tuple[str, str, str]  # claim and record, column, number
UNSEEN, SEEN = "colour count, unseen-data effect", "colour count"
MODULO = "pixel modulo, label not 0"
SIGNED = ("positive", "negative")
ACCUMULATORS = ("non-uniform", "uniform")
METRICS = ("insertion", "deletion", "Sensitivity-N")
IBA = ("IBA", "IBA, not smoothed")  # the document does not say which
STARTS = ("ExPerturb", "ExPerturb, start 2", "ExPerturb, start 3")  # which differ by rounding errors


def claims() -> Iterator[str]:
    yield from head("claim", "study", "column", "number")
    numbers = list[str]()
    for ids, study, rows in CLAIMS:
        found = rows() if is_kept(f"attributionlab/{study}") else [(ids, "", "not run")]
        for claim, column, number in found:
            numbers.append(number)
            yield piped(claim, study, column, number)
    yield ""
    yield compared(numbers)


def _boards(study: str) -> dict[str, Json]:
    return boards(f"attributionlab/{study}")


def _passes(board: Json, method: str, metric: str, floors: Sequence[float] = (0.5,)) -> str:
    """Value, interval, and in how many seeds the value reaches a floor."""
    values = [value for value in per_seed(board, method, metric) if value is not None]
    reached = (f">= {floor} in {sum(value >= floor for value in values)} of {len(values)}" for floor in floors)
    ceiling = cell(board, method, metric).get("ceiling", 1.0)
    best = (
        f"; not testable at this size: the best map of its resolution has {ceiling:.3f}" if ceiling < floors[0] else ""
    )
    return f"{with_interval(cell(board, method, metric))}, {', '.join(reached)} seeds{best}"


def _minus(board: Json, method: str, left: str, right: str) -> str:
    """One metric minus another."""
    return str(Difference.of(per_seed(board, method, left), per_seed(board, method, right)))


def _methods_differ(board: Json, left: str, right: str, metric: str) -> str:
    return str(Difference.of(per_seed(board, left, metric), per_seed(board, right, metric)))


def _exact() -> Iterator[Row]:
    found = kept("attributionlab/exact")
    size = found["size"]
    command = "`assay show pixel_modulo`, test_the_modulo_network_has_the_published_size"
    yield "A01", command, f"{size['layers']} layers, {size['parameters']:,} parameters"
    for name, counts in found["right"].items():
        said = f"right on {counts['right']:,} of {found['images']:,}, equal to its program on {counts['equal']:,}"
        yield f"A02 {name}", "network against labels and program, side 224", said
    column = f"{found['taken_apart']} images of side {found['side']}, each true pixel"
    for name, pixels in found["pixels"].items():
        yield f"A03 {name}", column, f"{pixels['changed']:,} of {pixels['pixels']:,} change the output"
    for name, pixels in found["pixels"].items():
        yield f"A04 record 1, {name}", column, f"{pixels['by_one']:,} of {pixels['pixels']:,} by exactly 1"
    for name, pixels in found["pixels"].items():
        if "spread" in pixels:
            spread, ratios = pixels["spread"], pixels["ratios"]
            middle = (ratios[len(ratios) // 2 - 1] + ratios[len(ratios) // 2]) / 2
            yield f"A04 record 2, {name}", column, f"changes of the probability within a colour differ by {spread:g}"
            said = f"{ratios[0]:.1f} to {ratios[-1]:,.0f}, median {middle:.1f}; 1 in {ratios.count(1.0)} images"
            yield f"A04 record 3, {name}", f"{column}: largest change of a losing colour over the smallest", said


def _a05() -> Iterator[Row]:
    board = _boards("deepshap")["non-uniform, unseen"]
    hooks = {"every ReLU hooked": "", "detector un-hooked": ", detector un-hooked"}
    for truth, (hooked, suffix) in product(("overall", "positive", "negative"), hooks.items()):
        for rule in ("Captum's softmax", "adding up"):
            number = _passes(board, f"DeepSHAP, {rule}{suffix}", f"F1 {truth}")
            yield f"A05 {truth}, {hooked}", f"F1 {truth}, {rule}", number
    for (hooked, suffix), rule in product(hooks.items(), ("Captum's softmax", "adding up")):
        pattern = _pattern(board, f"DeepSHAP, {rule}{suffix}")
        yield f"A05 all three, {hooked}", f"overall passes, both signs fail, {rule}", pattern


def _a05_large() -> Iterator[Row]:
    board, column = _boards("unseen_224")["non-uniform, unseen"], "overall passes, both signs fail, Captum's softmax"
    for hooked, method in (("every ReLU hooked", "DeepSHAP"), ("detector un-hooked", "DeepSHAP, detector un-hooked")):
        yield f"A05 all three, {hooked}, side 224", column, _pattern(board, method)


def _pattern(board: Json, method: str) -> str:
    """In how many seeds overall F1 passes and that of both signs fails."""
    drawn = list(zip(*(per_seed(board, method, f"F1 {truth}") for truth in ("overall", *SIGNED)), strict=True))
    return f"in {sum(overall >= 0.5 and max(signed) < 0.5 for overall, *signed in drawn)} of {len(drawn)} seeds"


def _a06() -> Iterator[Row]:
    board = _boards("lime")[UNSEEN]
    readings = (("overall", ""), ("positive", ""), ("overall", ", positive only"))
    for segmenter, (truth, sign) in product(("felzenszwalb", "quickshift", "oracle segments"), readings):
        sizes = ("", ", scaled") if segmenter != "oracle segments" else ("",)
        for size, fill in product(sizes, ("", ", true fill")):
            method = f"{segmenter}{size}{sign}{fill}"
            record = f"A06 {segmenter}, {truth} F1, {'positive-only' if sign else 'signed'}"
            yield record, f"F1 {truth}, {method}", _passes(board, method, f"F1 {truth}", (0.5, 0.6))
    yield "A06 SAM", "", "not testable here: needs weights of Segment Anything (see the study file)"


def _baseline_pair(claim: str, plain: str, kinds: Sequence[str]) -> Iterator[Row]:
    board = _boards("baselines")[UNSEEN]
    for kind, truth in product(kinds, ("overall", "positive")):
        record = f"{claim} {truth}{kind}"
        for method in (f"{plain}{kind}", f"{plain}*{kind}"):
            gap = gap_text(board, method)
            number = _passes(board, method, f"F1 {truth}")
            yield record, f"F1 {truth}, {method}", f"{number}; completeness gap {gap}" if gap else number
        for metric in (f"F1 {truth}", f"precision {truth}"):
            number = _methods_differ(board, f"{plain}*{kind}", f"{plain}{kind}", metric)
            yield record, f"{metric}, {plain}*{kind} minus {plain}{kind}", number


def _a07_a08() -> Iterator[Row]:
    yield from _baseline_pair("A07", "IG", (", 50 steps", ", exact"))
    yield from _baseline_pair("A08", "Occlusion", ("",))


def _a07_a08_large() -> Iterator[Row]:
    """At the document's size: IG with 50 steps, and Occlusion."""
    board = _boards("unseen_224")["non-uniform, unseen"]
    for (claim, plain), truth in product((("A07", "IG"), ("A08", "Occlusion")), ("overall", "positive")):
        record, metric = f"{claim} {truth}, side 224", f"F1 {truth}"
        for method in (plain, f"{plain}*"):
            yield record, f"{metric}, {method}", _passes(board, method, metric)
        yield record, f"{metric}, {plain}* minus {plain}", _methods_differ(board, f"{plain}*", plain, metric)


def _a09(study: str, widths: Sequence[str]) -> Iterator[Row]:
    board = _boards(study)[UNSEEN]
    methods = filter(board["methods"].__contains__, ("GradCAM", *IBA, *STARTS))
    for method, smooth in product(methods, widths):
        metric = f"F1 positive, smooth {smooth}"
        yield f"A09 {method} passes", metric, _passes(board, method, metric)
    for smooth, other in product(widths, ("GradCAM", *IBA)):
        metric = f"precision positive, smooth {smooth}"
        number = _methods_differ(board, other, "ExPerturb", metric)
        yield "A09 ExPerturb has the lowest precision", f"{metric}, {other} minus ExPerturb", number
    for method, smooth, other in product(IBA, widths, ("GradCAM", "ExPerturb")):
        metric = f"F1 positive, smooth {smooth}"
        number = _methods_differ(board, method, other, metric)
        yield f"A09 {method} is the most faithful", f"{metric}, {method} minus {other}", number


def _a09_large(study: str) -> Iterator[Row]:
    board, metric = _boards(study)["non-uniform, unseen"], "F1 positive, smooth 5"
    for method in filter(board["methods"].__contains__, ("GradCAM", *IBA, "ExPerturb")):
        yield f"A09 {method} passes, side 224", metric, _passes(board, method, metric)


def _correlations(study: str) -> Mapping[tuple[str, str, str, str], Values]:
    """Spearman's correlations by seed: of environment, truth, baseline and metric."""
    found = {}
    for row in kept(f"attributionlab/{study}")["agreement"]:
        if asked_methods(row) & set(STARTS[1:]):
            continue  # a table of their own shows them
        baseline = "true" if "IG*" in asked_methods(row) else "black"
        found[row["environment"], row["truth"], baseline, row["metric"]] = row["per_seed"]
    return found


def _a10(study: str) -> Iterator[Row]:
    found = _correlations(study)
    for truth, baseline, metric in product(("F1 positive", "F1 overall"), ("black", "true"), METRICS):
        seen, unseen = (found[f"non-uniform, {kind}", truth, baseline, metric] for kind in ("seen only", "unseen"))
        difference = Difference.of(seen, unseen)
        record = f"A10 {metric}, {truth}"
        column = f"agreement with {truth}, {baseline} baselines: seen only minus unseen"
        bootstraps = f", in {difference.bootstraps:.0%} of bootstraps" if difference.values else ""
        yield record, column, f"{difference}{bootstraps}"


def _a10b() -> Iterator[Row]:
    found = _correlations("metrics_unseen")
    for truth, baseline, metric in product(("F1 positive", "F1 overall"), ("black", "true"), METRICS):
        uniform, other = (
            found[f"{accumulator}, unseen", truth, baseline, metric] for accumulator in ACCUMULATORS[::-1]
        )
        column = f"agreement with {truth}, {baseline} baselines: uniform minus non-uniform, both unseen"
        yield f"A10b {metric}, {truth}", column, str(Difference.of(uniform, other))


def _a11() -> Iterator[Row]:
    board = _boards("deepshap")["non-uniform, unseen"]
    for rule, hooks in product(("Captum's softmax", "adding up"), ("", ", detector un-hooked")):
        method = f"DeepSHAP, {rule}{hooks}"
        values = [value for value in per_seed(board, method, "Sensitivity-N") if value is not None]
        negative = f"< 0 in {sum(value < 0 for value in values)} of {len(values)} seeds"
        yield (
            f"A11 {rule}{hooks}",
            "Sensitivity-N",
            f"{with_interval(cell(board, method, 'Sensitivity-N'))}, {negative}",
        )


def _a12() -> Iterator[Row]:
    for environment, board in _boards("modulo").items():
        for method in ("LRP", "DeepSHAP", "IG", "exact IG"):
            record = f"A12 {method}, {environment}"
            parts = (f"{metric} {cell(board, method, metric)['value']:.6f}" for metric in ("precision", "recall"))
            yield record, "precision, recall", ", ".join(parts)
            for order in ("by size", "signed"):
                yield (
                    f"{record}, {order}",
                    f"insertion, deletion, {order}: distance from the best area",
                    _short_of_best(board, method, order),
                )


def _short_of_best(board: Json, method: str, order: str) -> str:
    """The largest distance over seeds. Where a share s of the pixels is true, the best areas are 1 - s/2 and s/2; the
    precision of a constant map is s."""
    shares = per_seed(board, "Constant", "precision")
    insertion, deletion = (per_seed(board, method, f"{metric}, {order}") for metric in ("insertion", "deletion"))
    short = [abs(1 - share / 2 - value) for share, value in zip(shares, insertion, strict=True)]
    over = [abs(value - share / 2) for share, value in zip(shares, deletion, strict=True)]
    return f"at most {max(short):.6f}, {max(over):.6f} in {len(shares)} seeds"


def _a13() -> Iterator[Row]:
    for row in kept("attributionlab/modulo")["agreement"]:
        if "Random" in asked_methods(row) and row["environment"] != "non-uniform, label 0":
            values = [value for value in row["per_seed"] if value is not None]
            high = f">= .9 in {sum(value >= 0.9 for value in values)} of {len(values)} seeds"
            number = f"{with_interval(row)}, {high}; of the means {row.get('of_means', float('nan')):.3f}"
            yield f"A13 {row['metric']}, {row['environment']}", f"agreement of {row['metric']} with F1", number


GROUPS = (
    ("LRP", "DeepSHAP", "IG"),
    ("GradCAM", "GuidedBP", "Occlusion"),
    ("IBA", "ExPerturb"),
    ("Random", "Constant"),
)


def _a14(study: str, environment: str) -> Iterator[Row]:
    """The worst method of a group minus the best of the next, seed by seed."""
    board = _boards(study)[environment]
    for order, metric in product(("by size", "signed"), ("insertion", "deletion")):
        sign = 1 if metric == "insertion" else -1
        scores = {
            method: [sign * value for value in per_seed(board, _label(board, method), f"{metric}, {order}")]
            for group in GROUPS
            for method in group
        }
        for upper, lower in pairwise(GROUPS):
            worst = [min(values) for values in zip(*(scores[method] for method in upper), strict=True)]
            best = [max(values) for values in zip(*(scores[method] for method in lower), strict=True)]
            column = f"{metric}, {order}: worst of {', '.join(upper)} against best of {', '.join(lower)}"
            yield f"A14 {metric}, {order}", column, str(Difference.of(worst, best))


def _label(board: Json, method: str) -> str:
    """A method's label on a board of pixel modulo, which names the task where the study has others."""
    return method if method in board["methods"] else f"{method}, modulo"


def _a15(study: str) -> Iterator[Row]:
    found = _boards(study)
    for colours, method in product((UNSEEN, SEEN), (*IBA, "IBA, 100 steps")):
        values = [per_seed(found[name], method, "precision positive") for name in (colours, MODULO)]
        column = f"precision positive, {method}: {colours} minus {MODULO}"
        yield "A15", column, str(Difference.of(*values))


def _a16() -> Iterator[Row]:
    for network, board in _boards("two_objects").items():
        method = next(iter(board["methods"]))
        share = cell(board, method, "ignores the centre")
        count = len(share["per_seed"])
        ignoring = round(share["value"] * count)
        yield f"A16 {network}", "ignores the centre", f"{ignoring} of {count} trainings, share {with_interval(share)}"


def _a17(study: str, widths: Sequence[str]) -> Iterator[Row]:
    for environment, board in _boards(study).items():
        for method, smooth in product(("GradCAM", *IBA), widths):
            if method in board["methods"]:
                left = f"precision positive, smooth {smooth}"
                number = _minus(board, method, left, "precision positive")
                yield f"A17 {method}, {environment}", f"{left} minus plain", number


def _a18() -> Iterator[Row]:
    for environment, board in _boards("modulo").items():
        values = (f"{metric} {with_interval(cell(board, 'GuidedBP', metric))}" for metric in ("recall", "precision"))
        yield f"A18 {environment}", "recall, precision of GuidedBP", "; ".join(values)


def _a19(study: str) -> Iterator[Row]:
    for environment in (UNSEEN, SEEN):
        board = _boards(study)[environment]
        methods = ("GradCAM", "GuidedBP", "LRP", *IBA, *STARTS, "LIME, positive only")
        for method in filter(board["methods"].__contains__, methods):
            number = _minus(board, method, "recall positive", "recall overall")
            yield f"A19 {method}, {environment}", "recall positive minus recall overall", number


COARSE = (("positive_only", ("5", "1.43")), ("coarse_224", ("5",)))  # and the widths of the smooth truth
CLAIMS: Sequence[tuple[str, str, Callable[[], Iterator[Row]]]] = (
    ("A01, A02, A03, A04", "exact", _exact),
    ("A05", "deepshap", _a05),
    ("A05", "unseen_224", _a05_large),
    ("A06", "lime", _a06),
    ("A07, A08", "baselines", _a07_a08),
    ("A07, A08", "unseen_224", _a07_a08_large),
    *(("A09", study, partial(_a09, study, widths)) for study, widths in COARSE),
    *(("A09", study, partial(_a09_large, study)) for study in ("unseen_224", "unseen_224_slow")),
    *(("A10", study, partial(_a10, study)) for study in ("metrics_unseen", "unseen_224")),
    ("A10b", "metrics_unseen", _a10b),
    ("A11", "deepshap", _a11),
    ("A12", "modulo", _a12),
    ("A13", "modulo", _a13),
    ("A14", "modulo", partial(_a14, "modulo", "non-uniform, label not 0")),
    ("A14", "coarse_224", partial(_a14, "coarse_224", MODULO)),
    *(("A15", study, partial(_a15, study)) for study, _ in COARSE),
    ("A16", "two_objects", _a16),
    *(("A17", study, partial(_a17, study, widths)) for study, widths in COARSE),
    ("A18", "modulo", _a18),
    *(("A19", study, partial(_a19, study)) for study, _ in COARSE),
)
