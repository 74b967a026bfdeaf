"""Models of token ids, asked from behind their table of embeddings: entries are embeddings, which have gradients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from assay.core.features import Tokens
from assay.foreign import models
from assay.kit.layers import forward_hooks
from assay.users.answers import as_tensor, is_numbers, parts
from assay.users.rows import Rows

IDS, MASK = "input_ids", "attention_mask"  # what tokenizers call them
IDS_ALONE = (
    "The model reads more of the ids than their embeddings, to leave out padding for example, so it is asked as a "
    "function of ids, which has no gradients."
)


class Embedded(nn.Module):
    """The model behind its table: (N, length, width) -> the model's answer. The ids themselves do not matter to it."""

    def __init__(self, model: nn.Module, table: str, id: int, names: tuple[str, ...] | None) -> None:
        super().__init__()
        self.model, self.table, self.id, self.names = model, table, id, names
        self.training, self.config = model.training, getattr(model, "config", None)

    def forward(self, x: Tensor) -> Any:
        ids = torch.full(x.shape[:2], self.id, device=x.device)
        with forward_hooks([self.model.get_submodule(self.table)], lambda *_: x):
            if self.names is None:
                return self.model(ids)
            return self.model(**{name: {IDS: ids, MASK: ids * 0 + 1}.get(name, ids * 0) for name in self.names})


def embedded(model: Any, rows: Rows) -> tuple[Any, Rows]:
    """Model and rows with embeddings as entries, where the rows are ids and the model reads them through a table of
    embeddings alone. Where it also reads the ids, to leave out padding for example, it stays a function of ids, and a
    note says so. All other models and rows stay as they are."""
    ids = _ids(rows, rows.x) if rows.kind == "tokens" and isinstance(model, nn.Module) else None
    if ids is None:
        return model, rows
    try:
        return _behind_table(model, rows, ids)
    except Exception:  # of any code that the model calls
        return model, replace(rows, notes=(*rows.notes, IDS_ALONE))


def _behind_table(model: nn.Module, rows: Rows, ids: Tensor) -> tuple[nn.Module, Rows]:
    """ValueError where the model does not read the ids through one table alone."""
    copy, asked = models.frozen(models.checked_copy(model)), _ids_and_more(rows, rows.x[: models.ROWS])
    names = tuple(asked) if isinstance(asked, Mapping) else None
    with torch.no_grad():
        table = _table(copy, asked, ids[: models.ROWS])
        embed = copy.get_submodule(table)
        x = embed(ids)
        reference = None if rows.reference is None else embed(_ids(rows, rows.reference))
        if not _agree(_ask(copy, asked), Embedded(copy, table, int(ids[0, 0]), names)(x[: models.ROWS])):
            raise ValueError("the model reads the ids, too")
    note = f"Tokens are explained by their embeddings, {x.shape[2]} numbers each, of the model's '{table}'."
    features = Tokens(x.shape[1], x.shape[2])
    found = replace(rows, x=x, features=features, given=None, reference=reference, notes=(*rows.notes, note))
    return Embedded(model, table, int(ids[0, 0]), names), found


def _ids_and_more(rows: Rows, x: Tensor) -> Any:
    """What the model reads: ids, or a dict of them and what goes with them."""
    given = x.round().long() if rows.given is None else rows.given(x)
    if isinstance(given, Mapping):
        return {name: as_tensor(part) for name, part in given.items()}
    return as_tensor(given) if is_numbers(given) else None


def _ids(rows: Rows, x: Tensor) -> Tensor | None:
    """(N, length) long, or None where the rows are no ids."""
    found = _ids_and_more(rows, x)
    ids = found.get(IDS) if isinstance(found, Mapping) else found
    return ids if ids is not None and ids.dim() == 2 and not ids.is_floating_point() else None


def _ask(model: nn.Module, asked: Any) -> Any:
    return model(**asked) if isinstance(asked, Mapping) else model(asked)


def _table(model: nn.Module, asked: Any, ids: Tensor) -> str:
    """The name of the only table of embeddings that is asked for the ids; ValueError where there is none."""
    tables: dict[nn.Module, str] = {
        part: name for name, part in model.named_modules() if isinstance(part, nn.Embedding)
    }
    found: list[str] = []

    def record(module: nn.Module, inputs: tuple[Any, ...], _output: Any) -> None:
        if inputs and isinstance(inputs[0], Tensor) and inputs[0].shape == ids.shape and torch.equal(inputs[0], ids):
            found.append(tables[module])

    with forward_hooks(tables, record):
        _ask(model, asked)
    (name,) = found
    return name


def _agree(first: Any, second: Any) -> bool:
    """Whether two answers have the same numbers, up to rounding."""
    if is_numbers(first) and is_numbers(second):
        left, right = as_tensor(first), as_tensor(second)
        return left.shape == right.shape and torch.allclose(left, right, rtol=1e-4, atol=1e-5)
    named, others = parts(first), parts(second)
    return named.keys() == others.keys() and all(
        _agree(part, others[name]) for name, part in named.items() if is_numbers(part)
    )
