"""`sparsegate theorems`: every claim of the paper, measured while you wait."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from sparsegate.errors import ParameterError
from sparsegate.privacy.theorems import CLAIMS, SECTIONS, Claim, ClaimFinding, ClaimVerdict

LEGEND = """
holds and is tight  no search exceeds the bound, and a witness meets it to 0.1 %
over-claims         part of it fails: something weaker is true
! beside a verdict  not the verdict that this project documents

`sparsegate theorems KEY` says more about one of them."""

_STYLES = {
    ClaimVerdict.TIGHT: "green",
    ClaimVerdict.HOLDS: "green",
    ClaimVerdict.OVER_CLAIMS: "yellow",
    ClaimVerdict.WRONG: "red",
}


def theorems(
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", show_default=False, help="Measure this one, and say all about it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array, with every part measured.")] = False,
) -> None:
    """Measure every claim of the paper; exit code 1 where a verdict is not the documented one."""
    if key is not None and key not in CLAIMS:
        raise ParameterError("KEY", "must be the key of a claim", key, "run `sparsegate theorems` for the list")
    claims = list(CLAIMS.values()) if key is None else [CLAIMS[key]]
    findings = _measured(claims)
    if as_json:
        typer.echo(json.dumps([_record(CLAIMS[f.key], f) for f in findings.values()], indent=2, ensure_ascii=False))
    else:
        console = Console(markup=False, highlight=False)
        console.print(_overview(findings) if key is None else _detail(claims[0], findings[key]))
        if key is None:
            console.print(_count(findings.values()) + LEGEND)
    if any(finding.verdict is not CLAIMS[finding.key].expected for finding in findings.values()):
        raise typer.Exit(1)


def _measured(claims: list[Claim]) -> dict[str, ClaimFinding]:
    """Check one claim after the other, with a bar on stderr where that is a terminal."""
    console = Console(stderr=True)
    bar = track(claims, "measuring", console=console, transient=True, disable=not console.is_terminal)
    return {claim.key: claim.check() for claim in bar}


def _overview(findings: Mapping[str, ClaimFinding]) -> Table:
    """Two or three lines for each claim, 80 columns wide at most."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("key", no_wrap=True)
    table.add_column("measured")
    table.add_column("verdict", no_wrap=True)
    for title, claims in SECTIONS.items():
        table.add_row(Text(title.partition(":")[0], style="bold"), Text(title.partition(": ")[2], style="bold"), "")
        for claim in claims:
            finding = findings[claim.key]
            table.add_row(f"  {claim.key}", finding.evidence, _verdict(claim, finding))
    return table


def _detail(claim: Claim, finding: ClaimFinding) -> Table:
    """Everything about one claim, and every part that was measured."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    table.add_row("key", claim.key)
    table.add_row("place", claim.place)
    table.add_row("claim", claim.statement)
    table.add_row("verdict", _verdict(claim, finding))
    table.add_row("documented", str(claim.expected))
    table.add_row("measured", finding.evidence)
    for i, part in enumerate(finding.parts):
        sign = "" if part.holds else "fails: "
        line = f"{sign}{part.what}: {part.measured:.6g} {part.relation} {part.claimed:.6g}"
        table.add_row("" if i else "parts", line)
    return table


def _verdict(claim: Claim, finding: ClaimFinding) -> Text:
    mark = "" if finding.verdict is claim.expected else " !"
    return Text(f"{finding.verdict}{mark}", style=_STYLES[finding.verdict])


def _count(findings: Iterable[ClaimFinding]) -> str:
    verdicts = [finding.verdict for finding in findings]
    return "\n" + ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ClaimVerdict) + "\n"


def _record(claim: Claim, finding: ClaimFinding) -> dict[str, Any]:
    """A claim with its finding. JSON has no word for infinity: it is the string "inf"."""
    parts = [{name: _plain(value) for name, value in asdict(part).items()} for part in finding.parts]
    return {
        "key": claim.key,
        "place": claim.place,
        "statement": claim.statement,
        "expected": claim.expected,
        "verdict": finding.verdict,
        "evidence": finding.evidence,
        "parts": parts,
    }


def _plain(value: object) -> object:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
