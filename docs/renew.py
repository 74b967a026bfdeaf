"""Renews what is generated: pages whose numbers may be out of date, and files that describe the components.

    python docs/renew.py                      writes the generated files, and lists the results that are unverified
    python docs/renew.py README               verifies the unverified results of a page: README or experiments
    python docs/renew.py attributionlab/lime  verifies one result
    python docs/renew.py --list               only lists, and ends with 1 if README quotes an unverified result
    python docs/renew.py --witness NAME       computes the witness of a verified result anew, on this processor

A kept result is unverified if the code of a component that made it changed since. Its first block of its first seed is
computed again, for the components that changed. If every digit is as it was, the result gets the digests of today;
otherwise the differences are printed and nothing is written: `python docs/make_experiments.py --run NAME` computes it
anew. Trained networks round differently on another processor: there, `--witness` in a checkout of before gives the
numbers to compare with. Timings are exempt.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import make_experiments
import make_readme
from pages import ROOT, is_kept, keep, kept
from verified import changes, differences, stamp, touched, witness

from assay.core.errors import AssayError
from assay.engine.execute.processor import processor
from assay.studies.shipped import find

PAGES: Mapping[str, Sequence[str]] = {
    "README": make_readme.STUDIES,
    "experiments": (*make_experiments.STUDIES, *make_experiments.LARGE),
}
WRITERS = (  # of generated files: the catalogue, revisions and applicability of components, slow tests that passed, pages
    ("-m", "assay.catalogue.generate"),
    ("tests/contracts/revisions.py", "--write"),
    ("tests/contracts/applicability.py", "--write"),
    (
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "-m",
        "not full",
        "--record",
        "tests/contracts/mutants",
        "tests/contracts/test_bite.py",
    ),
    ("docs/make_controls.py", "--page"),
    ("docs/make_metrics.py",),  # the cards say what was measured about controls
    ("docs/make_readme.py",),
    ("docs/make_experiments.py",),
)


def unverified(page: str) -> Iterator[tuple[str, list[str]]]:
    """The results of a page that the code may no longer give, with what changed."""
    for name in filter(is_kept, PAGES[page]):
        if changed := changes(kept(name), find(name)):
            yield name, changed


def verify(name: str) -> bool:
    """Compute the witness of a kept result again, as far as the changes can reach; stamp the result if it agrees."""
    result, study = kept(name), find(name)
    changed = changes(result, study)
    if not changed:
        print(f"{name}: verified before, nothing changed since")
        return True
    if "witness" not in result:
        print(f"{name}: has no witness; changed: {', '.join(changed)}")
        return False
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            now = witness(touched(study, changed), Path(folder))
    except AssayError as error:  # such as data that are not here
        print(f"{name}: {error}")
        return False
    found = list(differences(result["witness"], now))
    count = sum(len(values) for methods in now.values() for values in methods.values())
    took = f"{count} numbers, {time.monotonic() - start:.0f} s; changed: {', '.join(changed)}"
    if found:
        elsewhere = [] if result["processor"] == processor() else [f"(kept on {result['processor']}, which may be why)"]
        print("\n  ".join([f"{name}: {len(found)} of {took}", *found, *elsewhere]))
        return False
    keep(name, {**result, **stamp(study)})
    print(f"{name}: as kept ({took})", flush=True)
    return True


def compute_witness(name: str) -> None:
    result, study = kept(name), find(name)
    if changed := changes(result, study):
        sys.exit(f"{name} is unverified, changed: {', '.join(changed)}. A witness of other code would hide that.")
    with tempfile.TemporaryDirectory() as folder:
        keep(name, {**result, "processor": processor(), "witness": witness(study, Path(folder))})


def list_unverified() -> bool:
    """True where README has none."""
    for page in PAGES:
        for name, changed in unverified(page):
            print(f"{page}: {name} is unverified, changed: {', '.join(changed)}")
    return not any(unverified("README"))


def write_generated() -> bool:
    """Run every writer, also after one that refused."""
    return all([subprocess.run([sys.executable, *arguments], cwd=ROOT).returncode == 0 for arguments in WRITERS])


def main(arguments: Sequence[str]) -> bool:
    if list(arguments) == ["--list"]:
        return list_unverified()
    if arguments and arguments[0] == "--witness":
        for name in arguments[1:]:
            compute_witness(name)
        return True
    if not arguments:
        written = write_generated()
        list_unverified()
        return written
    every = {name for names in PAGES.values() for name in names if is_kept(name)}
    if unknown := [name for name in arguments if name not in PAGES and name not in every]:
        sys.exit(f"{', '.join(unknown)}: no page and no kept result. Known: {', '.join([*PAGES, *sorted(every)])}.")
    wanted = list[str]()
    for name in arguments:
        wanted += [found for found, _ in unverified(name)] if name in PAGES else [name]
    if not wanted:
        print(f"Every kept result of {' and '.join(arguments)} is verified.")
    return all([verify(name) for name in wanted])


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
