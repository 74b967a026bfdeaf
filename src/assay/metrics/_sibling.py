"""The setting and the scene of a model's sibling."""

from __future__ import annotations

from dataclasses import replace

from assay.core.errors import NotApplicable
from assay.core.setting import Setting
from assay.core.trial import Scene

HINT_PREFIX = "sibling."  # of the names of hints that are about the sibling


def sibling_setting(setting: Setting) -> Setting:
    """The same setting with the sibling as its model, with the hints for the sibling, or those for the model if there
    are none."""
    if setting.sibling is None:
        raise NotApplicable(
            "needs a second model for the same samples: take in_domain(of=...) or beside(of=..., other=...)"
        )
    sibling_hints = {
        name.removeprefix(HINT_PREFIX): hint for name, hint in setting.hints.items() if name.startswith(HINT_PREFIX)
    }
    hints = {name: hint for name, hint in sibling_hints.items() if hint} if sibling_hints else setting.hints
    return replace(setting, model=setting.sibling, sibling=None, forward=None, hints=hints)


def sibling_scene(scene: Scene) -> Scene:
    """The same samples with the same targets, for the sibling."""
    return replace(scene, setting=sibling_setting(scene.setting))
