"""What docs/controls.md says about metrics is what was measured, and every metric is in it."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import assay
from assay.catalogue.cards import Card, with_controls
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


def test_every_metric_is_in_the_study_or_claims_no_faithfulness(made: ModuleType) -> None:
    missing = sorted(made.faithful() - set(made.USES))
    assert not missing, (
        f"{missing}: add a line to studies/controls.toml, or to NOT_ABOUT_FAITHFULNESS in {made.__file__}"
    )
    assert [place["name"] for place in made.read()["places"]] == list(made.PLACES)


@pytest.mark.parametrize("name", [*catalogue("metrics"), *aliases("metrics")])
def test_the_card_says_what_was_measured_about_controls(made: ModuleType, name: str) -> None:
    spec = expand_alias("metrics", Spec(name))
    found = card("metrics", spec.name).with_params(spec).fact("controls")
    assert found == made.card_fact(made.read(), name), "python docs/make_controls.py --page"


def row(page: str, name: str) -> list[str]:
    """The cells of the summary, one for each place."""
    (line,) = [line for line in page.partition("\n## Linear")[0].splitlines() if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_what_was_not_measured_is_shown_as_not_measured(made: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = made.read()
    cifar = list(made.PLACES).index("CIFAR-10")
    del kept["places"][cifar]["metrics"]["deletion"]
    assert row(made.page(kept), "deletion") == ["all lose", "all lose", "all lose", "not measured", ""]
    assert made.card_fact(kept, "deletion") == "all lose; not measured: CIFAR-10"
    for place in kept["places"]:
        place["metrics"].pop("deletion", None)
    assert row(made.page(kept), "deletion") == [*["not measured"] * 4, ""]
    assert made.card_fact(kept, "deletion") == "not measured"
    items = [item for item in made.ITEMS if item["use"] != "deletion(canvas='zero')"]  # also where the study forgot it
    monkeypatch.setattr(made, "ITEMS", items)
    assert row(made.page(kept), "deletion") == ["not measured"] * 5


def test_a_metric_that_nobody_has_measured_says_so_on_its_card() -> None:
    metric = Card("metrics", "mine", "my:Mine", facts=(("aliases", (("yours", "a", 1),)), ("varies", (("a", 1, {}),))))
    carded = with_controls(metric, {"recall": "all lose"})
    assert carded.fact("controls") == "not measured"
    assert carded.with_params(Spec("mine", (("a", 1),))).fact("controls") == "not measured"


def test_places_without_data_are_left_out_of_a_part(made: ModuleType) -> None:
    items = [{"use": "f1", "only": ["linear", "cifar"]}, {"use": "roar", "only": ["cifar"]}, {"use": "recall"}]
    kept = made.restricted(items, [place for place in made.STUDY["environments"] if place["label"] != "CIFAR-10"])
    assert kept == [{"use": "f1", "only": ["linear"]}, {"use": "recall"}]


def test_a_run_of_a_part_leaves_the_rest_as_it_was(made: ModuleType, tmp_path: Path) -> None:
    place = made.STUDY["environments"][0]
    methods = [{"use": "input_x_gradient", "label": "InputXGradient"}, *made.CONTROLS]
    table = {**made.STUDY, "environments": [place], "methods": methods, "metrics": ["spearman"]}
    assay.run(read(table, "controls"), tmp_path)
    before, now = made.read()["places"], made.measured(tmp_path)["places"]
    assert now[1:] == before[1:]
    near(now[0]["metrics"]["spearman"]["scores"], before[0]["metrics"]["spearman"]["scores"])
    assert {**now[0]["metrics"], "spearman": 0} == {**before[0]["metrics"], "spearman": 0}


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
