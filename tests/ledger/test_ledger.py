"""The ledger: exact sums and refusals, charges reserved together, what is kept and what goes back; many at once."""

from __future__ import annotations

import contextlib
import copy
import math
import os
import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.processes import in_forked_child
from tests.support.threads import at_once
from tests.support.untouchable import Untouchable

import sparsegate as sg
from sparsegate.budget import Prepaid, charge
from sparsegate.errors import BudgetExceeded, LedgerError, ParameterError
from sparsegate.ledger.account import Amount, EntryKind
from sparsegate.ledger.database import open_database
from sparsegate.ledger.gate import rounded_down
from sparsegate.ledger.ledger import Ledger, append


@pytest.fixture
def shared(place: str) -> Iterator[Ledger]:
    """For what must hold on both stores."""
    with Ledger.create(place, dataset="visits", budget=1, budget_delta=1e-6) as made:
        yield made


NO_EPSILON = [math.nan, math.inf, -1, 0, True, "0.5", None, Decimal("NaN"), Fraction(1, 10**500)]
WRONG = [*(("epsilon", bad) for bad in NO_EPSILON), *(("delta", bad) for bad in (math.nan, -1e-9, 1))]


def test_a_charge_that_is_none_is_refused_by_name_and_not_recorded(ledger: Ledger) -> None:
    for parameter, bad in [*WRONG, *(("what", bad) for bad in ("", "two\nlines", "x" * 501))]:
        asked: dict[str, Any] = {"epsilon": 0.5, "what": "nonsense"} | {parameter: bad}
        with pytest.raises(ParameterError) as refused:
            ledger.spend(**asked)
        assert refused.value.parameter == parameter
        with pytest.raises(ParameterError, match=f"^{parameter}"), ledger.together() as report:
            report.reserve(**asked)
    assert len(ledger.entries()) == 1


def test_ten_tenths_are_one_and_not_a_bit_more(ledger: Ledger) -> None:
    spent = [ledger.spend(epsilon=0.1, what=f"release {number}") for number in range(10)]
    assert ledger.entries()[1:] == tuple(spent)
    assert (spent[3].number, spent[3].kind, spent[3].what) == (5, EntryKind.SPEND, "release 3")
    assert ledger.total_spent() == Amount(epsilon=Fraction(1))
    with pytest.raises(BudgetExceeded):
        ledger.spend(epsilon=1e-300, what="one too many")


def test_a_refusal_changes_nothing(ledger: Ledger) -> None:
    ledger.spend(epsilon=0.7, what="most of it")
    before = ledger.statement()
    with pytest.raises(BudgetExceeded, match="epsilon 0.7 is spent and epsilon 0.3 remains"):
        ledger.spend(epsilon=0.4, what="too much")
    with pytest.raises(BudgetExceeded, match="epsilon 0.3, and no delta remains"):
        ledger.spend(epsilon=0.2, delta=1e-6, what="a budget without delta")
    assert ledger.statement() == before
    assert before.remaining == Amount(epsilon=Fraction(3, 10))


def test_delta_has_a_budget_of_its_own_and_it_is_zero_unless_given(path: Path, ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded, match="delta 0.000001"):
        ledger.spend(epsilon=0.1, delta=1e-6, what="unknown domain")
    other = Ledger.create(path.with_suffix(".two"), dataset="visits", budget=1, budget_delta=2e-6)
    for _ in range(2):
        other.spend(epsilon=0.1, delta=1e-6, what="unknown domain")
    with pytest.raises(BudgetExceeded):
        other.spend(epsilon=0.1, delta=1e-12, what="unknown domain")


def test_a_budget_is_never_lowered(ledger: Ledger) -> None:
    for epsilon, delta in ((1, None), (0.5, None), (1, 0), (2, -1), (math.nan, None), (0.9, 0.1)):
        with pytest.raises(ParameterError):
            ledger.raise_budget(budget=epsilon, budget_delta=delta, why="a slip")
    assert len(ledger.entries()) == 1


def test_only_one_of_many_who_create_at_once_succeeds(place: str) -> None:
    made: list[Ledger] = []

    def create(_: int) -> None:
        with contextlib.suppress(LedgerError):
            made.append(Ledger.create(place, dataset="visits", budget=1))

    at_once(create, range(5))
    assert len(made) == 1
    assert len(Ledger(place).entries()) == 1


SPENDER = """
import sys
from sparsegate.errors import BudgetExceeded
from sparsegate.ledger.ledger import Ledger
ledger, granted = Ledger(sys.argv[1], patience=30), 0
try:
    while True:
        ledger.spend(epsilon=0.025, what="one of many")
        granted += 1
except BudgetExceeded:
    print(granted)
"""


def test_processes_that_spend_at_once_never_pass_the_budget(place: str, shared: Ledger) -> None:
    spenders = [
        subprocess.Popen([sys.executable, "-c", SPENDER, place], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    granted = [int(spender.communicate(timeout=60)[0]) for spender in spenders]
    assert sum(granted) == 40
    assert shared.total_spent().epsilon == 1


def test_of_two_who_go_on_with_one_release_the_store_refuses_the_one_that_knows_less(shared: Ledger) -> None:
    entry = shared.spend(epsilon=0.5, what="answers")
    shared.keep(entry, {"answer": 1}, after=0)
    shared.keep(entry, {"answer": 2}, after=1)
    with pytest.raises(LedgerError, match="than this process knows"):
        shared.keep(entry, {"answer": "again"}, after=1)
    shared.give_back(entry, epsilon=0.25)
    with pytest.raises(LedgerError, match="than this process knows"):
        shared.keep(entry, {"answer": "late"}, after=2)
    assert [part["answer"] for part in shared.release(entry.number).gave] == [1, 2]


def test_a_schema_in_front_hides_no_ledger_and_makes_no_second_one(cluster: Any) -> None:
    """Statements find a table wherever it is on the search path: so must the look whether a ledger is there."""
    from sqlalchemy import create_engine, text

    place = cluster.database()
    with Ledger.create(place, dataset="visits", budget=1) as ledger:
        ledger.spend(epsilon=1, what="all of it")
    engine = create_engine(place.replace("postgresql://", "postgresql+psycopg://", 1))
    with engine.begin() as connection:
        connection.execute(text("CREATE SCHEMA AUTHORIZATION CURRENT_USER"))
    engine.dispose()
    assert Ledger.exists(place)
    with pytest.raises(LedgerError, match="already"):
        Ledger.create(place, dataset="visits", budget=1)
    with Ledger(place) as again, pytest.raises(BudgetExceeded):
        again.spend(epsilon=1, what="again")


def test_a_server_that_keeps_old_snapshots_refuses_nobody(cluster: Any) -> None:
    """A transaction that waited for the lock sees what was spent while it waited, whatever the server's default is."""
    place = cluster.database()
    with Ledger.create(place, dataset="visits", budget=1) as ledger, ledger.database.writing() as connection:
        name = connection.value("SELECT current_database()")
        connection.run(f"ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'")
    with Ledger(place) as ledger, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: ledger.spend(epsilon=0.05, what=f"release {number}"), range(20)))
        assert ledger.total_spent().epsilon == 1


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda ledger: pickle.loads(pickle.dumps(ledger))])
def test_a_copy_of_a_ledger_is_the_ledger_opened_again(
    shared: Ledger, copied: Callable[[Ledger], Ledger], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.spend(epsilon=0.25, what="before")
    monkeypatch.chdir(tmp_path)
    with copied(shared) as again:
        again.spend(epsilon=0.5, what="there")
        assert shared.total_spent() == again.total_spent() == Amount(epsilon=Fraction(3, 4))
        with pytest.raises(BudgetExceeded):
            again.spend(epsilon=0.5, what="too much")
    shared.spend(epsilon=0.25, what="after")


def test_a_pickle_of_a_ledger_opens_no_other(path: Path, ledger: Ledger) -> None:
    kept = pickle.dumps(ledger)
    path.unlink()
    with pytest.raises(LedgerError, match="does not exist"):
        pickle.loads(kept)
    Ledger.create(path, dataset="other visits", budget=1)
    with pytest.raises(LedgerError, match="belongs to the dataset 'other visits'"):
        pickle.loads(kept)


def test_a_pickle_of_a_ledger_holds_no_password() -> None:
    secret = "postgresql://ann:hush-1@db.example/visits?password=hush-2&sslpassword=hush-3&sslmode=require"
    database = open_database(secret)
    assert database.address == "postgresql://ann@db.example/visits?sslmode=require"
    assert database.shown == "postgresql://ann:***@db.example/visits?sslmode=require"


def number(charge: Any, **options: Any) -> Any:
    return sg.laplace(1234, **{"epsilon": 0.5, "sensitivity": 1, "ledger": charge} | options)


def test_charges_are_committed_together_and_each_serves_its_release(shared: Ledger) -> None:
    with shared.together() as report:
        people = report.reserve(epsilon=0.5, what="June: people")
        visits = report.reserve(epsilon=0.5, what="June: visits")
        assert shared.total_spent().epsilon == 0
    assert [(entry.kind, entry.what) for entry in shared.entries()[1:]] == [
        (EntryKind.RESERVE, "June: people"),
        (EntryKind.RESERVE, "June: visits"),
    ]
    assert shared.total_spent().epsilon == 1
    values = number(visits), number(people)
    assert [shared.release(charge.number).gave[0]["value"] for charge in (visits, people)] == list(values)
    assert len(shared.entries()) == 3


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_charges_that_do_not_fit_together_spend_nothing(shared: Ledger, delta: float) -> None:
    before = shared.statement()
    reserved = []

    def reserve() -> None:
        with shared.together() as report:
            reserved.append(report.reserve(epsilon=0.5, delta=delta, what="the first"))
            report.reserve(epsilon=0.25 if delta else 0.6, delta=delta, what="the second")

    with pytest.raises(sg.BudgetExceeded):
        reserve()
    assert shared.statement() == before
    with pytest.raises(sg.LedgerError, match="not committed"):
        number(reserved[0], source=Untouchable(1), not_private=True)
    with pytest.raises(KeyError), shared.together() as report:
        report.reserve(epsilon=0.5, what=dict[str, str]()["a block that fails"])
    assert shared.statement() == before


def test_a_charge_serves_one_release(shared: Ledger) -> None:
    with shared.together() as report:
        charge = report.reserve(epsilon=0.5, what="once")
    value = number(charge)
    with pytest.raises(sg.LedgerError, match=r"used entry 2 already.*release\(2\)"):
        number(charge, source=Untouchable(1), not_private=True)
    assert shared.release(2).gave == ({"release": "laplace", "value": value},)
    shared.give_back(2, epsilon=0.25)
    with pytest.raises(sg.LedgerError, match=r"used entry 2 already"):
        number(charge, source=Untouchable(1), not_private=True)


def test_a_charge_that_was_given_back_pays_for_nothing(shared: Ledger) -> None:
    with shared.together() as report:
        charge = report.reserve(epsilon=0.5, what="not needed")
    shared.give_back(charge.number, epsilon=0.25)
    for again in (charge, shared.reserved(charge.number)):
        with pytest.raises(sg.LedgerError, match="got entry 2 back"):
            number(again, source=Untouchable(1), not_private=True)
    assert shared.total_spent().epsilon * 4 == 1


def test_a_release_may_cost_less_than_was_reserved_and_never_more(shared: Ledger) -> None:
    with shared.together() as report:
        charge = report.reserve(epsilon=0.5, what="half")
    with pytest.raises(sg.BudgetExceeded, match=r"0\.51 is more than was reserved for 'half', epsilon 0\.5"):
        number(charge, epsilon=0.51, source=Untouchable(1), not_private=True)
    with pytest.raises(sg.BudgetExceeded):
        charge.spend(epsilon=0.1, delta=1e-9, what="a delta that nobody reserved")
    with pytest.raises(sg.ParameterError):
        number(charge, sensitivity=0)
    number(charge, epsilon=0.25)
    assert shared.total_spent().epsilon * 2 == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(st.text(), JSON, max_size=3), max_size=3))
def test_what_is_kept_comes_back_as_it_was(shared: Ledger, parts: list[dict[str, Any]]) -> None:
    """Also a NUL and a lone surrogate, which neither PostgreSQL nor UTF-8 takes as they are."""
    number = shared.spend(epsilon=0.01, what="one of many").number
    for part in [*parts, {"odd \x00 \ud800": "\x00\ud800"}]:
        shared.keep(number, part)
    assert shared.release(number).gave == (*parts, {"odd \x00 \ud800": "\x00\ud800"})


def test_only_an_entry_that_spent_has_a_release(shared: Ledger) -> None:
    shared.spend(epsilon=0.25, what="the second entry")
    wrong: list[Any] = [0, 1, 3, -1, 10**30, True, "2", None, 2.0]
    for use, number in product((shared.release, shared.reserved, lambda wrong: shared.keep(wrong, {})), wrong):
        with pytest.raises(sg.ParameterError, match=r"^number must be that of an entry that spent"):
            use(number)
    with pytest.raises(sg.ParameterError, match="^number must be that of a reserved entry"):
        shared.reserved(2)


def test_a_release_that_does_not_read_is_a_damaged_ledger(shared: Ledger) -> None:
    for text in ("{", "3", "null", ""):
        number = shared.spend(epsilon=0.1, what="x").number
        with shared.database.writing() as connection:
            connection.add("releases", entry=number, part=1, gave=text)
        with pytest.raises(LedgerError, match=f"damaged: what entry {number} gave does not read"):
            shared.release(number)


def test_what_is_written_is_never_changed_or_removed(shared: Ledger) -> None:
    entry = shared.spend(epsilon=0.25, what="x")
    shared.keep(entry, {"value": 1})
    shared.give_back(entry, epsilon=0.125)
    for table, column in {"entries": "number", "releases": "part", "refunds": "of"}.items():
        for change in (f"DELETE FROM {table}", f"UPDATE {table} SET {column}=1"):
            with pytest.raises(LedgerError), shared.database.writing() as connection:
                connection.run(change)
    assert shared.release(2).gave == ({"value": 1},)


@pytest.mark.parametrize("trouble", [LedgerError("the disk is full"), OSError("the disk is full"), None], ids=repr)
def test_a_result_that_cannot_be_stored_still_goes_to_its_owner(
    shared: Ledger, monkeypatch: pytest.MonkeyPatch, trouble: Exception | None
) -> None:
    def full(*_: Any, **__: Any) -> None:
        assert trouble is not None
        raise trouble

    if trouble is not None:
        monkeypatch.setattr(shared, "keep", full)
    item = "tea" if trouble else 10**5000  # which no JSON holds
    words = {LedgerError: "disk is full$", OSError: "OSError in the ledger$"}.get(type(trouble), "gave must be")
    with pytest.warns(RuntimeWarning, match=f"paid for, and is not stored: .*{words}") as caught:
        found = sg.select_top({item: 5}, count=1, epsilon=0.5, sensitivity=1, ledger=shared)
    assert caught[0].filename.endswith("test_ledger.py")
    assert found.items is not None
    assert found.items[0] is item
    assert shared.total_spent().epsilon * 2 == 1


def test_what_json_does_not_know_is_kept_as_numbers_or_text_and_what_it_cannot_hold_is_refused(shared: Ledger) -> None:
    entry = shared.spend(epsilon=0.25, what="a mean, by another library")
    for wrong in ({"x": 10**5000}, {(1, 2): 3}, 5, [1]):
        with pytest.raises(sg.ParameterError, match=r"^gave must be what JSON can hold; keep it as"):
            shared.keep(entry, wrong)  # type: ignore[arg-type]
    shared.keep(entry, {"mean": np.float64(0.5), "indices": np.array([3, 1]), "label": b"x", "set": (1, 2)})
    release = shared.release(entry.number)
    assert (release.entry, release.gave) == (
        entry,
        ({"mean": 0.5, "indices": [3, 1], "label": "b'x'", "set": [1, 2]},),
    )


FAR = 10**6
HALF = Fraction(1, 2)
PLACE = Fraction(1, 10**12)


def gate(ledger: Any, **options: Any) -> sg.SparseVector:
    public = {"threshold": 0, "cutoff": 5, "epsilon": HALF, "sensitivity": 1, "monotonic": True}
    return sg.SparseVector(**public | options, ledger=ledger)


def test_closing_gives_back_what_the_answers_did_not_cost(shared: Ledger) -> None:
    with gate(shared) as asked:
        asked.ask(-FAR)
        asked.ask(FAR)
        assert shared.total_spent().epsilon == HALF
    cost = asked.spent
    statement = shared.statement()
    assert cost == asked.cost(below=1, above=1)
    assert 0 < cost <= statement.spent.epsilon < cost + PLACE < HALF
    assert statement.given_back.epsilon == HALF - statement.spent.epsilon
    *_, paid, back = statement.entries
    assert (back.kind, back.of, back.amount.epsilon) == (EntryKind.REFUND, paid.number, rounded_down(HALF - cost))
    assert back.what == f"not used by entry {paid.number}, {paid.what}"


def test_the_store_decides_which_of_two_comes_first(shared: Ledger) -> None:
    entry = shared.spend(epsilon=HALF, what="a gate")
    found = at_once(lambda part: shared.give_back(entry, epsilon=Fraction(part, 16)), (1, 2, 3, 4))
    assert len({one.number for one in found}) == 1
    assert shared.total_spent().epsilon == HALF - found[0].amount.epsilon
    with pytest.raises(LedgerError), shared.database.writing() as connection:
        append(connection, 4, EntryKind.REFUND, found[0].amount, "a second time", of=entry.number)
    assert len(shared.entries()) == 3


def test_what_cannot_go_back_is_refused_and_changes_nothing(path: Path) -> None:
    ledger = Ledger.create(path, dataset="visits", budget=2, budget_delta=1e-6)
    pure = ledger.spend(epsilon=HALF, what="a gate")
    both = ledger.spend(epsilon=HALF, delta=1e-6, what="an (epsilon, delta) gate")
    back = ledger.give_back(pure, epsilon=0.25)
    other = Ledger.create(path.with_name("other.ledger"), dataset="other", budget=2)
    strange = other.spend(epsilon=HALF, what="elsewhere")
    before = ledger.statement()
    for entry, epsilon in ((both, 0.1), (1, 0.1), (99, 0.1), (back, 0.1), (back.number, 0.1), (strange, 0.1)):
        with pytest.raises(ParameterError):
            ledger.give_back(entry, epsilon=epsilon)
    more = ledger.spend(epsilon=HALF, what="another")
    for wrong in (0, -1, 0.51, float("nan")):
        with pytest.raises(ParameterError):
            ledger.give_back(more, epsilon=wrong)
    assert ledger.entries()[:-1] == before.entries
    with pytest.raises(ParameterError):
        ledger.release(back.number)


@pytest.mark.parametrize(
    "options",
    [{"refund": False}, {"source": sg.Seeded(1), "not_private": True}],
    ids=["the old rule", "waived privacy"],
)
def test_a_gate_that_may_not_give_back_does_not(ledger: Ledger, options: dict[str, Any]) -> None:
    with gate(ledger, **options) as asked:
        asked.ask(-FAR)
    assert 0 < asked.spent < HALF
    assert ledger.total_spent().epsilon == HALF


def test_nothing_goes_back_where_there_is_a_delta(path: Path) -> None:
    ledger = Ledger.create(path, dataset="visits", budget=1, budget_delta=1e-6)
    assert charge(ledger, epsilon=HALF, delta=1e-6, what="approximate").give_back(HALF)
    assert charge(ledger, epsilon=HALF, what="pure").give_back(HALF)
    assert ledger.total_spent().epsilon == HALF


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_gate_in_another_process_gives_nothing_back_even_if_it_was_locked(ledger: Ledger) -> None:
    asked = gate(ledger)
    asked.ask(-FAR)
    with asked._lock:
        assert in_forked_child(lambda: (asked.close(), asked.spent)) == (None, asked.cost(below=1, above=0))
    assert ledger.total_spent().epsilon == HALF
    asked.ask(-FAR)
    asked.close()
    assert ledger.total_spent().epsilon == HALF - rounded_down(HALF - asked.cost(below=2, above=0))


@pytest.mark.parametrize("paid_before", [False, True])
def test_a_ledger_that_cannot_be_written_is_a_warning_and_closing_again_gives_back(
    ledger: Ledger, path: Path, paid_before: bool
) -> None:
    asked = gate(Prepaid(charge(ledger, epsilon=HALF, what="a watch")) if paid_before else ledger)
    moved = path.rename(path.with_name("away"))
    with pytest.warns(RuntimeWarning, match="what this did not cost stays spent"):
        asked.close()
    moved.rename(path)
    assert ledger.total_spent().epsilon == HALF
    with pytest.raises(sg.GateClosed):
        asked.ask(0)
    asked.close()
    assert ledger.total_spent().epsilon == 0


def test_online_answers_give_back_what_they_did_not_cost(ledger: Ledger) -> None:
    import pandas

    people = pandas.DataFrame({"page": ["/home"] * 40 + ["/docs"] * 30})
    with sg.uses.OnlineAnswers(
        people, {"page": ["/home", "/docs"]}, unit="row", epsilon=HALF, tolerance=FAR, cutoff=3, ledger=ledger
    ) as online:
        online.ask({"page": "/home"})
        assert ledger.total_spent().epsilon == HALF
    counted = HALF / 20
    assert counted < online.spent < HALF
    assert ledger.total_spent().epsilon == HALF - rounded_down(HALF - online.spent)
    with pytest.raises(ParameterError, match="^refund must be True or False"):
        sg.uses.OnlineAnswers(people, {}, unit="row", tolerance=FAR, refund="no", ledger=ledger)


def test_what_goes_back_is_rounded_down_so_that_sums_stay_short(ledger: Ledger) -> None:
    entry = ledger.spend(epsilon=HALF, what="a gate")
    assert ledger.give_back(entry, epsilon=PLACE / 2) is None
    ledger.give_back(entry, epsilon=Fraction(2, 7) - Fraction(1, 7**600))
    assert str(ledger.statement().given_back) == "epsilon 0.285714285714"


@pytest.mark.parametrize(("amount", "of"), [("0.6", 2), ("0.25", 1), ("0.25", 3), ("0.25", None)])
def test_a_refund_that_does_not_fit_is_damage(ledger: Ledger, amount: str, of: int | None) -> None:
    ledger.spend(epsilon=HALF, what="a gate")
    with ledger.database.writing() as connection:
        forged = Amount(epsilon=Fraction(amount), rho=Fraction(0))  # without a rho it would be damage of another kind
        append(connection, 3, EntryKind.REFUND, forged, "forged", of=of)
    with pytest.raises(LedgerError, match="entry 3 (gives back what was not spent|does not fit)"):
        ledger.statement()


@pytest.mark.parametrize(("of", "delta"), [(3, 0), (3, 1e-3), (-2, 0), (-99, 0)])
def test_a_refund_that_a_hand_wrote_is_damage(tmp_path: Path, of: int, delta: float) -> None:
    """Of an entry with a delta, or of one that a list counts from its end: SQLite does not look unless it is told."""
    path = tmp_path / "visits.ledger"
    with Ledger.create(path, dataset="visits", budget=1, budget_delta=0.1) as ledger:
        ledger.spend(epsilon=HALF, what="a gate")
        ledger.spend(epsilon=HALF, delta=1e-3, what="a gate with a delta")
        at = ledger.entries()[-1].at.isoformat()
    with sqlite3.connect(path) as connection:
        forged = (4, at, "refund", "0.5", str(delta), "0", "forged")
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", forged)
        connection.execute("INSERT INTO refunds VALUES (?, 4)", (of,))
    with pytest.raises(LedgerError, match="entry 4 gives back what was not spent"):
        Ledger(path)
