"""An attribution is checked before anybody believes it; baselines and targets are what their names say."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from assay.core.errors import BadAttribution, NotApplicable
from assay.core.features import Columns, Pixels, Tokens
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.rng import Stream
from assay.core.setting import Reference, Samples, Setting, Truth
from assay.core.trial import Scene, Trial, baseline_for, check_attribution, per_feature, targets_for
from scenes import ask, data, randomised
from streams import seeded

ALL = [Pixels(3, 2, 4), Columns((0, 1, 1, 2, 0)), Columns.plain(4), Tokens(3, 2), Pixels(1, 2, 2)]


def ramp(*shape):
    return torch.arange(float(torch.tensor(shape).prod())).view(shape)


@pytest.mark.parametrize("features", ALL)
def test_one_number_per_entry_is_added_up_per_feature(features):
    x = ramp(2, *features.entries)
    assert torch.equal(per_feature(x, features), features.pool(x))


@pytest.mark.parametrize("features", ALL)
@pytest.mark.parametrize("one", [(), (1,)])
def test_one_number_per_feature_is_taken_as_it_is(features, one):
    given = ramp(2, *features.shape)
    assert torch.equal(per_feature(given.view(2, *one, *features.shape), features), given)


@pytest.mark.parametrize("features", ALL)
def test_every_allowed_shape_passes_the_check(features):
    x = ramp(2, *features.entries)
    for shape in (features.entries, features.shape, (1, *features.shape)):
        assert check_attribution(torch.zeros(2, *shape), x, features).shape == (2, *shape)


@pytest.mark.parametrize("shape", [(2, 6), (3, 5), (5,), (2,), (), (2, 5, 1), (2, 1, 5), (1, 2, 3), (2, 2, 3), (2, 0)])
def test_every_other_shape_is_refused_with_both_shapes(shape):
    x, features = torch.zeros(2, 5), Columns((0, 1, 1, 2, 0))
    with pytest.raises(BadAttribution) as refused:
        check_attribution(torch.zeros(shape), x, features)
    assert str(shape) in str(refused.value)
    assert "(2, 5)" in str(refused.value)
    assert "(2, 3)" in str(refused.value)


@pytest.mark.parametrize(("value", "name"), [([[1.0]], "list"), (None, "NoneType"), ((torch.zeros(2, 5),), "tuple")])
def test_what_is_no_tensor_is_named(value, name):
    with pytest.raises(BadAttribution, match=f"returned {name}, not a torch.Tensor"):
        check_attribution(value, torch.zeros(2, 5), Columns.plain(5))


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_samples_that_are_not_finite_are_counted(bad):
    attribution = torch.zeros(4, 5)
    attribution[1, 2] = attribution[3, 0] = attribution[3, 4] = bad
    with pytest.raises(BadAttribution, match="NaN or infinite values in 2 of 4 samples"):
        check_attribution(attribution, torch.zeros(4, 5), Columns.plain(5))


def test_a_checked_attribution_is_detached_and_in_the_input_s_format():
    x = torch.zeros(2, 5)
    found = check_attribution(torch.ones(2, 5, dtype=torch.float64, requires_grad=True), x, Columns.plain(5))
    assert found.dtype == torch.float32
    assert not found.requires_grad
    assert check_attribution(torch.ones(2, 5, dtype=torch.int64), x, Columns.plain(5)).dtype == torch.float32


def test_what_is_finite_only_in_another_format_is_refused():
    with pytest.raises(BadAttribution):
        check_attribution(torch.full((1, 5), 1e39, dtype=torch.float64), torch.zeros(1, 5), Columns.plain(5))


@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_complex_numbers_are_no_attribution():
    with pytest.raises(BadAttribution):
        check_attribution(torch.full((1, 5), 1 + 1j), torch.zeros(1, 5), Columns.plain(5))


# Baselines.


@seeded()
def setting(background=None, reference=None, outputs=3):
    return Setting(
        randomised(nn.Linear(4, outputs)),
        Columns.plain(4),
        "table",
        Question("logit", 1.0, "zero", "label"),
        background=background,
        reference=reference,
    )


def test_baselines_are_what_their_names_say():
    x = data(3, 4)
    rows = data(7, 4, seed=9)
    background = torch.tensor([1.0, 2.0, 3.0, 4.0])
    place = setting(background, Reference(rows, torch.zeros(7, dtype=torch.long)))
    assert torch.equal(baseline_for(place, None, x), torch.zeros(3, 4))
    assert torch.equal(baseline_for(place, "zero", x), torch.zeros(3, 4))
    assert torch.equal(baseline_for(place, "true", x), torch.stack([background] * 3))
    torch.testing.assert_close(baseline_for(place, "mean", x), torch.stack([sum(rows) / 7] * 3))
    noise = baseline_for(place, "uniform", x)
    assert torch.equal(noise, noise[:1].expand(3, 4))  # one picture, shared by all samples
    assert torch.equal(noise[:2], baseline_for(setting(), "uniform", 5 * x[:2]))  # whoever asks
    assert len(set(noise[0].tolist())) == 4
    assert -1 <= noise.min() < 0 < noise.max() <= 1
    assert torch.equal(baseline_for(place, 0.25, x), torch.full((3, 4), 0.25))
    assert torch.equal(baseline_for(place, -2, x), torch.full((3, 4), -2.0))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("true", "the true baseline is not known in this environment"),
        ("mean", "the mean baseline needs reference data"),
    ],
)
def test_a_baseline_that_the_environment_does_not_have_is_not_applicable(name, said):
    with pytest.raises(NotApplicable, match=said):
        baseline_for(setting(), name, data(2, 4))


def test_an_unknown_baseline_is_an_error_that_lists_the_known():
    with pytest.raises(
        ValueError, match="unknown baseline or canvas 'black': write zero, true, mean, uniform or a number"
    ):
        baseline_for(setting(), "black", data(2, 4))


# Targets.


@pytest.mark.parametrize("machine", [Machine(), Machine(memory=1)])
@seeded()
def test_the_target_is_the_label_or_the_largest_output(machine):
    model, x = randomised(nn.Linear(6, 3)), data(6, 6)
    place = ask(model, x).setting
    label = torch.tensor([2, 2, 1, 1, 0, 0])
    with torch.no_grad():
        largest = torch.stack([model(row[None])[0].argmax() for row in x])
    assert torch.equal(
        targets_for(place, Question("margin", 2.0, "zero", "label"), Samples(x, label, None, ()), machine), label
    )
    predicted = Question("margin", 2.0, "zero", "predicted")
    assert torch.equal(targets_for(place, predicted, Samples(x, label, None, ()), machine), largest)
    assert len(set(largest.tolist())) > 1


def test_the_predicted_target_of_one_output_is_that_output():
    rows = Samples(data(3, 4), torch.zeros(3).long(), None, ())
    found = targets_for(setting(outputs=1), Question(target="predicted"), rows)
    assert found.tolist() == [0, 0, 0]


def test_the_prediction_of_a_model_without_logits_is_asked_all_the_same():
    place = replace(setting(), outputs="probabilities", differentiable=False)
    asked = Question("value", 1.0, "zero", "predicted")
    x = data(5, 4)
    with torch.no_grad():
        assert torch.equal(
            targets_for(place, asked, Samples(x, torch.zeros(5).long(), None, ())), place.model(x).argmax(dim=1)
        )


# Scenes.


def scene(truth=True, stream=Stream("metric", "m")):
    x = data(3, 4)
    samples = Samples(x, torch.tensor([0, 1, 2]), Truth(x.sign()) if truth else None, (5, 6, 9))
    return Scene(setting(torch.ones(4)), samples, Question("logit"), torch.tensor([2, 1, 0]), stream)


def test_a_scene_asks_its_own_question_first_then_the_environment_s():
    query = scene().ask(Question(readout="margin"), baseline="true")
    assert query.question == Question("margin", 1.0, "true", "label")
    assert torch.equal(query.baseline, torch.ones(3, 4))
    assert query.target.tolist() == [2, 1, 0]
    assert scene().ask().question == Question("logit", 1.0, "zero", "label")
    assert scene().ask(Question(baseline="true"), baseline=0.5).question.baseline == 0.5


def test_a_scene_without_truth_says_so():
    with pytest.raises(NotApplicable, match="needs known truth, and this environment has none"):
        _ = scene(truth=False).effect


def test_a_trial_knows_its_map_its_truth_and_its_length():
    where = scene()
    trial = Trial(where, ramp(3, 4))
    assert torch.equal(trial.map, ramp(3, 4))
    assert torch.equal(trial.effect, where.samples.x.sign())
    assert len(trial) == 3


# Settings.


def test_a_setting_moved_to_another_format_leaves_the_first_as_it_is():
    place = setting(torch.ones(4), Reference(data(3, 4), torch.zeros(3, dtype=torch.long)))
    moved = place.to("cpu", torch.float64)
    assert moved.model.weight.dtype == moved.background.dtype == moved.reference.x.dtype == torch.float64
    assert place.model.weight.dtype == place.background.dtype == place.reference.x.dtype == torch.float32
    assert moved.reference.label.dtype == torch.int64
    samples = scene().samples.to("cpu", torch.float64)
    assert samples.x.dtype == samples.truth.effect.dtype == torch.float64
    assert (samples.label.dtype, samples.indices) == (torch.int64, (5, 6, 9))
