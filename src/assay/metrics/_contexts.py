"""What the model answers when a few features change, the rest being as it is, or partly blank."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from assay.core.query import Query
from assay.core.rng import Draws
from assay.core.trial import Scene
from assay.kit.levels import answer_rounding
from assay.metrics._members import members
from assay.metrics._removal import Removal

REFERENCE, SHUFFLES = 3, 2  # rows and shuffled inputs among the substitutes
Change = Callable[[Tensor, Tensor], Tensor]  # contexts (K, B, *entries), which change (K,) -> changed inputs


def surroundings(scene: Scene, removal: Removal, count: int) -> Tensor:
    """Contexts (count, B, *entries): the input, and the input with a random half of its features on the canvas.

    The halves are each sample's own.
    """
    draws, shape = scene.draws("contexts"), scene.setting.features.shape
    half = draws.uniform(count, *shape).to(removal.query.x).transpose(0, 1) < 0.5
    half[0] = False
    return removal(half)


def substitutes(scene: Scene, query: Query) -> Tensor:
    """Values (V, B, *entries) to be put in place of the input's, each sample's own.

    The canvas; the environment's baseline; the input plus and minus noise, as far from it as its entries are from each
    other; three reference rows, where there are any; the input with its features shuffled, twice, where features are
    alike (not in tables).
    """
    x, draws = query.x, scene.draws("substitutes")
    spread = x.flatten(1).std(dim=1, correction=0).view(-1, *[1] * (x.dim() - 1))
    noise = spread.where(spread > 0, 1.0) * draws.normal(*x.shape[1:]).to(x)
    found = [query.baseline, scene.ask().baseline, x + noise, x - noise]
    if scene.setting.reference is not None:
        rows = scene.setting.reference.x
        chosen = (draws.uniform(REFERENCE).double() * len(rows)).long().to(rows.device)  # (B, 3)
        found += [rows[index].to(x) for index in chosen.T]
    if scene.setting.kind != "table":
        found += [_shuffled(scene, x, draws) for _ in range(SHUFFLES)]
    return torch.stack(found)


def _shuffled(scene: Scene, x: Tensor, draws: Draws) -> Tensor:
    entries, _ = members(scene.setting.features, x.device)
    order = draws.permutations(len(entries)).to(x.device)
    source, place = (index.flatten(1) for index in (entries[order], entries.expand(len(x), *entries.shape)))
    return torch.empty_like(x.flatten(1)).scatter(1, place, x.flatten(1).gather(1, source)).view_as(x)


def scores_after(query: Query, contexts: Tensor, count: int, change: Change) -> Tensor:
    """Scores (contexts, count, B) of every context after each of ``count`` changes."""

    def points(part: slice) -> Tensor:
        index = torch.arange(part.start, part.stop, device=contexts.device)
        return change(contexts[index // count], index % count)

    return query.score_each(len(contexts) * count, points).view(len(contexts), count, -1)


def equal(left: Tensor, right: Tensor, plain: Tensor) -> Tensor:
    """Where (..., B) two scores (N, ..., B) are the same in all N, but for rounding; ``plain`` (contexts, B) are scores
    of contexts as they are, which also say how large rounding may be."""
    largest = torch.maximum(torch.maximum(left.abs(), right.abs()), plain.abs().amax(dim=0))
    rounding = answer_rounding(left.dtype) * largest
    return ((left - right).abs() <= rounding).all(dim=0)  # what is not finite is equal to nothing
