"""Wrong versions of the metrics that disturb the input, the class or the model, and of the axioms."""

from __future__ import annotations

from assay.catalogue.registry import card
from contracts.mutants.mutant import Mutant, each

PERTURBED = "assay.metrics.infidelity"
SANITY = "assay.metrics.sanity"
REPEAT = "assay.metrics._repeat"
CONTEXTS = "assay.metrics._contexts"
PAIRS = "assay.metrics.axiom_symmetry"
SUMS = "assay.metrics.axiom_sums"
ALIKE = ("class_sensitivity", "choice_sensitivity", "parameter_randomisation")
GAPS = ("axiom_linearity", "axiom_completeness")


def own(metric: str, wrong: str, place: str, old: str, new: str) -> Mutant:
    return Mutant(metric, wrong, card("metrics", metric).target.partition(":")[0], place, old, new)


INFIDELITY = [
    own(
        "infidelity",
        "gained, not lost",
        "Infidelity.__call__",
        "probe['clean'][:, None].double() - probe['changed'].double()",
        "probe['changed'] - probe['clean'][:, None]",
    ),
    own(
        "infidelity",
        "absolute error",
        "Infidelity.__call__",
        "(self._factor(forecast, change) * forecast - change).square()",
        "(self._factor(forecast, change) * forecast - change).abs()",
    ),
    own(
        "infidelity",
        "one factor for all samples",
        "Infidelity._factor",
        "(forecast * change).sum(dim=1, keepdim=True) / size.where(size > 0, 1.0)",
        "(forecast * change).sum() / size.sum() + 0 * size",
    ),
    own("infidelity", "factor of any sign", "Infidelity._factor", "best.clamp(min=0)", "best"),
    own(
        "infidelity",
        "blank canvas whatever was asked",
        "Infidelity._removal",
        "Removal.of(scene, canvas, Question(self.readout, self.temperature))",
        "Removal.of(scene, 'zero', Question(self.readout, self.temperature))",
    ),
    own("infidelity", "squares are sets", "Infidelity._removed", "region or self.perturbation == 'square'", "region"),
    own(
        "infidelity",
        "regions are sets",
        "Infidelity._removed",
        "region or self.perturbation == 'square'",
        "self.perturbation == 'square'",
    ),
    own(
        "infidelity",
        "regions of tables are squares",
        "Infidelity._removed",
        "self.perturbation == 'region' and scene.setting.kind == 'image'",
        "self.perturbation == 'region'",
    ),
    own("infidelity", "drops as they are", "Infidelity.__call__", "without_trend(trend, change)", "change"),
    own(
        "infidelity",
        "forecasts as they are",
        "Infidelity.__call__",
        "zero_where_rounding(without_trend(trend, forecast), forecast)",
        "forecast",
    ),
    own("infidelity", "rounding is a forecast", "", "ROUNDING = 1e-12", "ROUNDING = 0"),
    own(
        "infidelity",
        "sizes count always",
        "Infidelity._trend",
        "self.trend == 'constant' or self._noisy",
        "self._noisy",
    ),
    own("infidelity", "sizes count never", "Infidelity._trend", "self.trend == 'constant' or self._noisy", "True"),
    own(
        "infidelity",
        "sizes of rows",
        "Infidelity._trend",
        "self._removed(scene).double().flatten(1)",
        "self._removed(scene).double().flatten(1)[:, :6]",
    ),
    own("infidelity", "sizes before the constant", "Infidelity._trend", "size - size.mean()", "size"),
    own(
        "infidelity",
        "noise the other way",
        "Infidelity._changed",
        "centre - self.deviation * self._noise(scene, part)[:, None]",
        "centre + self.deviation * self._noise(scene, part)[:, None]",
    ),
    own(
        "infidelity",
        "noise around the input always",
        "Infidelity._changed",
        "query.x if self.perturbation == 'noise' else query.baseline",
        "query.x",
    ),
    own("infidelity", "canvas not taken off", "Infidelity._from_canvas", "query.x - query.baseline", "query.x"),
    own(
        "infidelity",
        "slopes read as shares",
        "Infidelity._forecast",
        "trial.map if self.reads != 'slope' else self._from_canvas(trial)",
        "trial.map",
    ),
    own(
        "infidelity",
        "endless answers count",
        "Infidelity.__call__",
        "change.isfinite().all(dim=1)",
        "change.isfinite().any(dim=1) | True",
    ),
    own(
        "infidelity",
        "first call only",
        "Infidelity.probe",
        "self._changed(scene, removal)",
        "self._changed(scene, removal)[:1].expand(self.samples, -1)",
    ),
    Mutant(
        "infidelity",
        "kept, not removed",
        PERTURBED,
        "removed_sets",
        "torch.rand(count, size, generator=stream) < share",
        "torch.rand(count, size, generator=stream) > share",
    ),
    Mutant(
        "infidelity",
        "sets may be empty",
        PERTURBED,
        "removed_sets",
        "torch.where(removed.any(dim=1, keepdim=True), removed, single)",
        "removed",
    ),
    Mutant(
        "infidelity",
        "one size of squares",
        PERTURBED,
        "removed_squares",
        "torch.randint(1, largest + 1, (count,), generator=stream)",
        "torch.full((count,), largest)",
    ),
    Mutant(
        "infidelity",
        "squares in a corner",
        PERTURBED,
        "removed_squares",
        "(position * torch.stack([height - side + 1, width - side + 1])).floor()",
        "position * 0",
    ),
    Mutant("infidelity", "the same noise again", PERTURBED, "noise", "f'noise {index}'", "'noise'"),
]

MAX_SENSITIVITY = [
    own(
        "max_sensitivity",
        "mean, not largest",
        "MaxSensitivity.__call__",
        "(others - plain).norm(dim=-1).amax(dim=0)",
        "(others - plain).norm(dim=-1).mean(dim=0)",
    ),
    own(
        "max_sensitivity",
        "first copy only",
        "MaxSensitivity.__call__",
        "(others - plain).norm(dim=-1).amax(dim=0)",
        "(others - plain).norm(dim=-1)[0]",
    ),
    own(
        "max_sensitivity", "absolute move", "MaxSensitivity.__call__", "largest / size.where(size > 0, 1.0)", "largest"
    ),
    own("max_sensitivity", "upwards only", "MaxSensitivity.__call__", "2 * drawn - 1", "drawn"),
    own(
        "max_sensitivity",
        "the same step for all samples",
        "MaxSensitivity.__call__",
        "trial.scene.draws('ball').uniform(self.samples, *x.shape[1:]).to(x)",
        "trial.scene.draws('ball').uniform(self.samples, *x.shape[1:]).to(x)[:1].expand(len(x), -1, *x.shape[1:])",
    ),
    own(
        "max_sensitivity",
        "copies of samples mixed up",
        "MaxSensitivity.__call__",
        "moved.flatten(0, 1)",
        "moved.transpose(0, 1).flatten(0, 1)",
    ),
    own(
        "max_sensitivity",
        "always defined",
        "MaxSensitivity.__call__",
        "rows(value=(largest / size.where(size > 0, 1.0)).where(size > 0, 0.0), defined=size > 0)",
        "rows(value=(largest / size.where(size > 0, 1.0)).where(size > 0, 0.0), defined=size >= 0)",
    ),
    Mutant(
        "max_sensitivity",
        "samples taken for copies",
        REPEAT,
        "comparable_maps",
        "other.view(-1, *first.shape)",
        "other.view(len(first), -1, first.shape[1]).transpose(0, 1)",
    ),
]

CLASSES = [
    own(
        "class_sensitivity",
        "most likely instead of least",
        "ClassSensitivity.probe",
        "self.other == 'least'",
        "self.other == 'most'",
    ),
    own(
        "class_sensitivity",
        "the target may be the other",
        "ClassSensitivity.probe",
        "outputs.masked_fill(is_target, torch.inf)",
        "outputs",
    ),
    own(
        "class_sensitivity",
        "the class asked about",
        "ClassSensitivity.__call__",
        "trial.again(target=other)",
        "trial.again()",
    ),
    own(
        "class_sensitivity",
        "one output will do",
        "ClassSensitivity.probe",
        "outputs.shape[1] < 2",
        "outputs.shape[1] < 1",
    ),
    *each(ALIKE, "rank correlation always", SANITY, "similarity", "by == 'spearman'", "True"),
    *each(
        ALIKE,
        "cosine not normalised",
        SANITY,
        "_unit_length",
        "normalize(values / largest.where(largest > 0, 1.0), dim=-1)",
        "values",
    ),
    Mutant(
        "class_sensitivity",
        "maps of zeros are like others",
        SANITY,
        "similarity",
        "left.any(dim=-1) & right.any(dim=-1)",
        "left.any(dim=-1) | right.any(dim=-1)",
    ),
    Mutant(
        "class_sensitivity",
        "rounding is an order",
        SANITY,
        "similarity",
        "spearman(_on_grid(left), _on_grid(right))",
        "spearman(left, right)",
    ),
]

CHOICES = [
    own(
        "choice_sensitivity",
        "the same again",
        "ChoiceSensitivity.__call__",
        "trial.again_with(self.parameter, self.value)",
        "trial.again()",
    ),
    own(
        "choice_sensitivity",
        "another baseline always",
        "ChoiceSensitivity.__call__",
        "trial.again_with(self.parameter, self.value)",
        "trial.again_with('question.baseline', self.value)",
    ),
    own(
        "choice_sensitivity",
        "one value for all",
        "ChoiceSensitivity.__call__",
        "trial.again_with(self.parameter, self.value)",
        "trial.again_with(self.parameter, 'uniform')",
    ),
    own(
        "choice_sensitivity",
        "compared with itself",
        "ChoiceSensitivity.__call__",
        "other.flatten(1)",
        "trial.map.flatten(1)",
    ),
    own(
        "choice_sensitivity",
        "rank correlation always",
        "ChoiceSensitivity.__call__",
        "similarity(trial.map.flatten(1), other.flatten(1), self.by, self.absolute)",
        "similarity(trial.map.flatten(1), other.flatten(1), 'spearman', self.absolute)",
    ),
    own(
        "choice_sensitivity",
        "sizes only",
        "ChoiceSensitivity.__call__",
        "similarity(trial.map.flatten(1), other.flatten(1), self.by, self.absolute)",
        "similarity(trial.map.flatten(1), other.flatten(1), self.by, True)",
    ),
    own(
        "choice_sensitivity", "sizes by default", "ChoiceSensitivity", "absolute: bool = False", "absolute: bool = True"
    ),
    own(
        "choice_sensitivity",
        "maps of two classes",
        "ChoiceSensitivity.__post_init__",
        "self.parameter == 'question.target'",
        "False",
    ),
]

RANDOMISATION = [
    own(
        "parameter_randomisation",
        "from the input",
        "ParameterRandomisation.__call__",
        "layer_names(setting.model)[::-1]",
        "layer_names(setting.model)",
    ),
    own(
        "parameter_randomisation",
        "one layer too few",
        "ParameterRandomisation._randomised",
        "names[:depth]",
        "names[:depth - 1]",
    ),
    own(
        "parameter_randomisation",
        "always cascading",
        "ParameterRandomisation._randomised",
        "names[:depth] if self.order == 'cascading' else names[depth - 1:depth]",
        "names[:depth] if True else []",
    ),
    own(
        "parameter_randomisation",
        "the fast twin stays",
        "ParameterRandomisation._randomised",
        "replace(setting, model=model, forward=None)",
        "replace(setting, model=model)",
    ),
    own(
        "parameter_randomisation",
        "undefined depths count",
        "ParameterRandomisation.__call__",
        "curve.sum(dim=1) / count.clamp(min=1)",
        "curve.mean(dim=1)",
    ),
    own(
        "parameter_randomisation",
        "curve of undefined samples",
        "ParameterRandomisation.__call__",
        "curve * (count > 0)[:, None]",
        "curve",
    ),
    own(
        "parameter_randomisation",
        "one stream for all layers",
        "ParameterRandomisation._randomised",
        "f'layer {name}'",
        "'layer'",
    ),
    own(
        "parameter_randomisation",
        "undefined points averaged",
        "ParameterRandomisation.reduce",
        "return point_by_point(evidence)",
        "from assay.core.evidence import mean_score\nreturn mean_score(evidence)",
    ),
    Mutant(
        "parameter_randomisation",
        "the model itself is spoiled",
        SANITY,
        "reinitialised",
        "copy = model_copy(model)",
        "copy = model",
    ),
    Mutant(
        "parameter_randomisation",
        "weights too small",
        SANITY,
        "_reset",
        "sqrt(_inputs(parameter) if parameter.dim() > 1 else most_inputs)",
        "_inputs(parameter) if parameter.dim() > 1 else most_inputs",
    ),
    Mutant(
        "parameter_randomisation",
        "large biases",
        SANITY,
        "_reset",
        "_inputs(parameter) if parameter.dim() > 1 else most_inputs",
        "_inputs(parameter)",
    ),
    Mutant(
        "parameter_randomisation",
        "running statistics stay",
        SANITY,
        "_reset",
        "module.reset_parameters()",
        "nn.init.ones_(module.weight)\nnn.init.zeros_(module.bias)",
    ),
]

DUMMY = [
    own(
        "axiom_dummy",
        "share on what acts",
        "AxiomDummy.__call__",
        "(sizes * dummy).sum(dim=1)",
        "(sizes * ~dummy).sum(dim=1)",
    ),
    own(
        "axiom_dummy",
        "of the whole map",
        "AxiomDummy.__call__",
        "total = sizes.sum(dim=1)",
        "total = trial.map.flatten(1).double().abs().sum(dim=1)",
    ),
    own(
        "axiom_dummy",
        "defined where all are",
        "AxiomDummy.__call__",
        "dummy.any(dim=1) & ~dummy.all(dim=1)",
        "dummy.any(dim=1)",
    ),
    own(
        "axiom_dummy",
        "first features, not random ones",
        "AxiomDummy._tried",
        "torch.randperm(size, generator=scene.generator('features'))",
        "torch.arange(size)",
    ),
    own(
        "axiom_dummy",
        "blank canvas whatever was asked",
        "AxiomDummy.probe",
        "Removal.of(scene, one_canvas(self.canvas), Question(self.readout, self.temperature))",
        "Removal.of(scene, 'zero', Question(self.readout, self.temperature))",
    ),
    Mutant("axiom_dummy", "no reference rows", CONTEXTS, "substitutes", "scene.setting.reference is not None", "False"),
    Mutant(
        "axiom_dummy",
        "upwards only",
        CONTEXTS,
        "substitutes",
        "[query.baseline, scene.ask().baseline, x + noise, x - noise]",
        "[query.baseline, scene.ask().baseline, x + noise.abs()]",
    ),
    Mutant(
        "axiom_dummy", "no values of other pixels", CONTEXTS, "substitutes", "scene.setting.kind != 'table'", "False"
    ),
    Mutant(
        "axiom_dummy", "contexts are all the input", CONTEXTS, "random_contexts", "half[0] = False", "half[:] = False"
    ),
    Mutant("axiom_dummy", "to the last bit", CONTEXTS, "equal_scores", "units_in_last_place(left.dtype, EQUAL)", "0"),
    Mutant(
        "axiom_dummy",
        "equal somewhere",
        CONTEXTS,
        "equal_scores",
        "((left - right).abs() <= rounding).all(dim=0)",
        "((left - right).abs() <= rounding).any(dim=0)",
    ),
]

SYMMETRY = [
    own(
        "axiom_symmetry",
        "not swapped",
        "AxiomSymmetry.probe.answers.changed",
        "reversed(values) if swap else values",
        "values",
    ),
    own(
        "axiom_symmetry",
        "second value not tried",
        "AxiomSymmetry.probe",
        "[values_at(x, pairs.right), *(values_at(row.expand_as(x), pairs.left) for row in substitutes(scene, query))]",
        "[*(values_at(row.expand_as(x), pairs.left) for row in substitutes(scene, query))]",
    ),
    own(
        "axiom_symmetry",
        "first takes the second's value",
        "AxiomSymmetry.__call__",
        "with_values(x, pairs.right, values_at(x, pairs.left))",
        "with_values(x, pairs.left, values_at(x, pairs.right))",
    ),
    own(
        "axiom_symmetry",
        "asked about the input as it is",
        "AxiomSymmetry.__call__",
        "points.flatten(0, 1)",
        "x.flatten(0, 1)",
    ),
    own(
        "axiom_symmetry",
        "any pair counts",
        "AxiomSymmetry.__call__",
        "(trial.probe or self.probe(scene))['same'].T",
        "(trial.probe or self.probe(scene))['same'].T.new_ones(len(pairs), len(trial))",
    ),
    own(
        "axiom_symmetry",
        "baselines ignored",
        "AxiomSymmetry.__call__",
        "(trial.probe or self.probe(scene))['same'].T & _equal_baselines(scene, pairs)",
        "(trial.probe or self.probe(scene))['same'].T",
    ),
    own("axiom_symmetry", "widths ignored", "AxiomSymmetry.probe", "same & pairs.equal_width", "same"),
    own("axiom_symmetry", "rounding counts", "", "ROUNDING = 1e-05", "ROUNDING = 0"),
    own(
        "axiom_symmetry",
        "blank canvas whatever was asked",
        "AxiomSymmetry.probe",
        "Removal.of(scene, one_canvas(self.canvas), Question(self.readout, self.temperature))",
        "Removal.of(scene, 'zero', Question(self.readout, self.temperature))",
    ),
    Mutant("axiom_symmetry", "a feature with itself", PAIRS, "random_pairs", "first + 1", "first"),
    Mutant(
        "axiom_symmetry", "neighbours only", PAIRS, "random_pairs", "(step * (size - 1)).long()", "(step * 0).long()"
    ),
    Mutant(
        "axiom_symmetry",
        "first entries only",
        CONTEXTS,
        "feature_entries",
        "start[:, None] + position",
        "start[:, None] + 0 * position",
    ),
    Mutant(
        "axiom_symmetry",
        "contexts are all the input",
        CONTEXTS,
        "random_contexts",
        "half[0] = False",
        "half[:] = False",
    ),
]

LINEARITY = [
    own(
        "axiom_linearity",
        "weights forgotten",
        "AxiomLinearity.__call__",
        "(self.weights[0] * first, self.weights[1] * second)",
        "(first, second)",
    ),
    own(
        "axiom_linearity",
        "the class before",
        "AxiomLinearity.__call__",
        "trial.scene.target + 1",
        "trial.scene.target - 1",
    ),
    own("axiom_linearity", "rounding counts", "", "ROUNDING = 1e-05", "ROUNDING = 0"),
    Mutant(
        "axiom_linearity",
        "not asked whether it is a sum",
        SUMS,
        "mixture_setting",
        "folded is not None "
        "and _outputs_are_sums(replace(query, setting=_with_model(setting, folded)), query, mixture)",
        "folded is not None or _outputs_are_sums(replace(query, setting=_with_model(setting, folded)), query, mixture)",
    ),
    Mutant(
        "axiom_linearity",
        "bias not summed",
        SUMS,
        "_folded_copy",
        "mixture @ candidates[-1].bias",
        "10 + candidates[-1].bias",
    ),
    Mutant(
        "axiom_linearity",
        "the model itself is folded",
        SUMS,
        "_folded_copy",
        "copy = model_copy(model)",
        "copy = model",
    ),
    Mutant("axiom_linearity", "logits summed for probabilities", SUMS, "mixture_setting", "[nn.Softmax(dim=1)]", "[]"),
    Mutant(
        "axiom_linearity",
        "temperature ignored",
        SUMS,
        "mixture_setting",
        "question.temperature in (None, 1.0)",
        "True",
    ),
    Mutant(
        "axiom_linearity",
        "hints left behind",
        SUMS,
        "_with_modules_after",
        "f'model.{hint}' if hint in layers else hint",
        "hint",
    ),
    Mutant(
        "axiom_linearity",
        "the fast twin stays",
        SUMS,
        "_with_model",
        "replace(setting, model=model, forward=None)",
        "replace(setting, model=model)",
    ),
]

COMPLETENESS = [
    own(
        "axiom_completeness",
        "sizes added up",
        "AxiomCompleteness.__call__",
        "attributions.sum(dim=1)",
        "attributions.abs().sum(dim=1)",
    ),
    own("axiom_completeness", "score of the input alone", "AxiomCompleteness.__call__", "top - bottom", "top"),
    own(
        "axiom_completeness",
        "the environment's baseline",
        "AxiomCompleteness.__call__",
        "trial.scene.ask(trial.scene.question)",
        "trial.scene.ask()",
    ),
    own(
        "axiom_completeness",
        "endless answers count",
        "AxiomCompleteness.__call__",
        "defined & finite",
        "defined | ~finite",
    ),
    own("axiom_completeness", "rounding counts", "AxiomCompleteness.__call__", "answer_rounding(scores.dtype)", "0"),
    *each(
        GAPS,
        "relative to the smaller",
        SUMS,
        "relative_gap",
        "torch.maximum(left_size, right_size)",
        "torch.minimum(left_size, right_size)",
    ),
    *each(
        GAPS, "relative to both", SUMS, "relative_gap", "torch.maximum(left_size, right_size)", "left_size + right_size"
    ),
    *each(GAPS, "absolute", SUMS, "relative_gap", "difference / larger.where(defined, 1.0)", "difference"),
    *each(
        GAPS,
        "cut at 1",
        SUMS,
        "relative_gap",
        "(difference / larger.where(defined, 1.0)).clamp(max=2.0)",
        "(difference / larger.where(defined, 1.0)).clamp(max=1.0)",
    ),
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
