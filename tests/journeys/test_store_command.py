"""``assay store``: a store is verified, repaired, tidied, merged and listed."""

import json
import shutil
import subprocess
import sys

import pytest

from assay.cli.main import main
from assay.engine.store.lease import this_run, turn
from assay.engine.store.store import Store


@pytest.fixture
def assay(monkeypatch, capsys):
    def run(*arguments):
        """Exit code, standard output, standard error."""
        monkeypatch.setattr(sys, "argv", ["assay", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return stop.value.code, printed.out, printed.err

    return run


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small study that was run once; copied by those who harm it."""
    from journeys.conftest import HERE, finish, ward_study

    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("finished")
        patch.setenv("DIARY", str(folder / "diary.txt"))
        patch.setenv("ASSAY_CACHE", str(folder / "cache"))
        patch.syspath_prepend(str(HERE))
        finish(ward_study(samples=8), folder / "s")
    return folder / "s"


@pytest.fixture
def store(finished, tmp_path):
    return Store.open(shutil.copytree(finished, tmp_path / "s"), create=False)


def damage_trial(store):
    record = store.records("trial")[0]
    path = store.arrays.path(record.arrays)
    path.write_bytes(path.read_bytes()[:-1])
    return record


def test_verify_finds_damage_and_repair_leaves_the_rest_to_the_next_run(store, assay, finish, ward, finished):
    assert assay("store", "verify", store.root) == (0, f"{store.root} is intact.\n", "")
    record = damage_trial(store)
    code, out, _ = assay("store", "verify", store.root)
    assert code == 1
    assert f"trial {record.key}: array {record.arrays[:12]} is damaged" in out
    assert "Repair it with --repair. The next run of the study computes 1 trial." in out
    code, out, _ = assay("store", "verify", store.root, "--repair")
    assert code == 0
    assert "Repaired. The next run of the study computes 1 trial." in out
    assert finish(ward(samples=8), store.root) == Store.open(finished, create=False).dump()
    assert assay("store", "verify", store.root)[0] == 0


def test_a_damaged_line_stays_skipped_and_is_no_news_after_a_repair(store, assay):
    (log,) = (store.root / "logs").iterdir()
    log.write_bytes(log.read_bytes().replace(b'"kind":"score"', b'"kind":"scorn"', 1))
    before = log.read_bytes()
    code, out, _ = assay("store", "verify", store.root, "--json")
    found = json.loads(out)
    assert (code, found["repaired"]) == (1, False)
    assert [item["what"] for item in found["damage"]] == ["line"]
    assert assay("store", "verify", store.root, "--repair")[0] == 0
    code, out, _ = assay("store", "verify", store.root)
    assert (code, out) == (0, f"{store.root} is intact.\nDamaged log lines that are skipped: 1.\n")
    assert log.read_bytes() == before


def test_gc_removes_what_nobody_names_and_says_how_much(store, assay):
    before = store.dump()
    store.arrays.root.joinpath("00").mkdir(exist_ok=True)
    orphan = store.arrays.root / "00" / f"{'0' * 64}.safetensors"
    orphan.write_bytes(b"x" * 2048)
    assert assay("store", "gc", store.root, "--dry-run") == (0, "To remove: 1 file, 2 kB.\n", "")
    assert orphan.exists()
    code, out, _ = assay("store", "gc", store.root, "--json")
    assert (code, json.loads(out)) == (0, {"store": str(store.root), "files": 1, "bytes": 2048, "removed": True})
    assert not orphan.exists()
    assert store.dump() == before
    assert assay("store", "gc", store.root) == (0, "Removed: 0 files, 0 bytes.\n", "")


def test_gc_leaves_a_store_alone_that_a_run_writes_into(store, assay, monkeypatch):
    monkeypatch.setattr("assay.engine.store.lease.BEAT", 0.05)
    own = this_run("r2", "study")
    with turn(store.root, own, print):
        code, out, err = assay("store", "gc", store.root)
        assert (code, out) == (2, "")
        assert err == f"assay: a run ({own.name}) is writing into {store.root}: collect garbage when it has ended\n"
        code, out, _ = assay("store", "ls", store.root, "--json")
        assert [run["state"] for run in json.loads(out)["runs"]] == ["finished"]  # that run has no log yet
    assert assay("store", "gc", store.root)[0] == 0


def test_a_merge_goes_into_the_last_store_that_is_named(store, finished, assay, tmp_path, ward, finish):
    other = tmp_path / "other"
    assert finish(ward(samples=8, methods=["counted:Fits"]), other)
    code, out, _ = assay("store", "merge", store.root, other, tmp_path / "both")
    assert (code, out.startswith(f"Into {tmp_path / 'both'}: {store.root}, {other}. It has ")) == (0, True)
    both = Store.open(tmp_path / "both", create=False)
    assert {record.key for record in both.records()} == {
        record.key for root in (finished, other) for record in Store.open(root, create=False).records()
    }
    assert both.verify() == []
    code, _, err = assay("store", "merge", store.root, store.root)
    assert (code, err) == (
        2,
        f"assay: {store.root} is both a source and the target of this merge: name each store once.\n",
    )


def test_a_merge_names_what_it_could_not_copy(store, assay, tmp_path):
    record = damage_trial(store)
    code, out, _ = assay("store", "merge", store.root, tmp_path / "target", "--json")
    assert code == 1
    (sentence,) = json.loads(out)["damage"]
    assert record.arrays[:12] in sentence


def test_ls_shows_the_runs_of_a_store(store, assay):
    code, out, _ = assay("store", "ls", store.root, "--json")
    (run,) = json.loads(out)["runs"]
    assert code == 0
    assert (run["study"], run["state"], run["records"]) == ("ward", "finished", run["statuses"]["ok"])
    assert run["records"] == len(store.records())
    code, out, _ = assay("store", "ls", store.root)
    assert code == 0
    assert all(word in out for word in ("ward", "finished", run["run"], run["began"]))


@pytest.mark.parametrize("command", ["verify", "gc", "ls"])
def test_what_is_no_store_is_refused_in_one_sentence(assay, tmp_path, command):
    code, out, err = assay("store", command, tmp_path / "none")
    assert (code, out) == (2, "")
    assert err == f"assay: there is no store at {tmp_path / 'none'}: check the path, or run a study into it first\n"
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "store.json").write_text('{"format":1}')
    code, out, err = assay("store", command, tmp_path / "old")
    assert (code, out) == (2, "")
    assert "was made by an older assay" in err
    assert assay("store", command)[0] == 2


@pytest.mark.parametrize("command", ["verify", "gc", "merge", "ls"])
def test_each_command_explains_itself(assay, command):
    code, out, _ = assay("store", command, "--help")
    assert code == 0
    assert "--json" in out


def test_store_commands_import_no_torch(store):
    code = (
        "import sys\nfrom assay.cli.main import main\nsys.argv[1:] = ['store', 'verify', sys.argv[1]]\n"
        "try: main()\nexcept SystemExit as stop: sys.exit(stop.code or 'torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(store.root)], timeout=60).returncode == 0
