"""A source digest changes with the file and with every file of ours below it, and with nothing else."""

import sys

import pytest

from assay.catalogue import sources
from assay.catalogue.registry import identity, resolve
from assay.catalogue.sources import source_digest
from assay.core.spec import Spec


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A package of the shape of ours: a method that rests on kit files, directly, indirectly, and late."""
    monkeypatch.setattr(sources, "_ROOT", tmp_path)
    files = {
        "methods/thing.py": "from assay.kit.direct import f\nfrom assay.core.query import Query\nimport torch\n",
        "kit/direct.py": "import assay.kit.indirect as below\n",
        "kit/indirect.py": "def f():\n    from assay.kit import late\n",
        "kit/late.py": "from assay.kit.direct import f  # in a circle\n",
        "kit/unrelated.py": "x = 1\n",
        "core/query.py": "y = 1\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def digest_after(tree, name):
    path = tree / name
    path.write_text(path.read_text() + "changed = True\n")
    return source_digest(tree / "methods/thing.py")


@pytest.mark.parametrize("name", ["methods/thing.py", "kit/direct.py", "kit/indirect.py", "kit/late.py"])
def test_a_change_below_changes_the_digest(tree, name):
    before = source_digest(tree / "methods/thing.py")
    assert digest_after(tree, name) != before


@pytest.mark.parametrize("name", ["kit/unrelated.py", "core/query.py"])
def test_a_change_elsewhere_does_not(tree, name):
    before = source_digest(tree / "methods/thing.py")
    assert digest_after(tree, name) == before


CODE = '''"""A module."""

def f(x, scale=2.0):
    """Twice."""
    return {"a": f"{x:.2f}", "b": scale * x}
'''
SAME = {
    "a comment": CODE.replace("    return", "    # why\n    return"),
    "a comment on a line": CODE.replace("* x}", "* x}  # why"),
    "the module's docstring": CODE.replace("A module.", "The module."),
    "a function's docstring": CODE.replace("Twice.", "Two times.\n\n    More."),
    "a docstring that goes": CODE.replace('    """Twice."""\n', ""),
    "lines, quotes, brackets": CODE.replace('"', "'").replace(" 'b': scale * x}", "\n        'b': (scale * x),\n    }"),
}
OTHER = {
    "a default": CODE.replace("2.0", "2.5"),
    "a type of number": CODE.replace("2.0", "2"),
    "a name": CODE.replace("scale", "factor"),
    "a string that is used": CODE.replace('"a"', '"c"'),
    "a format": CODE.replace(".2f", ".3f"),
    "an operator": CODE.replace("* x", "+ x"),
    "None": CODE.replace("scale * x", "None"),
}


@pytest.mark.parametrize("name", ["methods/thing.py", "kit/late.py"])
@pytest.mark.parametrize("what", [*SAME, *OTHER])
def test_code_counts_and_prose_does_not(tree, name, what):
    imports, found = (tree / name).read_text(), set()
    for text in (CODE, {**SAME, **OTHER}[what]):
        (tree / name).write_text(text + imports)
        found.add(source_digest(tree / "methods/thing.py"))
    assert len(found) == (1 if what in SAME else 2)


def test_the_digest_is_not_that_of_the_file_alone_and_is_stable(tree):
    first = source_digest(tree / "methods/thing.py")
    assert first == source_digest(tree / "methods/thing.py")
    assert first != source_digest(tree / "kit/unrelated.py")
    assert len(first) == 64


def test_where_the_package_lies_does_not_matter(tree, tmp_path_factory, monkeypatch):
    import shutil

    before = source_digest(tree / "methods/thing.py")
    other = tmp_path_factory.mktemp("zz") / "elsewhere"
    shutil.copytree(tree, other)
    monkeypatch.setattr(sources, "_ROOT", other)
    assert source_digest(other / "methods/thing.py") == before


USER = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Mine:
    k: int = 1

    def __call__(self, query):
        from assay.kit.direct import f
"""


def told(text):
    return identity("methods", resolve("methods", Spec.parse(text)))


def test_an_identity_changes_with_a_parameter_the_file_and_a_file_below(tree, modules):
    path = modules.write("user_method", USER)
    first = told("user_method:Mine")
    assert told("user_method:Mine(k=1)") == first
    assert told("user_method:Mine(k=2)") != first
    path.write_text(USER + "\nchanged = True\n")
    second = told("user_method:Mine")
    assert second != first
    (tree / "kit/late.py").write_text("changed = True\n")
    assert told("user_method:Mine") != second


def test_an_identity_tells_the_revision_of_every_component_inside(modules):
    path = modules.write("user_method", USER)
    wrapped = "smoothed(of=user_method:Mine)"
    first = told(wrapped)
    path.write_text(USER + "\nchanged = True\n")
    second = told(wrapped)
    assert first["revision"] == second["revision"]
    assert first["params"]["of"]["revision"] != second["params"]["of"]["revision"]


@pytest.mark.parametrize(
    "text", ["from assay.methods import Smoothed\n", "from assay.methods.smoothed import Smoothed\n"]
)
def test_a_class_is_followed_to_its_file_wherever_it_is_imported_from(tmp_path, text):
    path = tmp_path / "mine.py"
    path.write_text(text)
    assert {"smoothed.py", "mine.py"} <= {file.name for file in sources.source_files(path)}


PROJECT = {
    "proj.entry": "from proj.inner import layers\nfrom . import CONSTANT\nimport beside\nimport torch, json\n",
    "proj.__init__": "CONSTANT = 1\n",
    "proj.inner.layers": "def f():\n    from ..late import g\n",  # inner is a namespace: it has no __init__.py
    "proj.late": "import proj.entry  # in a circle\n",
    "beside": "import lib.deep\n",
    "lib.__init__": "",
    "lib.deep": "x = 1\n",
    "unrelated": "x = 1\n",
}


@pytest.mark.parametrize("changed", PROJECT)
def test_a_digest_of_your_file_changes_with_your_files_below_it(modules, changed):
    paths = {name: modules.write(name, text) for name, text in PROJECT.items()}
    before = source_digest(paths["proj.entry"])
    assert source_digest(paths["proj.entry"]) == before
    paths[changed].write_text(PROJECT[changed] + "changed = True\n")
    assert (source_digest(paths["proj.entry"]) == before) == (changed == "unrelated")


def test_a_namespace_package_and_a_second_folder_on_the_path_count(modules, tmp_path_factory, monkeypatch):
    beside = tmp_path_factory.mktemp("beside")
    monkeypatch.setattr("sys.path", [*sys.path, str(beside)])
    entry = modules.write("proj.methods.mine", "from proj.helpers import f\nimport elsewhere\n")  # no __init__.py
    files = [modules.write("proj.helpers", "x = 1\n"), beside / "elsewhere.py"]
    files[1].write_text("y = 1\n")
    found = {source_digest(entry)}
    for file in files:
        file.write_text("z = 2\n")
        found.add(source_digest(entry))
    assert len(found) == 3


def test_what_python_finds_first_counts(modules, tmp_path_factory, monkeypatch):
    before = tmp_path_factory.mktemp("before")
    monkeypatch.syspath_prepend(str(before))
    entry, hidden = modules.write("entry", "import helper\n"), modules.write("helper", "x = 1\n")
    (before / "helper.py").write_text("x = 2\n")
    first = source_digest(entry)
    hidden.write_text("x = 3\n")
    assert source_digest(entry) == first
    (before / "helper.py").write_text("x = 4\n")
    assert source_digest(entry) != first


def test_a_deleted_file_below_is_a_change(modules):
    entry, below = modules.write("entry", "import below\n"), modules.write("below", "x = 1\n")
    before = source_digest(entry)
    below.unlink()
    assert source_digest(entry) != before


def test_a_file_that_comes_to_be_imported_counts(modules):
    entry, late = modules.write("entry", "x = 1\n"), modules.write("late", "y = 1\n")
    before = source_digest(entry)
    entry.write_text("import late\n")
    between = source_digest(entry)
    late.write_text("y = 2\n")
    assert len({before, between, source_digest(entry)}) == 3


def test_of_a_broken_file_below_the_content_counts(modules):
    entry, broken = modules.write("entry", "import broken\n"), modules.write("broken", "def (:\n")
    before = source_digest(entry)
    broken.write_text("def ):\n")
    assert source_digest(entry) != before


def test_what_is_installed_counts_with_its_version_and_is_not_searched(modules, monkeypatch):
    monkeypatch.syspath_prepend(str(modules.folder / "site-packages"))
    inside = modules.write("site-packages.far.inside", "import far.below\n")
    below = modules.write("site-packages.far.below", "x = 1\n")
    mine = modules.write("mine", "import far.inside\n")
    versions = {"far": "1.0"}
    monkeypatch.setattr(sources, "_version_of", versions.get)
    before = source_digest(inside), source_digest(mine)
    below.write_text("x = 2\n")
    assert (source_digest(inside), source_digest(mine)) == before
    versions["far"] = "1.1"
    assert source_digest(inside) != before[0]
    assert source_digest(mine) == before[1]


@pytest.mark.parametrize(("module", "known"), [("torch", "2."), ("sklearn", "scikit-learn 1."), ("nobodys", "")])
def test_a_module_s_version_is_that_of_the_distribution_that_brought_it(module, known):
    found = sources._version_of(module)
    assert found.startswith(known)
    assert bool(found) == bool(known)


def test_an_identity_holds_the_content_of_a_file_and_not_its_path(tmp_path):
    first, second = tmp_path / "a.npz", tmp_path / "b.npz"
    first.write_bytes(b"one")
    second.write_bytes(b"one")

    def held(path):
        return told(str(Spec.of("precomputed", path=str(path))))

    before = held(first)
    assert before == held(second)
    first.write_bytes(b"two")
    assert held(first) != before
    assert held(tmp_path / "absent.npz") != before
