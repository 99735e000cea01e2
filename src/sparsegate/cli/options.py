"""Options that several sub-commands share; and the ledger that `top` and `watch` charge.

What --format may say: one option for how the result is printed, and for how the files are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Self

import typer

import sparsegate as sg
from sparsegate.budget import Number
from sparsegate.cli.app import one_of
from sparsegate.errors import LedgerError, ParameterError
from sparsegate.ledger.account import Amount, Entry, exact_amount

NOT_RECORDED = "not recorded"

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
AsJsonArray = Annotated[bool, typer.Option("--json", help="Print a JSON array, with every field.")]
Monotonic = Annotated[bool, typer.Option("--monotonic", help="One person moves all answers one way.")]
Claimed = Annotated[float, typer.Option("--epsilon", help="The epsilon it claims.")]

_FILES = typer.Argument(
    metavar="FILE...|-", help="Parquet, CSV, JSON, baskets, a database; - standard input.", show_default=False
)
Files = Annotated[list[str], _FILES]
FilesOrNone = Annotated[list[str] | None, _FILES]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="fimi|baskets",
        help="Each line is a basket of items.",
        show_default=False,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Between columns or items: , or \\t.", show_default=False),
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Of text that is not UTF-8: latin-1.", show_default=False),
]
User = Annotated[str | None, typer.Option("--user", metavar="COLUMN", help="Whose rows belong together.")]
Table = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The table to read of a database.", show_default=False),
]
Sql = Annotated[
    str | None,
    typer.Option(metavar="QUERY", help="Read this SELECT instead; files are the table `data`.", show_default=False),
]
LedgerFile = Annotated[
    str | None, typer.Option("--ledger", metavar="FILE", help="Charge this ledger before anything is drawn.")
]
LedgerBudget = Annotated[
    float | None, typer.Option("--budget", help="The ledger's epsilon in all; makes the ledger where there is none.")
]
LedgerDelta = Annotated[float | None, typer.Option("--budget-delta", help="The ledger's delta in all; 0 unless given.")]
NoRefund = Annotated[
    bool, typer.Option("--no-refund", help="Gates that close keep what they did not use: it stays spent.")
]
Dataset = Annotated[
    str | None, typer.Option("--dataset", metavar="NAME", help="The dataset that the ledger is for; checked.")
]


@dataclass(kw_only=True)
class Spending:
    """What ``ledger=`` is given: where a release is recorded, if anywhere. Nothing is written before ``spend``.

    With a budget the ledger is made if it is missing, and must have that budget if it is there; without one it must
    be there. So leave the budget out of commands that run on a schedule: a ledger that was lost is then an error.
    """

    ledger: str | None
    budget: float | None
    budget_delta: float | None
    dataset: str | None
    recorded: str = NOT_RECORDED
    again: str = "the result is lost: with --ledger it would be kept"
    stage: Callable[[str], object] = field(default=lambda stage: None)
    charged: Amount | None = None
    gave: Mapping[str, Any] | None = None
    """The release, once it is made: whatever stops the command later, it can be printed."""
    _opened: sg.Ledger | None = None

    def __post_init__(self) -> None:
        for name in ("budget", "budget_delta", "dataset"):
            if self.ledger is None and getattr(self, name) is not None:
                raise ParameterError(name, "needs a ledger to belong to", next_step="give --ledger FILE too")
        if self.budget_delta is not None and self.budget is None:
            raise ParameterError("budget_delta", "needs a budget beside it", next_step="give --budget too")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, stopped: object, trace: object) -> None:
        """Ctrl-C says what was spent."""
        if isinstance(stopped, KeyboardInterrupt):
            raise KeyboardInterrupt(self.interrupted) from None

    @property
    def interrupted(self) -> str:
        """What is said to whoever stopped the command: what it has cost."""
        if self.charged is None:
            return "interrupted, nothing was spent"
        where = "count it as spent" if self.ledger is None else f"charged as {self.recorded}"
        return f"interrupted after {self.charged} was paid: {where}; {self.again}"

    def check(self, epsilon: Number, delta: Number = 0) -> None:
        """Refuse early, before the data is read, what ``spend`` would refuse; write nothing."""
        amount = exact_amount(epsilon, delta)
        if self.ledger is None:
            return
        if self.budget is None or sg.Ledger.exists(self.ledger):
            self._opened = self._open(self.ledger)
            self._opened.statement().admit(amount)
        elif self.dataset is None:
            raise ParameterError("dataset", "must be given for a new ledger", next_step="name it with --dataset NAME")
        elif not amount.within(exact_amount(self.budget, self.budget_delta or 0, epsilon_name="budget")):
            raise ParameterError("budget", f"must cover this release, {amount}", self.budget, "ask for less")

    def opened(self) -> sg.Ledger | None:
        """The ledger itself, for what goes on with an entry of its own; made where there is none."""
        if self.ledger is None:
            return None
        if self._opened is None:
            if self.budget is None or sg.Ledger.exists(self.ledger):
                self._opened = self._open(self.ledger)
            elif self.dataset is None:
                step = "name it with --dataset NAME"
                raise ParameterError("dataset", "must be given for a new ledger", next_step=step)
            else:
                self._opened = self._made(self.ledger)
        return self._opened

    def spend(self, *, epsilon: Number, delta: Number = 0, what: str) -> Entry | None:
        """Charge the ledger, and note for the record where."""
        amount, entry = exact_amount(epsilon, delta), None
        if self.ledger is not None:
            self._opened = self._opened or self._made(self.ledger)
            entry = self._opened.spend(epsilon=epsilon, delta=delta, what=what)
            self.recorded = recorded(entry.number, self._opened.dataset)
            place = self._opened.database.shown
            self.again = f"print it again: sparsegate ledger show {place} --release {entry.number}"
        self.charged = amount
        self.stage("drawing")
        return entry

    def keep(self, entry: Entry | None, gave: Mapping[str, Any]) -> None:
        """Store what was released."""
        self.gave = gave
        if entry is not None and self._opened is not None:
            self._opened.keep(entry, gave)

    def give_back(self, entry: Entry | None, *, epsilon: Number) -> None:
        """Record what a gate did not cost."""
        if entry is not None and self._opened is not None:
            self._opened.give_back(entry, epsilon=epsilon)

    def _open(self, place: str) -> sg.Ledger:
        return sg.Ledger(place, dataset=self.dataset, budget=self.budget, budget_delta=self.budget_delta)

    def _made(self, place: str) -> sg.Ledger:
        delta = 0 if self.budget_delta is None else self.budget_delta
        try:
            return sg.Ledger.create(place, dataset=self.dataset or "", budget=self.budget or 0, budget_delta=delta)
        except LedgerError:
            # Another process may have made it a moment ago; then it is opened, and checked, like any other.
            if not sg.Ledger.exists(place):
                raise
        return self._open(place)


def recorded(number: int, dataset: str) -> str:
    """Where a release is recorded, in words."""
    return f"entry {number} of the ledger of {dataset!r}"


def read_number(text: str, parameter: str, rule: str = "must be a number", next_step: str = "") -> int | float:
    """A number from the command line: whole where it is written whole, so that the lattice is that of integers."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    raise ParameterError(parameter, rule, text, next_step)


def read_domain(text: str) -> str | int | Path:
    """What --domain means: a number, or "observed", stands for itself, and all else is a file."""
    if re.fullmatch(r"\d+(_\d+)*", text, re.ASCII):
        return int(text)
    return text if text == "observed" else Path(text)


INPUT, OUTPUT = "how the files are written", "how the result is printed"

WORDS: Final = {
    "fimi": INPUT,
    "baskets": INPUT,
    "table": OUTPUT,
    "json": OUTPUT,
    "csv": OUTPUT,
    "html": OUTPUT,
    "markdown": OUTPUT,
}
"""Every word, and what it is about."""

OF_RESULTS: Final = tuple(word for word, about in WORDS.items() if about == OUTPUT)


def _option(help: str, words: Sequence[str]) -> Any:
    return typer.Option("--format", metavar="WORD", help=help, autocompletion=one_of(words))


Formats = Annotated[
    list[str] | None,
    _option(
        f"How to print the result: {', '.join(OF_RESULTS)}; also, of files that hold baskets: fimi, baskets.",
        tuple(WORDS),
    ),
]
ResultFormats = Annotated[list[str] | None, _option(f"How to print the result: {', '.join(OF_RESULTS)}.", OF_RESULTS)]


def chosen_formats(
    words: Sequence[str] | None, *, as_json: bool = False, as_csv: bool = False, allowed: Sequence[str] = tuple(WORDS)
) -> dict[str, str]:
    """The word given for each subject; --json and --csv are short forms.

    >>> chosen_formats(["markdown"])[OUTPUT], chosen_formats(None, as_json=True)[OUTPUT], chosen_formats(None)[OUTPUT]
    ('markdown', 'json', 'table')
    """
    given = [*(words or ()), *(["json"] if as_json else []), *(["csv"] if as_csv else [])]
    found: dict[str, str] = {}
    for word in given:
        if word not in allowed:
            raise ParameterError("format", f"must be one of {', '.join(allowed)}", word)
        if found.setdefault(WORDS[word], word) != word:
            said = f"{found[WORDS[word]]}, {word}"
            raise ParameterError("format", f"must be given once for {WORDS[word]}", said, "choose one")
    return {OUTPUT: "table", **found}
