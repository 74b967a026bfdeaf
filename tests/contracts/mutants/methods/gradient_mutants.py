"""Wrong versions of the methods that add up gradients at the input."""

from __future__ import annotations

from contracts.mutants.methods.own import own
from contracts.mutants.mutant import Mutant

QUADRATURE = "assay.kit.quadrature"
PIECES = "assay.kit.backward.breakpoints"
LINEAR = "assay.kit.backward.piecewise_linear"
SOFTMAX = "assay.kit.backward.softmax"
BACKGROUND = "assay.methods._background"
DIFFERENCES = "assay.methods.by_differences"

PLAIN = [
    own("gradient", "its size", "Gradient.__call__", "query.gradient(query.x)", "query.gradient(query.x).abs()"),
    own("gradient", "at the baseline", "Gradient.__call__", "query.x", "query.baseline"),
    own("gradient", "first sample only", "Gradient.__call__", "query.x", "query.x[:1].expand_as(query.x)"),
    own(
        "input_x_gradient",
        "distance from the baseline",
        "InputXGradient.__call__",
        "query.x * query.gradient(query.x)",
        "(query.x - query.baseline) * query.gradient(query.x)",
    ),
    own(
        "input_x_gradient",
        "the input forgotten",
        "InputXGradient.__call__",
        "query.x * query.gradient(query.x)",
        "query.gradient(query.x)",
    ),
    own(
        "input_x_gradient",
        "size of the input",
        "InputXGradient.__call__",
        "query.x * query.gradient(query.x)",
        "query.x.abs() * query.gradient(query.x)",
    ),
    own("guided_backprop", "all gradients pass", "_positive", "grad.clamp(min=0)", "grad"),
    own("guided_backprop", "negative gradients pass", "_positive", "grad.clamp(min=0)", "grad.clamp(max=0)"),
    own("guided_backprop", "silent ReLUs pass", "_positive", "grad.clamp(min=0) * (values > 0)", "grad.clamp(min=0)"),
    own("guided_backprop", "ReLUs at 0 pass", "_positive", "values > 0", "values >= 0"),
    own("guided_backprop", "the gradient's absolute value", "_positive", "grad.clamp(min=0)", "grad.abs()"),
    own(
        "guided_backprop",
        "models without a ReLU apply",
        "Guided.forward",
        "CustomGradient.__name__ not in operations",
        "False",
    ),
]

INTEGRATED = [
    own(
        "integrated_gradients",
        "the baseline is 0",
        "IntegratedGradients._integral",
        "query.x - query.baseline",
        "query.x",
    ),
    own(
        "integrated_gradients",
        "from the input on",
        "IntegratedGradients._integral",
        "query.baseline + alpha * delta",
        "query.x + alpha * delta",
    ),
    own(
        "integrated_gradients",
        "mean gradient alone",
        "IntegratedGradients._integral",
        "delta * total.view(delta.shape)",
        "total.view(delta.shape)",
    ),
    own(
        "integrated_gradients",
        "last part of the line only",
        "IntegratedGradients._integral",
        "total += torch.tensordot(weights[part], slopes, dims=1)",
        "total = torch.tensordot(weights[part], slopes, dims=1)",
    ),
    own(
        "integrated_gradients",
        "a small gap is enough",
        "IntegratedGradients._has_converged",
        "adds_up & (_total((maps - previous).abs()) <= self.change * _total(maps.abs()) + rounding)",
        "adds_up",
    ),
    own(
        "integrated_gradients",
        "a large gap is enough",
        "IntegratedGradients._has_converged",
        "adds_up & (_total((maps - previous).abs()) <= self.change * _total(maps.abs()) + rounding)",
        "_total((maps - previous).abs()) <= self.change * _total(maps.abs()) + rounding",
    ),
    own(
        "integrated_gradients",
        "one doubling too few",
        "IntegratedGradients._adaptive_integral",
        "steps <= self.most",
        "steps < self.most",
    ),
    own(
        "integrated_gradients",
        "converged samples go on",
        "IntegratedGradients._adaptive_integral",
        "rows[~converged]",
        "rows[converged]",
    ),
    Mutant("integrated_gradients", "left is midpoint", QUADRATURE, "quadrature", "0.0", "0.5"),
    Mutant("integrated_gradients", "ends of trapezoids whole", QUADRATURE, "_trapezoid", "weights[[0, -1]] /= 2", ""),
    Mutant("integrated_gradients", "weights sum to 2", QUADRATURE, "_gauss_legendre", "weights / 2", "weights"),
    Mutant(
        "integrated_gradients", "nodes beyond the line", QUADRATURE, "_gauss_legendre", "(1 + nodes) / 2", "1 + nodes"
    ),
    own(
        "exact_integrated_gradients",
        "the baseline is 0",
        "ExactIntegratedGradients.__call__",
        "exact.x - exact.baseline",
        "exact.x",
    ),
    own(
        "exact_integrated_gradients",
        "pieces of equal weight",
        "ExactIntegratedGradients.__call__",
        "(part.right - part.left)[:, None]",
        "torch.ones_like(part.left)[:, None] / len(part)",
    ),
    own(
        "exact_integrated_gradients",
        "gradient at the breakpoint",
        "ExactIntegratedGradients.__call__",
        "part.at(exact.baseline, delta, 0.5)",
        "part.at(exact.baseline, delta, 0.0)",
    ),
    own(
        "exact_integrated_gradients",
        "logits for probabilities",
        "_slopes",
        "has_softmax",
        "False",
    ),
    own(
        "exact_integrated_gradients",
        "the model's own precision",
        "_in_float64",
        "query.x.dtype == torch.float64",
        "True",
    ),
    own(
        "exact_integrated_gradients",
        "the softmax's slope at the start of a piece",
        "_slopes",
        "mean_softmax_gradient(pieces.low, pieces.high, target)",
        "mean_softmax_gradient(pieces.low, pieces.low, target)",
    ),
    Mutant("exact_integrated_gradients", "rising numbers never cross", PIECES, "_zeros", "falls | rises", "falls"),
    Mutant(
        "exact_integrated_gradients",
        "cut from the other end",
        PIECES,
        "_zeros",
        "first / (first - last)",
        "last / (last - first)",
    ),
    Mutant(
        "exact_integrated_gradients",
        "one panel for any change",
        SOFTMAX,
        "mean_softmax_gradient",
        "((change.amax(dim=1) - change.amin(dim=1)) / PANEL).ceil().long().clamp(min=1)",
        "torch.ones_like(target)",
    ),
    Mutant(
        "exact_integrated_gradients",
        "kinks are not snapped to",
        LINEAR,
        "pullback",
        "distance <= broadcast_rows(values, width)",
        "distance < 0",
    ),
    own(
        "gradient_shap",
        "the line's end always",
        "GradientShap.__call__",
        "baseline + alpha * (x - baseline)",
        "x",
    ),
    own(
        "gradient_shap",
        "not divided by the number of draws",
        "GradientShap.__call__",
        "total / self.samples",
        "total",
    ),
    own(
        "gradient_shap",
        "distance from the question's baseline",
        "GradientShap.__call__",
        "(x - baseline) * query.gradient(baseline + alpha * (x - baseline))",
        "(x - query.baseline) * query.gradient(baseline + alpha * (x - baseline))",
    ),
    own(
        "gradient_shap",
        "noise of deviation 1",
        "GradientShap.__call__",
        "self.noise * torch.stack(drawn_noise).to(query.x)",
        "torch.stack(drawn_noise).to(query.x)",
    ),
    own(
        "gradient_shap",
        "first row of the background always",
        "GradientShap._baselines",
        "(picks * len(rows)).long().to(rows.device)",
        "(picks * 0).long()",
    ),
    own(
        "gradient_shap",
        "last row of the background never",
        "GradientShap._baselines",
        "(picks * len(rows)).long()",
        "(picks * (len(rows) - 1)).long()",
    ),
    Mutant(
        "gradient_shap",
        "the first reference rows",
        BACKGROUND,
        "background",
        "query.x[order[:count].to(query.x.device)]",
        "query.x[:count]",
    ),
    Mutant(
        "gradient_shap",
        "promises the change from the baseline",
        BACKGROUND,
        "change",
        "'background' not in query.fitted",
        "True",
    ),
]

OTHERS = [
    own(
        "by_differences",
        "steps as long as the deviation",
        "ByDifferences._differenced",
        "self.step * deviation",
        "deviation",
    ),
    own(
        "by_differences",
        "one step for all columns",
        "_deviation",
        "x.double().std(dim=0, correction=0)",
        "x.double().std(correction=0)",
    ),
    own(
        "by_differences",
        "constant columns keep the rounding of their deviation",
        "_deviation",
        "x.double().std(dim=0, correction=0).where(varies, 1.0)",
        "x.double().std(dim=0, correction=0)",
    ),
    own(
        "by_differences",
        "sample deviation",
        "_deviation",
        "x.double().std(dim=0, correction=0)",
        "x.double().std(dim=0)",
    ),
    own("by_differences", "any share of zeros will do", "ByDifferences._share_of_zeros", "zeros > self.zeros", "False"),
    own(
        "by_differences",
        "the model's own gradients",
        "ByDifferences._differenced",
        "replace(query.setting, model=model, differentiable=True, hints={})",
        "replace(query.setting, differentiable=True, hints={})",
    ),
    Mutant(
        "by_differences",
        "one-sided",
        DIFFERENCES,
        "Differenced.gradient_at",
        "flat[:, part] - steps[part]",
        "flat[:, part]",
    ),
    Mutant(
        "by_differences",
        "not divided by the step",
        DIFFERENCES,
        "Differenced.gradient_at",
        "((upper - lower) * gradient).sum(dim=2).T / (ends[0] - ends[1])",
        "((upper - lower) * gradient).sum(dim=2).T",
    ),
    own("agop", "not centred", "weighted", "x.flatten(1) - fitted['mean']", "x.flatten(1)"),
    own(
        "agop",
        "signed",
        "weighted",
        "(product * (x.flatten(1) - fitted['mean'])).abs()",
        "product * (x.flatten(1) - fitted['mean'])",
    ),
    own(
        "agop",
        "half of the product",
        "weighted",
        "slopes @ factor @ factor.T",
        "slopes @ factor[:, :1] @ factor[:, :1].T",
    ),
    own("agop", "not divided by the sum", "weighted", "weight / total", "weight"),
    own(
        "agop", "largest for the sum", "weighted", "weight.sum(dim=1, keepdim=True)", "weight.amax(dim=1, keepdim=True)"
    ),
    own("agop", "the root of the matrix", "Agop.fit", "values.sqrt()", "values.sqrt().sqrt()"),
    own("agop", "nothing dropped", "Agop._eigenpairs", "values > share * values.max().clamp(min=0)", "values > 0"),
    own(
        "agop",
        "diagonal without its root",
        "_diagonal",
        "(squares / squares.max().clamp(min=torch.finfo(squares.dtype).tiny)).sqrt()",
        "squares / squares.max().clamp(min=torch.finfo(squares.dtype).tiny)",
    ),
    own("agop", "damping forgotten", "Agop.fit", "1 / (values + self.damping * values.max())", "1 / values"),
    own("agop", "last block of reference rows only", "_gradients", "query.blocks()", "[*query.blocks()][-1:]"),
]

MUTANTS = [*PLAIN, *INTEGRATED, *OTHERS]
