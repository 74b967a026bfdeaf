"""Models as people have them, by name; each call makes the same one."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch import nn

from streams import seeded

NUMBERS = ["age", "hours", "gain"]
TEXTS = ["work", "sex"]
WORDS = ["good", "bad", "film", "plot", "actor", "boring", "great", "fine", "the", "a", "was", "very"]


def people(count: int = 120, seed: int = 0) -> pd.DataFrame:
    """Raw columns as in a census: whole numbers, texts, and an income that depends on them."""
    draw = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": draw.integers(18, 80, count),
            "hours": draw.integers(10, 60, count),
            "gain": draw.exponential(900.0, count).round(2),
            "work": draw.choice(["private", "state", "self"], count),
            "sex": draw.choice(["f", "m"], count),
        }
    )
    rich = table.age / 40 + table.hours / 30 + (table.work == "self") > 3.1
    return table.assign(income=np.where(rich, ">50K", "<=50K"))


def fitted(model: Any, columns: list[str] | None = None, label: str = "income") -> Any:
    table = people()
    target = table[label] if label != "is_rich" else (table.income == ">50K").astype(int)
    return model.fit(table[columns or NUMBERS], target)


def boosted() -> Any:
    return fitted(HistGradientBoostingClassifier(max_iter=5, random_state=0))


def forest() -> Any:
    return fitted(RandomForestClassifier(5, random_state=0))


def pipeline() -> Any:
    columns = ColumnTransformer([("numbers", StandardScaler(), NUMBERS), ("texts", OneHotEncoder(), TEXTS)])
    return fitted(make_pipeline(columns, LogisticRegression()), NUMBERS + TEXTS)


def xgboost() -> Any:
    from xgboost import XGBClassifier

    return fitted(XGBClassifier(n_estimators=5, n_jobs=1), label="is_rich")


def lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return fitted(LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1))


def regression() -> Any:
    return fitted(Ridge(), ["age", "gain"], "hours")


@seeded()
def mlp(outputs: int = 3) -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, outputs)).eval()


def one_logit() -> nn.Module:
    return mlp(1)


class TwoAnswers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.classes, self.embedding = nn.Linear(6, 3), nn.Linear(6, 4)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"scores": self.classes(x), "embedding": self.embedding(x)}


class TwoInputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(4, 3), nn.Linear(2, 3)

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return self.left(left) + self.right(right).tanh()


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.classes = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classes(self.layer(x)[0][:, -1])


two_answers, two_inputs, recurrent = (seeded()(partial(kind)) for kind in (TwoAnswers, TwoInputs, Recurrent))


def scores(x: np.ndarray) -> np.ndarray:
    """A function of arrays."""
    first = np.tanh(x[:, 0] * x[:, 1]) + x[:, 2]
    return np.stack([-first, first], 1)


@seeded()
def convolution() -> nn.Module:
    return nn.Sequential(nn.Conv1d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 2)).eval()


@seeded()
def vision() -> Any:
    from transformers import ViTConfig, ViTForImageClassification

    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    return ViTForImageClassification(ViTConfig(**sizes, image_size=8, patch_size=4, num_labels=3)).eval()


@seeded()
def texts() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast
    from transformers import pipeline as hugging_face

    numbers = {word: number for number, word in enumerate(["[PAD]", "[UNK]", *WORDS])}
    words = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]")
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(numbers), num_labels=2, max_position_embeddings=16, **sizes)
    return hugging_face("text-classification", model=BertForSequenceClassification(config).eval(), tokenizer=tokenizer)


def resnet() -> nn.Module:
    """Published weights, from ASSAY_DATA."""
    from assay.data.models import pretrained
    from assay.train.named import network_by_name
    from assay.train.networks import adopt

    network = network_by_name("resnet20", 32, 10)
    adopt(network, pretrained("cifar10_resnet20"))
    return network.eval()


def adult_boosted() -> Any:
    return _adult(HistGradientBoostingClassifier(max_iter=10, random_state=0))


def adult_forest() -> Any:
    return _adult(RandomForestClassifier(5, random_state=0))


def adult_pipeline() -> Any:
    from assay.data.adult import COLUMNS, NUMBERS

    words = OneHotEncoder(handle_unknown="ignore")
    texts = [name for name in COLUMNS if name not in NUMBERS]
    columns = ColumnTransformer([("numbers", StandardScaler(), list(NUMBERS)), ("texts", words, texts)])
    return _adult(make_pipeline(columns, LogisticRegression(max_iter=300)), COLUMNS)


def _adult(model: Any, columns: tuple[str, ...] = ()) -> Any:
    from assay.data.adult import INCOME, NUMBERS, adult

    table = adult().sample(500, random_state=0)
    return model.fit(table[list(columns or NUMBERS)], table[INCOME])
