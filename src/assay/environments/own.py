"""A model and data of yours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal
from zipfile import BadZipFile

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor, nn

from assay.core.errors import SpecError
from assay.core.features import Columns, Features, Pixels
from assay.core.foreign import load
from assay.core.preflight import default_readout, outputs_of, sound_classes, sound_rows
from assay.core.question import Question
from assay.core.rng import generator
from assay.core.setting import Reference, Samples, Setting
from assay.core.spec import Code, File
from assay.train.networks import initialise, mlp

ROWS = 64  # rows per call when the model is asked for labels


@dataclass(frozen=True)
class Own:
    """Your torch module and your rows. No truth is known, so metrics that need one are skipped.

    Sample i is row i of the file for seed 0, and in an order that the seed draws for others; asking for more rows than
    there are is an error. Images are ``(N, channels, height, width)``, tables ``(N, columns)``. Without labels the
    model's own predictions stand for them: accuracy is then agreement with the intact model.

    The model is used frozen, in evaluation mode and in float32. Its source, with your modules that it imports, the
    weights and the data are in the keys: when they change, results are computed again. A file that the code reads by
    itself is not.
    """

    modality: ClassVar[str] = "image or table"
    wraps: ClassVar[bool] = True

    model: Code = "assay.environments.own:example"  # module:attr, a torch module or a function that returns one
    data: File = ""  # .npz with x, and y, reference_x, reference_y where known, or .npy with x; empty: a small example
    weights: File = ""  # a state_dict for the model, .safetensors or torch's own format; empty: as the code makes it
    outputs: Literal["logits", "probabilities", "value"] = "logits"  # what the model answers with
    readout: Literal["logit", "probability", "margin", "value"] | None = (
        None  # what is explained; None: the outputs' own
    )
    target: Literal["predicted", "label"] = "predicted"  # which class is explained
    baseline: str | float = "zero"  # what methods compare with: zero, mean, uniform or a number

    @classmethod
    def tiny(cls) -> Own:
        return cls()

    @property
    def rows(self) -> int:
        """How many rows the data has."""
        return len(self._arrays["x"])

    def setting(self, seed: int, weights: Mapping[str, Tensor]) -> Setting:
        arrays, model = self._arrays, self._model
        x = sound_rows("x", _floats(arrays["x"]))
        features_of(x)  # says what shape is meant before a model stumbles over another
        outputs_of(model, x, self.outputs)
        if "y" in arrays:
            self._labels_of(x, arrays["y"])
        question = Question(default_readout(self.outputs, self.readout), 1.0, self.baseline, self.target)
        return own_setting(model, x, question, self.outputs, self._reference(arrays, x))

    @property
    def _arrays(self) -> Mapping[str, NDArray[Any]]:
        return _arrays(self.data, *_stamp(self.data))

    @property
    def _model(self) -> nn.Module:
        return _model(self.model, self.weights, *_stamp(self.weights))

    def sample(self, indices: Sequence[int], seed: int) -> Samples:
        arrays, rows = self._arrays, list(indices)
        count = len(arrays["x"])
        if rows and max(rows) >= count:
            raise SpecError(
                f"own: row {max(rows)} was asked for and {self.data or 'the example'} has {count}. Samples are "
                "computed in whole blocks: give the study at most as many samples, and a block that divides them."
            )
        order = torch.randperm(count, generator=generator("own", "order", seed)).numpy() if seed else np.arange(count)
        picked = order[rows]
        x = _floats(arrays["x"][picked])
        return Samples(x, self._labels_of(x, arrays["y"][picked] if "y" in arrays else None), None, tuple(rows))

    def _reference(self, arrays: Mapping[str, NDArray[Any]], like: Tensor) -> Reference | None:
        if "reference_x" not in arrays:
            return None
        x = sound_rows("reference_x", _floats(arrays["reference_x"]), like)
        return Reference(x, self._labels_of(x, arrays.get("reference_y")))

    def _labels_of(self, x: Tensor, given: NDArray[Any] | None) -> Tensor:
        """As given, else as predicted; 0 where the model answers with a value."""
        if self.outputs == "value":
            return torch.zeros(len(x), dtype=torch.long)
        model = self._model
        if given is not None:
            return sound_classes("y", torch.from_numpy(given), len(x), outputs_of(model, x, self.outputs))
        with torch.no_grad():
            return torch.cat([model(part).argmax(dim=-1) for part in x.split(ROWS)])


def own_setting(
    model: nn.Module, x: Tensor, question: Question, outputs: str = "logits", reference: Reference | None = None
) -> Setting:
    """A setting for a model and rows in memory; the model is copied, frozen and in evaluation mode."""
    kind: Literal["image", "table"] = "image" if x.dim() == 4 else "table"
    frozen = deepcopy(model).eval().requires_grad_(False)
    return Setting(frozen, features_of(x), kind, question, reference=reference, outputs=outputs)  # type: ignore[arg-type]


def features_of(x: Tensor) -> Features:
    """Pixels of images (N, channels, height, width), columns of tables (N, columns)."""
    if x.dim() == 4:
        return Pixels(*x.shape[1:])
    if x.dim() == 2:
        return Columns.plain(x.shape[1])
    raise SpecError(
        f"x has shape {tuple(x.shape)}: write images as (N, channels, height, width), tables as (N, columns)."
    )


def example() -> nn.Module:
    """A small untrained network, 6 columns and 3 classes; the same every time."""
    network = mlp(6, (8,), 3)
    initialise(network, generator("own", "example"))
    return network


def _stamp(path: str) -> tuple[int, int]:
    """Size and time of change: a file that is written again is read again."""
    if not Path(path).is_file():
        return (0, 0)
    found = Path(path).stat()
    return (found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=2)
def _model(code: str, weights: str, _size: int, _time: int) -> nn.Module:
    """The model, made once in a process; every process must make the same one."""
    if ":" not in code:
        raise SpecError(f"own: '{code}' names no model: write module:attr.")
    found = load(code)
    made = _made(code, found)
    if weights:
        _fill(made, code, weights)
    elif made is not found and not _equal(made, _made(code, found)):
        raise SpecError(f"own: {code} makes another model every time: give its weights as a file.")
    return made.float().eval().requires_grad_(False)


def _made(code: str, found: Any) -> nn.Module:
    made = found if isinstance(found, nn.Module) else found()
    if not isinstance(made, nn.Module):
        raise SpecError(f"own: {code} is {type(made).__name__}, not a torch.nn.Module.")
    return made


def _equal(left: nn.Module, right: nn.Module) -> bool:
    pairs = zip(left.state_dict().values(), right.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@lru_cache(maxsize=2)
def _arrays(path: str, _size: int, _time: int) -> Mapping[str, NDArray[Any]]:
    if not path:
        rows = torch.randn(144, 6, generator=generator("own", "rows")).numpy()
        return {"x": rows[16:], "reference_x": rows[:16]}
    if not Path(path).is_file():
        raise SpecError(f"own: there is no file '{path}'.")
    try:
        found = np.load(path, allow_pickle=False)
    except (ValueError, OSError, BadZipFile) as error:
        raise SpecError(f"own: cannot read '{path}' as .npz or .npy of plain arrays: {error}.") from None
    arrays = {"x": found} if isinstance(found, np.ndarray) else dict(found)
    if "x" not in arrays or not len(arrays["x"]):
        raise SpecError(f"own: '{path}' has {', '.join(arrays) or 'nothing'}, and no rows in an array 'x'.")
    for name in ("y", "reference_y"):
        of = arrays.get(name.replace("y", "x"))
        if name in arrays and (of is None or arrays[name].shape != (len(of),)):
            raise SpecError(f"own: '{name}' in '{path}' has shape {arrays[name].shape}: one label per row is needed.")
    return arrays


def _floats(array: NDArray[Any]) -> Tensor:
    if array.dtype.kind not in "fiub":
        raise SpecError(f"own: an array holds {array.dtype}, not numbers.")
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))


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
        told = " ".join(str(error).split())[:300]
        raise SpecError(f"own: {path} does not hold the weights of {code}: {told}") from error
