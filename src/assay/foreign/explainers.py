"""Explainers with Captum's interface: made from the model, then ``.attribute(inputs, target=...)``.

Arguments are those of the class and of ``attribute``, by name; ``layer`` is the name of a layer. A class that takes
another explainer (noise around it, for example) makes a chain of two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter
from typing import Any

import torch
from torch import Tensor, nn

from assay.core.errors import SpecError, suggest
from assay.core.query import Query
from assay.core.setting import Setting
from assay.foreign.answers import as_tensor, explained_model, seeded_streams
from assay.foreign.calls import is_needed, named_parameters, takes_anything
from assay.foreign.imports import is_target, load
from assay.foreign.layers import image_map, last_convolution, layer_named
from assay.foreign.refusals import named, public_name

LAYER, INNER = "layer", "attribution_method"  # parameters of classes: a layer's name, another explainer
PROVIDED = ("inputs", "target", "baselines")  # arguments that come from the query
ALIKE = 1e-3  # of the largest output: two number formats of one model differ by less


@dataclass(frozen=True)
class CaptumMethod:
    """A class of explainers, made for the explained number at every call."""

    wrapped: Any  # a class
    params: Mapping[str, Any] = field(default_factory=dict)
    made_for: Any = None  # what the user's own explainer was made for; None where the user gave the class

    @property
    def positive_only(self) -> bool:
        return bool(self.params.get("relu_attributions"))

    def __call__(self, query: Query) -> Tensor:
        if self._has_parent("GradientAttribution"):
            query.require_gradients()  # first, because some fail earlier, on the model's layers
        self.check_fits(query.setting)
        explainer, arguments = self.made(explained_model(query), query.setting)
        if "baselines" in self._asked:
            arguments.setdefault("baselines", query.baseline)
        if self.made_for is not None and not _answer_alike(self.made_for, query):
            query.note(f"was made for something that answers otherwise; explains the model's {query.question.readout}")
        with seeded_streams(query):
            result = explainer.attribute(query.x.clone().requires_grad_(), target=query.target, **arguments)
        if not self._has_parent("LayerAttribution"):
            if any(link._names_layer for link in self._chain):
                query.note(f"layer {self._layer(query.setting)[0]}")
            return as_tensor(result, query)  # type: ignore[no-any-return]
        return image_map(result, query, self._layer(query.setting)[0], self.positive_only)

    def made(self, module: nn.Module, setting: Setting) -> tuple[Any, dict[str, Any]]:
        """The explainer for a module, and the arguments that it is asked with."""
        arguments, asked = dict[str, Any](), dict[str, Any]()
        for name, value in self.params.items():
            if name not in self._constructor:
                asked[name] = value
            elif isinstance(value, CaptumMethod):
                arguments[name], inner = value.made(module, setting)
                asked = {**inner, **asked}
            else:
                arguments[name] = self._layer(setting)[1] if self._names_layer and name == LAYER else _loaded(value)
        for_module = [] if INNER in arguments else [module]
        try:
            return self.wrapped(*for_module, **arguments), asked
        except (TypeError, AttributeError, AssertionError) as error:
            raise SpecError(f"cannot make '{self.name}': {type(error).__name__}: {error}.") from None

    def check_fits(self, setting: Setting, _rows: Tensor | None = None) -> None:
        """SpecError where an argument is missing, or the model has no such layer."""
        given = {name for link in self._chain for name in link.params}
        for link in self._chain:
            for name in (name for name in link._needed if name not in given):
                raise _missing(link, name, setting)
        if any(link._names_layer for link in self._chain):
            self._layer(setting)

    def check_names(self) -> None:
        """SpecError where an argument is unknown, or a class explains no answer of the model."""
        if takes_anything(self._chain[-1].wrapped.attribute):
            return
        model, *others = [*self._constructor, ""]
        names = {*others, *self._asked, *({INNER} & {model})} - {"inputs", "target", ""}
        for name in (name for name in self.params if name not in names):
            listed = ", ".join(sorted(names))
            raise SpecError(f"{self.name} has no parameter '{name}'.{suggest(name, names)} It takes: {listed}.")
        if "target" not in self._asked:
            told = f"{self.name} takes no target: it explains a layer or a neuron, and no answer of the model."
            raise named(told, "captum.attr:InputXGradient")

    @property
    def name(self) -> str:
        return public_name(self.wrapped)

    @cached_property
    def _chain(self) -> tuple[CaptumMethod, ...]:
        """This class, the explainer inside it, and so on."""
        inner = self.params.get(INNER)
        return (self, *inner._chain) if isinstance(inner, CaptumMethod) else (self,)

    @cached_property
    def _constructor(self) -> dict[str, Parameter]:
        return named_parameters(self.wrapped)

    @cached_property
    def _asked(self) -> set[str]:
        """The parameters of ``attribute``, with those that it passes on."""
        return {name for link in self._chain for name in named_parameters(link.wrapped.attribute)}

    @property
    def _needed(self) -> list[str]:
        """The parameters of this class and of its ``attribute`` without defaults."""
        made_with = [
            (name, one) for place, (name, one) in enumerate(self._constructor.items()) if place or name == INNER
        ]
        asked_with = [pair for pair in named_parameters(self.wrapped.attribute).items() if pair[0] not in PROVIDED]
        return [name for name, one in (*made_with, *asked_with) if is_needed(one)]

    def _has_parent(self, name: str) -> bool:
        """Whether it is a class of this kind, or takes an explainer that is; by name, so that nothing is imported."""
        return any(parent.__name__ == name for link in self._chain for parent in link.wrapped.__mro__)

    @property
    def _names_layer(self) -> bool:
        return isinstance(self.params.get(LAYER), str)

    def _layer(self, setting: Setting) -> tuple[str, nn.Module]:
        name = next(link.params[LAYER] for link in self._chain if link._names_layer)
        return layer_named(setting.model, name, of_instance=self.made_for is not None)


def _missing(link: CaptumMethod, name: str, setting: Setting) -> SpecError:
    height, width, *_ = (*setting.features.shape, 1)
    window = (setting.features.entries[0], max(1, height // 4), max(1, width // 4)) if setting.kind == "image" else (1,)
    examples = {
        LAYER: repr(last_convolution(setting.model)),
        INNER: "captum.attr:Saliency",
        "sliding_window_shapes": repr(window),
    }
    values = {key: repr(value) for key, value in link.params.items() if key != INNER}
    if name not in examples:
        return SpecError(f"{link.name} needs a value for '{name}': write {link.name}({name}=...).")
    told = ", ".join(f"{key}={value}" for key, value in {**values, name: examples[name]}.items())
    return named(f"{link.name} needs a value for '{name}'.", f"{link.name}({told})")


def _loaded(value: Any) -> Any:
    """The object that a text ``module:attr`` names, because a spec cannot hold a function."""
    return load(value) if is_target(value) else value


def _answer_alike(made_for: Any, query: Query) -> bool:
    """Whether what an explainer was made for answers a row as the model does, or as the explained number is read."""
    x = query.x[:1]
    try:
        with torch.no_grad():
            answer, known = made_for(x), (query.setting.model(x), query.module(x))
            return any(answer.shape == one.shape and bool(_close(answer, one)) for one in known)
    except Exception:  # of any code: it reads other rows, for example
        return False


def _close(answer: Tensor, other: Tensor) -> Tensor:
    return (answer.double() - other.double()).abs().max() <= ALIKE * other.double().abs().max()
