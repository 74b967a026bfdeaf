"""Write docs/gallery.md and its pictures from a run of the gallery study.

    assay run gallery --store runs/gallery
    python docs/make_gallery.py runs/gallery

Sentences about single pictures are in docs/gallery.toml, written by people who looked at them; numbers come from the
run. Photographs are not ours to publish: on them, only the attribution is drawn here. ``assay report runs/gallery``
draws every map next to its image.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from PIL import Image

from assay.report.colours import diverging
from assay.report.components import by_label
from assay.report.loaded_run import LoadedRun, load_run
from assay.report.pictures import enlarged, picture, span
from assay.report.samples import GallerySamples, gallery_samples
from assay.engine.store.store import Store

DOCS = Path(__file__).parent
SAMPLES = 3  # per environment
GAP = 6  # pixels between pictures
SIDE = 128


def main(store: Path) -> None:
    reading = load_run(Store.open(store, create=False))
    designed, convolutional, attentive = gallery_samples(reading)
    said = tomllib.loads((DOCS / "gallery.toml").read_text(encoding="utf-8"))
    (DOCS / "images" / "gallery").mkdir(parents=True, exist_ok=True)
    methods = by_label(reading.run, "methods")
    lines = [
        said["head"].strip(),
        "",
        f"Run `{' '.join(reading.run.data['command'])}`, then `python docs/make_gallery.py runs/gallery`.",
        "",
        f"The first three maps are of {designed.environment}, whose inputs and truth are shown here; the others are of "
        f"photographs ({convolutional.environment}, or {attentive.environment} where attention is needed), which are "
        "not shown. Red raises the explained answer, blue lowers it, white is 0; every map has a scale of its own.",
        "",
        _image("input-and-truth", "inputs and truth", [*_inputs(designed), *_maps(designed, "truth")]),
        "",
    ]
    missing = set(methods) - set(said["methods"])
    if missing:
        sys.exit(f"docs/gallery.toml says nothing about {', '.join(sorted(missing))}")
    for label, method in methods.items():
        lines += [f"## {label}", "", f"`{method.spec.name}`{_asked(method.question)}. {method.card.summary}", ""]
        real = attentive if _reason(convolutional, label) else convolutional
        row = [*_maps(designed, label), *_maps(real, label)]
        lines += [_image(_slug(label), f"maps of {label}", row), ""]
        lines += [f"{said['methods'][label].strip()} {_numbers(reading, designed, label)}", ""]
        lines += [
            f"{found.environment}: {found.maps[label]}.  " for found in (designed, real) if _skipped(found, label)
        ]
        lines += [""]
    (DOCS / "gallery.md").write_text("\n".join(lines).replace("\n\n\n", "\n\n").rstrip() + "\n", encoding="utf-8")


def _asked(question: dict[str, object]) -> str:
    told = [f"{name} {value}" for name, value in question.items() if value is not None]
    return f", asked for {', '.join(told)}" if told else ""


def _numbers(reading: LoadedRun, designed: GallerySamples, label: str) -> str:
    """The scores against the truth, as the board has them."""
    board = next(board for board in reading.result.boards if board.environment == designed.environment)
    line = next(line for line in board.lines if line.method == label)
    told = [f"{metric} {cell.value:.2f}" for metric, cell in line.cells.items() if cell.value is not None]
    return f"({', '.join(told)}.)" if told else ""


def _reason(found: GallerySamples, label: str) -> bool:
    return isinstance(found.maps.get(label, ""), str)


def _skipped(found: GallerySamples, label: str) -> bool:
    """True where the method was tried and does not apply."""
    return label in found.maps and _reason(found, label)


def _inputs(found: GallerySamples) -> list[Image.Image]:
    ends = span(found.x)
    return [picture(x, ends) for x in found.x[:SAMPLES]]


def _maps(found: GallerySamples, label: str) -> list[Image.Image]:
    column = found.truth if label == "truth" else found.maps.get(label, "")
    return [] if isinstance(column, str) else [diverging(values) for values in column[:SAMPLES]]


def _image(name: str, alt: str, pictures: list[Image.Image]) -> str:
    """A row of pictures in one file."""
    if not pictures:
        return ""
    tiles = [enlarged(one, SIDE).convert("RGB") for one in pictures]
    width = sum(tile.width for tile in tiles) + GAP * (len(tiles) - 1)
    row = Image.new("RGB", (width, max(tile.height for tile in tiles)), "white")
    left = 0
    for tile in tiles:
        row.paste(tile, (left, 0))
        left += tile.width + GAP
    row.quantize(64).save(DOCS / "images" / "gallery" / f"{name}.png", optimize=True)
    return f"![{alt}](images/gallery/{name}.png)"


def _slug(label: str) -> str:
    return "".join(char if char.isalnum() else "-" for char in label.lower()).strip("-")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
