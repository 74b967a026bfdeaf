"""Segments by Segment Anything (Kirillov et al., 2023): the model from transformers, the mask generator
reimplemented here.

One point prompt at each position of a grid gives three masks. A mask is kept if the IoU that the model predicts for it
is high, if it hardly changes with the threshold, and if no better mask has nearly the same box. Defaults are the
authors'; as in their default, no crops are used. Ours: pictures are enlarged without rounding to 8 bits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor
from torch.nn.functional import interpolate, pad

from assay.core.errors import AssayError, SpecError
from assay.core.machine import Machine
from assay.core.rng import global_streams_restored

WEIGHTS = "model.safetensors"
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of colours, as SAM reads them
SHIFT = 1.0  # of the threshold on logits, by which stable masks hardly change


def load_sam(weights: str, device: torch.device) -> Any:
    """The SamModel in a folder that ``save_pretrained`` wrote: ``weights`` is its model.safetensors. No downloads."""
    file = Path(weights)
    if file.name != WEIGHTS or not file.is_file():
        raise SpecError(
            f"SAM: '{weights}' is no {WEIGHTS}. Give the path of that file, with its config.json beside it."
        )
    kind = _model_type(file.with_name("config.json"))
    if kind != "sam":
        raise SpecError(f"SAM: the config.json beside '{weights}' is of {kind or 'no model'}, not of 'sam'.")
    try:
        transformers = import_module("transformers")
    except ImportError:
        raise AssayError("segments by SAM need transformers: pip install 'assay-xai[sam]'.") from None
    with _no_progress_bar(transformers.logging), global_streams_restored():  # weights that a file lacks are drawn
        try:
            model, report = transformers.SamModel.from_pretrained(
                file.parent, local_files_only=True, use_safetensors=True, output_loading_info=True
            )
        except (OSError, RuntimeError, ValueError, SafetensorError) as error:
            raise SpecError(f"SAM: cannot read '{weights}': {error}.") from None
    if report["missing_keys"]:
        listed = ", ".join(sorted(report["missing_keys"])[:3])
        raise SpecError(f"SAM: '{weights}' lacks {len(report['missing_keys'])} of the model's weights: {listed} ...")
    return model.to(device, torch.float32).eval()


@torch.no_grad()
def sam_segments(
    pictures: Tensor,
    model: Any,
    points: int = 32,
    quality: float = 0.88,
    stability: float = 0.95,
    overlap: float = 0.7,
    machine: Machine = Machine(),
) -> Tensor:
    """Label maps (B, H, W) of pictures (B, 3, H, W) in 0..1, from ``points`` x ``points`` prompts.

    ``quality`` is the least IoU that the model predicts for a mask, ``stability`` the least ratio of its areas at the
    two shifted thresholds, ``overlap`` the IoU of boxes above which the better mask stays.
    """
    size = model.config.vision_config.image_size
    batch = machine.rows(24 * size**2)  # three masks in the size of the model's input, twice
    label_maps = []
    for picture in pictures.float():
        masks, scores = _masks(picture, model, points, batch, quality, stability)
        label_maps.append(paint_masks(masks[without_overlaps(bounding_boxes(masks), scores, overlap)]))
    return torch.stack(label_maps).to(pictures.device)


def model_input(picture: Tensor, size: int) -> tuple[Tensor, tuple[int, int]]:
    """A picture (3, H, W) as SAM reads it, (3, size, size), and the height and width that it fills there."""
    height, width = (int(side * size / max(picture.shape[1:]) + 0.5) for side in picture.shape[1:])
    large = interpolate(picture[None], (height, width), mode="bilinear", antialias=True)[0]
    mean, deviation = (torch.tensor(numbers).to(picture)[:, None, None] for numbers in (MEAN, DEVIATION))
    return pad((large - mean) / deviation, (0, size - width, 0, size - height)), (height, width)


def bounding_boxes(masks: Tensor) -> Tensor:
    """(N, 4): first row, first column, last row, last column of masks (N, H, W) that are not empty."""
    rows, columns = masks.any(dim=2).byte(), masks.any(dim=1).byte()
    first = [axis.argmax(dim=1) for axis in (rows, columns)]
    last = [axis.shape[1] - 1 - axis.flip(1).argmax(dim=1) for axis in (rows, columns)]
    return torch.stack([*first, *last], dim=1)


def without_overlaps(boxes: Tensor, scores: Tensor, overlap: float) -> Tensor:
    """Indices of the boxes that overlap no better kept one (non-maximum suppression), best first."""
    order = scores.argsort(descending=True, stable=True)
    overlapping = _ious(boxes[order].double()) > overlap
    keep = torch.ones(len(order), dtype=torch.bool)
    for rank in range(len(order)):
        if keep[rank]:
            keep[rank + 1 :] &= ~overlapping[rank, rank + 1 :]
    return order[keep]


def paint_masks(masks: Tensor) -> Tensor:
    """A label map from masks (N, H, W), best first: smaller masks cover larger ones. The rest is one segment."""
    ascending = masks[masks.flatten(1).sum(dim=1).argsort(stable=True)]
    layers = torch.cat([ascending, torch.ones(1, *masks.shape[1:], dtype=torch.bool)])
    return layers.byte().argmax(dim=0)  # the first of equals: the smallest mask there


def _masks(
    picture: Tensor, model: Any, points: int, batch: int, quality: float, stability: float
) -> tuple[Tensor, Tensor]:
    """The masks (N, H, W) that pass both thresholds, and the IoU that the model predicts for them; on the CPU."""
    size = model.config.vision_config.image_size
    pixels, (height, width) = model_input(picture, size)
    embedding = model.get_image_embeddings(pixels[None])
    steps = (torch.arange(points, device=picture.device) + 0.5) / points
    grid = torch.stack([steps.repeat(points) * width, steps.repeat_interleave(points) * height], dim=1)  # x, y
    batches = []
    for part in grid.split(batch):
        answer = model(image_embeddings=embedding, input_points=part[None, :, None])
        logits = interpolate(answer.pred_masks[0], (size, size), mode="bilinear")[..., :height, :width]
        logits = interpolate(logits, picture.shape[1:], mode="bilinear").flatten(0, 1)
        score = answer.iou_scores[0].flatten()
        inner, outer = ((logits > shift).sum(dim=(1, 2)) for shift in (SHIFT, -SHIFT))
        good = (score > quality) & (inner > stability * outer)
        batches.append(((logits[good] > 0).cpu(), score[good].cpu()))
    masks, scores = zip(*batches, strict=True)
    return torch.cat(masks), torch.cat(scores)


def _ious(boxes: Tensor) -> Tensor:
    """Intersection over union of every two boxes; a box without area overlaps nothing."""
    corner, end = boxes.split(2, dim=1)
    shared = (torch.minimum(end[:, None], end) - torch.maximum(corner[:, None], corner)).clamp(min=0).prod(dim=2)
    area = (end - corner).prod(dim=1)
    return torch.nan_to_num(shared / (area[:, None] + area - shared))


def _model_type(config: Path) -> str:
    """The model type in a config.json; empty where there is none."""
    try:
        return str(json.loads(config.read_text(encoding="utf-8")).get("model_type", ""))
    except (OSError, ValueError, AttributeError):
        return ""


@contextmanager
def _no_progress_bar(logging: Any) -> Iterator[None]:
    was_enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_enabled:
            logging.enable_progress_bar()
