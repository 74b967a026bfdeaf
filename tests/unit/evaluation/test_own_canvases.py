"""What replaces a removed feature of a user's data: which canvases are chosen, what they are called, who gets them."""

import pytest
import torch

from assay.core.errors import SpecError
from assay.core.spec import Spec
from assay.evaluation.canvases import (
    CHOICES,
    canvas_names,
    canvases,
    first_that_fits,
    needs_reference,
    on_canvases,
    takes_canvas,
)
from assay.evaluation.study import metric_items
from assay.metrics._removal import CANVASES


def halved(x, keep):
    return torch.where(keep, x, x / 2)


class Imputer:
    def __call__(self, x, keep):
        return x


def labels(items):
    return [(item.label, str(item.spec)) for item in items]


@pytest.mark.parametrize("kind", ["table", "image", "series"])
def test_two_canvases_are_chosen_where_none_is_named_and_both_exist(kind):
    assert canvases(kind, None, "zero") == CHOICES[kind]
    assert len(CHOICES[kind]) == 2
    assert set(CHOICES[kind]) <= set(CANVASES)


def test_words_are_removed_and_that_needs_no_reference():
    assert canvases("tokens", None, "mean") == ("zero",)
    assert not needs_reference("tokens")
    assert all(needs_reference(kind) for kind in ("table", "image", "series"))


def test_names_numbers_and_functions_are_canvases_alone_or_in_a_list():
    assert canvases("table", "mean", "zero") == ("mean",)
    assert canvases("table", 2.5, "zero") == (2.5,)
    assert canvases("table", halved, "zero") == (halved,)
    assert canvases("image", ["blur", 0.5, halved], "zero") == ("blur", 0.5, halved)


@pytest.mark.parametrize("baseline", ["mean", "zero", 0.25])
def test_words_of_other_packages_are_understood(baseline):
    assert canvases("table", "marginal", baseline) == ("rows",)
    assert canvases("table", "baseline", baseline) == (baseline,)
    assert canvases("table", ["marginal", "baseline"], baseline) == ("rows", baseline)


def test_a_canvas_under_two_names_is_used_once():
    assert canvases("table", ["rows", "marginal", "mean", "baseline"], "mean") == ("rows", "mean")


def test_no_canvas_and_an_unknown_one_are_refused_in_words():
    with pytest.raises(SpecError, match="name at least one"):
        canvases("table", [], "mean")
    with pytest.raises(SpecError, match=r"no canvas 'rowss'\. Did you mean 'rows'\? Known: zero, .* or a number"):
        canvases("table", ["mean", "rowss"], "mean")


def test_every_canvas_has_a_name_of_its_own_and_a_function_none_that_a_canvas_has():
    def mean(x, keep):
        return x

    assert canvas_names(["mean", 0.5, mean, halved, Imputer()]) == ["mean", "0.5", "mean()", "halved()", "Imputer()"]
    assert canvas_names([halved, lambda x, keep: x, halved, halved]) == [
        "halved()",
        "<lambda>()",
        "halved() 2",
        "halved() 3",
    ]


@pytest.mark.parametrize(
    ("metric", "takes"),
    [
        ("deletion", True),
        ("sensitivity_n(sets=4)", True),
        ("sensitivity_n(canvas='zero')", False),
        ("f1", False),
        ("road", False),  # is defined by what it imputes
        ("roar", False),  # by the mean
    ],
)
def test_a_metric_takes_a_canvas_where_it_would_replace_features_by_0_for_want_of_a_better_word(metric, takes):
    assert takes_canvas(Spec.parse(metric)) is takes


def test_a_metric_that_needs_one_input_gets_the_first_canvas_that_gives_it_one():
    assert first_that_fits(Spec("deletion"), CHOICES["table"]) == "rows"
    assert first_that_fits(Spec("axiom_dummy"), CHOICES["table"]) == "mean"
    assert first_that_fits(Spec("axiom_dummy"), CHOICES["image"]) == "blur"


def test_a_label_names_the_canvas_where_there_are_several():
    one = list(on_canvases("gain", Spec("deletion"), ["mean"]))
    assert [(label, str(spec), canvas) for label, spec, canvas in one] == [("gain", "deletion(canvas='mean')", "mean")]
    several = list(on_canvases("gain", Spec("deletion"), ["mean", 0.5, halved]))
    assert [(label, spec.get("canvas")) for label, spec, _ in several] == [
        ("gain, mean", "mean"),
        ("gain, 0.5", 0.5),
        ("gain, halved()", "halved()"),
    ]
    assert list(on_canvases("f1", Spec("f1"), ["mean", "rows"])) == [("f1", Spec("f1"), None)]


def test_without_metrics_those_that_decide_are_put_on_every_canvas():
    items = metric_items(None, ("rows", "mean"), canvases_named=False)
    assert labels(items) == [
        ("relevance gain, rows", "symmetric_relevance_gain(canvas='rows')"),
        ("relevance gain, mean", "symmetric_relevance_gain(canvas='mean')"),
        ("Sensitivity-N, rows", "sensitivity_n(canvas='rows')"),
        ("Sensitivity-N, mean", "sensitivity_n(canvas='mean')"),
        ("unlike the reference, rows", "unfamiliar_share(canvas='rows')"),
        ("unlike the reference, mean", "unfamiliar_share(canvas='mean')"),
    ]
    assert not any(item.named for item in items)


def test_a_named_metric_is_put_on_the_first_canvas_and_on_all_that_are_named():
    asked = [("deletion", Spec("deletion")), ("mine", Spec.parse("deletion(canvas=1.0)")), ("f1", Spec("f1"))]
    assert labels(metric_items(asked, ("rows", "mean"), canvases_named=False)) == [
        ("deletion", "deletion(canvas='rows')"),
        ("mine", "deletion(canvas=1.0)"),
        ("f1", "f1"),
    ]
    found = metric_items(asked, ("zero", "mean"), canvases_named=True)
    assert [item.label for item in found] == ["deletion, zero", "deletion, mean", "mine", "f1"]
    assert all(item.named for item in found)


def test_a_metric_on_a_function_is_an_object_that_calls_it():
    (item,) = metric_items([("deletion", Spec.parse("deletion(steps=3)"))], (halved,), canvases_named=True)
    assert item.instance.canvas is halved
    assert item.instance.steps == 3
    assert item.spec.get("canvas") == "halved()"
