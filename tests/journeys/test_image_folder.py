"""The study of the document's benchmark, cut down, on a user's own folder of images and network."""

import json
import sys

import numpy as np
import pytest
import torch
from PIL import Image

from assay.studies.shipped import shipped_studies
from streams import seeded

# As torchvision's VGG-16: a chain of layers named by their numbers. Everything in it is small.
NETWORK = """
from torch import nn

class Small(nn.Module):
    def __init__(self):
        super().__init__()
        pairs = [(nn.Conv2d(4 if place else 3, 4, 3, padding=1), nn.ReLU()) for place in range(15)]
        self.features = nn.Sequential(*(layer for pair in pairs for layer in pair), nn.AdaptiveAvgPool2d(2))
        self.classifier = nn.Linear(16, 3)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))

def vgg16():
    return Small()
"""
SMALLER = {
    "samples = 5000": "samples = 3",
    "block = 10": "block = 3",
    "gallery = 4": "gallery = 2",
    "per_class=5": "per_class=1, resize=18, side=16",
    "reference_rows=100": "reference_rows=6",
    "steps=50": "steps=3",
    "steps=20": "steps=2",
    "samples=20": "samples=2",
    "use = \"iba(layer='features.17')": "use = \"iba(layer='features.17', steps=2, copies=2)",
    "input_iba(layer='features.17')": "input_iba(layer='features.17', feature_steps=2, steps=2, copies=2, targets=4, "
    "group=2, epochs=1, batch=4, hidden=(4, 4))",
    "areas=(0.3,)": "areas=(0.3,), iterations=2",
    "soundness(": "soundness(steps=6, ",
}
LEFT_OUT = ('"IG, 20 steps"', '"IG-SQ', "pixel units", "ROAD, LeRF")  # others ask the same components


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where the user works: four images of each of three classes, a network, and a copy of the study."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    random = np.random.default_rng(0)
    for label, name in enumerate(("ant", "bee", "cat")):
        (tmp_path / "imagenet" / "val" / name).mkdir(parents=True)
        for number in range(4):
            pixels = random.integers(0, 180, (24, 30, 3), dtype=np.uint8)
            pixels[..., label] += 70
            Image.fromarray(pixels).save(tmp_path / "imagenet" / "val" / name / f"{number}.png")
    (tmp_path / "my_networks.py").write_text(NETWORK)
    text = shipped_studies()["soco/imagenet"].read_text(encoding="utf-8")
    for large, small in SMALLER.items():
        assert large in text, large
        text = text.replace(large, small)
    lines = [line for line in text.splitlines() if not any(label in line for label in LEFT_OUT)]
    (tmp_path / "mine.toml").write_text("\n".join(lines))
    yield tmp_path
    sys.modules.pop("my_networks", None)


@seeded()
def save_weights(path):
    import my_networks

    torch.save(my_networks.vgg16().state_dict(), path)


def test_a_copy_of_the_study_runs_from_end_to_end_and_notices_another_image(place, assay):
    save_weights(place / "vgg16.pth")
    run = ("run", "mine.toml", "--store", "st", "--workers", "0")
    told = assay(*run, "--json")
    assert told.returncode == 0, told.stderr
    (board,) = json.loads(told.stdout)["boards"]
    assert len(board["methods"]) == 9
    scores = [score for line in board["methods"] for score in line["metrics"].values()]
    assert {score["status"] for score in scores} == {"ok"}
    again = assay(*run)
    assert "9 blocks of attributions, 9 of them complete before" in again.stdout
    image = place / "imagenet" / "val" / "bee" / "2.png"
    Image.open(image).transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(image)
    assert "9 blocks of attributions, 0 complete" in assay(*run, "--dry-run").stdout


def test_what_is_missing_is_said_before_anything_is_computed(place, assay):
    dry = ("run", "mine.toml", "--store", "st", "--dry-run")
    refused = assay(*dry)
    assert (refused.returncode, refused.stderr) == (2, "assay: image_folder: there is no file 'vgg16.pth'.\n")
    (place / "imagenet").rename(place / "elsewhere")
    refused = assay(*dry)
    assert (refused.returncode, refused.stderr) == (2, "assay: image_folder: there is no folder 'imagenet/val'.\n")
    (place / "my_networks.py").unlink()
    sys.modules.pop("my_networks")
    refused = assay("run", "soco/imagenet", "--store", "st", "--dry-run")
    assert refused.returncode == 2
    assert refused.stderr.startswith(
        "assay: cannot find module 'my_networks' of 'my_networks:vgg16'. Run in its folder"
    )
    for command in (("ls", "studies"), ("show", "soco/imagenet")):
        shown = assay(*command)
        assert shown.returncode == 0
        assert "soco/imagenet" in shown.stdout


def test_a_file_that_is_no_image_is_named_before_anything_is_computed(place, assay):
    save_weights(place / "vgg16.pth")
    (place / "imagenet" / "val" / "bee" / "notes.txt").write_text("hello")
    refused = assay("run", "mine.toml", "--store", "st", "--workers", "0")
    assert refused.returncode == 2
    assert refused.stderr.strip() == (
        "assay: image_folder: imagenet/val/bee/notes.txt is no PNG, JPEG or WEBP image: move it away."
    )
