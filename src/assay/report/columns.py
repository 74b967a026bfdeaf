"""The columns of exported tables, with the types that pandas gives them."""

from __future__ import annotations

from collections.abc import Mapping

LONG: Mapping[str, str] = {
    "study": "string",
    "environment": "string",
    "method": "string",
    "metric": "string",
    "seed": "Int64",
    "sample": "Int64",  # empty where a whole block has no evidence
    "block": "Int64",  # the first sample of the block
    "value": "Float64",  # empty where undefined, skipped, failed, and for set-level metrics
    "defined": "boolean",
    "status": "string",  # ok, skipped, failed
    "reason": "string",
    "key": "string",  # of the evidence
    "environment_spec": "string",
    "method_spec": "string",
    "method_question": "string",  # JSON: where the study overrides the environment's question
    "metric_spec": "string",
    "sweep_item": "string",  # which item of the study is varied here; empty: none
    "sweep_value": "string",  # the value of the study's sweep that it has
}
SCORES: Mapping[str, str] = {
    "study": "string",
    "environment": "string",
    "method": "string",
    "metric": "string",
    "value": "Float64",
    "low": "Float64",
    "high": "Float64",
    "basis": "string",  # what the interval is over: seeds, samples or draw; why it has none: two or equal
    "per_seed": "string",  # JSON: the value of each seed, null where it is undefined
    "deviation": "Float64",  # standard deviation over seeds; empty for fewer than two
    "rank": "Float64",
    "letters": "string",  # two methods that are not separated have one in common; empty: too few units, or no value
    "count": "Int64",
    "defined": "Int64",
    "ceiling": "Float64",  # the best value possible for the method on these samples, where the metric knows it
    "gap": "Float64",  # between the attribution's sum and what the method promises, as a share; empty: no promise
    "gap_mark": "string",  # what a gap above a tenth means
    "notes": "string",  # the method's notes about its attributions
    "explains": "string",  # the number that the method explained, where it is not the one that the metric read
    "reads": "string",  # the number that the metric read, in the same case
    "sweep_item": "string",  # which item of the study is varied here; empty: none
    "sweep_value": "string",  # the value of the study's sweep that it has
    "status": "string",
    "reason": "string",
    "key": "string",  # of the score
}
PAIRS: Mapping[str, str] = {
    "study": "string",
    "environment": "string",
    "metric": "string",
    "left": "string",  # the better method, by mean rank
    "right": "string",
    "unit": "string",  # what the test is over: seeds, samples
    "units": "Int64",  # in which both methods have a value
    "difference": "Float64",  # mean of left minus right
    "low": "Float64",  # its 95 % interval, of this pair alone
    "high": "Float64",
    "effect": "Float64",  # rank-biserial correlation: 1 if left is better in all units, -1 if right is
    "p": "Float64",  # Wilcoxon's signed-rank test, two-sided
    "p_holm": "Float64",  # corrected for all pairs of the environment and metric
    "separated": "boolean",  # p_holm is at most 0.05
}
CURVES: Mapping[str, str] = {
    "study": "string",
    "environment": "string",
    "method": "string",
    "metric": "string",
    "point": "Int64",  # index along the curve: x need not increase
    "x": "Float64",
    "y": "Float64",
    "x_axis": "string",  # axis labels, from the metric's card
    "y_axis": "string",
}
DAMAGE: Mapping[str, str] = {
    "study": "string",
    "environment": "string",
    "metric": "string",
    "original": "string",  # methods: the map as it is, and damaged
    "scheme": "string",
    "remove": "string",
    "introduce": "string",
    "curve": "boolean",  # distances of curves, or differences of values
    "of": "string",  # which distance: original-remove, original-introduce, remove-introduce, minimum
    "value": "Float64",  # mean over seeds
    "low": "Float64",  # its 95 % interval over seeds
    "high": "Float64",
    "basis": "string",  # seeds; why it has no interval: one, two, equal, shared
    "per_seed": "string",  # JSON: the distance of each seed, null where a side has no defined point
    "of_means": "Float64",  # of "minimum": for curves averaged over seeds
    "reason": "string",  # why there is no distance
}
SLOPE: Mapping[str, str] = {
    "study": "string",
    "environment": "string",  # in which metrics are compared; empty: environments are
    "metric": "string",  # by which environments are compared; empty: metrics are
    "left": "string",
    "right": "string",
    "suffix": "string",  # of methods on the right
    "moves": "Int64",  # methods whose rank is not the same on both sides, of scores averaged over seeds
    "moves_without_coinciding": "Int64",  # with one of each group whose scores are printed alike on both sides
    "moves_per_seed": "string",  # JSON: null where no method has a value
    "mean_moves": "Float64",  # over seeds
    "resampling_value": "Float64",  # mean of the moves from the left ranking to that of its resampled samples
    "resampling_low": "Float64",  # 95 % of the resamples
    "resampling_high": "Float64",
    "resampling_resamples": "Int64",
    "resampling_reason": "string",  # why there are none
    "correlation": "Float64",  # Spearman's
    "methods": "string",  # JSON: the methods compared, best first on the left
    "ranks": "string",  # JSON: by method, left and right
    "coinciding": "string",  # JSON: groups of methods
    "left_out": "string",  # JSON: methods without a value on one side, and why
    "reason": "string",  # why there are no moves
}
AGREEMENT: Mapping[str, str] = {
    "study": "string",
    "environment": "string",
    "truth": "string",  # the metric of truth
    "metric": "string",
    "value": "Float64",  # Spearman's correlation over methods, mean over seeds
    "low": "Float64",  # its 95 % interval over seeds
    "high": "Float64",
    "basis": "string",  # seeds; why it has no interval: one, two, equal, shared
    "per_seed": "string",  # JSON: the correlation of each seed, null where all methods tie
    "of_means": "Float64",  # correlation of the scores averaged over seeds
    "methods": "string",  # JSON: the methods compared
    "left_out": "string",  # JSON: methods without a value by one of the two, and why
    "reason": "string",  # why there is no value
}
