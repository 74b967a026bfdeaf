"""Which specs the contracts are tried on: every component of the catalogue, combinators also around other methods."""

from __future__ import annotations

import atexit
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from assay.catalogue.annotations import annotated_kind
from assay.catalogue.build import build
from assay.catalogue.registry import aliases, catalogue, resolve
from assay.check.contracts.method_case import MethodCase
from assay.check.contracts.metric_case import MetricCase
from assay.check.instruments.sites import POOL, Site, site
from assay.core.records import digest
from assay.core.spec import Spec

# Parameters that a component needs, or that save time; everything else is tried with its defaults.
EXAMPLES = {
    "axiom_dummy": "axiom_dummy(features=2, contexts=1)",
    "axiom_symmetry": "axiom_symmetry(pairs=1, contexts=1)",
    "bands": "bands(of=integrated_gradients(steps=16))",
    "exact_integrated_gradients": "exact_integrated_gradients(limit=100)",
    "extremal_perturbation": "extremal_perturbation(iterations=8)",
    "f_fidelity": "f_fidelity(sizes=4, draws=8)",
    "f_fidelity_minus": "f_fidelity_minus(sizes=4, draws=8)",
    "f_fidelity_plus": "f_fidelity_plus(sizes=4, draws=8)",
    "iba": "iba(steps=4, copies=4)",
    "infidelity": "infidelity(samples=4)",
    "input_iba": "input_iba(feature_steps=2, steps=2, copies=6, targets=6, group=3, epochs=1, batch=6, hidden=(4, 4))",
    "integrated_gradients": "integrated_gradients(steps=16)",
    "kernel_shap": "kernel_shap(samples=64)",
    "lime_image": "lime_image(segments='oracle', samples=16)",
    "lime_tabular": "lime_tabular(samples=64)",
    "mask_leakage": "mask_leakage(folds=2)",
    "max_sensitivity": "max_sensitivity(samples=2)",
    "parameter_randomisation": "parameter_randomisation(depths=2)",
    "precomputed": "precomputed(path='{rows}')",
    "rectangle": "rectangle(of=integrated_gradients(steps=16))",
    "rise": "rise(masks=16)",
    "roar": "roar(shares=(0.5,))",
    "sensitivity_n": "sensitivity_n(sizes=4, sets=8)",
    # At color_count, noise makes logits of about 130, whose last bits move a probability by 1e-5 in float32. With 4
    # copies, 2 of the 72 samples that fill the budget contract's calls are up to 1.1e-5 off; 8 copies need 8 samples.
    "smooth_grad_cam_plus_plus": "smooth_grad_cam_plus_plus(samples=8)",
    "smoothed": "smoothed(samples=4)",
    "soundness": "soundness(steps=12)",
}
FOLDER = TemporaryDirectory(prefix="assay-contracts-")
atexit.register(FOLDER.cleanup)
INNER = ("agop", "random_map")  # one that fits, and one that draws numbers and answers per feature


def specs(kind: str) -> list[str]:
    """Every component of a kind, every alias, and every combinator around other components."""
    found = [EXAMPLES.get(name, name) for name in aliases(kind)]
    for name, card in catalogue(kind).items():
        found.append(EXAMPLES.get(name, name))
        takes = [param.name for param in card.params if annotated_kind(param.annotation) == "methods"]
        found += [f"{name}({', '.join(f'{param}={inner}' for param in takes)})" for inner in INNER if takes]
    return found


def method_case(spec: str, place: str) -> MethodCase:
    return method_at(spec, site(place))


def method_at(spec: str, here: Site) -> MethodCase:
    return MethodCase(spec, _built("methods", spec.format(rows=_rows(here))), here)


def metric_case(spec: str, place: str) -> MetricCase:
    return metric_at(spec, site(place))


def metric_at(spec: str, here: Site) -> MetricCase:
    return MetricCase(spec, _built("metrics", spec), here)


def _built(kind: str, spec: str) -> object:
    return build(kind, resolve(kind, Spec.parse(spec)))


@lru_cache(maxsize=16)
def _rows(here: Site) -> Path:
    """A file of attributions for a site's samples."""
    path = Path(FOLDER.name) / f"{digest(here.name)}.npz"
    shape = here.setting.features.shape
    np.savez(path, attribution=np.random.default_rng(0).normal(size=(POOL, *shape)).astype(np.float32))
    return path
