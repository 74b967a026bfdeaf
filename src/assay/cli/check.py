"""``assay check``: test whether a component keeps the contracts of its kind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.catalogue.registry import KINDS, resolve
from assay.cli.kind_of import kind_of
from assay.cli.options import Json
from assay.cli.prints import prints_on_stderr
from assay.core.errors import AssayError, SpecError, suggest
from assay.core.spec import Spec
from assay.foreign.imports import load

if TYPE_CHECKING:
    from assay.check.contracts.fault import Finding
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
    with prints_on_stderr():  # what is wrong here is told before torch is imported
        spec = Spec.parse(target)
        component_kind = _kind(spec, kind)
        spec = resolve(component_kind, spec) if spec.params else spec
        promises = _promises(
            component_kind, higher=higher, ideal=ideal, best=best or None, invariant=invariant, literal=literal
        )

    from rich.console import Console
    from rich.markup import escape

    from assay.check.certificate import certificate
    from assay.check.target import check as run_contracts

    verdicts: list[Verdict] = []
    with prints_on_stderr():
        _check_contract_names(component_kind, skip or [])
        with Console(stderr=True).status(f"checking {escape(target)}") as status:
            for verdict in run_contracts(component_kind, spec, promises, skip or ()):
                verdicts.append(verdict)
                status.update(f"checking {escape(target)}: {len(verdicts)} done")
    if as_json:
        typer.echo(json.dumps(certificate(target, component_kind, verdicts), indent=2))
    else:
        _print(target, component_kind, verdicts)
    raise typer.Exit(1 if _faulty(verdicts) or all(verdict.reason for verdict in verdicts) else 0)


def _promises(kind: str, **options: Any) -> dict[str, Any]:
    """What the user promises about a metric; AssayError if an option is invalid."""
    promises = {name: value for name, value in options.items() if value is not None}
    if promises and kind != "metrics":
        raise AssayError(f"--{', --'.join(promises)}: only for metrics, and this is one of the {kind}.")
    invariances = ("scale", "shift", "monotone")
    for name in promises.get("invariant", []):
        if name not in invariances:
            raise AssayError(f"--invariant {name}: choose {', '.join(invariances)}.{suggest(name, invariances)}")
    if "invariant" in promises:
        promises["invariant"] = tuple(promises["invariant"])
    if text := promises.get("literal"):
        from assay.foreign.metrics import foreign_metric

        promises["literal"] = foreign_metric(text, load(text), {})
        if promises["literal"] is None:
            raise SpecError(f"--literal {text}: its call must take model, x, y and a.")
    return promises


def _check_contract_names(kind: str, skip: list[str]) -> None:
    from assay.check.target import CONTRACTS

    names = [contract.__name__ for contract in CONTRACTS[kind]]
    for name in skip:
        if name not in names:
            raise AssayError(f"--skip {name}: there is no such contract.{suggest(name, names)}")


def _kind(spec: Spec, kind: str | None) -> str:
    if kind is not None:
        if kind not in KINDS:
            raise AssayError(f"--kind {kind}: choose {', '.join(KINDS)}.{suggest(kind, KINDS)}")
        return kind
    return kind_of(spec)


def _faulty(verdicts: list[Verdict]) -> bool:
    return any(verdict.faults for verdict in verdicts)


def _grouped(finding: Finding) -> dict[str, list[str]]:
    """Witnesses by fault message: faults that differ only in their witness are printed as one line."""
    groups: dict[str, list[str]] = {}
    for fault in finding.faults:
        groups.setdefault(fault.message, []).append(fault.witness)
    return groups


def _print(target: str, kind: str, verdicts: list[Verdict]) -> None:
    from rich.console import Console
    from rich.markup import escape

    from assay.check.certificate import assay_version, package

    console = Console()
    count = len({finding.contract for verdict in verdicts for finding in verdict.findings})
    console.print(f"[bold]{escape(target)}[/bold] ({kind[:-1]}), {count} contracts")
    distribution = package(Spec.parse(target))
    origin = f"{distribution['name']} {distribution['version']}, " if distribution and ":" in target else ""
    console.print(f"[dim]{origin}checked by assay {assay_version()}[/dim]\n", highlight=False)
    for verdict in verdicts:
        if verdict.faults:
            status = "[red]broken[/red]"
        else:
            status = "[dim]does not apply[/dim]" if verdict.reason else "[green]kept[/green]"
        console.print(f"  {status}  {escape(verdict.name)}  [dim]{escape(verdict.reason)}[/dim]", highlight=False)
        for finding in verdict.findings:
            _print_finding(finding, one_by_one=verdict.on_linear_models and not verdict.reason)
        for note in verdict.notes:
            console.print(f"    [dim]note[/dim]  {escape(note)}", highlight=False)
    conclusion = "has faults" if _faulty(verdicts) else "keeps every contract"
    console.print(f"\n{escape(target)} {conclusion}.", highlight=False)


def _print_finding(finding: Finding, one_by_one: bool) -> None:
    """Print a contract's faults; with ``one_by_one`` also whether it is kept or does not apply.

    The metric contracts on linear models are printed one by one: the metric's declarations decide which of them apply.
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
