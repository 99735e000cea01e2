"""`sparsegate holdout`: score models on a holdout that can be used again, from files."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sparsegate.cli.options import JsonLines, LedgerOptions, Spending, grouped, option
from sparsegate.cli.printing import counted, print_json, ready_to_print, to_standard_output
from sparsegate.display.plain import exact_text
from sparsegate.errors import ParameterError


@grouped
def holdout(
    train: Annotated[str, typer.Argument(metavar="TRAINING", help="A row for each training record; not protected.")],
    held: Annotated[str, typer.Argument(metavar="HOLDOUT", help="A row for each record of the holdout.")],
    size: Annotated[int, option("N", "How many records the holdout has: a PUBLIC number.")],
    threshold: Annotated[
        float, option("", "How far apart training and holdout may be and still agree.", "--threshold", "-t")
    ],
    cutoff: Annotated[int, option("", "How many scores can be paid for, in all.", "--cutoff", "-c")],
    epsilon: Annotated[float, option("", "The privacy loss of all scores together, however often it is opened.")],
    label: Annotated[str | None, option("COLUMN", "The label; the other columns are predictions then.")] = None,
    models: Annotated[str | None, option("A,B,...", "Which columns to score, in this order; all unless given.")] = None,
    low: Annotated[float, option("", "The least value of a record; less is clamped.")] = 0.0,
    high: Annotated[float, option("", "The largest value of a record.")] = 1.0,
    name: Annotated[str, option("NAME", "Which holdout of the ledger it is.")] = "holdout",
    *,
    account: LedgerOptions,
    as_json: JsonLines = False,
) -> None:
    """Score each model, a column of both files, on the holdout; pay only where it disagrees with training.

    Without --label a column holds a value for each record, such as a loss between --low and --high. One call opens one
    noisy threshold: score many models in one call rather than one in each.
    """
    from sparsegate.tables.columns import check_columns
    from sparsegate.tables.workspace import Workspace
    from sparsegate.uses.holdout import Holdout

    with Workspace(ordered=True) as workspace, Workspace(ordered=True) as other:
        training = _Columns(workspace, workspace.read([train], copy=True))
        private = _Columns(other, other.read([held], copy=True))
        listed = private.names if models is None else [model.strip() for model in models.split(",")]
        chosen = [model for model in listed if model != label]
        if not chosen:
            step = "give a file with one beside the label"
            raise ParameterError("models", "must name a column to score", next_step=step)
        for names in (training.names, private.names):
            check_columns(names, [*chosen, *([] if label is None else [label])])
        values = [(model, training.values(model, label), private.values(model, label)) for model in chosen]
    ledger = Spending(account=account).opened()
    ready_to_print()
    public: dict[str, Any] = {"size": size, "threshold": threshold, "cutoff": cutoff, "epsilon": epsilon}
    with Holdout(**public, low=low, high=high, ledger=ledger, name=name) as opened:
        for model, on_training, on_holdout in values:
            score = opened.score(on_training, on_holdout)
            with to_standard_output("what was printed above is paid for"):
                if as_json:
                    print_json({"model": model, **score.to_dict()}, indent=None)
                else:
                    how = "paid" if score.paid else "free"
                    typer.echo(f"{score.value:.4f}  within {score.margin:.4f}  {how}  {model}")
    if not as_json:
        cost = f"these scores cost epsilon {exact_text(opened.spent)} of {exact_text(opened.epsilon)}"
        left = f"another call can pay for {counted(opened.remaining_after_restart, 'answer')}"
        if ledger is not None and ledger.rule == "zcdp":
            cost = f"this holdout counts with {opened.terms.charged(cutoff).in_rho}, whatever it said"
            left = "nothing goes back to a zCDP ledger, so another call needs another --name, and pays again"
        typer.echo(
            f"{cost}, not recorded" if ledger is None else f"{cost}, in the ledger of {ledger.dataset!r}; {left}"
        )


class _Columns:
    """The columns of one file; what its engine says of an error is not shown, because that may be a cell."""

    def __init__(self, workspace: Any, relation: Any) -> None:
        self._workspace, self._relation = workspace, relation
        self.names: list[str] = list(relation.columns)

    def values(self, column: str, label: str | None) -> Any:
        import numpy as np

        from sparsegate.uses.holdout import agreement

        if label is not None:
            both = self._fetched("{}", label, column)
            return agreement((cell for cell, _ in both), (cell for _, cell in both))
        numbers = self._fetched("TRY_CAST({} AS DOUBLE)", column)  # what is no number is read as NaN is
        return np.array([cell for (cell,) in numbers], dtype=np.float64)

    def _fetched(self, form: str, *columns: str) -> list[tuple[Any, ...]]:
        from sparsegate.tables.columns import identifier
        from sparsegate.tables.engine_errors import quiet

        with quiet("the files cannot be read"):
            chosen = self._relation.project(", ".join(form.format(identifier(column)) for column in columns))
            fetched: list[tuple[Any, ...]] = self._workspace.run(chosen.fetchall)
        return fetched
