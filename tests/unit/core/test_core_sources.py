"""A source digest changes with the file and with every file of ours below it, and with nothing else."""

import pytest

from assay.core import sources
from assay.core.registry import identity, resolve
from assay.core.sources import source_digest
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
    path.write_text(path.read_text() + "# changed\n")
    return source_digest(tree / "methods/thing.py")


@pytest.mark.parametrize("name", ["methods/thing.py", "kit/direct.py", "kit/indirect.py", "kit/late.py"])
def test_a_change_below_changes_the_digest(tree, name):
    before = source_digest(tree / "methods/thing.py")
    assert digest_after(tree, name) != before


@pytest.mark.parametrize("name", ["kit/unrelated.py", "core/query.py"])
def test_a_change_elsewhere_does_not(tree, name):
    before = source_digest(tree / "methods/thing.py")
    assert digest_after(tree, name) == before


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
from assay.kit.direct import f

@dataclass(frozen=True)
class Mine:
    k: int = 1
"""


def told(text):
    return identity("methods", resolve("methods", Spec.parse(text)))


def test_an_identity_changes_with_a_parameter_the_file_and_a_file_below(tree, modules):
    path = modules.write("user_method", USER)
    first = told("user_method:Mine")
    assert told("user_method:Mine(k=1)") == first
    assert told("user_method:Mine(k=2)") != first
    path.write_text(USER + "\n# changed\n")
    second = told("user_method:Mine")
    assert second != first
    (tree / "kit/late.py").write_text("# changed\n")
    assert told("user_method:Mine") != second


def test_an_identity_tells_the_revision_of_every_component_inside(modules):
    path = modules.write("user_method", USER)
    wrapped = "smoothed(of=user_method:Mine)"
    first = told(wrapped)
    path.write_text(USER + "\n# changed\n")
    second = told(wrapped)
    assert first["revision"] == second["revision"]
    assert first["params"]["of"]["revision"] != second["params"]["of"]["revision"]


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
