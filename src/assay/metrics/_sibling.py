"""The other model of a setting."""

from __future__ import annotations

from dataclasses import replace

from assay.core.errors import NotApplicable
from assay.core.setting import Setting
from assay.core.trial import Scene

MARK = "sibling."  # before the name of a hint that is about the other model


def sibling_setting(setting: Setting) -> Setting:
    """The same setting around the other model; hints that are marked as its own, or else the first's."""
    if setting.sibling is None:
        raise NotApplicable(
            "needs a second model for the same samples: take in_domain(of=...) or beside(of=..., other=...)"
        )
    own = {name.removeprefix(MARK): hint for name, hint in setting.hints.items() if name.startswith(MARK)}
    hints = {name: hint for name, hint in own.items() if hint} if own else setting.hints
    return replace(setting, model=setting.sibling, sibling=None, forward=None, hints=hints)


def sibling_scene(scene: Scene) -> Scene:
    """The same samples, asked about the same classes, before the other model."""
    return replace(scene, setting=sibling_setting(scene.setting))
