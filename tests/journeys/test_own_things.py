"""Everybody's model and data: by one shell command and one call in Python, with equal numbers, an answer and a page."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from typer.testing import CliRunner

import assay
from assay.cli.main import app
from journeys import their_things as theirs

ASKED = {"methods": ["occlusion", "random_map"], "metrics": ["symmetric_relevance_gain(steps=4)"], "budget": None}
COUNT = 12


@dataclass(frozen=True)
class Thing:
    """A user's model and data, and what has to be said about them."""

    model: str
    data: Callable[[Path], tuple[Path, Any]]  # writes the file; the file, and the data in Python
    said: dict[str, str] = field(default_factory=dict)  # parameters, the same in the shell and in Python
    note: str = ""  # the result says


def arrays(**shapes: tuple[int, ...]) -> Callable[[Path], tuple[Path, Any]]:
    def write(folder: Path) -> tuple[Path, Any]:
        draw = np.random.default_rng(0)
        found = {name: draw.normal(size=(COUNT, *shape)).astype("float32") for name, shape in shapes.items()}
        np.savez(folder / "data.npz", **found)
        return folder / "data.npz", found if len(found) > 1 else found["x"]

    return write


def table(columns: list[str]) -> Callable[[Path], tuple[Path, Any]]:
    return lambda folder: _csv(folder, theirs.people(COUNT, 1)[columns])


def adult(folder: Path) -> tuple[Path, Any]:
    from assay.data.adult import adult

    return _csv(folder, adult().sample(COUNT, random_state=1))


def _csv(folder: Path, frame: pd.DataFrame) -> tuple[Path, Any]:
    frame.to_csv(folder / "data.csv", index=False)
    return folder / "data.csv", frame.reset_index(drop=True)


def sentences(folder: Path) -> tuple[Path, Any]:
    draw = np.random.default_rng(0)
    lines = [" ".join(draw.choice(theirs.WORDS, 5)) for _ in range(COUNT)]
    (folder / "data.txt").write_text("\n".join(lines))
    return folder / "data.txt", lines


def _photographs() -> tuple[Any, Any]:
    from assay.data.cifar import images

    test = images("cifar10", "test")
    places = np.concatenate([np.flatnonzero(test.label == label)[:1] for label in range(10)])
    return test.pixels[places], test.label[places]


def standardised(folder: Path) -> tuple[Path, Any]:
    pixels, _ = _photographs()
    x = (pixels / 255 - np.array([0.485, 0.456, 0.406])) / np.array([0.229, 0.224, 0.225])
    x = x.transpose(0, 3, 1, 2).astype("float32")
    np.savez(folder / "data.npz", x=x)
    return folder / "data.npz", x


def photographs(folder: Path) -> tuple[Path, Any]:
    for pixels, label in zip(*_photographs(), strict=True):
        (folder / "photos" / str(label)).mkdir(parents=True)
        Image.fromarray(pixels).save(folder / "photos" / str(label) / "photo.png")
    return folder / "photos", folder / "photos"


INCOME = {"label": "income"}
ROWS, SERIES = arrays(x=(6,)), (arrays(x=(3, 9)), arrays(x=(9, 3)))
THINGS = {
    "boosted trees": Thing("boosted", table([*theirs.NUMBERS, "income"]), INCOME, "probabilities of 2 classes"),
    "a forest": Thing("forest", table(theirs.NUMBERS), {}, "probabilities of 2 classes (<=50K, >50K)"),
    "a pipeline of raw columns": Thing("pipeline", table([*theirs.TEXTS, *theirs.NUMBERS, "income"]), INCOME),
    "XGBoost": Thing("xgboost", table(theirs.NUMBERS)),
    "LightGBM": Thing("lightgbm", table(theirs.NUMBERS)),
    "an MLP": Thing("mlp", ROWS, {}, "logits of 3 classes"),
    "one logit": Thing("one_logit", ROWS, {"outputs": "logits"}, "logits of 2 classes"),
    "a regression": Thing("regression", table(["age", "gain"]), {}, "a value"),
    "a dict of answers": Thing("two_answers", ROWS, {"output": "scores"}, "scores"),
    "two inputs": Thing("two_inputs", arrays(left=(4,), right=(2,)), {}, "left (12, 4), right (12, 2)"),
    "a function": Thing("scores", ROWS, {"outputs": "logits"}, "as an array"),
    "a vision transformer": Thing("vision", arrays(x=(3, 8, 8)), {}, "pixel_values"),
    "a classifier of texts": Thing("texts", sentences),
    "a convolution of series": Thing("convolution", SERIES[0], {}, "(channels, steps), as the model's Conv1d reads"),
    "series in the other order": Thing("convolution", SERIES[1], {}, "with steps and channels swapped"),
    "a recurrent network": Thing("recurrent", SERIES[1], {}, "(steps, channels), as the model's LSTM reads them"),
}
REAL = {
    "boosted trees on Adult": Thing("adult_boosted", adult, INCOME),
    "a forest on Adult": Thing("adult_forest", adult, INCOME),
    "a pipeline on Adult": Thing("adult_pipeline", adult, INCOME),
    "a network on CIFAR's arrays": Thing("resnet", standardised),
    "a network on CIFAR's photographs": Thing("resnet", photographs),
}


def in_python(thing: Thing, data: Any) -> Any:
    made = getattr(theirs, thing.model)
    return assay.evaluate(made if thing.model == "scores" else made(), data, **ASKED, **thing.said)


def in_the_shell(thing: Thing, path: Path, store: Path, *more: str) -> Any:
    asked = ["--model", f"their_things:{thing.model}", "--data", path, "--store", store, "--workers", 0]
    asked += [part for name in ASKED["methods"] for part in ("-m", name)] + ["-s", ASKED["metrics"][0]]
    asked += ["--budget", "none", *(part for name, value in thing.said.items() for part in (f"--{name}", value))]
    done = CliRunner().invoke(app, ["evaluate", *map(str, asked), *more])
    assert done.exit_code == 0, done.exception or done.output
    return done


def judged(thing: Thing, folder: Path) -> None:
    path, data = thing.data(folder)
    done = in_the_shell(thing, path, folder / "store", "--json")
    (board,) = json.loads(done.stdout)["boards"]
    there = {line["method"]: score["value"] for line in board["methods"] for score in line["metrics"].values()}
    found = in_python(thing, data)
    here = {cell.method: cell.value for cell in found.cells}
    assert list(here) == ASKED["methods"]
    assert there == pytest.approx(here, abs=1e-12, rel=0)
    assert there["occlusion"] > there["random_map"]
    assert "occlusion passes" in repr(found) or "occlusion is" in repr(found)
    assert thing.note in repr(found)
    page = found.report(folder / "page").read_text()
    assert "..</p>" not in page
    assert all(method in page for method in here)


@pytest.fixture(autouse=True)
def quiet():
    """Other packages warn about themselves."""
    with warnings.catch_warnings(action="ignore"):
        yield


@pytest.mark.parametrize("name", THINGS)
def test_the_shell_and_python_give_one_answer(name, tmp_path):
    judged(THINGS[name], tmp_path)


@pytest.mark.realdata
@pytest.mark.skipif("ASSAY_DATA" not in os.environ, reason="needs data under ASSAY_DATA")
@pytest.mark.parametrize("name", REAL)
def test_on_real_data_too(name, tmp_path):
    judged(REAL[name], tmp_path)
