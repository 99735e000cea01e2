"""`sparsegate token`: tokens on the command line."""

from __future__ import annotations

import json
import re

import pytest

from sparsegate.ledger.ledger import Ledger
from sparsegate.service.tokens import Role, Tokens


@pytest.fixture
def ledger(tmp_path):
    place = tmp_path / "visits.ledger"
    Ledger.create(place, dataset="visits", budget=1).close()
    return place


def test_a_token_is_printed_once_and_lets_its_owner_in(command, ledger):
    code, out, _ = command("token", "add", "olga", "--role", "owner", "--ledger", ledger)
    assert code == 0
    assert re.fullmatch(r"sg_[\w-]{43}\n", out)
    opened = Ledger(ledger)
    assert Tokens(opened).authenticate(out.strip()).role is Role.OWNER
    opened.close()


def test_a_token_is_an_analysts_unless_told_otherwise(command, ledger):
    command("token", "add", "anna", "--ledger", ledger)
    opened = Ledger(ledger)
    assert [record.role for record in Tokens(opened).list()] == [Role.ANALYST]
    opened.close()


def test_the_list_shows_who_and_since_when_and_no_token(command, ledger):
    _, token, _ = command("token", "add", "olga", "--role", "owner", "--ledger", ledger)
    command("token", "add", "anna", "--ledger", ledger)
    assert command("token", "revoke", "anna", "--ledger", ledger) == (0, "anna: revoked\n", "")
    code, out, _ = command("token", "list", "--ledger", ledger)
    assert code == 0
    heading, olga, anna = out.splitlines()
    assert heading.split() == ["name", "role", "added", "expires", "last", "used", "revoked", "at", "most"]
    assert re.fullmatch(r"olga +owner +20\d\d-\d\d-\d\d *", olga)
    assert re.fullmatch(r"anna +analyst +(20\d\d-\d\d-\d\d *){2}", anna)
    assert token.strip() not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add", "olga", "--role", "admin"], "role must be owner or analyst, got 'admin'"),
        (["add", "olga", "--expires", "soon"], "expires must be a moment to come"),
        (["add", "olga", "--most-epsilon", "1"], "--most-epsilon is for an owner"),
        (["add", ""], "name must be 1 to 100 printable characters"),
        (["revoke", "olga"], "name must be that of a token, got 'olga'; see `sparsegate token list`"),
    ],
)
def test_a_refusal_is_one_line(command, ledger, arguments, message):
    code, out, err = command("token", *arguments, "--ledger", ledger)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_ledger_that_is_missing_is_one_line_and_none_is_made(command, tmp_path):
    code, _, err = command("token", "list", "--ledger", tmp_path / "nothing.ledger")
    assert code == 2
    assert "does not exist" in err
    assert list(tmp_path.iterdir()) == []


def test_limits_are_given_and_listed(command, ledger):
    limits = ("--most-above", 20, "--most-epsilon", 0.5, "--expires", "2099-01-31")
    assert command("token", "add", "olga", "--role", "owner", "--ledger", ledger, *limits)[0] == 0
    _, out, _ = command("token", "list", "--ledger", ledger)
    assert re.search(r"olga +owner +20\d\d-\d\d-\d\d +2099-01-31 +20 ABOVE", out)
    (record,) = json.loads(command("token", "list", "--json", "--ledger", ledger)[1])
    assert (record["most_above"], record["most_epsilon"], record["role"]) == (20, "0.5", "owner")
    assert record["expires_at"] == "2099-01-31T00:00:00+00:00"
    assert "hash" not in record


def test_a_token_goes_to_a_file_that_is_its_owners_alone(command, ledger, tmp_path):
    file = tmp_path / "token"
    add = ("token", "add", "olga", "--ledger", ledger, "--token-file", file)
    assert command(*add) == (0, f"in {file}\n", "")
    assert file.stat().st_mode & 0o777 == 0o600
    opened = Ledger(ledger)
    assert Tokens(opened).authenticate(file.read_text().strip()).name == "olga"
    opened.close()


def test_a_token_file_that_is_there_is_refused_before_a_token_is_made(command, ledger, tmp_path):
    file = tmp_path / "token"
    file.write_text("mine")
    code, out, err = command("token", "add", "olga", "--ledger", ledger, "--token-file", file)
    assert (code, out) == (2, "")
    assert "--token-file must be a new file: file exists" in err
    assert file.read_text() == "mine"
    assert json.loads(command("token", "list", "--json", "--ledger", ledger)[1]) == []


def test_a_token_that_is_refused_leaves_no_file(command, ledger, tmp_path):
    assert command("token", "add", "", "--ledger", ledger, "--token-file", tmp_path / "token")[0] == 2
    assert not (tmp_path / "token").exists()
