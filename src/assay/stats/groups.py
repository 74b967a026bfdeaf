"""Groups of methods that cannot be separated."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def groups(methods: Sequence[str], separated: Collection[frozenset[str]]) -> tuple[tuple[str, ...], ...]:
    """All largest groups in which no pair is separated, of two methods or more, in the order of ``methods``.

    Two methods are in a common group if and only if they are not separated.
    """
    not_separated = {
        name: {other for other in methods if other != name and frozenset((name, other)) not in separated}
        for name in methods
    }
    position = {name: index for index, name in enumerate(methods)}
    cliques = _cliques(set(), set(methods), set(), not_separated)
    in_order = sorted(sorted(position[name] for name in clique) for clique in cliques)
    return tuple(tuple(methods[index] for index in group) for group in in_order if len(group) > 1)


def _cliques(
    chosen: set[str], candidates: set[str], excluded: set[str], neighbours: dict[str, set[str]]
) -> list[set[str]]:
    """Maximal cliques that contain ``chosen``, by the algorithm of Bron and Kerbosch with Tomita's pivot."""
    if not candidates:
        return [] if excluded else [chosen]
    pivot = max(candidates | excluded, key=lambda name: len(neighbours[name] & candidates))
    cliques = []
    for name in candidates - neighbours[pivot]:
        cliques += _cliques(chosen | {name}, candidates & neighbours[name], excluded & neighbours[name], neighbours)
        candidates, excluded = candidates - {name}, excluded | {name}
    return cliques
