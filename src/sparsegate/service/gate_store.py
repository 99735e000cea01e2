"""Gates, asks and requests in the database of a ledger: each method is one transaction.

**The store decides, and no lock.** Whether a request came before is read under the one write lock of the ledger; and
the unique constraints of ``requests`` and ``asks`` refuse a second row with its whole transaction, charge included.
All commits of an ask write the same rows and columns whatever the outcome: ``intend`` adds an ask and counts it,
``settle`` writes 0 or 1, and an estimate or none, ``void`` takes that back. Whether a gate is through follows from its
counters and is never written. A gate that gave back is closed for good and takes no outcome any more, in any process.

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
from sparsegate.ledger.database import Connection, now
from sparsegate.ledger.gate import AnswerCounts
from sparsegate.ledger.ledger import Ledger, add_part
from sparsegate.service.departures import Departures
from sparsegate.service.gates import MOST_CELLS, Asked, GateLabel, GateRow, GateSpec, KeyedRequest, Tally, unused
from sparsegate.service.locks import Turns, turns_of
from sparsegate.service.schema import make_tables
from sparsegate.service.tokens import MOST_ABOVE, admit_ask, admit_charge

CANNOT_PAY: Final = "its ledger cannot pay for another ABOVE"

WITH_LAST: Final = """SELECT gates.*, served_gates.*, paid, held, lasts, asks.above AS last,
        entries.epsilon AS given_back, tokens.name AS opener
    FROM gates JOIN served_gates ON served_gates.gate = gates.entry
    LEFT JOIN meters ON meters.gate = gates.entry
    LEFT JOIN asks ON asks.gate = gates.entry AND asks.number = gates.asked
    LEFT JOIN refunds ON of = coalesce(held, gates.entry)
    LEFT JOIN entries ON entries.number = refunds.entry
    LEFT JOIN tokens ON tokens.number = opened_by"""
"""Gates with their newest ask, with what they gave back, and with who opened them.

Of a gate without a cutoff the charge for its next ABOVE may go back (``held``), else of the entry of the gate.
"""

_CLOSABLE: Final = f"{WITH_LAST} WHERE refund = 1 AND of IS NULL"
_MAYBE_OPEN: Final = "(closed_because IS NULL OR closed_with IS NOT NULL)"
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


_READ_FOR_OUTCOME: Final = """SELECT gates.*, paid, held,
        (SELECT of FROM refunds WHERE of = coalesce(held, gates.entry)) AS gave_back
    FROM gates LEFT JOIN meters ON gate = gates.entry WHERE gates.entry = :this"""
_READ_FOR: Final = f"""SELECT gates.*, paid, {MOST_ABOVE} AS most_above
    FROM gates LEFT JOIN meters ON gate = entry WHERE entry = :this"""
_ASK: Final = "WHERE gate = :this AND number = :number"
_SETTLE_ASK: Final = f"UPDATE asks SET above = :above, estimate = :estimate {_ASK} AND above IS NULL"
_COUNT_OUTCOME: Final = "UPDATE gates SET above = :above, below = :below WHERE entry = :this"

_SEALED: Final = "SELECT sealed FROM cells WHERE gate = :this AND cell = :cell"
_NEVER_ASKED: Final = "DELETE FROM cells WHERE gate = :this AND last = 0"
# One that is taken back late must not hide that another came after it.
_COUNT_CELL: Final = """UPDATE cells SET asked = :asked, above = :above, below = :below,
    last = CASE WHEN last > :last THEN last ELSE :last END WHERE gate = :this AND cell = :cell"""
# Without what came after ``seen``: read in one statement, so of one moment, whatever is settled meanwhile.
_SEEN: Final = """cells.asked - CASE WHEN asks.number IS NULL THEN 0 ELSE 1 END AS asked,
    cells.above - coalesce(asks.above, 0) AS above, cells.below - coalesce(1 - asks.above, 0) AS below"""
_FROM_CELLS: Final = """FROM cells LEFT JOIN asks
    ON asks.gate = cells.gate AND asks.number = last AND asks.number > :seen WHERE cells.gate = :this"""
_OWN: Final = f"SELECT {_SEEN} {_FROM_CELLS} AND cell = :cell"
_ALIKE: Final = f"""SELECT asked, above, below, count(*) AS cells
    FROM (SELECT {_SEEN} {_FROM_CELLS}) AS seen GROUP BY asked, above, below"""


def _counts(row: Any) -> dict[str, Any]:
    return {"asked": row.asked, "above": row.above, "below": row.below}


def _with_cells(connection: Connection, gate: GateRow) -> GateRow:
    """With the counts of its cells, as far as its tally counts asks."""
    if gate.tally.spec.per is None:
        return gate
    rows = connection.rows(_ALIKE, this=gate.number, seen=gate.tally.asked)
    cells = tuple((AnswerCounts(**_counts(row)), row.cells) for row in rows)
    return replace(gate, tally=replace(gate.tally, cells=cells, cell=_own_cell(connection, gate)))


def _own_cell(connection: Connection, gate: GateRow) -> Tally | None:
    """Where the cell stands that is asked about; None: there is none, or it never was."""
    if gate.cell is None or gate.tally.spec.per is None:
        return None
    own = connection.one(_OWN, this=gate.number, cell=gate.cell, seen=gate.tally.asked)
    return None if own is None else Tally(spec=gate.tally.spec.of_cell, **_counts(own))


def _read_tally(connection: Connection, row: Any, gate: GateRow) -> Tally:
    """Where a gate stands, by its row just read, and the cell that is asked about: without one nothing is asked."""
    read = replace(gate, tally=stored_tally(row))
    cell = _own_cell(connection, read)
    if cell is None and read.tally.spec.per is not None:
        raise GateBusy
    return replace(read.tally, cell=cell)


def _count_cell(connection: Connection, gate: GateRow, cell: AnswerCounts | None, last: int) -> None:
    if cell is not None:
        connection.run(_COUNT_CELL, this=gate.number, cell=gate.cell, **_counts(cell), last=last)


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
            rows = connection.rows(WITH_LAST)
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
                admit_charge(connection, request.token, amount.epsilon, metered=metered)
                if gate is None:
                    entry = self.ledger.charge(connection, amount, what).number
                else:
                    entry = self._add_gate(connection, gate, what, key_name)
                rest = {"body": request.body, "at": now().isoformat(), "entry": entry, "response": response}
                _once(connection, "requests", **_place(request, path), **rest)
        except _Repeated:
            stored = self.recall(request, path)
            if stored is None:
                raise self.ledger.database.trouble("holds a request that cannot be read; examine it by hand") from None
            return stored
        return None

    def _add_gate(self, connection: Connection, gate: GateRow, what: str, key_name: str | None) -> int:
        """Charge a gate and write its rows; the number of its entry."""
        if connection.value("SELECT key_name FROM ledger") not in (None, key_name):
            raise self.ledger.database.trouble("has another key now; restart the server with it")
        spec, label = gate.tally.spec, gate.label
        durable = {"title": f"served {gate.id}", "terms": spec.terms(), "refund": gate.refund, "sealed": gate.sealed}
        opening = {"epsilon": spec.epsilon, "rho": spec.opening.rho}
        entry = self.ledger.open_gate(connection, what=what, **opening, **durable).entry  # type: ignore[arg-type]
        number = entry.number
        if spec.price is not None:
            held = self.ledger.hold(connection, spec.each, entry).number
            connection.add("meters", gate=number, paid=1, held=held)
            refund = "UPDATE gates SET refund = :refund WHERE entry = :this"
            connection.run(refund, this=number, refund=int(gate.refund))
        named = {"name": label.name, "description": label.description, "opened_by": label.token}
        row = {"gate": number, "id": gate.id, "opened_at": gate.opened_at, "fingerprint": gate.fingerprint}
        connection.add("served_gates", **row, **named)
        return number

    def finish(self, request: KeyedRequest, path: str, response: str, gave: Mapping[str, Any]) -> None:
        """Store what is answered, before it is answered, and as what its entry gave."""
        with self.ledger.database.writing() as connection:
            place = _place(request, path)
            connection.run(f"UPDATE requests SET response = :response {_REQUEST}", **place, response=response)
            entry = connection.value(f"SELECT entry FROM requests {_REQUEST}", **place)
            add_part(connection, entry, gave)

    def gate(self, id: str, *, visible: bool = False, cell: str | None = None) -> GateRow:
        """A gate: as it is; or as it may be seen, without an ask whose answer has not left yet."""
        with self.ledger.database.reading() as connection:
            row = connection.one(f"{WITH_LAST} WHERE id = :id", id=id)
            if row is None:
                raise UnknownGate
            gate = replace(stored(row, hidden=visible and self.departures.hides(row)), cell=cell)
            return _with_cells(connection, gate)

    def cell(self, gate: GateRow, seal: Callable[[], bytes]) -> bytes:
        """The sealed noise of the cell that is asked about; of one that never was, ``seal`` draws it, and it is kept.

        Called with the turn at the gate. Whether a cell is new follows from the questions before. One whose first
        question was refused, as by a quota, makes room for the next; and of one gate there are ``MOST_CELLS``.
        """
        this = {"this": gate.number, "cell": gate.cell}
        with self.ledger.database.reading() as connection:
            row = connection.one(_SEALED, **this)
        if row is None:
            self.ledger.database.need_room()
            new = {"gate": gate.number, "cell": gate.cell, "sealed": seal()}
            with self.ledger.database.writing() as connection:
                stored_tally(connection.one(_READ_FOR_OUTCOME, this=gate.number)).require_open()
                if connection.one(_SEALED, **this) is None:
                    connection.run(_NEVER_ASKED, this=gate.number)
                    count = connection.value("SELECT count(*) FROM cells WHERE gate = :this", this=gate.number)
                    if count >= MOST_CELLS:
                        rule = f"must be one of the {MOST_CELLS:,} that this gate was asked about, and keeps at most"
                        raise ParameterError("cell", rule, next_step="open another gate, which spends a new budget")
                    connection.add("cells", **new, asked=0, above=0, below=0, last=0)
                row = connection.one(_SEALED, **this)
        return bytes(row.sealed)

    def gates(self, *, closed: bool | None = None, after: str | None = None, limit: int | None = None) -> list[GateRow]:
        """Gates as they may be seen, newest first: those opened before the gate ``after``, or only the closed or open.

        Whether a gate is through follows from its counters, and is never written: those that are closed by their rows
        alone, or gave back, are left out by the database.
        """
        wanted = "WHERE 0 = 0" if after is None else f"WHERE gates.entry < {self.gate(after).number}"
        if closed is False:
            wanted += f" AND {_MAYBE_OPEN} AND of IS NULL"
        with self.ledger.database.reading() as connection:
            most = "" if limit is None or closed is not None else f"LIMIT {limit}"
            rows = connection.rows(f"{WITH_LAST} {wanted} ORDER BY gates.entry DESC {most}")
            records = (stored(row, hidden=self.departures.hides(row)) for row in rows)
            page = list(islice((gate for gate in records if closed in (None, bool(gate.tally.closed))), limit))
            return [_with_cells(connection, gate) for gate in page]

    def gate_entries(self) -> dict[int, str]:
        """The name of the gate that each entry opened."""
        with self.ledger.database.reading() as connection:
            return {row.gate: row.id for row in connection.rows("SELECT gate, id FROM served_gates")}

    def open_gates(self, *, unlike: str = "") -> int:
        """How many gates are open, as far as it may be seen, that were opened on other data than ``unlike``.

        A gate at which somebody is at work counts as before that ask, at every server: what comes of it has not left.
        """
        with self.ledger.database.reading() as connection:
            rows = connection.rows(f"{WITH_LAST} WHERE {_MAYBE_OPEN} AND fingerprint <> :unlike", unlike=unlike)
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
        with self.ledger.database.reading() as connection:
            return _same(connection, gate, request)

    def pay_ahead(self, gate: GateRow) -> None:
        """Pay for the next ABOVE of a gate without a cutoff, where nothing is held for it; else close the gate.

        Called with the turn at the gate, so that no ask is under way: what has no outcome now is lost.
        """
        if gate.tally.spec.cutoff is not None:
            return
        with self.ledger.database.reading() as connection:
            if not stored_tally(connection.one(_READ_FOR_OUTCOME, this=gate.number)).unpaid:
                return
        self.ledger.database.need_room()
        with self.ledger.database.writing() as connection:
            row = connection.one(_READ_FOR_OUTCOME, this=gate.number)
            tally = stored_tally(row)
            tally.require_open()
            if not (unpaid := tally.unpaid):
                return
            entry, held = self.ledger.spending(connection, row.entry), self.ledger.spending(connection, row.held)
            _, another = self.ledger.use_held(connection, held, each=tally.spec.each, count=unpaid, of=entry)
            if another is None:
                self._close(connection, "gates.entry = :this", CANNOT_PAY, this=gate.number)
            else:
                paid = {"paid": row.paid + unpaid, "held": another.number}
                connection.run(
                    "UPDATE meters SET paid = :paid, held = :held WHERE gate = :this", this=row.entry, **paid
                )
        if another is None:
            raise GateClosed(f"this gate is closed: {CANNOT_PAY}; raise the budget, and open another")

    def intend(
        self, gate: GateRow, request: KeyedRequest, condition: str, *, arrive: Callable[[], float]
    ) -> int | Asked:
        """Reserve one ABOVE: the number of the ask. A request that came before returns the ask that it became.

        ``arrive`` is called when the wait for other writers is over, and says at which moment the answer leaves; it may
        run in the thread of another ask, and in its transaction (``ledger.database.GroupCommit``).
        """

        def intent(connection: Connection) -> tuple[int, float] | Asked:
            if (before := _same(connection, gate, request)) is not None:
                return before
            row = connection.one(_READ_FOR, this=gate.number, token=request.token)
            tally = _read_tally(connection, row, gate).intend()
            if row.most_above is not None:
                admit_ask(connection, request.token, row.most_above, self.departures)
            connection.run("UPDATE gates SET asked = :count WHERE entry = :this", this=gate.number, count=tally.asked)
            _count_cell(connection, gate, tally.cell, tally.asked)
            lasts = max((leaves := arrive()) - time.monotonic(), 0.0)
            ask = {"gate": gate.number, "number": tally.asked, "condition": condition, "lasts": lasts}
            sender = {"token": request.token, "key": request.key, "body": request.body}
            _once(connection, "asks", **ask, **sender, intended_at=now().isoformat())
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
        text = None if estimate is None else str(estimate)

        def outcome(connection: Connection) -> Tally:
            row = connection.one(_READ_FOR_OUTCOME, this=gate.number)
            if row.gave_back is not None or late():
                raise SparsegateError("an ask that was taken for lost stays lost")
            tally = _read_tally(connection, row, gate).settle(above=above)
            connection.run(_SETTLE_ASK, this=gate.number, number=number, above=int(above), estimate=text)
            connection.run(_COUNT_OUTCOME, this=gate.number, above=tally.above, below=tally.below)
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
            row = connection.one(_READ_FOR_OUTCOME, **this)
            outcome = connection.value(f"SELECT above FROM asks {_ASK}", **this, number=number)
            connection.run(f"UPDATE asks SET above = NULL, estimate = NULL {_ASK}", **this, number=number)
            tally = _read_tally(connection, row, gate).void(None if outcome is None else bool(outcome))
            connection.run(_COUNT_OUTCOME, **this, above=tally.above, below=tally.below)
            _count_cell(connection, gate, tally.cell, number)
            if because is not None:
                self._close(connection, "gates.entry = :this", because, number, **this)

    def close(self, because: str, *, id: str | None = None, on: str | None = None, unlike: str | None = None) -> None:
        """Close one gate; or every gate that was opened ``on`` some data, or on other data than ``unlike``."""
        with self.ledger.database.writing() as connection:
            if id is None:
                which = "fingerprint = :data" if on is not None else "fingerprint <> :data"
                self._close(connection, which, because, data=unlike if on is None else on)
                return
            if connection.one("SELECT gate FROM served_gates WHERE id = :id", id=id) is None:
                raise UnknownGate
            self._close(connection, "id = :id", because, id=id)

    def _close(
        self, connection: Connection, which: str, because: str, ask: int | None = None, **values: int | str | None
    ) -> None:
        """The first reason stays, unless nobody may have seen it yet."""
        for row in connection.rows(f"{WITH_LAST} WHERE {which} AND {_MAYBE_OPEN}", **values):
            if row.closed_because is None or (row.closed_with == row.asked and self.departures.hides(row)):
                connection.run(
                    "UPDATE gates SET closed_because = :why WHERE entry = :this", this=row.entry, why=because
                )
                connection.run("UPDATE served_gates SET closed_with = :ask WHERE gate = :this", this=row.entry, ask=ask)
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
        due = []
        for row in connection.rows(_CLOSABLE) if id is None else connection.rows(f"{_CLOSABLE} AND id = :id", id=id):
            gate = stored(row)
            if gate.tally.closed and not self.departures.hides(row):
                tally = _with_cells(connection, gate).tally
                due += [(row.entry, left, row.held)] if (left := unused(tally)) else []
        return due


_REQUEST: Final = "WHERE token = :token AND path = :path AND key = :key"


def recalled(connection: Connection, request: KeyedRequest, path: str) -> str | None:
    """What was answered to this request before; None: it is new. One that was charged and has no answer is lost."""
    before = connection.one(f"SELECT body, response FROM requests {_REQUEST}", **_place(request, path))
    if before is None:
        return None
    if before.body != request.body:
        raise KeyReused
    if before.response is None:
        raise RequestLost
    return str(before.response)


def _place(request: KeyedRequest, path: str) -> dict[str, Any]:
    return {"token": request.token, "path": path, "key": request.key}


def _once(connection: Connection, table: str, **row: Any) -> None:
    if not connection.add_once(table, **row):
        raise _Repeated


def _same(connection: Connection, gate: GateRow, request: KeyedRequest) -> Asked | None:
    sql = "SELECT * FROM asks WHERE gate = :this AND token = :token AND key = :key"
    before = connection.one(sql, this=gate.number, token=request.token, key=request.key)
    if before is not None and before.body != request.body:
        raise KeyReused
    return None if before is None else _asked(before)


PAGE: Final = 1000
"""The most on one page."""

_BETWEEN: Final = """SELECT asks.*, tokens.name AS asker FROM asks LEFT JOIN tokens ON tokens.number = token
    WHERE gate = :this AND asks.number > :after AND asks.number < :before"""


def page_of_answers(
    store: GateStore, id: str, *, after: int = 0, before: int | None = None, limit: int = PAGE
) -> list[Asked]:
    """Asks of a gate that may be seen, oldest first: the first ones after a number, or the last ones before one."""
    gate = store.gate(id, visible=True)
    end = gate.tally.asked + 1
    values = {"this": gate.number, "after": after, "before": min(before or end, end), "most": limit}
    with store.ledger.database.reading() as connection:
        order = "asks.number" if before is None else "asks.number DESC"
        page = [_asked(row) for row in connection.rows(f"{_BETWEEN} ORDER BY {order} LIMIT :most", **values)]
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


# The time is to the second: within one second the order is that of the gates.
_NEWEST_FIRST: Final = """SELECT asks.*, id, served_gates.name, asked, tokens.name AS asker
    FROM asks JOIN gates ON entry = asks.gate JOIN served_gates ON served_gates.gate = asks.gate
    LEFT JOIN tokens ON tokens.number = token
    WHERE {} ORDER BY intended_at DESC, asks.gate DESC, asks.number DESC LIMIT :most"""


def activity(
    store: GateStore, *, after: str | None = None, limit: int = PAGE, gate: str | None = None, by: str | None = None
) -> list[Activity]:
    """Who asked what and has an answer that left, over all gates, newest first: older than the cursor ``after``.

    Fewer than ``limit`` are the last ones.
    """
    wanted = ["0 = 0"] + ["id = :id"] * (gate is not None) + ["tokens.name = :name"] * (by is not None)
    activities: list[Activity] = []
    more = limit
    with store.ledger.database.reading() as connection:
        while more:
            values: dict[str, Any] = {"most": more, "id": gate, "name": by}
            older = wanted
            if after is not None:
                older = [*wanted, "(intended_at, asks.gate, asks.number) < (:at, :gate, :number)"]
                values |= _place_of(after)
            rows = connection.rows(_NEWEST_FIRST.format(" AND ".join(older)), **values)
            for row in rows:
                if row.number < row.asked or not store.departures.left(row.gate, row.number, row.lasts):
                    activities.append(Activity(gate=row.id, gate_name=row.name, cursor=_cursor(row), **_public(row)))
            more = limit - len(activities) if len(rows) == more else 0
            after = _cursor(rows[-1]) if rows else None
    return activities


def _cursor(row: Any) -> str:
    return f"{row.intended_at}_{row.gate}_{row.number}"


def _place_of(cursor: str) -> dict[str, Any]:
    at, *numbers = cursor.split("_")
    if len(numbers) == 2 and all(number.isascii() and number.isdigit() and len(number) < 10 for number in numbers):
        return {"at": at, "gate": int(numbers[0]), "number": int(numbers[1])}
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
    old = "gate = :gate AND asks.number < :newest AND asks.above = 0 AND intended_at <= :until"
    wanted = f"""SELECT asks.number, intended_at, condition, name FROM asks
        LEFT JOIN tokens ON tokens.number = token WHERE {old} ORDER BY asks.number LIMIT :most"""
    place = {"gate": gate.number, "newest": gate.tally.asked, "until": until}
    with store.ledger.database.writing() as connection:
        closed = store.gate(gate.id, visible=True).tally.closed
        rows = connection.rows(wanted, **place, most=SLICE) if closed else []
        if rows:
            named = ((gate.id, gate.label.name, row.number, row.intended_at, row.name, row.condition) for row in rows)
            keep([dict(zip(COLUMNS, each, strict=True)) for each in named])
            connection.run(f"DELETE FROM asks WHERE {old} AND number <= :last", **place, last=rows[-1].number)
    return len(rows)
