"""Tasks without a peer state what they measured; how much it is, is nobody's test."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from assay.methods.integrated_gradients import IntegratedGradients
from benchmarks.extremal_perturbation import Cost
from benchmarks.memory import BUDGET, Peak, summary
from benchmarks.problems import image_query

SHOWN = {"task", "problem", "repeats", "who", "figure", "ratio", "note"}
ROOT = Path(__file__).parents[3]
HELD = 64 * 2**20  # bytes


# In a process of its own: what this one holds free, a method could take without anybody noticing.
HOARD = f"""
from functools import partial
import torch
from benchmarks.memory import peak
from benchmarks.problems import mlp_query

def hoard(query):
    held = torch.ones({HELD}, dtype=torch.uint8)
    return query.x * held[0]

print(peak(partial(mlp_query, 8), hoard)[0])
"""


def test_the_method_is_shown_next_to_the_passes_and_to_making_masks():
    ours, passes, masks = Cost(iterations=1, images=1).rows("extremal_perturbation", 1)
    assert all(set(row) >= SHOWN for row in (ours, passes, masks))
    assert ours["seconds"] > 0 < masks["seconds"]
    assert passes["ratio"] == "1.00x"
    without = (ours["seconds"] - masks["seconds"]) / passes["seconds"]
    assert f"without making masks: {without:.2f}x" in ours["note"]


def test_memory_that_is_held_for_a_moment_is_noticed():
    told = subprocess.run(
        [sys.executable, "-c", HOARD], capture_output=True, text=True, check=True, timeout=120, cwd=ROOT
    )
    assert 0.9 * HELD < int(told.stdout) < 2 * HELD


def test_peaks_are_measured_in_processes_of_their_own():
    (row,) = Peak("color_count", partial(image_query, 24, 1), IntegratedGradients(4)).rows("memory", 2)
    assert set(row) >= SHOWN
    assert len(row["bytes"]) == 2
    assert all(0 <= size < BUDGET for size in row["bytes"])
    assert (row["held"], row["repeats"]) == (True, 2)


def test_more_than_the_budget_is_said_to_be_beyond_it():
    within, beyond = summary([BUDGET, BUDGET * 7 // 10]), summary([BUDGET + 1, BUDGET])
    assert (within["held"], within["ratio"]) == (True, "within 1,000 MB in 2 of 2")
    assert (beyond["held"], beyond["ratio"]) == (False, "BEYOND 1,000 MB in 1 of 2")


@pytest.mark.full
def test_a_gradient_of_many_rows_stays_within_the_budget():
    (row,) = Peak("color_count", partial(image_query, 224, 3), IntegratedGradients(12)).rows("memory", 3)
    assert row["held"], row["figure"]
