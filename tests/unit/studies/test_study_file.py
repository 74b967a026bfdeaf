"""A study file is read to the end: every mistake is told at once, and a sound one means what it says."""

import datetime
import json
import re

import pytest

from assay.core.errors import AssayError, StudyError
from assay.core.floors import Check
from assay.core.question import Question
from assay.core.records import canonical
from assay.core.spec import Spec
from assay.studies.file import load, read
from assay.studies.shipped import find, shipped_studies, title
from assay.studies.study import Entry, Faithfulness, Study

BASE = {"environments": ["color_count"], "methods": ["gradient"], "metrics": ["f1"]}


def problems(**changed):
    with pytest.raises(StudyError) as refused:
        read({**BASE, **changed}, "s", "s.toml")
    return list(refused.value.problems)


def test_a_small_study_is_filled_with_defaults():
    study = read(BASE, "small")
    assert (study.name, study.title, study.seeds, study.data_seed, study.gallery) == ("small", "", (0,), None, 4)
    assert study.faithfulness == ()
    (environment,), (method,), (metric,) = study.environments, study.methods, study.metrics
    assert (environment.label, environment.samples, environment.block) == ("color_count", 16, 8)
    assert environment.spec.get("side") == 224
    assert method == Entry(Spec("gradient"), "gradient")
    assert metric.spec == Spec.of("f1", sign="overall", smooth=0.0, truth="explained")


def test_a_large_study_means_what_it_says():
    study = read(
        {
            "title": "T",
            "seeds": [3, 1],
            "data_seed": 7,
            "samples": 32,
            "block": 4,
            "gallery": 0,
            "question": {"target": "predicted", "readout": "logit"},
            "environments": ["color_count", {"use": "pixel_modulo(side=64)", "label": "PM", "samples": 2, "block": 1}],
            "methods": [
                "gradient",
                {"use": "integrated_gradients", "label": "IG*", "question": {"baseline": "true", "readout": "margin"}},
                {"use": "lrp", "only": ["PM", "color_count"]},
            ],
            "metrics": [{"use": "f1", "only": ["pixel_modulo"]}, "precision"],
            "faithfulness": [{"metric": "precision", "gamma": 0.9, "require": ["IG*"]}, {"metric": "f1"}],
        },
        "large",
    )
    assert (study.title, study.seeds, study.data_seed, study.gallery) == ("T", (3, 1), 7, 0)
    assert [(e.label, e.samples, e.block) for e in study.environments] == [("color_count", 32, 4), ("PM", 2, 1)]
    assert [m.question for m in study.methods] == [
        Question(target="predicted", readout="logit"),
        Question(target="predicted", readout="margin", baseline="true"),
        Question(target="predicted", readout="logit"),
    ]
    assert study.metrics[0].question == study.environments[0].question == Question()
    assert study.methods[2].only == ("PM", "color_count")
    signs = [
        Check("f1", 0.5, "overall"),
        Check("f1, positive", 0.5, "positive"),
        Check("f1, negative", 0.5, "negative"),
    ]
    assert study.faithfulness == (
        Faithfulness("precision", 0.9, ("IG*",), (Check("precision", 0.9, "overall"),)),
        Faithfulness("f1", 0.5, (), (*signs, Check("sign agreement", 0.75, "agreement"))),
    )
    added = [metric for metric in study.metrics if metric.label not in ("f1", "precision")]
    assert [metric.label for metric in added] == ["f1, positive", "f1, negative", "sign agreement"]
    assert {metric.only for metric in added} == {("pixel_modulo",)}  # where the tested metric is asked
    first, second = study.environments
    assert [study.metrics[0].applies(e) for e in (first, second)] == [False, True]  # by the name of the component
    assert [study.methods[2].applies(e) for e in (first, second)] == [True, True]  # by name or by label
    assert study.methods[0].applies(first)


def test_a_test_finds_the_metrics_that_a_study_has_under_other_labels():
    metrics = [{"use": "f1", "label": "F"}, {"use": "f1(sign='negative')", "label": "minus"}, "precision"]
    study = read({**BASE, "metrics": metrics, "faithfulness": [{"metric": "F", "agreement": 0.9}]}, "s")
    (test,) = study.faithfulness
    assert [(check.metric, check.floor) for check in test.checks] == [
        ("F", 0.5),
        ("F, positive", 0.5),
        ("minus", 0.5),
        ("sign agreement", 0.9),
    ]
    assert [metric.label for metric in study.metrics] == ["F", "minus", "precision", "F, positive", "sign agreement"]


def test_the_papers_test_is_a_choice():
    table = {"metric": "f1", "signs": False, "rule": "point", "strict": True, "by": {"gradient": "precision"}}
    study = read({**BASE, "metrics": ["f1", "precision"], "faithfulness": [table]}, "s")
    (test,) = study.faithfulness
    assert test.checks == (Check("f1", 0.5, "overall"),)
    assert (test.rule, test.strict, test.by) == ("point", True, {"gradient": "precision"})
    assert len(study.metrics) == 2


def test_mistakes_in_a_test_are_told():
    table = {
        "metric": "f1",
        "signs": 1,
        "rule": "points",
        "strict": "no",
        "agreement": "x",
        "by": {"gradeint": "f1, postive"},
    }
    told = "\n".join(problems(metrics=["f1"], faithfulness=[table]))
    for part in (
        "signs must be true or false, not 1",
        "rule must be 'interval' or 'point', not 'points'",
        "strict must be true or false, not 'no'",
        "agreement must be a number, not 'x'",
        "by: no method 'gradeint'. Did you mean 'gradient'?",
        "by: no metric 'f1, postive'.",
    ):
        assert part in told, part


def test_every_mistake_is_told_at_once():
    found = problems(
        sampels=3,
        seeds=[1, 1],
        samples=0,
        block="8",
        gallery=-1,
        question={"readout": "logits"},
        environments=["color_count", "color_count", {"use": "colour_count"}, {"label": "x"}],
        methods=["gradeint", "smoothed(samples='x')", {"use": "lrp", "only": ["elsewhere"]}, 3],
        metrics=[{"use": "f1", "weight": 2}, {"use": "f1", "label": "F", "question": {}}],
        faithfulness=[{"metric": "F1", "require": ["lrp", "gradint"]}],
    )
    told = "\n".join(found)
    for part in (
        "unknown key 'sampels'. Did you mean 'samples'?",
        "seeds must be a list of different whole numbers, or how many of them (1 to 10000), not [1, 1]",
        "samples must be a whole number of at least 1, not 0",
        "block must be a whole number of 1 to 100000, not '8'",
        "gallery must be a whole number of 0 to 1000, or a list of different indices of samples, not -1",
        "question: readout 'logits' is unknown. Did you mean 'logit'?",
        "environments item 2: label 'color_count' is used twice; give one a label",
        "environments item 3: unknown environment 'colour_count'. Did you mean 'color_count'?",
        'environments item 4: write a spec in quotes, or a table with use = "..."',
        "methods item 1: unknown method 'gradeint'. Did you mean 'gradient'?",
        "methods item 2: smoothed: samples='x' does not fit int.",
        "methods item 4: write a spec in quotes",
        "'lrp': only = 'elsewhere' is no environment of this study.",
        "metrics item 1: unknown key 'weight'. Parameters belong to the spec: use = \"NAME(weight=...)\".",
        "metrics item 2: unknown key 'question'.",
        "faithfulness item 1: no metric 'F1'.",
        "faithfulness item 1: no method 'gradint'",
    ):
        assert part in told, part
    assert len(found) == 17


def test_the_error_names_the_file_and_counts():
    with pytest.raises(StudyError, match=r"^s\.toml: 2 problems\n  - .*\n  - "):
        read({**BASE, "seeds": [], "samples": -1}, "s", "s.toml")
    with pytest.raises(StudyError, match=r"^s\.toml: 1 problem\n  - "):
        read({**BASE, "seeds": []}, "s", "s.toml")


@pytest.mark.parametrize("kind", ["environments", "methods", "metrics"])
@pytest.mark.parametrize("items", [[], "gradient", {}, None, 3, {"use": "gradient"}])
def test_a_list_that_is_none_or_empty_is_told(kind, items):
    given = "and is missing" if items is None else f"not {items!r}"
    assert problems(**{kind: items})[0] == f"{kind} must be a list of 1 to 1000 items, {given}"
    table = {name: value for name, value in BASE.items() if name != kind}
    with pytest.raises(StudyError, match=f"{kind} must be a list of 1 to 1000 items, and is missing"):
        read(table, "s")


@pytest.mark.parametrize("seeds", ["all", 0, -1, 10001, 1.0, [0.0], [True], ["0"], [], [0, 0], {}, [[0]]])
def test_seeds_are_different_whole_numbers(seeds):
    assert problems(seeds=seeds) == [
        f"seeds must be a list of different whole numbers, or how many of them (1 to 10000), not {seeds!r}"
    ]


def test_no_value_is_no_seed_and_a_long_list_is_counted():
    assert problems(seeds=None) == [
        "seeds must be a list of different whole numbers, or how many of them (1 to 10000), and is missing"
    ]
    assert problems(seeds=["0"] * 1001) == [
        "seeds must be a list of different whole numbers, or how many of them (1 to 10000), not 1001 items"
    ]


@pytest.mark.parametrize("key", ["samples", "block", "gallery"])
@pytest.mark.parametrize("value", [-1, 1.0, True, "8", {}, float("nan"), datetime.date(2026, 1, 1)])
def test_counts_are_whole_numbers(key, value):
    (told,) = problems(**{key: value})
    assert told.startswith(f"{key} must be a whole number")


def test_a_gallery_may_say_which_samples_it_shows():
    study = read({**BASE, "samples": 1000, "gallery": [654, 89, 773]}, "s")
    assert (study.gallery, study.pictured) == ((654, 89, 773), (654, 89, 773))
    assert study.to_json()["gallery"] == [654, 89, 773]
    assert read({**BASE, "gallery": 3}, "s").pictured == (0, 1, 2)


@pytest.mark.parametrize("value", [[], [1, 1], [-1], [True], [0.0], ["0"], [[0]], list(range(1001))], ids=repr)
def test_a_gallery_lists_different_indices(value):
    (told,) = problems(samples=2000, gallery=value)
    given = "1001 items" if len(value) > 1000 else repr(value)
    assert (
        told == f"gallery must be a whole number of 0 to 1000, or a list of different indices of samples, not {given}"
    )


def test_a_gallery_shows_no_sample_that_the_study_does_not_have():
    assert problems(samples=773, gallery=[654, 773]) == [
        "gallery: 'color_count' has samples 0 to 772, and none 773",
    ]


def test_labels_tell_equal_specs_apart():
    items = ["gradient", {"use": "gradient", "label": "again"}]
    assert [entry.label for entry in read({**BASE, "methods": items}, "s").methods] == ["gradient", "again"]
    assert problems(methods=["gradient", "gradient"]) == [
        "methods item 2: label 'gradient' is used twice; give one a label"
    ]
    spaced = [{"use": "gradient", "label": "x y"}, {"use": "gradient", "label": "x  y "}]
    assert problems(methods=spaced) == ["methods item 2: label 'x y' is used twice; give one a label"]


def test_a_label_may_be_used_again_by_another_kind():
    assert read({**BASE, "metrics": [{"use": "f1", "label": "gradient"}]}, "s").metrics[0].label == "gradient"


def test_a_wrong_environment_is_told_once_though_a_test_adds_metrics_for_it():
    assert problems(metrics=[{"use": "f1", "only": ["x"]}], faithfulness=[{"metric": "f1"}]) == [
        "'f1': only = 'x' is no environment of this study."
    ]


def test_the_floor_of_a_faithfulness_test_needs_a_metric_that_is_better_when_higher():
    (told,) = problems(metrics=["deletion"], faithfulness=[{"metric": "deletion"}])
    assert "better when lower" in told


# Files.


def test_a_file_is_read_and_named_by_its_stem(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('environments = ["color_count"]\nmethods = ["gradient"]\nmetrics = ["f1(sign=\'positive\')"]\n')
    assert load(path) == read({**BASE, "metrics": ["f1(sign='positive')"]}, "mine")
    assert find(str(path)) == load(path)


@pytest.mark.parametrize("text", ["seeds = ", "a = 1\na = 2", "\0", "[x", 'title = "unfinished'])
def test_a_file_that_is_no_toml_is_a_study_error(tmp_path, text):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(StudyError, match="not valid TOML"):
        load(path)


def test_a_file_that_cannot_be_read_is_an_error_with_its_path(tmp_path):
    (tmp_path / "latin.toml").write_bytes(b"title = 'caf\xe9'\n")
    for name in ("latin.toml", "absent.toml", "."):
        with pytest.raises(AssayError, match=re.escape(str(tmp_path / name))):
            load(tmp_path / name)


def test_an_empty_file_misses_three_lists(tmp_path):
    (tmp_path / "empty.toml").write_text("")
    with pytest.raises(StudyError, match="3 problems"):
        load(tmp_path / "empty.toml")


@pytest.mark.parametrize("name", sorted(shipped_studies()))
def test_every_shipped_study_loads_under_every_way_to_call_it(name):
    study = find(name)
    assert study == find(f"studies/{name}.toml") == find(str(shipped_studies()[name]))
    assert study.name == name
    assert study.to_json() == {**load(shipped_studies()[name]).to_json(), "name": name}
    assert title(shipped_studies()[name]) == study.title != ""


@pytest.mark.parametrize("name", sorted(shipped_studies()))
def test_what_a_run_records_of_a_study_is_read_back(name):
    study = find(name)
    stored = json.loads(canonical(study.to_json()))
    again = Study.from_json(stored)
    assert again.to_json() == stored
    for kind in ("environments", "faithfulness", "agreement", "slope", "sweep", "seeds", "gallery"):
        assert getattr(again, kind) == getattr(study, kind)
    for kind in ("methods", "metrics"):
        entries = zip(getattr(again, kind), getattr(study, kind), strict=True)
        assert all(
            (a.spec, a.label, a.question, a.only, a.family) == (b.spec, b.label, b.question, b.only, b.family)
            for a, b in entries
        )


def test_a_study_that_is_nowhere_is_suggested_and_listed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssayError, match=r"no study 'demoo'.*Did you mean 'demo'\? Shipped: .*demo"):
        find("demoo")
    with pytest.raises(AssayError, match="not a file"):
        find("absent.toml")


def test_a_narrowed_study_is_smaller_and_never_larger():
    study = read({**BASE, "environments": ["color_count", {"use": "pixel_modulo", "samples": 4}], "seeds": [0, 1]}, "s")
    narrow = study.narrowed(8, None)
    assert [entry.samples for entry in narrow.environments] == [8, 4]
    assert narrow.seeds == (0, 1)
    assert study.narrowed(None, (5,)).seeds == (5,)
    assert study.narrowed(100, None) == study == study.narrowed(None, None)


# Faults: content that is wrong and is taken, or breaks the reader.


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        pytest.param({"faithfulness": {"metric": "f1"}}, "faithfulness", id="[faithfulness], one table"),
        pytest.param({"faithfulness": "f1"}, "faithfulness", id="faithfulness is text"),
        pytest.param({"faithfulness": 3}, "faithfulness", id="faithfulness is a number"),
        pytest.param({"faithfulness": ["f1"]}, "faithfulness", id="a test is text"),
        pytest.param({"faithfulness": [{"metric": "f1", "gamma": "x"}]}, "gamma", id="gamma is text"),
        pytest.param({"faithfulness": [{"metric": "f1", "gamma": []}]}, "gamma", id="gamma is a list"),
        pytest.param({"faithfulness": [{"metric": 3}]}, "metric", id="metric is a number"),
        pytest.param({"faithfulness": [{"metric": "f1", "require": 3}]}, "require", id="require is a number"),
        pytest.param({"methods": [{"use": "gradient", "only": 3}]}, "only", id="only is a number"),
        pytest.param({"methods": [{"use": "gradient", "only": [["color_count"]]}]}, "only", id="only is a nested list"),
    ],
)
def test_malformed_content_is_a_problem_and_no_accident(changed, named):
    assert named in "\n".join(problems(**changed))


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        pytest.param({"faithfulness": [{"metric": "f1", "gamma": float("nan")}]}, "gamma", id="gamma is nan"),
        pytest.param({"faithfulness": [{"metric": "f1", "gamma": True}]}, "gamma", id="gamma is a truth value"),
        pytest.param({"faithfulness": [{"metric": "f1", "gama": 0.9}]}, "gama", id="an unknown key of a test"),
        pytest.param({"data_seed": "seven"}, "data_seed", id="data_seed is text"),
        pytest.param({"data_seed": 1.5}, "data_seed", id="data_seed is a float"),
        pytest.param({"data_seed": True}, "data_seed", id="data_seed is a truth value"),
        pytest.param({"data_seed": [0]}, "data_seed", id="data_seed is a list"),
        pytest.param({"title": 5}, "title", id="title is a number"),
        pytest.param({"title": ["a"]}, "title", id="title is a list"),
        pytest.param({"methods": [{"use": "gradient", "label": ["a"]}]}, "label", id="label is a list"),
        pytest.param({"methods": [{"use": "gradient", "label": ""}]}, "label", id="label is empty"),
        pytest.param({"question": {"baseline": [1]}}, "baseline", id="baseline is a list"),
        pytest.param({"question": {"temperature": float("inf")}}, "temperature", id="temperature is infinite"),
    ],
)
def test_malformed_content_is_not_taken(changed, named):
    assert named in "\n".join(problems(**changed))


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"methods": [{"use": "gradient", "only": "color_count"}]}, id="only"),
        pytest.param({"faithfulness": [{"metric": "f1", "require": "gradient"}]}, id="require"),
    ],
)
def test_a_text_where_a_list_belongs_is_one_problem(changed):
    (told,) = problems(**changed)
    assert "list" in told


def test_a_text_of_one_letter_is_no_list_either():
    environment = {"use": "color_count", "label": "c"}
    assert problems(environments=[environment], methods=[{"use": "gradient", "only": "c"}])


@pytest.mark.parametrize(
    "use", ["smoothed(noise=1" + "0" * 400 + ")", "smoothed(of=" + "-" * 5000 + "1)", "smoothed(noise=1e999)"]
)
def test_a_spec_out_of_all_measure_is_a_problem_like_any_other(use):
    assert problems(methods=[use])[0].startswith("methods item 1")


@pytest.mark.parametrize("text", ["class Mine(:", "raise RuntimeError('boom')"])
def test_a_component_file_with_a_mistake_is_a_problem_like_any_other(tmp_path, monkeypatch, text):
    (tmp_path / "mistaken_module.py").write_text(text + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = problems(methods=["mistaken_module:Mine", "gradeint"])
    assert [told[:14] for told in found] == ["methods item 1", "methods item 2"]


@pytest.mark.parametrize("limit", [0, -3])
def test_no_study_is_narrowed_to_nothing(limit):
    with pytest.raises(AssayError):
        read(BASE, "s").narrowed(limit, None)


@pytest.mark.parametrize("seeds", [(), (0, 0)])
def test_no_study_is_narrowed_to_no_seed_or_to_one_seed_twice(seeds):
    with pytest.raises(AssayError):
        read(BASE, "s").narrowed(None, seeds)


def test_no_two_shipped_studies_and_no_user_s_study_share_a_name(tmp_path):
    """Its name is also the default store."""
    copy = tmp_path / "small.toml"
    copy.write_bytes(shipped_studies()["soco/small"].read_bytes())
    names = [find(name).name for name in shipped_studies()]
    assert len({*names, find(str(copy)).name}) == len(names) + 1
    assert find(str(copy)).name == "small"


def test_a_number_of_seeds_stands_for_the_seeds_from_0_on():
    assert read({**BASE, "seeds": 3}, "s").seeds == (0, 1, 2)
