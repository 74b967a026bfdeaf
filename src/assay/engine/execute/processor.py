"""The processor that computes: last digits and times depend on it."""

from __future__ import annotations

import platform
from pathlib import Path

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def processor() -> str:
    """Its name and the instruction set that torch uses, which decides how sums are rounded."""
    import torch

    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else platform.machine()}, {torch.backends.cpu.get_cpu_capability()}"


def data_caches(folder: Path = CACHES) -> str:
    """The sizes of the first core's caches, which decide how fast large calls are; only Linux tells them."""
    caches = [[(cache / fact).read_text().strip() for fact in ("level", "type", "size")] for cache in _indexed(folder)]
    marks = {"Data": "d", "Unified": ""}
    sizes = [f"L{level}{marks[kind]} {size}" for level, kind, size in caches if kind in marks]
    return f"caches {', '.join(sizes) or 'unknown'}"


def _indexed(folder: Path) -> list[Path]:
    return sorted(cache for cache in folder.glob("index*") if (cache / "size").is_file())
