"""Wrong versions of damaged maps."""

from __future__ import annotations

from contracts.mutants.methods.own import own

MUTANTS = [
    own(
        "damaged",
        "signs swapped",
        "Damaged.__call__",
        "shift if self.change == 'introduce' else -shift",
        "-shift if self.change == 'introduce' else shift",
    ),
    own(
        "damaged",
        "not cut to 0..1",
        "Damaged.__call__",
        "(original + (shift if self.change == 'introduce' else -shift)).clamp(0, 1)",
        "original + (shift if self.change == 'introduce' else -shift)",
    ),
    own(
        "damaged",
        "one random number for all features",
        "Damaged.__call__",
        "query.draws('shift').uniform(original.shape[1])",
        "query.draws('shift').uniform(1)",
    ),
    own("damaged", "normal numbers", "Damaged.__call__", "query.draws('shift').uniform", "query.draws('shift').normal"),
    own(
        "damaged",
        "not stretched: the smallest stays above 0",
        "Damaged._original",
        "strength - strength.amin(dim=1, keepdim=True)",
        "strength",
    ),
    own(
        "damaged",
        "sizes of sums",
        "Damaged._original",
        "per_feature(attribution.abs(), features)",
        "per_feature(attribution, features).abs()",
    ),
    own("damaged", "ranks from the largest", "Damaged._partial", "-original", "original"),
    own("damaged", "one rank too many", "Damaged._partial", "rank < stop", "rank <= stop"),
    own(
        "damaged",
        "ties in reading order",
        "Damaged._partial",
        "shuffle = query.draws('ties').permutations(count).to(original.device)",
        "shuffle = None",
    ),
    own(
        "damaged",
        "ranges swapped",
        "Damaged._partial",
        "self.raised if self.change == 'introduce' else self.emptied",
        "self.emptied if self.change == 'introduce' else self.raised",
    ),
    own(
        "damaged",
        "a quantile of the whole block",
        "Damaged._partial",
        "original.quantile(self.quantile, dim=1, keepdim=True)",
        "original.quantile(self.quantile)",
    ),
    own(
        "damaged",
        "half of all features",
        "Damaged._half",
        "open_to_change.sum(dim=1, keepdim=True) // 2",
        "original.shape[1] // 2",
    ),
    own(
        "damaged",
        "half rounded up",
        "Damaged._half",
        "open_to_change.sum(dim=1, keepdim=True) // 2",
        "(open_to_change.sum(dim=1, keepdim=True) + 1) // 2",
    ),
    own("damaged", "adds to features that have some", "Damaged._half", "original == 0", "original > 0"),
    own(
        "damaged",
        "every change draws an inner map of its own",
        "Damaged._original",
        "self.of(self._inner(query))",
        "self.of(query)",
    ),
    own(
        "damaged",
        "the inner map's rounding for the damaged one",
        "Damaged._inner",
        "Remarks(query.remarks.notes)",
        "query.remarks",
    ),
]
