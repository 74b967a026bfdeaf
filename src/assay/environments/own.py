"""A model and data of yours."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor, nn

from assay.core import preflight
from assay.core.errors import SpecError
from assay.core.features import Columns, Features, Pixels
from assay.core.foreign import code_digest, load
from assay.core.given import SHAPES, as_classes, as_rows, sound_baseline, sound_classes, sound_rows, told
from assay.core.question import Question
from assay.core.rng import generator
from assay.core.setting import Reference, Samples, Setting
from assay.core.spec import Code, File
from assay.train.networks import initialise, mlp

PART = 64  # rows per call when the model is asked for labels
NAMES = ("x", "y", "reference_x", "reference_y")  # arrays that are read
FORMATS = {"float32": torch.float32, "float64": torch.float64}


@dataclass(frozen=True)
class Own:
    """Your torch module and your rows. No truth is known, so metrics that need one are skipped.

    Sample i is row i of the file for seed 0, and in an order that the seed draws for others; asking for more rows than
    there are is an error. Images are ``(N, channels, height, width)``, tables ``(N, columns)``. Labels that are not
    given are the model's own predictions.

    Rows are floats, as the model reads them; it is used frozen, in evaluation mode and in ``dtype``, however it comes
    (ours: peers take it as it is), and must answer a row in one way, alone or among others. Its source, your modules
    that it imports, weights and data are in the keys, files that the code reads by itself are not.
    """

    modality: ClassVar[str] = "image or table"
    wraps: ClassVar[bool] = True
    draws_model: ClassVar[bool] = False
    stream_name: ClassVar[str] = "own"  # what random numbers depend on besides the row

    model: Code = "assay.environments.own:example"  # module:attr, a torch module or a function that returns one
    data: File = ""  # .npz with x, and y, reference_x, reference_y where known, or .npy with x; empty: a small example
    weights: File = ""  # a state_dict for the model, .safetensors or torch's own format; empty: as the code makes it
    outputs: Literal["logits", "probabilities", "value"] = "logits"  # what the model answers with
    readout: Literal["logit", "probability", "margin", "value"] | None = None  # what is explained; None: as outputs
    target: Literal["predicted", "label"] = "predicted"  # which class is explained
    baseline: str | float = "zero"  # what methods compare with: zero, mean, uniform or a number
    dtype: Literal["float32", "float64"] = "float32"  # what rows and weights are rounded to as they are read

    @classmethod
    def tiny(cls) -> Own:
        return cls()

    @property
    def rows(self) -> int:
        """How many rows the data has."""
        return len(self._arrays["x"])

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        arrays, ready, baseline = self._arrays, self._ready, sound_baseline(self.baseline)
        if self.outputs == "value" and ready.outputs > 1:
            raise SpecError(
                f"own: {self.model} answers with {ready.outputs} values, and there is no way here to say which of them "
                "is explained: give a model that answers with one, or call assay.evaluate with a target."
            )
        if baseline == "mean" and "reference_x" not in arrays:
            raise SpecError("own: the baseline 'mean' is that of training rows: give them as reference_x in the data.")
        x = self._rows("x")
        if "y" in arrays:
            self._labels_of(x, arrays["y"], "y")
        question = Question(preflight.default_readout(self.outputs, self.readout), 1.0, baseline, self.target)
        return own_setting(ready.module, x, question, self.outputs, self._reference(x))

    @property
    def _arrays(self) -> Mapping[str, NDArray[Any]]:
        return _arrays(self.data, *_stamp(self.data))

    @property
    def _ready(self) -> _Ready:
        return _ready(self, _version(self.model), _stamp(self.weights), _stamp(self.data))

    def identities(self, indices: Sequence[int], seed: int) -> list[Hashable]:
        """Rows of the file: other seeds have the same ones in another order."""
        rows, count = list(indices), self.rows
        if rows and max(rows) >= count:
            raise SpecError(
                f"own: row {max(rows)} was asked for and {self.data or 'the example'} has {count}. Samples are "
                "computed in whole blocks: give the study at most as many samples, and a block that divides them."
            )
        order = torch.randperm(count, generator=generator("own", "order", seed)).numpy() if seed else np.arange(count)
        return list(order[rows].tolist())

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        arrays, picked = self._arrays, np.array(self.identities(indices, seed), dtype=np.int64)
        x = as_rows("x", arrays["x"][picked]).to(FORMATS[self.dtype])
        return Samples(x, self._labels_of(x, arrays["y"][picked] if "y" in arrays else None, "y"), None, tuple(indices))

    def _reference(self, like: Tensor) -> Reference | None:
        if "reference_x" not in self._arrays:
            return None
        x = self._rows("reference_x", like)
        return Reference(x, self._labels_of(x, self._arrays.get("reference_y"), "reference_y"))

    def _rows(self, name: str, like: Tensor | None = None) -> Tensor:
        return sound_rows(name, as_rows(name, self._arrays[name]).to(FORMATS[self.dtype]), like)

    def _labels_of(self, x: Tensor, given: NDArray[Any] | None, name: str) -> Tensor:
        """As given, else as predicted; 0 where the model answers with a value."""
        if self.outputs == "value":
            return torch.zeros(len(x), dtype=torch.long)
        ready = self._ready
        if given is not None:
            return sound_classes(name, as_classes(name, given), len(x), ready.outputs)
        with torch.no_grad():
            return torch.cat([ready.module(part).argmax(dim=-1) for part in x.split(PART)])


def own_setting(
    model: nn.Module, x: Tensor, question: Question, outputs: str = "logits", reference: Reference | None = None
) -> Setting:
    """A setting for a model and rows in memory; the model is copied, frozen and in evaluation mode."""
    kind: Literal["image", "table"] = "image" if x.dim() == 4 else "table"
    features = features_of(x)  # says what shape is meant before a model stumbles over another
    copy = preflight.frozen(model, x)
    follows = preflight.has_gradients(copy, x)
    return Setting(copy, features, kind, question, reference=reference, outputs=outputs, differentiable=follows)  # type: ignore[arg-type]


def features_of(x: Tensor) -> Features:
    """Pixels of images (N, channels, height, width), columns of tables (N, columns)."""
    if x.dim() == 4:
        return Pixels(*x.shape[1:])
    if x.dim() == 2:
        return Columns.plain(x.shape[1])
    raise SpecError(f"x has shape {tuple(x.shape)}: {SHAPES}.")


def example() -> nn.Module:
    """A small untrained network, 6 columns and 3 classes; the same every time."""
    network = mlp(6, (8,), 3)
    initialise(network, generator("own", "example"))
    return network


def _stamp(path: str) -> tuple[int, int]:
    """Size and time of change: a file that is written again is read again."""
    found = Path(path).stat() if Path(path).is_file() else None
    return (found.st_size, found.st_mtime_ns) if found else (0, 0)


def _version(code: str) -> tuple[int, str]:
    """What Python has loaded under this name, and its source: both change when a module is loaded again."""
    if ":" not in code:
        raise SpecError(f"own: '{code}' names no model: write module:attr.")
    found, source = load(code), ""
    with suppress(SpecError):  # what was typed at a prompt has no source
        source = code_digest(code)
    return id(found), source


@dataclass(frozen=True, eq=False)
class _Ready:
    """A model to be asked, and what it was made by, which is kept so that its id is nobody else's."""

    module: nn.Module
    outputs: int
    source: Any


@lru_cache(maxsize=2)
def _ready(own: Own, _code: object, _weights: object, _data: object) -> _Ready:
    """The model, made once in a process; every process must make the same one."""
    x = own._rows("x")
    features_of(x)
    found = load(own.model)
    module = preflight.frozen(_made(own, found), x)
    outputs = preflight.outputs_of(module, x, own.outputs)
    if not isinstance(found, nn.Module):
        preflight.sound_twin(f"own: {own.model}", module, preflight.frozen(_made(own, found), x), x)
    return _Ready(module, outputs, found)


def _made(own: Own, found: Any) -> nn.Module:
    """A model of our own: what is done to it happens to nobody else's."""
    code = own.model
    if not callable(found):
        raise SpecError(f"own: {code} is {type(found).__name__}, not a torch.nn.Module or a function that returns one.")
    try:
        made = found if isinstance(found, nn.Module) else found()
    except Exception as error:
        raise SpecError(f"own: {code}() makes no model: {told(error)}.") from error
    if not isinstance(made, nn.Module):
        raise SpecError(f"own: {code} is {type(made).__name__}, not a torch.nn.Module.")
    mine = preflight.copied(made).to(FORMATS[own.dtype])
    if own.weights:
        _fill(mine, code, own.weights)
    return mine


@lru_cache(maxsize=2)
def _arrays(path: str, _size: int, _time: int) -> Mapping[str, NDArray[Any]]:
    if not path:
        rows = torch.randn(144, 6, generator=generator("own", "rows")).numpy()
        return {"x": rows[16:], "reference_x": rows[:16]}
    if not Path(path).is_file():
        raise SpecError(f"own: there is no file '{path}'.")
    arrays, names = _read(path)
    if "x" not in arrays or not arrays["x"].size:
        raise SpecError(f"own: '{path}' has {', '.join(names) or 'nothing'}, and no rows in an array 'x'.")
    for name in ("y", "reference_y"):
        of = arrays.get(name.replace("y", "x"))
        if name in arrays and (of is None or arrays[name].shape != of.shape[:1]):
            raise SpecError(f"own: '{name}' in '{path}' has shape {arrays[name].shape}: one label per row is needed.")
    return arrays


def _read(path: str) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """The arrays of a file that mean something here, and the names of all."""
    try:
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.ndarray):
            return {"x": found}, ["x"]
        with found:
            return {name: found[name] for name in NAMES if name in found.files}, found.files
    except Exception as error:  # of three libraries, each with errors of its own
        raise SpecError(f"own: cannot read '{path}' as .npz or .npy of plain arrays: {told(error)}.") from None


def _fill(model: nn.Module, code: str, path: str) -> None:
    """Give the model the state_dict of a file."""
    if not Path(path).is_file():
        raise SpecError(f"own: there is no file '{path}'.")
    try:
        if path.endswith(".safetensors"):
            model.load_state_dict(load_file(path))
        else:
            model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # of three libraries, each with errors of its own
        raise SpecError(f"own: {path} does not hold the weights of {code}: {told(error)}") from error
