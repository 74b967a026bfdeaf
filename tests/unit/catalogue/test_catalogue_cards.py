"""A card says what the source says, and the source is never run."""

import json
import sys

import pytest

from assay.catalogue.cards import COMPUTED, REQUIRED, Param, read_file, read_folder, snake
from assay.catalogue.registry import card, catalogue
from assay.core.errors import SpecError
from assay.core.spec import Spec

SOURCE = '''
raise RuntimeError("this file must not be run")

import torch_that_does_not_exist


@dataclass(frozen=True)
class Other:
    """Not this one."""


@dataclass(frozen=True)
class MyMethod:
    """Does a thing.

    And says more.
    """

    steps: int  # how many
    noise: float = -0.5  # how much; in units
    of: Method = Smoothed(of=Gradient(), samples=3)
    sizes: tuple[int, ...] = [1, 2]
    mode: Literal["a", "b"] = "a"  # which
    paper: ClassVar[str] = "Somebody, 2026"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    undecided: ClassVar[int]
    not_annotated = 3

    def fit(self, query): ...

    @property
    def other(self): ...

    def __call__(self, query): ...
'''


@pytest.fixture
def read(tmp_path):
    path = tmp_path / "my_method.py"
    path.write_text(SOURCE)
    return read_file("methods", path, "somewhere.my_method", "my_method")


def test_parameters_are_the_annotated_fields_in_their_order(read):
    assert read.params == (
        Param("steps", "int", REQUIRED, "how many"),
        Param("noise", "float", -0.5, "how much; in units"),
        Param("of", "Method", Spec.of("smoothed", of=Spec("gradient"), samples=3)),
        Param("sizes", "tuple[int, ...]", (1, 2)),
        Param("mode", "Literal['a', 'b']", "a", "which"),
    )


def test_facts_are_the_class_variables_that_have_a_value(read):
    assert dict(read.facts) == {"paper": "Somebody, 2026", "range": (0.0, 1.0)}
    assert read.fact("paper") == "Somebody, 2026"
    assert read.fact("ideal", 7) == 7


def test_a_card_knows_its_class_its_doc_and_its_functions(read):
    assert read.target == "somewhere.my_method:MyMethod"
    assert read.summary == "Does a thing."
    assert read.doc.endswith("And says more.")
    assert (read.calls, read.properties) == (("fit", "__call__"), ("other",))


def test_a_card_is_plain_data(read):
    told = json.loads(json.dumps(read.to_json()))
    assert told["name"] == "my_method"
    assert told["paper"] == "Somebody, 2026"
    assert told["revision"] == read.source[:16] == read.revision
    assert told["params"][2]["default"] == "smoothed(of=gradient, samples=3)"


def test_a_declared_revision_counts_and_not_the_file(tmp_path):
    path = tmp_path / "thing.py"
    path.write_text("class Thing:\n    revision: ClassVar[str] = '7'\n")
    first = read_file("methods", path, "m", "thing")
    path.write_text(path.read_text() + "changed = True\n")
    second = read_file("methods", path, "m", "thing")
    assert first.revision == second.revision == "7"
    assert first.source != second.source


def test_the_class_is_asked_for_by_name_or_found_by_the_name_of_the_file(tmp_path):
    path = tmp_path / "thing.py"
    path.write_text("class A: ...\nclass Thing: ...\n")
    assert read_file("methods", path, "m", "thing").target == "m:Thing"
    assert read_file("methods", path, "m", "m:A", "A").target == "m:A"
    assert read_file("methods", path, "m", "m:B", "B") is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [("InputXGradient", "input_x_gradient"), ("F1", "f1"), ("SensitivityN", "sensitivity_n"), ("A", "a")],
)
def test_snake(name, expected):
    assert snake(name) == expected


def test_a_folder_is_read_in_order_without_its_private_files(tmp_path):
    for name in ("b_thing", "a_thing"):
        (tmp_path / f"{name}.py").write_text(f"class {name[0].upper()}Thing: ...\n")
    (tmp_path / "_private.py").write_text("this is not even Python")
    (tmp_path / "__init__.py").write_text("")
    assert [card.name for card in read_folder("methods", tmp_path, "p")] == ["a_thing", "b_thing"]


def test_a_file_without_its_class_is_an_error_that_names_both(tmp_path):
    (tmp_path / "thing.py").write_text("class Other: ...\n")
    with pytest.raises(SpecError, match=r"thing.py: no class whose name in snake case is 'thing'"):
        list(read_folder("methods", tmp_path, "p"))


def test_a_module_on_the_path_is_read_without_being_imported(modules):
    modules.write("careless_module", SOURCE)
    read = card("methods", "careless_module:MyMethod")
    assert read.name == "careless_module:MyMethod"
    assert [param.name for param in read.params] == ["steps", "noise", "of", "sizes", "mode"]
    assert "careless_module" not in sys.modules


@pytest.mark.parametrize(
    "field",
    [
        pytest.param("k: int = STEPS", id="a constant of the module"),
        pytest.param("k: float = 1 / 3", id="arithmetic"),
        pytest.param("k: dict = field(default_factory=dict)", id="a default factory"),
        pytest.param("k: object = torch.float32", id="an attribute"),
        pytest.param("k: Path = Path('x')", id="a call with a positional value"),
    ],
)
def test_a_default_that_is_no_literal_is_known_to_be_computed(modules, field):
    modules.write("user_module", f"@dataclass(frozen=True)\nclass Mine:\n    {field}\n")
    assert [param.default for param in card("methods", "user_module:Mine").params] == [COMPUTED]


def test_a_class_variable_that_is_no_literal_is_left_out(modules):
    modules.write("user_module", "@dataclass(frozen=True)\nclass Mine:\n    k: ClassVar[object] = object()\n")
    read = card("methods", "user_module:Mine")
    assert (read.params, read.facts) == ((), ())


def test_a_module_that_is_not_python_is_a_spec_error(modules):
    modules.write("broken_module", "class Mine(:\n")
    with pytest.raises(SpecError, match="broken_module"):
        card("methods", "broken_module:Mine")


def test_a_class_variable_is_one_however_it_is_written(modules):
    modules.write("user_module", "@dataclass\nclass Mine:\n    paper: typing.ClassVar[str] = 'x'\n    k: int = 1\n")
    assert [param.name for param in card("methods", "user_module:Mine").params] == ["k"]


def test_a_default_given_through_field_is_that_default(modules):
    modules.write("user_module", "@dataclass\nclass Mine:\n    k: int = field(default=3)\n")
    assert card("methods", "user_module:Mine").params[0].default == 3


@pytest.mark.parametrize("kind", ["environments", "methods", "metrics"])
def test_every_parameter_is_explained_beside_it(kind):
    cards = catalogue(kind).values()
    assert [f"{card.name}.{param.name}" for card in cards for param in card.params if not param.note] == []


FACTS = {  # by kind: what every component states, and what some state besides
    "methods": (set(), {"paper", "remedy", "positive_only", "revision", "control", "given"}),
    "metrics": (
        {"higher_is_better", "range", "ideal", "needs", "invariant", "exact_on_linear", "cost", "paper"},
        {"after_prepare", "axes", "varies", "aliases", "about", "controls", "best_on_linear", "yes_or_no"},
    ),
}


@pytest.mark.parametrize("kind", FACTS)
def test_components_state_what_readers_of_cards_look_for_and_nothing_misspelt(kind):
    needed, optional = FACTS[kind]
    stated = {name: {fact for fact, _ in card.facts} for name, card in catalogue(kind).items()}
    assert {name: needed - facts for name, facts in stated.items() if needed - facts} == {}
    assert {name: facts - needed - optional for name, facts in stated.items() if facts - needed - optional} == {}
