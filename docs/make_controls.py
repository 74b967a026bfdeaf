"""Do controls lose? Write docs/controls.json (what was measured), docs/controls.md (a page of it) and what cards say.

    assay run controls --store runs/controls        needs CIFAR-10: see `assay show cifar`
    python docs/make_controls.py runs/controls
    python docs/make_controls.py --measure METRIC   measures some metrics wherever the data are here
    python docs/make_controls.py --page             from what was measured before

A metric that claims faithfulness must prefer attributions of the model to maps that know nothing about it. Every metric
judges every method and every control on the same samples; a control loses where the interval of the paired difference
to the best method lies above 0. A run of fewer metrics, or at fewer places, replaces what it measured and leaves the
rest as it was. What was never measured is "not measured" on the page and on the card.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import assay
from assay.catalogue.build import build
from assay.catalogue.cards import NOT_MEASURED
from assay.catalogue.registry import aliases, catalogue
from assay.core.errors import AssayError
from assay.core.evidence import Evidence, mean_score, merge
from assay.core.facts import fact
from assay.core.records import Record
from assay.core.spec import Spec
from assay.report.components import by_label
from assay.report.loaded_run import LoadedRun, load_run
from assay.report.text import listed, number
from assay.stats.paired import paired
from assay.engine.store.store import Store
from assay.studies.file import read as read_study

DOCS = Path(__file__).parent
KEPT, PAGE = DOCS / "controls.json", DOCS / "controls.md"
CARDS = DOCS.parent / "src" / "assay" / "metrics" / "controls.json"  # what the metrics' cards say
STUDY_FILE = CARDS.parents[1] / "studies" / "controls.toml"
STUDY = tomllib.loads(STUDY_FILE.read_text(encoding="utf-8"))
CONFIDENCE = 0.95
CONTROLS = ("random_map", "constant", "edge_map")
ITEMS = [{"use": item} if isinstance(item, str) else item for item in STUDY["metrics"]]
USES = {item.get("label", item["use"]): item["use"] for item in ITEMS}  # specs of metrics, by label
NOT_ABOUT_FAITHFULNESS = {
    "sign_agreement": "signs alone: where all effects are positive, a constant map has the right ones",
    "max_sensitivity": "stability: a constant map never moves, and is perfectly stable",
    "parameter_randomisation": "randomisation: asks whether a map depends on the weights, not whether it is right",
    "class_sensitivity": "randomisation: asks whether a map depends on the class, not whether it is right",
    "choice_sensitivity": "stability: a map that reads neither model nor baseline never changes",
    "sign_mixing": "says how signs lie, not whether they are right: a map of one sign is never mixed",
    "axiom_completeness": "an axiom: controls promise no sum",
    "axiom_dummy": "an axiom: necessary, not sufficient",
    "axiom_linearity": "an axiom: a map that ignores the model is linear in it",
    "axiom_symmetry": "an axiom: a constant map treats all features alike",
    "attribution_difference": "compares two models; no method is better for it",
    "accuracy": "judges the model, not maps",
    "confidence": "judges the model, not maps",
    "ignores_part": "judges the model, not maps",
    "unfamiliar_share": "judges the canvas, not maps",
    "readout_conflict": "judges the model, not maps",
    "part_share": "says where a map is, not whether it is right",
    "output_difference": "compares two models without looking at maps",
    "top_images": "compares two models; no method is better for it",
    "mask_leakage": "judges the rule by which features are deleted, not maps",
}

RETRAINS = {"skipped": f"{NOT_MEASURED}: retrains a network for every map and share"}
TOO_LONG = {"CIFAR-10": {"roar": RETRAINS, "roar(ranking='global')": RETRAINS}}
PLACES = {place["label"]: Spec.parse(place["use"]).name for place in STUDY["environments"]}  # environments, by place

Kept = dict[str, Any]


def measured(store: Path) -> Kept:
    """By place and metric, what the run found; what it did not measure is as it was."""
    loaded = load_run(Store.open(store, create=False))
    metrics, methods = by_label(loaded.run, "metrics"), by_label(loaded.run, "methods")
    places = {place["name"]: place for place in read()["places"]}
    for place, environment in by_label(loaded.run, "environments").items():
        before = places.get(place, {}).get("metrics", {})
        found = {metric: told for metric, told in before.items() if metric not in metrics}
        found |= TOO_LONG.get(place, {}) | dict(place_metrics(loaded, place))
        honest = [methods[series["method"]] for series in loaded.series(place) if series["method"] not in CONTROLS]
        places[place] = {
            "name": place,
            "environment": str(environment.card.short(environment.spec)),
            "samples": environment.samples,
            "methods": {one.label: [str(one.card.short(one.spec)), one.question.get("baseline")] for one in honest},
            "metrics": {metric: found[metric] for metric in sorted(found) if metric in USES},
        }
    return {"seed": 0, "level": CONFIDENCE, "places": [places[place] for place in PLACES if place in places]}


def run_some(names: Sequence[str], store: Path) -> None:
    """Run the study with some of its metrics, where the data of its environments are."""
    if unknown := [name for name in names if name not in USES]:
        sys.exit(f"{listed(unknown)}: not among the metrics of {STUDY_FILE.name}. Add a line there first.")
    here = [place for place in STUDY["environments"] if has_data(place)]
    study = {"title": STUDY["title"], **{name: STUDY[name] for name in ("seeds", "samples", "block", "gallery")}}
    metrics = [item for item in ITEMS if item.get("label", item["use"]) in names]
    methods = [{"use": item} if isinstance(item, str) else item for item in STUDY["methods"]]
    items = {"methods": restricted(methods, here), "metrics": restricted(metrics, here)}
    assay.run(read_study({**study, "environments": here, **items}, "controls"), store)


def has_data(place: Mapping[str, Any]) -> bool:
    environment = build("environments", Spec.parse(place["use"]))
    try:
        getattr(environment, "check_data", lambda: None)()
    except AssayError as error:
        print(f"{place['label']}: {NOT_MEASURED}: {error}")
        return False
    return True


def restricted(items: Sequence[Kept], places: Sequence[Kept]) -> list[Kept]:
    """Items that apply at some of these places, whose ``only`` names no other environment."""
    names = {PLACES[place["label"]] for place in places}
    kept = [item for item in items if names & {*item.get("only", names)}]
    return [{**item, "only": [one for one in item["only"] if one in names]} if "only" in item else item for item in kept]


def place_metrics(loaded: LoadedRun, place: str) -> Iterator[tuple[str, Kept]]:
    """By metric: the best method, and how far each control is behind it."""
    series = list(loaded.series(place))
    for metric, component in by_label(loaded.run, "metrics").items():
        outcomes = {one["method"]: list(loaded.outcomes(one, metric)) for one in series if metric in one["evidence"]}
        records = [record for found in outcomes.values() for _, record in found]
        if any(record is None or record.status == "failed" for record in records):
            sys.exit(f"{metric} at {place}: not all was computed. 'assay run controls' resumes.")
        if skipped := [record for record in records if record.status == "skipped"]:
            yield metric, {"skipped": skipped[0].reason}
        elif outcomes:
            found = {label: merge([evidence(loaded, record) for _, record in outcomes[label]]) for label in outcomes}
            honest = [label for label in found if label not in CONTROLS]
            yield metric, compared(build("metrics", component.spec), found, honest)


def evidence(loaded: LoadedRun, record: Record) -> Evidence:
    return Evidence.from_arrays(loaded.store.load(record))


def compared(metric: Any, found: Mapping[str, Evidence], honest: Sequence[str]) -> Kept:
    """Scores, and the controls' paired differences to the best of the honest methods."""
    sign = 1.0 if fact(metric, "higher_is_better") else -1.0
    reduce = getattr(metric, "reduce", mean_score)
    scores = {label: reduce(evidence).value for label, evidence in found.items()}
    known = [label for label in honest if scores[label] is not None]
    if not known:
        return {"skipped": "undefined for every method"}
    best = max(known, key=lambda label: sign * (scores[label] or 0.0))
    # The best of several methods is chosen on the same samples: the level is shared among them (Bonferroni).
    level = 1 - (1 - CONFIDENCE) / len(honest)
    behind = {}
    for control in CONTROLS:
        pair = paired(found[best], found[control], reduce, level) if scores[control] is not None else None
        behind[control] = None if pair is None else turned(sign, pair.mean, pair.low, pair.high, pair.count)
    return {"better": "higher" if sign > 0 else "lower", "best": best, "scores": rounded(scores), "behind": behind}


def turned(sign: float, mean: float, low: float, high: float, count: int) -> Kept:
    """How much better the method is than the control."""
    ends = sorted([sign * low, sign * high])
    return {"mean": shortened(sign * mean), "low": shortened(ends[0]), "high": shortened(ends[1]), "samples": count}


def rounded(scores: Mapping[str, float | None]) -> dict[str, float | None]:
    return {label: None if value is None else shortened(value) for label, value in scores.items()}


def shortened(value: float) -> float:
    """Four digits: what is kept does not change with the last bits of a machine."""
    return float(f"{value:.4g}") + 0.0


def outcome(found: Kept | None) -> str:
    """loses, wins or even; undefined where the control has no score, which cannot mislead."""
    if found is None:
        return "undefined"
    return "loses" if found["low"] > 0 else "wins" if found["high"] < 0 else "even"


def unbeaten(kept: Kept, metric: str) -> dict[str, dict[str, str]]:
    """By place, the controls that do not lose: "wins" or "even"."""
    found = {}
    for place in kept["places"]:
        behind = place["metrics"].get(metric, {}).get("behind", {})
        told = {control: outcome(behind[control]) for control in behind}
        if left := {control: how for control, how in told.items() if how in ("wins", "even")}:
            found[place["name"]] = left
    return found


def card_fact(kept: Kept, metric: str) -> str:
    """What the metric's card says in ``controls``."""
    if why := NOT_ABOUT_FAITHFULNESS.get(metric):
        return f"no claim of faithfulness ({why})"
    if not any("behind" in place["metrics"].get(metric, {}) for place in kept["places"]):
        return NOT_MEASURED
    left, found = unbeaten(kept, metric), []
    for how, words in (("wins", "better than every method tried"), ("even", "not told apart from the best method")):
        places: dict[str, list[str]] = {}  # by the controls that do so
        for place, controls in left.items():
            if names := [name for name, what in controls.items() if what == how]:
                places.setdefault(listed(names), []).append(place)
        told = [f"{names} ({listed(where)})" for names, where in places.items()]
        found += [f"{words}: {', '.join(told)}"] if told else []
    open_places = [place for place in PLACES if is_unmeasured(kept, place, metric)]
    return "; ".join([*(found or ["all lose"]), *([f"{NOT_MEASURED}: {listed(open_places)}"] if open_places else [])])


def is_unmeasured(kept: Kept, place: str, metric: str) -> bool:
    """True where the study asks for the metric, and nothing is kept."""
    found = next((one["metrics"].get(metric) for one in kept["places"] if one["name"] == place), None)
    if found is not None:
        return str(found.get("skipped", "")).startswith(NOT_MEASURED)
    item = next((item for item in ITEMS if item.get("label", item["use"]) == metric), {})
    return PLACES[place] in item.get("only", PLACES.values())


# The page

HEAD = """# Do controls lose?

A metric that claims faithfulness must prefer attributions of a model to maps that know nothing about it: random
numbers (`random_map`), the same number everywhere (`constant`), and the edges of the image (`edge_map`). Here every
such metric, with its default parameters unless the table says otherwise, judges both on the same samples. A cell has
the control's score, and how much better the best of the methods is, in the metric's own direction and unit, with its
interval: t over the samples' differences, a bootstrap over samples where a metric judges the whole set. The best of
several methods is chosen on the same samples, so the 5 % are divided among them (Bonferroni).

- **loses**: the interval lies above 0. The metric tells this control from a method.
- **wins**: the interval lies below 0. The metric prefers the control to every method tried here.
- **even**: neither. The samples do not tell; more of them might.
- undefined: the metric has no score for the control, so that nobody can be misled.
- not measured: the study asks for it, and nobody has run it there yet.

One seed (0), so that intervals are over samples of these models, not over models. The outcome is also on the metric's
card (`controls`; `assay show NAME`), and `assay run` prints below its tables which controls do as well as which methods.
The study is `assay run controls`; `python docs/make_controls.py` keeps its results in `controls.json` and writes this
page; `make test` compares the two and the cards.
"""


def page(kept: Kept) -> str:
    parts = [HEAD, "## Where a control does not lose\n", "Empty where a metric does not apply.\n"]
    parts += ["\n".join(summary(kept)) + "\n"]
    for place in kept["places"]:
        parts += [f"## {place['name'][0].upper()}{place['name'][1:]}\n", setting(place), "\n".join(table(place)) + "\n"]
    parts += ["## Metrics that do not claim faithfulness\n", "| metric | why it is not here |", "|---|---|"]
    parts += [f"| {metric} | {why} |" for metric, why in sorted(NOT_ABOUT_FAITHFULNESS.items())]
    return "\n".join(parts) + "\n"


def summary(kept: Kept) -> Iterator[str]:
    yield f"| metric | {' | '.join(PLACES)} |"
    yield "|---" * (len(PLACES) + 1) + "|"
    for metric in sorted({*USES, *faithful()}):
        left = unbeaten(kept, metric)
        found = {place["name"]: place["metrics"].get(metric, {}) for place in kept["places"]}
        cells = [
            NOT_MEASURED if is_unmeasured(kept, place, metric) else _summed(found.get(place, {}), left.get(place, {}))
            for place in PLACES
        ]
        yield f"| {metric} | {' | '.join(cells)} |"


def faithful() -> set[str]:
    """The metrics of the catalogue that claim faithfulness, by name or alias."""
    return {*catalogue("metrics"), *aliases("metrics")} - set(NOT_ABOUT_FAITHFULNESS)


def _summed(found: Kept, left: Mapping[str, str]) -> str:
    if "behind" not in found:
        return ""
    return ", ".join(f"{name} {f'**{how}**' if how == 'wins' else how}" for name, how in left.items()) or "all lose"


def setting(place: Kept) -> str:
    methods = "; ".join(
        f"{label}: `{spec}`{f', baseline {baseline}' if baseline else ''}"
        for label, (spec, baseline) in place["methods"].items()
    )
    return f"`{place['environment']}`, {place['samples']} samples. {methods}.\n"


def table(place: Kept) -> Iterator[str]:
    yield f"| metric | best method | {' | '.join(CONTROLS)} |"
    yield "|---" * (len(CONTROLS) + 2) + "|"
    for metric, found in sorted(place["metrics"].items()):
        if "behind" not in found:
            continue
        arrow = "↑" if found["better"] == "higher" else "↓"
        best = f"{found['best']} {number(found['scores'][found['best']])}"
        cells = [_cell(found["scores"][control], found["behind"][control]) for control in CONTROLS]
        yield f"| {USES[metric]} {arrow} | {best} | {' | '.join(cells)} |"
    skipped: dict[str, list[str]] = {}
    for metric, found in sorted(place["metrics"].items()):
        if "skipped" in found:
            skipped.setdefault(found["skipped"], []).append(metric)
    alone = {"places": [place]}
    unmeasured = {*USES, *faithful()} - set(place["metrics"])
    if unmeasured := {metric for metric in unmeasured if is_unmeasured(alone, place["name"], metric)}:
        skipped[NOT_MEASURED] = sorted(unmeasured)
    for why, metrics in skipped.items():
        yield ""
        yield f"{listed(metrics)}: {why}."


def _cell(score: float | None, found: Kept | None) -> str:
    if score is None or found is None:
        return "undefined"
    how = outcome(found)
    few = f" ({found['samples']} samples)" if found["samples"] < 8 else ""
    return f"{number(score)}: {f'**{how}**' if how == 'wins' else how}, {number(found['mean'])} {_span(found)}{few}"


def _span(found: Kept) -> str:
    return f"[{number(found['low'])}, {number(found['high'])}]"


def read() -> Kept:
    found: Kept = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def main(arguments: Sequence[str]) -> None:
    if arguments[:1] == ["--measure"] and arguments[1:]:
        store = DOCS.parent / "runs" / "controls-some"
        run_some(arguments[1:], store)
    elif len(arguments) == 1 and arguments != ["--measure"]:
        store = Path(arguments[0])
    else:
        sys.exit(__doc__)
    if arguments != ["--page"]:
        KEPT.write_text(json.dumps(measured(store), indent=1) + "\n", encoding="utf-8")
    kept = read()
    PAGE.write_text(page(kept), encoding="utf-8")
    names = (*catalogue("metrics"), *aliases("metrics"))
    told = {name: card_fact(kept, name) for name in sorted(names)}
    CARDS.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {PAGE} and {CARDS}")


if __name__ == "__main__":
    main(sys.argv[1:])
