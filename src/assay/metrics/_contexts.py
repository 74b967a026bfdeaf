"""Scores of the model after single features change, in the input and in copies of it that are partly blank."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from assay.core.features import Features
from assay.core.query import Query
from assay.core.rng import Draws
from assay.core.trial import Scene
from assay.kit.rounding import units_in_last_place
from assay.metrics._removal import Removal

EQUAL = 256  # units in the last place of the largest score: inside a network, numbers may be larger than its scores
REFERENCE = 3  # reference rows among the substitutes
SHUFFLES = 2  # shuffled inputs among the substitutes
Change = Callable[[Tensor, Tensor], Tensor]  # contexts (K, B, *entries), number of the change (K,) -> changed inputs


def random_contexts(scene: Scene, removal: Removal, count: int) -> Tensor:
    """Contexts (count, B, *entries): the input, and the input with a random half of its features on the canvas.

    Each sample has its own random halves.
    """
    draws, shape = scene.draws("contexts"), scene.setting.features.shape
    half = draws.uniform(count, *shape).to(removal.query.x).transpose(0, 1) < 0.5
    half[0] = False
    return removal(half)


def substitutes(scene: Scene, query: Query) -> Tensor:
    """Values (V, B, *entries) that replace those of the input, drawn for each sample on its own.

    The canvas; the environment's baseline; the input plus and minus noise whose deviation is that of the input's
    entries; three reference rows, if the setting has any; the input with its features shuffled, twice, unless it is a
    table, whose columns are not alike.
    """
    x, draws = query.x, scene.draws("substitutes")
    spread = x.flatten(1).std(dim=1, correction=0).view(-1, *[1] * (x.dim() - 1))
    noise = spread.where(spread > 0, 1.0) * draws.normal(*x.shape[1:]).to(x)
    values = [query.baseline, scene.ask().baseline, x + noise, x - noise]
    if scene.setting.reference is not None:
        rows = scene.setting.reference.x
        picks = (draws.uniform(REFERENCE).double() * len(rows)).long().to(rows.device)  # (B, 3)
        values += [rows[index].to(x) for index in picks.T]
    if scene.setting.kind != "table":
        values += [_shuffled(scene, x, draws) for _ in range(SHUFFLES)]
    return torch.stack(values)


def _shuffled(scene: Scene, x: Tensor, draws: Draws) -> Tensor:
    entries, _ = feature_entries(scene.setting.features, x.device)
    order = draws.permutations(len(entries)).to(x.device)
    source, destination = (index.flatten(1) for index in (entries[order], entries.expand(len(x), *entries.shape)))
    return torch.empty_like(x.flatten(1)).scatter(1, destination, x.flatten(1).gather(1, source)).view_as(x)


def scores_after(query: Query, contexts: Tensor, count: int, change: Change) -> Tensor:
    """Scores (contexts, count, B) of every context after each of ``count`` changes."""

    def points(part: slice) -> Tensor:
        index = torch.arange(part.start, part.stop, device=contexts.device)
        return change(contexts[index // count], index % count)

    return query.score_each(len(contexts) * count, points).view(len(contexts), count, -1)


def equal_scores(left: Tensor, right: Tensor, plain: Tensor) -> Tensor:
    """Where (..., B) two scores (N, ..., B) are the same in all N, up to rounding.

    ``plain`` (contexts, B) are the scores of the unchanged contexts: rounding is relative to the largest of all scores.
    """
    largest = torch.maximum(torch.maximum(left.abs(), right.abs()), plain.abs().amax(dim=0))
    rounding = units_in_last_place(left.dtype, EQUAL) * largest
    return ((left - right).abs() <= rounding).all(dim=0)  # a score that is not finite equals no other


def feature_entries(features: Features, device: torch.device) -> tuple[Tensor, Tensor]:
    """The entries (P, width) of every feature, and how many it has (P,); shorter rows repeat their last entry."""
    size = torch.Size(features.shape).numel()
    owner = features.expand(torch.arange(size, device=device).view(features.shape)).flatten()
    width = owner.bincount(minlength=size)
    position = torch.arange(int(width.max()), device=device).minimum(width[:, None] - 1)
    start = width.cumsum(dim=0) - width
    return owner.argsort(stable=True)[start[:, None] + position], width
