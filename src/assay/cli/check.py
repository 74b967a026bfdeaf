"""``assay check``: does a component keep the promises that every component of its kind makes?"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import Json
from assay.core.errors import AssayError, SpecError, suggest
from assay.core.registry import KINDS, card, catalogue, resolve
from assay.core.spec import Spec

if TYPE_CHECKING:
    from assay.check.target import Verdict


def check(
    target: Annotated[str, typer.Argument(help="A name, name(param=value) or module:attr.")],
    kind: Annotated[str | None, typer.Option(help="methods, metrics or environments, where it is not clear.")] = None,
    as_json: Json = False,
) -> None:
    """Put a method, a metric or an environment through the contract suite; exit code 1 when it has a fault."""
    from rich.console import Console

    from assay.check.target import check as verdicts

    spec = Spec.parse(target)
    found = _kind(spec, kind)
    spec = resolve(found, spec) if spec.params else spec
    told: list[Verdict] = []
    with Console(stderr=True).status(f"checking {target}") as status:
        for verdict in verdicts(found, spec):
            told.append(verdict)
            status.update(f"checking {target}: {len(told)} done")
    if as_json:
        typer.echo(json.dumps(_json(target, found, told), indent=2))
    else:
        _print(target, found, told)
    raise typer.Exit(1 if _faulty(told) or all(verdict.reason for verdict in told) else 0)


def _kind(spec: Spec, given: str | None) -> str:
    if given is not None:
        if given not in KINDS:
            raise AssayError(f"--kind {given}: choose {', '.join(KINDS)}.{suggest(given, KINDS)}")
        return given
    if not spec.foreign:
        for kind in KINDS:
            if spec.name in catalogue(kind):
                return kind
        known = [name for kind in KINDS for name in catalogue(kind)]
        raise SpecError(f"nothing is called '{spec.name}'.{suggest(spec.name, known)} 'assay ls' lists everything.")
    calls = card("methods", spec.name).calls
    if {"setting", "sample"} <= set(calls):
        return "environments"
    return "metrics" if _takes_trial(spec) else "methods"


def _takes_trial(spec: Spec) -> bool:
    """A metric is called with a trial, a method with anything else."""
    import inspect

    from assay.core.foreign import load

    call = inspect.getattr_static(load(spec.name), "__call__", None)
    parameters = inspect.signature(call).parameters if inspect.isfunction(call) else {}
    return "trial" in parameters


def _faulty(told: list[Verdict]) -> bool:
    return any(verdict.faults for verdict in told)


def _grouped(verdict: Verdict) -> dict[tuple[str, str], list[str]]:
    """Faults that differ in their witness only are one line."""
    groups: dict[tuple[str, str], list[str]] = {}
    for fault in verdict.faults:
        groups.setdefault((fault.contract, fault.message), []).append(fault.witness)
    return groups


def _json(target: str, kind: str, told: list[Verdict]) -> dict[str, Any]:
    places = [{"place": v.name, "faults": [asdict(fault) for fault in v.faults], "reason": v.reason} for v in told]
    return {"target": target, "kind": kind, "passed": not _faulty(told), "places": places}


def _print(target: str, kind: str, told: list[Verdict]) -> None:
    from rich.console import Console
    from rich.markup import escape

    from assay.check.target import CONTRACTS

    console = Console()
    console.print(f"[bold]{escape(target)}[/bold] ({kind[:-1]}), {len(CONTRACTS[kind])} contracts\n")
    for verdict in told:
        if verdict.faults:
            word = "[red]broken[/red]"
        else:
            word = "[dim]does not apply[/dim]" if verdict.reason else "[green]kept[/green]"
        console.print(f"  {word}  {escape(verdict.name)}  [dim]{escape(verdict.reason)}[/dim]", highlight=False)
        for (contract, message), witnesses in _grouped(verdict).items():
            console.print(f"    [red]{contract}[/red]: {escape(message)}", highlight=False)
            more = f" and {len(witnesses) - 1} more" if len(witnesses) > 1 else ""
            if witnesses[0]:
                console.print(f"      {escape(witnesses[0])}{more}", style="dim", highlight=False)
    end = "has faults" if _faulty(told) else "keeps every contract"
    console.print(f"\n{escape(target)} {end}.", highlight=False)
