"""Tokens: what is stored of them, who they let in, and for how long."""

from __future__ import annotations

import pytest

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


def test_a_digest_read_in_the_ledger_is_no_token(ledger):
    from sqlalchemy import select

    from sparsegate.ledger.database_schema import TOKENS

    tokens = Tokens(ledger)
    tokens.add("olga", Role.OWNER)
    with ledger.database.reading() as connection:
        digest = connection.execute(select(TOKENS.c.hash)).scalar_one()
    assert tokens.authenticate(digest) is None


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
    with pytest.raises(ParameterError, match="role must be owner or analyst, got 'admin'"):
        Tokens(ledger).add("olga", "admin")


def test_revoking_nobody_is_refused(ledger):
    with pytest.raises(ParameterError, match="name must be that of a token"):
        Tokens(ledger).revoke("olga")
