"""Options that several sub-commands share, what their texts stand for, and the ledger that a release is charged to."""

from __future__ import annotations

import importlib
import operator
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Self, get_type_hints

import typer

import sparsegate as sg
from sparsegate.budget import Cost, Number, exact_delta, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.ledger.account import Amount, BudgetLike, Entry, exact_amount, exact_budget

if TYPE_CHECKING:
    from sparsegate.tables.files import TextForm
    from sparsegate.tables.opening import Table as SourceTable


def option(value: str, text: str, *names: str, **more: Any) -> Any:
    """An option: the word for its value ("" for that of its type), what is said about it, and its names."""
    return typer.Option(*names, metavar=value or None, help=text, **more)


OUTPUTS: Final = ("table", "json", "csv", "html", "markdown")

Output = Annotated[
    str | None,
    option("WORD", f"How to print the result: {', '.join(OUTPUTS)}.", "--format", autocompletion=lambda: OUTPUTS),
]
AsJson = Annotated[bool, option("", "Print JSON.", "--json")]
JsonLines = Annotated[bool, option("", "Print a JSON object a line.", "--json")]
Plot = Annotated[str | None, option("FILE", "Draw the noisy counts with error bars.")]

Monotonic = Annotated[bool, option("", "One person moves all answers one way.", "--monotonic")]
Claimed = Annotated[float, option("", "The epsilon it claims.", "--epsilon")]
Domain = Annotated[
    str | None, option("FILE[:COLUMN]|N|observed", "The PUBLIC candidates; see docs/how-to/threshold.md.")
]
Where = Annotated[str | None, option("CONDITION", "Count only rows that meet it: \"country = 'DE'\".")]
Unit = Annotated[str | None, option("row", "Protect rows, not people; instead of --user.")]

_FILES = typer.Argument(
    metavar="FILE...|-", help="Parquet, CSV, JSON, baskets, a database; - standard input.", show_default=False
)
Files = Annotated[list[str], _FILES]
FilesOrNone = Annotated[list[str] | None, _FILES]
MemoryLimit = Annotated[str | None, option("AMOUNT", "Of files: spill to TMPDIR what is over 4GB, say.")]
User = Annotated[str | None, option("COLUMN", "Whose rows belong together.", "--user")]
LedgerDelta = Annotated[float | None, option("", "The ledger's delta in all; 0 unless given.", "--budget-delta")]
ConversionDelta = Annotated[
    float | None,
    option("", "Of a zCDP ledger: all is (--budget, this + --budget-delta)-DP together.", "--conversion-delta"),
]
Separator = Annotated[str | None, option("TEXT", "Between columns or items: , or \\t.")]
Times = Annotated[
    int | None, option("N", "With --preview: what N of them cost, and how large each may be for --budget.")
]
NoRefund = Annotated[bool, option("", "Gates that close keep what they did not use: it stays spent.", "--no-refund")]
Dataset = Annotated[str | None, option("NAME", "The dataset that the ledger is for; checked.", "--dataset")]
NOT_RECORDED = "not recorded"


def grouped(function: Callable[..., Any]) -> Callable[..., Any]:
    """A command with an option for each field of its parameters that are groups of options, as dataclasses."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, tuple[Any, list[str]]] = {}
    parameters = []
    for name, parameter in signature(function).parameters.items():
        kind: Any = hints[name]
        if is_dataclass(kind):
            of_field = get_type_hints(kind, include_extras=True)
            parts = [Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default) for each in fields(kind)]
            parameters += [part.replace(annotation=of_field[part.name]) for part in parts]
            groups[name] = kind, [part.name for part in parts]
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind))

    @wraps(function)
    def run(**options: Any) -> Any:
        made = {name: kind(**{part: options.pop(part) for part in parts}) for name, (kind, parts) in groups.items()}
        return function(**options, **made)

    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run


@dataclass(frozen=True, kw_only=True)
class InputOptions:
    """How the data is read."""

    table: Annotated[str | None, option("NAME", "The table to read of a database.")] = None
    sql: Annotated[str | None, option("QUERY", "Read this SELECT instead; files are the table `data`.")] = None
    input_format: Annotated[str | None, option("fimi|baskets", "Each line is a basket of items.", "--input-format")] = (
        None
    )
    separator: Separator = None
    encoding: Annotated[str | None, option("NAME", "Of text that is not UTF-8: latin-1.")] = None

    @property
    def form(self) -> TextForm:
        from sparsegate.tables.files import TextForm

        return TextForm(format=self.input_format, separator=self.separator, encoding=self.encoding)

    def opened(self, files: list[str] | None, memory_limit: str | None = None) -> SourceTable:
        from sparsegate.tables.opening import Table

        text = {"format": self.input_format, "separator": self.separator, "encoding": self.encoding}
        return Table(files or "-", table=self.table, sql=self.sql, memory_limit=memory_limit, **text)


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """How a result is printed; --json and --csv are short forms."""

    output: Output = None
    as_json: AsJson = False
    as_csv: Annotated[bool, option("", "Same as --format csv.", "--csv")] = False

    @property
    def word(self) -> str:
        return read_output(self.output, as_json=self.as_json, as_csv=self.as_csv)


@dataclass(frozen=True, kw_only=True)
class LedgerOptions:
    """Which ledger is charged.

    With a budget the ledger is made if it is missing, and must have that budget if it is there; without one it must
    be there. So leave the budget out of commands that run on a schedule: a ledger that was lost is then an error.
    """

    ledger: Annotated[str | None, option("FILE", "Charge this ledger before anything is drawn.", "--ledger")] = None
    budget: Annotated[
        float | None, option("", "The ledger's epsilon in all; makes the ledger where there is none.", "--budget")
    ] = None
    budget_delta: LedgerDelta = None
    conversion_delta: ConversionDelta = None
    dataset: Dataset = None

    @property
    def allowed(self) -> BudgetLike | None:
        return budget_like(self.budget, self.conversion_delta)


@dataclass(kw_only=True)
class Spending:
    """What ``ledger=`` is given: where a release is recorded, if anywhere. Nothing is written before ``spend``."""

    account: LedgerOptions
    recorded: str = NOT_RECORDED
    again: str = "the result is lost: with --ledger it would be kept"
    stage: Callable[..., object] = field(default=lambda stage, left=None: None)
    charged: Amount | None = None
    gave: Mapping[str, Any] | None = None
    """The release, once it is made: whatever stops the command later, it can be printed."""
    _opened: sg.Ledger | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self.account).items():
            if self.account.ledger is None and value is not None:
                raise ParameterError(name, "needs a ledger to belong to", next_step="give --ledger FILE too")
        if self.account.budget_delta is not None and self.account.budget is None:
            raise ParameterError("budget_delta", "needs a budget beside it", next_step="give --budget too")
        _ = self.account.allowed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, stopped: object, trace: object) -> None:
        if isinstance(stopped, KeyboardInterrupt):
            raise KeyboardInterrupt(self.interrupted) from None

    @property
    def interrupted(self) -> str:
        """What is said to whoever stopped the command: what it has cost."""
        if self.charged is None:
            return "interrupted, nothing was spent"
        where = "count it as spent" if self.account.ledger is None else f"charged as {self.recorded}"
        return f"interrupted after {self.charged} was paid: {where}; {self.again}"

    def check(self, cost: Cost) -> None:
        """Refuse early, before the data is read, what ``spend`` would refuse; write nothing."""
        account = self.account
        if self._is_new():
            allowed, at = exact_budget(account.allowed or 0, account.budget_delta or 0)
            amount = exact_amount(cost.epsilon, cost.delta if at is None else cost.rho_delta, cost.rho)
            if not (amount.within(allowed) if at is None else amount.within_rho(allowed)):
                rule = f"must cover this release, {amount if at is None else amount.in_rho}"
                raise ParameterError("budget", rule, account.budget, "ask for less")
        elif (ledger := self.opened()) is not None:
            counted = cost.delta if ledger.conversion_delta is None else cost.rho_delta
            ledger.statement().admit(exact_amount(cost.epsilon, counted, cost.rho))

    @property
    def conversion_delta(self) -> Fraction | None:
        """That of the ledger, or of the one that is to be made; None where epsilons are added up."""
        if self._is_new():
            at_delta = self.account.conversion_delta
            return None if at_delta is None else exact_delta(at_delta, "conversion_delta")
        ledger = self.opened()
        return None if ledger is None else ledger.conversion_delta

    def opened(self) -> sg.Ledger | None:
        account = self.account
        if account.ledger is not None and self._opened is None:
            self._is_new()  # which needs the name of a dataset
            from sparsegate.ledger.ledger import open_or_create

            self._opened = open_or_create(
                account.ledger, dataset=account.dataset, budget=account.allowed, budget_delta=account.budget_delta
            )
        return self._opened

    def _is_new(self) -> bool:
        account = self.account
        if self._opened is not None or account.ledger is None or account.budget is None:
            return False
        if sg.Ledger.exists(account.ledger):
            return False
        if account.dataset is None:
            raise ParameterError("dataset", "must be given for a new ledger", next_step="name it with --dataset NAME")
        return True

    def spend(self, *, epsilon: Number, delta: Number = 0, what: str, rho: Number | None = None) -> Entry | None:
        """Charge the ledger, and note for the record where."""
        amount, entry = exact_amount(epsilon, delta, rho), None
        if (ledger := self.opened()) is not None:
            entry = ledger.spend(epsilon=epsilon, delta=delta, what=what, rho=rho)
            self.recorded = recorded(entry.number, ledger.dataset)
            self.again = f"print it again: sparsegate ledger show {ledger.database.shown} --release {entry.number}"
        self.charged = amount
        self.stage("drawing")
        return entry

    def keep(self, entry: Entry | None, gave: Mapping[str, Any]) -> None:
        self.gave = gave
        if entry is not None and self._opened is not None:
            self._opened.keep(entry, gave)

    def give_back(self, entry: Entry | None, *, epsilon: Number) -> None:
        if entry is not None and self._opened is not None:
            self._opened.give_back(entry, epsilon=epsilon)


def budget_like(budget: float | None, at_delta: float | None, *, name: str = "conversion_delta") -> BudgetLike | None:
    """What --budget and --conversion-delta, or the option of that name, say of a ledger; None: nothing.

    >>> budget_like(1.0, None), budget_like(1.0, 1e-6), budget_like(None, None)
    (1.0, (1.0, 1e-06), None)
    """
    if at_delta is None:
        return budget
    if budget is None:
        raise ParameterError(name, "needs a budget beside it", next_step="give --budget too")
    exact_epsilon(budget, "budget")
    exact_delta(at_delta, name)
    return budget, at_delta


def recorded(number: int, dataset: str) -> str:
    """Where a release is recorded, in words."""
    return f"entry {number} of the ledger of {dataset!r}"


def read_number(text: str, parameter: str, rule: str = "must be a number", next_step: str = "") -> int | float:
    """A number from the command line: whole where it is written whole, so that the lattice is that of integers."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    raise ParameterError(parameter, rule, text, next_step)


def read_domain(text: str | None) -> str | int | Path:
    """What --domain means: a number, or "observed", stands for itself, and all else is a file."""
    if text is None:
        from sparsegate.tables.domain import EXPLAINED

        step = "give --domain FILE[:COLUMN], --domain N for labels 0 to N-1, or --domain observed --delta 1e-6"
        raise ParameterError("domain", EXPLAINED[0], next_step=step)
    if re.fullmatch(r"\d+(_\d+)*", text, re.ASCII):
        return int(text)
    return text if text == "observed" else Path(text)


def read_output(word: str | None, *, as_json: bool = False, as_csv: bool = False) -> str:
    """The one word for how a result is printed; --json and --csv are short forms.

    >>> read_output("markdown"), read_output(None, as_json=True), read_output(None)
    ('markdown', 'json', 'table')
    """
    words = {*([word] if word else []), *(["json"] if as_json else []), *(["csv"] if as_csv else [])} or {"table"}
    if len(words) > 1 or not words <= {*OUTPUTS}:
        raise ParameterError("output", f"must be one of {', '.join(OUTPUTS)}", ", ".join(sorted(words)))
    return words.pop()


def read_function(target: str, parameter: str) -> Any:
    """What package.module:name names, imported; the user's own module is looked for where they are."""
    module, _, path = target.partition(":")
    if not module or not path:
        rule = "must have the form package.module:function"
        raise ParameterError(parameter, rule, target, "write for instance mygate:ask")
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, folder)
    try:
        return operator.attrgetter(path)(importlib.import_module(module))
    except (Exception, SystemExit) as error:  # an import runs the user's code
        rule = f"must be importable ({type(error).__name__}: {error})"
        raise ParameterError(parameter, rule, target, "check the spelling") from error
