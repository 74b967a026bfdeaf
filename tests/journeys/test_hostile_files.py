"""Studies and stores of strangers can be looked at: nothing of them is imported, run, or written elsewhere."""

import hashlib
import json
import shutil
import sys
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assay.cli.main import app
from assay.core.machine import Resources
from assay.engine.execute.run import run
from assay.engine.store.store import Store
from assay.studies.file import read
from assay.studies.shipped import find

HOSTILE = "\x1b[2J../../x\"'><script>run()</script><img src=x onerror=run()></script> javascript:run()"
STUDY = {
    "environments": ["own"],
    "methods": ["gradient", "random_map"],
    "metrics": ["deletion", "f1"],
    "samples": 4,
    "block": 2,
    "gallery": 2,
}
SHOWN = set(
    "label environment method metric title doc summary note reason classes names time host torch run".split()  # noqa: SIM905
)
CODE = """
environments = ["own(model='evil_code:model')", "evil_code:Place"]
methods = ["evil_code:method(k=3)", "smoothed(of=evil_package.inner:method)"]
metrics = ["evil_code:metric"]
faithfulness = [{ metric = "evil_code:metric" }]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with code beside a study that gives itself away when it is imported."""
    (tmp_path / "evil_package").mkdir()
    for name in ("evil_code.py", "evil_package/__init__.py", "evil_package/inner.py"):
        (tmp_path / name).write_text("raise SystemExit('imported')\n")
    (tmp_path / "study.toml").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    return tmp_path


def changed(value, shown=False):
    """The value with something hostile at the end of every text that is shown."""
    if isinstance(value, dict):
        labels = all(isinstance(item, list) for item in value.values())  # evidence, by the metric's label
        return {f"{key}{HOSTILE}" if labels else key: changed(item, key in SHOWN) for key, item in value.items()}
    if isinstance(value, list):
        return [changed(item, shown) for item in value]
    return f"{value}{HOSTILE}" if shown and isinstance(value, str) else value


def rewrite(store, change):
    """Change the records of a store, and give them the checksums of what they are now."""
    (log,) = (store / "logs").glob("*.jsonl")
    lines = []
    for line in log.read_text().splitlines():
        record = json.loads(line[17:])
        change(record)
        text = json.dumps(record)
        lines.append(f"{hashlib.sha256(text.encode()).hexdigest()[:16]} {text}\n")
    log.write_text("".join(lines))


@pytest.fixture
def store(folder):
    """A store that somebody wrote with hostile texts and sound checksums."""

    def spoil(record):
        record["data"], record["origin"] = changed(record["data"]), changed(record["origin"])
        record["reason"] = record["reason"] and record["reason"] + HOSTILE
        if record["kind"] == "run":
            record["data"]["study"]["name"] = HOSTILE
            record["data"]["command"] = ["assay", HOSTILE]

    run(read(STUDY, "s"), folder / "s", Resources(0))
    rewrite(folder / "s", spoil)
    return folder / "s"


def assay(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, (result.output, result.exception)
    assert "\x1b" not in result.output
    return result.output


@pytest.mark.parametrize("arguments", [("show", "study.toml"), ("show", "study.toml", "--json"), ("ls",)])
def test_a_study_is_shown_without_its_code(folder, arguments):
    output = assay(*arguments)
    assert ("evil_code:method(k=3)" in output) == (arguments[0] == "show")
    assert not {"evil_code", "evil_package"} & set(sys.modules)


class Page(HTMLParser):
    """The elements of a page, and the content of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.inside = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.inside = tag

    def handle_data(self, text):
        if self.inside == "script":
            self.scripts.append(text.strip())

    def handle_endtag(self, tag):
        self.inside = ""


def test_a_page_runs_no_script_but_its_own_whatever_the_store_says(store):
    assay("report", store)
    text = (store / "report" / "index.html").read_text(encoding="utf-8")
    page = Page(text)
    own = files("assay.report").joinpath("templates/page.js").read_text(encoding="utf-8").strip()
    assert [script for script in page.scripts if script] == [own]
    assert text.count("&lt;script&gt;run()") > 20
    for tag, attributes in page.elements:
        assert tag not in ("iframe", "object", "embed", "link", "base", "form"), tag
        assert not [name for name in attributes if name.startswith("on")], attributes
        links = [attributes[name] for name in ("href", "src", "xlink:href") if name in attributes]
        assert all(link.startswith(("#", "images/")) for link in links), links


def test_files_are_written_into_the_named_folders_alone(store, folder):
    before = {path for path in folder.rglob("*") if store not in path.parents}
    assay("report", store, "--study", HOSTILE.replace("\x1b", r"\x1b"), "--figures", store / "figures")
    assay("export", store, "-o", store / "out.csv")
    assay("export", store, "-o", store / "out.tex")
    assert {path for path in folder.rglob("*") if store not in path.parents} == before
    (page,) = store.rglob("index.html")
    assert page.parent.parent == store / "report"
    assert {path.parent for path in store.rglob("gallery-*.png")} == {store / "figures"}


def test_a_record_cannot_name_a_file_outside_of_the_store(store, folder):
    opened = Store.open(store, create=False)
    for digest in ("../../../etc/passwd", "/etc/passwd", "aa/../../x", "A" * 64, ""):
        assert not opened.arrays.has(digest)
        with pytest.raises(Exception, match="not a digest"):
            opened.arrays.get(digest)


@pytest.mark.parametrize("name", ["...toml", "..toml", ".hidden.toml"])
def test_the_name_of_a_study_is_the_name_of_a_folder_below_runs(folder, name):
    (folder / name).write_text('environments = ["own"]\nmethods = ["gradient"]\nmetrics = ["deletion"]\n')
    assert not find(name).name.startswith(".")


def test_records_that_do_not_fit_together_are_a_sentence(folder):
    run(read(STUDY, "s"), folder / "sound", Resources(0))
    for number, (name, value) in enumerate(
        [("rows", None), ("trials", {"a": 1}), ("cards", []), ("study", {"name": 1})]
    ):

        def spoil(record, name=name, value=value):
            if record["kind"] == "run":
                record["data"][name] = value

        store = Path(shutil.copytree(folder / "sound", folder / f"s{number}"))
        rewrite(store, spoil)
        for command in (["report", str(store)], ["export", str(store), "-o", "out.csv"]):
            assert "do not fit together" in str(CliRunner().invoke(app, command).exception)


def test_a_line_that_is_no_record_is_a_damaged_line(folder):
    run(read(STUDY, "s"), folder / "s", Resources(0))
    count = len(Store.open(folder / "s", create=False).records())
    for field, value in (("arrays", [1]), ("arrays", "\ud800"), ("kind", None), ("status", "fine"), ("data", "x")):

        def spoil(record, field=field, value=value):
            if record["kind"] == "score":
                record[field] = value

        store = Path(shutil.copytree(folder / "s", folder / f"{field} {str(value).isascii()}"))
        rewrite(store, spoil)
        opened = Store.open(store, create=False)
        assert (len(opened.records()), opened.damaged()) == (count - 4, 4)
    (log,) = (store / "logs").glob("*.jsonl")
    text = b"[" * 100_000
    log.write_bytes(log.read_bytes() + hashlib.sha256(text).hexdigest()[:16].encode() + b" " + text + b"\n")
    assert Store.open(store, create=False).damaged() == 5
