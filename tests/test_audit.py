"""The audit of installed packages finds what is not pinned, pinned to another version, or missing."""

import re
import tomllib

from audit import ROOT, needed, pinned, problems

PINS = pinned("numpy==2.3.5\ntorch==2.13.0\nImage_IO==1.0\n")


def test_what_is_pinned_is_fine_whatever_its_build():
    installed = {"numpy": "2.3.5", "torch": "2.13.0+cpu", "image-io": "1.0"}
    assert not list(problems(installed, PINS, {"numpy"}))


def test_what_is_not_is_named():
    found = list(problems({"numpy": "2.4.0", "new-part": "1.0"}, PINS, {"torch", "new-part"}))
    assert [line.split()[0] for line in found] == ["new-part", "numpy", "torch"]


def test_a_tool_of_a_developer_is_left_alone():
    assert not list(problems({"ipython": "9.0"}, PINS, set()))


def test_what_a_package_needs_is_followed_to_the_end():
    assert {"torch", "numpy", "pytest", "msgpack", "tornado"} <= needed("assay-xai")  # the last two through Dask


def test_the_version_is_the_same_in_all_three_places():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    told = re.search(r"^## (\S+) \(", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited[1] == told[1] == version
