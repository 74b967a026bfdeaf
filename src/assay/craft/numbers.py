"""Number checks and the modulo, for whole numbers (AttributionLab, App. C.1 and C.3)."""

from __future__ import annotations

from itertools import pairwise

from assay.craft.wires import Operand, Wire, lift, relu


def above(x: Operand, i: int) -> Wire:
    """1 if ``x > i`` else 0, for whole numbers. Between whole numbers: ``x - i`` cut to 0..1."""
    return relu(relu(lift(x) - i) - relu(lift(x) - i - 1))


def equals(x: Operand, n: int) -> Wire:
    """1 if ``x == n`` else 0, for whole numbers. Between whole numbers: the tent ``relu(1 - |x - n|)``.

    At ``x == n`` the derivative is the one from the left, +1: the falling side starts with a relu at 0.
    """
    return relu(above(x, n - 1) - above(x, n))


def modulo(x: Wire, n: int, largest: int) -> Wire:
    """``x mod n`` for whole ``0 <= x <= largest`` (in fact up to ``n * steps``; ``n * steps + 1`` gives 0, not 1).

    With ``steps = ceil(largest / n)``, ``excess[k] = relu(x - k n)`` and ``pieces[k] = excess[k] - excess[k + 1]``
    cut ``x`` into n, n, ..., n, x mod n, 0, ..., 0. Pieces equal to n are set to 0; the sum is the remainder.

    Compiled, each piece v is carried beside its check, which gives the layers (K = steps)
    1 -> K+1 (excess) -> K (v) -> 4K (v, v-(n-1), v-n, v-(n+1)) -> 3K (v, v>n-1, v>n) -> 2K (v, v==n) -> K -> 1.
    """
    steps = -(-largest // n)
    excess = [relu(x - k * n) for k in range(steps + 1)]
    pieces = [relu(a - b) for a, b in pairwise(excess)]
    remainders = [relu(piece - n * equals(piece, n)) for piece in pieces]
    return relu(sum(remainders, start=lift(0)))
