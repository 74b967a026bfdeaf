"""Small models of series, texts and tables with known answers, and attributions of them in memory."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from assay.attributed import Attributed
from assay.catalogue.build import method_and_name
from assay.core.features import Columns, Steps, Tokens
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.setting import Reference, Samples, Setting
from assay.engine.artifacts.artifact import split_blocks
from assay.engine.artifacts.component import Component
from assay.engine.artifacts.model import Place, make_place
from assay.engine.artifacts.trial import make_trials
from assay.engine.execute.inline import MemoryEngine
from assay.own_model import InMemoryEnvironment
from streams import seeded

CHANNELS, STEPS, ROWS = 3, 24, 12
GOOD = {"great": 2.0, "good": 1.0, "not": -1.5, "boring": -2.0, "long": -0.5}
TEXTS = (
    "a great film with good actors",
    "not good and far too long a boring film",
    "great great fun",
    "größer Фильм 电影 good",
    "boring",
)


@dataclass(frozen=True, eq=False)
class Kept:
    """Rows in memory as an environment; they keep their words."""

    rows: InMemoryEnvironment

    draws_model: ClassVar[bool] = False
    stream_name: ClassVar[str] = InMemoryEnvironment.stream_name

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        return self.rows.setting(seed, weights)

    def identities(self, indices: Sequence[int], seed: int) -> list[Hashable]:
        return self.rows.identities(indices, seed)

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        words, order = self.rows.rows.words, self.rows.identities(indices, seed)
        return replace(self.rows.sample(indices, seed), words=tuple(words[at] for at in order) if words else ())


@dataclass(frozen=True, eq=False)
class Given:
    """What ``evaluate`` takes, made by hand."""

    setting: Setting
    samples: Samples
    machine: Machine = Machine()
    notes: tuple[str, ...] = ()

    @property
    def environment(self) -> Kept:
        return Kept(InMemoryEnvironment(self.setting, self.samples))

    @property
    def place(self) -> Place:
        return make_place(Component("environments", instance=self.environment), 0, 0)

    def attribute(self, method: Any) -> Attributed:
        memory, rows = MemoryEngine(self.machine, raises=True), len(self.samples)
        instance, name = method_and_name(method)
        component = Component("methods", instance=instance)
        trials = make_trials(self.place, component, Question(), split_blocks(rows, rows, rows))
        memory.realise(trials)
        return Attributed(name, trials, memory)


class Convolved(nn.Module):
    """A convolution over time, the mean over time, two classes; entries (channels, steps)."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(CHANNELS, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool1d(1))
        self.head = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layers(x).flatten(1))


class Recurrent(nn.Module):
    """An LSTM over time; entries (steps, channels)."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(CHANNELS, 5, batch_first=True)
        self.head = nn.Linear(5, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x)[0][:, -1])


def waves(count: int = ROWS, channels: int = CHANNELS, steps: int = STEPS) -> Tensor:
    """(N, channels, steps): noise, and a bump in the first channel of every second row."""
    x = 0.3 * torch.randn(count, channels, steps, generator=torch.Generator().manual_seed(0))
    x[::2, 0, steps // 3 : steps // 2] += 2.0
    return x + torch.linspace(0, 1, steps)


@seeded()
def series(by: Any = "steps", first: bool = True) -> Given:
    model, features = (Convolved() if first else Recurrent()), Steps(CHANNELS, STEPS, first, by, ("x", "y", "z"))
    question = Question("logit", 1.0, "mean", "predicted")
    x = waves() if first else waves().transpose(1, 2).contiguous()
    return given(model, x, Setting(model, features, "series", question, ("rest", "walk")))


def given(model: nn.Module, x: Tensor, setting: Setting, words: tuple[tuple[str, ...], ...] = ()) -> Given:
    model.eval().requires_grad_(False)
    with torch.no_grad():
        outputs = model(x)
    label = outputs.argmax(dim=1) if setting.outputs != "value" else torch.zeros(len(x), dtype=torch.long)
    setting = replace(setting, reference=Reference(x, label))
    return Given(setting, Samples(x, label, None, tuple(range(len(x))), words=words))


class Sentiment(nn.Module):
    """Adds up the words that are present; torch sees nothing of it. Entries: a word's number, 0 where removed."""

    def __init__(self, vocabulary: tuple[str, ...]) -> None:
        super().__init__()
        self.vocabulary = vocabulary

    def forward(self, x: Tensor) -> Tensor:
        numbers = x.flatten(1).round().long().clamp(0, len(self.vocabulary) - 1)
        texts = [[self.vocabulary[number] for number in row] for row in numbers.tolist()]
        score = torch.tensor([sum(GOOD.get(word, 0.0) for word in text) for text in texts], dtype=x.dtype)
        return torch.stack([torch.sigmoid(-score), torch.sigmoid(score)], dim=1)


def texts(lines: tuple[str, ...] = TEXTS) -> Given:
    words = tuple(tuple(line.split()) for line in lines)
    vocabulary = ("", *sorted({word for row in words for word in row}))
    length = max(map(len, words))
    x = torch.tensor([[vocabulary.index(word) for word in row] + [0] * (length - len(row)) for row in words]).float()
    question = Question("probability", 1.0, "zero", "predicted")
    model = Sentiment(vocabulary)
    setting = Setting(
        model,
        Tokens(length, 1),
        "tokens",
        question,
        ("negative", "positive"),
        outputs="probabilities",
        differentiable=False,
    )
    return given(model, x.unsqueeze(-1), setting, words)


@seeded()
def table(columns: int = 5) -> Given:
    """A linear model of columns; the third one has two entries."""
    more = (f"measurement {number}" for number in range(columns))
    names = ("age", "income", "sector", "hours per week", *more)[:columns]
    groups = (0, 1, 2, 2, *range(3, columns))
    x = torch.randn(ROWS, len(groups), generator=torch.Generator().manual_seed(1))
    x[:, 0] = torch.arange(ROWS) + 30.0
    x[:, 2], x[:, 3] = 1.0, 0.0
    model = nn.Linear(len(groups), 2)
    question = Question("logit", 1.0, "mean", "predicted")
    return given(model, x, Setting(model, Columns(groups, names), "table", question, ("no", "yes")))
