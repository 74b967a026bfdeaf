"""SAM's segments, with a small SamModel of random weights made on the spot, against transformers' own processing."""

from __future__ import annotations

import json
import shutil
import socket
import sys

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from assay.core.errors import AssayError, SpecError
from assay.core.machine import Machine
from assay.methods._sam import bounding_boxes, load_sam, model_input, paint_masks, sam_segments, without_overlaps
from assay.methods.lime_image import LimeImage
from scenes import Flat, ask, randomised, rows
from streams import seeded

SIZE, WIDTH = 64, 32  # of the model's input, of its embeddings
CPU = torch.device("cpu")
ANY = {"quality": 2.0, "stability": 0.5}  # random weights mean nothing by what they call good


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """A folder that save_pretrained wrote; the path of its model.safetensors."""
    transformers = pytest.importorskip("transformers")
    config = transformers.SamConfig(
        vision_config={
            "hidden_size": 16,
            "output_channels": WIDTH,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": SIZE,
            "patch_size": 8,
            "window_size": 4,
            "global_attn_indexes": [1],
            "num_pos_feats": WIDTH // 2,
            "mlp_dim": 32,
        },
        prompt_encoder_config={"hidden_size": WIDTH, "image_size": SIZE, "patch_size": 8, "mask_input_channels": 4},
        mask_decoder_config={"hidden_size": WIDTH, "mlp_dim": 32, "num_attention_heads": 2, "iou_head_hidden_dim": 8},
    )
    with torch.random.fork_rng(devices=[]):
        model = transformers.SamModel(config)
    stream = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for numbers in (*model.parameters(), *model.buffers()):
            inputs = numbers[0].numel() if numbers.dim() > 1 else 4
            numbers.copy_(3 / inputs**0.5 * torch.randn(numbers.shape, generator=stream))
    folder = tmp_path_factory.mktemp("sam")
    transformers.logging.disable_progress_bar()
    model.save_pretrained(folder)
    transformers.logging.enable_progress_bar()
    return folder / "model.safetensors"


@pytest.fixture(scope="module")
def model(weights):
    return load_sam(str(weights), CPU)


@pytest.fixture(scope="module")
def processor():
    from transformers.models.sam.image_processing_pil_sam import SamImageProcessorPil

    return SamImageProcessorPil(size={"longest_edge": SIZE}, pad_size={"height": SIZE, "width": SIZE})


def pictures(count, height, width, seed=0):
    """Smooth ones, in 256ths, so that 8 bits hold them."""
    stream = torch.Generator().manual_seed(seed)
    coarse = torch.rand(count, 3, 4, 4, generator=stream)
    return (torch.nn.functional.interpolate(coarse, (height, width), mode="bilinear") * 255).round() / 255


def literal_boxes(scores, boxes, overlap):
    """Greedy non-maximum suppression, box by box (x1, y1, x2, y2)."""
    remaining = sorted(range(len(scores)), key=lambda index: -scores[index])
    keep = []
    while remaining:
        first, *remaining = remaining
        keep.append(first)
        remaining = [other for other in remaining if not iou(boxes[first], boxes[other]) > overlap]
    return keep


def iou(first, second):
    width = max(0.0, min(first[2], second[2]) - max(first[0], second[0]))
    height = max(0.0, min(first[3], second[3]) - max(first[1], second[1]))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)]
    union = sum(areas) - width * height
    return width * height / union if union else 0.0


def literal(picture, model, processor, points, overlap, quality, stability):
    """The masks by transformers' processor, one prompt at a time; their choice and the painting pixel by pixel."""
    image = (picture.permute(1, 2, 0) * 255).round().byte().numpy()
    inputs = processor(image, return_tensors="pt")
    _, grid, _, _ = processor.generate_crop_boxes(image, SIZE, 0, points_per_crop=points)
    height, width = picture.shape[1:]
    masks, scores, boxes = [], [], []
    with torch.no_grad():
        for point in torch.as_tensor(np.asarray(grid)).reshape(-1, 2):
            answer = model(inputs["pixel_values"], input_points=point.view(1, 1, 1, 2))
            sizes = inputs["original_sizes"], inputs["reshaped_input_sizes"]
            logits = processor.post_process_masks(answer.pred_masks, *sizes, binarize=False)[0]
            crop = [0, 0, width, height]
            filtered = processor.filter_masks(
                logits, answer.iou_scores[0], (height, width), crop, quality, stability, 0, 1
            )
            masks += [runs_to_mask(runs["counts"], height, width) for runs in filtered[0]]
            scores += filtered[1].tolist()
            boxes += filtered[2].tolist()
    worst_first = [masks[index] for index in literal_boxes(scores, boxes, overlap)][::-1]
    result = np.full((height, width), -1)
    for index, mask in enumerate(sorted(worst_first, key=lambda mask: -mask.sum())):
        result[mask] = index
    return result


def runs_to_mask(counts, height, width):
    """Run lengths of zeros and ones in turn, column by column."""
    flat = np.repeat(np.arange(len(counts)) % 2 == 1, counts)
    return flat.reshape(width, height).T


def same_partition(first, second):
    pairs = set(zip(first.flatten().tolist(), second.flatten().tolist(), strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


@pytest.mark.parametrize("height, width", [(64, 48), (40, 64)])
@pytest.mark.parametrize("overlap, count", [(0.7, 2), (1.0, 10)])  # at 1 every mask stays
def test_segments_are_those_of_transformers_processing(model, processor, height, width, overlap, count):
    images = pictures(2, height, width)
    label_maps = sam_segments(images, model, points=4, overlap=overlap, **ANY)
    for picture, labels in zip(images, label_maps, strict=True):
        expected = literal(picture, model, processor, 4, overlap, **ANY)
        assert len(np.unique(expected)) >= count
        assert same_partition(labels.numpy(), expected)


@pytest.mark.parametrize("height, width", [(64, 64), (64, 48), (40, 64)])
def test_a_picture_is_prepared_as_in_transformers(processor, height, width):
    (picture,) = pictures(1, height, width)
    expected = processor((picture.permute(1, 2, 0) * 255).round().byte().numpy(), return_tensors="pt")
    pixels, size = model_input(picture, SIZE)
    assert_close(pixels, torch.as_tensor(expected["pixel_values"][0]), rtol=1e-5, atol=1e-5)
    assert size == (height, width)


def test_a_small_picture_is_enlarged_up_to_the_rounding_of_8_bits(processor):
    (picture,) = pictures(1, 32, 16)
    expected = processor((picture.permute(1, 2, 0) * 255).round().byte().numpy(), return_tensors="pt")
    pixels, size = model_input(picture, SIZE)
    assert size == (64, 32)
    assert_close(pixels, torch.as_tensor(expected["pixel_values"][0]), rtol=0, atol=1 / 255 / 0.22)


def test_pictures_do_not_depend_on_each_other_nor_on_memory(model):
    images = pictures(3, 32, 32)
    label_maps = sam_segments(images, model, points=3, **ANY)
    tiny = sam_segments(images[1:2], model, points=3, **ANY, machine=Machine(memory=1))
    assert torch.equal(label_maps[1:2], tiny)


@seeded()
def test_lime_speaks_of_these_segments(weights, model):
    method = LimeImage("sam", samples=12, sam=str(weights), points=3, **ANY)
    net = randomised(Flat(torch.nn.AvgPool2d(4), torch.nn.Linear(3 * 64, 2)))
    query = ask(net, 5 * pictures(2, 32, 32) - 2)
    attributions = method(query)
    for x, values in zip(query.x, attributions, strict=True):
        picture = (x - x.min()) / (x.max() - x.min())
        (labels,) = sam_segments(picture[None], model, points=3, **ANY)
        assert len(labels.unique()) > 1
        assert same_partition(labels.numpy(), values.numpy())
    assert_close(method(rows(query, slice(1, 2))), attributions[1:], rtol=1e-5, atol=1e-6)


def test_without_a_good_mask_there_is_one_segment(model):
    assert torch.equal(sam_segments(pictures(1, 16, 16), model, 2, quality=100.0), torch.zeros(1, 16, 16).long())


def test_non_maximum_suppression_is_the_literal_loop():
    stream = torch.Generator().manual_seed(0)
    ends = torch.randint(0, 20, (200, 2, 2), generator=stream).sort(dim=1).values
    boxes, scores = ends.flatten(1), torch.randint(0, 50, (200,), generator=stream) / 50
    for overlap in (0.1, 0.5, 0.7):
        turned = boxes[:, [1, 0, 3, 2]].tolist()
        expected = literal_boxes(scores.tolist(), turned, overlap)
        assert 1 < len(expected) < 200
        assert without_overlaps(boxes, scores, overlap).tolist() == expected


def test_boxes_hold_first_and_last_pixels():
    masks = torch.zeros(2, 5, 7, dtype=torch.bool)
    masks[0, 1:4, 2:3] = masks[1, 4, 6] = masks[1, 0, 1] = True
    assert bounding_boxes(masks).tolist() == [[1, 2, 3, 2], [0, 1, 4, 6]]


def test_smaller_masks_lie_on_top_of_larger_ones():
    small, large = torch.zeros(2, 3, 4, dtype=torch.bool)
    large[:, :3] = small[1, 1:3] = True
    for masks in ([small, large], [large, small]):
        assert paint_masks(torch.stack(masks)).tolist() == [[1, 1, 1, 2], [1, 0, 0, 2], [1, 1, 1, 2]]


def test_loading_needs_no_network_no_global_randomness_and_prints_nothing(weights, monkeypatch, capfd):
    def forbidden(*_arguments, **_options):
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", forbidden)
    before = torch.get_rng_state()
    model = load_sam(str(weights), CPU)
    assert torch.equal(torch.get_rng_state(), before)
    assert not model.training
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert capfd.readouterr() == ("", "")


def test_what_is_not_sam_is_said_to_be_not(weights, tmp_path, monkeypatch):
    with pytest.raises(SpecError, match=r"is no model.safetensors. Give the path of that file"):
        load_sam(str(weights.parent), CPU)
    alone = tmp_path / "model.safetensors"
    shutil.copy(weights, alone)
    with pytest.raises(SpecError, match="is of no model, not of 'sam'"):
        load_sam(str(alone), CPU)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "vit"}))
    with pytest.raises(SpecError, match="is of vit, not of 'sam'"):
        load_sam(str(alone), CPU)
    shutil.copy(weights.with_name("config.json"), tmp_path)
    alone.write_bytes(b"nothing")
    with pytest.raises(SpecError, match="cannot read"):
        load_sam(str(alone), CPU)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(AssayError, match=r"pip install 'assay-xai\[sam\]'"):
        load_sam(str(weights), CPU)


def test_weights_that_are_missing_are_named(weights, tmp_path):
    from safetensors.torch import load_file, save_file

    shutil.copy(weights.with_name("config.json"), tmp_path)
    numbers = load_file(weights)
    dropped = next(name for name in numbers if name.startswith("vision_encoder.neck"))
    del numbers[dropped]
    save_file(numbers, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(SpecError, match=f"lacks 1 of the model's weights: {dropped}"):
        load_sam(str(tmp_path / "model.safetensors"), CPU)
