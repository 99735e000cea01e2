"""The store of gates, on both databases: one charge and one answer for a key, refunds, lists, and what is under way."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.support.pretend_service import HIGH, LOW, Pretend, Shop, broken, copy_gate, swallow, until
from tests.support.threads import at_once

import sparsegate as sg
from sparsegate.errors import BudgetExceeded, GateClosed, LedgerError, OutcomeLost, ParameterError, RequestLost
from sparsegate.gates.preview import gate_preview
from sparsegate.gates.variants import Noise
from sparsegate.ledger.account import EntryKind, exact_text
from sparsegate.ledger.database import Connection
from sparsegate.ledger.gate import rounded_down
from sparsegate.ledger.ledger import Ledger
from sparsegate.service import gate_store, gates
from sparsegate.service import gate_store as compaction
from sparsegate.service.gate_store import COLUMNS, GateStore, activity, compact
from sparsegate.service.gates import GateSpec, Tally, accuracy, cost, law, unused
from sparsegate.service.keeper import Keeper
from sparsegate.service.tokens import Tokens

KEYS, SENDERS = 8, 4
EPSILON = 0.01


@pytest.fixture
def shop(shop_on_both: Shop) -> Shop:
    return shop_on_both


@contextmanager
def no_locks(shop: Shop, keepers: list[Keeper]) -> Iterator[None]:
    """Everybody has every turn."""
    for keeper in keepers:
        keeper._turns.at = lambda gate: nullcontext()  # type: ignore[method-assign]
        keeper.ledger.database.line = nullcontext
    yield


def two_keepers(shop: Shop) -> list[Keeper]:
    """As two servers whose folder of turns was deleted between their starts: each locks a file of its own."""
    first = shop.keeper()
    shutil.rmtree(f"{shop.place}.turns", ignore_errors=True)
    return [first, shop.keeper()]


def stored(keeper: Keeper, sql: str) -> list[Any]:
    with keeper.ledger.database.reading() as connection:
        return [tuple(row) for row in connection.rows(sql)]


def hammer(keepers: list[Keeper], send: Callable[[Keeper, str], Any], keys: int = KEYS) -> dict[str, list[Any]]:
    """Every key from many senders at once, through all keepers; what each was told."""
    told: dict[str, list[Any]] = {f"key {place}": [] for place in range(keys)}
    start = threading.Barrier(SENDERS)

    def work(place: int) -> None:
        for key in told:
            start.wait(30)
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                with suppress(LedgerError):  # a session that was ended under it: the client sends it again
                    told[key].append(send(keepers[place % len(keepers)], key))
                    break

    def work_or_stop(place: int) -> None:
        try:
            work(place)
        except BaseException:
            start.abort()
            raise

    with ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(work_or_stop, range(SENDERS)))
    return told


@pytest.mark.parametrize("attack", [no_locks, lambda shop, keepers: nullcontext()], ids=["no locks", "turns deleted"])
def test_a_key_opens_one_gate_for_one_charge_though_no_lock_holds(shop: Shop, attack: Any) -> None:
    keepers = two_keepers(shop)
    with attack(shop, keepers):
        told = hammer(
            keepers,
            lambda keeper, key: keeper.open_gate(shop.caller(key), threshold=0, cutoff=1, epsilon=EPSILON)["id"],
        )
    assert all(len(ids) == SENDERS and len(set(ids)) == 1 for ids in told.values())
    assert len({ids[0] for ids in told.values()}) == KEYS
    gates = stored(keepers[0], "SELECT id, gate FROM served_gates")
    charges = stored(keepers[0], "SELECT number FROM entries")[1:]
    assert len(gates) == len(charges) == len({entry for _, entry in gates}) == KEYS
    assert keepers[0].budget().spent.epsilon * 100 == KEYS


@pytest.mark.parametrize("attack", [no_locks, lambda shop, keepers: nullcontext()], ids=["no locks", "turns deleted"])
def test_a_key_asks_one_question_though_no_lock_holds(shop: Shop, attack: Any) -> None:
    keepers = two_keepers(shop)
    gate = shop.open(keepers[0], cutoff=KEYS + 1)
    with attack(shop, keepers):
        told = hammer(keepers, lambda keeper, key: answer(keeper, shop, gate, key))
    assert [len(set(answers) - {"lost"}) for answers in told.values()] == [1] * KEYS
    asked = stored(keepers[0], "SELECT key, above FROM asks")
    assert len(asked) == len({key for key, _ in asked}) == KEYS
    view = keepers[0].gate(gate)
    assert (view["asked"], view["positives"], view["lost"]) == (KEYS, KEYS // 2, 0)


def answer(keeper: Keeper, shop: Shop, gate: str, key: str) -> bool | str:
    try:
        return keeper.ask(shop.caller(key), gate, HIGH if int(key.split()[1]) % 2 else LOW).above
    except OutcomeLost:
        return "lost"  # seen by a retry that came before the outcome was written


def test_no_more_positives_than_the_cutoff_are_given_though_no_lock_holds(shop: Shop) -> None:
    keepers = two_keepers(shop)
    gate = shop.open(keepers[0], cutoff=3)

    def ask(keeper: Keeper, key: str) -> bool:
        try:
            return keeper.ask(shop.caller(f"{key} {threading.get_ident()}"), gate, HIGH).above
        except (GateClosed, OutcomeLost):
            return False

    with no_locks(shop, keepers):
        told = hammer(keepers, ask)
    assert sum(sum(answers) for answers in told.values()) <= 3
    assert keepers[0].gate(gate)["positives"] == 3


def test_a_top_is_charged_and_drawn_once_for_a_key_though_no_lock_holds(shop: Shop) -> None:
    keepers = two_keepers(shop)
    question = {"item": "page", "count": 1, "epsilon": EPSILON, "domain": ["a", "b"], "answers_epsilon": EPSILON}
    with no_locks(shop, keepers):
        told = hammer(keepers, lambda keeper, key: top(keeper, shop, key, question), keys=4)
    for releases in told.values():
        given = [release for release in releases if release != "lost"]
        assert given
        assert all(release == given[0] for release in given), "one draw for each charge"
    assert len(stored(keepers[0], "SELECT number FROM entries")) - 1 == 4
    assert stored(keepers[0], "SELECT count(response) FROM requests") == [(4,)]


def top(keeper: Keeper, shop: Shop, key: str, question: dict[str, Any]) -> Any:
    try:
        return keeper.top(shop.caller(key), question)
    except RequestLost:
        return "lost"  # seen by a retry that came before the result was written


def test_where_a_look_misses_an_earlier_request_the_constraint_decides(
    shop: Shop, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = keeper.open_gate(shop.caller("k"), threshold=0, cutoff=1, epsilon=1)
    answer = keeper.ask(shop.caller("k"), first["id"], LOW)
    for name in ("recalled", "_same"):
        looks, look = iter([None, None]), getattr(gate_store, name)  # one before, and one inside the transaction
        monkeypatch.setattr(gate_store, name, lambda *where, looks=looks, look=look: next(looks, look(*where)))
    assert keeper.open_gate(shop.caller("k"), threshold=0, cutoff=1, epsilon=1) == first
    assert keeper.ask(shop.caller("k"), first["id"], LOW) == answer
    assert (keeper.budget().spent.epsilon, [view["asked"] for view in keeper.gates()]) == (1, [1])


ONE = Fraction(1)


def counted(below: int = 0, above: int = 0, lost: int = 0, cutoff: int = 3) -> Fraction:
    """What a gate of epsilon 1 counts for on the ledger, by the bounds of the library's own gate."""
    like = sg.SparseVector(threshold=0, cutoff=cutoff, epsilon=1, sensitivity=1, monotonic=True)
    ways = [like.cost(below=below + i, above=above + lost - i) for i in range(lost + 1)]
    return ONE - rounded_down(ONE - max(ways))


def tally_of(keeper: Keeper, gate: str) -> Tally:
    """With what nobody may see yet."""
    return GateStore(keeper.ledger).gate(gate).tally


def refunds(keeper: Keeper) -> list[Fraction]:
    return [entry.amount.epsilon for entry in keeper.ledger.entries() if entry.kind is EntryKind.REFUND]


def test_of_many_that_close_a_gate_at_once_one_gives_back(shop: Shop) -> None:
    keepers = [shop.keeper() for _ in range(3)]
    gate = shop.open(keepers[0])
    keepers[0].ask(shop.caller(), gate, LOW)
    views = at_once(lambda keeper: keeper.close_gate(gate), keepers)
    assert {view["given_back"] for view in views} == {views[0]["given_back"]}
    assert refunds(keepers[0]) == [ONE - counted(below=1)] == [Fraction(views[0]["given_back"])]


def test_an_opening_may_use_what_closed_gates_left(shop: Shop) -> None:
    """Without a look in between: the transaction that charges gives back first."""
    keeper = shop.keeper()
    gate = shop.open(keeper, epsilon=10, cutoff=1)
    keeper.ask(shop.caller(), gate, HIGH)
    left = unused(tally_of(keeper, gate))
    assert refunds(keeper) == []
    with pytest.raises(BudgetExceeded):
        shop.open(keeper, epsilon=10)
    assert refunds(keeper) == []
    shop.open(keeper, epsilon=left)
    assert refunds(keeper) == [left]
    assert keeper.budget().remaining.epsilon == 0


@pytest.mark.parametrize("where", [HIGH, LOW])
def test_nothing_goes_back_while_an_answer_is_on_its_way(shop: Shop, where: str) -> None:
    keeper = shop.keeper(delay=0.8)
    gate = shop.open(keeper)
    asking = threading.Thread(target=lambda: swallow(keeper, shop, gate, where))
    asking.start()
    until(lambda: tally_of(keeper, gate).asked == 1 and not tally_of(keeper, gate).unsettled)
    view = keeper.close_gate(gate)
    assert (view["closed"], view["given_back"], view["spent"], refunds(keeper)) == (True, "0", "0", [])
    asking.join()
    view = keeper.gate(gate)
    assert view["asked"] == 1
    assert Fraction(view["spent"]) == counted(below=where == LOW, above=where == HIGH)
    assert refunds(keeper) == [ONE - Fraction(view["spent"])] == [Fraction(view["given_back"])]


def test_a_closing_that_nobody_may_see_yet_gives_nothing_back_yet(shop: Shop) -> None:
    keeper = shop.keeper(Pretend(counted=broken), delay=2.5)
    gate = shop.open(keeper)
    asking = threading.Thread(target=lambda: swallow(keeper, shop, gate, LOW))
    asking.start()
    until(lambda: bool(tally_of(keeper, gate).because))
    assert [[view["id"] for view in keeper.gates(closed=closed)] for closed in (False, True)] == [[gate], []]
    other = shop.open(keeper)
    keeper.close_gate(other)
    assert keeper.budget().spent.epsilon == 1
    asking.join()
    assert keeper.budget().spent.epsilon == counted(lost=1)
    assert keeper.gate(gate)["lost"] == 1
    assert [[view["id"] for view in keeper.gates(closed=closed)] for closed in (False, True)] == [[], [other, gate]]


def test_closing_and_giving_back_are_one_transaction(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = shop.keeper()
    gate = shop.open(keeper)

    def fail(*_: Any) -> None:
        raise LedgerError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "refund", fail)
        with pytest.raises(LedgerError):
            keeper.close_gate(gate)
    assert not keeper.gate(gate)["closed"]
    keeper.ask(shop.caller(), gate, LOW)
    keeper.close_gate(gate)
    assert refunds(keeper) == [ONE - counted(below=1)]


@pytest.mark.parametrize("queries", [None, 2])
def test_a_gate_is_counted_by_the_law_of_its_own_noise(shop: Shop, queries: int | None) -> None:
    keeper = shop.keeper()
    gate = shop.open(keeper, queries=queries, cutoff=3)
    live = keeper._live[gate]._calibration
    assert law(tally_of(keeper, gate).spec) == live
    other = law(replace(tally_of(keeper, gate).spec, noise="laplace"))
    assert other.row.noise is Noise.LAPLACE
    assert (other == live) == (live.row.noise is Noise.LAPLACE) == (queries is not None)


def test_the_old_rule_is_that_of_the_gates_opened_under_it(shop: Shop) -> None:
    old, new = shop.keeper(refund=False), shop.keeper()
    kept, other = shop.open(old), shop.open(new)
    assert new.close_gate(kept)["reserved"] == "1"
    assert old.close_gate(other)["given_back"] == "1"
    assert new.budget().spent.epsilon == 1


@contextmanager
def asking(shop: Shop, *keys: str) -> Iterator[tuple[Keeper, str]]:
    """Without a D: a gate that has one ABOVE left, and a count under way that comes to a BELOW, as those before did."""
    at_work, go_on = threading.Event(), threading.Event()
    data = Pretend()
    keeper = shop.keeper(data)
    opened = shop.open(keeper, cutoff=1)
    for key in keys:
        keeper.ask(shop.caller(key), opened, LOW)

    def count() -> None:
        at_work.set()
        go_on.wait(10)

    data.counted = count

    def ask() -> None:
        with suppress(OutcomeLost):
            keeper.ask(shop.caller("mine"), opened, LOW)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        assert at_work.wait(10)
        yield keeper, opened
    finally:
        go_on.set()
        thread.join()


def covered(keeper: Keeper, gate: str) -> bool:
    """Whether the ledger counts what the gate's answers have cost."""
    return keeper.budget().spent.epsilon >= cost(GateStore(keeper.ledger).gate(gate).tally)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_without_a_d_whoever_looks_at_the_last_ask_gets_nothing_back(shop: Shop, elsewhere: bool) -> None:
    other = shop.keeper()
    with asking(shop) as (keeper, gate):
        looks = other if elsewhere else keeper
        view = looks.gate(gate)
        assert (view["asked"], view["closed"], view["given_back"]) == (0, False, "0")
        looks.gates()
        shop.open(looks)
    assert not keeper.ask(shop.caller("mine"), gate, LOW).above, "the answer is not lost for it"
    for where in [LOW] * 20 + [HIGH]:
        keeper.ask(shop.caller(), gate, where)
    assert covered(keeper, gate)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_without_a_d_a_retry_waits_for_what_is_under_way(shop: Shop, elsewhere: bool) -> None:
    other = shop.keeper()
    with ThreadPoolExecutor() as pool:
        with asking(shop) as (keeper, gate):
            again = pool.submit((other if elsewhere else keeper).ask, shop.caller("mine"), gate, LOW)
            wait([again], timeout=0.2)
            assert not again.done(), "it is not lost, it is under way"
        assert not again.result().above


def test_a_gate_that_gave_back_takes_no_outcome_any_more(shop: Shop) -> None:
    """Whoever knows nothing of turns can be wrong about what is under way: the store decides."""
    with asking(shop) as (keeper, gate):
        GateStore(keeper.ledger).give_back()
        assert keeper.gate(gate)["given_back"] != "0"
    with pytest.raises(OutcomeLost):
        keeper.ask(shop.caller("mine"), gate, LOW)
    with pytest.raises(GateClosed):
        keeper.ask(shop.caller(), gate, HIGH)
    assert covered(keeper, gate)


def test_a_start_on_other_data_sees_nothing_of_what_is_under_way(shop: Shop) -> None:
    """The gate is open while its last ABOVE may still be a BELOW, whatever was written; and closed once it left."""
    data, at_work, go_on = Pretend(), threading.Event(), threading.Event()
    keeper = shop.keeper(data, delay=1.0)
    gate = shop.open(keeper, cutoff=1)
    data.counted = lambda: at_work.set() or (go_on.wait(10) and None)
    thread = threading.Thread(target=lambda: keeper.ask(shop.caller("mine"), gate, HIGH))
    thread.start()
    assert at_work.wait(10)
    assert GateStore(keeper.ledger).open_gates(unlike="second") == 1
    go_on.set()
    until(lambda: tally_of(keeper, gate).above == 1)
    with pytest.raises(LedgerError, match="1 open gate"):
        shop.keeper(Pretend("second"))
    thread.join()
    until(lambda: not keeper._turns.held([2]))
    assert GateStore(keeper.ledger).open_gates(unlike="second") == 0


def test_what_waited_to_be_written_until_d_was_over_stays_lost(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only when it is taken back: until then it would be seen, and for good where the server is killed."""
    held, free = threading.Event(), threading.Event()

    def write() -> None:
        with Ledger(shop.place) as ledger, ledger.database.writing():
            held.set()
            free.wait(10)

    writer = threading.Thread(target=write)
    data = Pretend(counted=lambda: writer.start() or (held.wait(10) and None))
    keeper = shop.keeper(data, delay=0.5)
    gate = shop.open(keeper)
    monkeypatch.setattr(GateStore, "void", lambda *_: None)
    with pytest.raises(OutcomeLost):
        keeper.ask(shop.caller("mine"), gate, HIGH)
    free.set()
    writer.join()
    until(lambda: not keeper._turns.held([2]))
    with pytest.raises(OutcomeLost):
        keeper.ask(shop.caller("mine"), gate, HIGH)


def test_compaction_leaves_the_keys_of_a_gate_that_only_looks_closed(shop: Shop) -> None:
    with asking(shop, "first") as (keeper, gate):
        moved: list[Any] = []
        assert compact(GateStore(keeper.ledger), until="9999", keep=moved.extend) == 0
    keeper.ask(shop.caller("first"), gate, LOW)
    assert len(stored(keeper, "SELECT number FROM asks")) == 2, "a key is never asked anew"


@pytest.mark.parametrize("after", [1, 2, 3])
def test_what_a_token_has_used_is_read_at_one_moment(shop: Shop, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Else an outcome that is written between two looks is counted twice or not at all, before it has left."""
    keeper, other = shop.keeper(), shop.keeper()
    Tokens(keeper.ledger).add("alice", "analyst", most_above=5)
    row = keeper._store.gate(shop.open(keeper))
    number = keeper._store.intend(row, shop.caller(), LOW, arrive=lambda: time.monotonic() + 60)
    rows, looks = Connection.rows, []

    def meanwhile(*args: Any, **values: Any) -> list[Any]:
        found = rows(*args, **values)
        looks.append(args)
        if len(looks) == after:
            other._store.settle(row, int(number), above=False)  # type: ignore[arg-type]
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "rows", meanwhile)
        assert keeper.standing(1).above == 1
    assert keeper.standing(1).above == 1


@pytest.fixture
def asked_gates(shop: Shop, keeper: Keeper) -> list[str]:
    for name in ("olga", "anna"):
        Tokens(keeper.ledger).add(name, "owner")
    return [shop.open(keeper, cutoff=9, noise="exponential") for _ in range(2)]


def test_everybodys_questions_are_listed_newest_first_and_pages_have_each_once(
    shop: Shop, keeper: Keeper, asked_gates: list[str]
) -> None:
    keeper.ask(shop.caller(), asked_gates[0], LOW)
    keeper.ask(shop.caller(token=2), asked_gates[0], HIGH)
    keeper.ask(shop.caller(token=7), asked_gates[1], LOW)
    shown = [(ask.gate, ask.number, ask.by, ask.condition, ask.above) for ask in activity(keeper._store)]
    # The three may come in one second, and then the asked_gates give the order.
    assert shown == [
        (asked_gates[1], 1, None, LOW, False),
        (asked_gates[0], 2, "anna", HIGH, True),
        (asked_gates[0], 1, "olga", LOW, False),
    ]
    assert activity(keeper._store)[1].estimate is not None
    assert [ask.number for ask in activity(keeper._store, gate=asked_gates[1])] == [1]
    assert [ask.condition for ask in activity(keeper._store, by="anna")] == [HIGH]
    assert activity(keeper._store, by="nobody") == []
    for place in range(4):
        keeper.ask(shop.caller(), asked_gates[place % 2], LOW)
    pages, after = [], None
    while page := activity(keeper._store, after=after, limit=2):
        pages += page
        after = page[-1].cursor
    assert pages == activity(keeper._store)
    assert len({(ask.gate, ask.number) for ask in pages}) == 7
    for cursor in ("", "x", "1_2", "a_b_c", "2030_1_9999999999", "2030_1_\u0661"):
        with pytest.raises(ParameterError, match="after must be the cursor"):
            activity(keeper._store, after=cursor)


def test_what_has_left_is_found_behind_a_page_of_what_has_not(shop: Shop) -> None:
    data = Pretend()
    keeper = shop.keeper(data, delay=1.0)
    asked_gates = [shop.open(keeper, cutoff=9) for _ in range(2)]
    keeper.ask(shop.caller(), asked_gates[0], LOW)
    asking = [threading.Thread(target=keeper.ask, args=(shop.caller(), gate, HIGH)) for gate in asked_gates]
    for thread in asking:
        thread.start()
    until(lambda: [keeper._store.gate(gate).tally.asked for gate in asked_gates] == [2, 1])
    assert [(ask.gate, ask.number) for ask in activity(keeper._store, limit=1)] == [(asked_gates[0], 1)]
    for thread in asking:
        thread.join()
    assert len(activity(keeper._store)) == 3
    data.counted = broken
    swallow(keeper, shop, asked_gates[0], LOW)
    assert activity(keeper._store)[0].above is None, "a lost one has no outcome"


LATER, EARLIER = "9999", "0000"
"""Moments, as they are written."""


def kept(keeper: Keeper) -> list[tuple[int, int, int | None]]:
    return stored(keeper, "SELECT gate, number, above FROM asks ORDER BY gate, number")


def moved(keeper: Keeper, until: str = LATER, keep: Callable[[Any], None] | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    count = compact(GateStore(keeper.ledger), until=until, keep=keep or found.extend)
    assert count == len(found)
    return found


@pytest.fixture
def two_gates(shop: Shop, keeper: Keeper) -> tuple[str, str]:
    """Both were asked below, above, below, below; the first is closed."""
    gates = shop.open(keeper, name="the first"), shop.open(keeper)
    for gate in gates:
        for number, where in enumerate((LOW, HIGH, LOW, LOW), start=1):
            keeper.ask(shop.caller(f"{gate} {number}"), gate, where)
    keeper.close_gate(gates[0])
    return gates


def test_below_answers_of_closed_gates_move_out_and_all_else_stays(
    shop: Shop, keeper: Keeper, two_gates: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "SLICE", 1)
    closed, still_open = two_gates
    views, budget = [keeper.gate(gate) for gate in two_gates], keeper.budget()
    assert moved(keeper, EARLIER) == []

    def full(_: Any) -> None:
        raise OSError("the disk is full")

    before = kept(keeper)
    with pytest.raises(OSError, match="full"):
        moved(keeper, keep=full)
    assert kept(keeper) == before, "what is not safe elsewhere stays"
    found = moved(keeper)
    assert [(row["gate"], row["gate_name"], row["number"], row["condition"]) for row in found] == [
        (closed, "the first", 1, LOW),
        (closed, "the first", 3, LOW),
    ]
    assert all(tuple(row) == COLUMNS for row in found)
    assert kept(keeper) == [(2, 2, 1), (2, 4, 0), (3, 1, 0), (3, 2, 1), (3, 3, 0), (3, 4, 0)]
    assert [keeper.gate(gate) for gate in two_gates] == views
    assert keeper.budget() == budget
    assert [answer.number for answer in keeper.answers(closed)] == [2, 4]
    assert moved(keeper) == []
    # A retry is answered as before where its row is there, and never anew.
    assert keeper.ask(shop.caller(f"{closed} 2"), closed, HIGH).above
    assert not keeper.ask(shop.caller(f"{still_open} 1"), still_open, LOW).above
    with pytest.raises(GateClosed):
        keeper.ask(shop.caller(f"{closed} 1"), closed, LOW)
    assert [keeper.gate(gate) for gate in two_gates] == views


def test_lost_answers_and_what_a_token_has_used_stay(shop: Shop, keeper: Keeper) -> None:
    failing = shop.keeper(Pretend(counted=broken))
    Tokens(keeper.ledger).add("anna", "owner")
    gate = shop.open(keeper)
    keeper.ask(shop.caller(), gate, LOW)
    keeper.ask(shop.caller(), gate, HIGH)
    swallow(failing, shop, gate, LOW)
    assert keeper.gate(gate)["closed"]
    used = keeper.standing(1)
    assert [row["number"] for row in moved(keeper)] == [1]
    assert kept(keeper) == [(2, 2, 1), (2, 3, None)]
    assert keeper.standing(1) == used


def test_a_gate_admits_as_many_asks_as_it_was_opened_with(shop: Shop) -> None:
    keeper = shop.keeper(most_asks=3)
    gate = shop.open(keeper)
    for _ in range(3):
        assert not keeper.ask(shop.caller(), gate, LOW).above
    # A server that allows more later does not change the gate.
    with pytest.raises(GateClosed, match="it was asked 3 questions, the most that the service keeps of one gate"):
        shop.keeper().ask(shop.caller(), gate, LOW)
    assert keeper.gate(gate)["given_back"] != "0"
    later = shop.open(shop.keeper())
    assert [keeper._store.gate(each).tally.spec.most_asks for each in (gate, later)] == [3, 1_000_000]


MANY = 1100


@pytest.fixture
def calibrated(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The gates whose noise was worked out anew."""
    real: Callable[..., Any] = gates.gate_calibration
    worked: list[Any] = []

    def counting(**parameters: Any) -> Any:
        worked.append(parameters)
        return real(**parameters)

    monkeypatch.setattr(gates, "gate_calibration", counting)
    return worked


def test_a_list_of_many_gates_with_a_noise_each_is_computed_once(
    tmp_path: Path, calibrated: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path)
    keeper = shop.keeper()
    gate = shop.open(keeper)
    # One stands for all: what is counted here is how often somebody sits down to it.
    seen = gate_preview(law(GateSpec(threshold=0, cutoff=1, epsilon=Fraction(1))))
    monkeypatch.setattr(gates, "gate_preview", lambda *_, **options: calibrated.append(options) or seen)
    each = [{"epsilon": exact_text(Fraction(number, 10**6))} for number in range(2, MANY + 1)]
    copy_gate(keeper.ledger.database, gate, len(each), terms=each)

    def listed() -> int:
        first = keeper.gates()
        return len(first) + len(keeper.gates(after=first[-1]["id"]))

    assert listed() == MANY
    assert len(calibrated) >= 2 * MANY
    calibrated.clear()
    assert listed() == MANY
    assert calibrated == []
    shop.shut()


@pytest.mark.parametrize("options", [{}, {"queries": 50}, {"closes": "rarer"}, {"noise": "laplace"}])
def test_the_accuracy_is_that_of_the_gate_wherever_its_threshold_lies(
    options: dict[str, Any], calibrated: list[Any]
) -> None:
    accuracy(GateSpec(threshold=7, cutoff=3, epsilon=Fraction(2, 3), **options))
    calibrated.clear()
    for threshold in (-5, 0, 1, 10**6, 10**12 + 1):
        spec = GateSpec(threshold=threshold, cutoff=3, epsilon=Fraction(2, 3), most_asks=9, **options)
        told = accuracy(spec)
        assert calibrated == [], "all of them have one noise"
        own = gate_preview(law(spec), threshold=threshold, confidence=gates.CONFIDENCE)
        assert (told.margin, told.margin_all, told.standard_error) == (own.margin, own.margin_all, own.standard_error)
        calibrated.clear()
