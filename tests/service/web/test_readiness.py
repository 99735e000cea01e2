"""Ready: the ledger, the data and the disk; and looking is cheap."""

from __future__ import annotations

import logging
import shutil
import time
from itertools import pairwise

import pytest
from tests.support.serving import CERTAIN, MANY, TOP, assert_problem, serving, visits

from sparsegate.ledger import database as sqlite_file
from sparsegate.service.web import readiness


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(readiness, "KEPT_SECONDS", 0.0)


@pytest.fixture
def ready(tmp_path, impatient):
    (tmp_path / "data").mkdir()
    with visits(tmp_path / "data") as data, serving(tmp_path, data) as service:
        assert service.send("GET", "/v1/ready", token=None).json() == {"status": "ready"}
        yield service


def assert_not_ready(service, caplog, because):
    with caplog.at_level(logging.WARNING):
        response = service.send("GET", "/v1/ready", token=None)
    assert_problem(response, 503, "not-ready")
    assert because in caplog.text
    assert because not in response.text
    assert service.send("GET", "/v1/health", token=None).status_code == 200, "the process lives"


def test_a_ledger_that_is_gone_or_another_is_not_ready_and_comes_back(ready, tmp_path, caplog):
    ledger = tmp_path / "visits.ledger"
    ledger.rename(tmp_path / "moved")
    assert_not_ready(ready, caplog, "does not exist")
    shutil.copy(tmp_path / "moved", ledger)
    assert_not_ready(ready, caplog, "was replaced by another file")
    (tmp_path / "moved").replace(ledger)
    with caplog.at_level(logging.WARNING):
        assert ready.send("GET", "/v1/ready", token=None).status_code == 200
    assert "ready again" in caplog.text


def test_a_ledger_that_cannot_be_written_is_not_ready(ready, monkeypatch, caplog):
    database = ready.keeper.ledger.database

    def refuse(*_: object) -> None:
        raise database.trouble("cannot be written")

    monkeypatch.setattr(database, "_lock", refuse)
    assert_not_ready(ready, caplog, "cannot be written")


def test_data_that_has_changed_is_not_ready(ready, tmp_path, caplog):
    with (tmp_path / "data" / "visits.csv").open("a") as file:
        file.write("301,DE,/home,5\n")
    assert_not_ready(ready, caplog, "the data has changed")


def test_a_disk_that_is_nearly_full_is_not_ready(ready, monkeypatch, caplog):
    free = sqlite_file.ROOM - 1
    gate = ready.open_gate()
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": free}))
        assert_not_ready(ready, caplog, "has less than 100 MiB free beside it")
        assert_problem(ready.ask(gate, MANY), 503, "ledger-unavailable")
        assert_problem(ready.send("POST", "/v1/gates", CERTAIN), 503, "ledger-unavailable")
        assert_problem(ready.send("POST", "/v1/top", TOP), 503, "ledger-unavailable")
        view = ready.send("GET", f"/v1/gates/{gate}").json()
        assert (view["asked"], view["spent"]) == (0, "0"), "nothing is spent"
    assert ready.send("GET", "/v1/budget").json()["entries"][-1]["epsilon"] == CERTAIN["epsilon"]
    assert ready.ask(gate, MANY).json()["above"] is True


def test_a_look_is_kept_for_a_second(standing, monkeypatch):
    looks = []
    monkeypatch.setattr(readiness, "_look", lambda keeper: looks.append(time.monotonic()) or "")
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        assert standing.send("GET", "/v1/ready", token=None).status_code == 200
    assert len(looks) <= 2
    assert all(later - earlier >= readiness.KEPT_SECONDS for earlier, later in pairwise(looks))
