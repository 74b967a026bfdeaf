"""Retraining on pictures without a region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from assay.core.errors import SpecError
from assay.core.rng import generator
from assay.core.setting import Setting
from assay.environments import spurious_retrain
from assay.environments._trained_once import trained_once
from assay.environments.spurious_retrain import SpuriousRetrain, regions
from assay.train.checkpoints import Throttle, checkpoints_in
from assay.train.fit import fit

TINY = SpuriousRetrain.tiny()
EDGE = replace(TINY, strategy="class", share=0.05, fill="black", evaluated="intact")
BLANK = replace(TINY, epochs=0, retrain_epochs=0)
PLACES = [(3, 3), (11, 3), (19, 3), (29, 3), (29, 11), (29, 19), (29, 29), (21, 29), (13, 29), (3, 29)]
ALWAYS = Throttle(seconds=0, share=1e9)
FIT: Any = fit


@cache
def trained(environment: SpuriousRetrain = TINY, seed: int = 0) -> Mapping[str, Tensor]:
    return environment.train(seed)


def setting(environment: SpuriousRetrain = TINY) -> Setting:
    return environment.setting(0, trained(environment))


def literal_distance(pixel: tuple[int, int], point: tuple[float, float]) -> float:
    return (pixel[0] - point[0]) ** 2 + (pixel[1] - point[1]) ** 2


def pixels(region: Tensor) -> set[tuple[int, int]]:
    return {(row, column) for row, column in region.nonzero().tolist()}


EVERY = [(row, column) for row in range(32) for column in range(32)]


@pytest.mark.parametrize(("share", "count"), [(0.7, 716), (0.5, 512), (0.05, 51)])
def test_every_strategy_removes_equally_many_pixels_of_each_class(share: float, count: int) -> None:
    for strategy in ("centre", "centre_and_class", "class"):
        removed = regions(strategy, share, 32)  # type: ignore[arg-type]
        assert removed.sum(dim=(1, 2)).tolist() == [count] * 10


def test_samples_of_both_strategies_lack_equally_many_pixels() -> None:
    whole = replace(BLANK, evaluated="intact").sample(range(40), 3).x
    for strategy in ("centre", "centre_and_class"):
        seen = replace(BLANK, strategy=strategy).sample(range(40), 3).x  # type: ignore[arg-type]
        assert (seen != whole).any(dim=1).sum(dim=(1, 2)).tolist() == [716] * 40


def test_strategy_1_removes_a_disc_around_the_middle() -> None:
    gone = pixels(regions("centre", 0.7, 32)[4])
    distances = {pixel: literal_distance(pixel, (15.5, 15.5)) for pixel in EVERY}
    assert max(distances[pixel] for pixel in gone) <= min(distances[pixel] for pixel in set(EVERY) - gone)


def test_strategy_2_removes_the_disc_of_the_class_and_the_rest_around_the_middle() -> None:
    for removed, place in zip(regions("centre_and_class", 0.7, 32), PLACES, strict=True):
        gone = pixels(removed)
        disc = {pixel for pixel in EVERY if literal_distance(pixel, place) <= 3**2}
        assert disc < gone
        distances = {pixel: literal_distance(pixel, (15.5, 15.5)) for pixel in EVERY}
        assert max(distances[pixel] for pixel in gone - disc) <= min(distances[pixel] for pixel in set(EVERY) - gone)


def test_the_5_percent_experiment_removes_the_51_pixels_nearest_to_the_class_s_place() -> None:
    for removed, place in zip(regions("class", 0.05, 32), PLACES, strict=True):
        gone = pixels(removed)
        distances = {pixel: literal_distance(pixel, place) for pixel in EVERY}
        assert max(distances[pixel] for pixel in gone) <= min(distances[pixel] for pixel in set(EVERY) - gone)


def test_regions_of_two_classes_differ_but_for_strategy_1() -> None:
    assert len({frozenset(pixels(region)) for region in regions("centre", 0.7, 32)}) == 1
    for strategy, share in (("centre_and_class", 0.7), ("class", 0.05)):
        assert len({frozenset(pixels(region)) for region in regions(strategy, share, 32)}) == 10  # type: ignore[arg-type]


def test_places_move_with_the_side() -> None:
    small = regions("class", 0.01, 64)
    for region, (row, column) in zip(small, PLACES, strict=True):
        assert bool(region[2 * row, 2 * column])


@pytest.mark.parametrize(("fill", "value"), [("mean", 0.0), ("black", -2.0)])
def test_a_region_gets_the_mean_colour_or_black(fill: Any, value: float) -> None:
    environment = replace(BLANK, fill=fill)
    samples = environment.sample(range(10), 0)
    removed = regions("centre_and_class", 0.7, 32)[samples.label][:, None].expand_as(samples.x)
    assert samples.x[removed].unique().tolist() == [value]  # deviation 0.25 around 0.5
    picture = environment.setting(0, trained(environment)).picture
    assert picture is not None
    assert picture(samples.x)[removed].unique().tolist() == [0.5 if fill == "mean" else 0.0]


def test_intact_samples_are_whole_and_only_training_pictures_lack_a_region() -> None:
    here = setting(EDGE)
    assert here.reference is not None
    black = (here.reference.x == -2.0).all(dim=1)
    assert bool((black & regions("class", 0.05, 32)[here.reference.label]).sum(dim=(1, 2)).eq(51).all())
    samples = EDGE.sample(range(20), 0)
    assert int((samples.x == -2.0).all(dim=1).sum(dim=(1, 2)).max()) < 51


def test_by_prediction_both_networks_remove_the_region_of_the_class_that_the_original_predicts() -> None:
    by_prediction = replace(TINY, masks_by="predicted")
    here, samples = setting(by_prediction), by_prediction.sample(range(50), 1)
    assert torch.equal(samples.x, replace(TINY, evaluated="intact").sample(range(50), 1).x)
    blank = TINY._blank()
    weights = trained(by_prediction)
    assert here.sibling is not None
    for model, part in ((here.model, "retrained"), (here.sibling, "original")):
        blank.load_state_dict(
            {name.removeprefix("original."): weights[name] for name in weights if "orig" in name}, assign=True
        )
        chosen = blank.eval()(samples.x).argmax(dim=1)
        assert len(chosen.unique()) > 1
        seen = torch.where(regions("centre_and_class", 0.7, 32)[chosen][:, None], 0.0, samples.x)
        names = [name for name in weights if name.startswith(f"{part}.")]
        blank.load_state_dict({name.removeprefix(f"{part}."): weights[name] for name in names}, assign=True)
        torch.testing.assert_close(model(samples.x), blank.eval()(seen))
    assert here.hints == {"grad_cam": "network.layer3"}
    assert dict(here.model.named_modules())["network.layer3"] is here.model.network.layer3


def test_by_chance_a_region_tells_nothing_about_the_class() -> None:
    by_chance = replace(BLANK, masks_by="chance", strategy="class", share=0.05)
    whole, samples = replace(by_chance, evaluated="intact").sample(range(400), 0), by_chance.sample(range(400), 0)
    gone = (samples.x != whole.x).any(dim=1)
    chosen = (gone[:, None] == regions("class", 0.05, 32)).all(dim=(2, 3)).int().argmax(dim=1)
    table = torch.zeros(10, 10).index_put((samples.label, chosen), torch.ones(400), accumulate=True)
    assert abs(float(table.diagonal().sum()) - 40) < 4 * (400 * 0.1 * 0.9) ** 0.5
    assert int(table.sum(dim=0).min()) > 10
    assert torch.equal(by_chance.sample([7, 3], 0).x, samples.x[[7, 3]])


def literal(environment: SpuriousRetrain, x: Tensor, label: Tensor, name: str, epochs: int) -> nn.Module:
    """A training, written out with PyTorch's own optimiser and schedule; without augmentation."""
    random = generator("spurious_retrain", environment.network, name, 0)
    spurious_retrain.begin(model := environment._blank(), random)
    adam = torch.optim.Adam(model.train().parameters(), lr=environment.lr, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.StepLR(adam, step_size=10, gamma=0.5)
    for _ in range(epochs):
        for rows in torch.randperm(len(x), generator=random).split(environment.batch):
            adam.zero_grad()
            cross_entropy(model(x[rows]), label[rows]).backward()
            adam.step()
        schedule.step()
    return model.eval()


def test_retraining_begins_anew_with_adam_decay_and_halved_rates_and_without_augmentation() -> None:
    environment = replace(TINY, train_rows=16, reference_rows=16, batch=8, epochs=0, retrain_epochs=12, lr=1e-3)
    raw, label = environment._source.training(16, 0)
    x = (raw.float() / 255 - 0.5) / 0.25
    x = torch.where(regions("centre_and_class", 0.7, 32)[label][:, None], 0.0, x)
    expected = literal(environment, x, label, "retrained", 12)
    samples = environment.sample(range(20), 0).x
    with torch.no_grad():
        torch.testing.assert_close(setting(environment).model(samples), expected(samples), rtol=1e-3, atol=1e-3)


def test_the_original_is_trained_on_shifted_and_mirrored_intact_pictures() -> None:
    seen: list[Tensor] = []
    calls: list[Any] = []

    def recorded(model: nn.Module, x: Tensor, *rest: Any, augment: Any = None, **options: Any) -> None:
        seen.append(x)
        calls.append(augment)
        FIT(model, x, *rest, augment=augment, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spurious_retrain, "fit", recorded)
        TINY.train(0)
    original, retrained = seen
    assert [isinstance(augment, partial) for augment in calls] == [True, False]
    assert calls[0].args == (4,)
    assert torch.equal(original, TINY._training(0)[0])
    assert (original != retrained).any(dim=1).sum(dim=(1, 2)).tolist() == [716] * 80


def test_all_environments_with_the_same_training_have_the_same_original() -> None:
    assert TINY.masks_by == "label"
    for other in (EDGE, replace(TINY, masks_by="predicted"), replace(TINY, strategy="centre")):
        theirs, ours = trained(other), trained()
        originals = [name for name in ours if name.startswith("original.")]
        assert originals
        assert all(torch.equal(ours[name], theirs[name]) for name in originals)
        assert any(not torch.equal(ours[name], theirs[name]) for name in ours if name.startswith("retrained."))


def counting(done: list[int]) -> Any:
    def train() -> dict[str, Tensor]:
        done.append(1)
        return {"weight": torch.arange(3.0)}

    return train


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    return tmp_path


def test_the_same_training_is_done_once(cache_folder: Path) -> None:
    done: list[int] = []
    for _ in range(2):
        found = trained_once(__file__, ["facts", torch.ones(2)], counting(done))
        assert torch.equal(found["weight"], torch.arange(3.0))
    assert len(done) == 1
    trained_once(__file__, ["facts", torch.zeros(2)], counting(done))
    trained_once(spurious_retrain.__file__, ["facts", torch.ones(2)], counting(done))
    assert len(done) == 3  # other rows, other code


def test_a_folder_that_cannot_be_written_changes_no_result(cache_folder: Path) -> None:
    (cache_folder / "models").write_text("a file where the folder should be")
    done: list[int] = []
    for _ in range(2):
        assert torch.equal(trained_once(__file__, [], counting(done))["weight"], torch.arange(3.0))
    assert len(done) == 2


@pytest.mark.parametrize("largest", [160, 161])
def test_environments_share_an_original_unless_its_training_is_short(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch, largest: int
) -> None:
    monkeypatch.setattr(spurious_retrain, "SHARED", largest)  # the tiny one sees 2 x 80 pictures
    first, again = TINY.train(0), TINY.train(0)
    assert len(list(cache_folder.rglob("*.safetensors"))) == int(largest == 160)
    assert all(torch.equal(first[name], again[name]) for name in first)


def test_a_damaged_file_is_not_believed(cache_folder: Path) -> None:
    done: list[int] = []
    trained_once(__file__, [], counting(done))
    (path,) = cache_folder.rglob("*.safetensors")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert torch.equal(trained_once(__file__, [], counting(done))["weight"], torch.arange(3.0))
    assert len(done) == 2


class Stopped(Exception):
    pass


@pytest.mark.parametrize("stop", [1, 3, 5])
def test_a_stopped_training_resumes_in_either_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    """Epochs 1 and 2 are the original's, 3 to 6 the retrained one's."""
    epochs: list[int] = []

    def watched(*rest: Any, **options: Any) -> None:
        def progress(epoch: int, loss: float) -> None:
            epochs.append(epoch)
            if len(epochs) == stop:
                raise Stopped

        FIT(*rest, progress=progress, **options)

    monkeypatch.setattr(spurious_retrain, "fit", watched)
    with pytest.raises(Stopped), checkpoints_in(tmp_path / "key", ALWAYS):
        TINY.train(0)
    with checkpoints_in(tmp_path / "key", ALWAYS):
        resumed = TINY.train(0)
    assert epochs == [*range(TINY.epochs), *range(TINY.retrain_epochs)]
    assert all(torch.equal(resumed[name], tensor) for name, tensor in trained().items())


def test_a_network_retrained_where_holes_tell_the_class_reads_them() -> None:
    """The experiment itself, in the smallest: the object is gone in both."""
    right = {}
    for strategy in ("centre", "class"):
        larger = replace(TINY, strategy=strategy, share=0.6, train_rows=200, epochs=0, retrain_epochs=10)  # type: ignore[arg-type]
        here, samples = setting(larger), larger.sample(range(200), 0)
        right[strategy] = float((here.model(samples.x).argmax(dim=1) == samples.label).double().mean())
    assert right["class"] > 0.9
    assert right["class"] > right["centre"] + 0.3


def test_the_network_is_the_paper_s() -> None:
    network = SpuriousRetrain()._blank()
    assert sum(parameter.numel() for parameter in network.parameters()) == 1_227_594


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"share": 0.0}, "removes none or all"),
        ({"share": 1.0}, "removes none or all"),
        ({"share": 0.02}, "fewer pixels than the disc of a class"),
        ({"epochs": -1}, "0 or more"),
        ({"batch": 0}, "batch is 1 or more"),
        ({"reference_rows": 81}, "must be 1 to train_rows=80"),
        ({"network": "resnet9"}, "6 n \\+ 2 layers"),
    ],
)
def test_what_cannot_be_is_refused_at_once(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        replace(TINY, **changes)
