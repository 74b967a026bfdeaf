"""The busy neighbour of a measurement runs as long as the measurement, and the output says that it ran."""

import json
import multiprocessing

import psutil
import pytest

from assay.core.errors import AssayError
from benchmarks import __main__ as runner
from benchmarks.neighbour import busy_neighbour


@pytest.fixture
def neighbours(monkeypatch):
    """A task that states how many processes ran beside it."""

    def measure(task, repeats):
        count = f"{len(multiprocessing.active_children())} neighbours"
        return [{"task": task, "problem": "counting", "who": "assay", "figure": count, "ratio": "", "note": ""}]

    monkeypatch.setattr(runner, "measure", measure)


def stop(process):
    process.kill()
    process.join()


def test_the_neighbour_is_busy_and_ends_with_the_measurement():
    with busy_neighbour() as process:
        times = psutil.Process(process.pid).cpu_times
        before = times().user
        while times().user == before:  # an idle neighbour makes this test run out of time
            pass
    assert process.exitcode is not None


def test_the_neighbour_ends_when_the_measurement_fails():
    with pytest.raises(ZeroDivisionError), busy_neighbour() as process:
        raise ZeroDivisionError
    assert process.exitcode is not None


def test_a_neighbour_that_ended_too_early_spoils_the_measurement():
    with pytest.raises(AssayError, match="ended before the measurement"), busy_neighbour() as process:
        stop(process)


def test_a_neighbour_that_does_not_start_in_time_is_ended():
    before = multiprocessing.active_children()
    with pytest.raises(AssayError, match="did not start within 0 seconds"), busy_neighbour(start=0):
        pass
    assert multiprocessing.active_children() == before


def test_the_table_says_that_a_neighbour_ran(neighbours, capsys):
    runner.main(["memory", "--neighbour"])
    told = capsys.readouterr().out
    assert "1 neighbours" in told
    assert "Beside a busy neighbour" in told


@pytest.mark.parametrize("options", [[], ["--neighbour"]])
def test_rows_say_whether_a_neighbour_ran(neighbours, capsys, options):
    runner.main(["memory", "--json", *options])
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["figure"], row["neighbour"]) == (f"{len(options)} neighbours", bool(options))
