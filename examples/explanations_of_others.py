"""Explanations that exist already, or come from other packages, judged together under labels of your choice."""

from functools import partial

import numpy as np
import shap
import torch
from captum.attr import IntegratedGradients, LayerGradCam, NoiseTunnel
from sklearn.ensemble import RandomForestClassifier

import assay

with torch.random.fork_rng():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(64, 3),
    )
x = torch.randn(24, 1, 8, 8, generator=torch.Generator().manual_seed(0))
maps = x.numpy()  # computed elsewhere: row i belongs to row i of x
methods = {
    "mine": maps,
    "IG, 20 steps": partial(IntegratedGradients(net).attribute, n_steps=20),
    "SmoothGrad of IG": NoiseTunnel(IntegratedGradients(net)),
    "Grad-CAM": LayerGradCam(net, net[0]),
    "ours": "integrated_gradients(steps=20)",
}
print(assay.evaluate(net, x, methods=methods, budget=None))

table = np.random.default_rng(0).normal(size=(200, 5))
forest = RandomForestClassifier(20, random_state=0).fit(table[:150], table[:150, 0] > table[:150, 1])
trees = {"TreeExplainer": shap.TreeExplainer(forest), "feature ablation": "feature_ablation"}
print(assay.evaluate(forest, table[150:], reference=table[:150], methods=trees, budget=None))
