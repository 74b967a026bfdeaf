"""Explanations as people have them: explainers, arrays, functions, under labels of their own, here and in the shell."""

import json

import captum.attr
import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import assay
from assay.cli.main import app
from assay.core.errors import SpecError
from assay.engine.store.store import Store
from assay.report.board import result
from assay.studies.file import read
from journeys import their_explainers as theirs

METRIC = "deletion=deletion(canvas='zero', steps=4)"
CELL = {"metrics": [METRIC], "budget": None}


def twice(model, inputs, targets):
    return 2 * inputs


@pytest.fixture
def files(tmp_path):
    np.savez(tmp_path / "rows.npz", x=theirs.rows().numpy())
    np.save(tmp_path / "maps.npy", 2 * theirs.rows().numpy())
    np.save(tmp_path / "some.npy", 2 * theirs.rows(12).numpy())
    return tmp_path


def shell(files, *methods, metric=METRIC, more=()):
    """The printed text, and the result in the store; raises the error that would be printed."""
    asked = [
        "evaluate",
        "--workers",
        "0",
        "--model",
        "their_explainers:net",
        "--data",
        files / "rows.npz",
        "--store",
        files / "st",
    ]
    asked += [part for method in methods for part in ("-m", method)] + ["-s", metric, "--budget", "none", *more]
    done = CliRunner().invoke(app, list(map(str, asked)))
    if done.exception:
        raise done.exception
    return done.output, result(Store.open(files / "st"))


def values(found):
    return {score.method: score.value for score in found.scores()}


def test_a_dict_mixes_everything_under_labels_of_the_users_choice():
    net, x = theirs.net, theirs.rows()
    given = {
        "mine": x.numpy(),
        "by class": np.stack([x.numpy()] * 3, axis=-1),
        "ig": "integrated_gradients(steps=8)",
        "cap": captum.attr.Saliency,
        "explainer": captum.attr.LayerGradCam(net, net.layer3),
        "f": twice,
    }
    found = assay.evaluate(net, x, methods=given, **CELL)
    assert [cell.method for cell in found.cells] == list(given)
    assert {cell.status for cell in found.cells} == {"ok"}
    assert {cell.metric for cell in found.cells} == {"deletion"}
    assert torch.equal(found.attributions["mine"], x)
    assert torch.equal(found.attributions["by class"], x)
    assert torch.equal(found.attributions["f"], 2 * x)
    assert found.attributions["explainer"].shape == (20, 4, 4)
    assert found["mine", "deletion"].value == found["f", "deletion"].value


def test_a_list_may_hold_arrays_and_labels():
    found = assay.evaluate(theirs.net, theirs.rows(), methods=[theirs.rows(), "random_map", "ours = gradient"], **CELL)
    assert [cell.method for cell in found.cells] == ["given attributions", "random_map", "ours"]


def test_attributions_of_fewer_rows_limit_all_methods_to_these():
    x = theirs.rows()
    given = {"mine": x[:12].numpy(), "longer": x[:16].numpy(), "f": twice}
    found = assay.evaluate(theirs.net, x, methods=given, **CELL)
    assert {cell.count for cell in found.cells} == {12}
    assert "8 of 20 rows, for which 'mine' has no attributions" in repr(found)
    with pytest.raises(
        SpecError, match=r"^mine: has shape \(24, 2, 4, 4\), and x has shape \(20, 2, 4, 4\): 24 rows for 20"
    ):
        assay.evaluate(theirs.net, x, methods={"mine": np.ones((24, 2, 4, 4))}, **CELL)
    with pytest.raises(SpecError, match=r"^mine: has rows of shape \(5,\), and the model reads rows of \(2, 4, 4\)"):
        assay.evaluate(theirs.net, x, methods={"mine": np.ones((20, 5))}, **CELL)


def test_rows_that_are_drawn_keep_their_own_attributions():
    x = theirs.rows(40)
    found = assay.evaluate(theirs.net, x, methods={"mine": 2 * x.numpy(), "f": twice}, metrics=[METRIC], budget=1e-6)
    assert (found.plan.drawn, found.plan.rows) == (True, 16)
    assert torch.equal(found.attributions["mine"], found.attributions["f"])
    assert not torch.equal(found.attributions["mine"], 2 * x[:16])
    fewer = assay.evaluate(
        theirs.net, x, methods={"mine": 2 * x[:30].numpy(), "f": twice}, metrics=[METRIC], budget=1e-6
    )
    assert (fewer.plan.drawn, fewer.plan.rows) == (False, 16)
    assert torch.equal(fewer.attributions["mine"], 2 * x[:16])
    assert "14 of 30 rows, for lack of time; the others were the first ones" in fewer.plan.dropped


EQUAL = {
    "gc": ("captum.attr:LayerGradCam(layer='layer3')", lambda: captum.attr.LayerGradCam(theirs.net, theirs.net.layer3)),
    "noise": (
        "captum.attr:NoiseTunnel(attribution_method=captum.attr:IntegratedGradients)",
        lambda: captum.attr.NoiseTunnel(captum.attr.IntegratedGradients(theirs.net)),
    ),
    "made at import": ("their_explainers:smooth", lambda: theirs.smooth),
    "mine": ("precomputed(path='{0}/maps.npy')", lambda: 2 * theirs.rows().numpy()),
}


@pytest.mark.parametrize("metric", [METRIC, "again=their_explainers:MeanSize(step=0.25)"])
def test_the_shell_takes_the_same_and_gives_equal_numbers(files, metric):
    here = assay.evaluate(
        theirs.net,
        theirs.rows(),
        methods={label: make() for label, (_, make) in EQUAL.items()},
        metrics={"again": theirs.MeanSize(0.25)} if "again" in metric else [metric],
        budget=None,
    )
    methods = [f"{label}={spec.format(files)}" for label, (spec, _) in EQUAL.items()]
    _, found = shell(files, *methods, metric=metric)
    assert values(found) == {cell.method: cell.value for cell in here.cells}
    assert (values(found)["mine"] is None) == ("again" in metric)  # given numbers cannot be asked again


def test_in_the_shell_other_seeds_keep_the_rows_of_a_file(files):
    methods = (f"mine=precomputed(path='{files}/maps.npy')", "f=journeys.test_explanations:twice")
    _, found = shell(files, *methods, more=("--seeds", "1"))
    assert values(found)["mine"] == values(found)["f"]
    output, found = shell(files, f"mine=precomputed(path='{files}/some.npy')", "f=journeys.test_explanations:twice")
    assert values(found)["mine"] == values(found)["f"]
    assert "8 of 20 rows, for which 'mine' has no attributions" in output


def test_in_the_shell_refusals_are_the_same(files):
    np.save(files / "wrong.npy", np.ones((20, 5)))
    with pytest.raises(SpecError, match=r"^mine: has rows of shape \(5,\), and the model reads rows of \(2, 4, 4\)"):
        shell(files, f"mine=precomputed(path='{files}/wrong.npy')")
    with pytest.raises(
        SpecError, match=r"^the model has no layer 'layr3'. Did you mean 'layer3'\? Its layers: conv1, layer3"
    ):
        shell(files, "captum.attr:LayerGradCam(layer='layr3')")


def test_an_attribution_takes_them_too():
    net, x = theirs.net, theirs.rows()
    assert torch.equal(assay.attribute(net, x, 3 * x.numpy()).attribution, 3 * x)
    found = assay.attribute(net, x, captum.attr.LayerGradCam(net, net.layer3))
    assert found.method == "LayerGradCam"
    assert str(found.remarks) == "layer layer3: 2x2, enlarged to the image"


def test_an_item_of_a_study_may_have_a_label():
    table = {
        "environments": ["color_count"],
        "methods": ["IG=integrated_gradients", "gradient"],
        "metrics": ["F1 = f1"],
    }
    study = read(table, "some")
    assert [entry.label for entry in study.methods] == ["IG", "gradient"]
    assert [(entry.label, entry.spec.name) for entry in study.metrics] == [("F1", "f1")]


def test_the_plain_result_can_be_written_as_a_page_and_read_as_json(files):
    found = assay.evaluate(theirs.net, theirs.rows(), methods={"mine": theirs.rows().numpy(), "f": twice}, **CELL)
    assert "mine" in found.report(files / "page").read_text()
    assert json.loads(found.scores().to_json())["method"] == {"0": "mine", "1": "f"}
