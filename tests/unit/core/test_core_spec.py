"""A spec is read as it was written, and nothing in it is ever run."""

import json
import keyword

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.core.errors import SpecError
from assay.core.spec import Spec, labelled, walk

quick = settings(max_examples=50)

words = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True).filter(lambda word: not keyword.iskeyword(word))
dotted = st.lists(words, min_size=1, max_size=3).map(".".join)
names = words | st.builds("{}:{}".format, dotted, words)
tricky = st.sampled_from(
    ["a:b", "'", '"', 'it\'s "so"', "f(x=1)", "\\", "a\\'b:c", "(", ")", ",", "\n", "\0", "é:ü", "#", "=", "_target_0_"]
)
plain = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | tricky
    | st.text(max_size=12)
)


def specs_of(inner):
    return st.builds(lambda name, params: Spec.of(name, **params), names, st.dictionaries(words, inner, max_size=3))


values = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | specs_of(inner),
    max_leaves=8,
)
specs = specs_of(values)


def exact(value):
    """A value with its types: 1, 1.0 and True are equal in Python and different in a spec."""
    if isinstance(value, Spec):
        return ("spec", value.name, tuple((name, exact(inner)) for name, inner in value.params))
    if isinstance(value, tuple):
        return ("tuple", tuple(exact(item) for item in value))
    return (type(value).__name__, repr(value))


@quick
@given(specs)
@example(Spec.of("f", name=1, cls=2, self=3))
@example(Spec.of("f", x=("a:b",), y=-0.0, z=-(10**30)))
@example(Spec.of("p.q:R", of=Spec.of("a.b:C", k="d.e:F(x='g:h')")))
def test_what_is_written_is_read_back_with_every_type(spec):
    assert exact(Spec.parse(str(spec))) == exact(spec)


@quick
@given(specs)
def test_a_spec_survives_json_with_every_type(spec):
    assert exact(Spec.from_json(json.loads(json.dumps(spec.to_json())))) == exact(spec)


@quick
@given(specs)
def test_the_order_of_parameters_does_not_matter(spec):
    again = Spec.of(spec.name, **dict(reversed(spec.params)))
    assert again == spec
    assert str(again) == str(spec)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("gradient", Spec("gradient")),
        ("gradient()", Spec("gradient")),
        ("  f( b = 2 , a = 1 ) ", Spec("f", (("a", 1), ("b", 2)))),
        ("f(x=[1, 2])", Spec.of("f", x=(1, 2))),
        ("f(x=(1,))", Spec.of("f", x=(1,))),
        ("f(x=())", Spec.of("f", x=())),
        ("f(x=-1.5e3)", Spec.of("f", x=-1500.0)),
        ("f(x=None, y=True)", Spec.of("f", x=None, y=True)),
        ("f(name='n')", Spec.of("f", name="n")),
        ("a.b:C(k=3)", Spec.of("a.b:C", k=3)),
        ("f(of=a.b:C(of=d:E), x='g:h')", Spec.of("f", of=Spec.of("a.b:C", of=Spec("d:E")), x="g:h")),
        ("f(of=(gradient, a:B(k=1)))", Spec.of("f", of=(Spec("gradient"), Spec.of("a:B", k=1)))),
        ("f(x='a' 'b')", Spec.of("f", x="ab")),
        ("f(x='it\\'s a:b', of=c:D)", Spec.of("f", x="it's a:b", of=Spec("c:D"))),
    ],
)
def test_a_spec_means_what_it_says(text, spec):
    assert exact(Spec.parse(text)) == exact(spec)


@pytest.mark.parametrize(
    "text",
    [
        "f(x=__import__('os'))",
        "f(x=[i for i in (1, 2)])",
        "f(x=(i for i in y))",
        "f(x={1: 2})",
        "f(x={1, 2})",
        "f(x=os.system)",
        "os.system(command='true')",
        "f.g(x=1)",
        "f(x=1)(y=2)",
        "f(1)",
        "f(*x)",
        "f(**{'x': 1})",
        "f(x=1 + 1)",
        "f(x=2 ** 99)",
        "f(x=not True)",
        "f(x=a if b else c)",
        "f(x=lambda: 1)",
        "f(x=(y := 1))",
        "f(x=a[0])",
        "f(x=f'{1}')",
        "f(x=b'bytes')",
        "f(x=1j)",
        "f(x=...)",
        "f(x=a < b)",
        "f(x=await y)",
    ],
)
def test_code_is_refused_and_named(text):
    with pytest.raises(SpecError) as refused:
        Spec.parse(text)
    assert text in str(refused.value)


@pytest.mark.parametrize(
    "text", ["", " ", "f(", "f)", "f(x=)", "f(x=1", "f g", "f;g", "f\ng", "import os", "x = 1", "f(x='"]
)
def test_what_is_no_spec_is_refused_with_the_right_form(text):
    with pytest.raises(SpecError, match=r"Write name or name\(param=value, ...\)"):
        Spec.parse(text)


@pytest.mark.parametrize("text", ["3", "'gradient'", "None", "(a, b)", "-1", "True"])
def test_a_value_is_no_component(text):
    with pytest.raises(SpecError, match="is a value, not a component"):
        Spec.parse(text)


def test_a_call_of_import_by_keyword_is_only_a_name():
    assert Spec.parse("__import__(name='os')") == Spec.of("__import__", name="os")


def test_positional_parameters_are_told_to_have_names():
    with pytest.raises(SpecError, match=r"parameters need names, as in f\(param=value\)"):
        Spec.parse("f(1)")
    with pytest.raises(SpecError, match=r"parameters need names, as in m:f\(param=value\)"):
        Spec.parse("m:f(1)")


@quick
@given(st.text(alphabet="fg(x=1,'\"):.*[]{}-+ab\\_\n", max_size=25))
def test_any_text_is_a_spec_or_a_spec_error(text):
    try:
        spec = Spec.parse(text)
    except SpecError:
        return
    assert exact(Spec.parse(str(spec))) == exact(spec)


def test_replace_keeps_what_is_not_replaced():
    spec = Spec.of("f", a=1, name=2)
    assert spec.replace(b=3, name=4) == Spec.of("f", a=1, b=3, name=4)
    assert spec == Spec.of("f", a=1, name=2)


def test_get_tells_a_given_none_from_a_missing_one():
    assert Spec.of("f", x=None).get("x", 7) is None
    assert Spec.of("f").get("x", 7) == 7


def test_only_module_and_attribute_are_foreign():
    assert Spec("a.b:C").foreign
    assert not Spec("gradient").foreign


def test_walk_visits_every_spec_outermost_first():
    seen = []
    walk(Spec.parse("a(x=b(y=(c, 1, d(z=e))), w='f')"), lambda spec: seen.append(spec.name))
    assert seen == ["a", "b", "c", "d", "e"]


def test_a_parameter_given_twice_is_refused():
    with pytest.raises(SpecError, match="steps"):
        Spec.parse("integrated_gradients(steps=1, steps=64)")


def test_a_number_that_is_too_large_is_refused():
    with pytest.raises(SpecError):
        Spec.parse("smoothed(noise=1e999)")


@pytest.mark.parametrize("text", ["f(a=" + "-" * 5000 + "1)", "f" + ".a" * 3000, "f(a=" + "+".join(["1"] * 5000) + ")"])
def test_text_that_is_too_deep_is_a_spec_error(text):
    with pytest.raises(SpecError):
        Spec.parse(text)


def test_a_string_in_triple_quotes_is_left_alone():
    assert Spec.parse("f(x='''it's a:b''')").get("x") == "it's a:b"


def test_no_name_is_taken_for_a_placeholder():
    assert Spec.parse("f(x=_target_0_, y=m:A)").get("x") == Spec("_target_0_")


@pytest.mark.parametrize(
    "text, label, spec",
    [
        ("mine=precomputed(path='a=b.npy')", "mine", "precomputed(path='a=b.npy')"),
        (" Grad-CAM, layer 3 = grad_cam", "", " Grad-CAM, layer 3 = grad_cam"),  # a comma begins a list
        (" Grad-CAM of layer 3 = grad_cam", "Grad-CAM of layer 3", " grad_cam"),
        ("smoothed(of=gradient())", "", "smoothed(of=gradient())"),
        ("captum.attr:Saliency(abs=False)", "", "captum.attr:Saliency(abs=False)"),
        ("=gradient", "", "=gradient"),
    ],
)
def test_a_label_comes_before_a_spec(text, label, spec):
    assert labelled(text) == (label, spec)
