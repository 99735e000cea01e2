"""`sparsegate watch`: conditions against a threshold, one after another, through one gate."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsegate.budget import Keep, Prepaid, charge
from sparsegate.cli import follow as following
from sparsegate.cli.options import (
    Dataset,
    Encoding,
    Files,
    Format,
    LedgerBudget,
    LedgerDelta,
    LedgerFile,
    NoRefund,
    Separator,
    Spending,
    Sql,
    Table,
    User,
)
from sparsegate.cli.printing import print_json, ready_to_print, to_standard_output
from sparsegate.errors import ParameterError, SparsegateError, TableError
from sparsegate.gates.gate import Answer
from sparsegate.gates.sparse_vector import SparseVector, gate_calibration
from sparsegate.ledger.account import exact_text
from sparsegate.tables.files import TextForm

if TYPE_CHECKING:
    from sparsegate.tables.matching import MatchingUsers

KEPT = "the answers above are paid for, and kept nowhere: with --ledger they would be"


def watch(
    files: Files,
    threshold: Annotated[int, typer.Option("--threshold", "-t", help="A PUBLIC number of users.")],
    cutoff: Annotated[int, typer.Option("--cutoff", "-c", help="Close after this many ABOVE.")],
    epsilon: Annotated[float, typer.Option(help="The privacy loss of all the answers together.")],
    where: Annotated[
        list[str] | None, typer.Option(metavar="CONDITION", help="\"country = 'DE'\"; may be repeated.")
    ] = None,
    conditions: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Conditions, one a line; - answers them as they come.")
    ] = None,
    user: User = None,
    unit: Annotated[str | None, typer.Option(metavar="row", help="Protect rows, not people, and count rows.")] = None,
    table: Table = None,
    sql: Sql = None,
    format: Format = None,
    separator: Separator = None,
    encoding: Encoding = None,
    ledger: LedgerFile = None,
    budget: LedgerBudget = None,
    budget_delta: LedgerDelta = None,
    dataset: Dataset = None,
    no_refund: NoRefund = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object a line.")] = False,
    follow: following.Follow = False,
    time: following.Time = None,
    width: following.Width = None,
    start: following.Start = None,
    until: following.Until = None,
    lateness: following.Lateness = None,
    windows_per_user: following.PerUser = None,
    fires: following.Fires = None,
    two_sided: following.TwoSided = None,
    method: following.HowTo = None,
    name: following.Name = None,
    state: following.State = None,
    metrics: following.Metrics = None,
    webhook: following.Hook = None,
) -> None:
    """Which conditions hold for more users than a threshold? Pays for the first --cutoff that do, and then closes.

    A condition is about the columns of a row, such as "country = 'DE' AND page = '/pay'"; it is compared by the number
    of distinct users with a matching row. An ABOVE says about how many, at no cost. See docs/reference/conditions.md.
    With --follow it is the people in each window of a stream that are compared: see docs/how-to/alerts.md.
    """
    streamed = following.Following(
        time=time,
        width=width,
        start=start,
        until=until,
        lateness=lateness,
        windows_per_user=windows_per_user,
        fires=fires,
        two_sided=two_sided,
        method=method,
        name=name,
        state=state,
        metrics=metrics,
        webhook=webhook,
    )
    form = TextForm(format=format, separator=separator, encoding=encoding)
    if follow:
        if conditions is not None or unit is not None:
            wrong = "conditions" if conditions is not None else "unit"
            raise ParameterError(wrong, "must not be given with --follow", next_step="give --where, and --user")
        again = "the answers above are paid for"
        spending = Spending(ledger=ledger, budget=budget, budget_delta=budget_delta, dataset=dataset, again=again)
        following.follow(
            files,
            streamed,
            threshold=threshold,
            cutoff=cutoff,
            epsilon=epsilon,
            user=user,
            where=where,
            table=table,
            sql=sql,
            form=form,
            spending=spending,
            refund=not no_refund,
            as_json=as_json,
        )
        return
    streamed.refuse()
    from sparsegate.conditions import names_in
    from sparsegate.conditions.tree import MOST_CELL
    from sparsegate.service.data.copying import CopyEngine
    from sparsegate.service.data.dataset import TableSource
    from sparsegate.tables.engine_errors import quiet
    from sparsegate.tables.files import expand, kind_of
    from sparsegate.tables.matching import MatchingUsers

    if (where is None) == (conditions is None):
        raise ParameterError("where", "or --conditions must be given, and not both", next_step="give one of them")
    if (user is None) == (unit is None) or unit not in (None, "row"):
        raise ParameterError(
            "user", 'or unit="row" must be given, and not both', next_step="say whom the rows belong to"
        )
    if conditions == "-" and "-" in files:
        raise ParameterError("conditions", "must not be standard input where the data is", "-", "list them in a file")
    spending = Spending(ledger=ledger, budget=budget, budget_delta=budget_delta, dataset=dataset, again=KEPT)
    public: dict[str, Any] = {
        "threshold": threshold,
        "cutoff": cutoff,
        "epsilon": epsilon,
        "sensitivity": 1,
        "monotonic": True,
    }
    prepared = gate_calibration(**public)
    prepared.lattice.steps(threshold, "threshold")
    spending.check(epsilon)
    numbered = None if conditions == "-" else _lines(conditions) if conditions else [*enumerate(where or (), start=1)]
    listed = None if numbered is None else [text for _, text in numbered]
    names = [*([] if user is None else [user]), *(name for text in listed or () for name in names_in(text))]
    # Where conditions are still to come, so are the names of their columns.
    asked = None if listed is None else list({name.casefold(): name for name in reversed(names)}.values())
    source = TableSource(files=files, user=user, unit=unit, table=table, sql=sql, max_cell=MOST_CELL, form=form)
    if (
        listed is None
        and sql is None
        and not source.in_postgres
        and "JSON" in {kind_of(file, form) for file in expand(files)}
    ):
        raise ParameterError(
            "conditions",
            "must be listed for JSON, whose columns are those that are asked for",
            "-",
            "list them in a file or with --where, or name the columns with --sql 'SELECT ... FROM data'",
        )
    ready_to_print()
    with spending, CopyEngine() as workspace, quiet("the files cannot be read"):
        # Everything is read here: what is wrong with the data shows before the gate is paid for, and text is parsed
        # once, not once for each condition.
        if source.in_postgres:
            rows = workspace.fetch(files[0], table=table or "", user=user, columns=None, max_cell=MOST_CELL)
            opened = workspace.run(lambda: workspace.open_rows(rows, copy=True))
        else:
            opened = workspace.read(files, form=form, table=table, sql=sql, copy=True, columns=asked, user=user)
        counts = MatchingUsers(opened, user=workspace.people)
        _check(counts, numbered or (), file=conditions)
        unit_text = "row" if user is None else "user"
        what = f"watch: threshold {threshold}, cutoff {cutoff}, unit {unit_text}"
        paid = charge(spending, epsilon=epsilon, what=what)
        with SparseVector(**public, ledger=Prepaid(paid), refund=not no_refund) as gate:
            report = WatchReport(as_json=as_json, keep=paid.keep, again=spending.again)
            report.goes_on = listed is not None and spending.ledger is not None
            report.start(
                {
                    "threshold": threshold,
                    "cutoff": cutoff,
                    "epsilon": exact_text(gate.budget.total),
                    "delta": "0",
                    "method": "sparse-vector",
                    "unit": unit_text,
                    "margin": gate.margin(),
                    "confidence": 0.95,
                    "recorded": spending.recorded,
                }
            )
            for line, condition in numbered if numbered is not None else _standard_input():
                try:
                    count = workspace.run(partial(counts.count, condition))
                except ParameterError as error:
                    report.refuse(error, line)
                    continue
                except TableError as error:
                    raise TableError(f"{error}; the answers above are paid for") from None
                report.answer(condition, gate.ask(count), gate.remaining or 0)
                if gate.closed:
                    report.close()
                    break
    if report.failure is not None:
        raise report.failure
    if report.refused:
        raise typer.Exit(2)


class WatchReport:
    """Prints one line for each answer, and flushes it before the next condition is read.

    Each line is kept on the ledger, where there is one, before it is said; ``repeat`` says what was kept. Where all
    conditions are known and kept, the report ``goes_on`` when nobody can read it: they are paid for.
    """

    def __init__(self, *, as_json: bool, keep: Keep = lambda gave: None, again: str = "") -> None:
        self._json, self._keep, self._again = as_json, keep, again
        self.refused = self.goes_on = False
        self.failure: BaseException | None = None

    def start(self, record: dict[str, Any]) -> None:
        self._tell({"release": "watch", "record": record})

    def answer(self, condition: str, answer: Answer, remaining: int) -> None:
        part: dict[str, Any] = {"condition": condition, "above": answer.above}
        if answer.estimate is not None and answer.standard_error is not None:
            part |= {"estimate": answer.estimate, "standard_error": round(answer.standard_error, 2)}
        self._tell({**part, "remaining": remaining})

    def close(self) -> None:
        self._tell({"closed": True})

    def refuse(self, error: ParameterError, line: int) -> None:
        self.refused = True
        typer.echo(f"sparsegate: line {line}: {' '.join(str(error).split())}", err=True)

    def repeat(self, kept: Iterable[Mapping[str, Any]]) -> None:
        for part in kept:
            self._say(part)

    def _tell(self, part: Mapping[str, Any]) -> None:
        self._keep(part)
        self._say(part)

    def _say(self, part: Mapping[str, Any]) -> None:
        if self.failure is not None:
            return
        try:
            with to_standard_output(self._again):
                self._write(part)
        except (SparsegateError, SystemExit) as failure:
            if not self.goes_on:
                raise
            self.failure = failure

    def _write(self, part: Mapping[str, Any]) -> None:
        if self._json:
            shown = {name: value for name, value in part.items() if name != "release"}
            print_json(shown, schema="watch", indent=None)
        elif "record" in part:
            record = part["record"]
            typer.echo(
                f"threshold {record['threshold']}, at most {record['cutoff']} above, epsilon {record['epsilon']}, "
                f"delta 0, method {record['method']}, unit {record['unit']}, {record['recorded']}\n"
                f"right 95 % of the time for counts {record['margin']} or more away from the threshold"
            )
        elif "condition" in part:
            typer.echo(f"{'ABOVE' if part['above'] else 'below'}  {part['condition']}{_estimate(part)}")
        elif "closed" in part:
            typer.echo("closed: the last ABOVE is given")
        else:  # kept by hand, beside the answers
            print_json(part, indent=None)


def _estimate(part: Mapping[str, Any]) -> str:
    """What an ABOVE says beside its side, if anything: an older ledger has kept none."""
    return f"  (about {part['estimate']:,}, standard error {part['standard_error']:,})" if "estimate" in part else ""


def _check(counts: MatchingUsers, numbered: Sequence[tuple[int, str]], *, file: str | None) -> None:
    """Refuse all conditions if one is wrong, before anything is paid; of a file say of each bad line what is wrong."""
    refused = []
    for line, condition in numbered:
        try:
            counts.check(condition)
        except ParameterError as error:
            if file is None:
                raise
            refused.append(f"sparsegate: {file}:{line}: {' '.join(str(error).split())}")
    if refused:
        typer.echo("\n".join(refused), err=True)
        bad = f"{len(refused)} of {len(numbered)} conditions are refused, nothing was spent"
        raise ParameterError("conditions", f"must all be right: {bad}", file, "mend the lines named above")


def _lines(file: str) -> list[tuple[int, str]]:
    try:
        return list(_stream(Path(file).read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeDecodeError):
        raise ParameterError("conditions", "must be a readable text file, or -", file, "check the path") from None


def _standard_input() -> Iterator[tuple[int, str]]:
    if isinstance(sys.stdin, io.TextIOWrapper):
        # A byte that is no UTF-8 is then a condition to refuse like any other, not the end of the stream.
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
    return _stream(sys.stdin)


def _stream(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Conditions and their lines, without blank lines and comments."""
    stripped = ((number, line.strip()) for number, line in enumerate(lines, start=1))
    return ((number, line) for number, line in stripped if line and not line.startswith(("#", "--")))
