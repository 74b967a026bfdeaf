"""A study file may hold two sizes of one study; whichever is asked for, all mistakes are told."""

import pytest

from assay.core.errors import AssayError, StudyError
from assay.studies.file import load, read
from assay.studies.shipped import find, shipped_studies

BASE = {
    "title": "T",
    "seeds": [0],
    "samples": 4,
    "environments": ["color_count(side=16)"],
    "methods": ["gradient"],
    "metrics": ["f1"],
}


def test_keys_of_the_full_scale_replace_those_of_the_file():
    study = read({**BASE, "full": {"seeds": [0, 1], "samples": 50, "methods": ["lrp", "gradient"]}}, "s")
    assert (study.name, study.scale, study.seeds, study.environments[0].samples) == ("s", "quick", (0,), 4)
    full = study.at("full")
    assert (full.name, full.scale, full.title, full.seeds) == ("full/s", "full", "T (full scale)", (0, 1))
    assert full.environments[0].samples == 50
    assert [entry.label for entry in full.methods] == ["lrp", "gradient"]
    assert [entry.spec for entry in full.metrics] == [entry.spec for entry in study.metrics]
    assert study.full_keys == ("seeds", "samples", "methods")
    assert study.at("quick") is study
    assert full.to_json()["scale"] == "full"


def test_nothing_is_merged_deeper():
    sweep = {"of": "environments", "parameter": "temperature", "values": [1, 2], "label": "t"}
    other = {"of": "environments", "parameter": "temperature", "values": [1, 2, 3]}
    full = read({**BASE, "sweep": sweep, "full": {"sweep": other, "title": "Large"}}, "s").at("full")
    assert (full.sweep.label, len(full.environments), full.title) == ("temperature", 3, "Large")


def test_a_study_without_a_full_scale_says_so():
    with pytest.raises(AssayError, match=r"^s has no full scale: its file has no table \[full\]"):
        read(BASE, "s").at("full")
    with pytest.raises(AssayError, match="scale 'huge': choose quick or full"):
        read(BASE, "s").at("huge")


@pytest.mark.parametrize(
    ("full", "told"),
    [
        (
            {"seeds": [0, 0]},
            "full: seeds must be a list of different whole numbers, or how many of them (1 to 10000), not [0, 0]",
        ),
        ({"seed": [0]}, "full: unknown key 'seed'. Did you mean 'seeds'?"),
        ({"full": {"seeds": [1]}}, "full: unknown key 'full'."),
        ({"methods": ["gradeint"]}, "full: methods item 1: unknown method 'gradeint'. Did you mean 'gradient'?"),
        ({}, "full must be a table with keys of the study such as samples = 1000, not {}"),
        (3, "full must be a table with keys of the study such as samples = 1000, not 3"),
    ],
)
def test_mistakes_of_the_full_scale_are_told_with_all_others(full, told):
    with pytest.raises(StudyError) as refused:
        read({**BASE, "samples": 0, "full": full}, "s")
    found = list(refused.value.problems)
    assert found[0].startswith("samples must be a whole number of at least 1")
    assert [problem.partition(" 'assay ls")[0] for problem in found[1:]] == [told]


def test_a_file_may_end_with_both_tables(tmp_path):
    path = tmp_path / "x.toml"
    lines = ["environments = ['color_count(side=16)']", "methods = ['gradient']", "metrics = ['f1']"]
    tables = ["[sweep]", "of = 'environments'", "parameter = 'scale'", "values = [1, 'torch']", "[full]", "samples = 9"]
    path.write_text("\n".join(lines + tables), encoding="utf-8")
    full = load(path).at("full")
    assert [(entry.samples, entry.spec.get("scale")) for entry in full.environments] == [(9, 1.0), (9, "torch")]


FULL = [name for name, path in shipped_studies().items() if "\n[full]\n" in path.read_text(encoding="utf-8")]
CURVES = [name.partition("/")[2] for name in shipped_studies() if "/curve_" in name]
ATTRIBUTION_LAB = ("baselines", "count", "deepshap", "lime", "metrics_unseen", "modulo", "positive_only", "two_objects")


def test_studies_of_attribution_lab_have_a_full_scale():
    assert {f"attributionlab/{name}" for name in (*ATTRIBUTION_LAB, *CURVES)} <= set(FULL)


def test_no_file_has_the_name_of_another_study_at_full_scale(tmp_path):
    text = "environments = ['color_count(side=16)']\nmethods = ['gradient']\nmetrics = ['f1']\n[full]\nsamples = 9\n"
    names = []
    for stem in ("x", "x-full", "full"):
        (path := tmp_path / f"{stem}.toml").write_text(text, encoding="utf-8")
        names += [find(str(path)).name, find(str(path)).at("full").name]
    assert names == ["x", "full/x", "x-full", "full/x-full", "full", "full/full"]


@pytest.mark.parametrize("name", FULL)
def test_a_shipped_full_scale_is_larger(name):
    study = find(name)
    assert study.at("full").name == f"full/{name}"
    assert study.at("full").blocks() > study.blocks()
