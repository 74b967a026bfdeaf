"""Wrong versions of shuffled maps."""

from __future__ import annotations

from contracts.mutants.methods.own import own

CALL = "Shuffled.__call__"

MUTANTS = [
    own(
        "shuffled",
        "the first features",
        CALL,
        "inner.draws('shuffled features').permutations(values.shape[1])[:, :count]",
        "values.new_ones(len(values), count).long().cumsum(1) - 1",
    ),
    own(
        "shuffled",
        "numbers of all features for those chosen",
        CALL,
        "inner.draws('shuffled values').permutations(count)",
        "inner.draws('shuffled values').permutations(values.shape[1])[:, :count]",
    ),
    own(
        "shuffled",
        "one feature more",
        CALL,
        "count = int(counts_of_shares(values.shape[1], [self.share]))",
        "count = int(counts_of_shares(values.shape[1], [self.share]).add(1).clamp(max=values.shape[1]))",
    ),
    own("shuffled", "other features for every share", CALL, "inner.draws('shuffled features')", "query.draws('own')"),
    own("shuffled", "chosen numbers are lost", CALL, "values.gather(1, source)", "0 * values.gather(1, source)"),
    own("shuffled", "each keeps its number", CALL, "values.gather(1, source)", "values.gather(1, chosen)"),
    own(
        "shuffled",
        "one permutation for all samples",
        CALL,
        "inner.draws('shuffled values').permutations(count)",
        "inner.draws('shuffled values').permutations(count)[:1].expand(len(values), -1)",
    ),
    own(
        "shuffled",
        "an inner method with numbers of its own for every share",
        CALL,
        "self.of(inner)",
        "self.of(query)",
    ),
    own("shuffled", "the share that stays", CALL, "[self.share]", "[1 - self.share]"),
]
