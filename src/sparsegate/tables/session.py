"""One object for an analyst: the table, who is a person in it, what is public about it, and the budget, each said once.

Nothing is computed here. A session hands each question to the function of the library that answers it, with the table,
the person, the declared domain and the ledger filled in; theorem, charge and errors are those of that function. All of
them are charged to one ledger, so everything that is released through sessions of that ledger costs at most its budget.

Counts of people (``count``, and the questions of a ``gate``) are numbers of different people with a row that meets a
condition. Adding or removing one person, with all their rows, moves each of them by at most one, and all in one
direction: whether a row meets a condition depends on that row alone (``conditions``). So their sensitivity is 1 and
they are monotonic, and nobody has to say so. How long a count takes depends on the data: publish the answer, not the
time. Where others see the time, serve the table: ``sparsegate serve`` hides it.
"""

from __future__ import annotations

import inspect
import math
import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, Generic, Self, TypeVar

from sparsegate.budget import Number, exact_delta, exact_epsilon
from sparsegate.conditions import names_in
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Printed
from sparsegate.errors import LedgerError, ParameterError
from sparsegate.gates.gate import Answer
from sparsegate.gates.laplace import error_bar, laplace
from sparsegate.gates.preview import Preview
from sparsegate.gates.sparse_vector import SparseVector
from sparsegate.ledger.account import Amount, BudgetLike, Statement, exact_text
from sparsegate.ledger.ledger import Ledger, open_or_create
from sparsegate.noise import Source
from sparsegate.noise.own_settings import own_settings
from sparsegate.noise.sources import Uncopied
from sparsegate.tables.columns import check_columns, check_unit
from sparsegate.tables.engine_errors import quiet
from sparsegate.tables.engines.engine import guarded, open_engine
from sparsegate.tables.files import DATABASES, expand
from sparsegate.tables.matching import MatchingUsers
from sparsegate.tables.opening import Table, open_table
from sparsegate.tables.preview import preview
from sparsegate.tables.release import TopItems
from sparsegate.tables.top import items_above, top_items, top_sums

Result = TypeVar("Result")

EVERYBODY: Final = "1 = 1"
"""A condition that every row meets."""

_OWN: Final = {"data", "user", "unit", "ledger", "source", "not_private", "sensitivity", "monotonic", "granularity"}
"""Parameters that a session fills in itself."""


class AmountLeft(Amount):
    """What is left of a budget; printed, it is rounded down, to three digits behind the point or three that count.

    >>> print(AmountLeft(epsilon=Fraction("0.653977947608"), delta=Fraction("0.0000012399")))
    epsilon 0.653, delta 0.00000123
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amount) and vars(self) == vars(other)

    __hash__ = Amount.__hash__

    def __str__(self) -> str:
        return str(Amount(epsilon=_rounded_down(self.epsilon), delta=_rounded_down(self.delta)))


def _rounded_down(value: Fraction) -> Fraction:
    digits = 10**3
    while 0 < value * digits < 100:
        digits *= 10
    return Fraction(math.floor(value * digits), digits)


class _Asked(Generic[Result]):
    """A function of the library without the parameters that the session knows; an item may be written without its name.

    ``answer`` is called with the parameters that were written; ``more`` has others, with their defaults.
    """

    def __init__(self, function: Callable[..., Any], answer: Callable[..., Result], more: Mapping[str, Any]) -> None:
        self.__doc__, self._answer = function.__doc__, answer
        kinds, returned = inspect.Parameter, inspect.signature(answer).return_annotation
        added = [
            kinds(name, kinds.KEYWORD_ONLY, default=value, annotation="str | None") for name, value in more.items()
        ]
        kept = [each for each in (*inspect.signature(function).parameters.values(), *added) if each.name not in _OWN]
        first = [each.replace(kind=kinds.POSITIONAL_OR_KEYWORD) for each in kept if each.name == "item"]
        rest = [each for each in kept if each.name != "item"]
        self.__signature__ = inspect.Signature([*first, *rest], return_annotation=returned)

    def __call__(self, *args: Any, **parameters: Any) -> Result:
        return self._answer(**self.__signature__.bind(*args, **parameters).arguments)


class SessionRelease(_Asked[Result]):
    """A kind of release: called, it releases; ``preview`` says beforehand what that costs and is good for, for free.

    Both take the parameters of the function of the library behind them, without those that the session knows.
    """

    preview: Callable[..., Preview]
    """What the release would cost and be good for: nothing is looked at, drawn or charged."""

    def __init__(
        self,
        function: Callable[..., Any],
        release: Callable[..., Result],
        previewed: Callable[..., Any],
        look: Callable[..., Preview],
        **more: Any,
    ) -> None:
        super().__init__(function, release, more)
        self.preview = _Asked(previewed, look, more)


@dataclass(frozen=True, kw_only=True, repr=False)
class Description(Printed):
    """What may be asked of a table, none of it data: its columns, their types, and the domains that were declared."""

    name: str
    person: str
    columns: Mapping[str, str]
    """The type of each column, as its source declares it; text where the source has no types."""
    domains: Mapping[str, str]

    def sheet(self) -> Sheet:
        """A row for each column."""
        columns = {
            "column": [*self.columns],
            "type": [*self.columns.values()],
            "candidates": [self.domains.get(name, "") for name in self.columns],
        }
        return Sheet(title=f"{self.name}, {self.person}", columns=columns)


class PeopleCounts:
    """Private counts of people under conditions: one at a time, of the table as it is at each.

    Files stay open from one count to the next, until one of them changes, a count fails or the session ends. A database
    would be locked so long, and a table of this process can change unseen: those are opened for each count. A process
    that was forked opens its own.
    """

    def __init__(self, table: Table, user: str | None) -> None:
        self._table, self._user = table, user
        self._held: dict[int, _HeldOpen] = {}
        self._maker = os.getpid()
        self.close = weakref.finalize(self, _let_go, self._held)

    def count(self, *conditions: str | None) -> int:
        """The private number of people with a row that meets all of the conditions."""
        with self.matching(*conditions) as held:
            parts = [f"({part}\n)" for part in conditions if part is not None]  # a comment ends with its line
            return int(held.run(partial(held.matching.count, " AND ".join(parts) or EVERYBODY)))

    @contextmanager
    def matching(self, *conditions: str | None) -> Iterator[_HeldOpen]:
        """The rows to be matched, once each of the conditions has been read as one: else a ConditionError."""
        asked = [part for part in conditions if part is not None]
        names = {*(name for part in asked for name in names_in(part)), *filter(None, [self._user])}
        if (process := os.getpid()) not in self._held and process != self._maker:
            from multiprocessing.util import Finalize

            # A child of multiprocessing ends without Python's own finalizers: its temporary files would stay.
            Finalize(None, _let_go, (self._held,), exitpriority=0)
        held = self._held.setdefault(process, _HeldOpen())
        with held.turn:
            try:
                files = self._files()
                if files is None or files != held.files or not names <= held.names:
                    both = names | (held.names if files == held.files else set())
                    if len({name.casefold() for name in both}) == len(both):
                        names = both
                    held.close()
                    held.open(_countable(self._table), names, self._user)
                    held.files = files if held.kind not in DATABASES else None
                for part in asked:
                    held.matching.check(part)
                yield held
            except BaseException as error:
                held.close(error)
                raise
            if held.files is None:
                held.close()

    def _files(self) -> list[tuple[Any, ...]] | None:
        """What tells whether the files are as they were; None where there are none."""
        if self._table.database is not None or (paths := self._table.paths) is None:
            return None
        with quiet("the files cannot be read"):
            seen = [(file, Path(file).stat()) for file in expand(paths)]
        return [(file, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns) for file, at in seen]


class _HeldOpen:
    """A table that is open to be counted, what it was opened for, and whose turn it is."""

    matching: MatchingUsers
    run: Callable[[Callable[[], Any]], Any]
    kind: str

    def __init__(self) -> None:
        self.turn, self._closing = threading.RLock(), ExitStack()
        self.files: list[tuple[Any, ...]] | None = None
        self.names: set[str] = set()

    def open(self, table: Any, names: set[str], user: str | None) -> None:
        from sparsegate.tables.engines.duckdb import Relation

        with ExitStack() as closing:
            opened = closing.enter_context(open_table(table, columns=sorted(names), user=user))
            relation = opened.table.frame.native if isinstance(opened.table, Relation) else opened.table
            with quiet("the table cannot be counted"):
                self.matching = MatchingUsers(relation, user=opened.user)
            self.names, self.kind, self.run = names, opened.kind, opened.run
            self._closing = closing.pop_all()

    def close(self, error: BaseException | None = None) -> None:
        closing, self._closing, self.files, self.names = self._closing, ExitStack(), None, set()
        closing.__exit__(*((None, None, None) if error is None else (type(error), error, error.__traceback__)))


def _let_go(held: dict[int, _HeldOpen]) -> None:
    if (mine := held.pop(os.getpid(), None)) is not None:
        with mine.turn:
            mine.close()


class SessionGate:
    """A gate whose questions are conditions: are there more people with such a row than the threshold?

    Made by ``Session.gate``; ``gate`` is the ``SparseVector`` behind it, which counts, closes and gives back.
    """

    def __init__(self, gate: SparseVector, count: Callable[[str | None, str | None], int], where: str | None) -> None:
        self.gate, self.where, self._count = gate, where, count

    def ask(self, where: str | None = None, *, threshold: Number | None = None) -> Answer:
        """Do more people than the threshold have a row that meets the condition, and the gate's own?

        A condition that is refused, and a table that cannot be read, cost nothing and leave the gate as it was.
        """
        if self.gate.closed:
            self.gate.ask(0)  # raises GateClosed, in its own words, before anything is counted
        return self.gate.ask(self._count(self.where, where), threshold=threshold)

    @property
    def closed(self) -> bool:
        """Whether no more questions are answered."""
        return self.gate.closed

    @property
    def remaining(self) -> int | None:
        """How many ABOVE are left; None where nothing limits them but the ledger."""
        return self.gate.remaining

    def margin(self, confidence: float = 0.95) -> float:
        """An answer this far from the threshold is on the right side with this probability."""
        return self.gate.margin(confidence=confidence)

    def close(self) -> None:
        """Answer no more, and give back to the ledger what the answers did not cost."""
        self.gate.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self.gate).replace("SparseVector", "SessionGate")


class Session(Uncopied, Printed):
    """A table, its people and its budget: made by ``sparsegate.session``, closed at the end of its ``with`` block.

    Printed, it is its statement: what was spent, and what is left.
    """

    _uncopied = "a session holds an open ledger and can be neither copied nor pickled; open another on the same ledger"

    def __init__(
        self,
        table: Table,
        *,
        user: str | None,
        unit: str | None,
        domains: Mapping[str, Any],
        ledger: Ledger,
        closing: ExitStack,
        **drawn: Any,
    ) -> None:
        self.table, self.user, self.unit, self.domains, self.ledger = table, user, unit, dict(domains), ledger
        self._closing, self._drawn = closing, drawn
        self._people_counts = PeopleCounts(table, user)
        self._last: Statement | None = None
        self._closed = False

    @cached_property
    def top(self) -> SessionRelease[TopItems]:
        """``top_items`` of this table: ``s.top("page", count=10, epsilon=0.1)``."""
        return self._asking(top_items)

    @cached_property
    def above(self) -> SessionRelease[TopItems]:
        """``items_above`` of this table: ``s.above("page", above=150, epsilon=0.1, delta=1e-6)``."""
        return self._asking(items_above)

    @cached_property
    def sums(self) -> SessionRelease[TopItems]:
        """``top_sums`` of this table: ``s.sums("product", value="paid", clip=(0, 100), count=10, epsilon=0.1)``."""
        return self._asking(top_sums)

    @cached_property
    def gate(self) -> SessionRelease[SessionGate]:
        """A ``SparseVector`` over counts of people: ``s.gate(threshold=1000, cutoff=5, epsilon=0.5)``.

        ``where`` is a condition that belongs to all of its questions.
        """

        def look(*, where: str | None = None, **parameters: Any) -> Preview:
            return SparseVector.preview(**parameters, sensitivity=1, monotonic=True)

        return SessionRelease(SparseVector, self._gate, SparseVector.preview, look, where=None)

    @cached_property
    def count(self) -> SessionRelease[int]:
        """How many people have a row that meets a condition, with Laplace noise: ``s.count("n > 5", epsilon=0.1)``."""
        return SessionRelease(self._count, self._count, self._count_preview, self._count_preview)

    def describe(self) -> Description:
        """What may be asked: columns, types and declared domains. Never data."""
        asked = [*_names(self.table.data), *self.domains, *filter(None, [self.user])]
        types = dict.fromkeys(asked, "as in its database")
        if self.table.database is None:
            with open_table(self.table, columns=asked, user=self.user) as opened:
                engine = guarded("the engine of the table", lambda: open_engine(opened.table))
                keys = {opened.user, f"{self.user} (user)"} - {self.user}  # made beside the users: nothing to ask about
                types = {name: kind.name for name, kind in engine.types.items() if name not in keys}
        person = "each row a person" if self.user is None else f"people by {self.user}"
        return Description(
            name=self.statement().dataset,
            person=person,
            columns=types,
            domains={name: _in_words(domain) for name, domain in self.domains.items()},
        )

    @property
    def remaining(self) -> AmountLeft:
        """What the ledger has left: exact, and printed as a person reads it."""
        return AmountLeft(**vars(self.statement().remaining))

    def statement(self) -> Statement:
        """What was spent, release by release; where the ledger went with the session, as it was at the end."""
        try:
            return self.ledger.statement()
        except LedgerError:
            if self._last is None:
                raise
            return self._last

    def sheet(self) -> Sheet:
        """The statement as a table."""
        return self.statement().sheet()

    def close(self) -> None:
        """Close the ledger, if the session opened it. Gates that are open stay charged until they are closed."""
        self._closed = True
        with self._closing, suppress(LedgerError):  # of one that was lost there is nothing to say
            self._people_counts.close()
            self._last = self.statement()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _asking(self, function: Callable[..., TopItems]) -> SessionRelease[TopItems]:
        def release(**parameters: Any) -> TopItems:
            self._check_open()
            return function(self.table, **self._asked(parameters, function), ledger=self.ledger, **self._drawn)

        def look(**parameters: Any) -> Preview:
            asked = self._asked(parameters, preview)
            return preview(**{"ledger": None if "budget" in parameters else self.ledger, **asked})

        return SessionRelease(function, release, preview, look)

    def _asked(self, parameters: dict[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
        """The parameters with the person, and with the domain that was declared for the item."""
        declared = self.domains.get(parameters.get("item", ""))
        if declared is not None and "domain" in inspect.signature(function).parameters and "above" not in parameters:
            parameters = {"domain": declared, **parameters}
        elif function in (top_items, top_sums) and parameters.get("domain") is None and self.table.database is None:
            # A name that is wrong has no domain, and that it is wrong is the news.
            _check_columns(self.table, [name for name in [parameters.get("item")] if isinstance(name, str)], self.user)
        return {"user": self.user, "unit": self.unit, **parameters}

    def _gate(self, *, where: str | None = None, **parameters: Any) -> SessionGate:
        self._check_open()
        with self._people_counts.matching(where):  # before the gate is paid for
            pass
        gate = SparseVector(**parameters, sensitivity=1, monotonic=True, ledger=self.ledger, **self._drawn)
        return SessionGate(gate, self._true_count, where)

    def _count(self, where: str | None = None, *, epsilon: Number) -> int:
        """The number of people with a row that meets the condition, or with any row, with exact Laplace noise.

        *Theorem.* It is epsilon-DP: one person moves it by at most one.
        """
        exact_epsilon(epsilon)
        released = laplace(self._true_count(where), epsilon=epsilon, sensitivity=1, ledger=self.ledger, **self._drawn)
        return int(released)

    def _true_count(self, *conditions: str | None) -> int:
        self._check_open()
        return self._people_counts.count(*conditions)

    def _check_open(self) -> None:
        if self._closed:
            raise LedgerError("this session is closed, and nothing was spent; open another, on the same ledger")

    def _count_preview(self, where: str | None = None, *, epsilon: Number, confidence: float = 0.95) -> Preview:
        spent = exact_epsilon(epsilon)
        bar = error_bar(1 / spent, confidence)
        return Preview(
            release="count",
            epsilon=spent,
            confidence=confidence,
            accuracy={"error_bar": bar},
            settings={"where": where},
            statement=f"A count of people is within {bar:,} of the truth with {confidence:.0%} confidence.",
        )


def _check_columns(table: Table, names: Iterable[str], user: str | None) -> None:
    asked = [*names, *filter(None, [user])]
    with open_table(table, columns=asked, user=user) as opened:
        check_columns(guarded("the engine of the table", lambda: open_engine(opened.table)).names, asked)


def _names(data: Any) -> list[str]:
    """The columns of a table of this process; none of files, which name theirs, and of records, whose keys are data."""
    if isinstance(data, Mapping):
        return [*data]
    if hasattr(data, "collect_schema"):
        return list(data.collect_schema().names())
    names = getattr(data, "column_names", getattr(data, "columns", ()))
    return [name for name in names if isinstance(name, str)]


def _countable(table: Table) -> Any:
    """The table as this process reads it: a relation of DuckDB's as its rows, in an engine of the session's own."""
    data = table.data
    if table.database is not None or type(data).__module__.startswith("pyspark."):
        rule = "must be files or a table of this process, to count people by conditions"
        step = "copy the table to Parquet, or serve it with `sparsegate serve`; top, above and sums work as it is"
        raise ParameterError("data", rule, next_step=step)
    return _Rows(data) if type(data).__name__ == "DuckDBPyRelation" else table


@dataclass(frozen=True)
class _Rows:
    """The rows of a relation as a stream of Arrow: counting sets options of the engine, and that one is not ours."""

    relation: Any

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.relation.__arrow_c_stream__(requested_schema)


@own_settings
def session(
    data: Any,
    /,
    *,
    user: str | None = None,
    unit: str | None = None,
    budget: BudgetLike | None = None,
    delta: Number = 0,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    domains: Mapping[str, Any] | None = None,
    source: Source | None = None,
    not_private: bool = False,
) -> Session:
    """Open a session: a table, who is a person in it, and a budget, for releases that know all three.

    Parameters
    ----------
    data: whatever ``top_items`` takes: files, dataframes, a database, a ``Table``.
    user: the column that names a person; or unit="row" where every row is another person. (Lines of baskets are people
        by user="user", and their items are called "item".)
    budget: how much may be spent in all: an epsilon, or (epsilon, delta) for a ledger that lasts longer over many
        releases (zCDP). Needed for a new ledger; where the ledger is there it must be what the ledger holds.
    delta: how much the deltas of releases may add up to, beside the budget: ``above`` and ``domain="observed"`` need
        one. All together is (epsilon, delta)-DP; with a budget of (epsilon, d), (epsilon, d + delta)-DP. Of a ledger
        that is there it must be what the ledger holds, or be left out.
    ledger: the path or URL of the ledger, made if it is not there; or an open ``Ledger``. Without one the budget is
        kept for this session alone, and forgotten with it: whoever opens another spends it again.
    dataset: the name of the ledger's dataset: of a new one the names of the files unless given; of one that is there
        it must be what the ledger holds.
    domains: PUBLIC candidates by column, as ``domain`` of ``top_items``: {"page": Path("pages.csv")}.
    source, not_private: as in ``top_items``.

    >>> import sparsegate as sg
    >>> visits = {"page": ["/home"] * 400 + ["/docs"] * 300, "visitor": [*range(400), *range(300)],
    ...           "country": ["DE", "FR"] * 350}
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> with sg.session(visits, user="visitor", budget=2, domains={"page": ["/home", "/docs", "/jobs"]}, **seeded) as s:
    ...     print(s.top("page", count=2, epsilon=0.5).items)
    ...     with s.gate(threshold=100, cutoff=2, epsilon=0.5) as gate:
    ...         print([bool(gate.ask(f"country = '{country}'")) for country in ("DE", "US")])
    ...     print(s.count("country = 'FR'", epsilon=0.5), s.count.preview(epsilon=0.5).error_bar)
    ('/docs', '/home')
    [True, False]
    200 6
    """
    check_unit(user, unit)
    table = data if isinstance(data, Table) else Table(data)
    if domains is not None and (not isinstance(domains, Mapping) or not all(isinstance(name, str) for name in domains)):
        rule = "must map the names of columns to their public candidates"
        raise ParameterError("domains", rule, next_step='pass for instance domains={"page": ["/home", "/docs"]}')
    spare = exact_delta(delta, zero=True)
    if "-" in (table.paths or ()) or type(table.data).__name__ == "RecordBatchReader":
        rule = "must be a table that can be read again, because a session reads it for each question"
        step = "keep standard input in a file; of a stream of Arrow pass the table"
        raise ParameterError("data", rule, next_step=step)
    if table.database is None:
        _check_columns(table, domains or (), user)
    with ExitStack() as closing:
        if isinstance(ledger, Ledger):
            opened_ledger = ledger
            if budget is not None:
                ledger.statement().check_budget(budget, None)
            if dataset is not None and dataset != ledger.dataset:
                rule = f"must be that of the ledger, {ledger.dataset!r}, or be left out"
                raise ParameterError("dataset", rule, dataset, "other people's data needs a ledger of its own")
        else:
            opened_ledger = closing.enter_context(_ledger(ledger, budget, spare, dataset, table, closing))
        if spare and spare != (held := opened_ledger.statement().budget.delta):
            rule, step = f"must be that of the ledger, {exact_text(held)}, or be left out", "sparsegate ledger raise"
            raise ParameterError("delta", rule, delta, f"change it on record with `{step} --budget-delta`")
        return Session(
            table,
            user=user,
            unit=unit,
            domains=domains or {},
            ledger=opened_ledger,
            closing=closing.pop_all(),
            source=source,
            not_private=not_private,
        )


def _ledger(
    place: str | Path | None,
    budget: BudgetLike | None,
    delta: Fraction,
    dataset: str | None,
    table: Table,
    closing: ExitStack,
) -> Ledger:
    """Open the ledger, or make it; a new one is named after the files unless somebody says how."""
    if place is not None and Ledger.exists(place):
        return Ledger(place, dataset=dataset, budget=budget)
    if budget is None:
        raise ParameterError("budget", "must be given for a new ledger", next_step="pass for instance budget=1")
    if place is None:
        folder = tempfile.TemporaryDirectory(prefix="sparsegate-", ignore_cleanup_errors=True)
        place = Path(closing.enter_context(folder), "session.ledger")
    named = "" if table.database is not None else " ".join(Path(path).name for path in table.paths or ())
    return open_or_create(place, dataset=dataset or named or "table", budget=budget, budget_delta=delta)


def _in_words(domain: Any) -> str:
    if isinstance(domain, Path | str):
        return Path(domain).name  # an agent reads it, too: where it lies is nobody's
    if isinstance(domain, int):
        return f"0 to {domain - 1:,}"
    return f"{len(domain):,} listed" if hasattr(domain, "__len__") else "listed"
