"""Grad-CAM against Captum: the same layer, the same enlarged maps."""

from __future__ import annotations

from torch import Tensor

from assay.methods.cam import GradCam
from benchmarks.measuring import Problem
from benchmarks.problems import SIDE, peer, resnet_query

LAYER, IMAGES = "layer4", 8


def problems() -> list[Problem]:
    captum, name = peer("captum.attr", "captum")
    query, method = resnet_query(IMAGES), GradCam(LAYER)
    explainer = captum.LayerGradCam(query.module, query.setting.model.get_submodule(LAYER))
    x = query.x.clone().requires_grad_()  # no parameter needs a gradient, and Captum asks for none itself

    def attribute() -> Tensor:
        maps = explainer.attribute(x, target=query.target, relu_attributions=True)
        enlarged: Tensor = captum.LayerAttribution.interpolate(maps, (SIDE, SIDE), "bilinear")
        return enlarged.detach().squeeze(1)

    statement = f"ResNet-18 224x224, {IMAGES} images, {LAYER}, bilinear"
    return [Problem(statement, IMAGES, lambda: method(query), attribute, name)]
