"""What is fuzzed: for each kind sound inputs, how one is changed, and what the package does with it.

A trial returns True where the input is accepted. AssayError, OSError and MemoryError refuse it in a sentence, as the
command line does; every other exception is a fault, and so is a ``Wrong``.
"""

from __future__ import annotations

import io
import json
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.numpy import save as save_tensors

from assay.catalogue.build import build
from assay.catalogue.registry import KINDS, card, catalogue, identity, resolve
from assay.cli.export import export
from assay.cli.report import report
from assay.core.errors import AssayError, NotApplicable, StoreError
from assay.core.machine import Resources
from assay.core.records import canonical
from assay.core.spec import Spec
from assay.engine.execute.grid import grid
from assay.engine.execute.run import run
from assay.engine.store.log import encode, logs
from assay.engine.store.log import read as read_log
from assay.engine.store.store import Store
from assay.environments.own import Own, example
from assay.methods.precomputed import Precomputed
from assay.studies.file import load, read
from assay.studies.shipped import shipped_studies
from fuzz import mutate

STUDY = """
title = "A study"
seeds = [0, 1]
data_seed = 3
samples = 4
block = 2
gallery = 2
question = { readout = "logit", temperature = 1.0, baseline = "zero", target = "label" }
environments = ["own", { use = "color_count(side=16)", label = "c", samples = 2, block = 1 }]
methods = [
    "gradient",
    { use = "smoothed(of=integrated_gradients(steps=4))", label = "m", question = { baseline = 0.5 }, only = ["c"] },
]
metrics = ["deletion", { use = "f1(sign='positive')", label = "f", only = ["color_count"] }]
faithfulness = [{ metric = "f", gamma = 0.5, require = ["m"], by = { gradient = "f" } }]

[sweep]
of = "environments"
parameter = "temperature"
values = [1, 2.5]
only = ["c"]

[full]
samples = 6
"""
STORED = {
    "environments": ["own"],
    "methods": ["gradient", "random_map"],
    "metrics": ["deletion", "sensitivity_n"],
    "samples": 4,
    "block": 2,
    "gallery": 2,
    "sweep": {"of": "methods", "parameter": "question.baseline", "values": ["zero", 0.5], "only": ["gradient"]},
}
FEW_BLOCKS = 200  # blocks of a study that is planned to the end


class Wrong(Exception):
    """A result that is not refused and not right."""


class Kind(NamedTuple):
    """A kind of input: ``make`` writes one into a folder, ``attempt`` gives it to the package."""

    share: int
    make: Callable[[random.Random, Path], None]
    attempt: Callable[[Path], bool]


def make_study(draw: random.Random, folder: Path) -> None:
    sound = draw.choice([STUDY, STUDY, *(path.read_text(encoding="utf-8") for path in shipped_studies().values())])
    changed = mutate.text(draw, sound).encode("utf-8", "surrogatepass")
    (folder / "study.toml").write_bytes(mutate.data(draw, changed) if draw.random() < 0.1 else changed)


def attempt_study(folder: Path) -> bool:
    return _plan(load(folder / "study.toml").narrowed(None, None))


def make_table(draw: random.Random, folder: Path) -> None:
    import tomllib

    (folder / "table.json").write_text(json.dumps(mutate.tree(draw, tomllib.loads(STUDY))))


def attempt_table(folder: Path) -> bool:
    try:
        table = json.loads((folder / "table.json").read_text())
    except (RecursionError, ValueError):
        return False  # no table
    return isinstance(table, dict) and _plan(read(table, "fuzzed").narrowed(None, None))


def _plan(study: Any) -> bool:
    canonical(study.to_json())
    if study.blocks() <= FEW_BLOCKS:
        for artifact in grid(study).wanted:
            if len(artifact.key) != 64:
                raise Wrong(artifact.key)
    return True


def make_spec(draw: random.Random, folder: Path) -> None:
    kind = draw.choice(KINDS)
    component = draw.choice(list(catalogue(kind).values()))
    params = draw.sample(component.params, draw.randrange(len(component.params) + 1))
    sound = str(Spec.of(component.name, **{param.name: param.default for param in params}))
    changed = mutate.text(draw, sound)
    (folder / "spec.txt").write_text(f"{kind}\n{changed}", encoding="utf-8", errors="surrogatepass")


def attempt_spec(folder: Path) -> bool:
    kind, text = (folder / "spec.txt").read_bytes().decode("utf-8", "surrogatepass").split("\n", 1)
    spec = resolve(kind, Spec.parse(text))
    if Spec.parse(str(spec)) != spec or Spec.from_json(spec.to_json()) != spec:
        raise Wrong(f"{spec} is read as another one")
    canonical(identity(kind, spec))
    card(kind, spec.name)
    if kind != "environments":  # a constructor may refuse its values in its own words: a run records them
        try:
            build(kind, spec)
        except (ValueError, TypeError, NotApplicable):
            return False
    return True


def make_array(draw: random.Random, folder: Path) -> None:
    rows = np.linspace(-1, 1, 48).reshape(8, 6).astype(draw.choice(("<f4", "<f4", ">f8", "<f2", "<i4", "<c8", "S3")))
    file = io.BytesIO()
    single = draw.random() < 0.4
    if single:
        np.save(file, rows)
    else:
        write = draw.choice((np.savez, np.savez_compressed))
        write(file, x=rows, y=np.zeros(8, dtype=np.int64), reference_x=rows, attribution=rows)
    (folder / "data.npz").write_bytes(mutate.data(draw, file.getvalue()))


def attempt_array(folder: Path) -> bool:
    path = str(folder / "data.npz")
    try:
        rows = Precomputed(path)._load()
        if rows.dtype.kind not in "fiub":
            raise Wrong("these are no real numbers")
    except AssayError:
        pass
    own = Own(data=path)
    own.setting(0, {})
    samples = own.sample(range(own.rows), 0)
    if not bool(samples.x.isfinite().all()):
        raise Wrong("rows that are not finite are accepted")
    return True


def make_weights(draw: random.Random, folder: Path) -> None:
    state = example().state_dict()
    file = io.BytesIO()
    format = draw.choice(("safetensors", "zip", "old"))
    if format == "safetensors":
        file.write(save_tensors({name: tensor.numpy() for name, tensor in state.items()}))
    else:
        torch.save(state, file, _use_new_zipfile_serialization=format == "zip")
    name = "weights.safetensors" if format == "safetensors" else "weights.pt"
    (folder / name).write_bytes(mutate.data(draw, file.getvalue()))


def attempt_weights(folder: Path) -> bool:
    (path,) = folder.glob("weights.*")
    Own(weights=str(path)).setting(0, {})
    return True


class Stores:
    """Changes copies of a small store, and compares what is read with what was stored."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "sound"
        self.study = read(STORED, "stored")
        if not self.root.exists():
            run(self.study, self.root, Resources(0))
        store = Store.open(self.root, create=False)
        self.records = {record.key: record for record in store.records()}
        self.arrays = {key: store.load(record) for key, record in self.records.items()}
        store.close()

    def make_damaged(self, draw: random.Random, folder: Path) -> None:
        """Bytes of some files are changed, as by a disk."""
        root = self.copy(folder)
        for _ in range(draw.choice((1, 1, 2, 5))):
            files = sorted(path for path in root.rglob("*") if path.is_file())
            path = draw.choice(files)
            match draw.randrange(6):
                case 0:
                    path.unlink()
                case 1:
                    path.write_bytes(draw.choice(files).read_bytes())
                case 2:
                    path.write_bytes(path.read_bytes()[: draw.randrange(path.stat().st_size + 1)])
                case _:
                    path.write_bytes(mutate.data(draw, path.read_bytes()))
            if not any(path.is_file() for path in root.rglob("*")):
                break

    def attempt_damaged(self, folder: Path) -> bool:
        """What can be read is what was stored, and all that has an undamaged line in a log can be read."""
        store = Store.open(folder / "store", create=False)
        try:
            records = store.records()
            in_logs = {
                record.key for path in logs(folder / "store" / "logs").values() for record in read_log(path).records
            }
            if lost := in_logs - {record.key for record in records}:
                raise Wrong(f"{len(lost)} records of the logs cannot be read")
            for record in records:
                if record != self.records.get(record.key):
                    raise Wrong(f"{record.kind} {record.key} is not what was stored")
                try:
                    arrays = store.load(record)
                except StoreError:
                    continue
                _check_equal(arrays, self.arrays[record.key])
            store.verify()
        finally:
            store.close()
        return _report(folder)

    def make_hostile(self, draw: random.Random, folder: Path) -> None:
        """Some records are changed, and have the checksums of what they are now."""
        root = self.copy(folder)
        (log,) = (root / "logs").glob("*.jsonl")
        records = list(self.records.values())
        lines = [encode(record) for record in records]
        for _ in range(draw.choice((1, 1, 2, 6))):
            runs = [at for at, record in enumerate(records) if record.kind == "run"]
            at = draw.choice(runs) if draw.random() < 0.6 else draw.randrange(len(lines))
            changed = mutate.tree(draw, records[at].to_json())
            lines[at] = _line(changed)
        log.write_bytes(b"".join(lines))

    def attempt_hostile(self, folder: Path) -> bool:
        Store.open(folder / "store", create=False).verify()
        return _report(folder)

    def copy(self, folder: Path) -> Path:
        return Path(shutil.copytree(self.root, folder / "store"))


def _line(value: Any) -> bytes:
    import hashlib

    try:
        text = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    except (RecursionError, ValueError):
        text = b"[" * 100_000
    return hashlib.sha256(text).hexdigest()[:16].encode() + b" " + text + b"\n"


def _check_equal(arrays: Mapping[str, Any], stored: Mapping[str, Any]) -> None:
    same = arrays.keys() == stored.keys() and all(np.array_equal(arrays[name], stored[name]) for name in stored)
    if not same:
        raise Wrong("an array is not what was stored")


def _report(folder: Path) -> bool:
    """The two commands that read a store. They write nothing outside of their folder."""
    with redirect_stdout(io.StringIO()):
        report(folder / "store", folder / "page", folder / "figures", None, True)
        export(folder / "store", folder / "out.csv", None, True)
    return True


def kinds(folder: Path) -> dict[str, Kind]:
    """All kinds, with their shares of the inputs. A sound store is made in the folder."""
    stores = Stores(folder)
    return {
        "study": Kind(25, make_study, attempt_study),
        "table": Kind(15, make_table, attempt_table),
        "spec": Kind(25, make_spec, attempt_spec),
        "array": Kind(12, make_array, attempt_array),
        "weights": Kind(10, make_weights, attempt_weights),
        "damaged store": Kind(6, stores.make_damaged, stores.attempt_damaged),
        "hostile store": Kind(7, stores.make_hostile, stores.attempt_hostile),
    }


def plan(counts: Mapping[str, Kind], count: int) -> Iterator[str]:
    """The names of ``count`` kinds by their shares, in turns."""
    names = [name for name, kind in counts.items() for _ in range(kind.share)]
    step = 37  # has no common divisor with 100, the sum of the shares
    for number in range(count):
        yield names[number * step % len(names)]
