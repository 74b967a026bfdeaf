"""Counting words, by a transformer with hand-set weights: AttributionLab's open follow-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot, pad

from assay.core.errors import SpecError
from assay.core.features import Tokens
from assay.core.question import Question
from assay.core.rng import Draws
from assay.core.setting import DrawnReference, Reference, Samples, Setting, Truth
from assay.craft.interpret import Interpreted
from assay.craft.token_count import Lexicon, interpret_token_count, leak, token_count


@dataclass(frozen=True)
class TokenCount:
    """Texts of random words; a transformer counts the words of each class, and the class with the most words wins.

    Words of the winning class have effect +1 on the probability, words of other classes -1, fillers and decoys 0. The
    values of the network's attention are the same for decoys as for words of a class; only the attention weights
    differ. All decoys of a text look like one class that does not win. With ``negation`` a negator negates the word
    after it, which then counts -1 for its class. A token's effect is how much the winner's count minus all other counts
    loses without it: a negated word of the winner has effect -1, its negator -2; a negator before no counted word has
    effect 0. On the winner's logit other classes have no effect; on the margin only the runner-up does.

    A filler or decoy becomes a negator with probability ``1.25 negated`` before a counted word, and ``negated / 4``
    elsewhere. Counted words that are first in the text or follow a counted word are never negated. From
    ``negated=0.8`` on all others are; larger values only add negators that negate nothing.

    The order of words matters for negation only. There is no layer normalisation.
    """

    paper: ClassVar[str] = "ours, after Zhang et al., AttributionLab, 2024"
    modality: ClassVar[str] = "tokens"
    draws_model: ClassVar[bool] = False

    length: int = 31  # words per text; the reader's position makes it 32
    classes: int = 3  # that words are counted for
    words: int = 4  # per class
    decoys: int = 4  # per class
    fillers: int = 12  # words that do nothing
    counted: float = 0.25  # share of a text that counts
    mimicked: float = 0.3  # share of a text that are decoys
    negation: bool = False  # negators among the words
    negated: float = 0.4  # with negation: how many negators there are, see above
    sharpness: float = 24.0  # of attention: how far the softmax's scores are apart
    reference: int = 256  # texts for methods that need reference data
    temperature: float | None = None  # of the explained probability; None: half the median lead of the winner

    def __post_init__(self) -> None:
        if min(self.length, self.words, self.decoys, self.fillers) < 1 or self.classes < 2:
            raise SpecError("token_count: needs 2 classes or more, and at least one word, decoy, filler and position.")
        if min(self.counted, self.mimicked) < 0 or self.counted == 0 or self.counted + self.mimicked > 1:
            raise SpecError(
                "token_count: counted and mimicked are shares of a text, counted above 0, together up to 1."
            )
        if self.sharpness <= 0:
            raise SpecError(f"token_count: sharpness must be positive, not {self.sharpness}.")

    @classmethod
    def tiny(cls) -> TokenCount:
        return cls(length=7, words=2, decoys=1, fillers=2, reference=24)

    @property
    def bound(self) -> float:
        """Largest difference of program and network on texts: the softmax's leak, and the rounding of float32.

        The reader adds up S numbers of at most 1, each off by about one rounding, divided and then multiplied by S.
        """
        return leak(self.length, self.sharpness) + (self.length + 1) ** 2 * torch.finfo(torch.float32).eps

    @property
    def steps(self) -> tuple[int, ...]:
        """By how much a token can change the answer."""
        return (1, 2)

    def program(self, x: Tensor, seed: int) -> Tensor:
        """Count the words of each class; a word after a negator counts -1. Also for texts with words blanked out."""
        lexicon = self._lexicon
        classes = (x * lexicon.counts.to(x)) @ lexicon.looks.to(x)  # (B, T, classes)
        return (classes * self._turn(x).unsqueeze(2)).sum(dim=1)

    def network(self, seed: int) -> nn.Module:
        return token_count(self.length, self._lexicon, self.sharpness)

    def wires(self, seed: int) -> Interpreted:
        """The network's output, computed a second way as a check: its heads, from their formula."""
        return partial(interpret_token_count, lexicon=self._lexicon, sharpness=self.sharpness)

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        return Setting(
            model=self.network(seed),
            features=Tokens(self.length, self._vocabulary),
            kind="tokens",
            question=Question("probability", self.temperature or _half_lead(self), "zero", "label"),
            classes=tuple(f"class {c}" for c in range(self.classes)),
            background=torch.zeros(self.length, self._vocabulary),
            reference=DrawnReference(partial(self._reference, seed)),
        )

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        x, label = self._texts([("token_count", seed, index) for index in indices])
        winner = one_hot(label, self.classes).float()
        rival = one_hot((self.program(x, 0) - 1e9 * winner).argmax(dim=1), self.classes)
        on_logit = self._effect(x, winner)
        by_readout = {"logit": on_logit, "value": on_logit, "margin": self._effect(x, winner - rival)}
        return Samples(x, label, Truth(self._effect(x, 2 * winner - 1), by_readout), tuple(indices))

    def _reference(self, seed: int) -> Reference:
        return Reference(*self._texts([("token_count", "reference", seed, index) for index in range(self.reference)]))

    def _effect(self, x: Tensor, side: Tensor) -> Tensor:
        """(B, T): effects of words and negators on the counts, weighted by ``side`` (B, classes)."""
        lexicon = self._lexicon
        word = torch.einsum("btv,vc,bc->bt", x * lexicon.counts, lexicon.looks, side)
        negated = pad(word, (0, 1))[:, 1:] * (x @ lexicon.negates)  # what comes after a negator
        return word * self._turn(x) - 2 * negated

    def _turn(self, x: Tensor) -> Tensor:
        """(B, T): -1 after a negator, otherwise 1."""
        return 1 - 2 * pad(x @ self._lexicon.negates.to(x), (1, 0))[:, :-1]

    def _texts(self, keys: Sequence[tuple[str | int, ...]]) -> tuple[Tensor, Tensor]:
        """Texts and labels. A text with a tie for the winner is drawn again."""
        x, label, lead = self._draw([(*key, 0) for key in keys])
        attempt = 0
        while bool((tied := lead == 0).any()):
            attempt += 1
            redrawn = [(*key, attempt) for key, tie in zip(keys, tied, strict=True) if tie]
            x[tied], label[tied], lead[tied] = self._draw(redrawn)
        return x, label

    def _draw(self, keys: Sequence[tuple[str | int, ...]]) -> tuple[Tensor, Tensor, Tensor]:
        """Texts, labels and leads. Words that count are drawn first, as they decide the label; then decoys."""
        role, owner, which, turn, other = Draws(keys).uniform(self.length, 5).unbind(dim=2)
        counts, decoy = role < self.counted, (role >= self.counted) & (role < self.counted + self.mimicked)
        kind = (owner * self.classes).long()
        word = kind * self.words + (which * self.words).long()
        ids = torch.where(counts, word, self._filler + (which * self.fillers).long())
        if self.negation:
            before = pad(counts, (0, 1))[:, 1:] & ~counts & (turn < self.negated)
            stray = ~counts & (turn > 1 - self.negated / 4)
            ids = torch.where(before | stray, self._vocabulary - 1, ids)
            decoy = decoy & ~(before | stray)
        first, second = self.program(self._rows(ids), 0).topk(2, dim=1).values.unbind(dim=1)
        label = self.program(self._rows(ids), 0).argmax(dim=1)
        mimic = (label + 1 + (other[:, 0] * (self.classes - 1)).long()) % self.classes
        start = self.classes * self.words + mimic * self.decoys
        ids = torch.where(decoy, start.unsqueeze(1) + (which * self.decoys).long(), ids)
        return self._rows(ids), label, first - second

    def _rows(self, ids: Tensor) -> Tensor:
        return one_hot(ids, self._vocabulary).float()

    @property
    def _filler(self) -> int:
        """The first filler. Words that count come before, then decoys, both class by class; the negator is last."""
        return self.classes * (self.words + self.decoys)

    @property
    def _vocabulary(self) -> int:
        return self._filler + self.fillers + 1

    @property
    def _lexicon(self) -> Lexicon:
        word = torch.arange(self._vocabulary)
        counting = self.classes * self.words
        kind = torch.where(word < counting, word // self.words, (word - counting) // self.decoys)
        looks = one_hot(kind.clamp(0, self.classes - 1), self.classes) * (word < self._filler).unsqueeze(1)
        return Lexicon((word < counting).float(), (word == self._vocabulary - 1).float(), looks.float())


@lru_cache(maxsize=32)
def _half_lead(environment: TokenCount) -> float:
    """Half the winner's median lead over 64 texts: avoids the flat ends of the softmax."""
    x, _ = environment._texts([("token_count", "lead", index) for index in range(64)])
    first, second = environment.program(x, 0).topk(2, dim=1).values.unbind(dim=1)
    return float((first - second).median()) / 2
