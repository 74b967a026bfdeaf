"""A query: one question about some samples, put to a method or asked by a metric.

It does what every method needs: reading the explained number, gradients, batching within the memory budget, random
numbers. A method sees tensors of shape (*K, B, *entries) and never a batch size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Generator, Tensor, nn

from assay.core.errors import NotApplicable
from assay.core.footprint import Footprint, footprint, has_channels_last, takes_channels_last
from assay.core.heap import make_room
from assay.core.machine import Machine
from assay.core.map_grid import MapGrid
from assay.core.question import Question
from assay.core.readout import NO_GRADIENTS, explained_module
from assay.core.rng import Draws, Stream
from assay.core.setting import Setting


@dataclass(eq=False)
class Remarks:
    """What a method reports about its answer while it computes it; stored with the attribution."""

    notes: dict[str, int] = field(default_factory=dict)  # a few words, and the number of samples they concern
    resolution: Tensor | None = None  # in the attribution's shape: eps times the sizes of the summed terms
    grid: MapGrid | None = None  # what the map is made of, where it is coarser than the features


@dataclass(frozen=True, eq=False)
class Query:
    """The question put to a method about some samples."""

    setting: Setting
    question: Question  # every field is set
    x: Tensor  # (B, *entries)
    target: Tensor  # (B,) long; 0 where the model has one output
    baseline: Tensor  # (B, *entries)
    indices: tuple[int, ...]  # which samples these are
    stream: Stream  # what random numbers depend on besides the sample
    fitted: Mapping[str, Tensor] = field(default_factory=dict)  # what the method's fit() returned
    machine: Machine = Machine()
    remarks: Remarks = field(default_factory=Remarks)  # shared by every part and copy of this query
    data_rows: tuple[int, ...] = ()  # the rows of a user's data that these samples are; empty: no user's data

    @cached_property
    def module(self) -> nn.Module:
        """Model, temperature and readout as modules: (N, *entries) -> (N, C). The explained class is ``target``."""
        return explained_module(self.setting.model, self.question, self.setting.outputs, self.setting.differentiable)

    def score(self, points: Tensor) -> Tensor:
        """The explained number at (*K, B, *entries) -> (*K, B); without gradients."""
        return self.outputs(points).gather(-1, self._targets(points).unsqueeze(-1)).squeeze(-1)

    def outputs(self, points: Tensor) -> Tensor:
        """The readout of every class at (*K, B, *entries) -> (*K, B, C); without gradients."""
        rows = self._rows(points)
        with torch.no_grad():
            parts = [self._forward(rows[part]) for part in self._calls(len(rows), self.footprint.forward)]
        readouts: Tensor = torch.cat(parts).unflatten(0, self._leading(points))
        return readouts

    def change(self) -> Tensor:
        """score(x) - score(baseline), (B,): what most complete methods divide among the features."""
        return self.score(self.x) - self.score(self.baseline)

    def gradient(self, points: Tensor) -> Tensor:
        """The explained number's gradient at (*K, B, *entries), in their shape."""
        return self.gradient_through(self.module, points)

    def gradient_through(self, module: nn.Module, points: Tensor) -> Tensor:
        """The gradient through the caller's module, for methods that change the backward pass."""
        self.require_gradients()
        rows, targets = self._rows(points), self._targets(points).flatten()
        calls = self._calls(len(rows), self.footprint.gradient)
        gradients = [_gradient(module, self._stored(rows[part]), targets[part]) for part in calls]
        return torch.cat(gradients).view(points.shape)

    def require_gradients(self) -> None:
        if not self.setting.differentiable:
            raise NotApplicable(NO_GRADIENTS)

    def parts(self, count: int, gradients: bool = False) -> Iterator[slice]:
        """Slices of ``count`` points per sample that fit into one model call, so that points can be made lazily."""
        bytes_per_row = self.footprint.gradient if gradients else self.footprint.forward
        return self.machine.calls(count, bytes_per_row, len(self.x))

    def blocks(self, copies: int = 1) -> Iterator[Query]:
        """The same question, block by block: the samples of one call with gradients, each ``copies`` times."""
        return (self.take(part) for part in self.machine.calls(len(self.x), self.footprint.gradient, copies))

    def take(self, rows: slice | Tensor) -> Query:
        """The same question about some of the samples, by their positions."""
        positions = range(len(self.indices))[rows] if isinstance(rows, slice) else rows.tolist()
        return replace(
            self,
            x=self.x[rows],
            target=self.target[rows],
            baseline=self.baseline[rows],
            indices=tuple(self.indices[position] for position in positions),
            data_rows=tuple(self.data_rows[position] for position in positions) if self.data_rows else (),
        )

    def score_each(self, count: int, points: Callable[[slice], Tensor]) -> Tensor:
        """Scores (count, B) of points that ``points`` makes slice by slice."""
        return torch.cat([self.score(points(part)) for part in self.parts(count)])

    def note(self, text: str, samples: int | None = None) -> None:
        """Report something about the answer, to be shown with the result: the layer that was used, or on how many of
        these samples (None: all) an integral did not converge."""
        notes = self.remarks.notes
        notes[text] = notes.get(text, 0) + (len(self.x) if samples is None else samples)

    def draws(self, purpose: str) -> Draws:
        """Random numbers per sample: they do not depend on the block that the sample is in."""
        return self.stream.draws(purpose, self.indices)

    def generator(self, purpose: str) -> Generator:
        """Random numbers shared by all samples of this series (masks, designs)."""
        return self.stream.generator(purpose)

    @cached_property
    def footprint(self) -> Footprint:
        return footprint(self.setting.model, self._stored(self.x[:1]))

    @cached_property
    def _channels_last(self) -> bool:
        return has_channels_last(self.x) or takes_channels_last(self.setting.model, self.x[:1])

    def _calls(self, count: int, bytes_per_row: int) -> Iterator[slice]:
        """Slices of ``count`` rows that fit into memory; one empty slice for no rows, so that outputs have a shape."""
        if min(count, self.machine.rows(bytes_per_row)) * bytes_per_row > self.machine.memory // 4:
            make_room(self.machine.memory)  # small calls leave small gaps
        return self.machine.calls(count, bytes_per_row) if count else iter((slice(0, 0),))

    def _forward(self, rows: Tensor) -> Tensor:
        if self.setting.forward is None:
            return self.module(self._stored(rows))  # type: ignore[no-any-return]
        return self.module.readout(self.setting.forward(rows))  # type: ignore[no-any-return,operator]

    def _rows(self, points: Tensor) -> Tensor:
        return points.reshape(-1, *self.x.shape[1:])

    def _stored(self, rows: Tensor) -> Tensor:
        """Rows of a model call: convolutions of images with channels last take less time, and no memory for copies."""
        return rows.contiguous(memory_format=torch.channels_last) if self._channels_last else rows

    def _leading(self, points: Tensor) -> tuple[int, ...]:
        return tuple(points.shape[: points.dim() - (self.x.dim() - 1)])

    def _targets(self, points: Tensor) -> Tensor:
        return self.target.expand(self._leading(points))


def _gradient(module: nn.Module, rows: Tensor, target: Tensor) -> Tensor:
    # The gradient of the summed scores: rows do not influence each other, so each row gets its own gradient.
    rows = rows.detach().requires_grad_()
    with torch.enable_grad():
        scores = module(rows).gather(1, target.unsqueeze(1))
        # Zeros where nothing depends on x.
        (gradient,) = torch.autograd.grad(scores.sum(), rows, materialize_grads=True)
    return gradient
