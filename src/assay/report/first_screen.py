"""The page's first screen: what follows, and the pictures that show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.report.board import Result
from assay.report.finding import Finding, foremost
from assay.report.gallery_page import GalleryPanel, Picture


@dataclass(frozen=True)
class FirstPicture:
    """A picture and what it shows."""

    head: str
    picture: Picture


@dataclass(frozen=True)
class FirstScreen:
    """What a reader sees before scrolling."""

    findings: tuple[Finding, ...]
    more: tuple[Finding, ...]  # that are told on demand
    pictures: tuple[FirstPicture, ...] = ()  # of one sample: input, truth, best and worst map
    title: str = ""  # of the sample


def first_screen(result: Result, panels: Sequence[GalleryPanel]) -> FirstScreen:
    """Answers have a section of their own."""
    kept = foremost(result.findings)
    shown = tuple(finding for finding in kept if finding.rule != "answer")
    screen = FirstScreen(shown, tuple(finding for finding in result.findings if finding not in kept))
    for panel in panels:
        if panel.kind == "image" and panel.samples:
            title = f"{panel.samples[0].title}, {panel.environment}"
            return FirstScreen(screen.findings, screen.more, tuple(_pictures(panel)), title)
    return screen


def _pictures(panel: GalleryPanel) -> list[FirstPicture]:
    """Of the first sample. Methods stand in the order of the board, so that the last one is the worst."""
    cells = list(zip(panel.heads, panel.samples[0].pictures, strict=True))
    given = [FirstPicture(head, picture) for head, picture in cells if isinstance(head, str)]
    drawn = [
        (head, picture) for head, picture in cells if not isinstance(head, str) and not head.control and picture.source
    ]
    ends = {0: "first", len(drawn) - 1: "last"} if len(drawn) > 1 else dict.fromkeys(range(len(drawn)), "")
    for place, word in ends.items():
        head, picture = drawn[place]
        assert not isinstance(head, str)
        given.append(FirstPicture(f"{word}: {head.label}" if word else head.label, picture))
    return given
