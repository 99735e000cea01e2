"""Ready: the ledger, the data and the disk; and the numbers, which tell what clients were told."""

from __future__ import annotations

import logging
import math
import re
import shutil
import time
from contextlib import closing

import httpx
import pytest
from tests.support.pretend_service import until
from tests.support.serving import CERTAIN, MANY, NOBODY, TOP, assert_problem, listening, serving, visits

from sparsegate.ledger import database as sqlite_file
from sparsegate.service.web import readiness
from sparsegate.service.web.server import listen


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


def test_a_ledger_that_cannot_be_written_or_data_that_has_changed_is_not_ready(ready, tmp_path, monkeypatch, caplog):
    database = ready.keeper.ledger.database

    def refuse(*_: object) -> None:
        raise database.trouble("cannot be written")

    with monkeypatch.context() as patch:
        patch.setattr(database, "_lock", refuse)
        assert_not_ready(ready, caplog, "cannot be written")
    with (tmp_path / "data" / "visits.csv").open("a") as file:
        file.write("301,DE,/home,5\n")
    assert_not_ready(ready, caplog, "the data has changed")


def test_a_disk_that_is_nearly_full_is_not_ready(ready, monkeypatch, caplog):
    free = sqlite_file.ROOM - 1
    gate = ready.open_gate()
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": free}))
        assert_not_ready(ready, caplog, "has less than 100 MiB free beside it")
        for path, body in ((f"/v1/gates/{gate}/ask", {"where": MANY}), ("/v1/gates", CERTAIN), ("/v1/top", TOP)):
            assert_problem(ready.send("POST", path, body), 503, "ledger-unavailable")
        view = ready.send("GET", f"/v1/gates/{gate}").json()
        assert (view["asked"], view["spent"]) == (0, "0"), "nothing is spent"
    assert ready.ask(gate, MANY).json()["above"] is True


def test_a_look_is_kept_for_a_second(standing, monkeypatch):
    looks, asked = [], 0
    monkeypatch.setattr(readiness, "_look", lambda keeper: looks.append(time.monotonic()) or "")
    until = time.monotonic() + 30
    while len(looks) < 2 and time.monotonic() < until:
        assert standing.send("GET", "/v1/ready", token=None).status_code == 200
        asked += 1
        time.sleep(0.02)
    assert asked > 3
    assert looks[1] - looks[0] >= readiness.KEPT_SECONDS


def numbers(text: str) -> dict[str, float]:
    """Every sample; and each line must be one, or one about the next."""
    found = {}
    for line in text.splitlines():
        if not line.startswith(("# HELP sparsegate_", "# TYPE sparsegate_")):
            name, value = re.fullmatch(r'(sparsegate_[a-z_]+(?:\{[a-z]+="[^"]*"\})?) ([0-9.e+-]+)', line).groups()
            found[name] = float(value)
    return found


def test_they_are_for_owners(service):
    got = service.send("GET", "/metrics")
    assert got.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert_problem(service.send("GET", "/metrics", token="analyst"), 403, "forbidden")
    assert_problem(service.send("GET", "/metrics", token=None), 401, "unauthenticated")


def test_a_zcdp_ledger_shows_its_rho(tmp_path, data):
    with serving(tmp_path, data, epsilon=(3, 1e-6)) as service:
        service.open_gate(epsilon=0.5)
        told = numbers(service.send("GET", "/metrics").text)
    parts = {part: told[f'sparsegate_budget_rho{{part="{part}"}}'] for part in ("allowed", "spent", "remaining")}
    assert parts["spent"] == pytest.approx(0.5 * math.tanh(0.25))
    assert parts["spent"] + parts["remaining"] == pytest.approx(parts["allowed"])
    assert [name for name in told if "budget_epsilon" in name] == ['sparsegate_budget_epsilon{part="allowed"}']


def test_they_count_what_clients_were_told_and_above_and_below_are_one(service, monkeypatch):
    gate = service.open_gate(cutoff=2)
    service.open_gate()
    for where in (MANY, NOBODY, "cuntry = 1", MANY, NOBODY):
        service.ask(gate, where)
    service.ask("g-0123456789abcdef", MANY)
    service.send("POST", f"/v1/gates/{gate}/ask", {"where": 1})
    monkeypatch.setattr(service.keeper._store, "settle", lambda *_, **__: 1 / 0)
    service.ask(service.open_gate(), MANY)
    assert "headroom" not in service.send("GET", "/metrics").text, "nobody asked in the last minute"
    service.keeper.pressure.overruns = 3
    monkeypatch.setattr(service.keeper.pressure, "headroom", lambda: 0.75)
    told = numbers(service.send("GET", "/metrics").text)
    outcomes = ("answered", "outcome-lost", "condition", "gate-closed", "unknown-gate", "status-422")
    asks = {f'sparsegate_asks_total{{outcome="{outcome}"}}': 1 for outcome in outcomes}
    asks['sparsegate_asks_total{outcome="answered"}'] = 3
    assert {name: value for name, value in told.items() if "asks_total" in name} == asks
    expected = {'requests_total{status="201"}': 3, "gates_open": 2, "overruns_total": 3, "delay_headroom_ratio": 0.75}
    expected |= {"delay_seconds": 0, 'budget_epsilon{part="allowed"}': 1000}
    expected |= {f'waiting{{at="{place}"}}': 0 for place in ("gates", "places", "reading")}
    assert told.items() >= {f"sparsegate_{name}": value for name, value in expected.items()}.items()
    spent, left = (told[f'sparsegate_budget_epsilon{{part="{part}"}}'] for part in ("spent", "remaining"))
    assert (200 < spent <= 300, spent + left) == (True, 1000)


def test_an_answer_that_has_not_left_changes_no_number(tmp_path, data):
    """Two services, one ABOVE and one BELOW under way: the same text, whatever it will be."""
    texts = []
    for where in (MANY, NOBODY):
        (tmp_path / where[-3]).mkdir()
        with serving(tmp_path / where[-3], data, delay=1.0) as service:
            gate = service.open_gate(cutoff=1)
            asked = service.portal.start_task_soon(
                service._send,
                "POST",
                f"/v1/gates/{gate}/ask",
                {"Authorization": f"Bearer {service.analyst}", "Idempotency-Key": "k"},
                {"json": {"where": where}},
            )
            while service.keeper._store.gate(gate).tally.unsettled or not service.keeper._store.gate(gate).tally.asked:
                pass
            assert not asked.done()
            texts.append(service.send("GET", "/metrics").text)
            assert asked.result().status_code == 200
            after = numbers(service.send("GET", "/metrics").text)
            assert after['sparsegate_asks_total{outcome="answered"}'] == 1
    assert texts[0] == texts[1]


def test_the_same_port_of_another_address_is_the_service(tmp_path, data):
    """And on the port of the metrics there is nothing else."""
    with closing(listen("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with serving(tmp_path, data, metrics_port=port) as service:
        headers = {"Authorization": f"Bearer {service.owner}"}
        with listening(service.app, port=port) as url:
            assert "sparsegate_info" in httpx.get(f"{url}/metrics").text
            for path in ("/", "/v1/health", "/v1/gates"):
                assert_problem(httpx.get(url + path, headers=headers), 404, "not-found")
        with listening(service.app, port=port, host="127.0.0.2") as url:
            assert_problem(httpx.get(f"{url}/metrics"), 401, "unauthenticated")
            assert httpx.get(f"{url}/v1/health").status_code == 200


def test_figures_that_could_not_be_written_once_are_written_again(tmp_path, monkeypatch):
    monkeypatch.setattr(readiness, "own_figures", lambda state: {"asks": state})
    folder = tmp_path / "there is no such folder yet"
    with closing(readiness.SharedFigures(folder, 2).written(5)):
        time.sleep(0.2)
        folder.mkdir()
        until(lambda: readiness.SharedFigures(folder, 1).others() == [{"asks": 5}])
