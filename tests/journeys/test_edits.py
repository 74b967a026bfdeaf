"""Files that are edited while a study runs: no number goes under the key of another file."""

import numpy as np
import pytest

from assay.core.machine import Resources
from assay.engine.execute.run import run
from assay.engine.store.store import Store
from assay.studies.file import read

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
                        stream.write("edited = True\\n")
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


def records(folder, kind):
    return Store.open(folder, create=False).records(kind)


def test_data_that_change_during_a_run_are_a_failure_with_its_reason(place, tmp_path, monkeypatch):
    before = (place / "rows.npz").read_bytes()
    monkeypatch.setenv("EDITS", "rows.npz")
    run(study(place), tmp_path / "s", Resources(1))
    trials = records(tmp_path / "s", "trial")
    assert {record.status for record in trials} == {"ok", "failed"}  # of the blocks before and after
    assert "was changed" in next(record for record in trials if record.status == "failed").reason
    assert {record.status for record in records(tmp_path / "s", "score")} == {"failed"}

    (place / "rows.npz").write_bytes(before)
    monkeypatch.delenv("EDITS")
    run(study(place), tmp_path / "s", Resources(0))
    assert [record.status for record in records(tmp_path / "s", "trial")] == ["ok", "ok"]
    run(study(place), tmp_path / "again", Resources(0))
    fresh, mended = (
        [record.result for record in records(store, "trial")] for store in (tmp_path / "again", tmp_path / "s")
    )
    assert fresh == mended


def test_code_that_is_edited_during_a_run_goes_on_as_it_was_read(place, tmp_path, monkeypatch):
    monkeypatch.setenv("EDITS", "edited_late.py")
    run(study(place), tmp_path / "s", Resources(1))
    assert [record.status for record in records(tmp_path / "s", "trial")] == ["ok", "ok"]
    monkeypatch.delenv("EDITS")
    second = run(study(place), tmp_path / "s", Resources(1))
    assert second.plan.reused == 0  # it is another method now


def test_a_docstring_or_a_comment_edited_below_a_method_recomputes_nothing(place, tmp_path):
    method, below = place / "edited_late.py", place / "edited_below.py"
    below.write_text('"""Factors."""\n\n\ndef factor():\n    """One."""\n    return 1.0\n')
    method.write_text(METHOD.replace("import os\n", "import os\nfrom edited_below import factor\n", 1))
    before = run(study(place), tmp_path / "s", Resources(1))
    below.write_text(below.read_text().replace("One.", "Nothing is scaled.") + "# a reason\n")
    method.write_text(method.read_text().replace("first time that", "first time"))
    assert run(study(place), tmp_path / "s", Resources(1)).plan.reused == before.plan.trials == 2
    below.write_text(below.read_text().replace("1.0", "2.0"))
    assert run(study(place), tmp_path / "s", Resources(1)).plan.reused == 0
