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


def authenticated(ledger, token):
    with Ledger(ledger) as opened:
        return Tokens(opened).authenticate(token.strip())


def test_the_list_shows_who_and_since_when_and_no_token(command, ledger):
    _, token, _ = command("token", "add", "olga", "--role", "owner", "--ledger", ledger)
    assert re.fullmatch(r"sg_[\w-]{43}\n", token)
    assert authenticated(ledger, token).role is Role.OWNER
    assert authenticated(ledger, command("token", "add", "anna", "--ledger", ledger)[1]).role is Role.ANALYST
    assert command("token", "revoke", "anna", "--ledger", ledger) == (0, "anna: revoked\n", "")
    code, out, _ = command("token", "list", "--ledger", ledger)
    assert (code, token.strip() in out) == (0, False)
    heading, olga, anna = out.splitlines()
    assert heading.split() == ["name", "role", "added", "expires", "last", "used", "revoked", "at", "most"]
    assert re.fullmatch(r"olga +owner +(20\d\d-\d\d-\d\d *){1,2}", olga)
    assert re.fullmatch(r"anna +analyst +(20\d\d-\d\d-\d\d *){2,3}", anna)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["add", "olga", "--role", "admin"], "--role"),
        (["add", "olga", "--expires", "soon"], "--expires"),
        (["add", "olga", "--most-epsilon", "1"], "--most-epsilon"),
        (["add", ""], "name"),
        (["revoke", "olga"], "name"),
    ],
)
def test_a_refusal_names_what_is_wrong(refused, ledger, arguments, name):
    assert refused("token", *arguments, "--ledger", ledger).split()[0] == name


def test_limits_are_given_and_listed(command, ledger):
    limits = ("--most-above", 20, "--most-epsilon", 0.5, "--expires", "2099-01-31")
    assert command("token", "add", "olga", "--role", "owner", "--ledger", ledger, *limits)[0] == 0
    _, out, _ = command("token", "list", "--ledger", ledger)
    assert re.search(r"olga +owner +20\d\d-\d\d-\d\d +2099-01-31 +20 ABOVE", out)
    (record,) = json.loads(command("token", "list", "--json", "--ledger", ledger)[1])
    assert (record["most_above"], record["most_epsilon"], record["role"]) == (20, "0.5", "owner")
    assert record["expires_at"] == "2099-01-31T00:00:00+00:00"
    assert "hash" not in record


def test_a_token_goes_to_a_new_file_of_its_owners_alone_and_a_refusal_leaves_all_as_it_was(
    command, refused, ledger, tmp_path
):
    file = tmp_path / "token"
    assert refused("token", "add", "", "--ledger", ledger, "--token-file", file)
    assert not file.exists()
    add = ("token", "add", "olga", "--ledger", ledger, "--token-file", file)
    file.write_text("mine")
    assert refused(*add).startswith("--token-file must be a new file: file exists")
    assert file.read_text() == "mine"
    assert json.loads(command("token", "list", "--json", "--ledger", ledger)[1]) == []
    file.unlink()
    assert command(*add) == (0, f"in {file}\n", "")
    assert file.stat().st_mode & 0o777 == 0o600
    assert authenticated(ledger, file.read_text()).name == "olga"
