"""What a user is told about the methods on a model of their own: the same from Python and from the shell."""

import html
import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

import assay
from assay.cli.main import app
from assay.core.errors import SpecError
from assay.core.machine import Machine
from assay.engine.store.store import Store
from assay.environments.own import Own
from assay.evaluation import plan as plans
from assay.evaluation.plan import Time, Times
from journeys import yours

MEMORY = Machine().memory
QUICK = ["sensitivity_n(sets=8, sizes=2)"]


def table(count=24):
    return torch.randn(count, 6, generator=torch.Generator().manual_seed(0))


def images(count=8):
    return torch.rand(count, 2, 4, 4, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def shell(tmp_path):
    """``assay evaluate`` on rows; what it printed."""

    def run(model, x, *options, store="st", **arrays):
        path = tmp_path / "rows.npz"
        if not path.exists():
            np.savez(path, x=x.numpy(), **arrays)
        asked = ["--model", f"yours:{model}", "--data", path, "--store", tmp_path / store, "--workers", 0, *options]
        return CliRunner().invoke(app, ["evaluate", *map(str, asked)])

    return run


def parsed(done):
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def values(printed):
    rows = (row for board in printed["boards"] for row in board["methods"])
    return {(row["method"], name): cell["value"] for row in rows for name, cell in row["metrics"].items()}


def values_here(found):
    return {(cell.method, cell.metric): cell.value for cell in found.cells}


@pytest.mark.parametrize(("model", "x"), [("careful", table()), ("pictures", images())], ids=["table", "images"])
def test_shell_and_python_give_the_same_verdicts_and_the_same_numbers(shell, model, x):
    printed = parsed(shell(model, x, "--json", "--budget", "none"))
    found = assay.evaluate(getattr(yours, model)(), x, budget=None, memory=MEMORY)
    assert values_here(found) == values(printed)
    (answer,) = printed["answers"].values()
    assert answer["outcomes"] == dict(found.verdict)
    assert len(found.verdict) >= 7
    assert answer["notes"] == list(found.answer.notes)
    assert answer["unfamiliar"] == dict(found.answer.unfamiliar)
    assert answer["verdicts"] == found.verdicts.to_json()


def test_what_is_printed_begins_with_sentences_and_has_one_table(shell):
    found = assay.evaluate(yours.careful(), table(), methods=["input_x_gradient", "gradient"], budget=None)
    lines = repr(found).splitlines()
    assert lines[0] == found.answer.lines()[0]
    assert " pass" in lines[0]
    assert repr(found).count("mean rank") == 0
    printed = shell("careful", table(), "-m", "input_x_gradient", "-m", "gradient", "--budget", "none").stdout
    assert printed.splitlines()[0] == lines[0]
    assert "mean rank" not in printed
    assert lines[0] in found._repr_html_()
    with_others = assay.evaluate(yours.careful(), table(), methods=["gradient"], metrics=["deletion", *QUICK])
    assert with_others.answer is not None
    assert "mean rank" in repr(with_others)


def test_without_a_metric_that_decides_there_is_no_verdict_and_the_board_is_shown():
    found = assay.evaluate(yours.careful(), table(), methods=["gradient"], metrics=["deletion"])
    assert (found.answer, found.verdict) == (None, {})
    assert repr(found).startswith("method ")
    with pytest.raises(ValueError, match="no metric was asked that decides"):
        _ = found.verdicts


def test_json_is_all_that_is_printed_and_it_is_the_same_after_a_restart(shell):
    first = shell("careful", table(), "--json", "-m", "gradient", "--limit", "8")
    again = shell("careful", table(), "--json", "-m", "gradient", "--limit", "8")
    assert parsed(first) == parsed(again)
    dry = shell("careful", table(), "--json", "-m", "gradient", "--limit", "8", "--dry-run")
    assert parsed(dry)["jobs"] == {}


def test_background_and_imputer_are_other_names_for_reference_and_canvas():
    given = {"methods": ["input_x_gradient"], "metrics": QUICK}
    x, others = table(), table(40) + 1
    named = assay.evaluate(yours.careful(), x, reference=others, canvas="rows", **given)
    assert values_here(assay.evaluate(yours.careful(), x, background=others, imputer="marginal", **given)) == (
        values_here(named)
    )
    at_mean = assay.evaluate(yours.careful(), x, background=others, imputer="baseline", **given)
    assert values_here(at_mean) != values_here(named)
    assert values_here(at_mean) == values_here(
        assay.evaluate(yours.careful(), x, reference=others, canvas="mean", **given)
    )
    with pytest.raises(SpecError, match="reference and background are two names"):
        assay.evaluate(yours.careful(), x, reference=others, background=others, **given)
    with pytest.raises(SpecError, match="canvas and imputer are two names"):
        assay.evaluate(yours.careful(), x, canvas="mean", imputer="mean", **given)


def test_a_function_may_say_what_replaces_features():
    def black(x, keep):
        return torch.where(keep, x, torch.zeros_like(x))

    asked = {"methods": ["input_x_gradient", "random_map"], "budget": None}
    found = assay.evaluate(yours.careful(), table(), imputer=black, **asked)
    zero = assay.evaluate(yours.careful(), table(), canvas="zero", **asked)
    assert found.verdict == zero.verdict
    for method in asked["methods"]:  # sets of columns are drawn for each metric by itself, orders are not
        gain = method, "relevance gain"
        assert found[gain].value == pytest.approx(zero[gain].value, abs=1e-6)
    assert "A removed feature becomes black()" in repr(found)
    both = assay.evaluate(yours.careful(), table(), canvas=[black, "mean"], **asked)
    assert {cell.canvas for cell in both.verdicts["input_x_gradient"].cells} == {"black()", "mean"}


def test_a_single_row_without_a_reference_is_refused_unless_it_is_said_what_replaces_features(shell):
    words = "what would replace a removed feature"
    with pytest.raises(SpecError, match=f"one row without reference: {words}"):
        assay.evaluate(yours.careful(), table(1))
    refused = shell("careful", table(1))
    assert f"one row without a reference: {words}" in str(refused.exception)
    assert assay.evaluate(yours.careful(), table(1), canvas=0.5, methods=["gradient"]).cells[0].status == "ok"
    named = assay.evaluate(yours.careful(), table(1), methods=["gradient"], metrics=["deletion(canvas='zero')"])
    assert named.cells[0].status == "ok"
    with_rows = assay.evaluate(yours.careful(), table(1), reference=table(), methods=["gradient"])
    assert with_rows.cells[0].status == "ok"


def test_a_canvas_that_nobody_knows_is_told_before_anything_runs(shell, tmp_path):
    with pytest.raises(SpecError, match="Did you mean 'rows'"):
        assay.evaluate(yours.careful(), table(), canvas="rowss")
    assert "Did you mean 'rows'" in str(shell("careful", table(), "--canvas", "rowss").exception)
    assert not (tmp_path / "st").exists()


@pytest.mark.parametrize(
    ("metric", "status"), [("axiom_dummy", "ok"), ("deletion", "ok"), ("ids", "ok"), ("infidelity", "ok")]
)
def test_every_metric_that_removes_columns_has_a_canvas_that_it_can_use(metric, status):
    (cell,) = assay.evaluate(yours.careful(), table(), methods=["gradient"], metrics=[metric]).cells
    assert (cell.status, cell.reason) == (status, "")


@pytest.fixture
def slow(monkeypatch):
    """Every method takes 1.65 seconds a row: a minute is enough for 36 rows of one."""

    def measured(plan, *_):
        return Times(methods={item.label: Time(row=1.65) for item in plan.methods})

    monkeypatch.setattr(plans, "measured", measured)


@pytest.mark.usefixtures("slow")
def test_rows_for_which_there_is_time_are_drawn_the_same_in_the_shell_and_in_python(shell):
    x = table(48)
    drawn = Own.order(48, 1)[:36]
    assert drawn.tolist() != list(range(36))
    printed = parsed(shell("careful", x, "--json", "-m", "input_x_gradient"))
    found = assay.evaluate(yours.careful(), x, methods=["input_x_gradient"], memory=MEMORY)
    assert values_here(found) == values(printed)
    assert found.plan.rows == 36
    everything = assay.attribute(yours.careful(), x, "input_x_gradient", reference=x, baseline="mean")
    assert torch.equal(found.attributions["input_x_gradient"], torch.as_tensor(everything.attribution)[drawn])
    (answer,) = printed["answers"].values()
    assert answer["notes"] == list(found.answer.notes)
    assert answer["notes"][0] == "36 of 48 rows of 6 columns were evaluated."
    assert "Reference: the rows themselves." in answer["notes"]
    assert any("12 of 48 rows, for lack of time; the others were drawn at random" in note for note in answer["notes"])


@pytest.mark.usefixtures("slow")
def test_a_limit_and_a_budget_together_mean_the_same_in_the_shell_and_in_python(shell):
    x = table(48)
    printed = parsed(shell("careful", x, "--json", "-m", "input_x_gradient", "--limit", 40))
    found = assay.evaluate(yours.careful(), x, methods=["input_x_gradient"], limit=40, memory=MEMORY)
    assert values_here(found) == values(printed)
    assert (found.plan.rows, found.plan.drawn) == (36, True)


@pytest.mark.parametrize("limit", [5, 24])
def test_a_limit_takes_the_first_rows(shell, limit):
    asked = {"methods": ["gradient"], "metrics": QUICK, "limit": limit, "budget": None, "memory": MEMORY}
    found = assay.evaluate(yours.careful(), table(), **asked)
    printed = shell("careful", table(), "--json", "-m", "gradient", "-s", QUICK[0], "--limit", limit)
    assert values_here(found) == {(method, name): value for (method, name), value in values(parsed(printed)).items()}
    assert found.cells[0].count == limit
    whole = assay.evaluate(yours.careful(), table(), **{**asked, "limit": None})
    np.testing.assert_array_equal(found.cells[0].per_sample, whole.cells[0].per_sample[:limit])


@pytest.mark.usefixtures("slow")
def test_a_plan_is_told_as_a_command_that_computes_the_same_numbers(shell, tmp_path):
    x, y = table(48), table(48)[:, :3].argmin(dim=1).numpy()
    torch.save({"weight": torch.full((3, 6), 0.5).tril()}, tmp_path / "weights.pt")
    told = ["--weights", tmp_path / "weights.pt", "--target", "label", "--baseline", "0.0", "--readout", "margin"]
    done = shell("linear", x, "-m", "input_x_gradient", *told, y=y)
    (command,) = re.findall(r"^About .*?: (assay evaluate .*)$", done.stderr, re.MULTILINE)
    again = [*shlex.split(command)[1:], "--json", "--workers", "0", "--store", str(tmp_path / "again")]
    printed = parsed(CliRunner().invoke(app, again))
    first = parsed(shell("linear", x, "-m", "input_x_gradient", *told, "--json"))
    assert list(values(first).values()) == list(values(printed).values())
    plain = parsed(shell("linear", x, "-m", "input_x_gradient", "--json", store="plain"))
    assert list(values(first).values()) != list(values(plain).values())


@pytest.mark.usefixtures("slow")
def test_a_dry_run_keeps_no_plan_and_a_run_goes_on_with_its_own(shell, tmp_path, monkeypatch):
    shell("careful", table(48), "-m", "gradient", "--dry-run")
    assert not (tmp_path / "st" / "plan.json").exists()
    first = parsed(shell("careful", table(48), "-m", "gradient", "--json"))
    monkeypatch.setattr(plans, "measured", lambda *_: Times())  # a quicker machine
    assert parsed(shell("careful", table(48), "-m", "gradient", "--json")) == first
    other = parsed(shell("careful", table(48), "-m", "gradient", "--json", "--budget", "2m"))
    (answer,) = other["answers"].values()
    assert answer["notes"][0] == "48 rows of 6 columns."


def kept_rows(folder, x):
    """The rows of which a value stands in some array of a store; and how many arrays there are."""
    store = Store.open(folder, create=False)
    records = [
        record
        for kind in ("samples", "fit", "trial", "probe", "evidence", "score", "model")
        for record in store.records(kind)
    ]
    arrays = [np.asarray(array) for record in records if record.arrays for array in store.load(record).values()]
    numbers = [array.ravel().astype(np.float32) for array in arrays if array.dtype.kind == "f"]
    return np.isin(x.numpy(), np.concatenate(numbers)).any(axis=1).sum(), len(arrays)


def test_no_row_is_kept_where_the_user_wants_none_kept(shell, tmp_path):
    x, weights = table() + 0.123, tmp_path / "weights.pt"
    torch.save(
        {"1.weight": 0.7 * yours.linear().weight.detach()}, weights
    )  # with weights of 1, answers are values of x
    options = [part for name in ("gradient", "exact_shapley", "lime_tabular", "agop") for part in ("-m", name)]
    options += ["--weights", weights]
    told = shell("careful", x, *options)
    assert "The first rows and all attributions are kept in" in told.stderr
    assert kept_rows(tmp_path / "st", x)[0] > 0
    told = shell("careful", x, *options, "--no-rows", store="private")
    assert "are kept in" not in told.stderr
    found, arrays = kept_rows(tmp_path / "private", x)
    assert found == 0
    assert arrays > 10


def test_the_page_begins_with_the_answer_in_the_user_s_words(tmp_path):
    names = ["age", "income", "height", "weight", "distance", "temperature"]
    frame = pd.DataFrame(table().numpy(), columns=names)
    found = assay.evaluate(yours.careful(), frame, budget=None)
    page = found.report(tmp_path / "report").read_text()
    main = page[page.index("<main>") :]
    assert re.search(r'<section id="(\w+)"', main)[1] == "answer"
    words = html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<(style|script).*?</\1>", " ", page)))
    assert found.answer.lines()[0] in words
    assert words.index(found.answer.lines()[0]) < words.index("Leaderboards", words.index(found.answer.lines()[0]))
    for name in names:
        assert name in words
    assert not [sentence for sentence in re.split(r"(?<=[.?!])\s", words) if re.search(r"\btruth\b", sentence)]
