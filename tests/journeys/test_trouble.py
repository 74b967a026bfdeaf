"""Bad input and accidents: each a clear message or a recorded failure, and the exit codes that are promised."""

import json

import pytest

from assay.engine.store.store import Store


def by_status(root, kind):
    return {status: [record for record in Store.open(root, create=False).records(kind) if record.status == status]
            for status in ("ok", "skipped", "failed")}  # fmt: skip


def test_an_unknown_method_is_named_and_the_right_one_suggested(assay):
    done = assay("show", "integrated_gradient")
    assert done.returncode == 2
    assert "Did you mean 'integrated_gradients'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_name_from_another_library_is_understood(assay):
    assert "Did you mean 'gradient'?" in assay("show", "saliency").stderr


def test_every_problem_of_a_study_file_is_listed_at_once(assay, tmp_path):
    (tmp_path / "bad.toml").write_text(
        'seeds = "all"\nenvironments = ["color_count(sid=3)"]\nmethods = ["gradeint", "occlusion(window=\'5\')"]\n'
        'metrics = ["f1(sign=positive)"]\nsampels = 3\n'
    )
    done = assay("run", tmp_path / "bad.toml")
    assert done.returncode == 2
    for part in ("6 problems", "seeds must be", "no parameter 'sid'", "'side'", "unknown method 'gradeint'",
                 "window='5' does not fit int", "sign='positive'", "unknown key 'sampels'"):  # fmt: skip
        assert part in done.stderr, part


def test_a_file_that_is_not_toml_is_told_with_its_line(assay, tmp_path):
    (tmp_path / "bad.toml").write_text("methods = [\n'gradient'\nmetrics")
    done = assay("run", tmp_path / "bad.toml")
    assert done.returncode == 2
    assert "not valid TOML" in done.stderr
    assert "line" in done.stderr


def test_an_unknown_study_names_the_shipped_ones(assay):
    done = assay("run", "demoo")
    assert done.returncode == 2
    assert "Did you mean 'demo'?" in done.stderr


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("nan", "NaN or infinite values in 4 of 4 samples"),
        ("shape", "returned shape (4, 3) for input (4, 5)"),
        ("raise", "RuntimeError: as told"),
    ],
)
def test_a_method_that_goes_wrong_is_a_failed_record_and_the_others_go_on(ward, finish, tmp_path, how, said):
    finish(ward(methods=[f"counted:Bad(how='{how}')", "gradient"]), tmp_path / "s")
    trials = by_status(tmp_path / "s", "trial")
    assert len(trials["ok"]) == len(trials["failed"]) == 4
    assert all(said in record.reason and "Traceback" in record.traceback for record in trials["failed"])
    scores = by_status(tmp_path / "s", "score")
    assert len(scores["ok"]) == len(scores["failed"]) == 1


def test_a_failed_cell_gives_exit_code_one_and_is_printed_with_its_reason(assay, tmp_path):
    (tmp_path / "study.toml").write_text(
        'environments = ["counted:Ward"]\nmethods = ["counted:Bad", "gradient"]\nmetrics = ["f1"]\ngallery = 0\n'
    )
    done = assay("run", tmp_path / "study.toml", "--store", tmp_path / "s", "--workers", 0)
    assert done.returncode == 1
    printed = " ".join(done.stdout.split())
    assert "failed: BadAttribution: returned NaN or infinite values in 8 of 8 samples: counted:Bad (f1)" in printed
    told = json.loads(assay("run", tmp_path / "study.toml", "--store", tmp_path / "s", "--workers", 0, "--json").stdout)
    assert told["failed"] == 1


def test_a_worker_that_dies_is_one_failed_record_and_is_replaced(ward, finish, tmp_path):
    finish(ward(methods=["counted:Bad(how='die')", "gradient"], samples=8), tmp_path / "s", 1)
    trials = by_status(tmp_path / "s", "trial")
    assert len(trials["ok"]) == len(trials["failed"]) == 2
    assert all("worker died (signal 9" in record.reason for record in trials["failed"])


def test_a_metric_that_kills_its_worker_is_blamed_itself_and_the_rest_of_the_job_goes_on(ward, finish, tmp_path):
    finish(ward(metrics=["counted:Lethal", "f1"]), tmp_path / "s", 1)
    assert len(by_status(tmp_path / "s", "trial")["ok"]) == 4
    evidence = by_status(tmp_path / "s", "evidence")
    assert (len(evidence["ok"]), len(evidence["failed"])) == (7, 1)


def test_a_model_that_raises_in_the_middle_fails_its_block_only(finish, tmp_path):
    from assay.studies.file import read

    table = {"environments": ["counted:Cliff"], "methods": ["gradient"], "metrics": ["deletion(readout='logit')"]}
    finish(read({**table, "samples": 8, "block": 4, "gallery": 0}, "cliff"), tmp_path / "s")
    trials = by_status(tmp_path / "s", "trial")
    assert (len(trials["ok"]), len(trials["failed"])) == (1, 1)
    assert "cannot take large inputs" in trials["failed"][0].reason
    (score,) = by_status(tmp_path / "s", "score")["failed"]  # never an average over what is missing
    assert "cannot take large inputs" in score.reason


def test_a_failure_is_tried_again_by_the_next_run(ward, finish, tmp_path, diary):
    study = ward(methods=["counted:Bad(how='raise')"])
    finish(study, tmp_path / "s")
    first = diary.kinds()["train"]
    finish(study, tmp_path / "s")
    assert first == 1
    assert len(by_status(tmp_path / "s", "trial")["failed"]) == 4


def test_what_does_not_apply_is_skipped_with_its_reason(ward, finish, tmp_path):
    finish(ward(methods=["grad_cam", "gradient"]), tmp_path / "s")
    trials = by_status(tmp_path / "s", "trial")
    assert (len(trials["ok"]), len(trials["skipped"])) == (4, 4)
    assert all("needs a convolutional layer" in record.reason for record in trials["skipped"])


def test_a_required_method_that_is_refuted_gives_exit_code_one(assay, tmp_path):
    text = 'environments = ["counted:Ward"]\nmethods = ["random_map"]\nmetrics = ["f1"]\ngallery = 0\n'
    (tmp_path / "study.toml").write_text(
        text + "[[faithfulness]]\nmetric = 'f1'\ngamma = 0.99\nrequire = ['random_map']\n"
    )
    done = assay("run", tmp_path / "study.toml", "--store", tmp_path / "s", "--workers", 0, "--full")
    assert done.returncode == 1
    assert "refuted by counted:Ward" in done.stdout


def test_two_tests_on_one_metric_are_two_tests(assay, tmp_path):
    text = 'environments = ["counted:Ward"]\nmethods = ["random_map"]\nmetrics = ["f1"]\ngallery = 0\n'
    low = "[[faithfulness]]\nmetric = 'f1'\ngamma = 0.0\nsigns = false\nrequire = ['random_map']\n"
    high = "[[faithfulness]]\nmetric = 'f1'\ngamma = 0.99\nsigns = false\n"
    (tmp_path / "study.toml").write_text(text + low + high)
    done = assay("run", tmp_path / "study.toml", "--store", tmp_path / "s", "--workers", 0, "--full")
    assert done.returncode == 0
    assert "on f1 at gamma = 0\n  random_map: not refuted" in done.stdout
    assert "on f1 at gamma = 0.99\n  random_map: refuted by counted:Ward" in done.stdout
    told = json.loads(assay("run", tmp_path / "study.toml", "--store", tmp_path / "s", "--workers", 0, "--json").stdout)
    assert [(v["gamma"], v["verdict"][:7]) for v in told["faithfulness"]["f1"]] == [(0.0, "not ref"), (0.99, "refuted")]
    assert assay("report", tmp_path / "s", "-o", tmp_path / "page").returncode == 0
    assert "0.99" in (tmp_path / "page" / "index.html").read_text()


def test_a_store_that_is_none_is_said_to_be_none(assay, tmp_path):
    done = assay("report", tmp_path / "nothing")
    assert done.returncode == 2
    assert "no store" in done.stderr
