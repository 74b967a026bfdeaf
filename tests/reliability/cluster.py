"""A Dask cluster on loopback whose parts can be killed one by one."""

import os
import signal
import subprocess
import sys


class Cluster:
    """A scheduler and workers, each a process of its own."""

    def __init__(self, folder):
        self.folder, self.file, self.processes = folder, folder / "scheduler.json", []

    def start(self, workers=2):
        self.file.unlink(missing_ok=True)
        where = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"]
        self.process("scheduler", *where, "--scheduler-file", str(self.file))
        for _ in range(workers):
            self.worker()
        return self

    def worker(self):
        where = ["--scheduler-file", str(self.file), "--local-directory", str(self.folder), "--host", "127.0.0.1"]
        return self.process("worker", *where, "--nthreads", "1", "--no-dashboard")

    def process(self, *arguments):
        with (self.folder / f"{len(self.processes)}.log").open("w") as log:
            command = [sys.executable, "-m", "dask", *arguments]
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True))
        return self.processes[-1]

    def kill(self, *processes):
        """With everything that they have started."""
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
