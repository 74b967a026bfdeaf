"""Files that are edited while a study runs: what was computed with them goes under no key but their own."""

import numpy as np
import pytest

from assay.execute.run import run
from assay.store.store import Store
from assay.study.file import read

METHOD = """
import os
import numpy as np
from dataclasses import dataclass

@dataclass(frozen=True)
class Late:
    \"\"\"Edits itself, or its data, the first time that it is asked.\"\"\"

    def __call__(self, query):
        for name in ("edited_late.py", "rows.npz"):
            if os.environ.get("EDITS") == name:
                path = os.path.join(os.environ["EDITED"], name)
                if name.endswith(".py"):
                    with open(path, "a") as stream:
                        stream.write("# edited\\n")
                else:
                    np.savez(path, x=np.ones((8, 6), dtype=np.float32))
                del os.environ["EDITS"]
        return query.x * 1.0
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "edited_late.py").write_text(METHOD)
    np.savez(folder / "rows.npz", x=np.arange(48, dtype=np.float32).reshape(8, 6) % 7)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("EDITED", str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    yield folder
    import sys

    sys.modules.pop("edited_late", None)


def study(folder):
    own = f"own(data='{folder / 'rows.npz'}')"
    return read({"environments": [own], "methods": ["edited_late:Late"], "metrics": ["deletion"], "samples": 8,
                 "block": 4, "gallery": 0}, "edits")  # fmt: skip


@pytest.mark.parametrize("name", ["edited_late.py", "rows.npz"])
def test_what_was_edited_meanwhile_is_a_failure_with_its_reason(place, tmp_path, monkeypatch, name):
    before = (place / name).read_bytes()
    monkeypatch.setenv("EDITS", name)
    run(study(place), tmp_path / "s", workers=1)
    trials = Store.open(tmp_path / "s", create=False).records("trial")
    assert trials
    assert {record.status for record in trials} == {"failed"}
    assert "was changed" in trials[0].reason or "has changed" in trials[0].reason
    assert not Store.open(tmp_path / "s", create=False).records("evidence")

    (place / name).write_bytes(before)
    monkeypatch.delenv("EDITS")
    run(study(place), tmp_path / "s", workers=1)
    trials = Store.open(tmp_path / "s", create=False).records("trial")
    assert [record.status for record in trials] == ["ok", "ok"]
