"""The keeper of the gates: opens them, asks them, closes them; every step in the order that makes it private.

An ask commits an intent, which reserves one ABOVE, before data is touched or noise is used (1); it counts, and draws
(2); it commits the outcome (3), and answers at arrival + D (4). Whatever fails after step 1 gives one constant answer,
``OutcomeLost``, at the same moment, and the intent counts as an ABOVE for ever (``deadline``). "Arrival" is when the
intent has the ledger's write lock. The turn is held until the answer has left (``departures``).

                                                                                          if it dies here: ledger; retry
    web.admission, web.routes.ask  token, price of the condition, line [event loop (a)]   nothing; it is new
    Keeper.ask                     repeated key, closed gate, changed data [pool thread]  nothing; it is new
    deadline.Asking.run            waits for all that follows, until arrival + D
    Keeper._take_turn, Places      turn across processes, place [thread of its own (b)]   nothing; it is new
    Keeper._resumed                the live gate; of a new cell the noise is kept         the noise; it is new
    GateStore.pay_ahead            without a cutoff the next ABOVE is paid for            the charge; it is new
    GateStore.intend               1, in one group commit with other asks                 before nothing, then lost (c)
    Keeper._decided                2: data.dataset counts, gates.gate draws               lost (c)
    GateStore.settle               3                                                      before lost (c), then stored
    Asking.deliver                 the answer, or ``lost``                                stored: it is given again
    GateStore.void                 what failed or is late is taken back                   before (d), then lost (c)
    Asking.leave                   the turn is given back after arrival + D               as it was: stored, or lost (c)

(a) Tokens that are not remembered are looked up, and long conditions read, in threads. (b) Without a D it is the pool
thread. (c) No outcome: an ABOVE of the cutoff for ever, in cost the dearer one (``service.gates``); a retry gets 503
outcome-lost. (d) If D passes during commit 3 the client is told that it is lost; without ``void`` the outcome stays,
counts as what it was, and a retry gets it. What failed is lost (c), but without ``void`` its gate stays open.
After a signal what is under way is answered, for D and half a minute (``web.server``); then it dies as above.
If the client hangs up the question is asked all the same, and its answer stored.

A gate is charged in full in the transaction that stores it, a release before it draws, and what a closed gate gives
back is what its answers did not cost. So by the theorem of ``ledger.account`` all that the keeper ever says is
(epsilon, delta)-DP for the budget.
"""

from __future__ import annotations

import json
import logging
import math
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Final, NamedTuple

from sparsegate.budget import LONGEST_LINE, Number, PaidByKeeper, exact_epsilon
from sparsegate.conditions import Condition, Kind, read_condition
from sparsegate.conditions.tree import Apply
from sparsegate.errors import ConditionError, GateClosed, OutcomeLost, ParameterError, TableError
from sparsegate.gates.gate import Answer, resume, threshold_noise
from sparsegate.gates.sparse_vector import SparseVector
from sparsegate.ledger.account import Statement, exact_amount, exact_text
from sparsegate.ledger.database import now
from sparsegate.ledger.ledger import Ledger
from sparsegate.noise.own_settings import own_settings
from sparsegate.service.data.dataset import ServedTable
from sparsegate.service.deadline import Asking, DelayPlan, Pressure, lost, wait_until
from sparsegate.service.gate_store import PAGE, Activity, GateStore, activity, page_of_answers
from sparsegate.service.gates import (
    ADDS,
    MOST_ASKS,
    Answered,
    Asked,
    GateLabel,
    GateRow,
    GateSpec,
    KeyedRequest,
    Tally,
    accuracy,
    charged,
    check_work,
    gate_view,
    law,
    noise_context,
    parameters,
    unused,
)
from sparsegate.service.keys import SealingKey
from sparsegate.service.locks import turns_of
from sparsegate.service.tokens import Standing, standing
from sparsegate.tables.columns import identifier

TOP: Final = "/v1/top"


class _Trouble(NamedTuple):
    """Why an ask has no outcome. What may depend on the data closes the gate for good."""

    why: str
    closes: bool = False


_LATE: Final = _Trouble("it took longer than the delay")
_UNWRITTEN: Final = _Trouble("its outcome could not be written")


class _Given(Exception):
    """Another sender of the same request was first: its argument is this one's response."""


@dataclass(frozen=True)
class _OneRequest:
    """The ledger as a release sees it: the charge and the note of the request are one transaction."""

    store: GateStore
    request: KeyedRequest

    @property
    def conversion_delta(self) -> Fraction | None:
        return self.store.ledger.conversion_delta

    def spend(self, *, epsilon: Number, delta: Number = 0, what: str, rho: Number | None = None) -> None:
        if (stored := self.store.begin(self.request, TOP, exact_amount(epsilon, delta, rho), what)) is not None:
            raise _Given(stored)

    def keep(self, entry: object, gave: object) -> None:
        """What is answered is stored with the request, by ``finish``."""


GATES: Final = "/v1/gates"
CHANGED: Final = "the data has changed since it was opened"
ELSEWHERE: Final = "this gate was opened on other data than this server holds"
NEEDS_CUTOFF: Final = "pass cutoff and epsilon, or serve with a ledger that was made with a delta"
OTHER_NOISE: Final = "this gate was opened by another version, whose noise was other; close it, and open another"
OTHER_CELLS: Final = "the data is served with other cells (--cells) than this gate was opened on"
FAILED: Final = "a question could not be answered"
LONGEST_CELL: Final = 200

LOG = logging.getLogger("sparsegate.service")


class Places:
    """Places to be counted at, first come, first served; of each gate at most one ask waits: it has the turn."""

    def __init__(self, number: int) -> None:
        self._free, self._line = number, deque[threading.Event]()
        self._guard = threading.Lock()

    @property
    def waiting(self) -> int:
        return len(self._line)

    @contextmanager
    def at(self) -> Iterator[None]:
        called = threading.Event()
        with self._guard:
            if self._free:  # then nobody waits
                self._free -= 1
                called.set()
            else:
                self._line.append(called)
        called.wait()
        try:
            yield
        finally:
            with self._guard:
                if self._line:
                    self._line.popleft().set()  # the place goes to whoever waits longest, and to no newcomer
                else:
                    self._free += 1


class AskedConditions:
    """Conditions that were asked, as they were read: by their text, the last ones, and no more than a few megabytes.

    **What a hit tells.** That somebody asked this text, to whoever has a stopwatch: it is read outside D. So a text is
    put in when its answer has left, and from that moment every token finds it in ``GET /v1/gates/{id}/answers``. What
    was refused is read again each time. What comes out follows from the text and from public numbers alone.
    """

    def __init__(self, most: int = 4096, characters: int = 2**21) -> None:
        self._most, self._room = most, characters
        self._kept: dict[str, tuple[int, Condition]] = {}
        self._guard = threading.Lock()

    def get(self, text: str) -> Condition | None:
        return self._kept.get(text, (0, None))[1]

    def put(self, condition: Condition) -> None:
        """The newest is the last to go; a condition counts with its text and with all that is written of it as SQL."""
        size = len(condition.text) + sum(len(leaf.truth()) for leaf in condition.leaves)
        with self._guard:
            self._forget(condition.text)
            self._room -= size
            self._kept[condition.text] = (size, condition)
            while len(self._kept) > self._most or self._room < 0:
                self._forget(next(iter(self._kept)))

    def _forget(self, text: str) -> None:
        self._room += self._kept.pop(text, (0, None))[0]


class Keeper:
    """Gates over one dataset, charged to one ledger. Thread-safe; several keepers may share a ledger.

    See ``DelayPlan`` for ``pace``. Gates that are opened with ``refund`` give back what they did not use when they
    close; they admit ``most_asks``. A gate belongs to the data that it was opened on: where some are open on other
    data, a keeper is refused unless ``close_gates`` says to close them.
    """

    def __init__(
        self,
        ledger: Ledger,
        dataset: ServedTable,
        key: SealingKey,
        *,
        pace: DelayPlan | None = None,
        refund: bool = True,
        close_gates: bool = False,
        most_asks: int = MOST_ASKS,
    ) -> None:
        self.ledger, self.dataset, self.pace = ledger, dataset, pace or DelayPlan()
        self._refund, self._most_asks = refund, most_asks
        self._store, self._key = GateStore(ledger), key
        # The budget belongs to the people and goes on. First of all: a start that is refused leaves no trace.
        self._store.close_open_gates(CHANGED, agreed=close_gates, unlike=dataset.fingerprint)
        self._turns = turns_of(ledger.database, patience=self.pace.patience)
        ledger.database.line = self._turns.writing
        self._places, self._asked = Places(self.pace.places), AskedConditions()
        self.pressure = Pressure(self.pace.delay)
        self._live: dict[str, SparseVector] = {}
        self._cells: dict[str, bytes | None] = {}  # the sealed noise of the cell whose gate is live
        self._guard = threading.Lock()
        self._store.resume(self._turns)
        self._store.give_back()

    def open_gate(
        self,
        request: KeyedRequest,
        *,
        threshold: int,
        cutoff: int | None = None,
        epsilon: object = None,
        queries: int | None = None,
        noise: str = "auto",
        closes: str = "above",
        within: object = None,
        expect: int | None = None,
        per: str | None = None,
        **label: str,
    ) -> dict[str, Any]:
        """Make a gate and charge its whole epsilon; its parameters are those of ``SparseVector`` and ``GateLabel``.

        With ``per``, a column of cells, it is one for each of its values. Without a cutoff its opening is charged, and
        its first ABOVE. Its noise meets no data before that is committed, in the transaction that stores the gate.
        """
        if isinstance(threshold, bool) or not isinstance(threshold, int):
            raise ParameterError("threshold", "must be a whole number of people", threshold, "pass e.g. threshold=1000")
        terms: dict[str, Any] = {"threshold": threshold, "cutoff": cutoff, "queries": queries, "expect": expect}
        terms |= {"noise": noise, "closes": closes, "per": per}
        exact: dict[str, Any] = {}
        if epsilon is not None or cutoff is not None:
            exact["epsilon"] = exact_amount(epsilon, 0).epsilon  # type: ignore[arg-type]
        if within is not None:
            exact["within"] = exact_epsilon(within, "within")
        spec = GateSpec.of(**terms | exact | self.cells_of(per, cutoff), most_asks=self._most_asks)
        check_work(spec)
        # What cannot be made must not be charged; and a gate keeps its law, whatever a later version would choose.
        spec = spec.priced()
        if cutoff is None and self.ledger.rule != "zcdp":
            rule = f"must not be given without a cutoff: {ADDS}"
            raise ParameterError("within", rule, exact_text(exact["within"]), NEEDS_CUTOFF)
        named = GateLabel(**label, token=request.token, opened_by=request.by)
        words = {"name": named.name, "description": named.description}
        words |= {name: exact_text(value) for name, value in exact.items()}
        request = request.bound_to(terms | words)
        # First of all: whatever has changed since, an answer that was given is given again.
        stored = self._store.recall(request, GATES)
        if stored is None:
            self._check_data()
            id, live = f"g-{secrets.token_hex(8)}", SparseVector(**_unpaid(spec))
            # The noise of a cell is drawn when it is first asked, and sealed with a key that is sealed here.
            secret = threshold_noise(live) if per is None else secrets.token_bytes(32)
            new = GateRow(
                number=0,
                id=id,
                opened_at=now().isoformat(),
                fingerprint=self.dataset.fingerprint,
                sealed=self._key.seal(secret, self._context(id, spec)),
                tally=Tally(spec=spec, paid=int(cutoff is None)),
                refund=self._refund,
                label=named,
            )
            ends = "each ABOVE paid for" if cutoff is None else f"cutoff {cutoff}"
            cells = "" if per is None else f"s for each {per!r}, a person in {spec.cells_per_user} at most"
            what = f"gate{cells}: threshold {threshold}, {ends}, unit {self.dataset.unit}"[:LONGEST_LINE]
            # If the charge is refused, or another sender was first, the noise is thrown away: no data has met it.
            mine, amount = json.dumps(gate_view(new)), spec.opening
            stored = self._store.begin(request, GATES, amount, what, gate=new, response=mine, key_name=self._key.name)
            if stored is None:
                stored = mine
                if per is None:
                    self._live[id] = live
        return dict(json.loads(stored))

    def cells_of(self, per: str | None, cutoff: int | None) -> dict[str, Any]:
        """What a gate for each value of a column has beside its numbers."""
        if per is None:
            return {}
        if cutoff is None:
            step = "pass cutoff and epsilon, and no within"
            raise ParameterError("cutoff", "must be given for gates of cells, that of each", next_step=step)
        if per not in self.dataset.cells:
            step = "see which /v1/schema says, or serve with for instance --cells city=3"
            raise ParameterError("per", "must be a column that is served with cells", per, step)
        return {"per": per, "cells_per_user": self.dataset.cells[per]}

    def ask(
        self,
        request: KeyedRequest,
        gate: str,
        where: str,
        *,
        cell: str | int | None = None,
        as_read: Callable[[], Condition] | None = None,
    ) -> Answered:
        """Is the number of people who match above the gate's threshold? Blocks until the answer may leave.

        With a gate for each cell it is asked of the people in this ``cell``. ``as_read`` gives what ``read`` made of
        ``where`` before, or raises what that raised; it is called where there is no answer yet.
        """
        request = request.bound_to({"gate": gate, "where": where} | ({} if cell is None else {"cell": cell}))
        row = self._store.gate(gate, visible=True, cell=None if cell is None else json.dumps(cell))
        # First of all: whatever has changed since, an answer that was given is given again.
        if (known := self._store.same_ask(row, request)) is not None:
            return self._again(row, request, known)
        row.tally.require_open()
        whole = self.read(where) if as_read is None else as_read()
        condition = self._in_cell(row, whole, cell)
        self._check_data()
        if row.fingerprint != self.dataset.fingerprint:
            raise GateClosed(f"{ELSEWHERE}; ask the server that holds it, or open another, which spends a new budget")
        asking: Asking[Answered] = Asking(self.pace.delay)
        answer = asking.run(lambda: self._take_turn(asking, row, request, condition))
        self._asked.put(whole)
        return answer

    def read(self, where: str) -> Condition:
        """Refuse what D was not measured for: from public numbers, and before anything is spent."""
        return self._asked.get(where) or self._checked(read_condition(where, self.dataset.schema))

    def _in_cell(self, gate: GateRow, condition: Condition, cell: str | int | None) -> Condition:
        """The condition, and that the row is in the cell: put together as trees, so no text gets out of its cell."""
        per = gate.tally.spec.per
        if (per is None) != (cell is None):
            rule = "must be given at a gate for each cell, and at no other"
            step = "ask without a cell" if per is None else f"name a value of {per!r}"
            raise ParameterError("cell", rule, next_step=step)
        if per is None:
            return condition
        if self.dataset.cells.get(per) != gate.tally.spec.cells_per_user:
            raise GateClosed(f"{OTHER_CELLS}; serve it as before, or open another, which spends a new budget")
        column = self.dataset.schema.find(per)
        kind = str if column is not None and column.kind is Kind.TEXT else int
        if type(cell) is not kind or (len(cell) > LONGEST_CELL if isinstance(cell, str) else abs(cell) >= 2**63):
            value = f"a text of at most {LONGEST_CELL} characters" if kind is str else "a whole number of 64 bits"
            raise ParameterError("cell", f"must be {value}, as the values of {per!r} are", next_step="see /v1/schema")
        label = "'" + cell.replace("'", "''") + "'" if isinstance(cell, str) else str(cell)
        inside = read_condition(f"{identifier(per)} = {label}", condition.schema)
        tree = Apply("and", (inside.tree, condition.tree), Kind.BOOLEAN)
        return self._checked(Condition(f"{inside.text} AND ({condition.text})", condition.schema, tree))

    def _checked(self, condition: Condition) -> Condition:
        self.dataset.check(condition)
        bounded = self.pace.capacity < math.inf
        if bounded and self.dataset.seconds(condition) > self.pace.capacity:
            # Without a number: by how much would be what the machine takes, and how large a table is.
            raise ConditionError(
                "must take less work: this could take longer than an answer may",
                condition.text,
                0,
                len(condition.text),
                next_step="ask fewer or shorter comparisons at once, or ask for a longer --delay",
            )
        return condition

    def _take_turn(self, asking: Asking[Answered], gate: GateRow, request: KeyedRequest, condition: Condition) -> None:
        """All of an ask, from its turn to its end; what comes of it is delivered, and the turn held until it leaves."""
        with self._turns.at(gate.number):
            # Those who wait for a place learn how long others take, and that is public: see ``data.constant_work``.
            with self._places.at():
                live = self._resumed(gate)
                self._store.pay_ahead(gate)
                number = self._store.intend(gate, request, condition.text, arrive=asking.arrive)
                if isinstance(number, Asked):
                    known = number
                    asking.deliver(lambda: self._again(gate, request, known))
                    return
                asking.intend(partial(self._void, gate, number, None))
                trouble = self._decided(asking, gate, live, number, condition)
                if trouble is not None:
                    self._void(gate, number, FAILED if trouble.closes else None)
                    asking.deliver(lost)
            asking.leave()
        self.pressure.note(asking.used)
        if trouble is not None:
            # Logged after the answer has left, for the owner alone: when a question fails may depend on the data.
            LOG.warning("gate %s, question %d: %s; it counts as an ABOVE", gate.id, number, trouble.why)

    @own_settings
    def _decided(
        self, asking: Asking[Answered], gate: GateRow, live: SparseVector, number: int, condition: Condition
    ) -> _Trouble | None:
        """Steps 2 and 3; what went wrong, or nothing."""
        try:
            answer = live.ask(self.dataset.count(condition, per=gate.tally.spec.per))
        except Exception as error:
            return _LATE if asking.late else _Trouble(f"it could not be counted ({type(error).__name__})", closes=True)
        if asking.late:
            return _LATE
        try:
            value: Any = answer.estimate
            tally = self._store.settle(gate, number, above=answer.above, estimate=value, late=lambda: asking.late)
        except Exception:
            return _LATE if asking.late else _UNWRITTEN
        return None if asking.deliver(partial(_answer, gate, number, answer, tally)) else _LATE

    def _void(self, gate: GateRow, number: int, because: str | None) -> None:
        """No outcome may be left behind where none was given; what may depend on the data also closes the gate."""
        try:
            self._store.void(gate, number, because)
        except Exception as error:
            # The ledger cannot be written: then no further intent can be, either.
            LOG.warning("gate %s: an outcome could not be taken back (%s)", gate.id, type(error).__name__)

    def _again(self, gate: GateRow, request: KeyedRequest, known: Asked) -> Answered:
        """A request that came before gets what was stored, not before it was to leave; and the gate as it is now."""
        if (left := self._store.departures.left(gate.number, known.number, known.lasts)) > 0:
            wait_until(time.monotonic() + left)
            known = self._store.same_ask(gate, request) or known
        if known.above is None and not known.lasts:  # without a D: it is lost if nobody is at work on it
            with self._turns.at(gate.number):
                known = self._store.same_ask(gate, request) or known
        if known.above is None:
            raise OutcomeLost
        answer = Answer(known.above, known.estimate)
        return _answer(gate, known.number, answer, self._store.gate(gate.id, visible=True, cell=gate.cell).tally)

    def _resumed(self, row: GateRow) -> SparseVector:
        """The live gate of this process; the ledger, and not it, counts what all processes have given.

        One that was cut short is made anew: the ledger counts the ask, which has no outcome, as an ABOVE.
        """
        sealed = None if row.cell is None else self._store.cell(row, partial(self._sealed_cell, row))
        with self._guard:
            live = self._live.get(row.id)
            if live is None or live.closed or self._cells.get(row.id) != sealed:
                spec, now = row.tally.spec, self._store.gate(row.id, cell=row.cell).tally
                secret = self._key.unseal(row.sealed, self._context(row.id, spec))
                if sealed is not None:
                    secret, now = SealingKey(secret).unseal(sealed, str(row.cell)), now.cell or now
                most = now.asked if spec.closes == "rarer" or spec.cutoff is None else spec.cutoff
                counted = {"asked": now.asked, "positives": min(now.positives, most)}
                if spec.price is not None and law(spec).price != spec.price:
                    raise GateClosed(OTHER_NOISE)
                live = resume(SparseVector, secret, **counted, **_unpaid(spec))
                self._live[row.id], self._cells[row.id] = live, sealed
            return live

    def _sealed_cell(self, row: GateRow) -> bytes:
        """New threshold noise for a cell, sealed with the key of its gate. No data has met it."""
        spec = row.tally.spec
        secret = self._key.unseal(row.sealed, self._context(row.id, spec))
        return SealingKey(secret).seal(threshold_noise(SparseVector(**_unpaid(spec))), str(row.cell))

    @property
    def waiting(self) -> int:
        """How many hold a turn and wait for a place to be counted at."""
        return self._places.waiting

    def gate(self, id: str) -> dict[str, Any]:
        """A gate as it may be seen."""
        self._store.give_back(id)
        return gate_view(self._store.gate(id, visible=True))

    def gates(self, **page: Any) -> list[dict[str, Any]]:
        """Gates, newest first: see ``GateStore.gates``."""
        self._store.give_back()
        return [gate_view(row) for row in self._store.gates(**{"limit": PAGE} | page)]

    def open_gates(self) -> int:
        """How many gates can be asked, as far as it may be seen."""
        return len(self._store.gates(closed=False))

    def answers(self, id: str, **page: Any) -> list[Asked]:
        """The answers of a gate that have left, oldest first: see ``page_of_answers``."""
        return page_of_answers(self._store, id, **page)

    def close_gate(self, id: str) -> dict[str, Any]:
        """Close a gate for good, and give back what it did not use, in one transaction."""
        self._store.close("it was closed by hand", id=id)
        return self.gate(id)

    def activity(self, *, after: str | None = None, limit: int = PAGE) -> list[Activity]:
        """Who asked what, over all gates, newest first."""
        return activity(self._store, after=after, limit=limit)

    def standing(self, token: int) -> Standing:
        """What the token of that number has used of its quotas."""
        with self.ledger.database.reading() as connection:
            return standing(connection, token, self._store.departures)

    def budget(self) -> Statement:
        """What was allowed and what was spent."""
        self._store.give_back()
        return self.ledger.statement()

    def gate_entries(self) -> dict[int, str]:
        """The name of the gate that each entry of the ledger opened."""
        return self._store.gate_entries()

    def top(self, request: KeyedRequest, question: Mapping[str, Any]) -> dict[str, Any]:
        """A private top-c of the table (``tables.top_items``). Whatever comes of it leaves at a multiple of D."""
        arrival, request = time.monotonic(), request.bound_to(question)
        try:
            stored = self._store.recall(request, TOP)
            if stored is None:
                self._check_data()
                stored = self._release_top(request, question)
            return dict(json.loads(stored))
        finally:
            if self.pace.delay > 0:
                wait_until(arrival + self.pace.delay * (1 + (time.monotonic() - arrival) // self.pace.delay))

    def _release_top(self, request: KeyedRequest, question: Mapping[str, Any]) -> str:
        """Charge, draw, store; or, where the same request was charged in the meantime, what that one gave."""
        from sparsegate.tables.question import Question
        from sparsegate.tables.top import release

        paid, asked = _OneRequest(self._store, request), Question(**self.dataset.unit_options, **question)
        try:
            gave = release(self.dataset.relation(), asked, ledger=paid).to_dict()
        except _Given as given:
            return str(given.args[0])
        self._store.finish(request, TOP, response := json.dumps(gave), {"release": "top_items", **gave})
        return response

    def close(self) -> None:
        """Forget the live gates, and give back the turns. Gates stay open in the ledger, which is the caller's."""
        with self._guard:
            self._live.clear()
        self._turns.close()

    def _check_data(self) -> None:
        if self.dataset.changed():
            self._store.close(CHANGED, on=self.dataset.fingerprint)
            raise TableError(f"{CHANGED}, so all its gates are closed; nothing was spent; restart on the new data")

    def _context(self, id: str, spec: GateSpec) -> str:
        return noise_context(self.ledger.dataset, self.dataset.unit, id, spec)


def _unpaid(spec: GateSpec) -> dict[str, Any]:
    """The parameters of a live gate: it is the keeper who pays, before it is made and asked."""
    return parameters(spec) | ({} if spec.price is None else {"ledger": PaidByKeeper()})


def _answer(gate: GateRow, number: int, answer: Answer, tally: Tally) -> Answered:
    return Answered(
        gate=gate.id,
        number=number,
        above=answer.above,
        remaining=tally.left,
        closed=bool(tally.closed),
        estimate=answer.estimate,  # type: ignore[arg-type]
        standard_error=None if answer.estimate is None else accuracy(tally.spec).standard_error,
        spent=exact_text(charged(tally) - unused(tally)),
    )
