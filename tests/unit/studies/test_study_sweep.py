"""A sweep makes one item per value of every item that has the parameter, and says everything that is wrong with it."""

import pytest

from assay.core.errors import StudyError
from assay.foreign.imports import without_imports
from assay.studies.file import read
from assay.studies.shipped import find
from assay.studies.study import Study, Varied

BASE = {
    "environments": [{"use": "color_count(side=16)", "label": "c"}, {"use": "token_count", "label": "t"}],
    "methods": [
        {"use": "integrated_gradients", "label": "IG"},
        {"use": "smoothed(of=integrated_gradients(steps=8))", "label": "S"},
        {"use": "gradient", "only": ["c"]},
    ],
    "metrics": [{"use": "f1", "label": "F", "only": ["c"]}, "precision"],
}
VALUES = "sweep: values must be a list of 2 to 1000 values: finite numbers, texts, true, false or lists of these"


def study(of, parameter, values, **more):
    return read({**BASE, "sweep": {"of": of, "parameter": parameter, "values": values, **more}}, "s")


def problems(sweep, **changed):
    with pytest.raises(StudyError) as refused:
        read({**BASE, **changed, "sweep": sweep}, "s")
    return list(refused.value.problems)


def labels(entries):
    return [entry.label for entry in entries]


def test_only_items_that_have_the_parameter_are_varied():
    swept = study("methods", "steps", [4, 8])
    assert labels(swept.methods) == ["IG, steps=4", "IG, steps=8", "S", "gradient"]
    assert [method.spec.get("steps") for method in swept.methods] == [4, 8, None, None]
    assert labels(swept.environments) == ["c", "t"]
    assert swept.sweep.items == (Varied("IG", ("IG, steps=4", "IG, steps=8")),)
    assert swept.sweep.label == "steps"


def test_environments_keep_their_size_and_what_is_only_for_them():
    swept = study("environments", "temperature", [1, 10.5], only=["c"], label="T")
    assert labels(swept.environments) == ["c, temperature=1", "c, temperature=10.5", "t"]
    assert [entry.spec.get("temperature") for entry in swept.environments] == [1.0, 10.5, None]
    assert swept.methods[2].only == ("c, temperature=1", "c, temperature=10.5")
    assert [swept.metrics[0].applies(entry) for entry in swept.environments] == [True, True, False]
    assert swept.sweep.label == "T"


def test_without_only_every_environment_that_has_the_parameter_is_varied():
    swept = study("environments", "temperature", [1, 2])
    assert labels(swept.environments) == [f"{name}, temperature={value}" for name in "ct" for value in (1, 2)]


def test_metrics_inner_components_and_questions_can_be_varied():
    assert labels(study("metrics", "sign", ["positive", "negative"], only=["f1"]).metrics) == [
        "F, sign=positive",
        "F, sign=negative",
        "precision",
    ]
    inner = study("methods", "of.steps", [4, 16])
    assert [str(method.spec.get("of").get("steps")) for method in inner.methods[1:3]] == ["4", "16"]
    asked = study("methods", "question.baseline", [0, 20, "true"], only=["IG"])
    assert [method.question.baseline for method in asked.methods[:3]] == [0.0, 20.0, "true"]
    assert asked.methods[3].question.baseline is None


def test_lists_become_tuples_and_truth_values_stay():
    sizes = study("environments", "sizes", [[2, 3], [3, 6]])
    assert sizes.environments[1].spec.get("sizes") == (3, 6)
    assert labels(sizes.environments)[1] == "c, sizes=(3, 6)"
    assert sizes.to_json()["sweep"]["values"] == [[2, 3], [3, 6]]
    assert Study.from_json(sizes.to_json()).sweep == sizes.sweep
    assert study("environments", "uniform", [True, False]).environments[0].spec.get("uniform") is True


@pytest.mark.parametrize(
    ("sweep", "sentence"),
    [
        ({"values": [1]}, VALUES),
        ({"values": 3}, VALUES),
        ({"values": [4, 8, 4]}, "sweep: 'IG': value 4 is given twice"),
        ({"values": [4, "x"]}, "sweep: 'IG': integrated_gradients: steps='x' does not fit int | None."),
        ({"values": [4, float("inf")]}, f"{VALUES}, not [4, inf]"),
        ({"values": [4, {"a": 1}]}, f"{VALUES}, not [4, {{'a': 1}}]"),
        ({"parameter": "step"}, "sweep: none of the methods has a parameter 'step'. Did you mean 'steps'?"),
        ({"parameter": "of.of"}, "sweep: none of the methods has a parameter 'of.of'."),
        ({"parameter": ""}, "sweep: parameter must be the name of a parameter, not ''"),
        ({"of": "seeds"}, "sweep: of must be 'environments', 'methods' or 'metrics', not 'seeds'"),
        ({"of": ["methods"]}, "sweep: of must be 'environments', 'methods' or 'metrics', not ['methods']"),
        ({"only": ["gradient"]}, "sweep: 'gradient' has no parameter 'steps'."),
        ({"only": ["IGG"]}, "sweep: only: no item 'IGG' among the methods. Did you mean 'IG'?"),
        ({"only": "IG"}, "sweep: only must be a list of texts, not 'IG'"),
        ({"valeus": []}, "sweep: unknown key 'valeus'. Did you mean 'values'?"),
        ({"values": list(range(1, 1002))}, f"{VALUES}, not 1001 items"),
        ({"parameter": "question.baseline", "values": [1, "tru"], "only": ["IG"]}, "sweep: 'IG': baseline 'tru' is"),
        ({"parameter": "question.base"}, "sweep: none of the methods has a parameter 'question.base'."),
    ],
)
def test_mistakes_are_told(sweep, sentence):
    found = problems({"of": "methods", "parameter": "steps", "values": [4, 8], **sweep})
    assert any(problem.startswith(sentence) for problem in found), found


def test_all_mistakes_are_told_at_once_with_those_of_the_file():
    found = problems({"of": "m", "values": [1], "x": 1}, seeds=[])
    assert len(found) == 5
    assert problems(3) == [
        "sweep must be a table such as { of = 'methods', parameter = 'steps', values = [8, 64] }, not 3"
    ]


def test_a_label_of_another_item_is_not_taken():
    methods = [{"use": "integrated_gradients", "label": "IG"}, {"use": "gradient", "label": "IG, steps=4"}]
    found = problems({"of": "methods", "parameter": "steps", "values": [4, 8]}, methods=methods)
    assert found == ["sweep: label 'IG, steps=4' is used twice; give an item another label"]


def test_code_that_must_not_be_imported_is_not_refused_for_its_parameters():
    table = {**BASE, "methods": ["nowhere:Method"], "sweep": {"of": "methods", "parameter": "k", "values": [1, 2]}}
    with without_imports():
        assert labels(read(table, "s").methods) == ["nowhere:Method"]


def test_a_varied_method_is_required_by_the_label_of_a_copy():
    tests = [{"metric": "precision", "require": ["IG, steps=8"]}]
    sweep = {"of": "methods", "parameter": "steps", "values": [4, 8]}
    assert read({**BASE, "sweep": sweep, "faithfulness": tests}, "s").faithfulness[0].require == ("IG, steps=8",)


def test_a_shipped_curve_varies_a_parameter_of_the_token_network():
    swept = find("attributionlab/curve_tokens")
    shares = [entry.spec.get("negated") for entry in swept.environments]
    assert shares == list(swept.sweep.values)
    assert {entry.spec.name for entry in swept.environments} == {"token_count"}
