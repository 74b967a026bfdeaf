"""What a notebook and a page show of attributions of tables, texts and series: one description, drawn for both."""

from __future__ import annotations

import re
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torch import nn

import small_data
from assay.attributed import Attributed
from assay.evaluation.evaluation import Evaluation, evaluate
from assay.report.colours import PALETTE, diverging
from assay.report.series import GUTTER, STRIP, strip
from assay.report.words import coloured, draw_words, words_html
from streams import seeded
from unit.report.test_page import Outline, section

WAYS = ("steps", "channels", "both")


@pytest.fixture(scope="module")
def evaluated() -> Evaluation:
    return evaluate(small_data.texts(), None, None, None, None, None, False)  # type: ignore[arg-type]


def pixels(picture: Image.Image) -> np.ndarray:
    return np.asarray(picture.convert("RGB"))


def holds(whole: np.ndarray, part: np.ndarray) -> bool:
    """Whether a picture is somewhere in another one."""
    height, width, _ = part.shape
    starts = np.argwhere((whole == part[0, 0]).all(axis=2))
    return any(np.array_equal(whole[y : y + height, x : x + width], part) for y, x in starts)


def test_a_table_is_shown_as_bars_with_names_values_and_what_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    found = small_data.table(30).attribute("input_x_gradient")
    picture = found.show()
    assert len(capsys.readouterr().out.splitlines()) == 2
    samples = found._pictured(4)
    assert samples.environment == "input_x_gradient explains the logit of the predicted class"
    assert samples.label(1, 0) == "age = 31"
    assert samples.label(1, 2) == "sector"  # two entries
    assert re.fullmatch(r"sample 1, (yes|no), logit -?[\d.e+]+", samples.title(1))
    drawn = pixels(picture)
    assert ((drawn == (178, 24, 43)).all(axis=2)).any()
    assert ((drawn == (33, 102, 172)).all(axis=2)).any()
    assert found._repr_html_() is None
    assert Image.open(BytesIO(found._repr_png_())).size == picture.size


def test_the_answer_that_is_shown_is_that_of_the_model() -> None:
    given = small_data.table()
    samples = given.attribute("gradient")._pictured(2)
    logits = given.setting.model(given.samples.x[:2])
    for position, row in enumerate(logits):
        name = given.setting.classes[int(row.argmax())]
        assert samples.answers[position] == f"{name}, logit {float(row.max()):.3g}"


def test_another_class_than_the_predicted_one_is_named_and_so_is_the_prediction() -> None:
    given = small_data.table()
    question = replace(given.setting.question, target="label")
    flipped = replace(given.samples, label=1 - given.samples.label)
    asked = replace(given, setting=replace(given.setting, question=question), samples=flipped)
    samples = asked.attribute("gradient")._pictured(1)
    asked_class, predicted = (
        given.setting.classes[int(flipped.label[0])],
        given.setting.classes[1 - int(flipped.label[0])],
    )
    assert samples.answers[0].startswith(f"{asked_class}, logit ")
    assert samples.answers[0].endswith(f", predicted: {predicted}")
    assert samples.environment == "gradient explains the logit of the sample's class"


@seeded()
def test_one_of_several_values_has_a_number_and_a_single_one_has_none() -> None:
    given = small_data.table()
    question = replace(given.setting.question, readout="value", target="label")
    setting = replace(given.setting, question=question, outputs="value", classes=())
    second = replace(given.samples, target=given.samples.label * 0 + 1)
    shown = replace(given, setting=setting, samples=second).attribute("gradient")._pictured(1)
    assert shown.environment == "gradient explains the value"
    assert shown.answers[0].startswith("output 1, value ")
    head = nn.Sequential(setting.model, nn.Linear(2, 1, bias=False)).requires_grad_(False)
    head[1].weight.fill_(2.0)
    first = replace(given.samples, label=given.samples.label * 0)
    alone = replace(given, setting=replace(setting, model=head), samples=first).attribute("gradient")._pictured(1)
    expected = 2 * float(given.setting.model(given.samples.x[:1]).sum())
    assert alone.answers == (f"value {expected:.3g}",)


def test_texts_are_coloured_in_pictures_and_in_html() -> None:
    found = small_data.texts().attribute("exact_shapley")
    whole, html = pixels(found.picture()), found._repr_html_()
    assert html is not None
    for row, words in enumerate(found.samples.words[:4]):
        values = found.map[row].double().numpy()
        assert holds(whole, pixels(draw_words(coloured(words, values))))
        assert words_html(coloured(words, values)) in html
    assert "exact_shapley explains the probability of the predicted class" in html
    assert "sample 0, positive, probability 0.953" in html
    assert found._repr_png_().startswith(b"\x89PNG")


def test_words_have_the_signs_of_what_the_model_adds_up() -> None:
    found = small_data.texts().attribute("exact_shapley")
    words = coloured(found.samples.words[1], found.map[1].double().numpy())  # negative: "not good ... boring film"
    red = {word.text for word in words if word.value > 1e-6}
    blue = {word.text for word in words if word.value < -1e-6}
    assert (red, blue) == ({"not", "long", "boring"}, {"good"})


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize("first", [True, False])
def test_series_are_shown_as_strips_below_their_lines(by: str, first: bool) -> None:
    found = small_data.series(by, first).attribute("gradient")
    samples, whole = found._pictured(2), pixels(found.picture(2))
    assert samples.layout is not None
    values = found.map[1].double().numpy()
    rows = samples.layout.rows(values, small_data.STEPS)
    drawn = pixels(strip(rows, ["x", "y", "z"][: len(rows)], np.abs(values).max()))
    assert drawn.shape[0] == STRIP * (1 if by == "steps" else small_data.CHANNELS)
    assert holds(whole, drawn[:, GUTTER:])
    assert found._repr_html_() is None


def test_images_are_shown_as_they_were_with_the_answer_beside_them() -> None:
    found = attribution_of_images()
    whole, samples = pixels(found.picture(1)), found._pictured(1)
    colours = {tuple(colour) for colour in pixels(diverging(samples.maps[found.method][0])).reshape(-1, 3)}  # type: ignore[index]
    assert colours <= {tuple(colour) for colour in whole.reshape(-1, 3)}
    assert "probability 0." in samples.title(0)
    assert samples.truth is not None
    scale = PALETTE[[0, 127, 254]]
    assert all((whole == colour).all(axis=2).any() for colour in scale)


def attribution_of_images() -> Attributed:
    import assay

    return assay.attribute(assay.environment("color_count", side=16, sizes=(3, 6)), "input_x_gradient", n=1)


def test_the_page_shows_texts_with_every_method(evaluated: Evaluation, tmp_path: Path) -> None:
    html = evaluated.report(tmp_path).read_text(encoding="utf-8")
    gallery = section(html, "gallery")
    assert gallery.count('<table class="stacked">') == 4
    assert gallery.count(">boring</span>") == len(evaluated.plan.methods)
    shapley = evaluated.attributions["exact_shapley"].squeeze(-1).double().numpy()
    given = small_data.texts().samples
    assert words_html(coloured(given.words[1], shapley[1])) in gallery
    outline = Outline(html)
    assert (outline.faults, outline.stack) == ([], [])


def test_the_page_shows_series_with_a_picture_for_each_method(tmp_path: Path) -> None:
    found = evaluate(small_data.series(), ["gradient", "grad_cam"], ["sensitivity_n"], None, 2, None, False)  # type: ignore[arg-type]
    html = found.report(tmp_path).read_text(encoding="utf-8")
    gallery = section(html, "gallery")
    assert gallery.count("<img") == 2 * 2  # the lines and one strip of each sample
    assert gallery.count("needs a convolutional layer") == 2
    for name in re.findall(r'<img src="(.*?)"', gallery):
        with Image.open(tmp_path / name) as image:
            assert image.width > GUTTER
    values = found.attributions["gradient"].sum(dim=1).double().numpy()
    stored = pixels(Image.open(tmp_path / re.findall(r'<img src="(.*?)"', gallery)[1]))
    assert np.array_equal(stored, pixels(strip(values[:1], [""], np.abs(values[0]).max())))


def test_the_page_shows_tables_with_values_and_the_sum_of_the_others(tmp_path: Path) -> None:
    found = evaluate(small_data.table(30), ["gradient"], ["sensitivity_n"], None, 2, None, False)  # type: ignore[arg-type]
    gallery = section(found.report(tmp_path).read_text(encoding="utf-8"), "gallery")
    assert "age = 30" in gallery
    assert gallery.count("<rect") == 2 * 12
    values = found.attributions["gradient"][0].double().numpy()
    pooled = np.concatenate([values[:2], [values[2] + values[3]], values[4:]])
    others = np.sort(np.abs(pooled))[:18].sum(), pooled[np.argsort(-np.abs(pooled), kind="stable")[12:]].sum()
    assert others[0] > 0
    assert f'and 18 more, their sum</th><td class="plain num">{others[1]:.3g}'.replace("-", "−") in gallery
