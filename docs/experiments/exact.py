"""What AttributionLab promises exactly (A01 to A04), counted: sizes, right answers, and what each true pixel moves."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from assay.craft.audit import audit
from assay.environments.color_count import ColorCount
from assay.environments.pixel_count import PixelCount
from assay.environments.pixel_modulo import PixelModulo
from pages import Json

Environment = ColorCount | PixelCount | PixelModulo

IMAGES, TAKEN_APART = 1000, 10
SMALL = 64  # side of the images of which every true pixel is taken away


def measure() -> Json:
    found = audit(PixelModulo().network(0), (1, 224, 224))
    with torch.no_grad():
        return {
            "size": {"layers": found.layers, "parameters": found.parameters},
            "right": {name: _right(environment) for name, environment in _variants(224).items()},
            "pixels": {name: _taken_away(environment) for name, environment in _variants(SMALL).items()},
            "images": IMAGES,
            "taken_apart": TAKEN_APART,
            "side": SMALL,
        }


def _variants(side: int) -> dict[str, Environment]:
    colours = {
        f"color_count, {_kind(uniform)}, {'unseen' if unseen else 'seen only'}": ColorCount(
            side=side, uniform=uniform, unseen=unseen
        )
        for uniform in (False, True)
        for unseen in (True, False)
    }
    counts = {
        f"{name}, {_kind(uniform)}": kind(side=side, uniform=uniform)
        for name, kind in (("pixel_count", PixelCount), ("pixel_modulo", PixelModulo))
        for uniform in (False, True)
    }
    return {**colours, **counts}


def _kind(uniform: bool) -> str:
    return "uniform" if uniform else "non-uniform"


def _right(environment: Environment) -> Json:
    """How many images the network is right about, and on how many it gives its program's numbers bit for bit."""
    network, right, equal = environment.network(0), 0, 0
    for start in range(0, IMAGES, 8):
        samples = environment.sample(range(start, start + 8), 0)
        answers = network(samples.x)
        equal += int((answers == environment.program(samples.x, 0)).all(dim=1).sum())
        if isinstance(environment, ColorCount):
            right += int((answers.argmax(dim=1) == samples.label).sum())
        else:
            counts = samples.truth.effect.sum(dim=(1, 2))
            modulus = getattr(environment, "modulus", None)
            right += int((answers[:, 0] == (counts % modulus if modulus else counts)).sum())
    return {"right": right, "equal": equal}


def _taken_away(environment: Environment) -> Json:
    """Every true pixel of some images becomes background; every one is put on an empty background.

    ``changed`` pixels change the output in both cases, ``by_one`` change the output of their own colour by exactly 1
    and no other (a remainder: by 1 modulo N). Of the colours' probability ``spread`` is the largest difference of its
    changes within one colour, ``ratios`` the largest change of a losing colour over the smallest, image by image.
    """
    network, totals, spreads, ratios = environment.network(0), torch.zeros(3, dtype=torch.long), [], []
    for index in range(TAKEN_APART):
        samples = environment.sample([index], 0)
        places = samples.truth.effect[0].nonzero()
        without, alone, blank = _edited(samples.x[0], places, environment)
        before, after = network(samples.x), _answers(network, without)
        added = _answers(network, alone) - network(blank)
        classes = _classes(environment, samples.x[0, :, places[:, 0], places[:, 1]].T)
        own = one_hot(classes, before.shape[1]).float()
        taken = before - after
        if isinstance(environment, PixelModulo):
            taken = taken.remainder(environment.modulus)
        changed = ((taken != 0).any(dim=1) & (added != 0).any(dim=1)).sum()
        by_one = ((taken == own).all(dim=1) & (added == own).all(dim=1)).sum()
        totals += torch.stack([torch.tensor(len(places)), changed, by_one])
        if isinstance(environment, ColorCount):
            moved = _probability(environment, before, samples.label) - _probability(environment, after, samples.label)
            by_colour = [moved[classes == colour] for colour in range(before.shape[1])]
            spreads += [float(moves.max() - moves.min()) for moves in by_colour]
            losers = [float(moves[0]) for colour, moves in enumerate(by_colour) if colour != int(samples.label)]
            ratios.append(max(losers, key=abs) / min(losers, key=abs))
    pixels, changed, by_one = totals.tolist()
    probability = {"spread": max(spreads), "ratios": sorted(round(ratio, 3) for ratio in ratios)} if spreads else {}
    return {"pixels": pixels, "changed": changed, "by_one": by_one, **probability}


def _edited(x: Tensor, places: Tensor, environment: Environment) -> tuple[Tensor, Tensor, Tensor]:
    """Copies of an image without one pixel each (n, C, H, W), empty images with that pixel alone, an empty image."""
    background = torch.tensor(getattr(environment, "background", (0,)), dtype=torch.float32)
    blank = background[:, None, None].expand_as(x)[None]
    rows, (high, wide) = torch.arange(len(places)), places.T
    without, alone = x.repeat(len(places), 1, 1, 1), blank.repeat(len(places), 1, 1, 1)
    without[rows, :, high, wide] = background
    alone[rows, :, high, wide] = x[:, high, wide].T
    return without, alone, blank


def _answers(network: nn.Module, images: Tensor) -> Tensor:
    return torch.cat([network(part) for part in images.split(64)])


def _classes(environment: Environment, pixels: Tensor) -> Tensor:
    """The colour of each pixel (n,); all white pixels are of one class."""
    if not isinstance(environment, ColorCount):
        return torch.zeros(len(pixels), dtype=torch.long)
    return (pixels[:, None] == torch.tensor(environment.colors)).all(dim=2).int().argmax(dim=1)


def _probability(environment: ColorCount, logits: Tensor, label: Tensor) -> Tensor:
    """Of the winner, in float64: at the temperature that methods explain."""
    temperature = environment.setting(0, {}).question.temperature
    return (logits.double() / temperature).softmax(dim=1)[:, int(label)]
