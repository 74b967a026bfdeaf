"""Options that several commands share are read, or refused in a sentence."""

import pytest

from assay.cli.options import machine, seed_list, time_limit, worker_count
from assay.core.errors import AssayError


def test_seeds_are_whole_numbers_from_zero_on():
    assert seed_list(None) is None
    assert seed_list("0,3,1") == (0, 3, 1)
    for text in ("-1", "0,-2", str(2**63)):
        with pytest.raises(AssayError, match="0 or more"):
            seed_list(text)
    for text in ("", "a", "0,,1", "1.5"):
        with pytest.raises(AssayError, match="write whole numbers"):
            seed_list(text)


@pytest.mark.parametrize("threads", [0, 10**6, 10**12])
def test_threads_are_a_number_that_a_machine_can_start(threads):
    with pytest.raises(AssayError, match="give 1 to 1000"):
        machine("cpu", "1GB", threads, "float32")


@pytest.mark.parametrize("count", [-1, 10**9])
def test_workers_are_as_many_as_memory_holds(count):
    assert worker_count(3, 2**30) == 3
    with pytest.raises(AssayError, match=r"give 0 \(this process\) to \d+, as many as this machine's memory holds"):
        worker_count(count, 2**30)


@pytest.mark.parametrize("device", ["zz", "", "meta", "cuda:77", "cpu:x"])
def test_a_device_that_is_not_there_is_told(device):
    with pytest.raises(AssayError, match="torch finds no such device here"):
        machine(device, "1GB", 1, "float32")


def test_a_processor_is_always_there():
    assert machine("cpu", "1GB", 1, "float32").device == "cpu"


def test_a_time_limit_is_above_zero_and_needs_a_worker():
    assert time_limit(None, 0) is None
    assert time_limit(0.5, 1) == 0.5
    for seconds in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(AssayError, match="give seconds above 0"):
            time_limit(seconds, 1)
    with pytest.raises(AssayError, match=r"--timeout 2 needs a worker process that can be stopped: --workers 1"):
        time_limit(2.0, 0)
