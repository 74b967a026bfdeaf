"""Wrong versions of the methods that follow attention."""

from __future__ import annotations

from contracts.mutants.methods.own import own
from contracts.mutants.mutant import Mutant, each

READ = "assay.methods.attention"
ATTENTION = "assay.kit.attention"
RELEVANCE = "assay.kit.backward.chefer"
PRODUCTS = ("attention_rollout", "chefer_gradient", "chefer_relevance")
BY_GRADIENTS = ("chefer_gradient", "chefer_relevance", "vit_grad_cam")

MUTANTS = [
    *each(PRODUCTS, "first layer last", READ, "rollout.row", "reversed(earlier)", "earlier"),
    *each(PRODUCTS, "the last layer alone", READ, "rollout.row", "weights @ layer", "weights"),
    *each(
        PRODUCTS,
        "read by, not read",
        READ,
        "rollout.row",
        "last[:, checked_reader(last, reader)].unsqueeze(1)",
        "last[:, :, checked_reader(last, reader)].unsqueeze(1)",
    ),
    *each(
        PRODUCTS,
        "no skip connection",
        READ,
        "with_identity",
        "matrices + torch.eye(matrices.shape[-1], dtype=matrices.dtype, device=matrices.device)",
        "matrices",
    ),
    *each(
        (*PRODUCTS, "vit_grad_cam"),
        "patches turned",
        READ,
        "on_features",
        "patches.repeat_interleave(side, dim=0)",
        "patches.view(width, height).mT.repeat_interleave(side, dim=0)",
    ),
    *each(
        BY_GRADIENTS,
        "most likely class",
        ATTENTION,
        "attention_and_gradients",
        "outputs.gather(1, target.unsqueeze(1)).sum()",
        "outputs.amax(dim=1).sum()",
    ),
    *each(
        ("attention_rollout", "chefer_relevance"), "all layers always", READ, "from_layer", "layers[start:]", "layers"
    ),
    *each(
        (*PRODUCTS, "vit_grad_cam"),
        "attention not scaled by the width",
        ATTENTION,
        "_scaled_dot_product",
        "1 / sqrt(query.shape[-1]) if scale is None else scale",
        "1.0 if scale is None else scale",
    ),
    own(
        "attention_rollout",
        "rows not scaled",
        "AttentionRollout._mixing",
        "matrix / matrix.sum(dim=2, keepdim=True)",
        "matrix",
    ),
    own(
        "attention_rollout",
        "columns scaled",
        "AttentionRollout._mixing",
        "matrix.sum(dim=2, keepdim=True)",
        "matrix.sum(dim=1, keepdim=True)",
    ),
    own("attention_rollout", "largest head", "AttentionRollout._mixing", "heads.mean(dim=1)", "heads.amax(dim=1)"),
    own("attention_rollout", "first head", "AttentionRollout._mixing", "heads.mean(dim=1)", "heads[:, 0]"),
    own(
        "chefer_gradient",
        "negative products count",
        "_gradient_mixing",
        "(weights * gradient).clamp(min=0)",
        "weights * gradient",
    ),
    own(
        "chefer_gradient",
        "cut off after the mean over heads",
        "_gradient_mixing",
        "(weights * gradient).clamp(min=0).mean(dim=1)",
        "(weights * gradient).mean(dim=1).clamp(min=0)",
    ),
    own("chefer_gradient", "gradient alone", "_gradient_mixing", "weights * gradient", "gradient"),
    own(
        "chefer_gradient",
        "heads added up",
        "_gradient_mixing",
        "(weights * gradient).clamp(min=0).mean(dim=1)",
        "(weights * gradient).clamp(min=0).sum(dim=1)",
    ),
    own(
        "chefer_relevance",
        "negative products count",
        "CheferRelevance._mixing",
        "(share * slope).clamp(min=0)",
        "share * slope",
    ),
    own("chefer_relevance", "relevance alone", "CheferRelevance._mixing", "share * slope", "share"),
    own("chefer_relevance", "readout ignored", "CheferRelevance._mixing", "query.module", "query.setting.model"),
    own(
        "chefer_relevance",
        "the model's own precision",
        "CheferRelevance.__call__",
        "_in_float64(query) if self.double else query",
        "query",
    ),
    Mutant("chefer_relevance", "factors get all of it", RELEVANCE, "_proportional_halves", "share / 2", "share"),
    Mutant(
        "chefer_relevance", "negative contributions, too", RELEVANCE, "_positive_only", "weight.clamp(min=0)", "weight"
    ),
    Mutant(
        "chefer_relevance",
        "totals over the batch",
        RELEVANCE,
        "_balanced",
        "[index for index in range(relevance.dim()) if index != axis]",
        "list(range(relevance.dim()))",
    ),
    Mutant(
        "chefer_relevance", "shares of sums not scaled", RELEVANCE, "_balanced", "share * total.sign() * part", "share"
    ),
    own("vit_grad_cam", "first layer", "VitGradCam._map", "layers[-1]", "layers[0]"),
    own(
        "vit_grad_cam",
        "each patch's own gradient",
        "VitGradCam._map",
        "gradients.mean(dim=2, keepdim=True)",
        "gradients",
    ),
    own(
        "vit_grad_cam",
        "heads added up",
        "VitGradCam._map",
        "(gradients.mean(dim=2, keepdim=True) * maps).mean(dim=1)",
        "(gradients.mean(dim=2, keepdim=True) * maps).sum(dim=1)",
    ),
    own("vit_grad_cam", "negative values stay", "VitGradCam._map", "cam.clamp(min=0) if self.relu else cam", "cam"),
    own(
        "vit_grad_cam",
        "the class token's own place in the weight",
        "VitGradCam._map",
        "gradients.mean(dim=2, keepdim=True)",
        "gradient[:, :, reader].mean(dim=2, keepdim=True)",
    ),
]
