"""The colour detector: which pixels have which colour, and which have no known colour (App. C.4).

Per colour with channels (r, g, b): ``C = relu(I_r + I_g + I_b - 2)``, with ``I_n`` the number check ``equals(., n)``.
C is 1 at the colour and 0 at every other whole-number pixel; between whole numbers it is the tent
``relu(1 - |dr| - |dg| - |db|)``. Tents do not overlap if colours are at least 2 apart in L1. Then
``0 <= sum(C) <= 1`` everywhere, and ``relu(1 - sum(C))`` says how far a pixel is from every known colour.

At an exact colour the derivative of C is +1 in each channel (from the left); the redundant unit sits at its kink
there, with derivative 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from assay.core.errors import SpecError
from assay.craft.numbers import equals
from assay.craft.wires import Wire, lift, relu, source, twin

Color = tuple[int, int, int]


def pixel() -> list[Wire]:
    """The three inputs of the detector: red, green, blue, as raw whole numbers 0..255."""
    return [source(channel) for channel in range(3)]


def detector(colors: Sequence[Color], background: Color, redundant: int) -> list[Wire]:
    """One output per colour, then ``redundant`` outputs that are 1 on a pixel of no known colour.

    With c = N_C + 1 colours, the background last, the layers are
    3 -> 9c (x-(n-1), x-n, x-(n+1) per colour and channel) -> 6c (x>n-1, x>n) -> 3c (x==n) -> c (C) -> N_C + redundant.

    Two colours may share a channel value. Each colour checks twins of the inputs, so that it has its own units there,
    as in the paper; the redundant outputs are twins of one another for the same reason. The last layer passes on the
    first N_C of the c detectors: the background's is computed and dropped, with weight 0.
    """
    palette = [*colors, background]
    _check_apart(palette)
    if redundant < 0:
        raise SpecError(f"redundant={redundant}: the number of redundant channels cannot be negative.")
    detected = [match(color, [twin(x, f"color {i}") for x in pixel()]) for i, color in enumerate(palette)]
    unseen = relu(1 - sum(detected, start=lift(0)))
    passed = [_pick(detected, i) for i in range(len(colors))]
    return passed + [twin(unseen, f"redundant {r}") for r in range(redundant)]


def match(color: Color, channels: Sequence[Wire]) -> Wire:
    """C: 1 if every channel has the colour's value, else 0."""
    checks = [equals(x, n) for x, n in zip(channels, color, strict=True)]
    return relu(sum(checks, start=lift(0)) - 2)


def _pick(wires: Sequence[Wire], i: int) -> Wire:
    """``wires[i]`` through one more layer, which reads all wires, the others with weight 0."""
    return relu(sum((float(j == i) * wire for j, wire in enumerate(wires)), start=lift(0)))


def _check_apart(colors: Sequence[Color]) -> None:
    for a, b in combinations(colors, 2):
        distance = sum(abs(x - y) for x, y in zip(a, b, strict=True))
        if distance < 2:
            raise SpecError(f"Colours {a} and {b} are {distance} apart in L1; detectors need at least 2.")
