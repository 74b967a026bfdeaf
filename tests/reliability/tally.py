"""What a scenario counts."""

from dataclasses import dataclass, field

from assay.engine.store.store import Store
from reliability.arena import answers


@dataclass
class Tally:
    """The numbers of one scenario."""

    scenario: str
    tried: int = 0  # kills and other faults that struck
    lost: int = 0  # answers that were in a log and are not in the store
    twice: int = 0  # answers that were in a log and were computed again
    stores: int = 0
    equal: int = 0  # of these, how many are equal to the store of an uninterrupted run
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def passed(self):
        return not self.problems and self.lost == self.twice == 0 and self.equal == self.stores and self.tried > 0

    def struck(self, arena, times=1):
        self.tried += times
        arena.say(f"{self.scenario}: {self.tried}")

    def compare(self, arena, root, seen=(), reference=None):
        """Compare a finished store with the reference; ``seen`` are keys that were in its logs at some time."""
        dump, counts = arena.dump(root), answers(root)
        found = {record["key"] for record in dump if record["status"] != "failed"}
        self.lost += len(set(seen) - found)
        self.twice += sum(count - 1 for count in counts.values())
        self.stores += 1
        self.equal += dump == (arena.reference if reference is None else reference)
        self.problems += Store.open(root, create=False).verify()
