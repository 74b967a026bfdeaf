"""Explainers with Captum's interface: classes with arguments, and explainers that a user made for a model."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import captum.attr as captum
import pytest
import torch
from torch import nn

from assay.catalogue.build import build, describe, method_and_name
from assay.catalogue.registry import resolve
from assay.core.errors import NotApplicable, SpecError
from assay.core.spec import Spec
from assay.engine.artifacts.answer import answer, attribute
from scenes import ask, cnn, data, mlp
from streams import seeded

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # Captum's, about hooks and many rows

NET = cnn()
IMAGES = data(3, 2, 8, 8)


def images(readout="logit"):
    return ask(NET, IMAGES, readout, baseline=0.25)


def of_spec(text):
    return build("methods", resolve("methods", Spec.parse(text)))


def made(explainer):
    return method_and_name(explainer)[0]


@seeded()
def softened():
    return nn.Sequential(NET, nn.Softmax(1))


EXPLAINERS = {
    "captum.attr:IntegratedGradients": lambda: captum.IntegratedGradients(NET),
    "captum.attr:DeepLift(multiply_by_inputs=False)": lambda: captum.DeepLift(NET, multiply_by_inputs=False),
    "captum.attr:IntegratedGradients(n_steps=3)": lambda: partial(captum.IntegratedGradients(NET).attribute, n_steps=3),
    "captum.attr:Occlusion(sliding_window_shapes=(2, 4, 4))": lambda: partial(
        captum.Occlusion(NET).attribute, sliding_window_shapes=(2, 4, 4)
    ),
    "captum.attr:NoiseTunnel(attribution_method=captum.attr:Saliency)": lambda: captum.NoiseTunnel(
        captum.Saliency(NET)
    ),
    "captum.attr:NoiseTunnel(attribution_method=captum.attr:IntegratedGradients(n_steps=4), nt_samples=2)": lambda: (
        partial(captum.NoiseTunnel(captum.IntegratedGradients(NET)).attribute, n_steps=4, nt_samples=2)
    ),
    "captum.attr:LayerGradCam(layer='body.3')": lambda: captum.LayerGradCam(NET, NET.body[3]),
    "captum.attr:LayerConductance(layer='body.3')": lambda: captum.LayerConductance(NET.forward, NET.body[3]),
    "captum.attr:GuidedGradCam(layer='body.3')": lambda: captum.GuidedGradCam(NET, NET.body[3]),
    "captum.attr:KernelShap(n_samples=10)": lambda: partial(captum.KernelShap(NET).attribute, n_samples=10),
    "captum.attr:Lime(n_samples=10)": lambda: partial(captum.Lime(NET).attribute, n_samples=10),
}


@pytest.mark.parametrize("spec", EXPLAINERS)
@pytest.mark.parametrize("readout", ["logit", "probability"])
def test_an_explainer_made_for_a_model_gives_the_numbers_of_its_spec(spec, readout):
    asked, explainer = images(readout), made(EXPLAINERS[spec]())
    found = attribute(explainer, asked)
    assert torch.equal(found, attribute(of_spec(spec), asked))
    assert bool(found.any())


@pytest.mark.parametrize(
    "spec", [spec for spec in EXPLAINERS if "NoiseTunnel(attribution_method=captum.attr:Int" not in spec]
)
def test_random_numbers_of_both_come_from_the_same_stream(spec):
    assert describe(made(EXPLAINERS[spec]())) == describe(of_spec(spec))


def test_what_was_chosen_when_it_was_made_is_kept():
    asked = ask(mlp(), data(3, 6))
    kernel = captum.Lime(
        asked.setting.model, interpretable_model=captum.KernelShap(asked.setting.model).interpretable_model
    )
    assert made(kernel).params.keys() == {"interpretable_model"}
    width = captum._core.lime.get_exp_kernel_similarity_function("euclidean", 0.5)
    assert made(captum.Lime(asked.setting.model, similarity_func=width)).params == {"similarity_func": width}
    assert made(captum.Lime(asked.setting.model)).params == {}


@pytest.mark.draws("Captum's Lime is called as users call it")
def test_a_used_explainer_can_be_read_as_well():
    asked = ask(mlp(), data(3, 6))
    model = asked.setting.model
    for explainer in (captum.LRP(model), captum.FeatureAblation(model), captum.Lime(model)):
        expected = attribute(made(explainer), asked)
        explainer.attribute(asked.x[:1].requires_grad_(), target=0)
        assert torch.equal(attribute(made(explainer), asked), expected)


def test_the_user_s_own_explainer_is_not_asked():
    class Counting(captum.Saliency):
        count = 0

        def attribute(self, inputs, target):
            type(self).count += self.forward_func is NET
            return super().attribute(inputs, target)

    asked = replace(images(), setting=images().setting.copied())
    assert attribute(made(Counting(NET)), asked).shape == IMAGES.shape
    assert Counting.count == 0


def notes(method, asked):
    return list(answer(method, asked).notes)


def test_an_explainer_that_was_made_for_another_number_says_so():
    other = "was made for something that answers otherwise; explains the model's logit"
    assert notes(made(captum.Saliency(softened())), images()) == [other]
    assert notes(made(captum.Saliency(lambda x: NET(x).softmax(1))), images()) == [other]
    assert notes(made(captum.Saliency(softened())), images("probability")) == []
    assert notes(made(captum.Saliency(lambda x: NET(x))), images()) == []


def test_a_layer_is_found_in_a_model_that_stands_inside_another():
    asked = images()
    inside = replace(asked, setting=replace(asked.setting, model=softened().eval()))
    expected = attribute(of_spec("captum.attr:LayerGradCam(layer='0.body.3')"), inside)
    assert torch.equal(attribute(of_spec("captum.attr:LayerGradCam(layer='body.3')"), inside), expected)
    assert torch.equal(attribute(made(captum.LayerGradCam(NET, NET.body[3])), inside), expected)
    outside = attribute(
        made(captum.LayerGradCam(softened(), NET.body[3])), asked
    )  # '0.body.3', and the model has body.3
    assert torch.equal(outside, attribute(of_spec("captum.attr:LayerGradCam(layer='body.3')"), asked))
    through = captum.LayerGradCam(lambda x: NET(x), NET.body[3])
    assert torch.equal(attribute(made(through), asked), outside)


def test_a_layer_s_map_is_enlarged_as_class_activation_maps_are():
    asked = images()
    found = answer(of_spec("captum.attr:LayerGradCam(layer='body.3', relu_attributions=True)"), asked)
    ours = answer(of_spec("grad_cam(layer='body.3')"), asked)
    torch.testing.assert_close(found.attribution, ours.attribution)
    assert found.attribution.shape == (3, 8, 8)
    assert found.grid.name == ours.grid.name == "4x4 grid"
    assert torch.equal(found.grid.down, ours.grid.down)
    assert torch.equal(found.grid.across, ours.grid.across)
    assert list(found.notes) == ["layer body.3: 4x4, enlarged to the image"]


def test_a_signed_map_states_no_grid_and_one_of_the_image_s_size_is_left_as_it_is():
    asked = images()
    assert answer(of_spec("captum.attr:LayerGradCam(layer='body.3')"), asked).grid is None
    whole = answer(of_spec("captum.attr:LayerGradientXActivation(layer='body.0')"), asked)
    assert list(whole.notes) == ["layer body.0"]
    net = captum.LayerGradientXActivation(asked.module, asked.setting.model.body[0])
    torch.testing.assert_close(whole.attribution, net.attribute(IMAGES, target=asked.target).sum(dim=1).detach())


def test_a_layer_that_gives_no_map_of_the_image_is_refused():
    words = r"needs a layer whose output is a map of the image: the attributions of 'head.0' are \(3, 5\)"
    with pytest.raises(NotApplicable, match=words):
        attribute(of_spec("captum.attr:LayerConductance(layer='head.0')"), images())
    with pytest.raises(NotApplicable, match="needs a layer whose output is a map"):  # as wide as the rows
        attribute(of_spec("captum.attr:LayerGradientXActivation(layer='0')"), ask(square(), data(3, 6)))


@seeded()
def square():
    return nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 3)).eval()


def lrp_of(model, x):
    return captum.LRP(model).attribute(x.requires_grad_(), target=torch.tensor([0, 1, 2]))


def test_lrp_of_captum_meets_no_module_without_a_rule():
    asked = ask(mlp(), data(3, 6))
    torch.testing.assert_close(
        attribute(made(captum.LRP(asked.setting.model)), asked), lrp_of(mlp(), data(3, 6)).detach()
    )


REFUSED = {
    "captum.attr:IntegratedGradients(nsteps=3)": r"'nsteps'. Did you mean 'n_steps'\? It takes: .*, method",
    "captum.attr:NoiseTunnel(attribution_method=captum.attr:Saliency, nt_sample=3)": "Did you mean 'nt_samples'",
    "captum.attr:LayerGradCam(layer='body.9')": r"no layer 'body.9'. Did you mean 'body.\d'\? Its layers: body, body.0",
    "captum.attr:LayerActivation(layer='body.3')": "takes no target: it explains a layer or a neuron",
    "captum.attr:NeuronConductance(layer='body.3')": "needs a value for 'neuron_selector'",
}


@pytest.mark.parametrize("spec, words", REFUSED.items())
def test_what_is_wrong_with_an_argument_is_said(spec, words):
    with pytest.raises(SpecError, match=words):
        attribute(of_spec(spec), images())


def test_a_changed_explainer_cannot_be_made_again():
    kernel = captum.KernelShap(NET)
    kernel.inf_weight = 5.0
    with pytest.raises(SpecError, match="again for the explained number: 'inf_weight' was changed"):
        made(kernel)
    with pytest.raises(SpecError, match="its layer is none of the model that it was made for"):
        made(captum.LayerGradCam(NET, cnn().body[3]))
    with pytest.raises(SpecError, match="explains several layers"):
        made(captum.LayerGradientXActivation(NET, [NET.body[0], NET.body[3]]))


def test_a_method_s_maps_do_not_change_with_the_parameter_of_another_kind_of_layer():
    """``layer`` of a class that means something else by it is passed on."""

    class Scaled:
        def __init__(self, model, layer=1):
            self.model, self.layer = model, layer

        def attribute(self, inputs, target):
            return self.layer * inputs

    assert torch.equal(attribute(made(Scaled(NET, 3)), images()), 3 * IMAGES)
