"""Classifiers of Hugging Face: pipelines, models with their tokenizers, and the names of their classes. The package is
not needed here: objects are known by their attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.users.passing import Change, Way
from assay.users.rows import Rows


def unpacked(model: Any) -> tuple[Any, Any]:
    """Model and tokenizer of a pipeline or of a pair; any other model, and None."""
    if any(part.__module__.startswith("transformers.") and part.__name__ == "Pipeline" for part in type(model).__mro__):
        return model.model, model.tokenizer
    if isinstance(model, tuple) and len(model) == 2 and isinstance(model[0], nn.Module) and callable(model[1]):
        return model
    return model, None


def text_way(tokenizer: Any, rows: Rows) -> Way:
    """Texts, tokenised at every call."""
    texts = None if rows.given is None else rows.given(rows.x[:1])
    if rows.given is None or not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
        raise SpecError("a model with a tokenizer reads texts, and x holds none: give x as a list of texts.")
    return Way(_Tokenised(rows.given, tokenizer), "as texts, tokenised anew", "**")


def names_of_classes(model: Any, count: int) -> tuple[str, ...]:
    """The names of a model's outputs by its configuration; empty where it only numbers them."""
    names = getattr(getattr(model, "config", None), "id2label", None)
    by_number = {str(key): str(name) for key, name in names.items()} if isinstance(names, Mapping) else {}
    numbers = [str(index) for index in range(count)]
    if set(by_number) != set(numbers) or all(by_number[number] == f"LABEL_{number}" for number in numbers):
        return ()
    return tuple(by_number[number] for number in numbers)


@dataclass(frozen=True, eq=False)
class _Tokenised:
    given: Change
    tokenizer: Any

    def __call__(self, x: Tensor) -> dict[str, Tensor]:
        encoded = self.tokenizer(self.given(x), padding=True, truncation=True, return_tensors="pt")
        return {name: tensor.to(x.device) for name, tensor in encoded.items()}

    def __deepcopy__(self, _memo: object) -> _Tokenised:
        return self  # a tokenizer remembers nothing, and takes long to copy
