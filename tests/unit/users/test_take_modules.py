"""Torch modules as people have them: whatever they answer with, nothing is picked without a word."""

from collections import OrderedDict
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.core.errors import SpecError
from assay.core.features import Columns, Pixels, Steps
from assay.core.setting import model_copy
from assay.foreign.models import has_gradients
from assay.users.rows import Rows
from assay.users.take import check_not_swapped, makes_models, take_model, takes_missing
from streams import seeded

X = torch.randn(12, 4, generator=torch.Generator().manual_seed(0))
ROWS = Rows(X, Columns.plain(4), "table")
IMAGES = Rows(torch.rand(6, 3, 8, 8, generator=torch.Generator().manual_seed(1)), Pixels(3, 8, 8), "image")


class Net(nn.Module):
    """Three logits, in the form that ``answer`` gives them."""

    @seeded()
    def __init__(self, answer=lambda logits, x: logits, outputs=3):
        super().__init__()
        self.layer, self.answer = nn.Linear(4, outputs), answer
        self.eval()

    def forward(self, x):
        return self.answer(self.layer(x), x)


class Named(NamedTuple):
    logits: torch.Tensor
    hidden: torch.Tensor


@dataclass
class Record:
    logits: torch.Tensor
    loss: None = None


def logits(net, x=X):
    with torch.no_grad():
        return net.layer(x)


FORMS = {
    "dict": lambda z, x: {"logits": z, "loss": z.sum()},
    "ordered dict": lambda z, x: OrderedDict(logits=z, states=(x, x)),
    "tuple": lambda z, x: (z, None),
    "list": lambda z, x: [z],
    "dataclass": lambda z, x: Record(z),
    "object": lambda z, x: SimpleNamespace(logits=z, name="net"),
    "dict with integers": lambda z, x: {"logits": z, "label": z.argmax(dim=1)},
    "dict with pixels": lambda z, x: {"logits": z, "maps": z[:, :, None, None]},
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_only_tensor_of_floats_by_row_is_taken_and_named(form):
    net = Net(form)
    taken = take_model(net, ROWS)
    assert_close(taken.module(X), logits(net))
    assert (taken.outputs, taken.count) == ("logits", 3)
    assert any(part in taken.notes[0] for part in ("output 'logits' of", "output 0 of"))
    assert has_gradients(taken.module, X)


def test_of_several_tensors_none_is_picked():
    net = Net(lambda z, x: {"logits": z, "hidden": x})
    with pytest.raises(
        SpecError, match=r"logits: float32 \(8, 3\), hidden: float32 \(8, 4\).*output='logits' or output='hidden'"
    ):
        take_model(net, ROWS)
    for output in ("logits", 0):
        assert_close(take_model(net, ROWS, output=output).module(X), logits(net))
    with pytest.raises(SpecError, match=r"no output 'logit'. Did you mean 'logits'?"):
        take_model(net, ROWS, output="logit")
    with pytest.raises(SpecError, match="has no output 2"):
        take_model(net, ROWS, output=2)


def test_an_output_of_a_tuple_is_named_by_field_or_place():
    net = Net(lambda z, x: Named(z, x))
    for output in ("logits", 0, -2):
        assert_close(take_model(net, ROWS, output=output).module(X), logits(net))
    with pytest.raises(SpecError, match="'maps' of the model's answer is float32"):
        take_model(Net(FORMS["dict with pixels"]), ROWS, output="maps")
    with pytest.raises(SpecError, match="leave output out"):
        take_model(Net(), ROWS, output=0)


@pytest.mark.parametrize(
    "answer, words",
    [
        (
            lambda z, x: z[:, :, None, None].expand(-1, -1, 5, 5),
            r"\(8, 3, 5, 5\).*forward=lambda model, x: model\(x\)\.mean\(dim=\(2, 3\)\)",
        ),
        (lambda z, x: {"maps": z[:, :, None]}, r"dict \(maps: float32 \(8, 3, 1\)\).*forward="),
        (lambda z, x: None, "with NoneType"),
        (lambda z, x: z[:3], r"with \(3, 3\)"),
        (lambda z, x: z.argmax(dim=1), "int64: floating point numbers are needed, scores or probabilities"),
        (lambda z, x: z.softmax(dim=1), "outputs='probabilities'"),
        (lambda z, x: torch.where(x[:, :1] > 0, z, torch.nan), "NaN for . of 8 rows"),
        (lambda z, x: z - z.mean(dim=0), "mixes the rows"),
        (lambda z, x: z + torch.rand(()), "asked again"),
    ],
)
@pytest.mark.draws("a model that draws is the case")
def test_answers_that_cannot_be_explained_are_refused(answer, words):
    with pytest.raises(SpecError, match=words):
        take_model(Net(answer), ROWS)


def test_forward_asks_a_model_in_the_user_s_way():
    net = Net(lambda z, x: z[:, :, None, None].expand(-1, -1, 5, 5))
    taken = take_model(net, ROWS, forward=lambda model, x: model(x).mean(dim=(2, 3)))
    assert_close(taken.module(X), logits(net))
    assert has_gradients(taken.module, X)
    assert "layer.weight" in {name.removeprefix("model.") for name, _ in taken.module.named_parameters()}


def test_forward_gets_rows_as_the_user_gave_them():
    rows = replace(ROWS, given=lambda x: {"a": x[:, :2], "b": x[:, 2:]})
    net = Net()
    taken = take_model(net, rows, forward=lambda model, rows: model(torch.cat([rows["a"], rows["b"]], dim=1)))
    assert_close(taken.module(X), logits(net))


class Two(nn.Module):
    def forward(self, left, right, scale=1.0):
        return scale * torch.stack([left.sum(dim=1), right.sum(dim=1)], dim=1)


@pytest.mark.parametrize("convert", [lambda x: x, lambda x: x.numpy(), lambda x: x.double().numpy()])
def test_several_inputs_are_arguments_by_their_names(convert):
    rows = replace(ROWS, given=lambda x: {"right": convert(x.detach()[:, 2:]), "left": convert(x.detach()[:, :2])})
    taken = take_model(Two(), rows)
    assert_close(taken.module(X), torch.stack([X[:, :2].sum(1), X[:, 2:].sum(1)], 1))
    assert "rows reach it as arguments right, left" in taken.notes[0]


def test_gradients_reach_several_inputs():
    rows = replace(ROWS, given=lambda x: {"left": x[:, :2], "right": x[:, 2:]})
    assert has_gradients(take_model(Two(), rows).module, X)


def test_a_frame_that_no_module_reads_is_passed_as_entries():
    net = Net()
    taken = take_model(net, replace(ROWS, given=lambda x: pd.DataFrame(x.numpy())))
    assert_close(taken.module(X), logits(net))


def test_a_plain_module_stays_itself_with_the_names_of_its_layers():
    net = Net()
    taken = take_model(net, ROWS)
    assert type(taken.module) is Net
    assert taken.notes == ("The model answers with logits of 3 classes.",)
    assert not any(parameter.requires_grad for parameter in taken.module.parameters())
    assert all(parameter.requires_grad for parameter in net.parameters())


def test_training_mode_is_told_and_the_model_left_alone():
    net = nn.Sequential(Net(), nn.BatchNorm1d(3), nn.Dropout(0.5)).train()
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    taken = take_model(net, ROWS)
    assert "was in training mode" in taken.notes[1]
    assert net.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in net.state_dict().items())


class Reads(nn.Module):
    """Refuses rows that are not as it reads them."""

    def __init__(self, accepts, answer):
        super().__init__()
        self.accepts, self.answer = accepts, answer
        self.eval()

    def forward(self, x):
        assert self.accepts(x), "not so"
        return self.answer(x)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_rows_are_converted_to_the_format_of_the_parameters(dtype):
    net = Net().to(dtype)
    taken = take_model(net, ROWS)
    assert taken.module(X).dtype == torch.float32
    assert_close(taken.module(X), logits(net, X.to(dtype)).float(), rtol=1e-2, atol=1e-2)
    assert f"rows reach it as {str(dtype).removeprefix('torch.')}" in taken.notes[0]
    wider = model_copy(taken.module).double()  # as a setting in another format is made
    assert_close(wider(X.double()), logits(Net().to(dtype).double(), X.double()))


def test_a_model_without_parameters_that_reads_float64_is_found_out():
    taken = take_model(Reads(lambda x: x.dtype == torch.float64, lambda x: x[:, :3]), ROWS)
    assert_close(taken.module(X), X[:, :3])
    assert "rows reach it as float64" in taken.notes[0]


def test_whole_numbers_reach_a_table_of_embeddings_as_such():
    with seeded():
        table = nn.Sequential(nn.Embedding(5, 6), nn.Flatten(), nn.Linear(12, 3)).eval()
    x = torch.tensor([[0.0, 3.0], [4.0, 1.0], [2.0, 2.0]])
    taken = take_model(table, Rows(x, Columns.plain(2), "table"))
    assert_close(taken.module(x), table(x.long()).detach())
    assert "as whole numbers (int64)" in taken.notes[0]
    with pytest.raises(SpecError, match="cannot read rows"):
        take_model(table, Rows(x + 0.5, Columns.plain(2), "table"))


def test_channels_in_the_last_place_are_found_out():
    last = Reads(lambda x: x.shape[-1] == 3, lambda x: x.mean(dim=(1, 2)))
    taken = take_model(last, IMAGES)
    assert_close(taken.module(IMAGES.x), IMAGES.x.mean(dim=(2, 3)))
    assert "with channels in the last place" in taken.notes[0]
    assert has_gradients(taken.module, IMAGES.x)
    series = Rows(torch.rand(5, 3, 7, generator=torch.Generator().manual_seed(2)), Steps(3, 7), "series")
    assert_close(
        take_model(Reads(lambda x: x.shape[-1] == 3, lambda x: x.mean(dim=1)), series).module(series.x),
        series.x.mean(dim=2),
    )


def test_images_are_passed_by_the_name_that_image_classifiers_have():
    class Image(nn.Module):
        config = SimpleNamespace(id2label={"0": "cat", "1": "dog", "2": "owl"})

        def forward(self, input_ids=None, pixel_values=None):
            return {"logits": pixel_values.mean(dim=(2, 3))}

    taken = take_model(Image().eval(), IMAGES)
    assert taken.classes == ("cat", "dog", "owl")
    assert_close(taken.module(IMAGES.x), IMAGES.x.mean(dim=(2, 3)))
    assert taken.notes == (
        "The model answers with logits of 3 classes (cat, dog, owl); output 'logits' of dict (logits: float32 (6, 3)); "
        "rows reach it as pixel_values.",
    )


def test_a_scripted_model_may_answer_with_several_things():
    class Pair(nn.Module):
        @seeded()
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 3)

        def forward(self, x):
            return {"logits": self.layer(x)}

    net = Pair().eval()
    with pytest.warns(DeprecationWarning, match=r"torch.jit.trace"):
        traced = torch.jit.trace(net, X, strict=False)
    taken = take_model(traced, ROWS)
    assert_close(taken.module(X), net(X)["logits"].detach())
    assert_close(model_copy(taken.module)(X), net(X)["logits"].detach())


def test_what_cannot_be_read_is_told_with_the_shape_and_the_reason():
    with pytest.raises(SpecError, match=r"rows of shape \(3,\), float32: .* cannot be multiplied.*forward=lambda"):
        take_model(Net().layer, replace(ROWS, x=X[:, :3]))
    with pytest.raises(
        SpecError, match=r"cannot read rows of shape \(4,\), float32: KeyError: 'it' \(tried, too: as float64"
    ):
        take_model(Net(lambda z, x: {}["it"]), ROWS)


@pytest.mark.parametrize(
    "model, words",
    [
        (Net, "the model is the class Net: give one that was made"),
        ("net.pt", "the model is str, not a torch.nn.Module and no estimator"),
        (3, "cannot be called: forward=lambda"),
    ],
)
def test_what_is_no_model_is_refused(model, words):
    with pytest.raises(SpecError, match=words):
        take_model(model, ROWS)


def test_outputs_are_one_of_three_words():
    with pytest.raises(SpecError, match="outputs='logit': a model answers with logits, probabilities, value"):
        take_model(Net(), ROWS, outputs="logit")


@pytest.mark.parametrize(
    "data",
    [X, X.numpy(), pd.DataFrame(X.numpy()), list(X), {"a": X}, [[1.0, 2.0]]],
    ids=lambda data: type(data).__name__,
)
def test_a_model_in_the_place_of_the_rows_is_told(data):
    with pytest.raises(SpecError, match=r"and x is Net: they are swapped. Give the model first"):
        check_not_swapped(data, Net())
    check_not_swapped(Net(), data)


def test_what_makes_a_model_is_told_from_a_model():
    assert makes_models(Net)
    assert makes_models(lambda: Net())
    assert makes_models(lambda seed=0: Net())
    assert not makes_models(Net())
    assert not makes_models(lambda x: x)
    assert not makes_models(3)


def test_a_model_that_reads_nan_is_told_from_one_that_does_not():
    x = X.clone()
    x[0, 0] = torch.nan
    filling = Reads(lambda x: True, lambda x: x.nan_to_num())
    for given in (x, x.numpy()):
        assert takes_missing(filling, given)
        assert not takes_missing(Net(), given)
    assert takes_missing(lambda x: np.nan_to_num(x), x.numpy())
    assert not takes_missing(lambda x: x, x.numpy())
    assert not takes_missing(lambda x: 1 / 0, x.numpy())
