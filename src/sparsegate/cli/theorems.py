"""`sparsegate theorems`: every claim of the paper, and those beyond it, measured while you wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from sparsegate.cli.options import AsJson, option
from sparsegate.cli.printing import facts, grid, print_json, print_plain
from sparsegate.errors import unknown_key
from sparsegate.paper.theorems import CLAIMS, SECTIONS, Claim, ClaimFinding, ClaimVerdict

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
        str | None,
        typer.Argument(
            metavar="KEY",
            show_default=False,
            autocompletion=lambda: list(CLAIMS),
            help="Measure this one, and say all about it.",
        ),
    ] = None,
    brief: Annotated[bool, option("", "Print a line for each claim: what was measured.", "--brief")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure every claim of the paper and beyond; exit code 1 where a verdict is not the documented one."""
    if key is not None and key not in CLAIMS:
        raise unknown_key("KEY", "must be that of a claim", key, CLAIMS, "run `sparsegate theorems` for the list")
    claims = list(CLAIMS.values()) if key is None else [CLAIMS[key]]
    console = Console(stderr=True)
    bar = track(claims, "measuring", console=console, transient=True, disable=not console.is_terminal)
    findings = {claim.key: claim.check() for claim in bar}
    if as_json:
        records = []
        for name, finding in findings.items():
            record = {each: getattr(CLAIMS[name], each) for each in ("key", "place", "statement")}
            record |= {"expected": str(CLAIMS[name].expected), "verdict": str(finding.verdict)}
            records.append(record | {"evidence": finding.evidence, "parts": finding.parts})
        print_json(records, schema="claim")
    elif brief:
        for name, finding in findings.items():
            typer.echo(f"{name}: {finding.evidence}" if key is None else finding.evidence)
    elif key is None:
        verdicts = [finding.verdict for finding in findings.values()]
        tally = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ClaimVerdict)
        print_plain(_overview(findings), f"\n{tally}\n{LEGEND}")
    else:
        print_plain(_detail(claims[0], findings[key]))
    if any(finding.verdict is not CLAIMS[finding.key].expected for finding in findings.values()):
        raise typer.Exit(1)


def _overview(findings: Mapping[str, ClaimFinding]) -> Table:
    table = grid("claim", "measured", "verdict", unbroken=("verdict",))
    for title, claims in SECTIONS.items():
        table.add_row(*(Text(part, style="bold reverse") for part in title.split(": ", 1)), "")
        for claim in claims:
            finding = findings[claim.key]
            statement = Text.assemble((claim.key, "bold"), f"\n{claim.statement}")
            table.add_row(statement, finding.evidence, _verdict(claim, finding))
            table.add_row()
    return table


def _detail(claim: Claim, finding: ClaimFinding) -> Table:
    texts: dict[str, Any] = {
        "key": claim.key,
        "place": claim.place,
        "claim": claim.statement,
        "verdict": _verdict(claim, finding),
    }
    table = facts(texts | {"documented": str(claim.expected), "measured": finding.evidence}, bold=True)
    for number, part in enumerate(finding.parts):
        line = f"{part.what}: {part.measured:.6g} {part.relation} {part.claimed:.6g}"
        table.add_row("" if number else "parts", line if part.holds else f"fails: {line}")
    return table


def _verdict(claim: Claim, finding: ClaimFinding) -> Text:
    mark = "" if finding.verdict is claim.expected else " !"
    return Text(f"{finding.verdict}{mark}", style=_STYLES[finding.verdict])
