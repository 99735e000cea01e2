"""`sparsegate holdout`: score models on a holdout that can be used again, from files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sparsegate as sg  # sg.Ledger is loaded when it is first used: SQLAlchemy is slow to load
from sparsegate.cli.options import Dataset, LedgerBudget
from sparsegate.cli.printing import counted, print_json, ready_to_print, to_standard_output
from sparsegate.display.plain import exact_text
from sparsegate.errors import ParameterError

if TYPE_CHECKING:
    from sparsegate.uses.holdout import Holdout

holdout = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Score models on a holdout that can be used again."
)

Threshold = Annotated[
    float, typer.Option("--threshold", "-t", help="How far apart training and holdout may be and still agree.")
]
Cutoff = Annotated[int, typer.Option("--cutoff", "-c", help="How many scores can be paid for, in all.")]
Epsilon = Annotated[float, typer.Option(help="The privacy loss of all scores together, however often it is opened.")]
Name = Annotated[str, typer.Option(metavar="NAME", help="Which holdout of the ledger it is.")]
AGAIN = "what was said above is paid for"


@holdout.callback()
def _group() -> None:
    """One command is a group, too."""


@holdout.command()
def score(
    train: Annotated[str, typer.Argument(metavar="TRAINING", help="A row for each training record; not protected.")],
    held: Annotated[str, typer.Argument(metavar="HOLDOUT", help="A row for each record of the holdout.")],
    size: Annotated[int, typer.Option(metavar="N", help="How many records the holdout has: a PUBLIC number.")],
    threshold: Threshold,
    cutoff: Cutoff,
    epsilon: Epsilon,
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The label; the other columns are predictions then.")
    ] = None,
    models: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Which columns to score, in this order; all unless given.")
    ] = None,
    low: Annotated[float, typer.Option(help="The least value of a record; less is clamped.")] = 0.0,
    high: Annotated[float, typer.Option(help="The largest value of a record.")] = 1.0,
    name: Name = "holdout",
    ledger: Annotated[
        str | None, typer.Option(metavar="FILE|URL", help="Where the budget lives: what is left there is used.")
    ] = None,
    budget: LedgerBudget = None,
    dataset: Dataset = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object a line.")] = False,
) -> None:
    """Score each model, a column of both files, on the holdout; pay only where it disagrees with training.

    Without --label a column holds a value for each record, such as a loss between --low and --high. One call opens one
    noisy threshold: score many models in one call rather than one in each.
    """
    from sparsegate.tables.columns import check_columns

    with _columns(train) as training, _columns(held) as private:
        wanted = _wanted(models, private.names, label)
        for names in (training.names, private.names):
            check_columns(names, [*wanted, *([] if label is None else [label])])
        values = [(one, training.values(one, label), private.values(one, label)) for one in wanted]
    public = {"size": size, "threshold": threshold, "cutoff": cutoff, "epsilon": epsilon, "low": low, "high": high}
    with _account(ledger, budget, dataset) as account:
        ready_to_print()
        with sg.uses.Holdout(**public, ledger=account, name=name) as opened:  # type: ignore[arg-type]
            for model, on_training, on_holdout in values:
                given = opened.score(on_training, on_holdout)
                with to_standard_output(AGAIN):
                    if as_json:
                        print_json({"model": model, **given.to_dict()}, indent=None)
                    else:
                        how = "paid" if given.paid else "free"
                        typer.echo(f"{given.value:.4f}  within {given.margin:.4f}  {how}  {model}")
        if not as_json:
            typer.echo(_summary(opened, account))


def _summary(opened: Holdout, account: Any) -> str:
    cost = f"these scores cost epsilon {exact_text(opened.spent)} of {exact_text(opened.epsilon)}"
    if account is None:
        return f"{cost}, not recorded"
    left = f"another call can pay for {counted(opened.remaining_after_restart, 'answer')}"
    return f"{cost}, in the ledger of {account.dataset!r}; {left}"


@contextmanager
def _account(place: str | None, budget: float | None, dataset: str | None) -> Iterator[Any]:
    """The ledger, made where there is none and a budget is given."""
    if place is None:
        for option, given in (("budget", budget), ("dataset", dataset)):
            if given is not None:
                raise ParameterError(option, "needs a ledger to belong to", next_step="give --ledger FILE too")
        yield None
        return
    if budget is not None and not sg.Ledger.exists(place):
        if dataset is None:
            raise ParameterError("dataset", "must be given for a new ledger", next_step="name it with --dataset NAME")
        sg.Ledger.create(place, dataset=dataset, budget=budget).close()
    with sg.Ledger(place, dataset=dataset, budget=budget, pooled=True) as opened:
        yield opened


def _wanted(models: str | None, names: Sequence[str], label: str | None) -> list[str]:
    given = names if models is None else [one.strip() for one in models.split(",")]
    wanted = [one for one in given if one != label]
    if not wanted:
        raise ParameterError("models", "must name a column to score", next_step="give a file with one beside the label")
    return wanted


class _File:
    """The columns of one file; what its engine says of an error is not shown, because that may be a cell."""

    def __init__(self, workspace: Any, relation: Any) -> None:
        self._workspace, self._relation = workspace, relation
        self.names: list[str] = list(relation.columns)

    def listed(self, column: str) -> list[Any]:
        """Cells as they are, in the order of the file: of text files all are text."""
        return [cell for (cell,) in self._fetched("{}", column)]

    def values(self, column: str, label: str | None) -> Any:
        """A value for each record: whether the prediction is the label, or the number itself."""
        import numpy as np

        from sparsegate.uses.holdout_scoring import HiddenLabels

        if label is not None:
            both = self._fetched("{}", label, column)
            return HiddenLabels(cell for cell, _ in both).agreement(cell for _, cell in both)
        numbers = self._fetched("TRY_CAST({} AS DOUBLE)", column)  # what is no number is read as NaN is
        return np.array([cell for (cell,) in numbers], dtype=np.float64)

    def _fetched(self, form: str, *columns: str) -> list[tuple[Any, ...]]:
        from sparsegate.tables.columns import identifier
        from sparsegate.tables.engine_errors import quiet

        with quiet("the files cannot be read"):
            chosen = self._relation.project(", ".join(form.format(identifier(column)) for column in columns))
            fetched: list[tuple[Any, ...]] = self._workspace.run(chosen.fetchall)
        return fetched


@contextmanager
def _columns(file: str) -> Iterator[_File]:
    from sparsegate.tables.workspace import Workspace

    with Workspace(ordered=True) as workspace:
        yield _File(workspace, workspace.read([file], copy=True))
