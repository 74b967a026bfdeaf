"""LIME for images, against the lime package on the same images with hidden segments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from lime.lime_image import LimeImageExplainer
from skimage.segmentation import quickshift
from torch import nn
from torch.testing import assert_close

from assay.catalogue.registry import identity, resolve
from assay.check.contracts.fault import examine
from assay.check.contracts.method_case import MethodCase
from assay.check.contracts.methods import CONTRACTS
from assay.check.instruments.sites import site
from assay.core.errors import NotApplicable, SpecError
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.spec import Spec
from assay.engine.artifacts.answer import make_query
from assay.environments.color_count import ColorCount
from assay.methods import lime_image
from assay.methods.lime_image import LimeImage
from scenes import TINY, Flat, ask, data, mlp, randomised, rows
from streams import seeded

QUARTERS = torch.arange(64).view(8, 8) // 32 * 2 + torch.arange(64).view(8, 8) % 8 // 4


class Drawn:
    """Stands in for lime's random state: its coin flips are those of the method."""

    def __init__(self, flips):
        self.flips = flips

    def randint(self, low, high, size=None):
        if size is None:
            return 0
        assert (low, high, size) == (0, 2, self.flips.size)
        return self.flips.flatten()


def literal(query, method, labels, fill):
    """LimeImageExplainer one image at a time, on given segments, with the draws of the method."""
    found = []
    for row, target in enumerate(query.target.tolist()):
        numbers = np.unique(labels[row], return_inverse=True)[1].reshape(labels[row].shape)
        draws = rows(query, slice(row, row + 1)).draws("segments").uniform(method.samples, numbers.max() + 1)[0]

        def classify(images):
            with torch.no_grad():
                return query.module(torch.from_numpy(images.transpose(0, 3, 1, 2))).numpy()

        explainer = LimeImageExplainer(kernel_width=method.width)
        explainer.random_state = Drawn((draws < 0.5).long().numpy())
        explanation = explainer.explain_instance(
            query.x[row].numpy().transpose(1, 2, 0),
            classify,
            labels=(target,),
            top_labels=None,
            hide_color=fill,
            num_samples=method.samples,
            segmentation_fn=lambda _image, numbers=numbers: numbers,
        )
        coefficients = dict(explanation.local_exp[target])
        assert len(coefficients) == numbers.max() + 1  # lime's own selection keeps all
        found.append(np.vectorize(coefficients.get)(numbers))
    return torch.from_numpy(np.stack(found))


@seeded()
def net():
    body = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten())
    return randomised(Flat(body, nn.Linear(64, 3))).double()


def coloured(count):
    """Images of four areas and some single pixels, a different number of segments each."""
    x = data(count, 3, 4).double()[:, :, QUARTERS]
    for row in range(count):
        x[row, :, row, : row + 1] = x[row, :, row, : row + 1] + torch.arange(1.0, row + 2)
    return x


def segments_by_hand(x):
    """Areas of one colour, named after their first pixels."""
    flat = x.flatten(2)
    return (flat.unsqueeze(3) == flat.unsqueeze(2)).all(dim=1).byte().argmax(dim=2).view(-1, 8, 8).numpy()


@pytest.mark.parametrize("readout", ["logit", "probability"])
@pytest.mark.parametrize("width", [0.25, 1.0])
def test_coefficients_are_lime_s_on_the_same_images(readout, width):
    query = ask(net(), coloured(4), readout, baseline=0.3)
    method = LimeImage("oracle", samples=60, width=width)
    expected = literal(query, method, segments_by_hand(query.x), fill=0.3)
    assert len({len(np.unique(labels)) for labels in segments_by_hand(query.x)}) == 4
    assert_close(method(query), expected, rtol=1e-6, atol=1e-9)


def test_with_lime_s_own_segmenter_and_fill():
    """Quickshift, and the mean colour of a segment."""
    query = ask(net(), data(3, 3, 8, 8).double())
    method = LimeImage(samples=40, fill="mean", kernel_size=1.0, max_dist=4.0)
    low, high = (getattr(query.x, end)(dim=(1, 2, 3), keepdim=True) for end in ("amin", "amax"))
    pictures = ((query.x - low) / (high - low)).permute(0, 2, 3, 1).numpy()
    seeds = (query.draws("quickshift").uniform() * 2**24).int().tolist()
    pairs = zip(pictures, seeds, strict=True)
    labels = np.stack([quickshift(image, ratio=0.2, kernel_size=1, max_dist=4, rng=seed) for image, seed in pairs])
    assert labels.max() >= 2
    assert_close(method(query), literal(query, method, labels, fill=None), rtol=1e-6, atol=1e-9)


def test_segments_are_found_in_the_setting_s_picture():
    query = ask(net(), coloured(2))
    plain = replace(query, setting=replace(query.setting, picture=lambda x: torch.zeros_like(x)))
    for segments in ("felzenszwalb", "quickshift"):
        assert len(LimeImage(segments, samples=20)(plain).unique()) == 2  # one segment per image


def test_the_penalty_is_on_coefficients_only():
    """One segment: weighted least squares by hand."""
    query = ask(net(), data(1, 3, 8, 8).double())
    method = LimeImage("felzenszwalb", samples=30, alpha=2.0, min_size=64)
    shown = (query.draws("segments").uniform(30, 1)[0, :, 0] < 0.5).double()
    shown[0] = 1
    weight = shown + (1 - shown) * torch.tensor(-8.0).double().exp()  # sqrt(exp(-1 / 0.25^2)) where it is hidden
    score = torch.where(shown > 0, query.score(query.x), query.score(query.baseline))
    mean = (weight * shown).sum() / weight.sum()
    slope = (weight * (shown - mean) * score).sum() / ((weight * (shown - mean) ** 2).sum() + 2)
    assert_close(method(query), slope.expand(1, 8, 8), rtol=1e-9, atol=1e-12)


def tiny():
    """Designed images, asked about against their true background."""
    environment = replace(ColorCount.tiny(), forward="program")
    samples = environment.sample(range(16), 0)
    return make_query(
        environment.setting(0, {}), samples, Question(baseline="true"), Stream("test"), Machine()
    ), samples


def test_oracle_segments_find_the_signs_of_the_truth():
    """Measured: 98.7 % of the coloured pixels, with 200 samples."""
    query, samples = tiny()
    found, effect = LimeImage("oracle", samples=200)(query), samples.truth.effect
    coloured = effect != 0
    assert (found.sign() == effect)[coloured].double().mean() > 0.95


@seeded()
def test_pixels_of_one_colour_that_touch_at_a_corner_are_one_segment():
    x = torch.zeros(1, 1, 8, 8)
    x[0, 0, [2, 3], [2, 3]] = 1
    model = randomised(Flat(torch.nn.Identity(), torch.nn.Linear(64, 2)))
    assert len(LimeImage("oracle", samples=50)(ask(model, x, baseline=0.5)).unique()) == 2


def test_only_what_speaks_for_the_class_stays():
    query, _ = tiny()
    signed, positive = (LimeImage("oracle", samples=50, positive=only)(query) for only in (False, True))
    assert (signed < 0).any()
    assert torch.equal(positive, signed.clamp(min=0))


def test_the_mean_of_one_colour_hides_nothing():
    query, _ = tiny()
    assert not LimeImage("oracle", samples=20, fill="mean")(query).any()


def test_little_memory_is_enough(monkeypatch):
    query, _ = tiny()
    expected = LimeImage("oracle", samples=50)(query)
    monkeypatch.setattr(lime_image, "GROUP", 1)
    assert_close(LimeImage("oracle", samples=50)(replace(query, machine=TINY)), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "method",
    [
        LimeImage("felzenszwalb", samples=16, min_size=4),
        LimeImage("quickshift", samples=16, kernel_size=1.0, max_dist=3.0),
        LimeImage("oracle", samples=16, fill="mean"),
    ],
    ids=lambda method: method.segments,
)
def test_every_segmenter_keeps_the_promises_of_a_method(method):
    faults = examine(MethodCase("lime_image", method, site("color_count")), CONTRACTS)
    assert not faults, "\n".join(map(str, faults))


def test_sam_s_weights_are_part_of_the_key(tmp_path):
    weights = tmp_path / "model.safetensors"
    spec = resolve("methods", Spec.of("lime_image", segments="sam", sam=str(weights)))
    weights.write_bytes(b"one")
    before = identity("methods", spec)
    weights.write_bytes(b"other")
    assert identity("methods", spec)["params"]["sam"] != before["params"]["sam"]


def test_where_it_does_not_apply():
    with pytest.raises(NotApplicable, match="needs images, and this is table data"):
        LimeImage()(ask(mlp(), data(1, 6)))
    with pytest.raises(NotApplicable, match="needs at most 60 segments, and an image here has 64"):
        LimeImage("oracle", limit=60)(ask(net(), data(1, 3, 8, 8).double()))
    for wrong in ({"samples": 1}, {"width": 0.0}, {"alpha": 0.0}, {"limit": 0}):
        with pytest.raises(SpecError, match="cannot make a regression"):
            LimeImage(**wrong)
    for wrong in ({"kernel_size": 0.5}, {"min_size": 0}, {"points": 0}):
        with pytest.raises(SpecError, match="cannot make segments"):
            LimeImage(**wrong)
    for wrong in ({"segments": "sam"}, {"sam": "model.safetensors"}):
        with pytest.raises(SpecError, match="go together"):
            LimeImage(**wrong)
    with pytest.raises(SpecError, match=r"is no model.safetensors"):
        LimeImage("sam", sam="nowhere/model.safetensors")(ask(net(), coloured(1)))
