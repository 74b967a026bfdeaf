"""Bytes of a finished store are changed; the study is run again. Whatever was damaged is computed again, nothing else
is, and no wrong number is read."""

import shutil

from reliability.arena import answers
from reliability.tally import Tally

NEEDED = ("model", "fit", "probe", "prepared")  # computed again only if something else needs them
PARTS = {"log": "logs/*.jsonl", "array": "arrays/*/*.safetensors"}


def corruption(arena, draws, times):
    tally = Tally("bytes of logs or arrays changed")
    original, counts = arena.root("intact"), dict.fromkeys(PARTS, 0)
    arena.finish("intact")
    intact = set(answers(original))
    for number in range(times):
        part, store = list(PARTS)[number % len(PARTS)], f"damaged-{number}"
        root = shutil.copytree(original, arena.root(store))
        shutil.copytree(arena.root("intact.cache"), arena.root(f"{store}.cache"))
        damaged = _damage(root, PARTS[part], draws)
        sound = answers(root)
        try:
            arena.finish(store)
            _compare(arena, tally, root, damaged, sound)
        except Exception as error:  # no damage may stop a run
            tally.stores += 1
            tally.problems.append(f"{damaged}: {type(error).__name__}: {error}")
        counts[part] += 1
        tally.struck(arena)
        shutil.rmtree(root)
    tally.notes.append(", ".join(f"{part} {count}" for part, count in counts.items()))
    tally.notes.append("models, fits and probes that nothing needs any more are not made again")
    assert intact
    return tally


def _compare(arena, tally, root, damaged, sound):
    found = arena.dump(root)
    equal = found == [record for record in arena.reference if record["kind"] not in NEEDED or record in found]
    tally.stores += 1
    tally.equal += equal
    if not equal:
        tally.problems.append(f"{damaged}: the store differs from the reference")
    after = answers(root)
    if "arrays" not in damaged:  # what reads a damaged array is computed again with it
        tally.twice += sum(after[key] - count for key, count in sound.items())


def _damage(root, pattern, draws):
    """Change one file; returns what was done."""
    path = draws.choice(sorted(root.glob(pattern)))
    data, how = bytearray(path.read_bytes()), draws.choice(["flip", "cut", "zero"])
    at = draws.randrange(len(data))
    if how == "flip":
        data[at] ^= 1 << draws.randrange(8)
    elif how == "cut":
        del data[at:]
    else:
        data[at : at + 64] = bytes(len(data[at : at + 64]))
    path.write_bytes(data)
    return f"{how} at byte {at} of {path.relative_to(root)}"
