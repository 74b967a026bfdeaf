"""Wrong versions of the metrics that say where the mass of a map lies."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant

SOFT = "assay.kit.soft_precision"
OWN = "assay.metrics.{}"

MUTANTS = [
    Mutant(
        "noise_mass",
        "share on what counts",
        OWN.format("noise_mass"),
        "NoiseMass.__call__",
        "noise.double()",
        "(~noise).double()",
    ),
    Mutant(
        "noise_mass",
        "signed",
        OWN.format("noise_mass"),
        "NoiseMass.__call__",
        "trial.map.flatten(1).abs()",
        "trial.map.flatten(1)",
    ),
    Mutant(
        "noise_mass",
        "entries by size",
        OWN.format("noise_mass"),
        "NoiseMass.__call__",
        "trial.map.flatten(1).abs()",
        "trial.scene.setting.features.pool(trial.attribution.abs()).flatten(1)",
    ),
    Mutant(
        "noise_mass",
        "squares",
        OWN.format("noise_mass"),
        "NoiseMass.__call__",
        "trial.map.flatten(1).abs().double()",
        "trial.map.flatten(1).double().square()",
    ),
    Mutant(
        "noise_mass", "always by effect", OWN.format("noise_mass"), "NoiseMass._noise", "self.noise == 'effect'", "True"
    ),
    Mutant(
        "noise_mass",
        "by index where known",
        OWN.format("noise_mass"),
        "NoiseMass._noise",
        "self.noise == 'effect'",
        "trial.scene.setting.informative is None",
    ),
    Mutant(
        "noise_mass",
        "the first ones",
        OWN.format("noise_mass"),
        "NoiseMass._noise",
        "noise[:, list(informative)] = False",
        "noise[:, :len(informative)] = False",
    ),
    Mutant(
        "noise_mass",
        "empty map is defined",
        OWN.format("noise_mass"),
        "NoiseMass.__call__",
        "size.any(dim=1) & some_not_all(noise)",
        "some_not_all(noise)",
    ),
    Mutant(
        "noise_mass",
        "share of features",
        SOFT,
        "precision",
        "_over((claimed * true).sum(dim=1), claimed.sum(dim=1))",
        "_over(((claimed > 0) * true).sum(dim=1), (claimed > 0).double().sum(dim=1))",
    ),
    Mutant(
        "noise_mass",
        "small effects are noise",
        OWN.format("noise_mass"),
        "NoiseMass._noise",
        "trial.effect.flatten(1) == 0",
        "trial.effect.flatten(1).abs() < 0.5",
    ),
    Mutant(
        "attr_share",
        "positive effects only",
        OWN.format("attr_share"),
        "AttrShare.__call__",
        "trial.effect.flatten(1) != 0",
        "trial.effect.flatten(1) > 0",
    ),
    Mutant(
        "attr_share",
        "weighed by the effect",
        OWN.format("attr_share"),
        "AttrShare.__call__",
        "region.double()",
        "trial.effect.flatten(1).double().abs()",
    ),
    Mutant(
        "attr_share",
        "always by size",
        OWN.format("attr_share"),
        "AttrShare.__call__",
        "part_of_sign(trial.map.flatten(1).double(), self.sign)",
        "part_of_sign(trial.map.flatten(1).double(), 'overall')",
    ),
    Mutant(
        "attr_share",
        "empty map undefined",
        OWN.format("attr_share"),
        "AttrShare.__call__",
        "rows(value=share.where(defined, 0.0), defined=defined)",
        "rows(value=share.where(defined, 0.0), defined=defined & (trial.map.flatten(1) != 0).any(dim=1))",
    ),
    Mutant("attr_share", "share of the region", SOFT, "precision", "claimed.sum(dim=1)", "true.sum(dim=1)"),
    Mutant(
        "attr_share", "outside", OWN.format("attr_share"), "AttrShare.__call__", "region.double()", "(~region).double()"
    ),
]
