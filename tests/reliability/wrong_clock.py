"""The clock jumps between two runs: the run that was made last is the one that is shown."""

from assay.engine.store.store import Store
from assay.report.runs import latest_run
from reliability.arena import ended
from reliability.tally import Tally

DAY = 86_400.0
JUMPS = (-10 * DAY, 10 * DAY)


def wrong_clock(arena, _draws, _times):
    tally = Tally("clock set back or ahead by ten days between two runs")
    for jump in JUMPS:
        store = f"clock{jump:+.0f}"
        codes = [ended(arena.start(store, "--workers", "0", "--seeds", "0", clock=max(0.0, -jump)))]
        codes.append(ended(arena.start(store, "--workers", "0", clock=max(0.0, jump))))
        if codes != [0, 0]:
            tally.problems.append(f"exit codes {codes}")
        opened = Store.open(arena.root(store), create=False)
        if latest_run(opened).data["study"]["seeds"] != [0, 1]:
            tally.problems.append(f"jump of {jump / DAY:+.0f} days: the run shown is not the one made last")
        opened.close()
        tally.struck(arena)
        tally.compare(arena, arena.root(store), reference=_reference(arena))
    return tally


def _reference(arena):
    for options in (["--seeds", "0"], []):
        ended(arena.start("clock-reference", "--workers", "0", *options))
    return arena.dump(arena.root("clock-reference"))
