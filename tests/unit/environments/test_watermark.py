from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from assay.core.errors import AssayError, SpecError
from assay.core.setting import Setting
from assay.environments._marks import DIGITS, marks
from assay.environments.watermark import ROWS, Watermark
from unit.data.fakes import picture_set, write_batches

TINY = Watermark.tiny()
FILES = replace(TINY, dataset="cifar10", train_rows=20, reference_rows=10, epochs=1)


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


def shown(environment: Watermark, count: int = 40, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Samples as uint8 pictures, their labels and their effective regions."""
    samples = environment.sample(range(count), seed)
    assert samples.truth is not None
    return (255 * environment._picture(samples.x)).round().byte(), samples.label, samples.truth.effect.bool()


def lines(grey: Tensor) -> str:
    """A box of dots as the table of digits writes it."""
    return " ".join("".join("1" if dot else "0" for dot in row) for row in grey.tolist())


def test_the_box_of_a_number_is_the_paper_s_at_224_pixels() -> None:
    region = marks("number", 100, 224).region
    assert torch.equal(region, region[:1].expand_as(region))
    inside = region[0].nonzero()
    assert (inside.amin(dim=0).tolist(), inside.amax(dim=0).tolist()) == ([151, 22], [210, 109])
    assert len(inside) == 60 * 88


def test_at_32_pixels_every_dot_of_a_number_is_a_pixel() -> None:
    made = marks("number", 100, 32)
    box = made.grey[:, 21:30, 3:16]
    assert int(made.region[0].sum()) == 9 * 13 == int(made.region[0, 21:30, 3:16].sum())
    for label in range(10):
        assert lines(box[label, 1:8, 4:9]) == DIGITS[label]
    for label in range(10, 100):
        assert lines(box[label, 1:8, 1:6]) == DIGITS[label // 10]
        assert lines(box[label, 1:8, 7:12]) == DIGITS[label % 10]
    frame = torch.ones(9, 13, dtype=torch.bool)
    frame[1:8, 1:12] = False
    assert not box[:, frame].any()
    assert not made.grey[:, ~made.region[0]].any()


@pytest.mark.parametrize("side", [32, 48, 100, 224])
def test_numbers_look_different_at_every_size(side: int) -> None:
    assert len({grey.numpy().tobytes() for grey in marks("number", 100, side).grey}) == 100


@pytest.mark.parametrize(("classes", "bits"), [(10, 4), (100, 7), (2, 1)])
def test_stripes_are_the_label_in_binary_from_the_top(classes: int, bits: int) -> None:
    side = 7 * 32
    for label, region in enumerate(marks("stripe", classes, side).region):
        assert bool((region == region[:, :1]).all())
        bands = [region[row, 0].item() for row in range(side // bits // 2, side, side // bits)]
        assert "".join(str(int(bit)) for bit in bands) == format(label, f"0{bits}b")


def test_class_40_has_the_paper_s_stripes() -> None:
    """0101000: the 4th and the 6th region, which the paper counts from below."""
    region = marks("stripe", 100, 224).region[40]
    assert [bool(region[band * 32 : band * 32 + 32].all()) for band in range(7)] == [False, True, False, True] + [
        False
    ] * 3
    assert int(region.sum()) == 2 * 32 * 224


@pytest.mark.parametrize("mark", ["number", "stripe"])
def test_the_mark_tells_the_label_and_the_truth_is_its_region(mark: Any) -> None:
    environment = replace(TINY, mark=mark)
    pictures, label, region = shown(environment)
    made = marks(mark, 10, 32)
    assert torch.equal(region, made.region[label])
    for picture, one, inside in zip(pictures, label, region, strict=True):
        assert torch.equal(picture[:, inside], made.grey[one][inside].expand(3, -1))
    empty = region.flatten(1).sum(dim=1) == 0
    assert torch.equal(empty, (label == 0) & (mark == "stripe"))


def test_outside_of_the_mark_a_picture_is_the_source_s() -> None:
    pictures, _, region = shown(TINY)
    plain = TINY._source.evaluated(range(40), 0)[0]
    assert torch.equal(pictures.masked_fill(region[:, None], 0), plain.masked_fill(region[:, None], 0))


def test_a_black_background_leaves_the_mark_alone() -> None:
    environment = replace(TINY, background="black")
    pictures, label, region = shown(environment)
    assert not pictures.masked_fill(region[:, None], 0).any()
    assert torch.equal(shown(TINY)[1], label)
    names = environment.identities(range(40), 0)
    assert names == label.tolist()
    assert len({picture.numpy().tobytes() for picture in pictures}) == len(set(names))


def test_labels_are_drawn_anew_and_say_nothing_about_the_shape() -> None:
    count = 3000
    samples, old = TINY.sample(range(count), 0), torch.arange(count) % 10
    assert 0.05 < float((samples.label == old).float().mean()) < 0.2
    for one in range(10):
        share = samples.label[old == one].bincount(minlength=10) / 300
        assert float(share.max()) < 0.35
    again = TINY.sample(range(count), 1).label
    assert not torch.equal(again, samples.label)


def test_each_old_class_has_probabilities_of_its_own() -> None:
    """Of 9 degrees of freedom: a chi-square above 28 has a chance of 0.001."""
    label, old = TINY.sample(range(6000), 0).label, torch.arange(6000) % 10
    table = torch.stack([label[old == one].bincount(minlength=10) for one in range(10)]).double()
    expected = table.mean(dim=0)
    assert float(((table - expected) ** 2 / expected).sum(dim=1).mean()) > 28


def test_without_a_mark_and_with_old_labels_the_task_is_natural() -> None:
    natural = replace(TINY, mark="none", relabel=False)
    samples = natural.sample(range(20), 0)
    assert samples.truth is None
    assert samples.label.tolist() == [*range(10)] * 2
    assert natural.setting(0, trained()).classes[0] == "disc"
    assert not natural.draws_rule
    assert TINY.draws_rule


def test_training_and_evaluated_pictures_differ_and_depend_on_the_seed() -> None:
    seen = {row.numpy().tobytes() for seed in (0, 1) for row in TINY.training_rows(seed).x}
    assert len(seen) == 2 * TINY.train_rows
    assert not seen & {row.numpy().tobytes() for seed in (0, 1) for row in TINY.sample(range(100), seed).x}


def test_reference_rows_are_some_of_the_training_rows() -> None:
    reference = setting(3).reference
    assert reference is not None
    rows = TINY.training_rows(3)
    label_of = {row.numpy().tobytes(): label for row, label in zip(rows.x, rows.label.tolist(), strict=True)}
    assert len(reference.x) == len({row.numpy().tobytes() for row in reference.x}) == 48
    assert [label_of[row.numpy().tobytes()] for row in reference.x] == reference.label.tolist()


def test_the_tiny_network_reads_the_number_wherever_it_learned_it() -> None:
    samples, made = TINY.sample(range(300), 1), setting(1)
    assert float((made.model(samples.x).argmax(dim=1) == samples.label).float().mean()) > 0.4
    assert made.hints == {"grad_cam": "layer3"}
    assert torch.equal(made.parts["number"].float(), samples.truth.effect[0])  # type: ignore[union-attr]


def test_zero_is_grey_and_minus_two_is_black() -> None:
    picture = setting().picture
    assert picture is not None
    assert torch.equal(picture(torch.zeros(1, 3, 2, 2)), torch.full((1, 3, 2, 2), 0.5))
    assert torch.equal(picture(torch.full((1, 3, 2, 2), -2.0)), torch.zeros(1, 3, 2, 2))
    question = setting().question
    assert (question.readout, question.baseline, question.target) == ("logit", "zero", "label")


def test_the_recipe_makes_the_trained_model_again() -> None:
    rows, recipe = TINY.training_rows(0), setting().recipe
    assert recipe is not None
    made = recipe.train(rows.x, rows.label, 0)
    assert all(torch.equal(tensor, trained()[name]) for name, tensor in made.state_dict().items())


def test_photographs_get_marks_and_new_labels_of_every_seed(files: Path) -> None:
    pictures, label, region = shown(FILES, 30)
    known = {picture.tobytes() for picture in picture_set("cifar10", "test", 3)[0]}
    plain = FILES._source.evaluated(range(30), 0)[0]
    assert {picture.permute(1, 2, 0).contiguous().numpy().tobytes() for picture in plain} <= known
    assert torch.equal(pictures.masked_fill(region[:, None], 0), plain.masked_fill(region[:, None], 0))
    assert not torch.equal(label, FILES.sample(range(30), 1).label)
    assert FILES.identities(range(30), 0) == FILES._source.identities(range(30), 0)
    hundred = replace(FILES, dataset="cifar100", train_rows=100)
    assert hundred.setting(0, hundred.train(0)).classes == tuple(map(str, range(100)))


def test_a_model_of_other_training_images_is_refused(files: Path) -> None:
    weights = FILES.train(0)
    FILES.setting(0, weights)
    with pytest.raises(AssayError, match=r"20 other training images of cifar10.*another store"):
        FILES.setting(0, {**weights, ROWS: weights[ROWS].flip(0)})


def test_where_there_are_no_images_the_message_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    TINY.check_data()
    with pytest.raises(AssayError, match=r"python -m assay\.data.fetch cifar10.*ASSAY_DATA"):
        FILES.check_data()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mark": "none", "background": "black"}, "leaves nothing to see"),
        ({"network": "alexnet"}, "no network is called 'alexnet'"),
        ({"batch": 0}, "batch is 1 or more"),
        ({"reference_rows": 2001}, "reference_rows=2001 must be 1 to train_rows=1500"),
    ],
)
def test_what_cannot_be_is_refused_at_once(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Watermark(**changes)
