"""Bad inputs by name: what a user, a disk or somebody hostile may put before a command, as files and arguments."""

from __future__ import annotations

import os
import pickle
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from assay.environments.own import example

BODY = 'environments = ["own"]\nmethods = ["gradient"]\nmetrics = ["deletion"]\ngallery = 0\n'
HERE = 'environments = ["own"]\nmetrics = ["deletion"]\n'


class Case(NamedTuple):
    """Arguments of ``assay``, and a part of the sentence that it must answer with."""

    name: str
    arguments: tuple[str, ...]
    says: str


class Payload:
    """A pickle that would write a file."""

    def __reduce__(self):
        return (open, ("executed", "w"))


def studies(folder: Path) -> Iterator[Case]:
    """Study files; ``run`` and ``show`` read them in the same way."""
    texts = {
        "nested arrays": (f"title = {'[' * 1000}{']' * 1000}\n" + BODY, "nested"),
        "nested tables": ("title = " + "{a=" * 1000 + "1" + "}" * 1000 + "\n" + BODY, "nested"),
        "a dotted key": (".".join("a" * 20_000) + " = 1\n" + BODY, "nested"),
        "nested a little less": (f"title = {'[' * 60}{']' * 60}\n" + BODY, "nested"),
        "an integer of 5,000 digits": ("samples = " + "9" * 5000 + "\n" + BODY, "too large"),
        "an integer of 5,000 hexadecimal digits": ("samples = 0x" + "f" * 5000 + "\n" + BODY, "too large"),
        "an infinite temperature": ("question = { temperature = 1e400 }\n" + BODY, "temperature must be a finite"),
        "a huge block": ("block = 10000000000\n" + BODY, "block must be"),
        "a huge gallery": ("gallery = 10000000\n" + BODY.replace("gallery = 0\n", ""), "gallery must be"),
        "a seed of 40 digits": (f"seeds = [{10**40}]\n" + BODY, "too large"),
        "a list of texts for seeds": (f"seeds = {['x' * 100] * 5000}\n" + BODY, "seeds must be"),
        "many methods": (f"methods = {['nonsense'] * 50_000}\n" + HERE, "1 to 1000 items, not 50000"),
        "many unknown keys": ("".join(f"k{i} = 1\n" for i in range(30_000)) + BODY, "unknown key"),
        "190 nested specs": (f'methods = ["{"smoothed(of=" * 190}gradient{")" * 190}"]\n' + HERE, "nested"),
        "90 nested specs": (f'methods = ["{"smoothed(of=" * 90}gradient{")" * 90}"]\n' + HERE, "nested"),
        "30 nested tuples": (f'methods = ["gradient(x={"(" * 30}1{",)" * 30})"]\n' + HERE, "nested"),
        "a number of 1e400 in a spec": ('methods = ["smoothed(noise=1e400)"]\n' + HERE, "too large"),
        "an escape sequence in a name": ('methods = ["\\u001b[2J"]\n' + HERE, r"\x1b[2J"),
        "a file that is too long": ("# " + "x" * 5_000_000 + "\n" + BODY, "at most"),
    }
    for name, (text, says) in texts.items():
        path = folder / f"{name.replace(' ', '-').replace('^', '')}.toml"
        path.write_text(text)
        for command in ("run", "show"):
            yield Case(f"{command}: {name}", (command, path.name), says)
    (folder / "many.toml").write_text("samples = 10000000000\n" + BODY)
    (folder / "seeds.toml").write_text(f"seeds = {list(range(100_000))}\nsamples = 1000\n" + BODY)
    for name in ("many", "seeds"):  # ``show`` counts them
        yield Case(f"run: {name}", ("run", f"{name}.toml"), "blocks")
        yield Case(f"run --dry-run: {name}", ("run", f"{name}.toml", "--dry-run"), "blocks")
    (folder / "latin.toml").write_bytes(BODY.encode() + b'title = "caf\xe9"\n')
    (folder / "utf16.toml").write_bytes(BODY.encode("utf-16"))
    (folder / "zeros.toml").write_bytes(bytes(1000))
    for name in ("latin", "utf16"):
        yield Case(f"run: {name}", ("run", f"{name}.toml"), "not UTF-8")
    yield Case("run: zeros", ("run", "zeros.toml"), "not valid TOML")


def arrays(folder: Path) -> Iterator[Case]:
    """Data files of ``evaluate``."""
    row = np.zeros((4, 6), dtype=np.float32)
    np.savez(folder / "objects.npz", x=np.array([Payload()], dtype=object))
    np.save(folder / "objects.npy", np.array([Payload()], dtype=object))
    np.savez(folder / "complex.npz", x=row.astype(np.complex64))
    np.savez(folder / "words.npz", x=np.array(["a", "b"]))
    (folder / "text.npz").write_text("this is no array")
    (folder / "empty.npz").write_bytes(b"")
    (folder / "pickle.npz").write_bytes(pickle.dumps(Payload()))
    (folder / "terabytes.npy").write_bytes(npy_header((2**40, 6)) + bytes(96))
    (folder / "gigabytes.npy").write_bytes(npy_header((2**27, 6)) + bytes(96))
    (folder / "negative.npy").write_bytes(npy_header((-4, 6)) + bytes(96))
    (folder / "long-header.npy").write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + bytes(96))
    archive(folder / "terabytes.npz", npy_header((2**40, 6)) + bytes(96))
    archive(folder / "no-array.npz", b"words")
    bomb(folder / "bomb.npz", 1_200)
    whole = (folder / "complex.npz").read_bytes()
    (folder / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (folder / "folder.npz").mkdir(exist_ok=True)
    says = {
        "objects.npz": "cannot read",
        "objects.npy": "cannot read",
        "complex.npz": "complex numbers",
        "words.npz": "cannot read rows",
        "text.npz": "cannot read",
        "empty.npz": "is empty",
        "pickle.npz": "cannot read",
        "terabytes.npy": "cannot read",
        "gigabytes.npy": "cannot read",
        "negative.npy": "cannot read",
        "long-header.npy": "cannot read",
        "terabytes.npz": "cannot read",
        "no-array.npz": "cannot read",
        "bomb.npz": "expands",
        "cut.npz": "cannot read",
        "folder.npz": "is empty",
        "absent.npz": "no file",
        "n" * 300: "too long",
    }
    for name, part in says.items():
        yield Case(f"evaluate: {name[:20]}", ("evaluate", "--model", MODEL, "--data", name), part)


MODEL = "assay.environments.own:example"


def weights(folder: Path) -> Iterator[Case]:
    """Weights of ``evaluate``."""
    torch.save(Payload(), folder / "hostile.pt")
    torch.save({"x": torch.zeros(3)}, folder / "other.pt")
    torch.save(torch.zeros(3), folder / "tensor.pt")
    state = example().state_dict()
    torch.save({name: tensor.to(torch.complex64) for name, tensor in state.items()}, folder / "complex.pt")
    whole = (folder / "other.pt").read_bytes()
    (folder / "cut.pt").write_bytes(whole[: len(whole) // 2])
    (folder / "text.pt").write_text("no weights")
    (folder / "pickle.pt").write_bytes(pickle.dumps(Payload()))
    (folder / "cut.safetensors").write_bytes(struct.pack("<Q", 1000) + b"{")
    (folder / "huge.safetensors").write_bytes(struct.pack("<Q", 2**62) + b"{}")
    claims = b'{"x":{"dtype":"F32","shape":[1099511627776],"data_offsets":[0,4398046511104]}}'
    (folder / "claims.safetensors").write_bytes(struct.pack("<Q", len(claims)) + claims + bytes(16))
    (folder / "folder.pt").mkdir(exist_ok=True)
    for name in ["hostile", "other", "tensor", "complex", "cut", "text", "pickle"]:
        yield weights_case(f"{name}.pt", "does not hold the weights")
    for name in ["cut", "huge", "claims"]:
        yield weights_case(f"{name}.safetensors", "does not hold the weights")
    yield weights_case("folder.pt", "no file")
    bomb(folder / "bomb.pt", 1_200)
    yield weights_case("bomb.pt", "expands")


def weights_case(name: str, says: str) -> Case:
    return Case(f"evaluate: {name}", ("evaluate", "--model", MODEL, "--data", "rows.npy", "--weights", name), says)


def specs(folder: Path) -> Iterator[Case]:
    """Specs on the command line."""
    (folder / "exits.py").write_text("raise SystemExit(0)\n")
    deep = f"{'smoothed(of=' * 90}gradient{')' * 90}"
    for command in ("show", "check"):
        yield Case(f"{command}: nested", (command, deep), "nested")
        yield Case(f"{command}: long", (command, "x" * 20_000), "at most")
        yield Case(f"{command}: large", (command, "smoothed(noise=1e999)"), "too large")
        yield Case(f"{command}: escapes", (command, "\x1b[2J"), r"\x1b[2J")
        yield Case(f"{command}: not UTF-8", (command, "\udcff"), r"\udcff")
        yield Case(f"{command}: digits", (command, f"smoothed(samples={'9' * 5000})"), "cannot read")
    yield Case("ls: escapes", ("ls", "\x1b[2J\udcff"), r"\x1b[2J\udcff")
    yield Case("ls: long", ("ls", "x" * 100_000), "cannot list")
    yield Case("run: long name", ("run", "x" * 5_000 + ".toml"), "too long")
    yield Case("show: long name", ("show", "x" * 5_000 + ".toml"), "too long")
    yield Case("run: a folder", ("run", "folder.toml"), "no study")
    yield Case(
        "evaluate: a model that exits", ("evaluate", "--model", "sys:exit", "--data", "rows.npy"), "makes no model"
    )
    yield Case("check: a module that exits", ("check", "exits:method"), "cannot import 'exits'")
    yield Case("show: a network that no memory holds", ("show", "color_count(side=1000000)"), "")


def systems(folder: Path) -> Iterator[Case]:
    """Stores and output files that the system refuses. ``good`` is a store with a run."""
    (folder / "a_file").write_text("")
    (folder / "a_folder.csv").mkdir(exist_ok=True)
    (folder / "study.toml").write_text(BODY + "samples = 2\nblock = 2\n")
    for store in ("/proc/nowhere", "a_file/store", "x" * 300):
        yield Case(f"run: store {store[:20]}", ("run", "study.toml", "--workers", "0", "--store", store), "")
    yield Case("run: store a file", ("run", "study.toml", "--workers", "0", "--store", "a_file"), "a file")
    for store in ("/proc", "a_file", "x" * 300, "nowhere"):
        yield Case(f"report: {store[:20]}", ("report", store), "")
        yield Case(f"export: {store[:20]}", ("export", store, "-o", "out.csv"), "")
    for output in ("a_file", "/proc/nowhere", "x" * 300):
        yield Case(f"report -o {output[:20]}", ("report", "good", "-o", output), "")
        yield Case(f"report --figures {output[:20]}", ("report", "good", "--figures", output), "")
    for output in ("a_folder.csv", "/proc/nowhere/out.csv", "x" * 300 + ".md", "a_file/out.parquet"):
        yield Case(f"export -o {output[:20]}", ("export", "good", "-o", output), "")


def unreadable(folder: Path) -> Iterator[Case]:
    """Files that are there and whose bytes the system refuses, also to the superuser."""
    for name in ("unreadable.toml", "unreadable.npz", "unreadable.pt", "unreadable.safetensors"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to("/proc/self/mem")
    for command in ("run", "show"):
        yield Case(f"{command}: unreadable", (command, "unreadable.toml"), "cannot read")
    yield Case("evaluate: unreadable", ("evaluate", "--model", MODEL, "--data", "unreadable.npz"), "cannot read")
    for name in ("unreadable.pt", "unreadable.safetensors"):
        yield weights_case(name, "")
    store = folder / "unreadable"
    (store / "logs").mkdir(parents=True, exist_ok=True)
    (store / "store.json").write_text((folder / "good" / "store.json").read_text())
    (store / "logs" / "r1.jsonl").unlink(missing_ok=True)
    (store / "logs" / "r1.jsonl").symlink_to("/proc/self/mem")
    yield Case("report: unreadable log", ("report", "unreadable"), "refuses")
    yield Case("run: unreadable log", ("run", "study.toml", "--workers", "0", "--store", "unreadable"), "refuses")


def stores(folder: Path) -> Iterator[Case]:
    """Stores with a pipe where a file belongs, which would keep its reader waiting, or with a file nested too deep."""
    for name in ("store.json", "logs/r1.jsonl", "arrays/*/*"):
        store = folder / f"pipe-{name[:5]}"
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(folder / "good", store)
        path = next(store.glob(name), store / name)
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        yield Case(f"verify: {store.name}", ("store", "verify", store.name), "Not a regular file")
    (folder / "deep").mkdir(exist_ok=True)
    (folder / "deep" / "store.json").write_text("[" * 100_000)
    yield Case("report: deep", ("report", "deep"), "does not describe a store")


def npy_header(shape: tuple[int, ...]) -> bytes:
    """The beginning of an .npy file of float32."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) + 1) + header + b"\n"


def archive(path: Path, content: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("x.npy", content)


def bomb(path: Path, megabytes: int) -> None:
    """An .npz of zeros that expands to so many megabytes. A compressed megabyte is written again and again."""
    header = npy_header((megabytes * 2**20 // 24, 6))
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = squeeze.compress(header) + squeeze.flush(zlib.Z_FULL_FLUSH)
    zeros = bytes(2**20)
    again = squeeze.compress(zeros) + squeeze.flush(zlib.Z_FULL_FLUSH)
    content = first + again * megabytes + squeeze.flush()
    checksum = zlib.crc32(header)
    for _ in range(megabytes):
        checksum = zlib.crc32(zeros, checksum)
    sizes = struct.pack("<III", checksum, len(content), len(header) + megabytes * 2**20)
    name = b"x.npy"
    local = b"PK\x03\x04" + struct.pack("<HHHHH", 20, 0, 8, 0, 33) + sizes + struct.pack("<HH", len(name), 0) + name
    central = b"PK\x01\x02" + struct.pack("<HHHHHH", 20, 20, 0, 8, 0, 33) + sizes
    central += struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, 0) + name
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local) + len(content), 0)
    path.write_bytes(local + content + central + end)
