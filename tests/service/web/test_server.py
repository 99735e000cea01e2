"""Starting a service: its ledger and its key, on both stores."""

from __future__ import annotations

import pytest

from sparsegate.errors import LedgerError, ParameterError
from sparsegate.service.web.server import address, guarded_server, listen, new_ledger, open_key, open_ledger


def test_a_ledger_and_its_key_are_made_once_and_opened_again(place, tmp_path):
    key = tmp_path / "key"
    with pytest.raises(LedgerError, match="there is no ledger|lacks a ledger's tables"):
        open_ledger(place, dataset="visits", budget=None, delta=None)
    new_ledger(place, key, dataset="visits", budget=2, delta=1e-6)
    with pytest.raises(LedgerError, match="is already there"):
        new_ledger(place, key, dataset="visits", budget=2, delta=0)
    with pytest.raises(ParameterError, match="budget"):
        open_ledger(place, dataset="visits", budget=3, delta=None)
    ledger = open_ledger(place, dataset="visits", budget=2.0, delta=None)
    assert str(ledger.statement().budget) == "epsilon 2, delta 0.000001"
    sealed = open_key(key, ledger, renew=False).seal(b"noise", "gate")
    assert open_key(key, ledger, renew=False).unseal(sealed, "gate") == b"noise"
    ledger.close()


def test_a_ledger_that_is_not_there_is_named_without_a_password(monkeypatch):
    monkeypatch.setattr("sparsegate.ledger.ledger.Ledger.exists", lambda place: False)
    with pytest.raises(LedgerError, match="no ledger postgresql://ann:[*]{3}@db/shop;"):
        open_ledger("postgresql://ann:hunter2@db/shop", dataset=None, budget=None, delta=None)


def test_a_socket_has_the_address_that_it_was_asked_for():
    with listen("127.0.0.1", 0) as listening:
        assert address(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}"
    with pytest.raises(ParameterError, match="port must be from 0 to 65535"):
        listen("127.0.0.1", 70_000)


def test_a_question_under_way_has_d_and_more_when_a_signal_comes():
    with listen("127.0.0.1", 0) as listening:
        assert guarded_server(lambda: None, [(listening, None)], delay=99.5).config.timeout_graceful_shutdown == 130
