"""`sparsegate ledger backup` and `restore` on the command line."""

from __future__ import annotations

import pytest

from sparsegate.ledger.ledger import Ledger


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Ledger.create("visits.ledger", dataset="visits", budget=2) as ledger:
        ledger.spend(epsilon=0.5, what="before")
    return tmp_path


def test_a_backup_is_made_and_restored(command, place):
    code, out, _ = command("ledger", "backup", "visits.ledger", "visits.backup")
    assert code == 0
    assert "visits.backup: everything up to 20" in out
    options = ("--from", "visits.backup", "--spent-since", "0.25")
    code, out, err = command("ledger", "restore", "again.ledger", *options)
    assert (code, out) == (0, "visits: epsilon 1.25 left of epsilon 2; all its gates are closed\n")
    assert "tokens that were revoked since the backup let people in again" in err
    assert "restore" in command("ledger", "show", "again.ledger")[1]
    assert command("ledger", "restore", "other.ledger", "--from", "visits.backup", "--write-off")[0] == 0
    assert command("ledger", "restore", "again.ledger", "--write-off")[1].startswith("visits: epsilon 0 left")


@pytest.mark.parametrize("options", [(), ("--write-off", "--spent-since", "0")], ids=["neither", "both"])
def test_whoever_restores_says_what_was_spent_since(command, place, options):
    command("ledger", "backup", "visits.ledger", "visits.backup")
    code, out, err = command("ledger", "restore", "again.ledger", "--from", "visits.backup", *options)
    assert (code, out) == (2, "")
    assert "--spent-since or --write-off must be given, and not both" in err
    assert not (place / "again.ledger").exists()
