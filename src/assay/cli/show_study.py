"""``assay show`` of a study: print what it runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import typer

from assay.catalogue.registry import card
from assay.studies.shipped import find, shipped_studies
from assay.studies.study import Entry, Faithfulness, Study, Sweep, value_text

EMPTY: Mapping[str, list[str]] = MappingProxyType({})


def named_study(text: str) -> Study | None:
    """The study of this name or path; None if the text can only name a component."""
    key = text.removeprefix("studies/").removesuffix(".toml")
    name = text.partition("(")[0]
    if key in shipped_studies() or Path(text).suffix == ".toml" or ("/" in name and ":" not in name):
        return find(text)
    return None


def show_study(study: Study, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({**_to_json(study), "full": _full_json(study)}, indent=2))
    else:
        _print(study)


def _to_json(study: Study) -> dict[str, Any]:
    return {**study.to_json(), "kind": "studies", "blocks": _blocks(study)}


def _full_json(study: Study) -> dict[str, Any] | None:
    """The study at full scale with the keys that it replaces; None where its file has none."""
    return {"replaces": list(study.full_keys), **_to_json(study.at("full"))} if study.full else None


def _print(study: Study) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console()
    console.print(f"[bold]{escape(study.name)}[/bold]  (study)\n")
    console.print(study.title or "It has no title.", markup=False, highlight=False)
    sizes = [f"{entry.samples} in blocks of {entry.block}" for entry in study.environments]
    _print_entries(console, "environments", study.environments, {"samples": sizes})
    questions, families = map(_question_text, study.methods), (entry.family for entry in study.methods)
    _print_entries(console, "methods", study.methods, {"question": list(questions), "family": list(families)})
    _print_entries(console, "metrics", study.metrics)
    data = "" if study.data_seed is None else f"; the samples are those of seed {study.data_seed}"
    console.print(f"\n[dim]seeds:[/dim] {', '.join(map(str, study.seeds))}{data}", highlight=False)
    for test in study.faithfulness:
        console.print(f"[dim]faithfulness test:[/dim] {escape(_test_text(test))}", highlight=False)
    if study.sweep:
        console.print(f"[dim]sweep:[/dim] {escape(_sweep_text(study.sweep))}", highlight=False)
    for agreement in study.agreement:
        compared = f"of {', '.join(agreement.metrics)} with {agreement.truth}, over {', '.join(agreement.methods)}"
        console.print(f"[dim]agreement:[/dim] {escape(compared)}", highlight=False)
    for slope in study.slope:
        sides = f"{slope.left} against {slope.right}, over {', '.join(slope.methods)}"
        counterparts = f" and those with '{slope.suffix}'" if slope.suffix else ""
        console.print(f"[dim]slope:[/dim] {escape(sides + counterparts)}", highlight=False)
    if any(entry.spec.foreign for entry in (*study.environments, *study.methods, *study.metrics)):
        console.print("[dim]module:attr is not imported to be shown; 'assay show module:attr' does.[/dim]")
    console.print(f"\n[bold]{_blocks(study):,} blocks of attributions[/bold]", highlight=False)
    if study.full:
        console.print(
            f"[dim]--scale full:[/dim] {escape(_full_text(study.at('full'), study.full_keys))}", highlight=False
        )


def _sweep_text(sweep: Sweep) -> str:
    values = ", ".join(map(value_text, sweep.values))
    return f"{sweep.parameter} = {values} of {', '.join(item.label for item in sweep.items)}"


def _full_text(full: Study, keys: tuple[str, ...]) -> str:
    """What is replaced at full scale, with the values that fit on a line."""
    values = {
        "title": full.title,
        "seeds": ", ".join(map(str, full.seeds)),
        "data_seed": str(full.data_seed),
        "samples": ", ".join(dict.fromkeys(str(entry.samples) for entry in full.environments)),
        "block": ", ".join(dict.fromkeys(str(entry.block) for entry in full.environments)),
        "gallery": str(full.gallery),
        "environments": ", ".join(entry.label for entry in full.environments),
        "methods": ", ".join(entry.label for entry in full.methods),
        "metrics": ", ".join(entry.label for entry in full.metrics),
        "sweep": _sweep_text(full.sweep) if full.sweep else "",
    }
    changes = [f"{key} {values[key]}" if key in values else key for key in keys]
    return f"{'; '.join(changes)}: {_blocks(full):,} blocks of attributions"


def _test_text(test: Faithfulness) -> str:
    """The floors of a test, and how it decides."""
    floors = ", ".join(f"{check.metric} at least {check.floor:g}" for check in test.checks)
    own_metrics = [f"{method} by {metric}" for method, metric in test.by.items()]
    required = [f"required of {', '.join(test.require)}"] if test.require else []
    rule = ["by the value alone"] if test.rule == "point" else []
    return "; ".join([floors, *own_metrics, *rule, *required, *(["strict"] if test.strict else [])])


def _blocks(study: Study) -> int:
    return sum(-(-environment.samples // environment.block) for environment, _, _ in study.series())


def _question_text(entry: Entry) -> str:
    text = ", ".join(f"{name} {value}" for name, value in entry.question.to_json().items() if value is not None)
    return text or "as the environment asks"


def _print_entries(console: Any, kind: str, entries: tuple[Entry, ...], more: Mapping[str, list[str]] = EMPTY) -> None:
    """A table of labels, of specs without defaults where they differ from the label, and of extra columns."""
    from assay.report.table import Table
    from assay.report.terminal import print_table

    heads = [kind[:-1], "spec", *more, "only on"]
    specs = [_short(kind, entry) for entry in entries]
    columns = [
        [entry.label for entry in entries],
        ["" if spec == entry.label else spec for entry, spec in zip(entries, specs, strict=True)],
        *more.values(),
        [", ".join(entry.only) for entry in entries],
    ]
    used_columns = [(head, column) for head, column in zip(heads, columns, strict=True) if any(column)]
    rows = tuple(zip(*(column for _, column in used_columns), strict=True))
    console.print()
    print_table(Table(tuple(head for head, _ in used_columns), rows, kind, text=len(used_columns)), console)


def _short(kind: str, entry: Entry) -> str:
    return str(card(kind, entry.spec.name).short(entry.spec))
