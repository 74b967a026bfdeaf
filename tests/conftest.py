"""What holds for all tests."""

import os
import signal

# Virtual machines may announce AMX and not have it: torch's half precision then ends in an illegal instruction.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")

import hypothesis
import pytest
import rich.console  # noqa: F401  its styles draw from ``random`` as they are first imported
import torch

from streams import moved, start, streams

pytest_plugins = ("selection",)

torch.set_num_threads(1)  # results are promised for one thread, and two test processes share two cores
# A shell ignores interrupts in background jobs and their children, nohup ignores hangups; tests of signals need both.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# The same examples in every run, and no clock decides. Other examples: pytest --hypothesis-profile=explore
UNTIMED = {"deadline": None, "database": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("certain", derandomize=True, **UNTIMED)
hypothesis.settings.register_profile("explore", derandomize=False, print_blob=True, **UNTIMED)
hypothesis.settings.load_profile("certain")

start()
START = streams()


def _told(who):
    """What to say about code that has moved a global stream; nothing where it has not."""
    names = moved(START, streams())
    return names and (
        f"{who} draws from the global stream of {' and of '.join(names)}: give the draw a generator with a seed, make "
        "layers under streams.seeded(), or, where the code under test must draw there, mark the test draws('why')."
    )


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A module draws nothing as it is imported."""
    report = yield
    if isinstance(collector, pytest.Module) and (told := _told("A module that is imported here")):
        report.outcome, report.longrepr, report.result = "failed", told, []
        start()
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Every test begins at the same place of every stream, whatever ran before and however that ended."""
    start()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item):
    """A test draws nothing, nor does a fixture of any scope that was made for it; one marked ``draws`` may itself."""
    mark = item.get_closest_marker("draws")
    if mark is not None:
        _fail(_told("A fixture") if mark.args else "draws needs a reason: mark.draws('why').")
    result = yield
    if mark is None:
        _fail(_told("This test or a fixture"))
    return result


def _fail(told):
    if told:
        pytest.fail(told, pytrace=False)


def pytest_terminal_summary(terminalreporter):
    """Print what tests had to tell (``record_property("told", ...)``), also from other processes."""
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "told" and report.when == "call":
                    terminalreporter.write_line(str(value))
