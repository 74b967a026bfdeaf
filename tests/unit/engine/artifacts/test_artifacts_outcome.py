"""Whatever happens becomes a record: ok, skipped with a reason, or failed with a traceback."""

import numpy as np
import pytest

from assay.core.errors import NotApplicable
from assay.core.records import Record
from assay.engine.artifacts.artifact import Computed
from assay.engine.artifacts.outcome import Blocked, make_record


def raising(error):
    def work():
        raise error

    return work


def run(work, save=lambda arrays: "digest"):
    return make_record("trial", "key", work, save)


def test_work_that_ends_well_is_ok_with_its_arrays_data_and_cost():
    saved = []
    record = run(lambda: Computed({"a": np.ones(2)}, {"k": 1}), lambda arrays: saved.append(dict(arrays)) or "digest")
    assert (record.kind, record.key, record.status, record.arrays) == ("trial", "key", "ok", "digest")
    assert record.data == {"k": 1}
    assert set(record.cost) == {"wall", "cpu"}
    assert min(record.cost.values()) >= 0
    assert saved[0]["a"].tolist() == [1, 1]
    assert {"time", "python", "torch", "numpy"} <= set(record.origin)


def test_work_without_arrays_saves_nothing():
    record = run(lambda: Computed({}, {}), lambda arrays: pytest.fail("nothing to save"))
    assert (record.status, record.arrays) == ("ok", "")


def test_what_does_not_apply_is_skipped_with_its_reason():
    record = run(raising(NotApplicable("needs a convolution")))
    assert (record.status, record.reason, record.traceback) == ("skipped", "needs a convolution", "")


@pytest.mark.parametrize(
    "error", [ValueError("oh"), MemoryError(), AssertionError("no"), RecursionError("deep"), StopIteration()]
)
def test_an_accident_is_failed_with_its_traceback(error):
    record = run(raising(error))
    assert record.status == "failed"
    assert record.reason.startswith(f"{type(error).__name__}: ")
    assert "Traceback" in record.traceback
    assert "raising" in record.traceback or "work" in record.traceback


def test_an_accident_while_saving_is_failed_too():
    record = run(lambda: Computed({"a": np.ones(1)}, {}), lambda arrays: 1 / 0)
    assert record.status == "failed"
    assert "ZeroDivisionError" in record.reason


def test_an_interrupt_passes_through():
    with pytest.raises(KeyboardInterrupt):
        run(raising(KeyboardInterrupt()))


def test_an_input_that_was_skipped_skips_with_the_same_reason():
    cause = Record("fit", "f", "skipped", reason="needs reference data")
    record = run(raising(Blocked(cause)))
    assert (record.kind, record.status, record.reason) == ("trial", "skipped", "needs reference data")


def test_an_input_that_failed_fails_and_says_which():
    cause = Record("model", "m", "failed", reason="ValueError: oh", traceback="Traceback: here")
    record = run(raising(Blocked(cause)))
    assert (record.status, record.reason) == ("failed", "its model failed: ValueError: oh")
    assert record.traceback == "Traceback: here"


@pytest.mark.parametrize("kind", ["trial", "evidence"])
def test_what_was_judged_is_no_cause_of_its_own(kind):
    """A trial's reason is the reason of its evidence and of its score."""
    cause = Record(kind, "t", "failed", reason="RuntimeError: oh", traceback="Traceback: here")
    record = run(raising(Blocked(cause)))
    assert (record.status, record.reason, record.traceback) == ("failed", "RuntimeError: oh", "Traceback: here")


@pytest.mark.parametrize("error", [ValueError("oh"), NotApplicable("no"), SystemExit(0)])
def test_exceptions_pass_through_where_that_is_asked_for(error):
    with pytest.raises(type(error)):
        make_record("trial", "key", raising(error), lambda arrays: "digest", raises=True)


def test_a_component_cannot_end_the_run():
    assert run(raising(SystemExit(0))).status == "failed"
