"""Which axis of a series holds its steps is read off the model, where that is certain."""

import pytest
import torch
from torch import nn

from assay.core.errors import SpecError
from assay.users.reading import Reading
from assay.users.subject import Asking, read_subject
from streams import seeded


class Swaps(nn.Module):
    """Reads (steps, channels), and swaps both before its layer."""

    def __init__(self, layer, *axes):
        super().__init__()
        self.layer, self.axes = layer, axes

    def forward(self, x):
        answer = self.layer(x.permute(self.axes) if self.axes else x)
        answer = answer[0] if isinstance(answer, tuple) else answer
        return answer.transpose(0, 1).sum(2)[:, :2] if self.axes == (1, 0, 2) else answer.flatten(1)[:, :2]


class Standardised(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer((x - 1) / 2).flatten(1)[:, :2]


def conv():
    return nn.Conv1d(3, 2, 3)


def lstm(first=True):
    return nn.LSTM(3, 4, batch_first=first)


def encoder():
    return nn.TransformerEncoderLayer(3, 1, 8, batch_first=True)


def series(a, b):
    return torch.randn(6, a, b, generator=torch.Generator().manual_seed(0))


MODELS = {
    "conv": (lambda: Swaps(conv()), "Conv1d", True),
    "a sequence": (lambda: nn.Sequential(conv(), nn.AdaptiveAvgPool1d(1), nn.Flatten()), "Conv1d", True),
    "standardised conv": (lambda: Standardised(conv()), "Conv1d", True),
    "swaps before conv": (lambda: Swaps(conv(), 0, 2, 1), "Conv1d", False),
    "lstm": (lambda: Swaps(lstm()), "LSTM", False),
    "swaps before lstm": (lambda: Swaps(lstm(), 0, 2, 1), "LSTM", True),
    "steps first": (lambda: Swaps(lstm(False), 1, 0, 2), "LSTM", False),
    "gru": (lambda: Swaps(nn.GRU(3, 4, batch_first=True)), "GRU", False),
    "encoder": (lambda: Swaps(encoder()), "TransformerEncoderLayer", False),
}


@pytest.mark.parametrize(
    "name, steps", [(name, steps) for name in MODELS for steps in (7, 3) if (name, steps) != ("standardised conv", 3)]
)
def test_the_first_layer_of_series_says_which_axis_holds_the_steps(name, steps):
    make, layer, first = MODELS[name]
    subject = read_subject(seeded()(make)(), series(3, steps) if first else series(steps, 3))
    assert subject.rows.kind == "series"
    assert (subject.rows.features.channels_first, subject.rows.features.steps) == (first, steps)
    assert any(f"as the model's {layer} reads them; channels_first={not first}" in note for note in subject.notes)


@pytest.mark.parametrize("name, first", [("conv", False), ("lstm", True)])
def test_rows_in_the_other_order_are_swapped_for_the_model(name, first):
    make = MODELS[name][0]
    x = series(3, 7) if first else series(7, 3)
    model = seeded()(make)().eval()
    subject = read_subject(model, x)
    assert (subject.rows.features.channels_first, subject.rows.features.steps) == (first, 7)
    assert torch.equal(subject.taken.module(x), model(x.transpose(1, 2)))
    assert "with steps and channels swapped" in " ".join(subject.notes)


UNKNOWN = {
    "no layer of series": (lambda: nn.Sequential(nn.Flatten(), nn.Linear(21, 2)), 7),
    "changed before the layer": (lambda: nn.Sequential(nn.Linear(3, 4), Swaps(nn.LSTM(4, 4, batch_first=True))), 7),
    "a function": (lambda: lambda x: x.sum(2)[:, :2], 7),
    "standardised, and as many steps as channels": (MODELS["standardised conv"][0], 3),
}


@pytest.mark.parametrize("make, steps", UNKNOWN.values(), ids=UNKNOWN)
def test_what_no_layer_can_say_is_asked(make, steps):
    with pytest.raises(SpecError, match="which may be series or grey images"):
        read_subject(seeded()(make)(), series(steps, 3))


def test_a_user_who_says_it_or_asks_the_model_otherwise_is_not_overruled():
    model = seeded()(MODELS["lstm"][0])()
    subject = read_subject(model, series(3, 3), reading=Reading(channels_first=True))
    assert subject.rows.features.channels_first
    with pytest.raises(SpecError, match="which may be series or grey images"):
        read_subject(model, series(7, 3), asking=Asking(forward=lambda model, x: model(x)))
