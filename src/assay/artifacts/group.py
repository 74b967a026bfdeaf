"""Groups of artifacts that take about equally long, for estimates of time."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from assay.core.records import Kind, digest

if TYPE_CHECKING:
    from assay.artifacts.component import Component


class Group(NamedTuple):
    """The same work of the same components, for other samples and seeds."""

    kind: Kind
    component: Component  # whose work it is
    others: tuple[Component, ...] = ()  # the environment, and a method that is asked again
    size: int = 0  # samples, where the work depends on them

    @property
    def key(self) -> str:
        """The same in every process. Sizes are rounded up to a power of 2: a last block may be a little shorter."""
        identities = (component.identity for component in (self.component, *self.others))
        return _key(self.kind, max(0, self.size - 1).bit_length(), *identities)


@lru_cache(maxsize=2**14)
def _key(*parts: str | int) -> str:
    return digest(parts)[:16]
