"""Day one: a model and rows of one's own, scored from Python and from the command line."""

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import assay
from assay.cli.main import app
from assay.core.errors import AssayError
from assay.engine.artifacts.artifact import default_block_size, split_blocks
from journeys import yours
from streams import seeded


def rows(count=12, seed=0):
    return torch.randn(count, 6, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def data(tmp_path):
    np.savez(tmp_path / "rows.npz", x=rows().numpy(), y=rows()[:, :3].argmax(dim=1).numpy())
    return tmp_path / "rows.npz"


def command(*given):
    return CliRunner().invoke(app, ["evaluate", "--workers", "0", *map(str, given)])


def test_a_linear_model_s_exact_attribution_correlates_perfectly():
    methods, given = ["input_x_gradient", "random_map"], {"baseline": "zero", "canvas": "zero"}
    by_sets = assay.evaluate(yours.linear(), rows(), methods=methods, metrics=["sensitivity_n"], **given)
    assert by_sets.cells[0].value == pytest.approx(1.0, abs=1e-6)
    assert (by_sets.cells[0].basis, by_sets.cells[0].low) == ("equal", None)
    assert by_sets.cells[1].high < 0.9
    found = assay.evaluate(yours.linear(), rows(), methods=methods, metrics=["single_deletion"], **given)
    exact, random = found.cells
    assert exact.value == pytest.approx(1.0, abs=1e-6)
    assert (exact.basis, exact.low) == ("equal", None)
    assert (random.basis, random.per_seed) == ("samples", (random.value,))
    assert random.low < random.value < random.high < 0.9
    assert f"{random.value:.3f} [{random.low:.3f}, {random.high:.3f}]" in repr(found)
    assert repr(found).count("95 % intervals over samples") == 1
    assert repr(found).count("no interval: equal on all samples") == 1
    assert list(found.scores()["basis"]) == ["equal", "samples"]
    assert random.count == 12
    assert "1.000" in repr(found)


def test_images_targets_and_curves():
    x = torch.rand(5, 2, 4, 4, generator=torch.Generator().manual_seed(1))
    metric = "deletion(canvas='zero', readout='logit', steps=4)"
    found = assay.evaluate(yours.pictures(), x, 1, ["input_x_gradient"], [metric])
    cell = found["input_x_gradient", metric]
    np.testing.assert_allclose(found.attributions["input_x_gradient"][:, 0].numpy(), 0)  # class 1 reads channel 1 only
    assert cell.curve[-1] == pytest.approx(0)
    assert cell.curve[0] == pytest.approx(float(x[:, 1].sum() / 5), rel=1e-5)
    assert list(found.scores()["status"]) == ["ok"]


def test_the_model_stays_as_it_was_and_may_be_in_training_mode():
    model = torch.nn.Sequential(yours.linear(), torch.nn.Dropout(0.5)).train()
    first, second = (assay.evaluate(model, rows(), methods=["gradient"], metrics=["insertion"]) for _ in range(2))
    assert first.cells[0].value == second.cells[0].value
    assert model.training
    assert next(model.parameters()).requires_grad


def test_what_does_not_apply_is_skipped_and_what_breaks_fails_alone():
    def broken(model, inputs, targets):
        raise RuntimeError("no")

    found = assay.evaluate(yours.linear(), rows(), 0, ["gradient", "grad_cam", broken], ["deletion", "f1"])
    assert [cell.status for cell in found.cells] == ["ok", "skipped", "skipped", "skipped", "failed", "failed"]
    assert "RuntimeError: no" in found["broken", "f1"].reason
    assert "raise RuntimeError" in found["broken", "f1"].traceback
    assert str(found).splitlines()[-3:] == [
        "failed: RuntimeError: no: broken (all metrics)",
        "skipped: needs known truth, and this environment has none: gradient (f1)",
        "skipped: needs a convolutional layer: grad_cam (all metrics)",
    ]
    samples = found.samples().set_index(["method", "metric"])
    assert list(samples.loc[("gradient", "deletion")].value) == list(found["gradient", "deletion"].per_sample)
    assert list(samples.loc[[("grad_cam", "f1")]].status) == ["skipped"]


def test_rows_are_their_own_reference_and_a_single_row_has_none():
    metric = ["deletion(canvas='zero')"]
    (alone,) = assay.evaluate(yours.linear(), rows(1), 0, ["agop"], metric).cells
    assert (alone.status, alone.reason) == ("skipped", "needs reference data to fit, and this environment has none")
    (own,) = assay.evaluate(yours.linear(), rows(), 0, ["agop"], metric).cells
    (same,) = assay.evaluate(yours.linear(), rows(), 0, ["agop"], metric, reference=rows()).cells
    (other,) = assay.evaluate(yours.linear(), rows(), 0, ["agop"], metric, reference=rows(40, 1)).cells
    assert own.status == other.status == "ok"
    assert own.value == same.value


def test_a_metric_may_be_somebody_else_s():
    def mean_size(model, x, y, a):
        return a.abs().flatten(1).mean(dim=1)

    class Batched:
        def __call__(self, model, x_batch, y_batch, a_batch):
            return [float(np.abs(row).mean()) for row in a_batch]

    found = assay.evaluate(yours.linear(), rows(), 0, ["gradient"], [mean_size, Batched()])
    assert [cell.metric for cell in found.cells] == ["mean_size", "Batched"]
    for cell in found.cells:
        assert cell.value == pytest.approx(2 / 6), cell.reason  # two weights of six are 1


def test_a_probe_is_asked_once_for_all_methods():
    calls = []
    model = yours.linear()
    model.register_forward_hook(lambda module, inputs, output: calls.append(len(inputs[0])))
    metric = ["sensitivity_n(sizes=4, sets=50)"]
    assay.evaluate(model, rows(), 0, ["constant"], metric)
    once = sum(calls)
    calls.clear()
    assay.evaluate(model, rows(), 0, ["constant", "random_map", "random_squared"], metric)
    assert sum(calls) == once


def test_the_command_prints_a_table_and_resumes(data, tmp_path):
    asked = ("--model", "yours:linear", "--data", data, "--store", tmp_path / "st", "-m", "gradient", "-s", "deletion")
    first = command(*asked)
    assert first.exit_code == 0, first.output
    assert "your model" in first.output
    assert "deletion" in first.output
    again = command(*asked, "--json")
    told = json.loads(again.output)
    assert told["boards"][0]["methods"][0]["metrics"]["deletion"]["count"] == 12


def test_the_command_and_python_say_the_same(data, tmp_path):
    asked = (
        "--model",
        "yours:linear",
        "--data",
        data,
        "--store",
        tmp_path / "st",
        "-m",
        "input_x_gradient",
        "-s",
        "insertion",
    )
    told = json.loads(command(*asked, "--json").output)
    here = assay.evaluate(yours.linear(), rows(), methods=["input_x_gradient"], metrics=["insertion"])
    cell = told["boards"][0]["methods"][0]["metrics"]["insertion"]
    assert cell["value"] == pytest.approx(here.cells[0].value, abs=1e-7)


def test_in_float64_the_command_reads_rows_that_float32_cannot_tell_apart(tmp_path):
    x = 1.7e9 + np.random.default_rng(0).normal(scale=10, size=(12, 6))  # seconds since 1970
    np.savez(tmp_path / "times.npz", x=x)
    asked = ["--model", "journeys.yours:linear", "--data", tmp_path / "times.npz", "-m", "input_x_gradient"]
    asked += ["-s", "deletion(readout='logit')", "--readout", "logit", "--json"]

    def value(dtype):
        told = json.loads(command(*asked, "--dtype", dtype, "--store", tmp_path / dtype).output)
        return told["boards"][0]["methods"][0]["metrics"]["deletion(readout='logit')"]["value"]

    exact = assay.evaluate(yours.linear().double(), x, None, ["input_x_gradient"], ["deletion(readout='logit')"])
    assert value("float64") == exact.cells[0].value
    assert value("float32") != exact.cells[0].value


def test_the_same_rows_under_more_seeds_make_no_interval_narrower(data, tmp_path):
    """Seeds order the rows of a file anew; the model and the rows stay."""
    asked = ("--model", "yours:linear", "--data", data, "-m", "input_x_gradient", "-s", "insertion", "--json")
    one, three = (
        json.loads(command(*asked, "--store", tmp_path / seeds, "--seeds", seeds).output)["boards"][0]["methods"][0]
        for seeds in ("0", "0,1,2")
    )
    one, three = one["metrics"]["insertion"], three["metrics"]["insertion"]
    assert (one["count"], three["count"]) == (12, 36)
    assert one["basis"] == three["basis"] == "samples"
    for name in ("value", "low", "high"):
        assert three[name] == pytest.approx(one[name], abs=1e-6)


def test_weights_from_a_file_make_the_model(data, tmp_path):
    torch.save(yours.linear().state_dict(), tmp_path / "w.pt")
    asked = ("--data", data, "--store", tmp_path / "st", "-m", "input_x_gradient", "-s", "insertion", "--json")
    plain = command("--model", "yours:linear", *asked)
    restored = command("--model", "yours:moody", "--weights", tmp_path / "w.pt", *asked)
    values = [
        json.loads(found.output)["boards"][0]["methods"][0]["metrics"]["insertion"]["value"]
        for found in (plain, restored)
    ]
    assert values[0] == values[1]


@pytest.mark.parametrize(
    "change, words",
    [
        ({"--model": "yours:moody"}, "makes another model every time"),
        ({"--model": "yours:number"}, "is float, not a torch.nn.Module"),
        ({"--model": "yours:lineal"}, "Did you mean 'linear'?"),
        ({"--model": "linear"}, "write module:attr"),
        ({"--data": "nowhere.npz"}, "there is no file"),
        ({"--weights": __file__}, "does not hold the weights"),
        ({"-m": "gradeint"}, "Did you mean 'gradient'?"),
        ({"--readout": "loggit"}, "does not fit"),
    ],
)
def test_mistakes_are_told_in_a_sentence(data, tmp_path, change, words):
    asked = {"--model": "yours:linear", "--data": str(data), "--store": str(tmp_path / "st"), **change}
    found = command(*(part for pair in asked.items() for part in pair))
    assert isinstance(found.exception, AssayError)
    assert words in str(found.exception)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 32, 97, 512, 1000])
@pytest.mark.parametrize("kind", ["image", "table"])
def test_blocks_hold_every_row_once(count, kind):
    cut = split_blocks(count, default_block_size(kind), count)
    assert [index for block in cut for index in block.indices] == list(range(count))
    assert kind == "table" or len(cut) >= count / 8


@pytest.mark.parametrize(
    "change, words",
    [
        ({"label": torch.full((12,), 3)}, "label holds class 3, and the model has outputs 0 to 2"),
        ({"label": torch.full((12,), 0.5)}, "fractions"),
        ({"target": torch.zeros(5)}, r"target has shape \(5,\)"),
        ({"target": -1}, "target holds class -1"),
        ({"x": rows()[:0]}, "has no rows"),
        ({"x": torch.where(torch.arange(12)[:, None] == 3, torch.nan, rows())}, "1 of 12 rows: 3"),
        ({"x": rows()[:, :5]}, r"cannot read rows of shape \(5,\)"),
        ({"reference": rows()[:, :5]}, "reference has rows of shape"),
        ({"outputs": "probabilities"}, "are they logits"),
        ({"outputs": "vale"}, "logits, probabilities, value"),
        ({"readout": "logit", "outputs": "value"}, "has no readout 'logit'"),
        ({"methods": "gradient"}, "give a list"),
    ],
)
def test_rows_and_classes_that_do_not_fit_are_told_before_anything_runs(change, words):
    given = {"x": rows(), "methods": ["gradient"], "metrics": ["deletion"], **change}
    with pytest.raises(AssayError, match=words):
        assay.evaluate(yours.linear(), **given)


@seeded()
def test_a_regression_and_a_model_of_probabilities_need_one_word():
    value = torch.nn.Linear(6, 1)
    found = assay.evaluate(value, rows(), methods=["input_x_gradient"], metrics=["deletion"], outputs="value")
    assert found.cells[0].status == "ok"
    flat = torch.nn.Sequential(value, torch.nn.Flatten(0))
    asked = {"methods": ["input_x_gradient"], "metrics": ["deletion"]}
    same = assay.evaluate(flat, rows(), outputs="value", **asked)
    assert same.cells[0].value == found.cells[0].value
    assert assay.evaluate(value, rows(), label=rows()[:, 0], **asked).cells[0].value == found.cells[0].value
    soft = torch.nn.Sequential(yours.linear(), torch.nn.Softmax(dim=1))
    told = assay.evaluate(soft, rows(), methods=["gradient"], metrics=["deletion"], outputs="probabilities")
    assert told.cells[0].status == "ok"


def test_a_metric_that_reads_another_number_than_was_explained_says_so(data, tmp_path):
    asked = (
        "--model",
        "yours:linear",
        "--data",
        data,
        "--store",
        tmp_path / "st",
        "-m",
        "gradient",
        "-m",
        "random_map",
    )
    metrics = ("-s", "deletion", "-s", "deletion(readout='probability')")
    board = json.loads(command(*asked, *metrics, "--json").output)["boards"][0]
    told = {
        (line["method"], metric): (cell["explains"], cell["reads"])
        for line in board["methods"]
        for metric, cell in line["metrics"].items()
    }
    assert told.pop(("gradient", "deletion(readout='probability')")) == ("logit", "probability")
    assert set(told.values()) == {("", "")}
    assert "reads the probability, gradient explains the logit" in command(*asked, *metrics, "--full").output


def test_two_of_one_name_are_both_there():
    found = assay.evaluate(yours.linear(), rows(), 0, [lambda m, x, t: x, lambda m, x, t: -x], ["deletion"])
    assert [cell.method for cell in found.cells] == ["<lambda>", "<lambda> (2)"]
    assert found.cells[0].value != found.cells[1].value
    with pytest.raises(KeyError, match="nothing was evaluated"):
        found["gradient", "deletion"]


def test_a_metric_without_a_direction_ranks_nobody(data, tmp_path):
    asked = ("--model", "yours:linear", "--data", data, "--store", tmp_path / "st")
    told = json.loads(command(*asked, "-m", "gradient", "-m", "random_map", "-s", "yours:size", "--json").output)
    for line in told["boards"][0]["methods"]:
        assert line["metrics"]["yours:size"]["rank"] is None
        assert line["mean_rank"] is None
    found = command(*asked, "-m", "gradient", "-s", "yours:size").output
    assert "yours:size" in found
    assert "↑" not in found
    assert "↓" not in found
    for name in ("out.md", "out.tex", "out.csv"):
        assert CliRunner().invoke(app, ["export", str(tmp_path / "st"), "-o", str(tmp_path / name)]).exit_code == 0
    assert CliRunner().invoke(app, ["report", str(tmp_path / "st")]).exit_code == 0
    page = (tmp_path / "st" / "report" / "index.html").read_text()
    assert "does not say which way is better" in page


def test_where_nothing_can_be_scored_the_command_says_so(data, tmp_path):
    found = command("--model", "yours:linear", "--data", data, "--store", tmp_path / "st", "-m", "gradient", "-s", "f1")
    assert found.exit_code == 1
    assert "Nothing could be scored" in found.output


def test_labels_that_are_no_classes_are_told_before_anything_runs(tmp_path):
    np.savez(tmp_path / "d.npz", x=rows().numpy(), y=np.full(12, 7))
    found = command("--model", "yours:linear", "--data", tmp_path / "d.npz", "--store", tmp_path / "st")
    assert "label holds class 7, and the model has outputs 0 to 2" in str(found.exception)
    assert not (tmp_path / "st").exists()


def test_rows_that_change_in_a_process_are_read_again(tmp_path):
    path = tmp_path / "d.npy"
    values = []
    for factor in (1.0, 30.0):
        np.save(path, factor * rows().numpy())
        asked = ("--model", "yours:linear", "--data", path, "--store", tmp_path / "st", "-m", "input_x_gradient")
        told = json.loads(command(*asked, "-s", "insertion", "--json").output)
        values.append(told["boards"][0]["methods"][0]["metrics"]["insertion"]["value"])
    assert values[0] != values[1]
