"""Gates, asks and requests in the database of a ledger: each method is one transaction.

**The store decides, and no lock.** Whether a request came before is read under the one write lock of the ledger; and
the unique constraints of ``requests`` and ``asks`` refuse a second row with its whole transaction, charge included.
Both commits of an ask write the same rows and columns whatever the outcome: ``intend`` adds an ask and counts it,
``settle`` writes 0 or 1, and an estimate or none. Whether a gate is through follows from its counters and is never
written. A gate that gave back is closed for good and takes no outcome any more, in whichever process.

An intent, and a charge, is refused while there is no room for what follows it (``Database.room``). Asks of a gate take
turns, so only the newest can be on its way: until its answer leaves nobody sees it, nor that the gate closed with it
(``departures``). Of closed gates ``compact`` moves old BELOW asks out. Machine-checked: proofs/README.md. Gates without
a cutoff, gates for cells, and why ``compact`` answers nothing twice: docs/explanation/proofs_in_words/ledger.md
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any, Final

from sqlalchemy import (
    Connection,
    Select,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.exc import IntegrityError

from sparsegate.errors import (
    GateBusy,
    GateClosed,
    KeyReused,
    LedgerError,
    ParameterError,
    RequestLost,
    SparsegateError,
    UnknownGate,
)
from sparsegate.ledger.account import Amount, exact_value
from sparsegate.ledger.database import DriverConnection, DriverStatement, now
from sparsegate.ledger.gate import AnswerCounts
from sparsegate.ledger.ledger import Ledger, add_part
from sparsegate.ledger.schema import ENTRIES, GATES, LEDGER, REFUNDS
from sparsegate.service.departures import Departures
from sparsegate.service.gates import MOST_CELLS, Asked, GateLabel, GateRow, GateSpec, KeyedRequest, Tally, unused
from sparsegate.service.locks import Turns, turns_of
from sparsegate.service.schema import ASKS, CELLS, METERS, REQUESTS, SERVED_GATES, TOKENS, make_tables
from sparsegate.service.tokens import MOST_ABOVE, admit_ask, admit_charge

_SERVED: Final = GATES.join(SERVED_GATES, SERVED_GATES.c.gate == GATES.c.entry)
_THIS: Final = GATES.c.entry == bindparam("this")
_GIVES_BACK: Final = func.coalesce(METERS.c.held, GATES.c.entry)
"""The entry of which something may go back: of a gate without a cutoff the charge for its next ABOVE."""
CANNOT_PAY: Final = "its ledger cannot pay for another ABOVE"

WITH_LAST: Final[Select[Any]] = select(
    GATES,
    SERVED_GATES,
    METERS.c.paid,
    METERS.c.held,
    ASKS.c.lasts,
    ASKS.c.above.label("last"),
    ENTRIES.c.epsilon.label("given_back"),
    TOKENS.c.name.label("opener"),
).select_from(
    _SERVED.outerjoin(METERS, METERS.c.gate == GATES.c.entry)
    .outerjoin(ASKS, and_(ASKS.c.gate == GATES.c.entry, ASKS.c.number == GATES.c.asked))
    .outerjoin(REFUNDS, REFUNDS.c.of == _GIVES_BACK)
    .outerjoin(ENTRIES, ENTRIES.c.number == REFUNDS.c.entry)
    .outerjoin(TOKENS, TOKENS.c.number == SERVED_GATES.c.opened_by)
)
"""Gates with their newest ask, with what they gave back, and with who opened them."""

_CLOSABLE: Final = WITH_LAST.where(GATES.c.refund == 1, REFUNDS.c.of.is_(None))
_MAYBE_OPEN: Final = or_(GATES.c.closed_because.is_(None), SERVED_GATES.c.closed_with.is_not(None))
"""Not closed, as far as the row says it: or by an ask that nobody may have seen yet."""


def stored_tally(row: Any) -> Tally:
    """Where a gate stands, by its row in ``gates``."""
    counted = _counts(row) | {"paid": row.paid or 0}
    return Tally(spec=GateSpec.read(row.terms), because=row.closed_because or "", **counted)


def stored(row: Any, *, hidden: bool = False) -> GateRow:
    """A gate, by a row of ``WITH_LAST``; without its newest ask, where that is ``hidden``: it has not left yet."""
    tally = stored_tally(row)
    if hidden:
        because = "" if row.closed_with == row.asked else tally.because
        above, below = row.above - (row.last == 1), row.below - (row.last == 0)
        tally = replace(tally, asked=row.asked - 1, above=above, below=below, because=because)
    return GateRow(
        number=row.entry,
        id=row.id,
        opened_at=row.opened_at,
        fingerprint=row.fingerprint,
        sealed=bytes(row.sealed),
        tally=tally,
        refund=bool(row.refund),
        given_back=exact_value(row.given_back or "0"),
        label=GateLabel(name=row.name, description=row.description, token=row.opened_by, opened_by=row.opener),
    )


def _asked(row: Any) -> Asked:
    return Asked(**_public(row), token=row.token, lasts=row.lasts)


def _public(row: Any) -> dict[str, Any]:
    return {
        "number": row.number,
        "at": row.intended_at,
        "condition": row.condition,
        "above": None if row.above is None else bool(row.above),
        "estimate": None if row.estimate is None else int(row.estimate),
        "by": getattr(row, "asker", None),
    }


_FIND_GATE: Final = DriverStatement(WITH_LAST.where(SERVED_GATES.c.id == bindparam("id")))
_ALL_GATES: Final = WITH_LAST.order_by(GATES.c.entry.desc())
_METERED: Final = GATES.outerjoin(METERS, METERS.c.gate == GATES.c.entry)
_GAVE_BACK: Final = select(REFUNDS.c.of).where(REFUNDS.c.of == _GIVES_BACK).scalar_subquery().label("gave_back")
_READ_FOR_OUTCOME: Final = DriverStatement(
    select(GATES, METERS.c.paid, METERS.c.held, _GAVE_BACK).select_from(_METERED).where(_THIS)
)
_READ_FOR: Final = DriverStatement(select(GATES, METERS.c.paid, MOST_ABOVE).select_from(_METERED).where(_THIS))

_SAME_ASK: Final = DriverStatement(
    select(ASKS).where(
        ASKS.c.gate == bindparam("this"), ASKS.c.token == bindparam("whose"), ASKS.c.key == bindparam("under")
    )
)
_COUNT_ASK: Final = DriverStatement(update(GATES).where(_THIS).values(asked=bindparam("count")))
_ADD_ASK: Final = DriverStatement(
    insert(ASKS), "gate", "number", "token", "key", "body", "condition", "intended_at", "lasts"
)
_ASK: Final = and_(ASKS.c.gate == bindparam("this"), ASKS.c.number == bindparam("place"))
_SETTLE_ASK: Final = DriverStatement(
    update(ASKS)
    .where(_ASK, ASKS.c.above.is_(None))
    .values(above=bindparam("outcome"), estimate=bindparam("number_said"))
)
_OUTCOME: Final = select(ASKS.c.above).where(_ASK)
_VOID_ASK: Final = update(ASKS).where(_ASK).values(above=None, estimate=None)
_COUNT_OUTCOME: Final = DriverStatement(
    update(GATES).where(_THIS).values(above=bindparam("above_now"), below=bindparam("below_now"))
)

_CELL: Final = and_(CELLS.c.gate == bindparam("this"), CELLS.c.cell == bindparam("which"))
_SEALED: Final = DriverStatement(select(CELLS.c.sealed).where(_CELL))
_ADD_CELL: Final = DriverStatement(insert(CELLS), "gate", "cell", "sealed", "asked", "above", "below", "last")
_NEVER_ASKED: Final = DriverStatement(delete(CELLS).where(CELLS.c.gate == bindparam("this"), CELLS.c.last == 0))
_HOW_MANY: Final = DriverStatement(select(func.count().label("cells")).where(CELLS.c.gate == bindparam("this")))
_NOW: Final[dict[str, Any]] = {name: bindparam(f"{name}_now") for name in ("asked", "above", "below", "last")}
# One that is taken back late must not hide that another came after it.
_COUNT_CELL: Final = DriverStatement(
    update(CELLS)
    .where(_CELL)
    .values(_NOW | {"last": case((CELLS.c.last > _NOW["last"], CELLS.c.last), else_=_NOW["last"])})
)
# Without what came after ``seen``: read in one statement, so of one moment, whatever is settled meanwhile.
_UNSEEN: Final = and_(ASKS.c.gate == CELLS.c.gate, ASKS.c.number == CELLS.c.last, ASKS.c.number > bindparam("seen"))
_NONE: Final[Any] = literal_column("0")
_ONE: Final[Any] = literal_column("1")
_SEEN: Final = (
    (CELLS.c.asked - case((ASKS.c.number.is_(None), _NONE), else_=_ONE)).label("asked"),
    (CELLS.c.above - func.coalesce(ASKS.c.above, _NONE)).label("above"),
    (CELLS.c.below - func.coalesce(_ONE - ASKS.c.above, _NONE)).label("below"),
)
_FROM_CELLS: Final = CELLS.outerjoin(ASKS, _UNSEEN)
_OWN: Final = DriverStatement(select(*_SEEN).select_from(_FROM_CELLS).where(_CELL))
_ALIKE: Final = DriverStatement(
    select(*_SEEN, func.count().label("cells"))
    .select_from(_FROM_CELLS)
    .where(CELLS.c.gate == bindparam("this"))
    .group_by(*(column.element for column in _SEEN))
)


def _counts(row: Any) -> dict[str, Any]:
    return {"asked": row.asked, "above": row.above, "below": row.below}


def _with_cells(connection: DriverConnection, gate: GateRow) -> GateRow:
    """With the counts of its cells, as far as its tally counts asks."""
    if gate.tally.spec.per is None:
        return gate
    rows = connection.rows(_ALIKE, this=gate.number, seen=gate.tally.asked)
    cells = tuple((AnswerCounts(**_counts(row)), row.cells) for row in rows)
    return replace(gate, tally=replace(gate.tally, cells=cells, cell=_own_cell(connection, gate)))


def _own_cell(connection: DriverConnection, gate: GateRow) -> Tally | None:
    """Where the cell stands that is asked about; None: there is none, or it never was."""
    if gate.cell is None or gate.tally.spec.per is None:
        return None
    own = connection.one(_OWN, this=gate.number, which=gate.cell, seen=gate.tally.asked)
    return None if own is None else Tally(spec=gate.tally.spec.of_cell, **_counts(own))


def _read_tally(connection: DriverConnection, row: Any, gate: GateRow) -> Tally:
    """Where a gate stands, by its row just read, and the cell that is asked about: without one nothing is asked."""
    read = replace(gate, tally=stored_tally(row))
    cell = _own_cell(connection, read)
    if cell is None and read.tally.spec.per is not None:
        raise GateBusy
    return replace(read.tally, cell=cell)


def _count_cell(connection: DriverConnection, gate: GateRow, cell: AnswerCounts | None, last: int) -> None:
    if cell is not None:
        now = {"asked_now": cell.asked, "above_now": cell.above, "below_now": cell.below, "last_now": last}
        connection.rows(_COUNT_CELL, this=gate.number, which=gate.cell, **now)


class _Repeated(Exception):
    """A unique constraint refused a row: somebody came first, and the transaction is rolled back."""


class GateStore:
    """The gates of one ledger."""

    def __init__(self, ledger: Ledger) -> None:
        make_tables(ledger.database)
        self.ledger, self.departures = ledger, Departures()

    def resume(self, turns: Turns) -> None:
        """When a keeper starts: what of all this is still on its way at another."""
        with self.ledger.database.reading() as connection:
            rows = connection.execute(_ALL_GATES).all()
        self.departures.resume(rows, turns.held)
        self.gates()

    def recall(self, request: KeyedRequest, path: str) -> str | None:
        """The stored response of a request that came before; None: there was none. See ``begin``."""
        with self.ledger.database.reading() as connection:
            return recalled(connection, request, path)

    def begin(
        self,
        request: KeyedRequest,
        path: str,
        amount: Amount,
        what: str,
        *,
        gate: GateRow | None = None,
        response: str | None = None,
        key_name: str | None = None,
    ) -> str | None:
        """Charge the ledger, note the request, and store the gate and the response if there are any: all or nothing.

        None: this did it. Else the request came before, nothing was written, and this is the response that it got; one
        that was charged and has no response is lost. ``key_name`` is that of the key which the gate is sealed with.
        """
        self.ledger.database.need_room()
        try:
            with self.ledger.database.writing() as connection:
                if (stored := recalled(connection, request, path)) is not None:
                    return stored
                metered = gate is not None and gate.tally.spec.cutoff is None
                self._give_back(connection)
                admit_charge(DriverConnection.of(connection), request.token, amount.epsilon, metered=metered)
                if gate is None:
                    entry = self.ledger.charge(connection, amount, what).number
                else:
                    entry = self._add_gate(connection, gate, what, key_name)
                key = {"token": request.token, "path": path, "key": request.key}
                rest = {"body": request.body, "at": now().isoformat(), "entry": entry, "response": response}
                _once(lambda: connection.execute(insert(REQUESTS), key | rest))
        except _Repeated:
            stored = self.recall(request, path)
            if stored is None:
                raise self.ledger.database.trouble("holds a request that cannot be read; examine it by hand") from None
            return stored
        return None

    def _add_gate(self, connection: Connection, gate: GateRow, what: str, key_name: str | None) -> int:
        """Charge a gate and write its rows; the number of its entry."""
        if connection.execute(select(LEDGER.c.key_name)).scalar_one() not in (None, key_name):
            raise self.ledger.database.trouble("has another key now; restart the server with it")
        spec, label = gate.tally.spec, gate.label
        durable = {"title": f"served {gate.id}", "terms": spec.terms(), "refund": gate.refund, "sealed": gate.sealed}
        opening = {"epsilon": spec.epsilon, "rho": spec.opening.rho}
        entry = self.ledger.open_gate(connection, what=what, **opening, **durable).entry  # type: ignore[arg-type]
        number = entry.number
        if spec.price is not None:
            held = self.ledger.hold(connection, spec.each, entry).number
            connection.execute(insert(METERS), {"gate": number, "paid": 1, "held": held})
            connection.execute(update(GATES).where(_THIS).values(refund=int(gate.refund)), {"this": number})
        named = {"name": label.name, "description": label.description, "opened_by": label.token}
        row = {"gate": number, "id": gate.id, "opened_at": gate.opened_at, "fingerprint": gate.fingerprint}
        connection.execute(insert(SERVED_GATES), row | named)
        return number

    def finish(self, request: KeyedRequest, path: str, response: str, gave: Mapping[str, Any]) -> None:
        """Store what is answered, before it is answered, and as what its entry gave."""
        with self.ledger.database.writing() as connection:
            connection.execute(update(REQUESTS).where(*_place(request, path)).values(response=response))
            entry = connection.execute(select(REQUESTS.c.entry).where(*_place(request, path))).scalar_one()
            add_part(connection, entry, gave)

    def gate(self, id: str, *, visible: bool = False, cell: str | None = None) -> GateRow:
        """A gate: as it is; or as it may be seen, without an ask whose answer has not left yet."""
        with self.ledger.database.looking() as connection:
            row = connection.one(_FIND_GATE, id=id)
            if row is None:
                raise UnknownGate
            gate = replace(stored(row, hidden=visible and self.departures.hides(row)), cell=cell)
            return _with_cells(connection, gate)

    def cell(self, gate: GateRow, seal: Callable[[], bytes]) -> bytes:
        """The sealed noise of the cell that is asked about; of one that never was, ``seal`` draws it, and it is kept.

        Called with the turn at the gate. Whether a cell is new follows from the questions before. One whose first
        question was refused, as by a quota, makes room for the next; and of one gate there are ``MOST_CELLS``.
        """
        this = {"this": gate.number, "which": gate.cell}
        with self.ledger.database.looking() as connection:
            row = connection.one(_SEALED, **this)
        if row is None:
            self.ledger.database.need_room()
            new = {"gate": gate.number, "cell": gate.cell, "sealed": seal()}
            with self.ledger.database.writing() as connection:
                driver = DriverConnection.of(connection)
                stored_tally(driver.one(_READ_FOR_OUTCOME, this=gate.number)).require_open()
                if driver.one(_SEALED, **this) is None:
                    driver.rows(_NEVER_ASKED, this=gate.number)
                    if driver.one(_HOW_MANY, this=gate.number).cells >= MOST_CELLS:
                        rule = f"must be one of the {MOST_CELLS:,} that this gate was asked about, and keeps at most"
                        raise ParameterError("cell", rule, next_step="open another gate, which spends a new budget")
                    driver.rows(_ADD_CELL, **new, asked=0, above=0, below=0, last=0)
                row = driver.one(_SEALED, **this)
        return bytes(row.sealed)

    def gates(self, *, closed: bool | None = None, after: str | None = None, limit: int | None = None) -> list[GateRow]:
        """Gates as they may be seen, newest first: those opened before the gate ``after``, or only the closed or open.

        Whether a gate is through follows from its counters, and is never written: those that are closed by their rows
        alone, or gave back, are left out by the database.
        """
        wanted = _ALL_GATES if after is None else _ALL_GATES.where(GATES.c.entry < self.gate(after).number)
        if closed is False:
            wanted = wanted.where(_MAYBE_OPEN, REFUNDS.c.of.is_(None))
        with self.ledger.database.reading() as connection:
            rows = connection.execute(wanted).yield_per(100)
            found = (stored(row, hidden=self.departures.hides(row)) for row in rows)
            page = list(islice((gate for gate in found if closed in (None, bool(gate.tally.closed))), limit))
            return [_with_cells(DriverConnection.of(connection), gate) for gate in page]

    def gate_entries(self) -> dict[int, str]:
        """The name of the gate that each entry opened."""
        with self.ledger.database.reading() as connection:
            rows = connection.execute(select(SERVED_GATES.c.gate, SERVED_GATES.c.id))
            return {row.gate: row.id for row in rows}

    def open_gates(self, *, unlike: str = "") -> int:
        """How many gates are open, as far as it may be seen, that were opened on other data than ``unlike``.

        A gate at which somebody is at work counts as before that ask, at every server: what comes of it has not left.
        """
        others = WITH_LAST.where(_MAYBE_OPEN, SERVED_GATES.c.fingerprint != unlike)
        with self.ledger.database.reading() as connection:
            rows = connection.execute(others).all()
        if not rows:
            return 0
        with closing(turns_of(self.ledger.database, patience=0)) as turns:
            held = turns.held([row.entry for row in rows if row.asked])
        return sum(not stored(row, hidden=row.entry in held).tally.closed for row in rows)

    def close_open_gates(self, because: str, *, agreed: bool, unlike: str = "") -> None:
        """Close those gates for good; without an agreement refuse, and write nothing."""
        count = self.open_gates(unlike=unlike)
        if count and not agreed:
            gates = f"{count} open gate{'s' * (count > 1)}"
            raise self.ledger.database.trouble(
                f"has {gates} that this would close for good, because {because}; give what was given when that was "
                "opened (the same data, --user, --max-cell, --read, --key), or --close-gates"
            )
        if count:
            self.close(because, unlike=unlike)

    def same_ask(self, gate: GateRow, request: KeyedRequest) -> Asked | None:
        """The ask that this request became when it came before; another body under its key is ``KeyReused``."""
        with self.ledger.database.looking() as connection:
            return _same(connection, gate, request)

    def pay_ahead(self, gate: GateRow) -> None:
        """Pay for the next ABOVE of a gate without a cutoff, where nothing is held for it; else close the gate.

        Called with the turn at the gate, so that no ask is under way: what has no outcome now is lost.
        """
        if gate.tally.spec.cutoff is not None:
            return
        with self.ledger.database.looking() as connection:
            if not stored_tally(connection.one(_READ_FOR_OUTCOME, this=gate.number)).unpaid:
                return
        self.ledger.database.need_room()
        with self.ledger.database.writing() as connection:
            row = DriverConnection.of(connection).one(_READ_FOR_OUTCOME, this=gate.number)
            tally = stored_tally(row)
            tally.require_open()
            if not (unpaid := tally.unpaid):
                return
            entry, held = self.ledger.spending(connection, row.entry), self.ledger.spending(connection, row.held)
            _, another = self.ledger.use_held(connection, held, each=tally.spec.each, count=unpaid, of=entry)
            if another is None:
                self._close(connection, GATES.c.entry == gate.number, CANNOT_PAY)
            else:
                paid = {"paid": row.paid + unpaid, "held": another.number}
                connection.execute(update(METERS).where(METERS.c.gate == row.entry).values(paid))
        if another is None:
            raise GateClosed(f"this gate is closed: {CANNOT_PAY}; raise the budget, and open another")

    def intend(
        self, gate: GateRow, request: KeyedRequest, condition: str, *, arrive: Callable[[], float]
    ) -> int | Asked:
        """Reserve one ABOVE: the number of the ask. A request that came before returns the ask that it became.

        ``arrive`` is called when the wait for other writers is over, and says at which moment the answer leaves.
        """

        def intent(connection: DriverConnection) -> tuple[int, float] | Asked:
            if (before := _same(connection, gate, request)) is not None:
                return before
            row = connection.one(_READ_FOR, this=gate.number, whose=request.token)
            tally = _read_tally(connection, row, gate).intend()
            if row.most_above is not None:
                admit_ask(connection, request.token, row.most_above, self.departures)
            connection.rows(_COUNT_ASK, this=gate.number, count=tally.asked)
            _count_cell(connection, gate, tally.cell, tally.asked)
            lasts = max((leaves := arrive()) - time.monotonic(), 0.0)
            ask = {"gate": gate.number, "number": tally.asked, "condition": condition, "lasts": lasts}
            sender = {"token": request.token, "key": request.key, "body": request.body}
            _once(lambda: connection.rows(_ADD_ASK, **ask, **sender, intended_at=now().isoformat()))
            return tally.asked, leaves

        self.ledger.database.need_room()
        try:
            written = self.ledger.database.together(intent)
        except _Repeated:
            before = self.same_ask(gate, request)
            if before is None:
                raise self.ledger.database.trouble("holds an ask that cannot be read; examine it by hand") from None
            return before
        if isinstance(written, Asked):
            return written
        self.departures.expect(gate.number, *written)
        return written[0]

    def settle(
        self,
        gate: GateRow,
        number: int,
        *,
        above: bool,
        estimate: int | None = None,
        late: Callable[[], bool] = lambda: False,
    ) -> Tally:
        """Write the outcome of an ask, and the number that it carries.

        A gate that gave back was through with this ask for an ABOVE, and must not open again: the ask stays lost. So
        does one that is ``late`` when the wait for other writers is over: it was told so, and undone.

        Machine-checked: proofs/README.md.
        """
        said = None if estimate is None else str(estimate)

        def outcome(connection: DriverConnection) -> Tally:
            row = connection.one(_READ_FOR_OUTCOME, this=gate.number)
            if row.gave_back is not None or late():
                raise SparsegateError("an ask that was taken for lost stays lost")
            tally = _read_tally(connection, row, gate).settle(above=above)
            connection.rows(_SETTLE_ASK, this=gate.number, place=number, outcome=int(above), number_said=said)
            connection.rows(_COUNT_OUTCOME, this=gate.number, above_now=tally.above, below_now=tally.below)
            _count_cell(connection, gate, tally.cell, number)
            return _with_cells(connection, replace(gate, tally=tally)).tally

        try:
            return self.ledger.database.together(outcome)
        except LedgerError:
            self.ledger.database.doubt()
            raise

    def void(self, gate: GateRow, number: int, because: str | None) -> None:
        """Take the outcome of an ask back, if it has one, so that it counts as an ABOVE; with a reason, close the gate.

        That the gate is closed shows when the answer has left. What gave back meanwhile was counted with the outcome
        that it had, which is what anybody has seen: that covers it (proofs/ledger_gates.v, ``void_covered``).
        """
        this = {"this": gate.number}
        with self.ledger.database.writing() as connection:
            driver = DriverConnection.of(connection)
            row = driver.one(_READ_FOR_OUTCOME, **this)
            outcome = connection.execute(_OUTCOME, this | {"place": number}).scalar_one()
            counts = {"above_now": row.above - (outcome == 1), "below_now": row.below - (outcome == 0)}
            connection.execute(_VOID_ASK, this | {"place": number})
            driver.rows(_COUNT_OUTCOME, **this, **counts)
            if (cell := _read_tally(driver, row, gate).cell) is not None:
                undone = replace(cell, above=cell.above - (outcome == 1), below=cell.below - (outcome == 0))
                _count_cell(driver, gate, undone, number)
            if because is not None:
                self._close(connection, GATES.c.entry == gate.number, because, number)

    def close(self, because: str, *, id: str | None = None, on: str | None = None, unlike: str | None = None) -> None:
        """Close one gate; or every gate that was opened ``on`` some data, or on other data than ``unlike``."""
        data = SERVED_GATES.c.fingerprint
        with self.ledger.database.writing() as connection:
            if id is None:
                self._close(connection, data == on if on is not None else data != unlike, because)
                return
            if connection.execute(select(SERVED_GATES.c.gate).where(SERVED_GATES.c.id == id)).one_or_none() is None:
                raise UnknownGate
            self._close(connection, SERVED_GATES.c.id == id, because)

    def _close(self, connection: Connection, which: Any, because: str, ask: int | None = None) -> None:
        """The first reason stays, unless nobody may have seen it yet."""
        for row in connection.execute(WITH_LAST.where(which, _MAYBE_OPEN)).all():
            if row.closed_because is None or (row.closed_with == row.asked and self.departures.hides(row)):
                connection.execute(update(GATES).where(_THIS).values(closed_because=because), {"this": row.entry})
                connection.execute(update(SERVED_GATES).where(SERVED_GATES.c.gate == row.entry).values(closed_with=ask))
        self._give_back(connection)

    def give_back(self, id: str | None = None) -> None:
        """Give back what closed gates did not use, if there is anything; for a look at one of them, or at all."""
        with self.ledger.database.reading() as connection:
            due = self._due(connection, id)
        if due:
            with self.ledger.database.writing() as connection:
                self._give_back(connection)

    def _give_back(self, connection: Connection) -> None:
        """In the transaction that closes a gate, or the first that may see it closed; before that nothing goes back."""
        for entry, epsilon, held in self._due(connection):
            if held is None:
                self.ledger.refund(connection, entry, epsilon)
            else:
                self.ledger.cancel_held(connection, self.ledger.spending(connection, held))

    def _due(self, connection: Connection, id: str | None = None) -> list[tuple[int, Fraction, int | None]]:
        """Nothing while an answer is on its way: the amount depends on what has left, and on nothing else."""
        which = _CLOSABLE if id is None else _CLOSABLE.where(SERVED_GATES.c.id == id)
        due = []
        for row in connection.execute(which).all():
            gate = stored(row)
            if gate.tally.closed and not self.departures.hides(row):
                tally = _with_cells(DriverConnection.of(connection), gate).tally
                due += [(row.entry, left, row.held)] if (left := unused(tally)) else []
        return due


def recalled(connection: Connection, request: KeyedRequest, path: str) -> str | None:
    """What was answered to this request before; None: it is new. One that was charged and has no answer is lost."""
    found = connection.execute(select(REQUESTS.c.body, REQUESTS.c.response).where(*_place(request, path))).one_or_none()
    if found is None:
        return None
    if found.body != request.body:
        raise KeyReused
    if found.response is None:
        raise RequestLost
    return str(found.response)


def _place(request: KeyedRequest, path: str) -> tuple[Any, ...]:
    return REQUESTS.c.token == request.token, REQUESTS.c.path == path, REQUESTS.c.key == request.key


def _once(insert: Callable[[], object]) -> None:
    try:
        insert()
        return
    except IntegrityError:
        pass
    raise _Repeated


def _same(connection: DriverConnection, gate: GateRow, request: KeyedRequest) -> Asked | None:
    found = connection.one(_SAME_ASK, this=gate.number, whose=request.token, under=request.key)
    if found is not None and found.body != request.body:
        raise KeyReused
    return None if found is None else _asked(found)


PAGE: Final = 1000
"""The most on one page."""

_BETWEEN: Final = (
    select(ASKS, TOKENS.c.name.label("asker"))
    .outerjoin(TOKENS, TOKENS.c.number == ASKS.c.token)
    .where(ASKS.c.gate == bindparam("this"), ASKS.c.number > bindparam("after"), ASKS.c.number < bindparam("before"))
    .limit(bindparam("most"))
)
_FIRST: Final = _BETWEEN.order_by(ASKS.c.number)
_LAST: Final = _BETWEEN.order_by(ASKS.c.number.desc())


def page_of_answers(
    store: GateStore, id: str, *, after: int = 0, before: int | None = None, limit: int = PAGE
) -> list[Asked]:
    """Asks of a gate that may be seen, oldest first: the first ones after a number, or the last ones before one."""
    gate = store.gate(id, visible=True)
    end = gate.tally.asked + 1
    values = {"this": gate.number, "after": after, "before": min(before or end, end), "most": limit}
    with store.ledger.database.reading() as connection:
        page = [_asked(row) for row in connection.execute(_FIRST if before is None else _LAST, values)]
    return page if before is None else page[::-1]


@dataclass(frozen=True, kw_only=True)
class Activity:
    """One ask, for owners; what came before it is ``after`` its ``cursor``.

    ``above`` is None where the outcome is lost; ``by`` where the ledger knows no such token.
    """

    gate: str
    gate_name: str
    number: int
    by: str | None
    at: str
    condition: str
    above: bool | None
    estimate: int | None
    cursor: str


_PLACE: Final = tuple_(ASKS.c.intended_at, ASKS.c.gate, ASKS.c.number)
_NEWEST_FIRST: Final = (
    select(ASKS, SERVED_GATES.c.id, SERVED_GATES.c.name, GATES.c.asked, TOKENS.c.name.label("asker"))
    .join(GATES, GATES.c.entry == ASKS.c.gate)
    .join(SERVED_GATES, SERVED_GATES.c.gate == ASKS.c.gate)
    .outerjoin(TOKENS, TOKENS.c.number == ASKS.c.token)
    # The time is to the second: within one second the order is that of the gates.
    .order_by(ASKS.c.intended_at.desc(), ASKS.c.gate.desc(), ASKS.c.number.desc())
)


def activity(
    store: GateStore, *, after: str | None = None, limit: int = PAGE, gate: str | None = None, by: str | None = None
) -> list[Activity]:
    """Who asked what and has an answer that left, over all gates, newest first: older than the cursor ``after``.

    Fewer than ``limit`` are the last ones.
    """
    wanted = _NEWEST_FIRST
    if gate is not None:
        wanted = wanted.where(SERVED_GATES.c.id == gate)
    if by is not None:
        wanted = wanted.where(TOKENS.c.name == by)
    found: list[Activity] = []
    more = limit
    with store.ledger.database.reading() as connection:
        while more:
            older = wanted if after is None else wanted.where(_place_of(after) > _PLACE)
            rows = connection.execute(older.limit(more)).all()
            for row in rows:
                if row.number < row.asked or not store.departures.left(row.gate, row.number, row.lasts):
                    found.append(Activity(gate=row.id, gate_name=row.name, cursor=_cursor(row), **_public(row)))
            more = limit - len(found) if len(rows) == more else 0
            after = _cursor(rows[-1]) if rows else None
    return found


def _cursor(row: Any) -> str:
    return f"{row.intended_at}_{row.gate}_{row.number}"


def _place_of(cursor: str) -> tuple[str, int, int]:
    at, *numbers = cursor.split("_")
    if len(numbers) == 2 and all(number.isascii() and number.isdigit() and len(number) < 10 for number in numbers):
        return at, int(numbers[0]), int(numbers[1])
    raise ParameterError("after", "must be the cursor of a line that was given before", cursor, "leave it out")


SLICE: Final = 1000
COLUMNS: Final = ("gate", "gate_name", "number", "at", "by", "condition")


def compact(store: GateStore, *, until: str, keep: Callable[[Sequence[Mapping[str, Any]]], None]) -> int:
    """Move the BELOW asks of closed gates that were asked up to a moment (as ``now`` writes it); how many.

    ``keep`` returns when what it is given is safe; its columns are ``COLUMNS``.
    """
    with closing(turns_of(store.ledger.database, patience=0)) as turns:
        store.resume(turns)
        store.give_back()
        moved = 0
        for gate in store.gates():
            while gate.tally.closed and (count := _move_slice(store, gate, until, keep)):
                moved += count
    return moved


def _move_slice(
    store: GateStore, gate: GateRow, until: str, keep: Callable[[Sequence[Mapping[str, Any]]], None]
) -> int:
    # The newest that may be seen stays: that it has left is decided by its row.
    old = and_(
        ASKS.c.gate == gate.number, ASKS.c.number < gate.tally.asked, ASKS.c.above == 0, ASKS.c.intended_at <= until
    )
    wanted = (
        select(ASKS.c.number, ASKS.c.intended_at, ASKS.c.condition, TOKENS.c.name)
        .outerjoin(TOKENS, TOKENS.c.number == ASKS.c.token)
        .where(old)
        .order_by(ASKS.c.number)
        .limit(SLICE)
    )
    with store.ledger.database.writing() as connection:
        rows = connection.execute(wanted).all() if store.gate(gate.id, visible=True).tally.closed else []
        if rows:
            named = ((gate.id, gate.label.name, row.number, row.intended_at, row.name, row.condition) for row in rows)
            keep([dict(zip(COLUMNS, each, strict=True)) for each in named])
            connection.execute(delete(ASKS).where(old, ASKS.c.number <= rows[-1].number))
    return len(rows)
