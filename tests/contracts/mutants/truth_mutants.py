"""Wrong versions of the metrics that rank a map and hold it against the truth."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant, each

RANKS = "assay.kit.feature_orders"
PAIR = "assay.metrics._pair"
OWN = "assay.metrics.{}"
CHOOSING = ("top_k", "precision_at_support")
REGIONS = ("precision_at_support", "noise_mass", "attr_share", "pointing_game")
RANKED = ("spearman", "top_k", "precision_at_support")

MUTANTS = [
    *each(RANKED, "signs always count", PAIR, "if absolute else", "if False else"),
    *each(RANKED, "signs never count", PAIR, "if absolute else", "if True else"),
    *each(
        ("spearman", "top_k"),
        "size against signed effect",
        PAIR,
        "(claimed.abs(), true.abs())",
        "(claimed.abs(), true)",
    ),
    *each(
        RANKED,
        "first sample's truth for all",
        PAIR,
        "claimed, true = trial.map.flatten(1), trial.effect.flatten(1)",
        "claimed, true = trial.map.flatten(1), trial.effect[:1].flatten(1).expand(len(trial), -1)",
    ),
    *each(REGIONS, "defined where all is true", PAIR, " & ~chosen.all(dim=1)", ""),
    *each(REGIONS, "defined where nothing is true", PAIR, "chosen.any(dim=1) & ", ""),
    *each(CHOOSING, "always stable", RANKS, 'if ties == "stable":', "if True:"),
    *each(CHOOSING, "never stable", RANKS, 'if ties == "stable":', "if False:"),
    *each(
        CHOOSING,
        "one too many, in reading order",
        RANKS,
        "(positions(descending_order(values)) < count)",
        "(positions(descending_order(values)) <= count)",
    ),
    *each(
        CHOOSING,
        "the order taken for the places",
        RANKS,
        "(positions(descending_order(values)) < count)",
        "(descending_order(values) < count)",
    ),
    *each(
        CHOOSING,
        "all that tie are in",
        RANKS,
        "tied * remaining.double() / tied.sum(dim=1, keepdim=True)",
        "tied.double()",
    ),
    *each(
        CHOOSING,
        "none that ties is in",
        RANKS,
        "above.double() + tied * remaining.double() / tied.sum(dim=1, keepdim=True)",
        "above.double()",
    ),
    *each(CHOOSING, "one place less", RANKS, "(count - 1).clamp(min=0)", "(count - 2).clamp(min=0)"),
    *each(CHOOSING, "always defined", OWN, "defined=defined)", "defined=defined | True)"),
    Mutant("spearman", "ties take their first place", RANKS, "(first + last) / 2", "first"),
    Mutant("spearman", "ties take their last place", RANKS, "(first + last) / 2", "last"),
    Mutant(
        "spearman",
        "no ties",
        RANKS,
        "rises = ordered[..., 1:] != ordered[..., :-1]",
        "rises = ordered[..., 1:] == ordered[..., 1:]",
    ),
    Mutant(
        "spearman",
        "ranks in sorted order",
        RANKS,
        "torch.empty_like(first).scatter_(-1, order, (first + last) / 2)",
        "(first + last) / 2",
    ),
    Mutant(
        "spearman",
        "inverse of the ranks",
        RANKS,
        "torch.empty_like(first).scatter_(-1, order, (first + last) / 2)",
        "((first + last) / 2).gather(-1, order)",
    ),
    Mutant(
        "spearman",
        "Pearson's",
        RANKS,
        "pearson(average_ranks(left), average_ranks(right), zero, zero)",
        "pearson(left, right, zero, zero)",
    ),
    Mutant(
        "spearman",
        "map not ranked",
        RANKS,
        "pearson(average_ranks(left), average_ranks(right), zero, zero)",
        "pearson(left, average_ranks(right), zero, zero)",
    ),
    Mutant("spearman", "constant is defined", RANKS, "product.where(defined, 0.0), defined", "product, defined | True"),
    Mutant("spearman", "ceiling is squared", RANKS, "(count**2 - 1) / 12)).sqrt()", "(count**2 - 1) / 12))"),
    Mutant(
        "spearman", "ceiling of the map", OWN.format("spearman"), "spearman_ceiling(true)", "spearman_ceiling(claimed)"
    ),
    Mutant(
        "spearman",
        "ceiling of signed effects",
        OWN.format("spearman"),
        "spearman_ceiling(true)",
        "spearman_ceiling(trial.effect.flatten(1))",
    ),
    Mutant(
        "spearman",
        "value over its ceiling",
        OWN.format("spearman"),
        "value=value",
        "value=value / spearman_ceiling(true).clamp(min=0.1)",
    ),
    Mutant("top_k", "union", OWN.format("top_k"), "both.sum(dim=1) / k", "both.sum(dim=1) / (2 * k - both.sum(dim=1))"),
    Mutant(
        "top_k", "one more", OWN.format("top_k"), "torch.full((len(trial),), k,", "torch.full((len(trial),), k + 1,"
    ),
    Mutant("top_k", "any effect", OWN.format("top_k"), "* among_largest(true, count, self.ties)", "* (true != 0)"),
    Mutant("top_k", "over all features", OWN.format("top_k"), "both.sum(dim=1) / k", "both.mean(dim=1)"),
    Mutant(
        "top_k",
        "k of the environment first",
        OWN.format("top_k"),
        "if self.k is not None:\n            return",
        "if self.k is not None and trial.scene.setting.informative is None:\n            return",
    ),
    Mutant(
        "top_k", "highest informative index", OWN.format("top_k"), "return len(informative)", "return max(informative)"
    ),
    Mutant(
        "top_k",
        "truth's ties stable",
        OWN.format("top_k"),
        "among_largest(true, count, self.ties)",
        'among_largest(true, count, "stable")',
    ),
    Mutant(
        "precision_at_support",
        "positive effects only",
        OWN.format("precision_at_support"),
        "true = effect > 0",
        "true = trial.effect.flatten(1) > 0",
    ),
    Mutant(
        "precision_at_support",
        "one support for all",
        OWN.format("precision_at_support"),
        "support = true.sum(dim=1)",
        "support = true.sum(dim=1).amax().expand(len(trial))",
    ),
    Mutant(
        "precision_at_support",
        "over all features",
        OWN.format("precision_at_support"),
        "hits / support.clamp(min=1)",
        "hits / true.shape[1]",
    ),
    Mutant(
        "pointing_game",
        "first of equals",
        OWN.format("pointing_game"),
        "peak = height == height.amax(dim=1, keepdim=True)",
        "peak = torch.nn.functional.one_hot(height.argmax(dim=1), height.shape[1]).bool()",
    ),
    Mutant(
        "pointing_game",
        "any of equals",
        OWN.format("pointing_game"),
        "(peak & hits).sum(dim=1).double() / peak.sum(dim=1)",
        "(peak & hits).any(dim=1).double()",
    ),
    Mutant(
        "pointing_game",
        "always by size",
        OWN.format("pointing_game"),
        '"positive": values,',
        '"positive": values.abs(),',
    ),
    Mutant(
        "pointing_game",
        "cut at 0",
        OWN.format("pointing_game"),
        '"positive": values,',
        '"positive": values.clamp(min=0),',
    ),
    Mutant(
        "pointing_game",
        "negative is positive",
        OWN.format("pointing_game"),
        '"negative": -values',
        '"negative": values',
    ),
    Mutant(
        "pointing_game",
        "any effect",
        OWN.format("pointing_game"),
        "part_of_sign(trial.effect, self.sign) > 0",
        "trial.effect != 0",
    ),
    Mutant(
        "pointing_game",
        "a square",
        OWN.format("pointing_game"),
        "half = isqrt(radius**2 - (row - radius) ** 2)",
        "half = radius",
    ),
    Mutant(
        "pointing_game",
        "a diamond",
        OWN.format("pointing_game"),
        "half = isqrt(radius**2 - (row - radius) ** 2)",
        "half = radius - abs(row - radius)",
    ),
    Mutant("pointing_game", "shifted right", OWN.format("pointing_game"), "radius + half + 1", "radius + half"),
    Mutant("pointing_game", "half a disc", OWN.format("pointing_game"), "range(2 * radius + 1)", "range(radius + 1)"),
    Mutant("pointing_game", "no radius", OWN.format("pointing_game"), "if self.radius:", "if False:"),
]
