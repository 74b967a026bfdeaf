from __future__ import annotations

import torch
from torch import Generator, Tensor

from assay.train.augment import shifted

X = 1 + torch.arange(2 * 3 * 6 * 5).view(2, 3, 6, 5).float()  # no entry is 0, none comes twice


def literal(x: Tensor, down: int, across: int, mirrored: bool) -> Tensor:
    """A picture (C, H, W) moved up by ``down`` and left by ``across``, pixel by pixel."""
    moved = torch.zeros_like(x)
    height, width = x.shape[1:]
    for row in range(height):
        for column in range(width):
            source = row + down, column + across
            if 0 <= source[0] < height and 0 <= source[1] < width:
                moved[:, row, column] = x[:, source[0], source[1]]
    return moved.flip(2) if mirrored else moved


def test_every_view_is_a_move_and_perhaps_a_mirror_image_and_all_of_them_come() -> None:
    views = {
        (down, across, mirrored): literal(X[0], down, across, mirrored)
        for down in range(-2, 3)
        for across in range(-2, 3)
        for mirrored in (False, True)
    }
    random = Generator().manual_seed(0)
    seen = [shifted(2, X[:1].expand(50, -1, -1, -1), random) for _ in range(20)]
    found = [next(name for name, view in views.items() if torch.equal(view, row)) for row in torch.cat(seen)]
    assert set(found) == set(views)


def test_rows_are_moved_on_their_own_and_only_the_generator_decides() -> None:
    x = X.repeat(10, 1, 1, 1)
    before = torch.random.get_rng_state()
    one, same = (shifted(1, x, Generator().manual_seed(5)) for _ in range(2))
    assert torch.equal(one, same)
    assert not torch.equal(one[::2], one[:1].expand(10, -1, -1, -1))
    assert torch.equal(before, torch.random.get_rng_state())


def test_without_a_margin_pictures_are_only_mirrored() -> None:
    rows = shifted(0, X[:1].expand(20, -1, -1, -1), Generator().manual_seed(0))
    same, mirrored = ((rows == view).flatten(1).all(dim=1) for view in (X[0], X[0].flip(2)))
    assert bool((same ^ mirrored).all())
    assert 0 < int(mirrored.sum()) < 20
