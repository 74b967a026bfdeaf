"""A file that was edited after its import is refused until what runs is what can be read."""

import importlib
import subprocess
import sys
import time

import pytest

from assay.core.errors import SpecError
from assay.core.foreign import code_digest, load
from assay.core.imported import _BEGAN, as_imported
from assay.core.registry import identity, resolve
from assay.core.spec import Spec

HELPER = "FACTOR = 1\n\ndef times(x):\n    return FACTOR * x\n"
METHOD = """
from dataclasses import dataclass
from functools import cache
import helper

@dataclass(frozen=True)
class Mine:
    k: int = 1

    def __call__(self, query):
        return [helper.times(part) for part in query]

    @property
    def a(self): return 1

    @staticmethod
    def b(): return (lambda: 2)()

    @classmethod
    def c(cls): return {i for i in range(3)}

    class Inner:
        def d(self): return 4

@cache
def e():
    def f(): return 5
    return f

g = e()
"""


@pytest.fixture
def files(modules):
    return {"helper": modules.write("helper", HELPER), "mine": modules.write("mine", METHOD)}


def asked():
    return identity("methods", resolve("methods", Spec.parse("mine:Mine")))


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_what_was_not_touched_is_fine_as_often_as_it_is_asked(files):
    first = asked()
    load("mine:Mine")
    assert asked() == asked() == first
    load("mine:Mine")


@pytest.mark.parametrize("name", ["helper", "mine"])
@pytest.mark.parametrize("question", [asked, lambda: load("mine:Mine"), lambda: code_digest("mine:Mine")])
def test_an_edit_after_the_import_is_refused_until_a_restart(files, modules, name, question):
    load("mine:Mine")
    files[name].write_text(files[name].read_text() + "LATE = 1\n")
    for _ in range(2):
        with pytest.raises(SpecError, match=rf"{name}\.py' has changed since Python imported it.*Restart Python"):
            question()
    modules.restart()
    question()


def test_an_edit_before_the_import_is_fine(files):
    before = asked()  # reads, does not import
    edit(files["mine"], "k: int = 1", "k: int = 2")
    assert asked() != before
    assert load("mine:Mine")().k == 2


def test_a_reload_is_as_good_as_a_restart(files):
    before = asked()
    load("mine:Mine")
    edit(files["helper"], "FACTOR = 1", "FACTOR = 2")
    with pytest.raises(SpecError, match=r"importlib\.reload on 'helper'"):
        asked()
    importlib.reload(sys.modules["helper"])
    assert asked() != before


def test_an_edit_taken_back_is_no_edit(files):
    before = asked()
    load("mine:Mine")
    edit(files["mine"], "return 1", "return 9")
    edit(files["mine"], "return 9", "return 1")
    assert asked() == before


@pytest.mark.parametrize("old", ["return [helper", "return 1", "(lambda: 2)", "range(3)", "k: int = 1\n", "return 5"])
def test_what_was_imported_and_edited_before_we_saw_it_is_known_by_its_functions(files, old):
    import mine  # noqa: F401  # type: ignore[import-not-found]

    new = {"k: int = 1\n": "k: int = 1\n    j: int = 2\n"}.get(old, old.translate(str.maketrans("135(", "246[")))
    edit(files["mine"], old, new if new != old else "return list(helper")
    with pytest.raises(SpecError, match="has changed"):
        load("mine:Mine")


def test_a_comment_at_the_end_leaves_functions_as_they_were(files):
    import mine  # noqa: F401  # type: ignore[import-not-found]

    files["mine"].write_text(METHOD + "# a comment\n")
    load("mine:Mine")


def test_a_file_that_no_longer_parses_is_not_what_was_imported(files):
    import mine  # noqa: F401  # type: ignore[import-not-found]

    files["mine"].write_text("def (:\n")
    with pytest.raises(SpecError, match="has changed"):
        as_imported([files["mine"]])


def test_modules_that_a_test_runner_compiled_its_own_way_are_left_alone():
    from pathlib import Path

    as_imported([Path(__file__)])
    load(f"{__name__}:edit")


LATE = """
import contextlib
from dataclasses import dataclass
from functools import cache

FACTOR = 1

@contextlib.contextmanager
def opened(): yield 2

@cache
def kept(): return 3

@dataclass(frozen=True)
class Mine:
    k: int = 4
    note = "five"

    @property
    def a(self): return 0

    @a.setter
    def a(self, value): self.note = 6

    class Inner:
        def d(self): return 7

Again = Mine
"""


@pytest.mark.parametrize("number", ["= 1", "yield 2", "return 3", "= 4", '"five"', "= 6", "return 7"])
def test_constants_and_what_is_wrapped_or_nested_are_compared_too(modules, number):
    path = modules.write("late", LATE)
    import late  # noqa: F401  # type: ignore[import-not-found]

    load("late:Mine")
    modules.restart()
    import late as second  # noqa: F401

    edit(path, number, number[:-1] + "9" if number[-1] != '"' else '"nine"')
    with pytest.raises(SpecError, match="has changed"):
        load("late:Mine")


def test_after_a_reload_what_the_file_no_longer_has_does_not_matter(modules):
    path = modules.write("late", LATE)
    load("late:Mine")
    path.write_text(LATE.replace("def kept", "def renamed"))
    with pytest.raises(SpecError, match="has changed"):
        load("late:Mine")
    importlib.reload(sys.modules["late"])
    load("late:Mine")


def test_where_the_path_is_written_oddly_files_are_still_compared(modules, monkeypatch):
    inside = modules.folder / "inside"
    inside.mkdir()
    path = inside / "odd_place.py"
    path.write_text(HELPER)
    monkeypatch.syspath_prepend(f"{modules.folder}//./inside")
    load("odd_place:times")
    path.write_text(HELPER + "LATE = 1\n")
    with pytest.raises(SpecError, match="has changed"):
        load("odd_place:times")


def test_a_script_is_a_module_like_others(modules, tmp_path):
    script = tmp_path / "script.py"
    text = "from assay.core.foreign import load\nfrom assay.core.registry import card\ndef f(model, x, y): return x\n"
    script.write_text(
        text + "if __name__ == '__main__':\n    print(card('methods', 'script:f').source)\n    load('script:f')\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "text, old, new",
    [
        ("def make(x, eps=0.1): return x", "0.1", "0.5"),
        ("def make(x, *, eps=-1): return x", "-1", "-2"),
        ("SHIFT = -1\ndef make(): return SHIFT", "-1", "-2"),
        ("SIZES = (1, 2)\ndef make(): return SIZES", "(1, 2)", "(1, 3)"),
        ("scale = 2\ndef f():\n    scale = 3\n    return scale\ndef make(): return scale", "scale = 2", "scale = 5"),
        ("class A:\n    steps: int = 5\nclass B:\n    steps: int = 6\ndef make(): return A", "= 5", "= 7"),
        ("from string import *\nclass A:\n    steps = 5\ndef make(): return A", "= 5", "= 7"),
        ("class A:\n    x = 1\ndef make(): return A", "x = 1", "x = 1\n    def more(self): return 2"),
        (
            "class A:\n    def f(self): return 1\nclass B: pass\ndef make(): return A",
            "class A:\n    def f(self): return 1\nclass B: pass",
            "class A: pass\nclass B:\n    def f(self): return 1",
        ),
    ],
)
def test_literals_are_compared_wherever_they_stand(modules, text, old, new):
    path = modules.write("wide", text + "\n")
    import wide  # noqa: F401  # type: ignore[import-not-found]

    edit(path, old, new)
    with pytest.raises(SpecError, match="has changed"):
        load("wide:make")


LEGITIMATE = {
    "private methods": "class P:\n    def __b(self): return 1\n",
    "a function that is deleted": "def f(): return 1\ndel f\n",
    "private fields": "from dataclasses import dataclass\n@dataclass\nclass P:\n    a: int\n    __b: int = 2\n",
    "a name that is matched": "K = 1\nmatch 3:\n    case K: pass\n",
    "fields from a decorator": (
        "def more(cls):\n    cls.__annotations__['z'] = int\n    return cls\n@more\nclass P:\n    a: int = 1\n"
    ),
    "what is wrapped in circles": "from unittest.mock import call\n",
    "a flag set after an import": "FLAG = False\ntry:\n    import os\n    FLAG = True\nexcept ImportError:\n    pass\n",
    "a number worked on": "WIDTH = 4\nWIDTH *= 2\n",
    "a loop": "TOTAL = 0\nfor TOTAL in range(3):\n    pass\n",
    "a context": "import contextlib\nHELD = None\nwith contextlib.nullcontext(3) as HELD:\n    pass\n",
    "two at once": "A = 1\nA, B = 2, 3\n",
    "a name that is imported, too": "__version__ = 'unknown'\nfrom torch import __version__\n",
    "everything of another": "digits = 'none'\nfrom string import *\n",
    "a counter": "N = 0\ndef count(f):\n    global N\n    N += 1\n    return f\n@count\ndef g(): return 1\n",
    "a cache": "KEPT = None\ndef fill():\n    global KEPT\n    KEPT = 'full'\nfill()\n",
    "a class that counts": "class Net:\n    made = 0\n    def __init__(self):\n        Net.made += 1\nnet = Net()\n",
    "a class changed from outside": "class Net:\n    depth = 1\nNet.depth = 2\n",
    "a class defined twice": "class Net:\n    depth = 1\nclass Net:\n    depth = 2\n",
    "enums": "import enum\nclass A(enum.IntEnum):\n    B = 1\nclass C(str, enum.Enum):\n    D = 'd'\n",
    "tuples with names": "from typing import NamedTuple\nclass P(NamedTuple):\n    a: int\n    b: int = 2\n",
    "slots": "from dataclasses import dataclass\n@dataclass(slots=True)\nclass P:\n    a: int\n    b: int = 2\n",
    "fields made by functions": (
        "from dataclasses import dataclass, field\n@dataclass\nclass P:\n    a: list = field(default_factory=list)\n"
    ),
    "annotations under a condition": "class P:\n    a: int = 1\n    if False:\n        b: int\n",
}


@pytest.mark.parametrize("text", LEGITIMATE.values(), ids=LEGITIMATE)
def test_what_a_file_does_to_its_own_names_is_no_edit(modules, text):
    modules.write("usual", text + "\ndef make(): return 1\n")
    import usual  # noqa: F401  # type: ignore[import-not-found]

    load("usual:make")
    load("usual:make")


@pytest.mark.parametrize("seen", [False, True])
def test_comments_and_empty_lines_are_no_edit(modules, seen):
    path = modules.write("late", LATE)
    import late  # noqa: F401  # type: ignore[import-not-found]

    if seen:
        load("late:Mine")
    path.write_text("# a comment\n\n" + LATE.replace("FACTOR = 1\n", "FACTOR = 1  # one\n\n\n"))
    load("late:Mine")
    edit(path, "FACTOR = 1", "FACTOR = 9")
    with pytest.raises(SpecError, match="has changed"):
        load("late:Mine")


def test_a_file_older_than_the_process_is_what_was_imported(modules, monkeypatch):
    modules.write("late", LATE)
    import late  # type: ignore[import-not-found]

    late.FACTOR = 9  # not a matter of files
    monkeypatch.setattr("assay.core.imported._BEGAN", time.time() + 10)
    load("late:Mine")


def test_the_system_says_when_this_process_began():
    assert 0 < time.time() - _BEGAN < 24 * 3600
