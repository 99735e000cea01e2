"""Quotas of tokens: refused before data is touched, exactly, and without telling an outcome early."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from typing import Any

import pytest
from sqlalchemy import select
from tests.support.pretend_service import HIGH, LOW, Pretend, Shop, broken, until

from sparsegate.errors import OutcomeLost, QuotaExceeded
from sparsegate.service.keeper import Keeper
from sparsegate.service.schema import ASKS, REQUESTS
from sparsegate.service.tokens import Role, Standing, Token, Tokens


def token_of(keeper: Keeper, **quotas: Any) -> Token:
    Tokens(keeper.ledger).add("olga", "owner", **quotas)
    return Token(number=1, name="olga", role=Role.OWNER)


def standing(keeper: Keeper, token: Token) -> Standing:
    return keeper._store.standing(token.number)


def ask(keeper: Keeper, shop: Shop, gate: str, where: str = HIGH) -> bool:
    return keeper.ask(shop.caller(), gate, where).above


def test_a_token_is_given_as_many_above_as_it_may_and_below_are_free(shop: Shop, keeper: Keeper) -> None:
    token = token_of(keeper, most_above=2)
    gates = [shop.open(keeper, cutoff=9) for _ in range(2)]
    assert [ask(keeper, shop, gates[0], where) for where in (LOW, HIGH, LOW)] == [False, True, False]
    assert ask(keeper, shop, gates[1])
    assert standing(keeper, token) == Standing(most_above=2, above=2, most_epsilon=None, epsilon=Fraction(2))
    counted: list[int] = []
    keeper.dataset.counted = lambda: counted.append(1)  # type: ignore[attr-defined]
    with pytest.raises(QuotaExceeded, match="may be given 2 ABOVE in all, .* nothing was spent"):
        ask(keeper, shop, gates[0], LOW)
    assert not counted, "it must be refused before data is touched"
    assert keeper.gate(gates[0])["asked"] == 3
    other = Tokens(keeper.ledger)
    other.add("anna", "analyst")
    assert keeper.ask(shop.caller(token=2), gates[0], HIGH).above, "the quota of one is not that of another"


def test_an_answer_that_was_given_is_given_again_though_the_quota_is_used(shop: Shop, keeper: Keeper) -> None:
    token_of(keeper, most_above=1)
    gate, request = shop.open(keeper), shop.caller()
    first = keeper.ask(request, gate, HIGH)
    assert keeper.ask(request, gate, HIGH).number == first.number


def test_an_outcome_that_is_lost_counts(shop: Shop) -> None:
    keeper = shop.keeper(Pretend(counted=broken))
    token = token_of(keeper, most_above=1)
    gates = [shop.open(keeper) for _ in range(2)]
    with pytest.raises(OutcomeLost):
        ask(keeper, shop, gates[0], LOW)
    with pytest.raises(QuotaExceeded):
        ask(keeper, shop, gates[1], LOW)
    assert standing(keeper, token).above == 1


@pytest.mark.parametrize("where", [HIGH, LOW])
def test_an_outcome_that_is_written_and_has_not_left_counts_as_an_above_whatever_it_is(shop: Shop, where: str) -> None:
    keeper = shop.keeper(delay=1.5)
    token = token_of(keeper, most_above=1)
    gates = [shop.open(keeper) for _ in range(2)]
    asking = threading.Thread(target=ask, args=(keeper, shop, gates[0], where))
    asking.start()

    def outcome() -> list[Any]:
        with keeper.ledger.database.reading() as connection:
            return list(connection.execute(select(ASKS.c.above)).scalars())

    until(lambda: outcome() == [int(where == HIGH)])
    with pytest.raises(QuotaExceeded):
        ask(keeper, shop, gates[1])
    assert standing(keeper, token).above == 1
    assert asking.is_alive(), "the answer must still be on its way"
    asking.join()
    assert standing(keeper, token).above == (where == HIGH)


def test_many_gates_at_once_give_no_more_than_the_quota(shop: Shop) -> None:
    keepers = [shop.keeper(), shop.keeper()]
    token = token_of(keepers[0], most_above=3)
    gates = [shop.open(keepers[0], cutoff=9) for _ in range(4)]

    def hammer(place: int) -> int:
        given = 0
        for _ in range(4):
            with suppress(QuotaExceeded):
                given += ask(keepers[place % 2], shop, gates[place % 4])
        return given

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(hammer, range(8))) == 3
    assert standing(keepers[0], token).above == 3


def test_the_count_of_a_quota_reads_the_index_alone(shop: Shop, keeper: Keeper) -> None:
    from sparsegate.service.tokens import _GIVEN

    if keeper.ledger.database.engine.dialect.name != "sqlite":
        return
    with keeper.ledger.database.reading() as connection:
        query, values = _GIVEN.on(connection.dialect, {"whose": 1})
        plan = [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", tuple(values))]
    assert sum("INDEX asks_of_token (token=? AND above=?" in line for line in plan) == 2, plan


def test_a_token_charges_as_much_as_it_may_and_what_goes_back_counts_down(shop: Shop, keeper: Keeper) -> None:
    token = token_of(keeper, most_epsilon=1.5)
    gate = shop.open(keeper, epsilon=1)
    with pytest.raises(QuotaExceeded, match="epsilon 0.75 .* of 1.5 in all, 1 is used; nothing was spent"):
        shop.open(keeper, epsilon=0.75)
    question = {"item": "page", "count": 1, "epsilon": 0.75, "domain": ["a", "b"]}
    with pytest.raises(QuotaExceeded):
        keeper.top(shop.caller(), question)
    assert keeper.budget().spent.epsilon == 1
    with keeper.ledger.database.reading() as connection:
        assert len(connection.execute(select(REQUESTS.c.entry)).all()) == 1
    keeper.close_gate(gate)  # it was never asked: all of it goes back
    assert standing(keeper, token).epsilon == 0
    keeper.top(shop.caller(), question)
    shop.open(keeper, epsilon=0.75)
    assert standing(keeper, token) == Standing(
        most_above=None, above=0, most_epsilon=Fraction(3, 2), epsilon=Fraction(3, 2)
    )


def test_the_ledger_has_the_last_word_though_a_quota_would_allow_more(shop: Shop, keeper: Keeper) -> None:
    from sparsegate.errors import BudgetExceeded

    token_of(keeper, most_epsilon=100)
    with pytest.raises(BudgetExceeded):
        shop.open(keeper, epsilon=11)
