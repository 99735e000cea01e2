"""POST /v1/refresh: who may, what it answers, and that nobody who asks meanwhile loses an answer."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.pretend_service import until
from tests.support.serving import CERTAIN, MANY, Service, assert_problem, serving, visits, write_visits

ADULT = "adult = 'yes'"


def refresh(service: Service, *, agreed: bool = False, **more: Any) -> httpx.Response:
    return service.send("POST", "/v1/refresh", {"close_gates": agreed}, **more)


def change(folder: Path) -> None:
    file = write_visits(folder)
    rows = file.read_text().splitlines()
    file.write_text("\n".join([f"{rows[0]},adult", *(f"{row},yes" for row in rows[1:])]) + "\n")


def test_an_owner_has_the_data_read_anew(tmp_path: Path) -> None:
    with visits(tmp_path) as data, serving(tmp_path, data) as service:
        assert_problem(refresh(service, token="analyst"), 403, "forbidden")
        gate = service.open_gate()
        assert refresh(service).json() == {"changed": False, "delay": 0.0}
        change(tmp_path)
        refused = assert_problem(refresh(service), 422, "parameter")
        assert (refused["pointer"], refused["parameter"]) == ("/close_gates", "close_gates")
        practice = service.send("POST", "/v1/practice/gates", CERTAIN).json()["id"]
        assert refresh(service, agreed=True).json()["changed"]
        until(lambda: data._closed)
        assert_problem(service.ask(gate, MANY), 409, "gate-closed")
        assert service.ask(service.open_gate(), ADULT).json()["above"]
        assert "adult" in str(service.send("GET", "/v1/schema").json()["columns"])
        assert service.send("GET", "/v1/ready", token=None).status_code == 200
        # There is practice on the new column, too.
        assert_problem(service.send("GET", f"/v1/practice/gates/{practice}"), 404, "unknown-gate")
        service.app.state.refresh.close()


def test_a_copy_is_closed_when_the_last_who_counts_in_it_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer itself is lost, whatever it was: its gate was closed meanwhile."""
    with visits(tmp_path) as data, serving(tmp_path, data) as service:
        gate, counting, go_on = service.open_gate(), threading.Event(), threading.Event()
        honest, counts = data.count, []

        def slow(condition: Any) -> int:
            counting.set()
            assert go_on.wait(10)
            counts.append(honest(condition))
            return counts[0]

        monkeypatch.setattr(data, "count", slow)
        answers: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: answers.append(service.ask(gate, MANY)))
        asking.start()
        assert counting.wait(10)
        change(tmp_path)
        assert refresh(service, agreed=True).json()["changed"]
        time.sleep(0.3)
        go_on.set()
        asking.join(10)
        assert counts == [300]
        assert_problem(answers[0], 503, "outcome-lost")
        until(lambda: data._closed)
        service.app.state.refresh.close()


def test_the_data_is_read_anew_every_so_often(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with visits(tmp_path) as data, serving(tmp_path, data) as service:
        again = service.app.state.refresh
        service.open_gate()
        change(tmp_path)
        again.every(0.05, close_gates=False)
        until(lambda: "was not read anew: close_gates must be true" in caplog.text)
        assert service.app.state.service.keeper is service.keeper
        again.every(0.05, close_gates=True)
        until(lambda: service.app.state.service.keeper is not service.keeper)
        again.close()
