"""`sparsegate audit`: what a callable of yours, or a published variant, can be proven to leak."""

from __future__ import annotations

import contextlib
import sys
from functools import partial
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from sparsegate.auditor import Verdict
from sparsegate.auditor import audit as audit_mechanism
from sparsegate.cli.options import AsJson, Claimed, Monotonic, Output, option, read_function, read_number, read_output
from sparsegate.cli.printing import grid, print_json, print_table, write_sheet
from sparsegate.errors import ParameterError
from sparsegate.gates.bounds import tight_epsilon
from sparsegate.gates.variants import VARIANTS

LEGEND = """
true      the tight ε for this many questions (`sparsegate loss`)
proven    the ε that the audit certifies as a lower bound
verdict   whether that violates the claim; "missed": the claim is false,
          and this audit did not prove it"""

_SAME = ("delta", "rho", "call_timeout", "samples", "confidence", "monotonic", "centre", "seed")


def audit(
    target: Annotated[
        str | None,
        typer.Argument(metavar="MODULE:FUNCTION", show_default=False, help="The mechanism: package.module:function."),
    ] = None,
    epsilon: Claimed = 1.0,
    delta: Annotated[float, option("", "The delta it claims.")] = 0.0,
    rho: Annotated[float | None, option("", "The rho of zCDP it claims, instead of an epsilon.")] = None,
    queries: Annotated[str, option("N|LEAST:MOST", "Ask at most this many questions; 2:10, from 2 to 10.")] = "10",
    seconds: Annotated[float | None, option("", "Time for each mechanism; 60 unless given.")] = None,
    samples: Annotated[int | None, option("", "Runs in all, instead of a time.")] = None,
    confidence: Annotated[float, option("", "Of the bound, and so of a violation.")] = 0.99,
    sensitivity: Annotated[str, option("NUMBER", "How far one person moves an answer; 1.0, not 1, for floats.")] = "1",
    monotonic: Monotonic = False,
    centre: Annotated[float, option("", "Where to lay out answers: the mechanism's threshold.")] = 0.0,
    batch: Annotated[
        bool | None, option("", "It takes (answers, n), or answers; else as its parameters say.", "--batch/--single")
    ] = None,
    call_timeout: Annotated[float, option("", "Seconds after which a call counts as hung.")] = 30.0,
    whole_budget: Annotated[bool, option("", "Go on after a violation, for a better bound.", "--whole-budget")] = False,
    replay: Annotated[
        bool, option("", "It takes rng=: run it on neighbours with the same randomness, too.", "--replay")
    ] = False,
    seed: Annotated[int | None, option("", "Of the search; the mechanism draws its own noise.")] = None,
    variants: Annotated[bool, option("", "Audit every published variant instead.", "--variants")] = False,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Prove a lower bound on what a mechanism leaks; exit code 1 if it leaks more than it claims.

    With --replay, exit code 1 also for what the same randomness on neighbours showed. With --variants, exit code 1 if a
    variant that this library calls private is found to leak.
    """
    options = locals()
    if (target is None) != variants:
        rule = "or --variants must be given, and not both"
        raise ParameterError("MODULE:FUNCTION", rule, target, "see sparsegate audit --help")
    refused = {"centre": bool(centre), "batch": batch is not None, "rho": rho is not None, "replay": replay}
    if variants and any(refused.values()):
        rule = "must not be given with --variants: the rows claim epsilon, have the threshold 0, and are batches"
        raise ParameterError(next(name for name, value in refused.items() if value), rule, next_step="leave it out")
    form = read_output(output, as_json=as_json)
    most = _queries(queries)
    same: dict[str, Any] = {name: options[name] for name in _SAME}
    ask: Any = partial(
        audit_mechanism,
        **same,
        epsilon=epsilon if rho is None else None,
        queries=most,
        budget_seconds=seconds,
        sensitivity=read_number(sensitivity, "sensitivity", "must be a positive number", "write e.g. 1, or 1.0"),
        stop_at_violation=not whole_budget,
        progress=form != "json" and sys.stderr.isatty(),
    )
    if target is not None:
        mechanism = read_function(target, "MODULE:FUNCTION")
        if not callable(mechanism):
            raise ParameterError("MODULE:FUNCTION", "must name a callable", target, "name a function of the answers")
        with contextlib.redirect_stdout(sys.stderr):  # what the mechanism prints must not end up in the JSON
            verdict = ask(mechanism, batch=batch, replay=replay)
        if form == "json":
            print_json(verdict.to_dict())
        else:
            typer.echo(verdict.sentence) if form == "table" else write_sheet(verdict.sheet(), form)
        raise typer.Exit(int(verdict.violates or bool(verdict.replay and verdict.replay.findings)))
    # An error |estimate - answer| is not monotonic, but answers that move one way are still neighbours.
    verdicts = {key: ask(row) for key, row in VARIANTS.items()}
    if form == "json":
        print_json([{"row": key, **verdict.to_dict()} for key, verdict in verdicts.items()])
    else:
        overview = _overview(verdicts, epsilon=epsilon, queries=most[1], monotonic=monotonic)
        print_table(overview, form, title="audit of the published variants", after=LEGEND)
    raise typer.Exit(int(any(verdict.violates and VARIANTS[key].private for key, verdict in verdicts.items())))


def _overview(verdicts: dict[str, Verdict], *, epsilon: float, queries: int, monotonic: bool) -> Table:
    numbers = ("claimed", "true", "proven")
    table = grid("key", "paper", *numbers, "verdict", right=numbers)
    for key, verdict in verdicts.items():
        row = VARIANTS[key]
        true = tight_epsilon(row, epsilon=epsilon, monotonic=monotonic, queries=queries)
        words = Text("missed" if true > epsilon else "none found")
        if verdict.violates:
            words = Text("violates", style="red")
        cells = (f"{epsilon:g}", f"{true:.4g}", f"{verdict.epsilon_lower:.4f}")
        table.add_row(key, row.algorithm, *cells, words)
    return table


def _queries(text: str) -> tuple[int, int]:
    least, colon, most = text.partition(":")
    try:
        return (int(least), int(most)) if colon else (1, int(least))
    except ValueError:
        rule = "must be a whole number n >= 1, or least:most"
        raise ParameterError("queries", rule, text, "write e.g. 10, or 2:10") from None
