"""Tokens: what is stored of them, who they let in and for how long; and quotas, exact, and telling no outcome early."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from tests.support.pretend_service import HIGH, LOW, Pretend, Shop, broken, until

from sparsegate.errors import OutcomeLost, ParameterError, QuotaExceeded
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.keeper import Keeper
from sparsegate.service.tokens import Role, Standing, Token, Tokens


@pytest.fixture
def shop(shop_on_both: Shop) -> Shop:
    return shop_on_both


@pytest.fixture
def ledger(tmp_path):
    with Ledger.create(tmp_path / "visits.ledger", dataset="visits", budget=1) as ledger:
        yield ledger


def test_a_token_lets_in_whoever_it_was_made_for(keeper):
    tokens = Tokens(keeper.ledger)
    owner, analyst = tokens.add("olga", Role.OWNER), tokens.add("anna", "analyst")
    assert tokens.authenticate(owner) == Token(number=1, name="olga", role=Role.OWNER)
    assert tokens.authenticate(analyst) == Token(number=2, name="anna", role=Role.ANALYST)
    tokens.close()
    assert [record.last_used_at is None for record in tokens.list()] == [False, False]


def test_a_token_has_256_random_bits_and_the_ledger_holds_none_of_them(tmp_path):
    ledger = Ledger.create(tmp_path / "visits.ledger", dataset="visits", budget=1)
    text = Tokens(ledger).add("olga", Role.OWNER)
    assert text.startswith("sg_")
    assert len(text) == 3 + 43
    ledger.close()
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"olga" in stored
    assert text.encode() not in stored
    assert text[3:].encode() not in stored


def test_a_revoked_token_lets_nobody_in_and_stays_on_record(ledger):
    tokens = Tokens(ledger)
    text = tokens.add("olga", Role.OWNER)
    assert tokens.authenticate(text)
    tokens.revoke("olga")
    assert tokens.authenticate(text) is None
    first = tokens.list()[0].revoked_at
    assert first is not None
    tokens.revoke("olga")
    assert tokens.list()[0].revoked_at == first
    with pytest.raises(ParameterError, match="a name stands for one token for ever"):
        tokens.add("olga", Role.ANALYST)
    for wrong in ("", "sg_", "sg_" + "A" * 43, "sg_" + "A" * 44, "sg_" + "é" * 43, "x" * 46, "\0"):
        assert tokens.authenticate(wrong) is None


def test_a_token_revoked_in_another_process_is_remembered_for_two_seconds_and_no_longer(ledger):
    now = [100.0]
    here, elsewhere = Tokens(ledger, clock=lambda: now[0]), Tokens(ledger)
    text = here.add("olga", Role.OWNER)
    assert here.authenticate(text)
    elsewhere.revoke("olga")
    now[0] += 1.9
    assert here.authenticate(text)
    now[0] += 0.2
    assert here.authenticate(text) is None


def test_a_token_lets_nobody_in_from_the_moment_it_expires(ledger, monkeypatch):
    tokens = Tokens(ledger)
    text = tokens.add("anna", "analyst", expires=datetime.now(UTC) + timedelta(seconds=2))
    assert tokens.authenticate(text).expires_at == tokens.list()[0].expires_at
    left = datetime.fromisoformat(tokens.list()[0].expires_at) - datetime.now(UTC)
    time.sleep(max(left.total_seconds(), 0))
    assert tokens.remembered(text) is None, "what is remembered must not outlive the token"
    assert tokens.authenticate(text) is None


@pytest.mark.parametrize(
    ("expires", "moment"),
    [
        ("2099-01-31", "2099-01-31T00:00:00+00:00"),
        ("2099-01-31T10:00:00+02:00", "2099-01-31T08:00:00+00:00"),
        (datetime(2099, 1, 31, 1, 2, 3, 4), "2099-01-31T01:02:03+00:00"),
        ("30d", timedelta(days=30)),
        ("12h", timedelta(hours=12)),
    ],
)
def test_an_expiry_is_a_moment_in_utc_or_a_time_from_now(ledger, expires, moment):
    Tokens(ledger).add("anna", "analyst", expires=expires)
    expected = datetime.now(UTC) + moment if isinstance(moment, timedelta) else datetime.fromisoformat(moment)
    assert abs(datetime.fromisoformat(Tokens(ledger).list()[0].expires_at) - expected) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("name", ["", " olga", "o\nlga", "o" * 101]),
        ("role", ["admin"]),
        ("expires", ["soon", "2020-01-31", "0d"]),
        ("most_above", [0, True, 2**31]),
        ("most_epsilon", [1, 0]),
    ],
)
def test_what_makes_no_sense_is_refused_by_name_and_no_token_is_made(ledger, parameter, values):
    for value in values:
        role = "owner" if value == 0 else "analyst"
        with pytest.raises(ParameterError) as refused:
            Tokens(ledger).add(**({"name": "anna", "role": role} | {parameter: value}))
        assert refused.value.parameter == parameter
    with pytest.raises(ParameterError, match="name must be that of a token"):
        Tokens(ledger).revoke("olga")
    assert Tokens(ledger).list() == []


def test_the_last_use_is_written_later_and_for_all_tokens_at_once(ledger, monkeypatch):
    tokens = Tokens(ledger, noted=0.2)
    texts = [tokens.add(name, Role.ANALYST) for name in ("anna", "bert", "carl")]
    written = []
    writing = ledger.database.writing
    monkeypatch.setattr(ledger.database, "writing", lambda: written.append(1) or writing())
    for text in texts[:2] * 5:
        assert tokens.authenticate(text)
    assert not written, "no request may wait for it"
    assert [record.last_used_at is None for record in tokens.list()] == [False, False, True], "known at once here"
    elsewhere = Tokens(ledger)
    until(lambda: elsewhere.list()[0].last_used_at is not None)
    assert [record.last_used_at is None for record in elsewhere.list()] == [False, False, True]
    assert len(written) == 1
    assert tokens.remembered(texts[0])
    tokens.close()
    assert len(written) == 2, "what was used last is written at the end"


def test_a_use_that_cannot_be_written_is_forgotten(tmp_path):
    ledger = Ledger.create(tmp_path / "visits.ledger", dataset="visits", budget=1)
    tokens = Tokens(ledger)
    assert tokens.authenticate(tokens.add("olga", Role.OWNER))
    (tmp_path / "visits.ledger").unlink()
    tokens.close()


def token_of(keeper: Keeper, **quotas: Any) -> Token:
    Tokens(keeper.ledger).add("olga", "owner", **quotas)
    return Token(number=1, name="olga", role=Role.OWNER)


def standing(keeper: Keeper, token: Token) -> Standing:
    return keeper.standing(token.number)


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
            return [row.above for row in connection.rows("SELECT above FROM asks")]

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
        plan = [row.detail for row in connection.rows(f"EXPLAIN QUERY PLAN {_GIVEN}", token=1)]
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
        assert connection.value("SELECT count(*) FROM requests") == 1
    keeper.close_gate(gate)  # it was never asked: all of it goes back
    assert standing(keeper, token).epsilon == 0
    keeper.top(shop.caller(), question)
    shop.open(keeper, epsilon=0.75)
    assert standing(keeper, token) == Standing(
        most_above=None, above=0, most_epsilon=Fraction(3, 2), epsilon=Fraction(3, 2)
    )
