"""Checks of the metrics about named parts of the input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.core.errors import NotApplicable, SpecError
from assay.core.evidence import Evidence
from assay.core.trial import Scene, Trial
from oracles.metrics.refusals import refuses
from oracles.metrics.scenes import PIXELS, VALUE, Lambda, image_scene, numbers, scene

Make = Callable[..., Any]
PARTS = {"left": torch.zeros(6, 6, dtype=torch.bool), "all": torch.ones(6, 6, dtype=torch.bool)}
PARTS["left"][1:5, :3] = True
PAGE = 2.0  # the environment's baseline
CLASSES = 3


def parted(where: Scene) -> Scene:
    """The scene in an environment that names two parts and whose baseline is not zero."""
    question = replace(where.setting.question, baseline=PAGE)
    return replace(where, setting=replace(where.setting, parts=PARTS, question=question))


def versions(row: Tensor, part: Tensor) -> dict[str, Tensor]:
    """A sample complete, without a part, the part alone, and nothing, pixel by pixel."""
    shown = {name: row.clone() for name in ("complete", "without", "alone", "nothing")}
    for down in range(6):
        for across in range(6):
            inside = bool(part[down, across])
            for name, lost in (("without", inside), ("alone", not inside), ("nothing", True)):
                if lost:
                    shown[name][:, down, across] = PAGE
    return shown


def outputs(where: Scene, row: Tensor) -> list[float]:
    with torch.no_grad():
        found: list[float] = where.setting.model(row[None])[0].tolist()
    return found


def judged(metric: Any, where: Scene, maps: Tensor | None = None) -> Any:
    """The evidence, which is the same with and without a probe made before."""
    maps = numbers(81, len(where.samples), 6, 6) if maps is None else maps
    found, again = metric(Trial(where, maps, metric.probe(where))), metric(Trial(where, maps))
    for name in found.rows:
        np.testing.assert_array_equal(found[name], again[name])
    return found


def right(where: Scene, shown: str, part: str) -> list[float]:
    """For each sample, whether the model is right about this version of it."""
    found = []
    for row, label in zip(where.samples.x, where.samples.label.tolist(), strict=True):
        answer = outputs(where, versions(row, PARTS[part])[shown])
        found.append(float(answer.index(max(answer)) == label))
    return found


def labelled(where: Scene, hits: dict[str, list[bool]]) -> Scene:
    """A model that is right about each version of sample i as listed, and the labels 0, 1, 2, 0, ...

    Samples are known by the pixel (0, 5), which lies outside of the part, or by (2, 1), which lies inside.
    """
    x = torch.full((len(hits["complete"]), *PIXELS.entries), PAGE, dtype=torch.float64)
    x[:, :, 0, 5] = x[:, :, 2, 1] = torch.arange(10.0, 10 + len(x), dtype=torch.float64)[:, None]

    def answer(rows: Tensor) -> Tensor:
        found = torch.zeros(len(rows), CLASSES, dtype=torch.float64)
        for index, row in enumerate(rows.detach()):
            outside, inside = float(row[0, 0, 5]), float(row[0, 2, 1])
            number = int(max(outside, inside)) - 10
            name = "complete" if outside == inside else "without" if outside > inside else "alone"
            known = 0 <= number < len(x)
            found[index, (number + (known and not hits[name][number])) % CLASSES] = 1
        return found

    return parted(scene(x, Lambda(answer), PIXELS))


def hits_of(complete: list[bool], without: list[bool], alone: list[bool]) -> dict[str, list[bool]]:
    return {"complete": complete, "without": without, "alone": alone}


def check_ignores_part(make: Make) -> None:
    where = parted(image_scene(12))
    for part in PARTS:
        evidence = judged(make(part=part), where)
        for name in ("complete", "without", "alone"):
            assert evidence[name].tolist() == right(where, name, part)
        np.testing.assert_allclose(evidence["chance"], [1 / CLASSES] * 12, rtol=1e-6)
    left = {name: right(where, name, "left") for name in ("complete", "without", "alone")}
    assert len({tuple(row) for row in left.values()}) == 3
    yes, third = [True] * 30, [number % 3 == 0 for number in range(30)]
    most, nearly = [number != 7 for number in range(30)], [number % 3 == 0 or number < 4 for number in range(30)]
    rule = {
        "ignored": (hits_of(yes, yes, third), 1.0),
        "wrong about one": (hits_of(most, yes, third), 0.0),
        "wrong about one without": (hits_of(yes, most, third), 0.0),
        "right from the part": (hits_of(yes, yes, yes), 0.0),
        "wrong from the part": (hits_of(yes, yes, [False] * 30), 0.0),
        "nearly chance": (hits_of(yes, yes, nearly), 1.0),
    }
    for name, (hits, expected) in rule.items():
        metric = make(part="left")
        evidence = judged(metric, labelled(where, hits))
        assert metric.reduce(evidence).value == expected, name
    close = judged(make(part="left"), labelled(where, rule["nearly chance"][0]))
    assert make(part="left", tolerance=0.06).reduce(close).value == 0.0
    almost = judged(make(part="left"), labelled(where, rule["wrong about one"][0]))
    assert make(part="left", least=0.96).reduce(almost).value == 1.0
    _check_undefined_rows(make(part="left"))
    assert make().part == "centre"
    refuses(NotApplicable, "named parts", partial(make().probe, image_scene()))
    refuses(
        NotApplicable, "no part 'right' in this environment, only left, all", partial(make(part="right").probe, where)
    )
    value_only = scene(numbers(82, 3, 2, 6, 6), Lambda(lambda x: x.flatten(1).sum(1, keepdim=True)), PIXELS, VALUE)
    refuses(NotApplicable, "needs a classifier", partial(make(part="left").probe, parted(value_only)))
    refuses(SpecError, "least=1.5", partial(make, least=1.5))


def _check_undefined_rows(metric: Any) -> None:
    """A version without a finite answer makes its sample undefined, and undefined samples do not count."""
    x = numbers(83, 3, *PIXELS.entries)
    x[1, 0, 0, 0] = 7.0  # outside of the part
    model = Lambda(lambda rows: rows[:, 0, 2, :3] / (rows[:, 0, 0, :1] - 7.0))
    evidence = judged(metric, parted(scene(x, model, PIXELS)))
    assert evidence.defined.tolist() == [True, False, True]
    assert evidence["complete"][1] == evidence["chance"][1] == 0
    score = metric.reduce(evidence)
    assert (score.count, score.defined) == (3, 2)
    ignored = {name: np.array([*row, 0.0]) for name, row in (("complete", [1.0, 1.0]), ("without", [1.0, 1.0]))}
    ignored |= {"alone": np.array([1.0, 0.0, 0.0]), "chance": np.array([0.5, 0.5, 0.0])}
    assert metric.reduce(Evidence({**ignored, "defined": np.array([True, True, False])})).value == 1.0


def check_part_share(make: Make) -> None:
    where, maps = parted(image_scene(7)), numbers(84, 7, 6, 6)
    maps[3] = 0.0
    evidence = judged(make(part="left"), where, maps)
    sizes = maps.abs()
    expected = [float(size[1:5, :3].sum() / size.sum()) if number != 3 else 0.0 for number, size in enumerate(sizes)]
    np.testing.assert_allclose(evidence["value"], expected, rtol=1e-9)
    assert evidence.defined.tolist() == [number != 3 for number in range(7)]
    assert judged(make(part="all"), where, maps)["value"].tolist() == [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]
    for readout in ("logit", "probability"):
        asked = replace(
            where, setting=replace(where.setting, question=replace(where.setting.question, readout=readout))
        )
        found = judged(make(part="left", of="model"), asked, maps)
        np.testing.assert_allclose(found["value"], [shapley_share(asked, row, readout) for row in range(7)], rtol=1e-9)
        assert found.defined.all()
    flat = parted(scene(numbers(85, 3, *PIXELS.entries), Lambda(lambda x: 0 * x.flatten(1)[:, :3] + 1), PIXELS))
    assert not judged(make(part="left", of="model"), flat).defined.any()
    assert (make().part, make().of) == ("centre", "attribution")
    for of in ("attribution", "model"):
        refuses(NotApplicable, "named parts", partial(make(of=of).probe, image_scene()))
        refuses(NotApplicable, "named parts", partial(make(of=of), Trial(image_scene(), numbers(86, 5, 6, 6))))


def shapley_share(where: Scene, number: int, readout: str) -> float:
    """The part's absolute Shapley value among two players, over the orders in which they join."""
    shown, target = versions(where.samples.x[number], PARTS["left"]), int(where.target[number])

    def worth(name: str) -> float:
        answer = np.array(outputs(where, shown[name]))
        powers = np.exp(answer - answer.max())
        return float(answer[target] if readout == "logit" else powers[target] / powers.sum())

    part = [worth("alone") - worth("nothing"), worth("complete") - worth("without")]
    rest = [worth("complete") - worth("alone"), worth("without") - worth("nothing")]
    sizes = abs(sum(part) / 2), abs(sum(rest) / 2)
    return sizes[0] / sum(sizes)


def kept_parts_of_accuracy(make: Make) -> None:
    """Called by the check of accuracy."""
    where = parted(image_scene(12))
    for part in PARTS:
        assert judged(make(keep=part), where)["value"].tolist() == right(where, "alone", part)
    assert right(where, "alone", "left") != right(where, "complete", "left")
    refuses(NotApplicable, "named parts", partial(make(keep="left").probe, image_scene()))
    reference = where.setting.reference
    assert reference is not None
    rows = replace(where, samples=replace(where.samples, x=reference.x, label=reference.label, indices=(0, 1)))
    share = sum(right(rows, "alone", "left")) / 2
    assert judged(make(keep="left", on="training"), where)["value"].tolist() == [share] * 12
