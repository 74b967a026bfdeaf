"""A card says what a class says, and is plain data."""

import json

import pytest

from assay.catalogue.cards import COMPUTED, REQUIRED, Card, Param, snake
from assay.catalogue.registry import card, catalogue
from assay.core.errors import SpecError
from assay.core.spec import Spec

HEAD = """
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

STEPS = 3
"""
SOURCE = '''
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.core.protocols import Method
from assay.methods import Gradient, Smoothed


@dataclass(frozen=True)
class MyMethod:
    """Does a thing.

    And says more.
    """

    steps: int  # how many
    noise: float = -0.5  # how much; in units
    of: Method = Smoothed(of=Gradient(), samples=3)
    all: tuple[Method, ...] = (Gradient(),)
    sizes: tuple[int, ...] = (1, 2)
    mode: Literal["a", "b"] = "a"  # which
    paper: ClassVar[str] = "Somebody, 2026"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    undecided: ClassVar[int]
    not_annotated = 3

    def fit(self, query): ...

    @property
    def other(self): ...

    def __call__(self, query): ...

    def _own(self): ...
'''


@pytest.fixture
def read(modules):
    modules.write("somewhere", SOURCE)
    return card("methods", "somewhere:MyMethod")


def test_parameters_are_the_fields_in_their_order(read):
    assert read.params == (
        Param("steps", "int", REQUIRED, "how many"),
        Param("noise", "float", -0.5, "how much; in units"),
        Param("of", "Method", Spec.of("smoothed", of=Spec("gradient"), samples=3)),
        Param("all", "tuple[Method, ...]", (Spec("gradient"),)),
        Param("sizes", "tuple[int, ...]", (1, 2)),
        Param("mode", "Literal['a', 'b']", "a", "which"),
    )


def test_facts_are_the_class_variables_that_have_a_value(read):
    assert dict(read.facts) == {"paper": "Somebody, 2026", "range": (0.0, 1.0)}
    assert read.fact("paper") == "Somebody, 2026"
    assert read.fact("ideal", 7) == 7


def test_a_card_knows_its_class_its_doc_and_its_functions(read):
    assert read.target == "somewhere:MyMethod"
    assert read.summary == "Does a thing."
    assert read.doc.endswith("And says more.")
    assert (set(read.calls), read.properties) == ({"fit", "__call__"}, ("other",))


def test_a_card_is_plain_data(read):
    told = json.loads(json.dumps(read.to_json()))
    assert told["name"] == "somewhere:MyMethod"
    assert told["paper"] == "Somebody, 2026"
    assert told["revision"] == read.source[:16] == read.revision
    assert told["params"][2]["default"] == "smoothed(of=gradient, samples=3)"


def test_a_card_comes_back_from_json_with_its_revision(read):
    back = Card.from_json(json.loads(json.dumps(read.to_json())))
    assert (back.params, back.calls, back.properties) == (read.params, read.calls, read.properties)
    assert back.to_json() == read.to_json()


def test_every_card_of_the_catalogue_comes_back_from_json():
    for kind in ("environments", "methods", "metrics"):
        for name, known in catalogue(kind).items():
            back = Card.from_json(json.loads(json.dumps(known.declared())))
            assert back == known, name


def test_a_spec_is_short_without_what_has_its_default(read):
    spec = Spec.of("x", steps=1, noise=-0.5, sizes=(1, 2), mode="b", more=1)
    assert read.short(spec) == Spec.of("x", mode="b", more=1, steps=1)


def test_a_declared_revision_counts_and_not_the_file(modules):
    path = modules.write("thing", "from typing import ClassVar\nclass Thing:\n    revision: ClassVar[str] = '7'\n")
    first = card("methods", "thing:Thing")
    path.write_text(path.read_text() + "changed = True\n")
    second = card("methods", "thing:Thing")
    assert first.revision == second.revision == "7"
    assert first.source != second.source


@pytest.mark.parametrize(
    ("name", "expected"),
    [("InputXGradient", "input_x_gradient"), ("F1", "f1"), ("SensitivityN", "sensitivity_n"), ("A", "a")],
)
def test_snake(name, expected):
    assert snake(name) == expected


def test_a_component_that_is_not_in_the_catalogue_yet_is_said_to_be_new(monkeypatch, tmp_path):
    (tmp_path / "methods").mkdir()
    (tmp_path / "methods" / "brand_new.py").write_text("")
    monkeypatch.setattr("assay.catalogue.sources._ROOT", tmp_path)
    with pytest.raises(SpecError, match="run 'make renew'"):
        card("methods", "brand_new")


@pytest.mark.parametrize(
    ("field", "default"),
    [
        pytest.param("k: int = STEPS", 3, id="a constant of the module"),
        pytest.param("k: float = 1 / 4", 0.25, id="arithmetic"),
        pytest.param("k: int = field(default=3)", 3, id="given through field"),
        pytest.param("k: dict = field(default_factory=dict)", COMPUTED, id="a default factory"),
        pytest.param("k: float = float('inf')", COMPUTED, id="a number that cannot be written"),
        pytest.param("k: Path = Path('x')", COMPUTED, id="an object"),
        pytest.param("k: tuple = (1, Path('x'))", COMPUTED, id="an object in a tuple"),
    ],
)
def test_a_default_that_no_spec_can_express_is_known_to_be_computed(modules, field, default):
    modules.write("user_module", f"{HEAD}\n@dataclass(frozen=True)\nclass Mine:\n    {field}\n")
    assert [param.default for param in card("methods", "user_module:Mine").params] == [default]


def test_a_class_variable_that_is_no_plain_value_is_left_out(modules):
    modules.write("user_module", f"{HEAD}\n@dataclass(frozen=True)\nclass Mine:\n    k: ClassVar[object] = object()\n")
    read = card("methods", "user_module:Mine")
    assert (read.params, read.facts) == ((), ())


def test_a_module_that_is_not_python_is_a_spec_error(modules):
    modules.write("broken_module", "class Mine(:\n")
    with pytest.raises(SpecError, match="broken_module"):
        card("methods", "broken_module:Mine")


def test_a_class_variable_is_one_however_it_is_written(modules):
    text = "@dataclass\nclass Mine:\n    paper: typing.ClassVar[str] = 'x'\n    k: int = 1\n"
    modules.write("user_module", f"{HEAD}\n{text}")
    assert [param.name for param in card("methods", "user_module:Mine").params] == ["k"]


@pytest.mark.parametrize("kind", ["environments", "methods", "metrics"])
def test_every_parameter_is_explained_beside_it(kind):
    cards = catalogue(kind).values()
    assert [f"{card.name}.{param.name}" for card in cards for param in card.params if not param.note] == []


FACTS = {  # by kind: what every component states, and what some state besides
    "methods": (set(), {"paper", "remedy", "positive_only", "revision", "control", "given", "after_fit"}),
    "metrics": (
        {"higher_is_better", "range", "ideal", "needs", "invariant", "exact_on_linear", "cost", "paper"},
        {"after_evidence", "after_prepare", "axes", "varies", "aliases", "about", "controls", "best_on_linear"}
        | {"compared_at_levels", "depends_on_count", "yes_or_no"},
    ),
}


@pytest.mark.parametrize("kind", FACTS)
def test_components_state_what_readers_of_cards_look_for_and_nothing_misspelt(kind):
    needed, optional = FACTS[kind]
    stated = {name: {fact for fact, _ in card.facts} for name, card in catalogue(kind).items()}
    assert {name: needed - facts for name, facts in stated.items() if needed - facts} == {}
    assert {name: facts - needed - optional for name, facts in stated.items() if facts - needed - optional} == {}
