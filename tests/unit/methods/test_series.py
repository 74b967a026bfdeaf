"""Methods on series: a feature is a step, a channel, or a channel at a step, however the entries are ordered."""

import pytest
import torch

import small_data

WAYS = [(by, first) for by in ("steps", "channels", "both") for first in (True, False)]


def entries(given):
    """Which entries (features, *entries) each feature has, read off the meaning of the words."""
    channels, steps = small_data.CHANNELS, small_data.STEPS
    first, by = given.setting.features.channels_first, given.setting.features.by
    found = []
    for channel in range(channels if by != "steps" else 1):
        for step in range(steps if by != "channels" else 1):
            one = torch.zeros(channels, steps, dtype=torch.bool)
            rows = slice(None) if by == "steps" else channel
            columns = slice(None) if by == "channels" else step
            one[rows, columns] = True
            found.append(one if first else one.T)
    masks = torch.stack(found)
    if by == "both" and not first:  # features are ordered as entries are
        masks = masks.view(channels, steps, steps, channels).transpose(0, 1).flatten(0, 1)
    return masks


@pytest.mark.parametrize(("by", "first"), WAYS)
def test_ablation_replaces_all_entries_of_a_feature(by, first):
    given = small_data.series(by, first)
    found = given.attribute("feature_ablation").attribution.flatten(1)
    model, x = given.setting.model, given.samples.x
    mean = given.setting.reference.x.mean(dim=0)
    target = model(x).argmax(dim=1)
    for number, mask in enumerate(entries(given)):
        changed = torch.where(mask, mean, x)
        drop = (model(x) - model(changed)).gather(1, target[:, None])[:, 0]
        torch.testing.assert_close(found[:, number], drop, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("by", "first"), WAYS)
def test_gradients_are_added_up_over_the_entries_of_a_feature(by, first):
    given = small_data.series(by, first)
    found = given.attribute("integrated_gradients")
    pooled = torch.stack([(found.attribution * mask).flatten(1).sum(dim=1) for mask in entries(given)], dim=1)
    torch.testing.assert_close(found.map.flatten(1), pooled, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("first", [True, False])
def test_shapley_values_of_channels_add_up_to_those_that_integrated_gradients_promise(first):
    given = small_data.series("channels", first)
    exact, integrated = given.attribute("exact_shapley"), given.attribute("integrated_gradients(steps=200)")
    torch.testing.assert_close(exact.promised, integrated.promised)
    sums = (exact.map.double().sum(dim=1), integrated.map.double().sum(dim=1))
    torch.testing.assert_close(sums[0], exact.promised.double(), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(sums[1], integrated.promised.double(), rtol=1e-2, atol=1e-4)


def test_words_that_say_nothing_have_no_effect_and_the_others_their_sign():
    given = small_data.texts()
    found = given.attribute("exact_shapley").map
    explained = given.samples.label * 2 - 1  # of the positive or of the negative class
    for row, words in enumerate(given.samples.words):
        for position, word in enumerate(words):
            expected = small_data.GOOD.get(word, 0.0) * int(explained[row])
            assert float(found[row, position]) == pytest.approx(0.0, abs=1e-6) or expected != 0
            assert expected == 0 or (float(found[row, position]) > 0) == (expected > 0)
