"""State of the whole process that components must not change: global random streams and switches."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch

from assay.core.rng import generator, seed_of


def streams() -> dict[str, bytes]:
    """The state of every global random stream."""
    kind, keys, *rest = np.random.get_state()
    return {
        "torch": torch.get_rng_state().numpy().tobytes(),
        "numpy": f"{kind}{rest}".encode() + np.asarray(keys).tobytes(),
        "python": repr(random.getstate()).encode(),
    }


@contextmanager
def reseeded(seed: int) -> Iterator[None]:
    """Seeds the global random streams; restores them on exit."""
    with process_state_restored():
        torch.set_rng_state(generator("check", seed).get_state())
        np.random.set_state(np.random.RandomState(seed).get_state())
        random.setstate(random.Random(seed_of("check", seed)).getstate())
        yield


@contextmanager
def process_state_restored() -> Iterator[None]:
    """Restores random streams and switches on exit."""
    before = torch.get_rng_state(), np.random.get_state(), random.getstate()
    gradients, dtype, threads = torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_num_threads()
    try:
        with np.errstate():
            yield
    finally:
        torch.set_rng_state(before[0])
        np.random.set_state(before[1])
        random.setstate(before[2])
        torch.set_grad_enabled(gradients)
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)


def switches() -> dict[str, object]:
    """Modes that affect later computations."""
    return {
        "gradients": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "anomaly detection": torch.is_anomaly_enabled(),
        "default number format": torch.get_default_dtype(),
        "threads": torch.get_num_threads(),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "numpy errors": tuple(sorted(np.geterr().items())),
    }


def differences(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """The names whose values have changed."""
    return [name for name, value in before.items() if after[name] != value]
