"""Changed inputs are refused in a sentence or accepted; none causes a traceback, a hang or a wrong result."""

import pytest

from fuzz import mutate
from fuzz.run import fuzz


@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=[pytest.mark.full, pytest.mark.timeout(1_200)])])
def test_changed_inputs_are_refused_or_accepted(tmp_path, monkeypatch, count):
    monkeypatch.chdir(tmp_path)
    outcomes, faults = fuzz(count, 0, tmp_path)
    assert sum(sum(ends.values()) for ends in outcomes.values()) == count
    assert not faults, "\n\n".join(f"input {fault.number} ({fault.kind})\n{fault.trace}" for fault in faults[:5])
    assert all(ends["refused"] and ends["accepted"] for ends in outcomes.values())  # the changes are not too coarse


def test_an_input_depends_on_its_seed_and_number_alone():
    import random

    values = repr(mutate.VALUES)
    for change, sound in ((mutate.text, "a = [1, 2]"), (mutate.data, bytes(100)), (mutate.tree, {"a": [1, {"b": 2}]})):
        made = [repr(change(random.Random(f"0 {number}"), sound)) for number in (5, 6, 5)]
        assert made[0] == made[2] != made[1]
    for number in range(500):
        mutate.tree(random.Random(number), {"a": [1, {"b": []}]})
    assert repr(mutate.VALUES) == values  # no input changes the next
