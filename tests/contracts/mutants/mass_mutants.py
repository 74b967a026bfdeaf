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
        "precision(size, noise.double())",
        "precision(size, (~noise).double())",
    ),
    Mutant("noise_mass", "signed", OWN.format("noise_mass"), ".abs().double()", ".double()"),
    Mutant(
        "noise_mass",
        "entries by size",
        OWN.format("noise_mass"),
        "trial.map.flatten(1).abs()",
        "trial.scene.setting.features.pool(trial.attribution.abs()).flatten(1)",
    ),
    Mutant("noise_mass", "squares", OWN.format("noise_mass"), ".abs().double()", ".double().square()"),
    Mutant("noise_mass", "always by effect", OWN.format("noise_mass"), 'if self.noise == "effect":', "if True:"),
    Mutant(
        "noise_mass",
        "by index where known",
        OWN.format("noise_mass"),
        'if self.noise == "effect":',
        "if trial.scene.setting.informative is None:",
    ),
    Mutant(
        "noise_mass",
        "the first ones",
        OWN.format("noise_mass"),
        "noise[:, list(informative)]",
        "noise[:, : len(informative)]",
    ),
    Mutant("noise_mass", "empty map is defined", OWN.format("noise_mass"), "size.any(dim=1) & ", ""),
    Mutant(
        "noise_mass",
        "share of features",
        SOFT,
        "_over((claimed * true).sum(dim=1), claimed.sum(dim=1))",
        "_over(((claimed > 0) * true).sum(dim=1), (claimed > 0).double().sum(dim=1))",
    ),
    Mutant(
        "noise_mass",
        "small effects are noise",
        OWN.format("noise_mass"),
        "trial.effect.flatten(1) == 0",
        "trial.effect.flatten(1).abs() < 0.5",
    ),
    Mutant("attr_share", "positive effects only", OWN.format("attr_share"), "!= 0", "> 0"),
    Mutant(
        "attr_share",
        "weighed by the effect",
        OWN.format("attr_share"),
        "region.double())",
        "trial.effect.flatten(1).double().abs())",
    ),
    Mutant("attr_share", "always by size", OWN.format("attr_share"), "self.sign)", '"overall")'),
    Mutant(
        "attr_share",
        "empty map undefined",
        OWN.format("attr_share"),
        "defined=defined)",
        "defined=defined & (trial.map.flatten(1) != 0).any(dim=1))",
    ),
    Mutant(
        "attr_share",
        "share of the region",
        SOFT,
        "_over((claimed * true).sum(dim=1), claimed.sum(dim=1))",
        "_over((claimed * true).sum(dim=1), true.sum(dim=1))",
    ),
    Mutant("attr_share", "outside", OWN.format("attr_share"), "region.double())", "(~region).double())"),
]
