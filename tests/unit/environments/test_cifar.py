from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from assay.core.errors import AssayError, SpecError
from assay.core.setting import Setting
from assay.data import models
from assay.environments.cifar import ROWS, Cifar
from assay.train.named import begin
from assay.train.resnet import resnet
from unit.data.fakes import picture_set, write_batches, write_sheets

TINY = Cifar.tiny()
SMALL = Cifar("cifar10", "resnet8", "trained", 2, train_rows=20, reference_rows=10, epochs=1, batch=8)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small CIFAR-10 and CIFAR-100 files, three images of each class."""
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    for dataset in ("cifar10", "cifar100"):
        write_batches(monkeypatch, tmp_path, dataset, each=3)
    return tmp_path


@cache
def trained(seed: int = 0) -> Mapping[str, Tensor]:
    return TINY.train(seed)


def setting(seed: int = 0) -> Setting:
    return TINY.setting(seed, trained(seed))


def contents(pixels: np.ndarray) -> set[bytes]:
    return {picture.tobytes() for picture in pixels}


def shown(environment: Cifar, x: Tensor) -> np.ndarray:
    """Samples as uint8 pictures (N, H, W, 3)."""
    made = environment.setting(0, environment.train(0)).picture
    assert made is not None
    return (255 * made(x)).round().byte().permute(0, 2, 3, 1).numpy()


def test_the_tiny_network_has_what_no_other_environment_has() -> None:
    kinds = [type(module).__name__ for module in setting().model.modules()]
    assert {"Conv2d", "BatchNorm2d", "Block", "AdaptiveAvgPool2d", "Decimate"} <= set(kinds)
    assert setting().model.average.output_size == 1
    assert setting().hints == {"grad_cam": "layer3"}


def test_the_tiny_network_has_learned_its_pictures() -> None:
    samples = TINY.sample(range(300), 1)
    right = setting().model(samples.x).argmax(dim=1) == samples.label
    assert float(right.float().mean()) > 0.7
    assert samples.truth is None
    assert samples.label.bincount(minlength=3).min() > 60


def test_drawn_pictures_are_not_called_cifar() -> None:
    assert setting().classes == ("bar across", "bar down", "disc")
    assert "not CIFAR" in " ".join((Cifar.__doc__ or "").split())


def test_bars_lie_and_stand_and_discs_are_round() -> None:
    samples = TINY.sample(range(200), 0)
    picture = setting().picture
    assert picture is not None
    bright = (picture(samples.x).min(dim=1).values > 0.5).float()
    extent = torch.stack([bright.amax(dim=dim).sum(dim=1) for dim in (2, 1)], dim=1)  # height, width
    across, down, disc = (extent[samples.label == label] for label in range(3))
    assert bool((across[:, 0] < across[:, 1]).all())
    assert bool((down[:, 0] > down[:, 1]).all())
    assert bool(((disc[:, 0] - disc[:, 1]).abs() <= 1).all())


def test_questions_are_about_the_logit_of_the_label_against_the_mean_colour() -> None:
    question = setting().question
    assert (question.readout, question.temperature, question.baseline, question.target) == (
        "logit",
        1.0,
        "zero",
        "label",
    )
    mean = setting().picture(torch.zeros(1, 3, 12, 12))  # type: ignore[misc]
    assert torch.equal(mean, torch.full((1, 3, 12, 12), 0.3))


def test_the_recipe_makes_the_trained_model_again() -> None:
    pixels, label = TINY._source.training(TINY.train_rows, 0)
    recipe = setting().recipe
    assert recipe is not None
    made = recipe.train(TINY._read(pixels), label, 0)
    assert all(torch.equal(tensor, trained()[name]) for name, tensor in made.state_dict().items())


def test_a_model_of_other_training_images_is_refused() -> None:
    wrong = {**trained(), ROWS: trained()[ROWS].flip(0)}
    with pytest.raises(AssayError, match=r"192 other training images of drawn.*another store"):
        TINY.setting(0, wrong)


def test_evaluated_samples_are_all_test_images_once_in_an_order_of_the_seed(files: Path) -> None:
    every = SMALL.sample(range(30), 5)
    assert contents(shown(SMALL, every.x)) == contents(picture_set("cifar10", "test", 3)[0])
    assert sorted(every.label.tolist()) == sorted([*range(10)] * 3)
    assert torch.equal(SMALL.sample([7, 2], 5).x, every.x[[7, 2]])
    other = SMALL.sample(range(30), 6)
    assert not torch.equal(other.x, every.x)
    assert contents(other.x.numpy()) == contents(every.x.numpy())


def test_labels_belong_to_their_images(files: Path) -> None:
    pixels, label = picture_set("cifar10", "test", 3)
    known = dict(zip((picture.tobytes() for picture in pixels), label.tolist(), strict=True))
    samples = SMALL.sample(range(30), 0)
    pictures = shown(SMALL, samples.x)
    assert [known[picture.tobytes()] for picture in pictures] == samples.label.tolist()


def test_an_index_beyond_the_test_set_is_refused(files: Path) -> None:
    with pytest.raises(AssayError, match=r"sample 30 was asked for, and cifar10 has 30 test images.*fewer samples"):
        SMALL.sample([1, 30], 0)


def test_reference_rows_are_some_of_the_training_rows_which_are_the_first_of_each_class(files: Path) -> None:
    reference = SMALL.setting(3, SMALL.train(3)).reference
    assert reference is not None
    pixels, label = picture_set("cifar10", "train", 3)
    first = np.concatenate([np.flatnonzero(label == one)[:2] for one in range(10)])
    assert len(reference.x) == len(reference.label) == 10
    assert contents(shown(SMALL, reference.x)) < contents(pixels[first])


def test_sheets_and_public_files_make_the_same_samples_and_the_same_model(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights, samples = SMALL.train(0), SMALL.sample(range(30), 0)
    write_sheets(monkeypatch, tmp_path / "sheets", "cifar10", each=3)
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "sheets"))
    again = SMALL.train(0)
    assert weights.keys() == again.keys()
    assert all(torch.equal(tensor, again[name]) for name, tensor in weights.items())
    assert torch.equal(SMALL.sample(range(30), 0).x, samples.x)


def test_a_published_network_is_taken_as_it_is_and_reads_colours_in_its_own_units(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = resnet(20, 10)
    begin(network, torch.Generator().manual_seed(0))
    arrays = {name: tensor.numpy() for name, tensor in network.state_dict().items() if "tracked" not in name}
    (files / "cifar_models").mkdir()
    np.savez(files / "cifar_models" / "cifar10_resnet20.npz", **arrays)
    monkeypatch.setitem(models.SUMS, "cifar10_resnet20", models.content(arrays))
    environment = Cifar(train_rows=10, reference_rows=5)
    made = environment.setting(0, environment.train(0))
    x = environment.sample(range(4), 0).x
    network.eval()
    assert torch.equal(made.model(x), network(x))
    white = torch.tensor([(1 - 0.485) / 0.229, (1 - 0.456) / 0.224, (1 - 0.406) / 0.225])
    assert made.picture is not None
    torch.testing.assert_close(made.picture(white.view(1, 3, 1, 1)), torch.ones(1, 3, 1, 1))
    assert not torch.allclose(SMALL.sample(range(4), 0).x, x)


@pytest.mark.parametrize("dataset", ["cifar10", "cifar100"])
def test_a_hundred_classes_are_named_like_ten(files: Path, dataset: str) -> None:
    classes = 10 if dataset == "cifar10" else 100
    environment = replace(SMALL, dataset=dataset, train_rows=classes, reference_rows=7)
    made = environment.setting(0, environment.train(0))
    assert len(made.classes) == classes
    assert made.model(environment.sample([0], 0).x).shape == (1, classes)


def test_where_there_are_no_images_the_message_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    with pytest.raises(AssayError, match=r"python -m assay\.data.fetch cifar10.*ASSAY_DATA"):
        Cifar().sample([0], 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"network": "resnet21", "weights": "trained"}, "6 n \\+ 2"),
        ({"network": "alexnet", "weights": "trained"}, "no network is called 'alexnet'"),
        ({"network": "vgg11"}, "no weights are published for cifar10_vgg11, only for .*weights=trained"),
        ({"dataset": "cifar100"}, "no weights are published for cifar100_resnet20,"),
        ({"width": 8}, "width=8 needs weights=trained"),
        ({"width": 6, "network": "vit", "weights": "trained"}, "vit: .*4 heads share a width of 6"),
        ({"batch": 0}, "batch is 1 or more"),
        ({"reference_rows": 20000}, "reference_rows=20000 must be 1 to train_rows=10000"),
        ({"reference_rows": 0}, "reference_rows=0"),
    ],
)
def test_what_cannot_be_is_refused_at_once(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Cifar(**changes)


def test_an_image_is_the_same_one_with_every_seed_that_draws_it(files: Path) -> None:
    found: dict[object, Tensor] = {}
    for seed in (0, 1, 2):
        for name, x in zip(SMALL.identities(range(20), seed), SMALL.sample(range(20), seed).x, strict=True):
            assert torch.equal(found.setdefault(name, x), x)
    assert 20 < len(found) <= 30  # there are 30 images
