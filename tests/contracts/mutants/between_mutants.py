"""Wrong versions of the metrics between models."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant

SIBLING = "assay.metrics._sibling"
OUTPUT = "assay.metrics.output_difference"
MAPS = "assay.metrics.attribution_difference"
TOP = "assay.metrics.top_images"

MUTANTS = [
    Mutant("output_difference", "signed", OUTPUT, ").abs()", ")"),
    Mutant("output_difference", "the next class", OUTPUT, "scene.target[:, None]", "(scene.target[:, None] + 1) % 3"),
    Mutant("output_difference", "the label's class", OUTPUT, "scene.target[:, None]", "scene.samples.label[:, None]"),
    Mutant("output_difference", "added up over classes", OUTPUT, "difference.mean(dim=1)", "difference.sum(dim=1)"),
    Mutant("output_difference", "largest over classes", OUTPUT, "difference.mean(dim=1)", "difference.amax(dim=1)"),
    Mutant("output_difference", "always probabilities", OUTPUT, '"logit" if', '"probability" if'),
    Mutant("output_difference", "always logits", OUTPUT, 'else "probability"', 'else "logit"'),
    Mutant("output_difference", "no temperature", OUTPUT, "temperature=self.temperature", "temperature=None"),
    Mutant(
        "output_difference",
        "always defined",
        OUTPUT,
        "difference.isfinite()",
        "difference.isnan().logical_not() | True",
    ),
    Mutant("output_difference", "the model itself", SIBLING, "model=setting.sibling", "model=setting.model"),
    Mutant("attribution_difference", "signed", MAPS, "(left - right).abs()", "(left - right)"),
    Mutant("attribution_difference", "squared", MAPS, "(left - right).abs()", "(left - right).square()"),
    Mutant("attribution_difference", "added up", MAPS, ".abs().mean(dim=1)", ".abs().sum(dim=1)"),
    Mutant("attribution_difference", "the model itself", SIBLING, "model=setting.sibling", "model=setting.model"),
    Mutant(
        "attribution_difference",
        "the class that was asked, always",
        MAPS,
        'if self.target == "asked":',
        "if self.target:",
    ),
    Mutant(
        "attribution_difference",
        "the model's class for both",
        MAPS,
        "return targets_for(setting,",
        "return targets_for(scene.setting,",
    ),
    Mutant(
        "attribution_difference", "the given map, always", MAPS, "(target == trial.scene.target) & ", "(target >= 0) & "
    ),
    Mutant(
        "attribution_difference", "never the given map", MAPS, "(target == trial.scene.target) & ", "(target < 0) & "
    ),
    Mutant(
        "attribution_difference", "one for all", MAPS, "torch.where(reusable[:, None], trial_map, new_map)", "new_map"
    ),
    Mutant(
        "attribution_difference",
        "one channel only",
        MAPS,
        "new_map = per_feature(trial.again(target=target, setting=setting).double(), setting.features)",
        "new_map = trial.again(target=target, setting=setting).double()[:, 0]",
    ),
    Mutant(
        "attribution_difference",
        "sizes of channels added up",
        MAPS,
        "per_feature(trial.attribution.double(),",
        "per_feature(trial.attribution.double().abs(),",
    ),
    Mutant("attribution_difference", "over the largest only", MAPS, "(values - low) /", "values /"),
    Mutant(
        "attribution_difference", "one stretch for the whole block", MAPS, "(values - low) /", "(values - low.amin()) /"
    ),
    Mutant("attribution_difference", "always stretched", MAPS, "if not self.stretch:", "if False:"),
    Mutant(
        "attribution_difference",
        "constant maps of the sibling count",
        MAPS,
        "map_defined & sibling_defined",
        "map_defined",
    ),
    Mutant(
        "attribution_difference",
        "constant maps of the model count",
        MAPS,
        "map_defined & sibling_defined",
        "sibling_defined",
    ),
    Mutant(
        "attribution_difference",
        "the model's hints",
        SIBLING,
        "if sibling_hints else setting.hints",
        "if False else setting.hints",
    ),
    Mutant("top_images", "the model itself", SIBLING, "model=setting.sibling", "model=setting.model"),
    Mutant("top_images", "one image fewer", TOP, "axis=0)[k - 1]", "axis=0)[max(k - 2, 0)]"),
    Mutant(
        "top_images",
        "the least active",
        TOP,
        "last = -np.partition(-values,",
        "values = -values; last = -np.partition(-values,",
    ),
    Mutant("top_images", "ties all belong", TOP, "* (k - above.sum(axis=0)) / tied.sum(axis=0)", "* 1.0"),
    Mutant("top_images", "ties never belong", TOP, "* (k - above.sum(axis=0)) / tied.sum(axis=0)", "* 0.0"),
    Mutant("top_images", "in either instead of both", TOP, "np.minimum(left, right)", "np.maximum(left, right)"),
    Mutant("top_images", "of k, however few fire", TOP, "np.maximum(left.sum(axis=0), right.sum(axis=0))", "self.k"),
    Mutant("top_images", "of the smaller number", TOP, "np.maximum(left.sum", "np.minimum(left.sum"),
    Mutant("top_images", "the lowest activate too", TOP, "values > values.min(axis=0)", "values == values"),
    Mutant("top_images", "the sibling may be constant", TOP, " & (np.ptp(other, axis=0) > 0)", ""),
    Mutant("top_images", "few images say something", TOP, "len(own) <= self.k", "len(own) < self.k"),
    Mutant("top_images", "largest instead of mean", TOP, 'self.pool == "mean"', 'self.pool == "max"'),
    Mutant("top_images", "one row of places", TOP, "(2, 3) if output.dim() == 4", "(2,) if output.dim() == 4"),
    Mutant("top_images", "same layer whatever was asked", TOP, "self.other or self.layer", "self.layer"),
    Mutant(
        "top_images",
        "undefined samples are kept",
        TOP,
        "defined = evidence.defined",
        "defined = evidence.defined | True",
    ),
    Mutant("top_images", "the shortcut is watched", TOP, "forward=None)", "kind=scene.setting.kind)"),
]
