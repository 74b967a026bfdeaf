"""What docs/controls.md says about metrics is what was measured, and every metric is in it."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import assay
from assay.catalogue.registry import aliases, card, catalogue, expand_alias
from assay.core.evidence import Evidence
from assay.core.spec import Spec
from assay.engine.store.store import Store
from assay.report.loaded_run import load_run
from assay.studies.file import read


@pytest.fixture(scope="module")
def made() -> ModuleType:
    found = spec_from_file_location("make_controls", Path(__file__).parents[3] / "docs" / "make_controls.py")
    assert found is not None
    assert found.loader is not None
    module = sys.modules["make_controls"] = module_from_spec(found)  # dataclasses look for their module
    found.loader.exec_module(module)
    return module


def test_the_page_of_controls_is_what_was_measured(made: ModuleType) -> None:
    assert made.PAGE.read_text(encoding="utf-8") == made.page(made.read()), "python docs/make_controls.py --page"


def test_every_metric_was_measured_somewhere_or_is_not_about_faithfulness(made: ModuleType) -> None:
    kept = made.read()
    assert kept["not about faithfulness"] == made.NOT_ABOUT_FAITHFULNESS
    found = {name for place in kept["places"] for name, told in place["metrics"].items() if "behind" in told}
    missing = {*catalogue("metrics"), *aliases("metrics")} - found - set(made.NOT_ABOUT_FAITHFULNESS)
    assert not missing, f"python docs/make_controls.py {' '.join(sorted(missing))}"
    assert [place["name"] for place in kept["places"]] == [place["label"] for place in made.STUDY["environments"]]


@pytest.mark.parametrize("name", [*catalogue("metrics"), *aliases("metrics")])
def test_the_card_names_the_controls_that_do_not_lose(made: ModuleType, name: str) -> None:
    spec = expand_alias("metrics", Spec(name))
    assert card("metrics", spec.name).with_params(spec).fact("controls", "") == made.card_fact(made.read(), name)


def near(found: dict[str, float | None], kept: dict[str, float | None]) -> None:
    assert {name for name, value in found.items() if value is None} == {name for name in kept if kept[name] is None}
    for name, value in kept.items():
        assert value is None or found[name] == pytest.approx(value, rel=2e-3, abs=1e-6)


def test_what_is_kept_about_the_linear_model_can_be_measured_again(made: ModuleType, tmp_path: Path) -> None:
    names = ["deletion", "infidelity", "completeness", "recall", "spearman", "modulo_insertion"]
    place, kept = made.STUDY["environments"][0], made.read()["places"][0]["metrics"]
    methods = [{"use": "input_x_gradient", "label": "InputXGradient"}, *made.CONTROLS]
    table = {**made.STUDY, "environments": [place], "methods": methods, "metrics": names}
    assay.run(read(table, "controls"), tmp_path)
    for name, found in made.place_metrics(load_run(Store.open(tmp_path, create=False)), place["label"]):
        assert found.get("skipped") == kept[name].get("skipped")
        assert found.get("best") == kept[name].get("best")
        near(found.get("scores", {}), kept[name].get("scores", {}))
        for control, pair in found.get("behind", {}).items():
            near(pair or {}, kept[name]["behind"][control] or {})


@pytest.mark.parametrize("higher", [True, False])
def test_a_control_that_is_better_wins_and_one_that_is_worse_loses(made: ModuleType, higher: bool) -> None:
    sign, values = (1 if higher else -1), np.arange(12.0)
    shifts = {"a": 0.0, "b": 5.0, "random_map": 9.0, "constant": 1.0, "edge_map": 5.0}
    wobble = np.tile([0.1, -0.1], 6)
    found = {name: Evidence({"value": sign * (values + shift + wobble * shift)}) for name, shift in shifts.items()}
    told = made.compared(SimpleNamespace(higher_is_better=higher), found, ["a", "b"])
    assert told["best"] == "b"
    outcomes = {name: made.outcome(pair) for name, pair in told["behind"].items()}
    assert outcomes == {"random_map": "wins", "constant": "loses", "edge_map": "even"}


def test_the_level_is_shared_among_the_methods_the_best_is_chosen_from(made: ModuleType) -> None:
    rng = np.random.default_rng(0)
    found = {name: Evidence({"value": rng.normal(size=20)}) for name in ("a", "b", "c", *made.CONTROLS)}
    best = max("abc", key=lambda name: found[name]["value"].mean())
    one, several = (made.compared(SimpleNamespace(higher_is_better=True), found, names) for names in ([best], [*"abc"]))
    for control in made.CONTROLS:
        narrow, wide = one["behind"][control], several["behind"][control]
        assert narrow["mean"] == wide["mean"]
        assert wide["high"] - wide["low"] > 1.15 * (narrow["high"] - narrow["low"])


def test_a_control_without_a_score_cannot_mislead(made: ModuleType) -> None:
    some = Evidence({"value": np.arange(4.0)})
    none = Evidence({"value": np.zeros(4), "defined": np.zeros(4, dtype=bool)})
    told = made.compared(
        SimpleNamespace(higher_is_better=True),
        {"a": some, "random_map": some, "constant": none, "edge_map": none},
        ["a"],
    )
    assert [made.outcome(told["behind"][name]) for name in made.CONTROLS] == ["even", "undefined", "undefined"]
