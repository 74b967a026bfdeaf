"""From a spec to a component: near misses are suggested, all problems are told, nothing is overwritten."""

import json

import pytest
import torch

from assay.catalogue.annotations import annotated_kind
from assay.catalogue.build import build
from assay.catalogue.cards import REQUIRED
from assay.catalogue.hints import HINTS
from assay.catalogue.registry import KINDS, aliases, card, catalogue, expand_alias, identity, resolve
from assay.core.errors import AssayError, SpecError
from assay.core.spec import Spec
from assay.engine.artifacts.component import has_fit
from assay.foreign.adapt import CallableMethod, CaptumMethod, QueryMethod
from assay.foreign.imports import load
from scenes import ask, data, mlp


def full(text, kind="methods"):
    return resolve(kind, Spec.parse(text))


def test_defaults_are_filled_in_at_every_depth():
    found = full("smoothed(of=smoothed(samples=2), noise=1)")
    assert found == Spec.of(
        "smoothed",
        noise=1.0,
        of=Spec.of("smoothed", noise=0.1, of=Spec("gradient"), reduce="mean", samples=2),
        reduce="mean",
        samples=16,
    )


def test_resolving_twice_changes_nothing():
    for kind in KINDS:
        for name in catalogue(kind):
            needs = [param for param in card(kind, name).params if param.default == REQUIRED]
            inside = {"environments": Spec("color_count"), None: "x"}
            given = {param.name: inside[annotated_kind(param.annotation)] for param in needs}
            spec = resolve(kind, Spec.of(name, **given))
            assert str(resolve(kind, Spec.parse(str(spec)))) == str(spec)


def test_a_whole_number_for_a_float_is_the_same_thing():
    assert str(full("smoothed(noise=1)")) == str(full("smoothed(noise=1.0)"))
    assert identity("methods", full("smoothed(noise=1)")) == identity("methods", full("smoothed(noise=1.0)"))


def test_identities_are_plain_data_with_a_revision():
    for kind in KINDS:
        for name in catalogue(kind):
            if all(param.default != REQUIRED for param in card(kind, name).params):
                told = identity(kind, resolve(kind, Spec(name)))
                assert json.loads(json.dumps(told)) == told
                assert told["revision"]


@pytest.mark.parametrize(("other", "name"), HINTS.items())
def test_every_name_of_another_library_suggests_a_component_and_is_none_itself(other, name):
    kinds = [kind for kind in KINDS if name in catalogue(kind)]
    assert len(kinds) == 1
    with pytest.raises(SpecError, match=rf"unknown {kinds[0][:-1]} '{other}'. Did you mean '{name}'\?"):
        card(kinds[0], other)


ONE_COMPONENT = {
    "f_fidelity_minus(draws=4)": "f_fidelity(part='minus', draws=4)",
    "f_fidelity_plus": "f_fidelity(part='plus')",
    "insertion(steps=4)": "deletion(direction='insert', steps=4)",
    "ids_descending": "ids(order='descending')",
    "modulo_insertion(absolute=False)": "modulo_deletion(direction='insert', absolute=False)",
    "road_lerf(ratios=(0.1, 0.2))": "road(order='lerf', ratios=(0.1, 0.2))",
}


@pytest.mark.parametrize(("alias", "same"), ONE_COMPONENT.items())
def test_an_alias_is_its_component_with_a_parameter_set(alias, same):
    given, meant = (resolve("metrics", Spec.parse(text)) for text in (alias, same))
    assert given == meant
    assert identity("metrics", given) == identity("metrics", meant)


def test_every_alias_is_tried_and_none_is_a_component():
    assert {Spec.parse(alias).name for alias in ONE_COMPONENT} == set(aliases("metrics"))
    assert not any(name in catalogue(kind) for kind in KINDS for name in aliases(kind))


def test_an_alias_that_contradicts_itself_is_told_what_to_write():
    with pytest.raises(SpecError, match=r"road_lerf is road\(order='lerf'\): write road\(order='morf'\)"):
        resolve("metrics", Spec.parse("road_lerf(order='morf')"))
    assert resolve("metrics", Spec.parse("road_lerf(order='lerf')")) == resolve("metrics", Spec("road_lerf"))


def test_what_an_alias_is_not_given_is_the_component_s_default():
    assert expand_alias("metrics", Spec("road_lerf")) == Spec.of("road", order="lerf")
    assert expand_alias("metrics", Spec("road")) == Spec("road")


def test_an_alias_has_no_card_of_its_own():
    with pytest.raises(SpecError, match=r"'road_lerf' stands for road\(order='lerf'\)"):
        card("metrics", "road_lerf")


def test_a_misspelt_alias_is_suggested():
    with pytest.raises(SpecError, match=r"Did you mean 'insertion'\?"):
        resolve("metrics", Spec("insertoin"))


def test_a_name_of_another_library_is_not_suggested_for_another_kind():
    with pytest.raises(SpecError) as refused:
        card("metrics", "ig")
    assert "integrated_gradients" not in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("methods", "gradeint", r"unknown method 'gradeint'. Did you mean 'gradient'\? 'assay ls methods' lists them."),
        ("metrics", "insertions", r"unknown metric 'insertions'. Did you mean 'insertion'\?"),
        ("environments", "qqqqqq", r"unknown environment 'qqqqqq'. 'assay ls environments'"),
        (
            "methods",
            "smoothed(sample=3)",
            r"smoothed has no parameter 'sample'. Did you mean 'samples'\? It takes: of, ",
        ),
        ("methods", "gradient(x=1)", r"gradient has no parameter 'x'. It takes: none."),
        ("methods", "smoothed(samples='3')", r"smoothed: samples='3' does not fit int."),
        ("methods", "smoothed(samples=2.5)", r"smoothed: samples=2.5 does not fit int."),
        ("methods", "smoothed(samples=True)", r"smoothed: samples=True does not fit int."),
        ("methods", "smoothed(reduce=mean)", r"reduce=mean does not fit .* Strings need quotes: reduce='mean'."),
        ("methods", "smoothed(of='gradient')", r"smoothed: of='gradient' does not fit Method."),
        ("methods", "precomputed", r"precomputed needs a value for '\w+'"),
    ],
)
def test_what_is_wrong_is_said_with_the_way_out(kind, text, said):
    with pytest.raises(SpecError, match=said):
        full(text, kind)


def test_all_problems_of_one_spec_are_told_together():
    with pytest.raises(SpecError) as refused:
        full("smoothed(sample=3, samples='x', reduce='median', noise='much')")
    for part in ("'sample'", "samples='x'", "reduce='median'", "noise='much'"):
        assert part in str(refused.value)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("smoothed(of=gradeint, sampels=3)", ("gradeint", "sampels")),
        ("smoothed(of=gradient(k=1), samples='x')", ("'k'", "samples='x'")),
    ],
)
def test_problems_inside_and_outside_are_told_together(text, parts):
    with pytest.raises(SpecError) as refused:
        full(text)
    for part in parts:
        assert part in str(refused.value)


# Components from outside.

FOREIGN = """
from dataclasses import dataclass
from functools import partial

COUNT = 3

@dataclass(frozen=True)
class Mine:
    k: int = 1
    scale: float = 1.0

    def __call__(self, query):
        return query.x * self.k

class Plain:
    def __init__(self, k=1):
        self.k = k

    def __call__(self, query):
        return query.x

class Explainer:
    def __init__(self, model):
        self.model = model

    def attribute(self, inputs, target=None):
        return inputs

def of_model(model, inputs, targets, k=1):
    return inputs * k

def of_query(query, k=1):
    return query.x * k

part = partial(of_model, k=2)
instance = Plain(3)
"""


@pytest.fixture
def foreign(modules):
    modules.write("foreign_thing", FOREIGN)


@pytest.mark.usefixtures("foreign")
def test_a_foreign_class_is_checked_and_completed_like_ours():
    assert full("foreign_thing:Mine(scale=2)") == Spec.of("foreign_thing:Mine", k=1, scale=2.0)
    with pytest.raises(SpecError, match=r"has no parameter 'scala'. Did you mean 'scale'\?"):
        full("foreign_thing:Mine(scala=1)")
    made = build("methods", full("foreign_thing:Mine(k=4)"))
    assert (made.k, made.scale) == (4, 1.0)


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize(
    ("attr", "kind"), [("Explainer", CaptumMethod), ("of_model", CallableMethod), ("of_query", QueryMethod)]
)
def test_a_foreign_thing_becomes_a_method_by_its_shape(attr, kind):
    assert isinstance(build("methods", full(f"foreign_thing:{attr}")), kind)


@pytest.mark.usefixtures("foreign")
def test_parameters_of_a_function_are_passed_on_as_they_are():
    assert build("methods", full("foreign_thing:of_query(k=5)")).params == {"k": 5}
    assert build("methods", full("foreign_thing:Plain(k=5)")).k == 5


@pytest.mark.usefixtures("foreign")
def test_a_plain_class_that_does_not_take_a_parameter_says_so_when_built():
    with pytest.raises(SpecError, match=r"cannot make 'foreign_thing:Plain'.*steps"):
        build("methods", full("foreign_thing:Plain(steps=5)"))


@pytest.mark.usefixtures("foreign")
def test_a_function_is_no_metric():
    with pytest.raises(SpecError, match="'foreign_thing:of_query' is function: expected a class"):
        build("metrics", full("foreign_thing:of_query", "metrics"))


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("foreign_thng:Mine", "cannot find module 'foreign_thng' of 'foreign_thng:Mine'. Run in its folder"),
        ("foreign_thing.deep:Mine", "cannot find module 'foreign_thing.deep'"),
        ("foreign_thing:mine", r"module 'foreign_thing' has no 'mine'. Did you mean 'Mine'\?"),
        ("a..b:C", "cannot find module 'a..b'"),
    ],
)
def test_a_foreign_name_that_is_not_there_is_told(text, said):
    with pytest.raises(SpecError, match=said):
        full(text)


def test_a_captum_class_is_known_by_its_own_file():
    assert card("methods", "captum.attr:Saliency").source != card("methods", "captum.attr:DeepLift").source
    assert (
        card("methods", "captum.attr:Saliency").source == card("methods", "captum.attr._core.saliency:Saliency").source
    )
    assert isinstance(build("methods", full("captum.attr:Saliency(abs=False)")), CaptumMethod)


# Entry points.


@pytest.mark.usefixtures("foreign")
def test_an_entry_point_joins_the_catalogue(points):
    points(("methods", "mine", "foreign_thing:Mine"))
    assert card("methods", "mine").target == "foreign_thing:Mine"
    assert build("methods", full("mine(k=2)")).k == 2
    assert "mine" not in catalogue("metrics")
    with pytest.raises(SpecError, match=r"Did you mean 'mine'\?"):
        full("mime")


@pytest.mark.usefixtures("foreign")
def test_an_entry_point_never_takes_the_place_of_another(points):
    points(("methods", "gradient", "foreign_thing:Mine"))
    with pytest.raises(
        AssayError, match=r"'gradient' from foreign_thing:Mine is already the name of assay\.methods\.gradient:Gradient"
    ):
        catalogue("methods")


@pytest.mark.usefixtures("foreign")
def test_two_entry_points_of_one_name_are_refused(points):
    points(("methods", "mine", "foreign_thing:Mine"), ("methods", "mine", "foreign_thing:Plain"))
    with pytest.raises(AssayError, match="'mine' from foreign_thing:Plain is already the name of foreign_thing:Mine"):
        catalogue("methods")


# Faults.


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize(("attr", "factor"), [("part", 2), ("instance", 1)])
def test_any_callable_can_be_a_method(attr, factor):
    query = ask(mlp(), data(3, 6))
    assert torch.equal(build("methods", full(f"foreign_thing:{attr}"))(query), factor * query.x)


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize("text", ["foreign_thing:COUNT", "numpy:pi"])
def test_what_cannot_be_a_component_is_a_spec_error(text):
    with pytest.raises(SpecError):
        build("methods", full(text))


@pytest.mark.parametrize("line", ["raise RuntimeError('boom')", "import module_that_is_nowhere", "1 / 0"])
def test_a_module_that_cannot_be_imported_is_a_spec_error(modules, line):
    modules.write("falling_module", f"{line}\ndef f(query): ...\n")
    with pytest.raises(SpecError, match="falling_module"):
        full("falling_module:f")


def test_a_missing_module_is_not_mistaken_for_one_that_begins_like_it(modules):
    modules.write("zz_outer", "import zz\ndef f(query): ...\n")
    with pytest.raises(SpecError, match="cannot import 'zz_outer' of 'zz_outer:f': it needs 'zz', which is missing"):
        load("zz_outer:f")


AGREE = """
from dataclasses import dataclass
from assay.core.protocols import Method
from assay.methods.gradient import Gradient

@dataclass(frozen=True)
class Agree:
    other: Method = Gradient()

    def __call__(self, trial): ...
"""


def test_a_metric_may_take_a_method(modules):
    modules.write("agree_metric", AGREE)
    spec = full("agree_metric:Agree(other=smoothed)", "metrics")
    assert identity("metrics", spec)["params"]["other"]["name"] == "smoothed"
    assert type(build("metrics", spec).other).__name__ == "Smoothed"


FITTED = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Fitted:
    k: int = 1

    def fit(self, query): ...

    def __call__(self, query): ...
"""


def test_a_class_that_its_package_re_exports_is_the_same_component(modules):
    modules.write("exporting.inner", FITTED)
    modules.write("exporting.__init__", "from exporting.inner import Fitted\n")
    there, here = card("methods", "exporting.inner:Fitted"), card("methods", "exporting:Fitted")
    assert has_fit(Spec("exporting.inner:Fitted"))
    assert here.params == there.params
    assert set(there.calls) <= set(here.calls)
    assert has_fit(Spec("exporting:Fitted"))


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize("attr", ["of_query", "of_model", "Explainer"])
def test_an_entry_point_may_be_whatever_a_method_may_be(points, attr):
    points(("methods", "mine", f"foreign_thing:{attr}"))
    query = ask(mlp(), data(3, 6))
    assert torch.equal(build("methods", full("mine"))(query), query.x)


@pytest.mark.usefixtures("foreign")
def test_a_component_inside_a_foreign_function_is_checked():
    with pytest.raises(SpecError, match="gradeint"):
        full("foreign_thing:of_query(k=gradeint)")


INHERITED = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Parent:
    k: int = 1

    def fit(self, query): ...

    def __call__(self, query): ...

@dataclass(frozen=True)
class Child(Parent):
    extra: int = 2
"""


def test_a_class_has_what_it_inherits(modules):
    modules.write("family", INHERITED)
    assert has_fit(Spec("family:Child"))
    assert full("family:Child(k=3)") == Spec.of("family:Child", extra=2, k=3)


THEIRS = """
class Explainer:
    model: object  # an annotation of a class that is no dataclass is no parameter

    def __init__(self, model):
        self.model = model

    def attribute(self, inputs, target=None):
        return inputs
"""


def test_the_annotations_of_a_class_that_is_no_dataclass_are_no_parameters(modules):
    modules.write("theirs", THEIRS)
    assert isinstance(build("methods", full("theirs:Explainer")), CaptumMethod)
