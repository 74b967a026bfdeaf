"""A machine whose clock is wrong by ``ASSAY_CLOCK`` seconds: Python imports this file before anything else."""

import datetime
import os
import time

SHIFT = float(os.environ.get("ASSAY_CLOCK", "0"))
_time, _datetime = time.time, datetime.datetime


class Shifted(_datetime):
    @classmethod
    def now(cls, tz=None):
        return _datetime.now(tz) + datetime.timedelta(seconds=SHIFT)


if SHIFT:
    time.time = lambda: _time() + SHIFT
    datetime.datetime = Shifted
