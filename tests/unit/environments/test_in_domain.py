"""Fine-tuning on inputs without one cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Generator, Tensor
from torch.nn.functional import cross_entropy

from assay.catalogue.build import build, describe
from assay.catalogue.registry import resolve
from assay.check.contracts.environment_case import EnvironmentCase
from assay.check.contracts.environments import CONTRACTS
from assay.check.contracts.fault import examine
from assay.core.errors import SpecError
from assay.core.rng import generator
from assay.core.setting import Setting
from assay.core.spec import Spec
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.model import make_place
from assay.engine.execute.run import run
from assay.engine.store.store import Store
from assay.environments._inside import training_rows
from assay.environments.beside import Beside
from assay.environments.cifar import Cifar
from assay.environments.color_count import ColorCount
from assay.environments.in_domain import InDomain
from assay.environments.pixel_count import PixelCount
from assay.environments.tabular_rule import TabularRule
from assay.studies.file import read

TINY = InDomain.tiny()
TABLE = InDomain(TabularRule.tiny(), epochs=5, batch=40, step=2)
WRITTEN = (
    "in_domain(of=cifar(dataset='drawn', network='resnet8', weights='trained', width=4, train_rows=96, "
    "reference_rows=16, epochs=2, batch=16, lr=0.01), epochs=1)"
)


@cache
def trained(environment: InDomain = TINY, seed: int = 0) -> Mapping[str, Tensor]:
    return environment.train(seed)


def setting(environment: InDomain = TINY) -> Setting:
    return environment.setting(0, trained(environment))


def right(model: Any, x: Tensor, label: Tensor) -> float:
    with torch.no_grad():
        return float((model(x).argmax(dim=1) == label).double().mean())


def test_samples_and_question_are_the_other_s_and_its_model_is_the_sibling() -> None:
    ours, theirs = setting(), TINY.of.setting(0, TINY.of.train(0))  # type: ignore[attr-defined]
    x = TINY.sample(range(8), 3).x
    assert torch.equal(x, TINY.of.sample(range(8), 3).x)
    assert ours.sibling is not None
    assert torch.equal(ours.sibling(x), theirs.model(x))
    assert not torch.equal(ours.model(x), theirs.model(x))
    assert (ours.question, ours.features, ours.classes, ours.hints) == (
        theirs.question,
        theirs.features,
        theirs.classes,
        theirs.hints,
    )
    assert ours.forward is ours.recipe is None


def test_weights_hold_both_models_and_follow_from_the_seed() -> None:
    first, other = trained(TABLE), trained(TABLE, seed=1)
    assert {name.partition(".")[0] for name in first} == {"of", "model"}
    assert not torch.equal(first["model.network.0.weight"], other["model.network.0.weight"])


def test_without_a_cell_it_is_right_more_often_than_before_and_no_less_with_all_of_them() -> None:
    samples, here = TINY.sample(range(300), 1), setting()
    holes = samples.x.clone()
    for index in range(300):
        row, column = 3 * (index % 4), 3 * (index // 4 % 4)
        holes[index, :, row : row + 3, column : column + 3] = 0
    assert here.sibling is not None
    assert right(here.model, holes, samples.label) > right(here.sibling, holes, samples.label)
    assert right(here.model, samples.x, samples.label) >= right(here.sibling, samples.x, samples.label) - 0.01


@pytest.mark.parametrize(("canvas", "value"), [("zero", 0.0), (0.7, 0.7)])
def test_half_of_the_views_lack_one_cell_each_cell_as_often_as_another(canvas: Any, value: float) -> None:
    environment, count = replace(TINY, shift=0, canvas=canvas, grid=(4, 3)), 6000
    x = 2 + torch.rand(count, 3, 12, 12, generator=generator("views"))
    seen = environment._view(setting(), x, generator("test"))
    gone = (seen != x).any(dim=1)
    assert torch.equal(seen[gone[:, None].expand_as(x)], torch.full_like(seen, value)[gone[:, None].expand_as(x)])
    cells = gone.view(count, 4, 3, 3, 4).transpose(2, 3).flatten(3).flatten(1, 2)  # (N, cells, pixels)
    assert torch.equal(cells.any(dim=2), cells.all(dim=2))  # whole cells
    assert cells.any(dim=2).sum(dim=1).max() == 1
    missing = cells.any(dim=2).double().mean(dim=0)
    assert abs(float(missing.sum()) - 0.5) < 4 * (0.25 / count) ** 0.5
    assert float((missing - 1 / 24).abs().max()) < 4 * (1 / 24 / count) ** 0.5


def test_images_are_moved_before_a_cell_is_left_out() -> None:
    x = 2 + torch.rand(500, 3, 12, 12, generator=generator("views"))
    seen = replace(TINY, shift=2)._view(setting(), x, generator("test"))
    whole = seen[(seen != 0).flatten(1).all(dim=1)]
    assert 0 < len(whole) < 60  # not moved, and no cell: 1 in 50
    holes = (seen == 0).all(dim=1)
    corner = holes[:, 3:6, 3:6].flatten(1)  # no border of up to 2 pixels reaches the second cell
    assert torch.equal(corner.any(dim=1), corner.all(dim=1))


@pytest.mark.parametrize(("canvas", "value"), [("zero", 0.0), (0.7, 0.7)])
@pytest.mark.parametrize(("share", "count"), [(0.1, 14), (0.15, 22)])
def test_with_masks_of_features_every_view_lacks_exactly_that_share_of_the_pixels(
    canvas: Any, value: float, share: float, count: int
) -> None:
    environment, views = replace(TINY, shift=0, canvas=canvas, masks="features", share=share), 2000
    x = 2 + torch.rand(views, 3, 12, 12, generator=generator("views"))
    seen = environment._view(setting(), x, generator("test"))
    gone = (seen != x).any(dim=1)
    everywhere = gone[:, None].expand_as(x)  # all channels
    assert torch.equal(seen[everywhere], torch.full_like(seen, value)[everywhere])
    missing = gone.flatten(1)
    assert (missing.sum(dim=1) == count).all()
    chance = count / 144
    error = (chance * (1 - chance) / views) ** 0.5
    assert float((missing.double().mean(dim=0) - chance).abs().max()) < 5 * error  # each pixel as often as another
    beside = (missing[:, :-1] & missing[:, 1:]).double().sum(dim=1).mean()
    together = 143 * chance * (count - 1) / 143
    assert abs(float(beside) - together) < 5 * (together / views) ** 0.5  # and anywhere: no cells


def test_features_are_drawn_anew_in_every_step() -> None:
    x, random = 2 + torch.rand(300, 3, 12, 12, generator=generator("views")), generator("test")
    environment, here = replace(TINY, shift=0, masks="features"), setting()
    first, second = (environment._view(here, x, random).eq(0).all(dim=1).flatten(1) for _ in range(2))
    common = (first & second).sum(dim=1).double()  # of 14 each
    assert abs(float(common.mean()) - 14 * 14 / 144) < 5 * (14 * 14 / 144 / 300) ** 0.5
    assert torch.equal(environment._view(here, x, generator("test")).eq(0).all(dim=1).flatten(1), first)


def test_fine_tuned_without_features_it_is_right_more_often_than_before_where_they_are_missing() -> None:
    environment = replace(TINY, masks="features", share=0.5)
    samples, here = TINY.sample(range(300), 1), setting(environment)
    holes = torch.rand(300, 1, 12, 12, generator=generator("holes")) < 0.5
    x = samples.x.masked_fill(holes, 0.0)
    assert here.sibling is not None
    assert right(here.model, x, samples.label) > right(here.sibling, x, samples.label) + 0.05


def test_with_masks_of_features_it_keeps_the_promises_of_an_environment() -> None:
    case = EnvironmentCase("in_domain(masks='features')", replace(TINY, masks="features"))
    assert examine(case, CONTRACTS) == []


def test_masks_are_written_and_are_part_of_the_key() -> None:
    texts = [WRITTEN.replace("epochs=1)", f"epochs=1{more})") for more in ("", ", masks='features'", ", share=0.2")]
    specs = [resolve("environments", Spec.parse(text)) for text in texts]
    assert [(made.masks, made.share) for made in (build("environments", spec) for spec in specs)] == [
        ("cell", 0.1),
        ("features", 0.1),
        ("cell", 0.2),
    ]
    assert len({make_place(Component("environments", spec), 0, 0).model.key for spec in specs}) == 3
    with pytest.raises(SpecError, match="masks"):
        resolve("environments", Spec.parse(WRITTEN.replace("epochs=1)", "epochs=1, masks='pixels')")))


def lacking_a_cell(x: Tensor, random: Generator) -> Tensor:
    """Half of the rows lack one column."""
    columns = torch.randint(x.shape[1], (len(x),), generator=random)
    lacking, seen = torch.rand(len(x), generator=random) < 0.5, x.clone()
    for row in range(len(x)):
        if lacking[row]:
            seen[row, columns[row]] = 0.0
    return seen


def lacking_features(x: Tensor, random: Generator) -> Tensor:
    """Every row lacks the two of eight columns with the smallest numbers."""
    numbers, seen = torch.rand(*x.shape, generator=random).tolist(), x.clone()
    for row, drawn in enumerate(numbers):
        for column in sorted(range(len(drawn)), key=drawn.__getitem__)[: round(0.3 * len(drawn))]:
            seen[row, column] = 0.0
    return seen


def literal(
    environment: InDomain, seed: int, lacking: Callable[[Tensor, Generator], Tensor] = lacking_a_cell
) -> Mapping[str, Tensor]:
    """Fine-tuning of a table's model, written out with PyTorch's own optimiser and schedule."""
    weights = environment.of.train(seed)  # type: ignore[attr-defined]
    here = environment.of.setting(seed, weights)
    assert here.reference is not None
    model, x, label = deepcopy(here.model).train().requires_grad_(), here.reference.x, here.reference.label
    random: Generator = generator("in_domain", seed)
    sgd = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.StepLR(sgd, step_size=environment.step, gamma=0.1)
    for _ in range(environment.epochs):
        order = torch.randperm(len(x), generator=random)
        for start in range(0, len(x), environment.batch):
            rows = order[start : start + environment.batch]
            sgd.zero_grad()
            cross_entropy(model(lacking(x[rows], random)), label[rows]).backward()
            sgd.step()
        schedule.step()
    return model.state_dict()


@pytest.mark.parametrize(("masks", "lacking"), [("cell", lacking_a_cell), ("features", lacking_features)])
def test_training_is_sgd_with_momentum_decay_and_steps_on_reference_rows(masks: Any, lacking: Any) -> None:
    environment = replace(TABLE, masks=masks, share=0.3)
    expected, found = literal(environment, 0, lacking), trained(environment)
    for name, tensor in expected.items():
        torch.testing.assert_close(found[f"model.{name}"], tensor, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(found["model.network.0.weight"], found["of.network.0.weight"])


def test_it_trains_on_all_rows_that_an_environment_offers_and_else_on_its_reference() -> None:
    here = setting()
    rows = training_rows(TINY.of, here, 0)
    assert len(rows.x) == len(rows.label) == 192
    assert here.reference is not None
    known = {row.numpy().tobytes() for row in rows.x}
    assert {row.numpy().tobytes() for row in here.reference.x} < known
    assert not {row.numpy().tobytes() for row in TINY.sample(range(100), 0).x} & known
    designed = ColorCount.tiny()
    assert len(training_rows(designed, designed.setting(0, {}), 0).x) == 16
    bare = ColorCount(side=16, sizes=(3, 6))
    with pytest.raises(SpecError, match=r"no training rows.*'reference'"):
        training_rows(bare, bare.setting(0, {}), 0)


@pytest.mark.parametrize("environment", [PixelCount.tiny(), replace(TabularRule.tiny(), model="forest")])
def test_what_cannot_be_fine_tuned_is_refused(environment: Any) -> None:
    with pytest.raises(SpecError, match="needs a classifier that answers with logits"):
        InDomain(environment).train(0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grid": (1, 1)}, "no cells to leave out"),
        ({"grid": (0, 4)}, "rows and columns"),
        ({"canvas": "blur"}, "no canvas 'blur'.*zero, true, mean, uniform or a number"),
        ({"epochs": -1}, "epochs and shift are 0 or more"),
        ({"batch": 0}, "batch and step 1 or more"),
        ({"masks": "features", "share": 0.0}, "share=0.0 of the features must lie between 0 and 1"),
        ({"masks": "features", "share": 1.0}, "share=1.0 of the features"),
    ],
)
def test_what_cannot_be_is_refused_at_once(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        replace(TINY, **changes)


def test_a_model_that_fine_tuning_ruins_is_refused() -> None:
    ruined = InDomain(replace(ColorCount.tiny(), reference=64), epochs=2, batch=16, grid=(2, 2))
    with pytest.raises(SpecError, match=r"ruined the model.* fell from 100% to .* smaller lr than 0\.005"):
        ruined.train(0)


def test_around_another_one_rows_are_those_that_the_innermost_trains_on() -> None:
    inner = TINY.of
    wrapped = Beside(inner, replace(inner, epochs=1))  # type: ignore[type-var]
    place = inner.setting(0, inner.train(0))  # type: ignore[attr-defined]
    for environment in (TINY, wrapped, InDomain(wrapped)):
        assert len(training_rows(environment, place, 0).x) == len(training_rows(inner, place, 0).x) == 192


def test_hints_about_another_sibling_are_not_passed_on() -> None:
    beside = Beside.tiny()
    before = beside.setting(0, weights := beside.train(0))
    assert any(name.startswith("sibling.") for name in before.hints)
    around = InDomain(beside, epochs=0)
    found = around.setting(0, around.train(0))
    assert found.hints == {name: hint for name, hint in before.hints.items() if not name.startswith("sibling.")}
    assert weights


def test_it_is_written_with_the_environment_inside() -> None:
    spec = resolve("environments", Spec.parse(WRITTEN))
    made = build("environments", spec)
    assert isinstance(made.of, Cifar)
    assert (made.of.train_rows, made.epochs, made.lr) == (96, 1, 0.005)
    assert describe(made) == spec
    assert describe(TINY) == resolve("environments", describe(TINY))
    with pytest.raises(SpecError, match="in_domain needs a value for 'of' \\(Environment\\)"):
        resolve("environments", Spec.parse("in_domain"))
    with pytest.raises(SpecError, match="unknown environment 'gradient'"):
        resolve("environments", Spec.parse("in_domain(of=gradient())"))
    with pytest.raises(SpecError, match="cifar has no parameter 'colour'"):
        resolve("environments", Spec.parse("in_domain(of=cifar(colour=3))"))


def test_a_key_follows_the_environment_inside() -> None:
    written = [WRITTEN, WRITTEN.replace("width=4", "width=8"), WRITTEN.replace("epochs=1)", "epochs=2)")]
    places = [
        make_place(Component("environments", resolve("environments", Spec.parse(text))), 0, 0) for text in written
    ]
    assert len({found.model.key for found in places}) == 3
    assert len({found.data_key for found in places}) == 3


def test_a_study_scores_both_models_and_what_lies_between_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    metrics = ["single_deletion", "output_difference", "attribution_difference", "top_images(k=2)"]
    table = {"environments": [WRITTEN], "methods": ["grad_cam", "random_map"], "metrics": metrics}
    study = read({**table, "samples": 8, "block": 4, "gallery": 0}, "between")
    run(study, tmp_path / "store")
    records = Store.open(tmp_path / "store", create=False).dump()
    assert {row["status"] for row in records} == {"ok"}
    assert sum(row["kind"] == "probe" for row in records) == 6  # three metrics, two blocks, one for both methods
    assert sum(row["kind"] == "score" for row in records) == 8
