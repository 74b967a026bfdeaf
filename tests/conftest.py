"""What holds for all tests."""

import os
import signal

# Virtual machines may announce AMX and not have it: torch's half precision then ends in an illegal instruction.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")

import torch

pytest_plugins = ("selection",)

torch.set_num_threads(1)  # results are promised for one thread, and two test processes share two cores
# A shell ignores interrupts in background jobs and their children, nohup ignores hangups; tests of signals need both.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_terminal_summary(terminalreporter):
    """Print what tests had to tell (``record_property("told", ...)``), also from other processes."""
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "told" and report.when == "call":
                    terminalreporter.write_line(str(value))
