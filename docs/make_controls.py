"""Do controls lose? Write docs/controls.json (what was measured), docs/controls.md (a page of it) and what cards say.

    python docs/make_controls.py               measure everything; needs CIFAR-10: see `assay show cifar`
    python docs/make_controls.py f1 insertion  measure these metrics again, keep the others
    python docs/make_controls.py --page        write the page from what was measured before

A metric that claims faithfulness must prefer attributions of the model to maps that know nothing about it. Every metric
judges every method and every control on the same samples; a control loses where the interval of the paired difference
to the best method lies above 0.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from assay.artifacts.answer import attribute, make_query, make_trial
from assay.catalogue.build import build
from assay.core.errors import NotApplicable
from assay.core.evidence import Evidence, mean_score
from assay.core.features import Pixels
from assay.core.machine import Machine
from assay.core.facts import fact
from assay.core.protocols import Probing, Trained
from assay.core.query import Query
from assay.core.question import Question
from assay.catalogue.registry import aliases, catalogue, resolve
from assay.core.rng import Stream, generator
from assay.core.setting import Recipe, Reference, Samples, Setting, Truth
from assay.core.spec import Spec
from assay.core.trial import Scene
from assay.environments.cifar import Cifar
from assay.report.text import listed, number
from assay.stats.paired import paired

DOCS = Path(__file__).parent
KEPT, PAGE = DOCS / "controls.json", DOCS / "controls.md"
CARDS = DOCS.parent / "src" / "assay" / "metrics" / "controls.json"  # what the metrics' cards say
SEED = 0
CONFIDENCE = 0.95
PIXELS = Pixels(3, 12, 12)  # of drawn pictures
CONTROLS = ("random_map", "constant", "edge_map")
MACHINE = Machine(memory=2**26)
SPECS = {  # smaller than by default, where that costs much
    "sensitivity_n": "sensitivity_n(sizes=8, sets=32)",
    "soundness": "soundness(steps=32)",
    "top_k": "top_k(k=64)",
}
VARIANTS = (  # measured beside the defaults
    "infidelity(perturbation='removal', normalise='any', trend='none')",  # Captum's form
    "roar(ranking='global')",
)
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
    "part_share": "says where a map is, not whether it is right",
    "output_difference": "compares two models without looking at maps",
    "top_images": "compares two models; no method is better for it",
}


@dataclass(frozen=True)
class LinearPictures:
    """Drawn bars and discs, 12 x 12, judged by one linear layer that reads a random half of the pixels.

    Labels are its own answers, so that input times weight is the exact attribution of the label's logit.
    """

    classes: int = 4

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        x = self._pictures(range(10_000, 10_400), seed)
        model = self._model(seed)
        return Setting(
            model=model,
            features=PIXELS,
            kind="image",
            question=Question("logit", 1.0, "zero", "label"),
            classes=tuple(f"class {index}" for index in range(self.classes)),
            informative=tuple(self._read(seed).flatten().nonzero().flatten().tolist()),
            background=torch.zeros(PIXELS.entries),
            reference=Reference(x, model(x).argmax(dim=1)),
            recipe=Recipe(self._trained, nn.Module.state_dict, self._restored),
        )

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        x = self._pictures(indices, seed)
        label = self._model(seed)(x).argmax(dim=1)
        effect = (x * self._weight(seed)[label]).sum(dim=1)
        return Samples(x, label, Truth(effect), tuple(indices))

    def _pictures(self, indices: Sequence[int], seed: int) -> Tensor:
        return Cifar.tiny().sample(indices, seed).x

    def _read(self, seed: int) -> Tensor:
        return torch.rand(PIXELS.shape, generator=generator("linear pictures", "pixels", seed)) < 0.5

    def _blank(self) -> nn.Sequential:
        entries = torch.Size(PIXELS.entries).numel()
        return nn.Sequential(nn.Flatten(), nn.Linear(entries, self.classes, bias=False, device="meta"))

    def _model(self, seed: int) -> nn.Module:
        return self._restored({"1.weight": self._weight(seed).flatten(1)})

    def _weight(self, seed: int) -> Tensor:
        """(classes, *entries)"""
        drawn = torch.randn(self.classes, *PIXELS.entries, generator=generator("linear pictures", seed))
        return drawn * self._read(seed)

    def _trained(self, x: Tensor, label: Tensor, seed: int) -> nn.Module:
        """From zero weights, by full-batch Adam: the seed changes nothing."""
        weight = torch.zeros(self.classes, x[0].numel(), requires_grad=True)
        optimiser = torch.optim.Adam([weight], lr=0.05, weight_decay=1e-3)
        with torch.enable_grad():
            for _ in range(150):
                optimiser.zero_grad()
                nn.functional.cross_entropy(x.flatten(1) @ weight.T, label).backward()
                optimiser.step()
        return self._restored({"1.weight": weight.detach()})

    def _restored(self, weights: Mapping[str, Tensor]) -> nn.Module:
        model = self._blank()
        model.load_state_dict(dict(weights), assign=True)
        return model.requires_grad_(False).eval()


@dataclass(frozen=True)
class Place:
    """Where controls are measured."""

    name: str
    environment: Any  # an object, or a spec
    samples: int
    honest: Mapping[str, tuple[str, str | None]]  # by label: a method, and its baseline if not the environment's
    only: str = ""  # metrics whose name begins so
    without: Mapping[str, str] = field(default_factory=dict)  # metrics that are left out, and why

    def built(self) -> Any:
        if not isinstance(self.environment, str):
            return self.environment
        return build("environments", resolve("environments", Spec.parse(self.environment)))


def converged(steps: int) -> str:
    return f"integrated_gradients(steps={steps}, quadrature='gauss_legendre')"


DESIGNED = {
    "IG": (converged(512), None),
    "IG*": (converged(512), "true"),
    "InputXGradient": ("input_x_gradient", None),
    "Occlusion": ("occlusion", None),
    "GradCAM": ("grad_cam", None),
}
RETRAINING = {"roar": "not measured: retrains a network for every map and share"}
PLACES = (
    Place("linear", LinearPictures(), 64, {"InputXGradient": ("input_x_gradient", None)}),
    Place("colour count", "color_count(side=32, unseen=False)", 32, DESIGNED),
    Place("colour count with unseen-data effect", "color_count(side=32)", 32, DESIGNED),
    Place(
        "CIFAR-10",
        "cifar",
        32,
        {
            "IG": (converged(128), None),
            "InputXGradient": ("input_x_gradient", None),
            "Occlusion": ("occlusion", None),
            "GradCAM": ("grad_cam", None),
        },
        without=RETRAINING,
    ),
    Place(
        "pixel modulo",
        "pixel_modulo(side=32)",
        32,
        {name: DESIGNED[name] for name in ("IG", "InputXGradient", "Occlusion")},
        only="modulo_",
    ),
)

Kept = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Answers:
    """The maps of all methods and controls, of the same samples."""

    setting: Setting
    samples: Samples
    methods: Mapping[str, Any]  # by label
    queries: Mapping[str, Query]
    maps: Mapping[str, Tensor]
    stream: str

    def judged(self, spec: Spec) -> dict[str, Evidence]:
        metric = build("metrics", spec)
        target, stream = self.queries[CONTROLS[0]].target, Stream("metric", str(spec), self.stream)
        scene = Scene(self.setting, self.samples, self.setting.question, target, stream, MACHINE)
        probe = metric.probe(scene) if isinstance(metric, Probing) else None
        return {
            label: metric(make_trial(metric, self.methods[label], self.queries[label], scene, attribution, probe))
            for label, attribution in self.maps.items()
        }


def answered(place: Place) -> Answers:
    environment = place.built()
    setting = environment.setting(SEED, environment.train(SEED) if isinstance(environment, Trained) else {})
    samples = environment.sample(range(place.samples), SEED)
    methods, queries, maps, stream = {}, {}, {}, str(place.environment)
    for label, (spec, baseline) in {**place.honest, **{name: (name, None) for name in CONTROLS}}.items():
        say(f"{place.name}: {label}")
        methods[label] = build("methods", resolve("methods", Spec.parse(spec)))
        asked = Question(baseline=baseline)
        queries[label] = make_query(setting, samples, asked, Stream("method", label, stream, SEED), MACHINE)
        maps[label] = attribute(methods[label], queries[label])
    return Answers(setting, samples, methods, queries, maps, stream)


def measured(place: Place, metrics: Iterable[str]) -> Iterator[tuple[str, Kept]]:
    """By metric, what was found: the best method, and how far each control is behind it."""
    answers = answered(place)
    for name in metrics:
        spec = resolve("metrics", Spec.parse(SPECS.get(name, name)))
        if spec.name in place.without:
            yield name, {"skipped": place.without[spec.name]}
            continue
        say(f"{place.name}: {name}")
        try:
            yield name, compared(build("metrics", spec), answers.judged(spec), list(place.honest))
        except NotApplicable as error:
            yield name, {"skipped": str(error)}


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


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


# The page


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
    """What the metric's card says in ``controls``; empty where every control loses."""
    left, found = unbeaten(kept, metric), []
    for how, words in (("wins", "better than every method tried"), ("even", "not told apart from the best method")):
        places: dict[str, list[str]] = {}  # by the controls that do so
        for place, controls in left.items():
            if names := [name for name, what in controls.items() if what == how]:
                places.setdefault(listed(names), []).append(place)
        told = [f"{names} ({listed(where)})" for names, where in places.items()]
        found += [f"{words}: {', '.join(told)}"] if told else []
    return "; ".join(found)


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

One seed (0), so that intervals are over samples of these models, not over models. What is even or won is also on the
metric's card (`controls`; `assay show NAME`), and `assay run` prints below its tables which controls do as well as
which methods. Written by `python docs/make_controls.py`, from the results kept in `controls.json`; `make test` compares
the two and the cards.
"""


def page(kept: Kept) -> str:
    parts = [HEAD, "## Where a control does not lose\n", "Empty where a metric does not apply.\n"]
    parts += ["\n".join(summary(kept)) + "\n"]
    for place in kept["places"]:
        parts += [f"## {place['name'][0].upper()}{place['name'][1:]}\n", setting(place), "\n".join(table(place)) + "\n"]
    parts += ["## Metrics that do not claim faithfulness\n", "| metric | why it is not here |", "|---|---|"]
    parts += [f"| {metric} | {why} |" for metric, why in sorted(kept["not about faithfulness"].items())]
    return "\n".join(parts) + "\n"


def summary(kept: Kept) -> Iterator[str]:
    names = [place["name"] for place in kept["places"]]
    yield f"| metric | {' | '.join(names)} |"
    yield "|---" * (len(names) + 1) + "|"
    for metric in sorted({metric for place in kept["places"] for metric in place["metrics"]}):
        left = unbeaten(kept, metric)
        cells = [_summed(place["metrics"].get(metric), left.get(place["name"], {})) for place in kept["places"]]
        yield f"| {metric} | {' | '.join(cells)} |"


def _summed(found: Kept | None, left: Mapping[str, str]) -> str:
    if found is None or "behind" not in found:
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
        yield f"| {SPECS.get(metric, metric)} {arrow} | {best} | {' | '.join(cells)} |"
    skipped: dict[str, list[str]] = {}
    for metric, found in sorted(place["metrics"].items()):
        if "skipped" in found:
            skipped.setdefault(found["skipped"], []).append(metric)
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


def remeasured(names: Sequence[str]) -> Kept:
    """What is kept, with these metrics measured again; all of them where none is named."""
    before = {place["name"]: place["metrics"] for place in read()["places"]} if names else {}
    every = sorted([*catalogue("metrics"), *aliases("metrics")])
    claiming = [name for name in every if name not in NOT_ABOUT_FAITHFULNESS]
    everything = [*claiming, *VARIANTS]
    if unknown := set(names) - set(claiming):
        sys.exit(f"{', '.join(sorted(unknown))}: no metric that claims faithfulness. Known: {', '.join(claiming)}")
    places = []
    for place in PLACES:
        wanted = [
            one for one in everything if one.startswith(place.only) and Spec.parse(one).name in (names or claiming)
        ]
        found = {**before.get(place.name, {}), **dict(measured(place, wanted) if wanted else ())}
        places.append(
            {
                "name": place.name,
                "environment": str(place.environment),
                "samples": place.samples,
                "methods": place.honest,
                "metrics": dict(sorted(found.items())),
            }
        )
    return {"seed": SEED, "level": CONFIDENCE, "places": places, "not about faithfulness": NOT_ABOUT_FAITHFULNESS}


def main(arguments: Sequence[str]) -> None:
    if list(arguments) != ["--page"]:
        KEPT.write_text(json.dumps(remeasured(arguments), indent=1) + "\n", encoding="utf-8")
    kept = read()
    PAGE.write_text(page(kept), encoding="utf-8")
    names = (*catalogue("metrics"), *aliases("metrics"))
    told = {name: text for name in sorted(names) if (text := card_fact(kept, name))}
    CARDS.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {PAGE} and {CARDS}")


if __name__ == "__main__":
    main(sys.argv[1:])
