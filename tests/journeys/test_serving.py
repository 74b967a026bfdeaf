"""AGOP-IxG in the inference path: the numbers of the method, one pass each way, and a model that is left alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import assay
from assay.serving import AgopExplainer
from scenes import cnn, data, mlp, randomised
from streams import seeded

ROWS = data(40, 6, seed=3)
BATCH = data(9, 6, seed=4)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "explainer.safetensors"


def by_the_method(model, reference, batch, spec="agop", **question):
    found = assay.evaluate(model, batch, methods=[spec], metrics=["sensitivity_n"], reference=reference, **question)
    return next(iter(found.attributions.values()))


@pytest.mark.parametrize(
    "params", [{}, {"threshold": 0.3}, {"form": "diagonal"}, {"form": "inverse", "damping": 0.1}], ids=str
)
def test_the_numbers_are_those_of_the_method(params):
    model = mlp()
    spec = f"agop({', '.join(f'{name}={value!r}' for name, value in params.items())})"
    outputs, attributions = AgopExplainer(**params).fit(model, ROWS)(BATCH)
    assert torch.equal(outputs, model(BATCH))
    assert_close(attributions, by_the_method(model, ROWS, BATCH, spec), rtol=0, atol=1e-6)
    assert attributions.dtype == torch.float32


@pytest.mark.parametrize("readout", ["logit", "probability", "margin"])
def test_another_readout_is_that_of_the_method(readout):
    found = AgopExplainer(readout=readout).fit(mlp(), ROWS)(BATCH)[1]
    assert_close(found, by_the_method(mlp(), ROWS, BATCH, readout=readout), rtol=0, atol=1e-6)


@seeded()
def test_a_value_and_probabilities_are_explained():
    value = randomised(nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 1)))
    found = AgopExplainer(outputs="value").fit(value, ROWS)(BATCH)[1]
    assert_close(found, by_the_method(value, ROWS, BATCH, outputs="value"), rtol=0, atol=1e-6)
    soft = nn.Sequential(mlp(), nn.Softmax(dim=1)).eval()
    found = AgopExplainer(outputs="probabilities").fit(soft, ROWS)(BATCH)[1]
    assert_close(found, by_the_method(soft, ROWS, BATCH, outputs="probabilities"), rtol=0, atol=1e-6)


def test_rows_may_have_any_shape_and_batches_any_size(path):
    image_rows, images = data(20, 2, 8, 8, seed=5), data(3, 2, 8, 8, seed=6)
    explainer = AgopExplainer().fit(cnn(), image_rows)
    assert_close(explainer(images)[1], by_the_method(cnn(), image_rows, images), rtol=0, atol=1e-6)
    sequence = nn.Sequential(nn.Flatten(), mlp()).eval()
    AgopExplainer().fit(sequence, ROWS.view(-1, 3, 2)).save(path)
    explainer, flat = AgopExplainer.load(path, sequence), AgopExplainer().fit(mlp(), ROWS)(BATCH)[1]
    for size in (0, 1, 2, 9):
        outputs, attributions = explainer(BATCH[:size].view(-1, 3, 2))
        assert outputs.shape == (size, 3)
        assert_close(attributions, flat[:size].view(-1, 3, 2), rtol=0, atol=1e-6)


def test_one_call_is_one_forward_and_one_backward_pass_of_the_whole_batch():
    class Counted(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.passes = mlp(), []

        def forward(self, x):
            self.passes.append(("forward", len(x)))
            if x.requires_grad:
                x.register_hook(lambda slopes: self.passes.append(("backward", len(slopes))))
            return self.layers(x)

    explainer = AgopExplainer().fit(Counted(), ROWS)
    explainer.model_.passes.clear()
    explainer(BATCH)
    assert explainer.model_.passes == [("forward", 9), ("backward", 9)]


@seeded()
def test_the_users_model_and_batch_stay_as_they_are():
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(), nn.ReLU(), nn.Linear(8, 3)).train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    batch = BATCH.clone()
    explainer = AgopExplainer().fit(model, ROWS)
    explainer(batch)
    assert all(module.training for module in model.modules())
    assert all(parameter.requires_grad and parameter.grad is None for parameter in model.parameters())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert torch.equal(batch, BATCH)
    assert not batch.requires_grad


def test_what_happens_to_the_model_later_does_not_reach_the_explainer():
    model = mlp()
    explainer = AgopExplainer().fit(model, ROWS)
    before = explainer(BATCH)
    nn.init.zeros_(model[0].weight)
    assert_close(explainer(BATCH), before, rtol=0, atol=0)


def test_answers_are_plain_tensors_also_in_inference_mode():
    explainer = AgopExplainer().fit(mlp(), ROWS)
    expected = explainer(BATCH)
    with torch.inference_mode():
        found = explainer(BATCH.clone())
        assert_close(AgopExplainer().fit(mlp(), ROWS)(BATCH.clone()), expected)
    assert_close(found, expected)
    assert not any(tensor.requires_grad or tensor.is_inference() for tensor in found)


def test_a_row_with_nan_has_no_attribution_and_the_others_keep_theirs():
    explainer = AgopExplainer().fit(mlp(), ROWS)
    spoilt = BATCH.clone()
    spoilt[2, 1] = torch.nan
    attributions = explainer(spoilt)[1]
    assert attributions[2].isnan().all()
    rest = [index for index in range(len(BATCH)) if index != 2]
    assert_close(attributions[rest], explainer(BATCH)[1][rest], rtol=0, atol=1e-6)


def test_threads_may_share_an_explainer():
    explainer = AgopExplainer().fit(mlp(), ROWS)
    batches = [data(7, 6, seed=seed) for seed in range(16)]
    expected = [explainer(batch) for batch in batches]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(explainer, batches * 8))
    for number, pair in enumerate(found):
        assert_close(pair, expected[number % 16], rtol=0, atol=0)


def test_a_saved_explainer_is_the_same_after_loading(path):
    explainer = AgopExplainer(threshold=0.1, readout="margin").fit(mlp(), ROWS)
    explainer.save(path)
    loaded = AgopExplainer.load(str(path), mlp())
    assert loaded.facts_ == explainer.facts_
    assert_close(loaded(BATCH), explainer(BATCH), rtol=0, atol=0)


def test_another_model_is_refused(path):
    AgopExplainer().fit(mlp(), ROWS).save(path)
    changed = mlp()
    with torch.no_grad():
        changed[4].bias[0] += 1e-3
    for other in (changed, mlp().double(), cnn(), "model"):
        with pytest.raises(assay.AssayError, match="was fitted to a model with other weights"):
            AgopExplainer.load(path, other)


def test_a_file_that_is_not_whole_or_not_ours_is_refused_in_a_sentence(path):
    from safetensors.torch import save_file

    AgopExplainer().fit(mlp(), ROWS).save(path)
    whole = path.read_bytes()
    flipped = bytes([whole[-3] ^ 1])
    for content, told in (
        (whole[:-1], "cannot read"),
        (whole[: len(whole) // 2], "cannot read"),
        (b"", "cannot read"),
        (b"not a file of tensors", "cannot read"),
        (whole[:-3] + flipped + whole[-2:], "is damaged"),
        (whole.replace(b"logits", b"values", 1), "is damaged"),
    ):
        path.write_bytes(content)
        with pytest.raises(assay.AssayError, match=told) as refusal:
            AgopExplainer.load(path, mlp())
        assert "\n" not in str(refusal.value)
    save_file({"mean": torch.zeros(6)}, path)
    with pytest.raises(assay.AssayError, match="is no saved explainer"):
        AgopExplainer.load(path, mlp())
    for absent in (path.with_name("absent"), path.parent):
        with pytest.raises(assay.AssayError, match="cannot read"):
            AgopExplainer.load(absent, mlp())


def test_a_file_holds_tensors_and_facts_only(path):
    from safetensors import safe_open

    AgopExplainer().fit(mlp(), ROWS).save(path)
    with safe_open(path, "pt") as file:
        names = file.keys()
        assert sorted(names) == ["factor", "mean"]
        assert sorted(file.metadata()) == ["facts", "format", "sha256"]


@pytest.mark.parametrize(
    "batch, told",
    [
        (BATCH[:, :5], r"float32 of shape \(9, 5\), and the rows of the fit are float32 of shape \(6,\)"),
        (BATCH[0], r"of shape \(6,\)"),
        (BATCH.double(), "float64 of shape"),
        (BATCH.numpy(), "the batch is ndarray: give a torch.Tensor"),
    ],
)
def test_a_batch_of_other_rows_is_refused(batch, told):
    with pytest.raises(assay.AssayError, match=told):
        AgopExplainer().fit(mlp(), ROWS)(batch)


class Detached(nn.Module):
    def forward(self, x):
        return x.detach()


@pytest.mark.parametrize(
    "model, rows, asked, told",
    [
        (mlp(), ROWS, {"outputs": "value"}, "answers with 3 values"),
        (mlp(), ROWS, {"outputs": "classes"}, "outputs='classes'"),
        (mlp(), ROWS, {"readout": "logits"}, "no readout 'logits'"),
        (mlp(), ROWS, {"treshold": 0.1}, "threshold"),
        (mlp(), ROWS, {"threshold": 2.0}, "threshold is a share"),
        (mlp(), ROWS[:0], {}, "rows has no rows"),
        (mlp(), torch.full((3, 6), torch.nan), {}, "NaN or infinite"),
        (mlp(), ROWS[:, :5], {}, "cannot read rows of shape"),
        (Detached(), ROWS, {}, "needs gradients"),
        ("model", ROWS, {}, "not a torch.nn.Module"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_a_sentence(model, rows, asked, told):
    with pytest.raises(assay.AssayError, match=told):
        AgopExplainer(**asked).fit(model, rows)


def test_the_example_of_the_documentation_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs" / "serving.md"
    names = {"assay": assay, "model": mlp(), "training_rows": ROWS, "batch": BATCH}
    exec(page.read_text(encoding="utf-8").split("```python")[1].split("```")[0], names)
    assert names["attributions"].shape == BATCH.shape
