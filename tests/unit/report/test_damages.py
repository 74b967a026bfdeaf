"""Which methods of a study are one map and its damaged versions, and what is said about the distances."""

from __future__ import annotations

import pytest

from assay.core.evidence import Score
from assay.core.question import Question
from assay.core.spec import Spec
from assay.report.damages import DamageRow, DamageTable, Triplet, triplets
from assay.stats.damage import PAIRS, Response
from assay.studies.study import Entry


def entry(label: str, question: Question = Question(), **params: object) -> Entry:
    defaults: dict[str, object] = {"of": Spec("gradient"), "scheme": "constant", "size": 0.6, "transform": "abs"}
    return Entry(Spec.of("damaged", **{**defaults, **params}), label, question)  # type: ignore[arg-type]


def table(minima: dict[str, list[float | None]], bounded: bool = True) -> DamageTable:
    rows = [
        DamageRow("e", metric, Triplet(f"m{place}", "random", "", ""), Response({}, Score(value)), True)
        for metric, values in minima.items()
        for place, value in enumerate(values)
    ]
    return DamageTable("e", tuple(rows), frozenset(minima if bounded else ()))


def test_an_original_is_shared_by_all_schemes_and_siblings_have_equal_sizes() -> None:
    methods = [
        entry("plain", change="none", scheme="half"),
        entry("less", change="remove"),
        entry("more", change="introduce"),
        entry("a little more", change="introduce", size=0.1),
        entry("less here and there", change="remove", scheme="partial", emptied=(0.8, 1.0)),
        entry("more here and there", change="introduce", scheme="partial", size=0.1),
        Entry(Spec("gradient"), "gradient"),
    ]
    assert triplets(methods) == (
        Triplet("plain", "constant", "less", "more"),
        Triplet("plain", "partial", "less here and there", "more here and there"),
    )


@pytest.mark.parametrize(
    "other", [{"of": Spec("occlusion")}, {"transform": "positive"}, {"question": Question(readout="logit")}]
)
def test_maps_of_another_method_form_or_question_are_no_siblings(other: dict[str, object]) -> None:
    methods = [entry("a", change="none"), entry("b", change="remove"), entry("c", change="introduce")]
    assert len(triplets(methods)) == 1
    assert not triplets([*methods[:2], entry("c", change="introduce", **other)])  # type: ignore[arg-type]


def test_two_sizes_of_one_scheme_are_two_damages_with_names_of_their_own() -> None:
    methods = [entry("a", change="none")]
    methods += [
        entry(f"{change} {size}", change=change, size=size) for size in (0.2, 0.6) for change in ("remove", "introduce")
    ]
    schemes = [triplet.scheme for triplet in triplets(methods)]
    assert schemes == ["constant (remove 0.2; introduce 0.2)", "constant (remove 0.6; introduce 0.6)"]


def test_the_answer_names_what_is_noticed_and_compares_least_with_greatest() -> None:
    sentences = list(
        table({"blind": [0.0, 0.01], "sharp": [0.3, 0.2], "partly": [0.02, 0.12], "none": [None]}).sentences()
    )
    assert sentences == [
        "sharp notices all 2 damages: smallest distances 0.200 to 0.300, mean 0.250.",
        "partly notices 1 of 2 damages, not m0, random: smallest distances 0.020 to 0.120, mean 0.070.",
        "blind notices none of 2 damages: smallest distances 0.000 to 0.010, mean 0.005.",
        "Even the least of sharp (0.200) is above the greatest of partly and blind (0.120).",
        "Even the least of partly (0.020) is above the greatest of blind (0.010).",
        "none: no distance.",
    ]


def test_numbers_without_a_fixed_range_get_no_verdict() -> None:
    (sentence,) = table({"logits": [4.0]}, bounded=False).sentences()
    assert sentence == "logits: smallest distances 4.000 to 4.000, mean 4.000; its numbers have no fixed range."


def test_there_are_three_pairs() -> None:
    assert PAIRS == (("original", "remove"), ("original", "introduce"), ("remove", "introduce"))
