"""Wrong versions of Sensitivity-N."""

from __future__ import annotations

from contracts.mutants.mutant import Mutant

RANKS = "assay.kit.feature_orders"
CURVES = "assay.kit.curves"
REMOVAL = "assay.metrics._removal"
OWN = "assay.metrics.sensitivity_n"
SETS = "assay.metrics._sets"

MUTANTS = [
    Mutant(
        "sensitivity_n",
        "sums begin one feature late",
        RANKS,
        "picked = rows[orders[:, : sizes[-1]]]",
        "picked = rows[orders].roll(-1, dims=1)",
    ),
    Mutant("sensitivity_n", "one feature too many replaced", OWN, "< size)", "<= size)"),
    Mutant(
        "sensitivity_n",
        "sums of single stretches",
        RANKS,
        "torch.stack(stretches, dim=1).cumsum(dim=1)",
        "torch.stack(stretches, dim=1)",
    ),
    Mutant(
        "sensitivity_n",
        "sums of sizes",
        OWN,
        "nested_sums(trial.map.flatten(1)",
        "nested_sums(trial.map.flatten(1).abs()",
    ),
    Mutant(
        "sensitivity_n",
        "one channel only",
        OWN,
        "trial.map.flatten(1)",
        "trial.attribution[:, :1].flatten(1).expand(-1, orders.shape[1] if trial.attribution.dim() == 2 else -1)",
    ),
    Mutant(
        "sensitivity_n",
        "first sample only",
        OWN,
        "trial.map.flatten(1)",
        "trial.map.flatten(1)[:1].expand(len(trial), -1)",
    ),
    Mutant(
        "sensitivity_n",
        "sign flipped",
        OWN,
        '- probe["without"].double()',
        '+ probe["without"].double()',
    ),
    Mutant(
        "sensitivity_n",
        "not centred",
        RANKS,
        "centred = values.double() - values.double().mean(dim=-1, keepdim=True)",
        "centred = values.double()",
    ),
    Mutant(
        "sensitivity_n",
        "covariance instead of correlation",
        RANKS,
        "torch.nn.functional.normalize(centred, dim=-1)",
        "centred",
    ),
    Mutant(
        "sensitivity_n",
        "undefined counts as 0",
        OWN,
        "curve.sum(dim=1) / count.clamp(min=1)",
        "curve.mean(dim=1)",
    ),
    Mutant(
        "sensitivity_n",
        "always defined",
        RANKS,
        "return product.where(defined, 0.0), defined",
        "return product, defined | True",
    ),
    Mutant(
        "sensitivity_n",
        "one set for all repetitions",
        SETS,
        "return log_counts(count - 1, sizes).to(device), orders.to(device)",
        "return log_counts(count - 1, sizes).to(device), orders[:1].expand_as(orders).contiguous()",
    ),
    Mutant(
        "sensitivity_n",
        "sets in reading order",
        SETS,
        "torch.stack([torch.randperm(count, generator=stream) for _ in range(sets)])",
        "torch.stack([torch.arange(count).roll(shift) for shift in range(sets)])",
    ),
    Mutant("sensitivity_n", "all features too", SETS, "log_counts(count - 1,", "log_counts(count,"),
    Mutant(
        "sensitivity_n",
        "sizes evenly spaced",
        CURVES,
        "torch.logspace(0, log10(largest), points, dtype=torch.float64)",
        "torch.linspace(1, largest, points, dtype=torch.float64)",
    ),
    Mutant(
        "sensitivity_n",
        "sizes and sets mixed up",
        OWN,
        "without.T.reshape(len(query.x), -1, self.sets)",
        "without.T.reshape(len(query.x), self.sets, -1).transpose(1, 2)",
    ),
    Mutant(
        "sensitivity_n",
        "other sets for the sums",
        OWN,
        "nested_sums(trial.map.flatten(1), orders,",
        "nested_sums(trial.map.flatten(1), orders.flip(0),",
    ),
    Mutant("sensitivity_n", "always the probability", OWN, "Question(self.readout,", 'Question("probability",'),
    Mutant("sensitivity_n", "asks what the environment asks", OWN, "Question(self.readout,", "Question(None,"),
    Mutant("sensitivity_n", "blank canvas whatever was asked", REMOVAL, "baseline=canvas", 'baseline="zero"'),
    Mutant(
        "sensitivity_n",
        "mean curve over all samples",
        SETS,
        "np.maximum(defined.sum(axis=0), 1)",
        "len(evidence)",
    ),
]
