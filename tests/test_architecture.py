"""The house style, where a linter does not see it: names, sizes, empty packages, and what is never called."""

from __future__ import annotations

import ast
import re
import tokenize
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import assay

SRC = Path(assay.__path__[0])
ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
FILES = sorted(SRC.rglob("*.py"))
KINDS = ("environments", "methods", "metrics")
COMPONENTS = [path for kind in KINDS for path in (SRC / kind).glob("[!_]*.py")]
VAGUE = {"base", "manager", "helper", "handler", "util", "utility", "wrapper", "impl", "config"}
TRUSTED = SRC / "users/saved.py"  # reads a pickle, if the user says that it is trusted
PICKLES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
GLOBAL_SEEDS = {"manual_seed", "manual_seed_all", "seed", "seed_all"}
RANDOM_MODULES = re.compile(r"(torch|np|numpy|random)(\.\w+)*")
AMERICAN = re.compile(
    r"\b(behavior|colou?rize|favor|gray|honor|(?:dis|mis)?color(?:s|ed|ful|ing)?|center(?:ed|s)?|labeled|modeling|"
    r"(?:initial|normal|optim|regular|serial|summar|visual|minim|maxim|organ|recogn|standard|random|general|util)iz(?:e|es|ed|ing|ation))\b",
    re.IGNORECASE,
)
SEEDED = {"default_rng", "Random", "RandomState", "SystemRandom", "seed"}
MOST_LINES = 350  # families of components share a file (ADR 26)
MOST_FUNCTION_LINES = 50
LONG_FUNCTIONS = {"api.py:evaluate", "cli/evaluate.py:evaluate"}  # a parameter or an option a line, with its text


def offenders(problems: Callable[[Path], Iterable[str]]) -> dict[str, list[str]]:
    """The problems of every file that has some."""
    by_file = {str(path.relative_to(SRC)): list(problems(path)) for path in FILES}
    return {name: faults for name, faults in by_file.items() if faults}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def words(name: str) -> set[str]:
    """``BaseMethods`` and ``base_methods`` -> base, method."""
    parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)
    return {re.sub(r"s$", "", part.lower()) for part in parts} | {part.lower() for part in parts}


def vague(path: Path) -> list[str]:
    classes = [node.name for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)]
    folders = path.relative_to(SRC).with_suffix("").parts
    return [name for name in (*folders, *classes) if words(name) & VAGUE]


def long_functions(path: Path) -> list[str]:
    nodes = [node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = [node.name for node in nodes if (node.end_lineno or 0) - node.lineno + 1 > MOST_FUNCTION_LINES]
    return [name for name in long if f"{path.relative_to(SRC)}:{name}" not in LONG_FUNCTIONS]


def forbidden(path: Path) -> Iterator[str]:
    """Calls and imports that have no place here: pickles run code, global seeds reach into other people's work."""
    for node in ast.walk(tree(path)):
        match node:
            case ast.Import(names=names) if path != TRUSTED:
                yield from (f"import {name.name}" for name in names if name.name.partition(".")[0] in PICKLES)
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in PICKLES:
                yield f"from {module} import"
            case ast.Call(func=ast.Attribute(attr="load", value=ast.Name(id="torch")), keywords=given):
                if "weights_only=True" not in map(ast.unparse, given):
                    yield "torch.load"
            case ast.Call(func=ast.Attribute(attr=attr, value=owner)) if attr in GLOBAL_SEEDS:
                if RANDOM_MODULES.fullmatch(ast.unparse(owner)):
                    yield f"{ast.unparse(owner)}.{attr}"
            case ast.keyword(arg="allow_pickle", value=ast.Constant(value=True)):
                yield "allow_pickle=True"


def unseeded(path: Path) -> Iterator[str]:
    """Generators that are made without a seed: the system gives them one, another in every run."""
    nodes = list(ast.walk(tree(path)))
    sown = {id(node.value) for node in nodes if isinstance(node, ast.Attribute) and node.attr == "manual_seed"}
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[], keywords=[]):
                if name in SEEDED or (name == "Generator" and id(node) not in sown):
                    yield f"{node.lineno}: {ast.unparse(node)}"


def misplaced_text(path: Path) -> list[str]:
    """A module says what it is; a package is empty, unless it offers components."""
    if path.name == "__init__.py" and path.parent not in (SRC, *(SRC / kind for kind in KINDS)):
        return ["not empty"] if path.read_text(encoding="utf-8").strip() else []
    return [] if ast.get_docstring(tree(path)) else ["no docstring"]


def too_long(path: Path) -> list[str]:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    return [f"{lines} lines"] if lines > MOST_LINES else []


def american(path: Path) -> Iterator[str]:
    """American spellings in docstrings and comments; quoted names do not count."""
    with tokenize.open(path) as stream:
        for token in tokenize.generate_tokens(stream.readline):
            if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.string.startswith('"""')):
                yield from AMERICAN.findall(re.sub(r"``[^`]*``", "", token.string))


@pytest.mark.parametrize("problems", [vague, too_long, long_functions, forbidden, misplaced_text, american])
def test_every_file_keeps_the_house_style(problems: Callable[[Path], Iterable[str]]) -> None:
    assert not offenders(problems)


def test_every_generator_has_a_seed() -> None:
    found = {path: list(unseeded(path)) for path in [*FILES, *(ROOT / "tests").rglob("*.py")]}
    assert not {path: calls for path, calls in found.items() if calls}


def component_classes(path: Path) -> list[str]:
    call = "sample" if path.parent.name == "environments" else "__call__"
    classes = [node for node in tree(path).body if isinstance(node, ast.ClassDef)]
    return [node.name for node in classes if call in {getattr(item, "name", "") for item in node.body}]


def test_a_public_file_holds_a_component() -> None:
    assert not [path for path in COMPONENTS if not component_classes(path)]


def test_the_page_of_the_house_shows_every_room_in_the_order_of_its_layers() -> None:
    drawing = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").split("```")[1]
    drawn = [re.split(r"\s{2,}", line)[0].split(" | ") for line in drawing.strip().splitlines()]
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ][0]
    assert drawn == [layer.replace("assay.", "").split(" | ") for layer in contract["layers"]]
    rooms = {path.name for path in SRC.iterdir() if (path / "__init__.py").is_file()}
    rooms |= {path.stem for path in SRC.glob("[!_]*.py")}
    rooms |= {f"engine.{path.name}" for path in (SRC / "engine").iterdir() if (path / "__init__.py").is_file()}
    assert {room for line in drawn for room in line} == rooms - {"engine"}


RECIPES = ("centred_gradient.py", "peak_hit.py", "coin_rows.py")  # what CONTRIBUTING.md makes as an example


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_file_that_the_documentation_names_is_there(page: Path) -> None:
    named = set(re.findall(r"(?<![\w/.:])((?:[a-z_]+/)+[a-z_]+\.py)\b", page.read_text(encoding="utf-8")))
    absent = {name for name in named if not any((root / name).is_file() for root in (SRC, ROOT, page.parent))}
    assert not {name for name in absent if not name.endswith(RECIPES)}


def test_the_subjects_that_the_page_of_the_house_lists_are_files_of_their_rooms() -> None:
    section = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").split("## From a word to its file")[1]
    rooms = re.findall(r"^\| `([a-z/]+)` \| (.+) \|$", section.split("\n## ")[0], re.MULTILINE)
    listed = [SRC / room / f"{stem}.py" for room, subjects in rooms for stem in re.findall(r"`([a-z_]+)`", subjects)]
    assert listed
    assert not [path for path in listed if not path.is_file()]


def test_every_folder_with_code_is_a_package() -> None:
    assert not [path.parent for path in FILES if not (path.parent / "__init__.py").is_file()]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import torch\ntorch.manual_seed(0)", ["torch.manual_seed"]),
        ("torch.cuda.manual_seed_all(0)", ["torch.cuda.manual_seed_all"]),
        ("np.random.seed(0)", ["np.random.seed"]),
        ("torch.Generator().manual_seed(0)\nGenerator().manual_seed(seed_of(1))", []),
        ("from pickle import loads", ["from pickle import"]),
        ("model = torch.load(path)", ["torch.load"]),
        ("model = torch.load(path, weights_only=False)", ["torch.load"]),
        ("model = torch.load(path, weights_only=True)", []),
        ("np.load(path, allow_pickle=True)", ["allow_pickle=True"]),
    ],
)
def test_the_rules_bite(tmp_path: Path, source: str, found: list[str]) -> None:
    (tmp_path / "wrong.py").write_text(source)
    assert list(forbidden(tmp_path / "wrong.py")) == found


def test_a_generator_without_a_seed_is_seen(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("default_rng(1), torch.Generator().manual_seed(2), np.random.default_rng()")
    assert list(unseeded(tmp_path / "wrong.py")) == ["1: np.random.default_rng()"]


def test_vague_names_are_seen_as_words() -> None:
    assert words("BaseMethods") >= {"base", "method"}
    assert words("run_utils") & VAGUE == {"util"}
    assert not words("Baseline") & VAGUE
