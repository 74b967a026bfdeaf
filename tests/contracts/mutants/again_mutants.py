"""Wrong versions of the metrics that disturb the input, the class or the model, and of the axioms."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant, each

PERTURB = "assay.metrics._perturb"
SIMILAR = "assay.metrics._similar"
REPEAT = "assay.metrics._repeat"
RENEW = "assay.metrics._reinitialise"
CONTEXTS = "assay.metrics._contexts"
MEMBERS = "assay.metrics._members"
GAP = "assay.metrics._gap"
MIXTURE = "assay.metrics._mixture"
OWN = "assay.metrics.{}"
ALIKE = ("class_sensitivity", "choice_sensitivity", "parameter_randomisation")
GAPS = ("axiom_linearity", "axiom_completeness")


def own(metric: str, wrong: str, old: str, new: str) -> Mutant:
    return Mutant(metric, wrong, OWN.format(metric), old, new)


INFIDELITY = [
    own(
        "infidelity",
        "gained, not lost",
        '["clean"][:, None].double() - probe["changed"].double()',
        '["changed"] - probe["clean"][:, None]',
    ),
    own(
        "infidelity",
        "absolute error",
        ".square().mean(dim=1)\n        return rows",
        ".abs().mean(dim=1)\n        return rows",
    ),
    own(
        "infidelity",
        "one factor for all samples",
        "best = (forecast * change).sum(dim=1, keepdim=True) / size.where(size > 0, 1.0)",
        "best = (forecast * change).sum() / size.sum() + 0 * size",
    ),
    own("infidelity", "factor of any sign", ".clamp(min=0)", ""),
    own("infidelity", "blank canvas whatever was asked", "scene, self.canvas,", 'scene, "zero",'),
    own("infidelity", "squares are sets", 'if region or self.perturbation == "square":', "if region:"),
    own("infidelity", "regions are sets", "if region or", "if"),
    own("infidelity", "regions of tables are squares", ' and scene.setting.kind == "image"', ""),
    own(
        "infidelity",
        "drops as they are",
        "change, forecast = without_trend(trend, change), zero_where",
        "forecast = zero_where",
    ),
    own(
        "infidelity",
        "forecasts as they are",
        "zero_where_rounding(without_trend(trend, forecast), forecast)",
        "forecast",
    ),
    own("infidelity", "rounding is a forecast", "ROUNDING = 1e-12", "ROUNDING = 0"),
    own("infidelity", "sizes count always", 'if self.trend == "constant" or self._noisy:', "if self._noisy:"),
    own("infidelity", "sizes count never", 'if self.trend == "constant" or self._noisy:', "if True:"),
    own(
        "infidelity",
        "sizes of rows",
        ".flatten(1).sum(dim=1, keepdim=True)\n        return",
        ".flatten(1)[:, :6].sum(dim=1, keepdim=True)\n        return",
    ),
    own("infidelity", "sizes before the constant", "size - size.mean()]", "size]"),
    own("infidelity", "noise the other way", "centre - self.deviation *", "centre + self.deviation *"),
    own(
        "infidelity",
        "noise around the input always",
        'centre = query.x if self.perturbation == "noise" else query.baseline',
        "centre = query.x",
    ),
    own("infidelity", "canvas not taken off", "(query.x - query.baseline).double()", "query.x.double()"),
    own(
        "infidelity",
        "slopes read as shares",
        'trial.map if self.reads != "slope" else self._from_canvas(trial)',
        "trial.map",
    ),
    own(
        "infidelity",
        "endless answers count",
        "defined = change.isfinite().all(dim=1)",
        "defined = change.isfinite().any(dim=1) | True",
    ),
    own(
        "infidelity",
        "first call only",
        "changed = query.score_each(self.samples, self._points(scene, removal))",
        "changed = query.score(self._points(scene, removal)(slice(0, 1))).expand(self.samples, -1)",
    ),
    Mutant("infidelity", "kept, not removed", PERTURB, "generator=stream) < share", "generator=stream) > share"),
    Mutant(
        "infidelity",
        "sets may be empty",
        PERTURB,
        "torch.where(removed.any(dim=1, keepdim=True), removed, single)",
        "removed",
    ),
    Mutant(
        "infidelity",
        "one size of squares",
        PERTURB,
        "torch.randint(1, largest + 1, (count,), generator=stream)",
        "torch.full((count,), largest)",
    ),
    Mutant(
        "infidelity",
        "squares in a corner",
        PERTURB,
        "(position * torch.stack([height - side + 1, width - side + 1])).floor()",
        "(position * 0)",
    ),
    Mutant("infidelity", "the same noise again", PERTURB, 'f"noise {index}"', '"noise"'),
]

MAX_SENSITIVITY = [
    own("max_sensitivity", "mean, not largest", ".amax(dim=0)", ".mean(dim=0)"),
    own(
        "max_sensitivity",
        "first copy only",
        "(others - plain).norm(dim=-1).amax(dim=0)",
        "(others - plain).norm(dim=-1)[0]",
    ),
    own("max_sensitivity", "absolute move", "(largest / size.where(size > 0, 1.0))", "largest"),
    own("max_sensitivity", "upwards only", "(2 * drawn - 1)", "drawn"),
    own(
        "max_sensitivity",
        "the same step for all samples",
        ".to(x).transpose(0, 1)",
        ".to(x)[:1].expand(len(x), -1, *x.shape[1:]).transpose(0, 1)",
    ),
    own("max_sensitivity", "copies of samples mixed up", "moved.flatten(0, 1)", "moved.transpose(0, 1).flatten(0, 1)"),
    own("max_sensitivity", "always defined", "defined=size > 0", "defined=size >= 0"),
    Mutant(
        "max_sensitivity",
        "samples taken for copies",
        REPEAT,
        "other.view(-1, *first.shape)",
        "other.view(len(first), -1, first.shape[1]).transpose(0, 1)",
    ),
]

CLASSES = [
    own("class_sensitivity", "most likely instead of least", 'if self.other == "least":', 'if self.other == "most":'),
    own("class_sensitivity", "the target may be the other", "outputs.masked_fill(is_target, torch.inf)", "outputs"),
    own("class_sensitivity", "the class asked about", "trial.again(target=other)", "trial.again()"),
    own("class_sensitivity", "one output will do", "if outputs.shape[1] < 2:", "if outputs.shape[1] < 1:"),
    *each(ALIKE, "rank correlation always", SIMILAR, 'if by == "spearman":', "if True:"),
    *each(
        ALIKE,
        "cosine not normalised",
        SIMILAR,
        "return normalize(values / largest.where(largest > 0, 1.0), dim=-1)",
        "return values",
    ),
    Mutant(
        "class_sensitivity",
        "maps of zeros are like others",
        SIMILAR,
        "defined = left.any(dim=-1) & right.any(dim=-1)",
        "defined = left.any(dim=-1) | right.any(dim=-1)",
    ),
    Mutant(
        "class_sensitivity",
        "rounding is an order",
        SIMILAR,
        "return spearman(_on_grid(left), _on_grid(right))",
        "return spearman(left, right)",
    ),
]

CHOICES = [
    own("choice_sensitivity", "the same again", "trial.otherwise(self.parameter, self.value)", "trial.again()"),
    own("choice_sensitivity", "another baseline always", "(self.parameter, ", '("question.baseline", '),
    own("choice_sensitivity", "one value for all", "self.value)", '"uniform")'),
    own("choice_sensitivity", "compared with itself", "other.flatten(1)", "trial.map.flatten(1)"),
    own("choice_sensitivity", "rank correlation always", "self.by,", '"spearman",'),
    own("choice_sensitivity", "sizes only", "self.absolute)", "True)"),
    own("choice_sensitivity", "sizes by default", "absolute: bool = False", "absolute: bool = True"),
    own("choice_sensitivity", "maps of two classes", 'if self.parameter == "question.target":', "if False:"),
]

RANDOMISATION = [
    own("parameter_randomisation", "from the input", "layer_names(setting.model)[::-1]", "layer_names(setting.model)"),
    own("parameter_randomisation", "one layer too few", "names[:depth] if", "names[: depth - 1] if"),
    own(
        "parameter_randomisation",
        "always cascading",
        'if self.order == "cascading" else names[depth - 1 : depth]',
        "if True else []",
    ),
    own("parameter_randomisation", "the fast twin stays", "model=model, forward=None)", "model=model)"),
    own(
        "parameter_randomisation",
        "undefined depths count",
        "curve.sum(dim=1) / count.clamp(min=1)",
        "curve.mean(dim=1)",
    ),
    own("parameter_randomisation", "curve of undefined samples", "curve * (count > 0)[:, None]", "curve"),
    own("parameter_randomisation", "one stream for all layers", 'f"layer {name}"', '"layer"'),
    own(
        "parameter_randomisation",
        "undefined points averaged",
        "return point_by_point(evidence)",
        "from assay.core.evidence import mean_score\n\n        return mean_score(evidence)",
    ),
    Mutant("parameter_randomisation", "the model itself is spoiled", RENEW, "copy = model_copy(model)", "copy = model"),
    Mutant(
        "parameter_randomisation",
        "weights too small",
        RENEW,
        "1 / sqrt(_inputs(parameter) if parameter.dim() > 1 else most_inputs)",
        "1 / (_inputs(parameter) if parameter.dim() > 1 else most_inputs)",
    ),
    Mutant("parameter_randomisation", "large biases", RENEW, "if parameter.dim() > 1 else most_inputs)", ")"),
    Mutant(
        "parameter_randomisation",
        "running statistics stay",
        RENEW,
        "module.reset_parameters()\n        return",
        "nn.init.ones_(module.weight)\n        nn.init.zeros_(module.bias)\n        return",
    ),
]

DUMMY = [
    own("axiom_dummy", "share on what acts", "(sizes * dummy).sum(dim=1)", "(sizes * ~dummy).sum(dim=1)"),
    own(
        "axiom_dummy",
        "of the whole map",
        "total = sizes.sum(dim=1)",
        "total = trial.map.flatten(1).double().abs().sum(dim=1)",
    ),
    own("axiom_dummy", "defined where all are", "dummy.any(dim=1) & ~dummy.all(dim=1)", "dummy.any(dim=1)"),
    own(
        "axiom_dummy",
        "first features, not random ones",
        'torch.randperm(size, generator=scene.generator("features"))',
        "torch.arange(size)",
    ),
    own("axiom_dummy", "blank canvas whatever was asked", "scene, self.canvas,", 'scene, "zero",'),
    Mutant("axiom_dummy", "no reference rows", CONTEXTS, "if scene.setting.reference is not None:", "if False:"),
    Mutant("axiom_dummy", "upwards only", CONTEXTS, "x + noise, x - noise]", "x + noise.abs()]"),
    Mutant("axiom_dummy", "no values of other pixels", CONTEXTS, 'if scene.setting.kind != "table":', "if False:"),
    Mutant("axiom_dummy", "contexts are all the input", CONTEXTS, "half[0] = False", "half[:] = False"),
    Mutant(
        "axiom_dummy",
        "to the last bit",
        CONTEXTS,
        "rounding = units_in_last_place(left.dtype, EQUAL) *",
        "rounding = 0 *",
    ),
    Mutant("axiom_dummy", "equal somewhere", CONTEXTS, "<= rounding).all(dim=0)", "<= rounding).any(dim=0)"),
]

SYMMETRY = [
    own("axiom_symmetry", "not swapped", "reversed(values) if swap else values", "values"),
    own("axiom_symmetry", "second value not tried", "[values_at(x, pairs.right), *(", "[*("),
    own(
        "axiom_symmetry",
        "first takes the second's value",
        "with_values(x, pairs.right, values_at(x, pairs.left))",
        "with_values(x, pairs.left, values_at(x, pairs.right))",
    ),
    own(
        "axiom_symmetry",
        "asked about the input as it is",
        "trial.again(points.flatten(0, 1))",
        "trial.again(x.flatten(0, 1))",
    ),
    own(
        "axiom_symmetry",
        "any pair counts",
        '["same"].T & _equal',
        '["same"].T.new_ones(len(pairs), len(trial)) & _equal',
    ),
    own("axiom_symmetry", "baselines ignored", "& _equal_baselines(scene, pairs)", ""),
    own("axiom_symmetry", "widths ignored", "(same & pairs.equal_width)", "same"),
    own("axiom_symmetry", "rounding counts", "ROUNDING = 1e-5", "ROUNDING = 0"),
    own(
        "axiom_symmetry",
        "blank canvas whatever was asked",
        "scene, self.canvas,",
        'scene, "zero",',
    ),
    Mutant("axiom_symmetry", "a feature with itself", MEMBERS, "(first + 1 + (step", "(first + (step"),
    Mutant("axiom_symmetry", "neighbours only", MEMBERS, "(step * (size - 1)).long()", "(step * 0).long()"),
    Mutant(
        "axiom_symmetry",
        "first entries only",
        MEMBERS,
        "return owner.argsort(stable=True)[start[:, None] + position], width",
        "return owner.argsort(stable=True)[start[:, None] + 0 * position], width",
    ),
    Mutant("axiom_symmetry", "contexts are all the input", CONTEXTS, "half[0] = False", "half[:] = False"),
]

LINEARITY = [
    own("axiom_linearity", "weights forgotten", "self.weights[0] * first, self.weights[1] * second", "first, second"),
    own("axiom_linearity", "the class before", "(trial.scene.target + 1) %", "(trial.scene.target - 1) %"),
    own("axiom_linearity", "rounding counts", "ROUNDING = 1e-5", "ROUNDING = 0"),
    Mutant(
        "axiom_linearity",
        "not asked whether it is a sum",
        MIXTURE,
        "if folded is not None and _outputs_are_sums(",
        "if folded is not None or _outputs_are_sums(",
    ),
    Mutant(
        "axiom_linearity",
        "bias not summed",
        MIXTURE,
        "candidates[-1].bias.copy_(mixture @ candidates[-1].bias)",
        "candidates[-1].bias.copy_(10 + candidates[-1].bias)",
    ),
    Mutant("axiom_linearity", "the model itself is folded", MIXTURE, "copy = model_copy(model)", "copy = model"),
    Mutant("axiom_linearity", "logits summed for probabilities", MIXTURE, "[nn.Softmax(dim=1)]", "[]"),
    Mutant("axiom_linearity", "temperature ignored", MIXTURE, "question.temperature in (None, 1.0)", "True"),
    Mutant("axiom_linearity", "hints left behind", MIXTURE, 'f"model.{hint}" if hint in layers else hint', "hint"),
    Mutant("axiom_linearity", "the fast twin stays", MIXTURE, "model=model, forward=None)", "model=model)"),
]

COMPLETENESS = [
    own(
        "axiom_completeness",
        "sizes added up",
        "attributions.sum(dim=1), top - bottom",
        "attributions.abs().sum(dim=1), top - bottom",
    ),
    own(
        "axiom_completeness",
        "score of the input alone",
        "attributions.sum(dim=1), top - bottom",
        "attributions.sum(dim=1), top",
    ),
    own(
        "axiom_completeness", "the environment's baseline", "trial.scene.ask(trial.scene.question)", "trial.scene.ask()"
    ),
    own("axiom_completeness", "endless answers count", "defined=defined & finite", "defined=defined | ~finite"),
    own("axiom_completeness", "rounding counts", "rounding = answer_rounding(scores.dtype) *", "rounding = 0 *"),
    *each(
        GAPS,
        "relative to the smaller",
        GAP,
        "torch.maximum(left_size, right_size)",
        "torch.minimum(left_size, right_size)",
    ),
    *each(GAPS, "relative to both", GAP, "torch.maximum(left_size, right_size)", "left_size + right_size"),
    *each(GAPS, "absolute", GAP, "difference / larger.where(defined, 1.0)", "difference"),
    *each(GAPS, "cut at 1", GAP, ".clamp(max=2.0)", ".clamp(max=1.0)"),
]

MUTANTS = [
    *INFIDELITY,
    *MAX_SENSITIVITY,
    *CLASSES,
    *CHOICES,
    *RANDOMISATION,
    *DUMMY,
    *SYMMETRY,
    *LINEARITY,
    *COMPLETENESS,
]
