"""The processor's text: names and sizes as the system tells them, and no guess where it does not."""

import json

import torch

from assay.engine.execute.processor import data_caches, processor
from benchmarks import __main__ as runner


def cache(folder, index, **facts):
    for name, fact in facts.items():
        path = folder / f"index{index}" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{fact}\n")


def test_sizes_of_caches_of_data_are_told(tmp_path):
    cache(tmp_path, 0, level=1, type="Data", size="32K")
    cache(tmp_path, 1, level=1, type="Instruction", size="64K")
    cache(tmp_path, 2, level=2, type="Unified", size="1024K")
    cache(tmp_path, 3, level=3, type="Unified", size="32768K")
    assert data_caches(tmp_path) == "caches L1d 32K, L2 1024K, L3 32768K"


def test_a_cache_without_a_size_is_left_out(tmp_path):
    cache(tmp_path, 0, level=1, type="Data", size="32K")
    cache(tmp_path, 1, level=2, type="Unified")
    assert data_caches(tmp_path) == "caches L1d 32K"


def test_caches_are_unknown_where_the_system_does_not_tell_them(tmp_path):
    assert data_caches(tmp_path / "absent") == "caches unknown"


def test_rows_and_tables_name_the_processor_and_torch(monkeypatch, capsys):
    row = {"task": "memory", "problem": "-", "who": "-", "figure": "-", "ratio": "", "note": ""}
    monkeypatch.setattr(runner, "measure", lambda task, repeats: [row])
    runner.main(["memory", "--json"])
    (told,) = json.loads(capsys.readouterr().out)
    assert told["processor"] == f"{processor()}; {data_caches()}; torch {torch.__version__}"
    runner.main(["memory"])
    assert capsys.readouterr().out.replace("\n", " ").startswith(told["processor"])
