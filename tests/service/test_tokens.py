"""Tokens: what is stored of them, who they let in, and for how long."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from tests.support.pretend_service import until

from sparsegate.errors import ParameterError
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.tokens import Role, Token, Tokens


@pytest.fixture
def ledger(place):
    ledger = Ledger.create(place, dataset="visits", budget=1)
    yield ledger
    ledger.close()


def test_a_token_lets_in_whoever_it_was_made_for(ledger):
    tokens = Tokens(ledger)
    owner, analyst = tokens.add("olga", Role.OWNER), tokens.add("anna", "analyst")
    assert tokens.authenticate(owner) == Token(number=1, name="olga", role=Role.OWNER)
    assert tokens.authenticate(analyst) == Token(number=2, name="anna", role=Role.ANALYST)


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


@pytest.mark.parametrize("text", ["", "sg_", "sg_" + "A" * 43, "sg_" + "A" * 44, "sg_" + "é" * 43, "x" * 46, "\0"])
def test_a_text_that_is_no_token_lets_nobody_in(ledger, text):
    tokens = Tokens(ledger)
    tokens.add("olga", Role.OWNER)
    assert tokens.authenticate(text) is None


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


def test_a_name_is_used_once_even_when_its_token_is_revoked(ledger):
    tokens = Tokens(ledger)
    tokens.add("olga", Role.OWNER)
    tokens.revoke("olga")
    with pytest.raises(ParameterError, match="a name stands for one token for ever"):
        tokens.add("olga", Role.ANALYST)
    assert [record.name for record in tokens.list()] == ["olga"]


@pytest.mark.parametrize("name", ["", " olga", "o\nlga", "o" * 101])
def test_a_name_is_one_printable_line(ledger, name):
    with pytest.raises(ParameterError, match="name must be 1 to 100 printable characters"):
        Tokens(ledger).add(name, Role.OWNER)


def test_a_role_is_one_of_two(ledger):
    with pytest.raises(ParameterError, match="role must be one of owner, analyst, got .admin."):
        Tokens(ledger).add("olga", "admin")


def test_revoking_nobody_is_refused(ledger):
    with pytest.raises(ParameterError, match="name must be that of a token"):
        Tokens(ledger).revoke("olga")


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
    ],
)
def test_a_date_is_a_moment_in_utc(ledger, expires, moment):
    Tokens(ledger).add("anna", "analyst", expires=expires)
    assert Tokens(ledger).list()[0].expires_at == moment


@pytest.mark.parametrize(("expires", "hours"), [("30d", 720), ("12h", 12)])
def test_an_expiry_may_be_a_time_from_now(ledger, expires, hours):
    Tokens(ledger).add("anna", "analyst", expires=expires)
    left = datetime.fromisoformat(Tokens(ledger).list()[0].expires_at) - datetime.now(UTC)
    assert abs(left - timedelta(hours=hours)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"expires": "soon"}, "expires must be a moment to come"),
        ({"expires": "2020-01-31"}, "expires must be a moment to come"),
        ({"expires": "0d"}, "expires must be a moment to come"),
        ({"most_above": 0}, "most_above must be a whole number of at least 1"),
        ({"most_above": True}, "most_above must be a whole number of at least 1"),
        ({"most_epsilon": 1}, "most_epsilon is for an owner: an analyst charges nothing"),
        ({"role": "owner", "most_epsilon": 0}, "most_epsilon must be"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_and_no_token_is_made(ledger, options, message):
    with pytest.raises(ParameterError, match=message):
        Tokens(ledger).add("anna", **({"role": "analyst"} | options))
    assert Tokens(ledger).list() == []


def test_limits_are_on_record(ledger):
    tokens = Tokens(ledger)
    tokens.add("olga", Role.OWNER, most_above=20, most_epsilon=0.5)
    tokens.add("anna", Role.ANALYST)
    olga, anna = tokens.list()
    assert (olga.most_above, olga.most_epsilon, olga.expires_at) == (20, Fraction(1, 2), None)
    assert (anna.most_above, anna.most_epsilon, anna.last_used_at) == (None, None, None)


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
