"""``assay check``: does a component keep the promises that every component of its kind makes?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.kinds import kind_of
from assay.cli.options import Json
from assay.core.errors import AssayError, SpecError, suggest
from assay.core.registry import KINDS, resolve
from assay.core.spec import Spec

if TYPE_CHECKING:
    from assay.check.fault import Finding
    from assay.check.target import Verdict


def check(
    target: Annotated[str, typer.Argument(help="A name, name(param=value) or module:attr.")],
    kind: Annotated[str | None, typer.Option(help="methods, metrics or environments, where it is not clear.")] = None,
    higher: Annotated[bool | None, typer.Option("--higher/--lower", help="Metrics: which direction is better.")] = None,
    ideal: Annotated[
        float | None, typer.Option(help="Metrics: what exact attributions of a linear model must reach.")
    ] = None,
    best: Annotated[
        bool, typer.Option("--best", help="Metrics: no map of a linear model may be better than the exact one.")
    ] = False,
    invariant: Annotated[
        list[str] | None, typer.Option(help="Metrics: scale, shift or monotone, which must not matter; repeat it.")
    ] = None,
    literal: Annotated[
        str | None, typer.Option(help="Metrics: module:attr of a literal version f(model, x, y, a), to agree with.")
    ] = None,
    skip: Annotated[list[str] | None, typer.Option(help="A contract to leave out; repeat it.")] = None,
    as_json: Json = False,
) -> None:
    """Put a method, a metric or an environment through the contract suite; exit code 1 when it has a fault."""
    from rich.console import Console

    from assay.check.certificate import certificate
    from assay.check.target import check as verdicts

    spec = Spec.parse(target)
    found = _kind(spec, kind)
    spec = resolve(found, spec) if spec.params else spec
    promises = _promises(found, higher=higher, ideal=ideal, best=best or None, invariant=invariant, literal=literal)
    _known_contracts(found, skip or [])
    told: list[Verdict] = []
    with Console(stderr=True).status(f"checking {target}") as status:
        for verdict in verdicts(found, spec, promises, skip or ()):
            told.append(verdict)
            status.update(f"checking {target}: {len(told)} done")
    if as_json:
        typer.echo(json.dumps(certificate(target, found, told), indent=2))
    else:
        _print(target, found, told)
    raise typer.Exit(1 if _faulty(told) or all(verdict.reason for verdict in told) else 0)


def _promises(kind: str, **given: Any) -> dict[str, Any]:
    """What the user says about a metric; AssayError where it makes no sense."""
    from assay.core.foreign import load
    from assay.core.foreign_metrics import foreign_metric

    said = {name: value for name, value in given.items() if value is not None}
    if said and kind != "metrics":
        raise AssayError(f"--{', --'.join(said)}: these are about metrics, and this is one of the {kind}.")
    known = ("scale", "shift", "monotone")
    for name in said.get("invariant", []):
        if name not in known:
            raise AssayError(f"--invariant {name}: choose {', '.join(known)}.{suggest(name, known)}")
    if "invariant" in said:
        said["invariant"] = tuple(said["invariant"])
    if text := said.get("literal"):
        said["literal"] = foreign_metric(text, load(text), {})
        if said["literal"] is None:
            raise SpecError(f"--literal {text}: its call must take model, x, y and a.")
    return said


def _known_contracts(kind: str, skip: list[str]) -> None:
    from assay.check.target import names

    for name in skip:
        if name not in names(kind):
            raise AssayError(f"--skip {name}: there is no such contract.{suggest(name, names(kind))}")


def _kind(spec: Spec, given: str | None) -> str:
    if given is not None:
        if given not in KINDS:
            raise AssayError(f"--kind {given}: choose {', '.join(KINDS)}.{suggest(given, KINDS)}")
        return given
    return kind_of(spec)


def _faulty(told: list[Verdict]) -> bool:
    return any(verdict.faults for verdict in told)


def _grouped(finding: Finding) -> dict[str, list[str]]:
    """Faults that differ in their witness only are one line."""
    groups: dict[str, list[str]] = {}
    for fault in finding.faults:
        groups.setdefault(fault.message, []).append(fault.witness)
    return groups


def _print(target: str, kind: str, told: list[Verdict]) -> None:
    from rich.console import Console
    from rich.markup import escape

    from assay.check.certificate import ours, package

    console = Console()
    count = len({finding.contract for verdict in told for finding in verdict.findings})
    console.print(f"[bold]{escape(target)}[/bold] ({kind[:-1]}), {count} contracts")
    found = package(Spec.parse(target))
    theirs = f"{found['name']} {found['version']}, " if found and ":" in target else ""
    console.print(f"[dim]{theirs}checked by assay {ours()}[/dim]\n", highlight=False)
    for verdict in told:
        if verdict.faults:
            word = "[red]broken[/red]"
        else:
            word = "[dim]does not apply[/dim]" if verdict.reason else "[green]kept[/green]"
        console.print(f"  {word}  {escape(verdict.name)}  [dim]{escape(verdict.reason)}[/dim]", highlight=False)
        for finding in verdict.findings:
            _print_finding(finding, one_by_one=verdict.ladder and not verdict.reason)
    end = "has faults" if _faulty(told) else "keeps every contract"
    console.print(f"\n{escape(target)} {end}.", highlight=False)


def _print_finding(finding: Finding, one_by_one: bool) -> None:
    """A contract's faults; where contracts are told one by one, also what is kept and what does not apply.

    On the ladder they are: what a metric declares decides which of them apply.
    """
    from rich.console import Console
    from rich.markup import escape

    console = Console()
    if one_by_one and finding.status == "pass":
        console.print(f"    [green]pass  {finding.contract}[/green]: {escape(finding.promise)}", highlight=False)
    elif one_by_one and finding.status == "not applicable":
        console.print(f"    [dim]n/a   {finding.contract}: {escape(finding.reason)}[/dim]", highlight=False)
    for message, witnesses in _grouped(finding).items():
        console.print(f"    [red]fault {finding.contract}: {escape(message)}[/red]", highlight=False)
        more = f" and {len(witnesses) - 1} more" if len(witnesses) > 1 else ""
        if witnesses[0]:
            console.print(f"          {escape(witnesses[0])}{more}", style="dim", highlight=False)
