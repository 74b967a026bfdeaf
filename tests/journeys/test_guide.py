"""The pages of the guide: their blocks run, their commands give the numbers of their calls, and they print what is
quoted."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from PIL import Image

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOK = DOCS.parent / "examples" / "your_model.ipynb"
PAGES = sorted((DOCS / "guide").glob("*.md"))
BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.py)\n")
AS_IN_PYTHON = ("--workers", "0", "--memory", "64MB")
as_users_do = pytest.mark.draws("models are made as users make them")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, from which modules are imported once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if (tmp_path / f"{name}.py").is_file():
            del sys.modules[name]


def blocks(text, language):
    return [code for named, code in BLOCK.findall(text) if named == language]


def executed(codes):
    """What blocks print, and their names; a block that begins with the name of a file becomes that file."""
    names, printed = {"__name__": "guide"}, io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        for code in codes:
            if file := FILE.match(code):
                Path(file[1]).write_text(code)
            else:
                exec(compile(code, "<guide>", "exec"), names)
    return printed.getvalue(), names


def sentences(text):
    """Each as a set of words: names that are equally good may be in another order on another machine."""
    return [frozenset(re.findall(r"[\w.%']*[\w%']", part)) for part in re.split(r"\. |\n", text) if part.strip()]


def size(path):
    with Image.open(path) as picture:
        return picture.size


def values(told):
    """By method and metric, of the JSON of a command."""
    (board,) = told["boards"]
    return {
        (line["method"], metric): cell["value"] for line in board["methods"] for metric, cell in line["metrics"].items()
    }


@as_users_do
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_prints_what_it_quotes_and_its_command_gives_the_same_numbers(page, folder, assay):
    text = page.read_text(encoding="utf-8")
    printed, names = executed(blocks(text, "python"))
    quoted = [sentence for block in blocks(text, "text") for sentence in sentences(block)]
    assert quoted
    assert [sorted(sentence) for sentence in quoted if sentence not in sentences(printed)] == []
    for path in folder.glob("*.png"):
        assert size(path) == size(DOCS / "images" / "guide" / path.name)
    for command in blocks(text, "sh"):
        done = assay(*shlex.split(command.replace("\\\n", " "))[1:], *AS_IN_PYTHON, "--json")
        assert done.returncode == 0, done.stderr
        found = {(cell.method, cell.metric): cell.value for cell in names["result"].cells}
        assert values(json.loads(done.stdout)) == found


def test_the_guide_has_its_pages_and_each_a_command():
    assert [page.stem for page in PAGES] == ["images", "index", "series", "tables", "text"]
    assert all(len(blocks(page.read_text(encoding="utf-8"), "sh")) == 1 for page in PAGES)


@as_users_do
def test_the_notebook_runs_cell_by_cell(folder):
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    printed, names = executed(["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"])
    assert not any(cell.get("outputs") for cell in cells)
    assert names["result"].answer.lines()[0] in printed
