"""A user's folder of images and network as an environment."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from assay.catalogue.registry import identity, resolve, stream_name
from assay.core.errors import SpecError
from assay.core.spec import Spec
from assay.environments.image_folder import ImageFolder

CODE = """
import torch
from torch import nn

class Mean(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(inputs, outputs))

    def forward(self, x):
        return x.mean(dim=(2, 3)) @ self.weight

net, four, for_five_channels = Mean(3, 3), Mean(3, 4), Mean(5, 3)
"""


def picture(number: int, size: tuple[int, int] = (20, 30), mode: str = "RGB") -> Image.Image:
    """Noise of a width and a height, another for each number."""
    shape = (size[1], size[0]) if mode == "L" else (size[1], size[0], 3)
    return Image.fromarray(np.random.default_rng(number).integers(0, 256, shape, dtype=np.uint8))


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """A folder of three classes with six images each, and a network for it in a module."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mine_for_photos.py").write_text(CODE)
    for label, name in enumerate(("ant", "bee", "cat")):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for place in range(6):
            picture(10 * label + place).save(tmp_path / "photos" / name / f"{place}.png")
    yield tmp_path / "photos"
    sys.modules.pop("mine_for_photos", None)


def made(folder, **more) -> ImageFolder:
    plain = {"model": "mine_for_photos:net", "resize": 12, "side": 8, "per_class": 2, "reference_rows": 5}
    return ImageFolder(str(folder), **{**plain, **more})


def test_rows_are_the_named_images_resized_cropped_and_standardised(photos):
    folder = made(photos)
    samples, names = folder.sample(range(6), 0), folder.identities(range(6), 0)
    for x, name in zip(samples.x, names, strict=True):
        image = Image.open(photos / name)  # 20 x 30 pixels: 12 x 18 after resizing
        cut = np.asarray(image.resize((12, 18), Image.Resampling.BILINEAR))[5:13, 2:10].transpose(2, 0, 1)
        mean, deviation = (np.array(v)[:, None, None] for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
        np.testing.assert_allclose(x.numpy(), (cut / 255 - mean) / deviation, rtol=0, atol=2e-6)
    shown = folder.setting(0, {}).picture(samples.x)
    assert torch.allclose(shown * 255, (shown * 255).round(), atol=1e-3)
    assert (shown.min() >= 0) & (shown.max() <= 1)


@pytest.mark.parametrize(
    ("size", "resized", "left", "top"),
    [((30, 20), (18, 12), 5, 2), ((12, 12), (12, 12), 2, 2), ((5, 8), (12, 19), 2, 6), ((25, 7), (42, 12), 17, 2)],
)
def test_sizes_are_rounded_as_in_torchvision(photos, size, resized, left, top):
    image = picture(3, size)
    cut = image.resize(resized, Image.Resampling.BILINEAR).crop((left, top, left + 8, top + 8))
    expected = torch.from_numpy(np.array(cut)).permute(2, 0, 1) / 255
    assert torch.equal(made(photos)._cut_out(image), expected)


def test_the_middle_of_an_odd_margin_is_rounded_to_the_even_side(photos):
    image = picture(3, (13, 12))
    resized = image.resize((13, 12), Image.Resampling.BILINEAR)
    expected = np.array(resized.crop((2, 2, 10, 10)))  # a margin of 5 pixels: 2.5 is rounded to 2
    assert np.array_equal((made(photos)._cut_out(image) * 255).round().byte().permute(1, 2, 0).numpy(), expected)


def test_one_number_for_mean_and_deviation_makes_grey_images(photos):
    folder = made(photos, mean=(0.5,), deviation=(0.25,))
    x, name = folder.sample([0], 0).x, folder.identities([0], 0)[0]
    grey = Image.open(photos / name).convert("L").resize((12, 18), Image.Resampling.BILINEAR)
    assert torch.allclose(x[0, 0] * 0.25 + 0.5, torch.from_numpy(np.array(grey)[5:13, 2:10]) / 255, atol=1e-6)
    assert folder._picture(x).shape == (1, 3, 8, 8)


def test_a_seed_draws_images_of_every_class_and_the_first_are_of_different_ones(photos):
    folder = made(photos)
    for seed in (0, 1, 2):
        samples, names = folder.sample(range(6), seed), folder.identities(range(6), seed)
        assert len(set(names)) == 6
        assert sorted(samples.label[:3].tolist()) == sorted(samples.label[3:].tolist()) == [0, 1, 2]
        assert [("ant", "bee", "cat")[label] for label in samples.label] == [name.partition("/")[0] for name in names]
        assert torch.equal(folder.sample([4, 1], seed).x, samples.x[[4, 1]])
    assert len({tuple(sorted(folder.identities(range(6), seed))) for seed in range(5)}) > 1
    with pytest.raises(SpecError, match="image 6 was asked for, and 2 of each of 3 classes are 6"):
        folder.sample([6], 0)


def test_no_seed_evaluates_reference_images_and_they_are_read_late(photos, monkeypatch):
    folder = made(photos, per_class=4)
    read = []
    monkeypatch.setattr(ImageFolder, "_cut_out", lambda self, image: read.append(image) or torch.zeros(3, 8, 8))
    reference = folder.setting(0, {}).reference
    before = len(read)
    assert reference.x.shape == (5, 3, 8, 8)
    assert len(read) == before + 5
    kept = {name for _, name in folder._reference(folder._images)}
    assert sorted(reference.label.tolist())[::2] == [0, 1, 2]
    assert not kept & {name for seed in range(9) for name in folder.identities(range(12), seed)}


def test_a_class_gives_to_the_reference_what_it_can_spare(photos):
    assert made(photos, reference_rows=100, per_class=5).setting(0, {}).reference.x.shape[0] == 3
    none = made(photos, per_class=6)
    assert none.setting(0, {}).reference is None
    with pytest.raises(SpecError, match="there are none: write a smaller per_class"):
        replace(none, baseline="mean").setting(0, {})


def test_classes_are_the_sorted_sub_folders_or_those_of_a_list(photos):
    assert made(photos).setting(0, {}).classes == ("ant", "bee", "cat")
    (photos / "classes.txt").write_text("cat\nowl\n\nant\nbee\n")
    folder = made(photos, model="mine_for_photos:four")
    assert folder.setting(0, {}).classes == ("cat", "owl", "ant", "bee")
    samples, names = folder.sample(range(6), 0), folder.identities(range(6), 0)
    place = {"cat": 0, "ant": 2, "bee": 3}
    assert samples.label.tolist() == [place[name.partition("/")[0]] for name in names]


def test_hidden_files_do_not_count(photos):
    spec = resolve("environments", Spec.of("image_folder", folder=str(photos), model="mine_for_photos:net"))
    before = identity("environments", spec)
    (photos / ".DS_Store").write_text("")
    (photos / "ant" / ".DS_Store").write_text("")
    made(photos).check_data()
    assert identity("environments", spec) == before


def test_one_changed_image_changes_the_key_and_the_place_of_the_folder_does_not(photos):
    def key(folder):
        spec = resolve("environments", Spec.of("image_folder", folder=str(folder), model="mine_for_photos:net"))
        return identity("environments", spec), stream_name("environments", spec)

    first = key(photos)
    picture(99).save(photos / "bee" / "3.png")
    second = key(photos)
    assert first[0] != second[0]
    assert first[1] != second[1]
    (photos / "bee" / "3.png").rename(photos / "bee" / "7.png")
    third = key(photos)
    assert third not in (first, second)
    assert key(photos.rename(photos.with_name("elsewhere"))) == third


def emptied(photos) -> None:
    for path in sorted(photos.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def numbered(photos) -> None:
    for number, name in zip((2, 10, 1), ("ant", "bee", "cat"), strict=True):
        (photos / name).rename(photos / str(number))


SPOILT = [
    (lambda photos: photos.rename(photos.with_name("away")), "there is no folder"),
    (emptied, r"photos' is empty: a sub-folder of images for each class is needed"),
    (lambda photos: (emptied(photos), picture(0).save(photos / "a.png")), "has no sub-folders, only files such as 'a"),
    (lambda photos: (photos / "bee" / "notes.txt").write_text("hello"), r"bee.notes.txt is no PNG, JPEG or WEBP image"),
    (lambda photos: (photos / "bee" / "0.png").write_bytes(b""), r"bee.0.png is no PNG, JPEG or WEBP image"),
    (lambda photos: (photos / "bee" / "inner").mkdir(), "'.*photos/bee' has a folder 'inner'"),
    (lambda photos: [(photos / "bee" / f"{n}.png").unlink() for n in range(5)], "'bee' has 1 images, and per_class is"),
    (lambda photos: (photos / "classes.txt").write_text("ant\nbee\n"), "'cat' in .* is no class that classes.txt"),
    (lambda photos: (photos / "classes.txt").write_text("ant\nant\nbee\ncat\n"), "lists 'ant' twice"),
    (numbered, r"sorted as text \(1, 10, 2, ...\) they are in another order than as numbers"),
]


@pytest.mark.parametrize(("spoil", "words"), SPOILT, ids=[words for _, words in SPOILT])
def test_a_folder_that_is_not_as_it_should_be_is_refused_in_a_sentence(photos, spoil, words):
    spoil(photos)
    with pytest.raises(SpecError, match=words):
        made(photos).check_data()


def test_a_damaged_image_is_named_when_it_is_read(photos):
    whole = (photos / "bee" / "2.png").read_bytes()
    (photos / "bee" / "2.png").write_bytes(whole[: len(whole) // 2])
    folder = made(photos, per_class=6)
    place = folder.identities(range(18), 0).index("bee/2.png")
    with pytest.raises(SpecError, match=r"bee.2.png is a damaged image"):
        folder.sample([place], 0)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"model": "mine_for_photos:four"}, "has 4 outputs, and '.*photos' names 3 classes. Write the classes of all"),
        ({"model": "mine_for_photos:for_five_channels"}, r"the model cannot read rows of shape \(3, 8, 8\)"),
        ({"model": "mine_for_photos"}, "'mine_for_photos' names no model"),
        ({"model": "mine_for_photos:CODE"}, "module 'mine_for_photos' has no 'CODE'"),
        ({"weights": "absent.pth"}, "there is no file 'absent.pth'"),
    ],
)
def test_a_network_that_does_not_fit_is_refused(photos, more, words):
    with pytest.raises(SpecError, match=words):
        made(photos, **more).setting(0, {})


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"resize": 7}, "side=8 cannot be cut out of images of resize=7"),
        ({"mean": (0.5, 0.5)}, "need three numbers each"),
        ({"deviation": (1.0, 1.0, 0.0)}, "deviations above 0"),
        ({"per_class": 0}, "per_class is 1 or more"),
    ],
)
def test_parameters_that_make_no_images_are_refused(photos, more, words):
    with pytest.raises(SpecError, match=re.escape(words)):
        made(photos, **more)


def test_the_example_knows_its_shapes():
    folder = ImageFolder.tiny()
    folder.check_data()
    samples = folder.sample(range(100), 0)
    right = folder.setting(0, {}).model(samples.x).argmax(dim=1) == samples.label
    assert right.float().mean() > 0.7
    assert ImageFolder().sample([0], 0).x.shape == (1, 3, 224, 224)
