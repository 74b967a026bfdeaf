"""An evaluation of models of series and of texts: the default methods and metrics, and every other one."""

from dataclasses import replace

import pytest

import small_data
from assay.catalogue.registry import catalogue
from assay.core.errors import SpecError
from assay.evaluation.evaluation import evaluate

SERIES = [(by, first) for by in ("steps", "channels", "both") for first in (True, False)]
MANY = tuple(
    f"a {first} {noun} {second} {last}"
    for first in ("great", "boring")
    for noun in ("film", "book", "long")
    for second in ("not", "very")
    for last in ("good", "dull")
)
ARRAYS = {"precomputed", "fixed_map"}  # methods that need a file


def judged(given, methods=None, metrics=None, **asked):
    return evaluate(given, methods, metrics, asked.get("canvas"), asked.get("limit"), None, True)


@pytest.mark.parametrize(("by", "first"), SERIES)
def test_default_methods_and_metrics_answer_about_series(by, first):
    found = judged(small_data.series(by, first))
    labels = {metric.label for metric in found.plan.metrics}
    assert {
        f"{name}, {canvas}" for name in ("relevance gain", "Sensitivity-N") for canvas in ("rows", "mean")
    } <= labels
    assert {cell.status for cell in found.cells if "unlike" not in cell.metric} == {"ok"}
    assert found.verdict["integrated_gradients"] == "passes"
    assert "12 rows of 24 steps of 3 channels." in str(found)
    assert found.finished.run.data["study"]["notes"][0] == "12 rows of 24 steps of 3 channels."


def test_the_best_answer_about_words_is_that_of_shapley_values_and_needs_no_reference():
    given = small_data.texts(MANY)
    found = judged(replace(given, setting=replace(given.setting, reference=None)))
    assert found.verdict["exact_shapley"] == "passes"
    assert found["exact_shapley", "relevance gain"].value > found["random_map", "relevance gain"].value
    assert "A removed feature becomes 0 (zero)." in str(found)
    assert "24 rows of 5 tokens." in str(found)


def test_a_series_without_reference_rows_is_told_what_to_give():
    given = small_data.series()
    with pytest.raises(SpecError, match="what would replace a removed feature"):
        judged(replace(given, setting=replace(given.setting, reference=None)))
    question = replace(given.setting.question, baseline="zero")
    zero = replace(given, setting=replace(given.setting, reference=None, question=question))
    found = judged(zero, ["feature_ablation"], ["deletion"], canvas="zero")
    assert found["feature_ablation", "deletion"].status == "ok"


@pytest.mark.parametrize("canvas", ["zero", "mean", "rows", 0.5])
def test_each_canvas_of_series_replaces_whole_steps(canvas):
    given = small_data.series()
    found = judged(given, ["feature_ablation"], ["deletion"], canvas=canvas)
    assert found["feature_ablation", "deletion"].status == "ok"


@pytest.mark.parametrize("canvas", ["blur", "colour", "impute"])
def test_canvases_of_images_say_what_to_write(canvas):
    cell = judged(small_data.series(), ["gradient"], ["deletion"], canvas=canvas)["gradient", "deletion"]
    assert cell.status == "skipped"
    assert "needs images, and this is series data" in cell.reason or "needs a whole canvas" in cell.reason


@pytest.mark.parametrize("given", [small_data.series("steps"), small_data.series("both", False), small_data.texts()])
def test_every_method_and_every_metric_answers_or_says_why_not(given):
    for methods, metrics in (
        (sorted(set(catalogue("methods")) - ARRAYS), ["sensitivity_n"]),
        (["feature_ablation"], sorted(catalogue("metrics"))),
    ):
        found = judged(given, methods, metrics, limit=3)
        assert {cell.status for cell in found.cells} == {"ok", "skipped"}
        assert all(cell.reason for cell in found.cells if cell.status == "skipped")
