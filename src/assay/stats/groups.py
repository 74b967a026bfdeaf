"""Groups of methods that cannot be separated."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def groups(methods: Sequence[str], separated: Collection[frozenset[str]]) -> tuple[tuple[str, ...], ...]:
    """All largest groups in which no pair is separated, of two methods or more, in the order of ``methods``.

    Two methods are in a common group if and only if they are not separated.
    """
    alike = {
        name: {other for other in methods if other != name and frozenset((name, other)) not in separated}
        for name in methods
    }
    position = {name: index for index, name in enumerate(methods)}
    found = [sorted(position[name] for name in group) for group in _cliques(set(), set(methods), set(), alike)]
    return tuple(tuple(methods[index] for index in group) for group in sorted(found) if len(group) > 1)


def _cliques(chosen: set[str], candidates: set[str], excluded: set[str], alike: dict[str, set[str]]) -> list[set[str]]:
    """Maximal cliques, as Bron and Kerbosch find them, with Tomita's pivot."""
    if not candidates:
        return [] if excluded else [chosen]
    pivot = max(candidates | excluded, key=lambda name: len(alike[name] & candidates))
    found = []
    for name in candidates - alike[pivot]:
        found += _cliques(chosen | {name}, candidates & alike[name], excluded & alike[name], alike)
        candidates, excluded = candidates - {name}, excluded | {name}
    return found
