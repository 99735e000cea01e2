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
from sparsegate.cli import options as opt
from sparsegate.cli.options import option
from sparsegate.cli.printing import print_json, ready_to_print, to_standard_output
from sparsegate.errors import ParameterError, SparsegateError, TableError
from sparsegate.gates.accounting import gate_cost
from sparsegate.gates.gate import Answer
from sparsegate.gates.sparse_vector import SparseVector, gate_calibration
from sparsegate.ledger.account import exact_text

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

    from sparsegate.service.data.copying import CopyEngine
    from sparsegate.tables.matching import MatchingUsers

KEPT = "the answers above are paid for, and kept nowhere: with --ledger they would be"

Numbered = Sequence[tuple[int, str]]  # conditions, each with the number of its line


@opt.grouped
def watch(
    files: opt.Files,
    threshold: Annotated[int, option("", "A PUBLIC number of users.", "--threshold", "-t")],
    cutoff: Annotated[int, option("", "Close after this many ABOVE.", "--cutoff", "-c")],
    epsilon: Annotated[float, option("", "The privacy loss of all the answers together.")],
    where: Annotated[list[str] | None, option("CONDITION", "\"country = 'DE'\"; may be repeated.")] = None,
    conditions: Annotated[str | None, option("FILE|-", "Conditions, one a line; - answers them as they come.")] = None,
    user: opt.User = None,
    unit: opt.Unit = None,
    *,
    source: opt.InputOptions,
    account: opt.LedgerOptions,
    no_refund: opt.NoRefund = False,
    as_json: opt.JsonLines = False,
) -> None:
    """Which conditions hold for more users than a threshold? Pays for the first --cutoff that do, and then closes.

    A condition is about the columns of a row, such as "country = 'DE' AND page = '/pay'"; it is compared by the number
    of distinct users with a matching row. An ABOVE says about how many, at no cost. See docs/reference/conditions.md.
    `sparsegate alert` compares the people in each window of a stream.
    """
    from sparsegate.service.data.copying import CopyEngine
    from sparsegate.tables.engine_errors import quiet
    from sparsegate.tables.matching import MatchingUsers

    if (where is None) == (conditions is None):
        raise ParameterError("where", "or --conditions must be given, and not both", next_step="give one of them")
    if (user is None) == (unit is None) or unit not in (None, "row"):
        rule = "or --unit row must be given, and not both"
        raise ParameterError("user", rule, next_step="say whom the rows belong to")
    if conditions == "-" and "-" in files:
        raise ParameterError("conditions", "must not be standard input where the data is", "-", "list them in a file")
    spending = opt.Spending(account=account, again=KEPT)
    asked: dict[str, Any] = {"threshold": threshold, "cutoff": cutoff, "epsilon": epsilon}
    public = asked | {"sensitivity": 1, "monotonic": True}
    calibration = gate_calibration(**public)
    calibration.lattice.steps(threshold, "threshold")
    spending.check(cost := gate_cost(calibration))
    listed = None if conditions == "-" else _lines(conditions) if conditions else [*enumerate(where or (), start=1)]
    ready_to_print()
    with spending, CopyEngine() as engine, quiet("the files cannot be read"):
        # Everything is read here: what is wrong with the data shows before the gate is paid for, and text is parsed
        # once, not once for each condition.
        rows = _rows(engine, files, listed, source, user)
        matching = MatchingUsers(rows, user=engine.people)
        _check(matching, listed or (), file=conditions)
        unit_text = "row" if user is None else "user"
        what = f"watch: threshold {threshold}, cutoff {cutoff}, unit {unit_text}"
        paid = charge(spending, **vars(cost), what=what)
        with SparseVector(**public, ledger=Prepaid(paid), refund=not no_refund) as gate:
            goes_on = listed is not None and account.ledger is not None
            report = WatchReport(as_json=as_json, keep=paid.keep, again=spending.again, goes_on=goes_on)
            if account.ledger is not None and not no_refund and spending.conversion_delta is None:
                spending.again = f"what its answers did not cost goes back; {spending.again}"
            record = asked | {"epsilon": exact_text(gate.budget.total), "delta": "0", "method": "sparse-vector"}
            record |= {"unit": unit_text, "margin": gate.margin(), "confidence": 0.95, "recorded": spending.recorded}
            report.add({"release": "watch", "record": record})
            refused = False
            if listed is None and isinstance(sys.stdin, io.TextIOWrapper):
                # A byte that is no UTF-8 is then a condition to refuse like any other, not the end of the stream.
                sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
            for line, condition in _numbered(sys.stdin) if listed is None else listed:
                try:
                    people = engine.run(partial(matching.count, condition))
                except ParameterError as error:
                    refused = True
                    typer.echo(f"sparsegate: line {line}: {' '.join(str(error).split())}", err=True)
                    continue
                except TableError as error:
                    raise TableError(f"{error}; the answers above are paid for") from None
                report.add(_answered(condition, gate.ask(people)) | {"remaining": gate.remaining or 0})
                if gate.closed:
                    report.add({"closed": True})
                    break
    if report.failure is not None:
        raise report.failure
    if refused:
        raise typer.Exit(2)


def _answered(condition: str, answer: Answer) -> dict[str, Any]:
    if answer.estimate is None or answer.standard_error is None:
        return {"condition": condition, "above": answer.above}
    about = {"estimate": answer.estimate, "standard_error": round(answer.standard_error, 2)}
    return {"condition": condition, "above": answer.above} | about


def _rows(
    engine: CopyEngine, files: list[str], listed: Numbered | None, source: opt.InputOptions, user: str | None
) -> DuckDBPyRelation:
    """A copy of the rows, with the columns that are asked for."""
    from sparsegate.conditions import names_in
    from sparsegate.conditions.tree import MOST_CELL
    from sparsegate.service.data.dataset import TableSource
    from sparsegate.tables.files import expand, kind_of

    unit, table, sql, form = "row" if user is None else None, source.table, source.sql, source.form
    data = TableSource(files=files, user=user, unit=unit, table=table, sql=sql, max_cell=MOST_CELL, form=form)
    if data.in_postgres:
        fetched = engine.fetch(files[0], table=table or "", user=user, columns=None, max_cell=MOST_CELL)
        return engine.run(lambda: engine.open_rows(fetched, copy=True))
    columns = None  # where conditions are still to come, so are the names of their columns
    if listed is not None:
        names = [*([] if user is None else [user]), *(name for _, text in listed for name in names_in(text))]
        columns = list({name.casefold(): name for name in reversed(names)}.values())
    elif sql is None and "JSON" in {kind_of(file, form) for file in expand(files)}:
        rule = "must be listed for JSON, whose columns are those that are asked for"
        step = "list them in a file or with --where, or name the columns with --sql 'SELECT ... FROM data'"
        raise ParameterError("conditions", rule, "-", step)
    return engine.read(files, form=form, table=table, sql=sql, copy=True, columns=columns, user=user)


def _check(matching: MatchingUsers, listed: Numbered, *, file: str | None) -> None:
    """Refuse all conditions if one is wrong, before anything is paid; of a file say of each bad line what is wrong."""
    refused = []
    for line, condition in listed:
        try:
            matching.check(condition)
        except ParameterError as error:
            if file is None:
                raise
            refused.append(f"sparsegate: {file}:{line}: {' '.join(str(error).split())}")
    if refused:
        typer.echo("\n".join(refused), err=True)
        bad = f"{len(refused)} of {len(listed)} conditions are refused, nothing was spent"
        raise ParameterError("conditions", f"must all be right: {bad}", file, "mend the lines named above")


def _lines(file: str) -> Numbered:
    try:
        return list(_numbered(Path(file).read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeDecodeError):
        raise ParameterError("conditions", "must be a readable text file, or -", file, "check the path") from None


def _numbered(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    stripped = ((number, line.strip()) for number, line in enumerate(lines, start=1))
    return ((number, line) for number, line in stripped if line and not line.startswith(("#", "--")))


class WatchReport:
    """Prints one line for each answer, and flushes it before the next condition is read.

    Each line is kept on the ledger, where there is one, before it is printed. Where all conditions are known and kept,
    the report ``goes_on`` when nobody can read it: they are paid for.
    """

    def __init__(
        self, *, as_json: bool, keep: Keep = lambda gave: None, again: str = "", goes_on: bool = False
    ) -> None:
        self._json, self._keep, self._again, self._goes_on = as_json, keep, again, goes_on
        self.failure: BaseException | None = None

    def add(self, part: Mapping[str, Any]) -> None:
        self._keep(part)
        self.show(part)

    def show(self, part: Mapping[str, Any]) -> None:
        if self.failure is not None:
            return
        try:
            with to_standard_output(self._again):
                self._write(part)
        except (SparsegateError, SystemExit) as failure:
            if not self._goes_on:
                raise
            self.failure = failure

    def _write(self, part: Mapping[str, Any]) -> None:
        if self._json:
            print_json({name: value for name, value in part.items() if name != "release"}, schema="watch", indent=None)
        elif "record" in part:
            typer.echo(
                "threshold {threshold}, at most {cutoff} above, epsilon {epsilon}, delta 0, method {method}, "
                "unit {unit}, {recorded}\nright 95 % of the time for counts {margin} or more away from the threshold"
                "".format_map(part["record"])
            )
        elif "condition" in part:
            about = ""  # an older ledger has kept no estimate
            if "estimate" in part:
                about = f"  (about {part['estimate']:,}, standard error {part['standard_error']:,})"
            typer.echo(f"{'ABOVE' if part['above'] else 'below'}  {part['condition']}{about}")
        elif "closed" in part:
            typer.echo("closed: the last ABOVE is given")
        else:  # kept by hand, beside the answers
            print_json(part, indent=None)
