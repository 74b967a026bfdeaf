"""SmoothGrad (Smilkov et al., 2017), SmoothGrad-squared (Hooker et al., 2019), VarGrad (Adebayo et al., 2018)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from torch import Tensor

from assay.core.errors import SpecError
from assay.core.protocols import Method, positive_only
from assay.core.query import Query
from assay.methods.gradient import Gradient

GROUP = 2**16  # entries of noise that are drawn at once for a sample


@dataclass(frozen=True)
class Smoothed:
    """Another method's attributions, averaged over noisy copies of the input.

    Noise is normal, independent per entry, in units of the input (as in Captum's NoiseTunnel): choose it for the
    data's range. ``square`` is the mean of squares, ``variance`` the mean squared distance from the mean. The baseline
    gets no noise.
    """

    of: Method = Gradient()  # the inner method
    samples: int = 16  # noisy copies
    noise: float = 0.1  # standard deviation, in units of the input
    reduce: Literal["mean", "square", "variance"] = "mean"  # the statistic over the copies

    paper: ClassVar[str] = "Smilkov et al., 2017"

    def __post_init__(self) -> None:
        if self.samples < 1 or self.noise < 0:
            raise SpecError(
                f"smoothed: samples={self.samples}, noise={self.noise} cannot make noisy copies. "
                "Choose samples of 1 or more, and noise of 0 or more."
            )

    @property
    def fit(self) -> Callable[[Query], dict[str, Tensor]]:
        """The inner method's; absent if it has none."""
        return self.of.fit  # type: ignore[attr-defined,no-any-return]

    @property
    def positive_only(self) -> bool:
        """True for squares and variances, and for means of an inner method that is never negative."""
        return self.reduce != "mean" or positive_only(self.of)

    def __call__(self, query: Query) -> Tensor:
        mean = spread = query.x.new_zeros(())
        for copy, noise in enumerate(self._noise(query)):
            noisy = replace(query, x=query.x + noise, stream=query.stream.within("copy", copy))
            attribution = self.of(noisy) ** 2 if self.reduce == "square" else self.of(noisy)
            step = attribution - mean
            mean = mean + step / (copy + 1)
            spread = spread + step * (attribution - mean)  # Welford: no difference of large squares
        return spread / self.samples if self.reduce == "variance" else mean

    def _noise(self, query: Query) -> Iterator[Tensor]:
        """One (B, *entries) per copy. The size of the groups, and so the numbers, depends on shapes only."""
        draws, entries = query.draws("noise"), query.x.shape[1:]
        group = max(1, GROUP // entries.numel())
        for start in range(0, self.samples, group):
            noise = draws.normal(min(group, self.samples - start), *entries)
            yield from (self.noise * noise.to(query.x)).unbind(dim=1)
