"""Models and rows that would give wrong numbers are refused in a sentence, or read as they are meant."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

import assay
from assay.cli.main import app, main
from assay.core.errors import AssayError, SpecError
from journeys import yours

CELL = {"methods": ["input_x_gradient"], "metrics": ["insertion"]}


def rows(count=12, seed=0):
    return torch.randn(count, 6, generator=torch.Generator().manual_seed(seed))


def value(x, model=None, **given):
    (cell,) = assay.evaluate(model or yours.linear(), x, **{**CELL, **given}).cells
    assert cell.status == "ok", cell.reason
    return cell.value


def command(tmp_path, change, arrays):
    np.savez(tmp_path / "rows.npz", **{"x": rows().numpy(), **arrays})
    asked = {"--model": "yours:linear", "--data": tmp_path / "rows.npz", "--store": tmp_path / "st", **change}
    asked |= {"-m": "input_x_gradient", "-s": "insertion", "--workers": 0}
    return CliRunner().invoke(app, ["evaluate", "--json", *(str(part) for pair in asked.items() for part in pair)])


def told(tmp_path, change, arrays):
    found = command(tmp_path, change, arrays)
    assert isinstance(found.exception, AssayError), found.output
    assert not (tmp_path / "st").exists()
    assert "\n" not in str(found.exception)
    return str(found.exception)


MODELS = [
    pytest.param("Noisy", "when it is asked again", marks=pytest.mark.draws("dropout that is always on")),
    ("Counting", "when it is asked again"),
    ("Mixing", "mixes the rows of a batch"),
    ("Reading", "mixes the rows of a batch"),
    ("unstated", "mixes the rows of a batch"),
    ("soft", "outputs='probabilities'"),
]


@pytest.mark.parametrize("name, words", MODELS)
def test_a_model_without_one_answer_per_row_is_refused_in_python_and_by_the_command(tmp_path, name, words):
    with pytest.raises(SpecError, match=words):
        assay.evaluate(getattr(yours, name)(), rows(), **CELL)
    assert words in told(tmp_path, {"--model": f"yours:{name}"}, {})


@pytest.mark.parametrize("name", ["Mixing", "Reading", "unstated"])
def test_a_model_that_mixes_rows_is_refused_where_there_is_one_row_only(name):
    with pytest.raises(SpecError, match="mixes the rows of a batch"):
        assay.evaluate(getattr(yours, name)(), rows(1), **CELL)


def test_probabilities_are_taken_where_they_were_promised(tmp_path):
    here = value(rows(), yours.soft(), outputs="probabilities")
    found = command(tmp_path, {"--model": "yours:soft", "--outputs": "probabilities"}, {})
    assert json.loads(found.output)["boards"][0]["methods"][0]["metrics"]["insertion"]["value"] == pytest.approx(here)


def test_which_of_several_values_is_explained_must_be_said(tmp_path):
    asked = {"methods": ["gradient"], "metrics": ["deletion"], "outputs": "value"}
    with pytest.raises(SpecError, match="3 values: give target"):
        assay.evaluate(yours.linear(), rows(), **asked)
    found = assay.evaluate(yours.linear(), rows(), 2, **asked)
    assert found.attributions["gradient"][0].tolist() == [0, 0, 1, 0, 0, 1]
    assert "call assay.evaluate with a target" in told(tmp_path, {"--outputs": "value"}, {})


@pytest.mark.parametrize(
    "change, arrays, words",
    [
        ({}, {"x": rows()[0].numpy()}, "x has shape (6,): for one row, give x[None]"),
        ({}, {"x": np.float32(1)}, "x has shape (): write tables as"),
        ({}, {"x": np.array([[None] * 6])}, "Object arrays cannot be loaded"),
        ({}, {"y": np.array(["cat"] * 12)}, "label holds text, and the model does not name its classes"),
        ({}, {"y": np.full(12, np.inf)}, "label holds fractions"),
        (
            {},
            {"reference_x": rows().numpy(), "reference_y": np.array(["cat"] * 12)},
            "the reference's label holds text",
        ),
        ({}, {"reference_x": rows().numpy(), "reference_y": np.full(12, 7)}, "the reference's label holds class 7"),
        ({"--model": "yours:broken"}, {}, "yours:broken() makes no model: RuntimeError: no weights today."),
        ({"--model": "yours:sized"}, {}, "the model cannot read rows of shape (6,)"),
        ({"--model": "yours:three"}, {}, "the model is int, not a torch.nn.Module"),
        ({"--model": "yours:3"}, {}, "--model yours:3: write module:attr"),
        ({"--data": __file__}, {}, "is no data that are read"),
        ({"--baseline": "bogus"}, {}, "baseline='bogus': write zero, mean, uniform or a number"),
        ({"--baseline": "zerro"}, {}, "Did you mean 'zero'?"),
        ({"--baseline": "1e39"}, {}, "baseline=1e+39: write"),
        ({"--baseline": "nan"}, {}, "baseline=nan: write"),
        ({"--baseline": "mean"}, {"x": rows(1).numpy()}, "give them as reference_x"),
        ({"--device": "zz"}, {}, "--device zz: torch finds no such device"),
        ({"--seeds": "0,-1"}, {}, "a seed is 0 or more"),
    ],
)
def test_mistakes_of_the_command_line_are_one_sentence_and_nothing_runs(tmp_path, change, arrays, words):
    assert words in told(tmp_path, change, arrays)


def test_a_mistake_ends_with_exit_code_2_and_no_traceback(tmp_path, monkeypatch, capsys):
    (tmp_path / "empty.npz").touch()
    monkeypatch.setattr(sys, "path", list(sys.path))
    asked = ["assay", "evaluate", "--model", "yours:linear", "--data", str(tmp_path / "empty.npz")]
    monkeypatch.setattr(sys, "argv", asked)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("assay: '")
    assert "is empty: data are needed" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "change, words",
    [
        ({"x": rows()[0]}, r"x has shape \(6,\): for one row, give x\[None\]"),
        ({"x": rows()[0, 0]}, r"x has shape \(\): write tables as"),
        ({"x": 1.0}, r"x has shape \(\)"),
        ({"x": pd.DataFrame({"a": ["b", "c"], "d": [1.0, 2.0]})}, r"cannot read rows of shape \(3,\)"),
        ({"x": [["a", "b"]]}, r"cannot read rows of shape \(2,\)"),
        ({"reference": rows()[0]}, r"reference has shape \(6,\)"),
        ({"model": lambda x: x}, "say outputs='logits', outputs='probabilities' or outputs='value'"),
        ({"model": torch.nn.Linear}, "the model is the class Linear: give one that was made"),
        ({"target": "1"}, "target holds text, and the model does not name its classes"),
        ({"target": [[1], [1, 2]]}, "target cannot be read as an array"),
        ({"target": float("nan")}, "target holds fractions"),
        ({"label": ["cat"] * 12}, "label holds text"),
        ({"baseline": "bogus"}, "baseline='bogus': write zero, mean, uniform or a number"),
        ({"baseline": 1e39}, "that float32 can hold"),
        ({"baseline": "mean", "x": rows(1)}, "give them as reference"),
    ],
)
def test_mistakes_in_python_are_spec_errors(change, words):
    with pytest.raises(SpecError, match=words):
        assay.evaluate(**{"model": yours.linear(), "x": rows(), **CELL, **change})


def inference_rows():
    with torch.inference_mode():
        return rows().clone()


@pytest.mark.parametrize(
    "x",
    [
        pd.DataFrame(rows().double().numpy()),
        rows().numpy().astype(">f4"),
        rows().numpy()[::-1].copy()[::-1],
        rows().tolist(),
        inference_rows(),
        rows().requires_grad_(),
    ],
    ids=["data frame", "big-endian", "backwards", "list", "inference mode", "with gradients"],
)
def test_rows_may_come_in_many_forms(x):
    assert value(x) == value(rows())
    assert value(rows(), reference=x, baseline="mean") == value(rows(), reference=rows(), baseline="mean")


def test_whole_numbers_of_a_data_frame_are_numbers():
    assert value(pd.DataFrame(rows().mul(10).int().numpy())) == value(rows().mul(10).int().float())


def test_the_caller_may_be_in_inference_mode():
    with torch.inference_mode():
        inside = value(rows(), yours.linear())
    assert inside == value(rows())


@pytest.mark.parametrize("target", [1, 1.0, torch.tensor(1), np.int64(1), [1] * 12, np.full(12, 1, ">i4")])
def test_a_target_may_be_one_for_all_or_one_per_row(target):
    assert value(rows(), target=target) == value(rows(), target=torch.ones(12, dtype=torch.long))


def test_a_model_that_writes_into_its_input_changes_no_row_and_no_number(tmp_path):
    x, methods = rows(), ["gradient", "integrated_gradients", "random_map"]
    asked = {"methods": methods, "metrics": ["insertion", "sensitivity_n"], "reference": rows(8, 1)}
    found, plain = (assay.evaluate(model, x, **asked) for model in (yours.overwriting(), yours.careful()))
    assert torch.equal(x, rows())
    assert [cell.value for cell in found.cells] == [cell.value for cell in plain.cells]
    for name in methods:
        assert torch.equal(found.attributions[name], plain.attributions[name])
    scores = {}
    for name in ("overwriting", "careful"):
        (tmp_path / name).mkdir()
        board = json.loads(command(tmp_path / name, {"--model": f"yours:{name}"}, {}).output)["boards"][0]
        scores[name] = board["methods"][0]["metrics"]["insertion"]["value"]
    assert scores["overwriting"] == scores["careful"]


def table_of(change):
    frame = pd.DataFrame(rows(20).numpy(), columns=list("abcdef"))
    return frame.assign(y=[0, 1] * 10).pipe(change)


def images():
    return np.random.default_rng(0).uniform(0, 255, (6, 3, 4, 4)).astype("float32")


BAD = {
    "missing file": ({"--data": "rowz.npz"}, "there is no file or folder 'rowz.npz'. Did you mean 'rows.npz'?"),
    "wrong column": (
        {"--data": "plain.csv", "--label": "z"},
        "there is no column 'z' for the label. x has a, b, c, d,",
    ),
    "one class": (
        {"--data": "one.csv", "--label": "y"},
        "labels of several classes or values are needed. Name another",
    ),
    "text in a number column": ({"--data": "text.csv"}, "'b' holds numbers, and 'many' in 1 of 20 rows (3; counted"),
    "a row with NaN": ({"--data": "nan.csv"}, "missing values in 1 of 20 rows (3; counted from 0), in the column 'b'"),
    "wrong output shape": ({"--model": "yours:cube"}, "answers a batch of 8 with (8, 2, 3, 6): floats (rows, outputs)"),
    "no output per row": ({"--model": "yours:total"}, "the model answers a batch of 8 with (): floats (rows, outputs)"),
    "unfitted": ({"--model": "estimators:unfitted"}, "the LogisticRegression is not fitted: call its fit(x, y)"),
    "weights that do not fit": ({"--weights": "weights.npz"}, "weight ((3, 5) in the file, (3, 6) in the model)"),
    "images of 0..255": ({"--model": "yours:colours", "--data": "images.npz"}, "Divide by 255 (scale='unit' does)"),
    "wrong number of classes": ({"--data": "nine.npz"}, "outputs 0 to 2: give numbers of its outputs, or a model that"),
    "swapped": ({"--model": "rows.npz", "--data": "yours:linear"}, "read from a file or folder. They are swapped."),
    "data as a model": ({"--model": "yours:three"}, "the model is int, not a torch.nn.Module and no estimator"),
    "empty folder": ({"--data": "empty"}, "the folder 'empty' is empty: give one of images, or with a sub-folder"),
    "no data": ({"--data": "notes.docx"}, "'notes.docx' is no data that are read: CSV (.csv, .tsv), Parquet"),
    "no numpy file": ({"--data": "fake.npz"}, "it is neither of them; numpy.savez writes such a file."),
    "no budget": ({"--budget": "0"}, "--budget 0: write a time such as 60s or 2m, or none."),
}
BEFORE_TORCH = ("missing file", "swapped", "no budget")


@pytest.fixture
def bad_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, arrays in {
        "rows": {"x": rows().numpy()},
        "images": {"x": images()},
        "nine": {"x": rows().numpy(), "y": np.arange(12) % 9},
        "weights": {"weight": np.zeros((3, 5), "float32")},
    }.items():
        np.savez(f"{name}.npz", **arrays)
    for name, change in {
        "plain": lambda frame: frame,
        "one": lambda frame: frame.assign(y=0),
        "text": lambda frame: frame.assign(b=["many" if row == 3 else row for row in range(20)]),
        "nan": lambda frame: frame.assign(b=[None if row == 3 else row for row in range(20)]),
    }.items():
        table_of(change).to_csv(f"{name}.csv", index=False)
    (tmp_path / "empty").mkdir()
    for name in ("notes.docx", "fake.npz"):
        (tmp_path / name).write_text("hello")


@pytest.mark.parametrize("name", BAD)
def test_a_bad_call_ends_with_one_paragraph_and_exit_code_2(name, bad_files, assay):
    change, words = BAD[name]
    asked = {"--model": "yours:linear", "--data": "rows.npz", "--store": "st", **change}
    done = assay("evaluate", *(part for pair in asked.items() for part in pair))
    assert done.returncode == 2
    assert done.stderr.startswith("assay: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert not Path("st").exists()


@pytest.mark.parametrize("name", BEFORE_TORCH)
def test_what_needs_no_torch_is_refused_before_torch_is_imported(name, bad_files, python):
    asked = {"--model": "yours:linear", "--data": "rows.npz", **BAD[name][0]}
    code = (
        "import sys; from assay.cli.main import main\n"
        f"sys.argv = ['assay', 'evaluate', *{[part for pair in asked.items() for part in pair]}]\n"
        "try: main()\n"
        "finally: print('torch' in sys.modules)"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "False\n")


def test_training_mode_is_accepted_and_told(bad_files, assay):
    found = assay(
        *("evaluate", "--model", "yours:in_training", "--data", "rows.npz", "--store", "st", "--workers", 0),
        *("-m", "input_x_gradient", "-s", "insertion", "--budget", "none"),
    )
    assert found.returncode == 0
    assert "The model was in training mode; a copy in evaluation mode is asked." in found.stderr
