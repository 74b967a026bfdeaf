"""Wrong versions of the maps that are crafted to fit a watermark."""

from __future__ import annotations

from contracts.mutants.methods.own import own

MUTANTS = [
    own("rectangle", "rows and columns swapped", "Rectangle.__call__", "weight.sum(dim=2)", "weight.sum(dim=1)"),
    own(
        "rectangle",
        "always by size",
        "_strength",
        "weights == 'positive'",
        "False",
    ),
    own(
        "rectangle",
        "channels do not cancel",
        "_strength",
        "per_feature(attribution, features).clamp(min=0)",
        "per_feature(attribution.clamp(min=0), features)",
    ),
    own(
        "rectangle",
        "signs cancel",
        "_strength",
        "per_feature(attribution.abs(), features)",
        "per_feature(attribution, features).abs()",
    ),
    own(
        "rectangle",
        "half a pixel off",
        "_around_centroid",
        "(weight * (position + 0.5)).sum(dim=1)",
        "(weight * position).sum(dim=1)",
    ),
    own("rectangle", "one pixel more", "_around_centroid", "position < start + length", "position <= start + length"),
    own(
        "rectangle",
        "moved into the image",
        "_around_centroid",
        "(centroid - length / 2 + 0.5 + NEXT).floor()[:, None]",
        "(centroid - length / 2 + 0.5 + NEXT).floor()[:, None].clamp(0, size - length)",
    ),
    own(
        "rectangle",
        "the largest for the centroid",
        "_around_centroid",
        "(weight * (position + 0.5)).sum(dim=1) / total",
        "weight.argmax(dim=1) + 0.5",
    ),
    own("bands", "sum for mean", "Bands.__call__", "torch.bincount(band, minlength=self.bands).clamp(min=1)", "1"),
    own(
        "bands",
        "signs cancel",
        "_strength",
        "per_feature(attribution.abs(), features)",
        "per_feature(attribution, features).abs()",
    ),
    own("bands", "always by size", "_strength", "weights == 'positive'", "False"),
    own(
        "bands",
        "one band too many",
        "Bands.__call__",
        "band_of_rows(height, self.bands)",
        "band_of_rows(height, self.bands + 1).clamp(max=self.bands - 1)",
    ),
    own(
        "bands",
        "the largest of every row",
        "Bands.__call__",
        "_strength(query, self.of, self.weights).mean(dim=2)",
        "_strength(query, self.of, self.weights).amax(dim=2)",
    ),
]
