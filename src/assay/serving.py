"""AGOP-IxG in the inference path: fitted once, saved as tensors; prediction and attribution from one pass each way."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as encode
from torch import Tensor, nn

from assay.catalogue.build import component_and_name
from assay.core.errors import AssayError, SpecError
from assay.core.features import Columns
from assay.core.machine import Machine
from assay.core.question import Question
from assay.core.readout import readout as readout_module
from assay.core.rng import Stream
from assay.core.setting import Samples, Setting
from assay.core.spec import Spec, Value
from assay.engine.artifacts.answer import make_query
from assay.engine.store.files import write_atomically
from assay.foreign import models
from assay.foreign.fingerprint import fingerprint
from assay.foreign.inputs import as_rows, checked_rows, dtype_name, one_line
from assay.methods.agop import weighted

FORMAT = "assay.AgopExplainer 1"
MEMORY = 2**26  # bytes of one model call while fitting


@dataclass(frozen=True)
class Facts:
    """What a saved explainer says about itself, besides its tensors."""

    method: str  # the spec
    outputs: str  # what the model answers with
    readout: str  # the explained number, of the predicted class
    shape: tuple[int, ...]  # of a row
    dtype: str  # of rows
    model: str  # fingerprint


class AgopExplainer:
    """Predictions of a model, each with the attribution of the method ``agop`` for the predicted class.

    ``AgopExplainer(threshold=0.05).fit(model, rows)`` holds a frozen copy of the model in evaluation mode, so what
    happens to the original later changes nothing. Calls change no state: threads may share an explainer, as far as the
    model itself keeps nothing between calls.

    Parameters
    ----------
    outputs : what the model answers with: logits, probabilities or a value
    readout : the explained number, of the predicted class: logit, probability, margin or value; None: the outputs
    params : parameters of the method ``agop`` (``assay show agop``)
    """

    model_: nn.Module  # the copy
    fitted_: Mapping[str, Tensor]
    facts_: Facts

    def __init__(self, *, outputs: str = "logits", readout: str | None = None, **params: Value) -> None:
        self.outputs, self.readout, self.params = outputs, readout, params

    @torch.inference_mode(False)
    def fit(self, model: nn.Module, rows: Any) -> Self:
        """Fit to a model and training rows (N, *features), a tensor, an array or a data frame."""
        x, outputs = checked_rows("rows", as_rows("rows", rows, model)).to(_device(model)), self.outputs
        question = Question(models.default_readout(outputs, self.readout), 1.0, "zero", "predicted")
        method, name = component_and_name("methods", "agop", self.params)
        copy = models.frozen_copy(model, x)
        count = models.count_outputs(copy, x, outputs)
        if outputs == "value" and count > 1:
            raise SpecError(f"the model answers with {count} values, and one is explained: give a model with one.")
        if not models.has_gradients(copy, x):
            raise SpecError("agop needs gradients, and the model's answers have none: its forward pass leaves torch.")
        setting = Setting(copy, Columns.plain(x[0].numel()), "table", question, outputs=outputs)  # type: ignore[arg-type]
        machine = Machine(str(x.device), dtype_name(x.dtype), MEMORY, torch.get_num_threads())
        samples = Samples(x, torch.zeros(len(x), dtype=torch.long, device=x.device), None, tuple(range(len(x))))
        fitted = method.fit(make_query(setting, samples, Question(), Stream("own"), machine))
        shape, dtype = tuple(x.shape[1:]), dtype_name(x.dtype)
        return self._set(copy, fitted, Facts(name, outputs, str(question.readout), shape, dtype, fingerprint(model)))

    def _set(self, model: nn.Module, fitted: Mapping[str, Tensor], facts: Facts) -> Self:
        self.model_, self.fitted_, self.facts_ = model, fitted, facts
        self._readout = readout_module(Question(facts.readout, 1.0), facts.outputs)
        return self

    @torch.inference_mode(False)
    def __call__(self, batch: Tensor) -> tuple[Tensor, Tensor]:
        """The model's outputs (N, outputs), and the attributions in the shape of the batch.

        Attributions are shares of 1; all are 0 where the gradient or the distance to the mean row is 0.
        """
        points = self._checked(batch).detach().clone().requires_grad_()
        with torch.enable_grad():
            outputs = self.model_(points)
            explained = self._readout(outputs).gather(1, outputs.argmax(dim=1, keepdim=True))
            (gradient,) = torch.autograd.grad(explained.sum(), points, materialize_grads=True)
        return outputs.detach(), weighted(gradient, points.detach(), self.fitted_)

    def save(self, path: str | Path) -> None:
        """Write a safetensors file. The model is not in it, only its fingerprint."""
        tensors = {name: tensor.cpu().contiguous() for name, tensor in self._checked_fit().fitted_.items()}
        facts = json.dumps(asdict(self.facts_))
        metadata = {"format": FORMAT, "facts": facts, "sha256": _digest(facts, tensors)}
        write_atomically(Path(path), encode(tensors, metadata))

    @classmethod
    @torch.inference_mode(False)
    def load(cls, path: str | Path, model: nn.Module) -> AgopExplainer:
        """Read what ``save`` wrote; the model must be the one that it was fitted to."""
        facts, tensors = _read(Path(path))
        if fingerprint(model) != facts.model:
            raise SpecError(
                f"{path} was fitted to a model with other weights or settings: give that model, or fit again."
            )
        device = _device(model)
        mean = tensors["mean"].to(device, getattr(torch, facts.dtype)).reshape(1, *facts.shape)
        method = Spec.parse(facts.method)
        explainer = cls(outputs=facts.outputs, readout=facts.readout, **dict(method.params))
        fitted = {name: part.to(device) for name, part in tensors.items()}
        return explainer._set(models.frozen_copy(model, mean), fitted, facts)

    def _checked_fit(self) -> Self:
        if not hasattr(self, "facts_"):
            raise SpecError("this AgopExplainer is not fitted yet: call fit(model, rows) first.")
        return self

    def _checked(self, batch: Tensor) -> Tensor:
        facts = self._checked_fit().facts_
        if not isinstance(batch, Tensor):
            raise SpecError(f"the batch is {type(batch).__name__}: give a torch.Tensor.")
        if tuple(batch.shape[1:]) != facts.shape or dtype_name(batch.dtype) != facts.dtype:
            raise SpecError(
                f"the batch is {dtype_name(batch.dtype)} of shape {tuple(batch.shape)}, and the rows of the fit are "
                f"{facts.dtype} of shape {facts.shape}: give a batch of such rows."
            )
        return batch


def _device(model: Any) -> torch.device:
    tensors = (*model.parameters(), *model.buffers()) if isinstance(model, nn.Module) else ()
    return tensors[0].device if tensors else torch.device("cpu")


def _digest(facts: str, tensors: Mapping[str, Tensor]) -> str:
    return hashlib.sha256(facts.encode() + encode(dict(tensors))).hexdigest()


def _read(path: Path) -> tuple[Facts, dict[str, Tensor]]:
    """What is in a file; AssayError where it is not whole, or not one of ours."""
    try:
        with safe_open(path, "pt") as file:
            metadata, names = file.metadata() or {}, file.keys()
            tensors = {name: file.get_tensor(name).clone() for name in names}  # else they would be parts of the file
    except (OSError, SafetensorError) as error:
        raise AssayError(f"cannot read {path} as a saved explainer: {one_line(error)}.") from None
    if metadata.get("format") != FORMAT:
        raise AssayError(f"{path} is no saved explainer of this version: write one with AgopExplainer.save.")
    if metadata.get("sha256") != _digest(metadata.get("facts", ""), tensors):
        raise AssayError(f"{path} is damaged: its content is not what was saved. Save the explainer again.")
    facts = json.loads(metadata["facts"])
    return Facts(**{**facts, "shape": tuple(facts["shape"])}), tensors
