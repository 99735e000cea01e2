"""The numbers: who sees them, and that they tell what clients were told."""

from __future__ import annotations

import re
from contextlib import closing

import httpx
from tests.support.serving import MANY, NOBODY, assert_problem, listening, serving

from sparsegate.service.web.server import listen


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


def test_they_count_what_clients_were_told_and_above_and_below_are_one(service, monkeypatch):
    gate = service.open_gate(cutoff=2)
    service.open_gate()
    for where in (MANY, NOBODY, "cuntry = 1", MANY, NOBODY):
        service.ask(gate, where)
    service.ask("g-0123456789abcdef", MANY)
    service.send("POST", f"/v1/gates/{gate}/ask", {"where": 1})
    monkeypatch.setattr(service.keeper._store, "settle", lambda *_, **__: 1 / 0)
    service.ask(service.open_gate(), MANY)
    told = numbers(service.send("GET", "/metrics").text)
    asks = {name: value for name, value in told.items() if "asks_total" in name}
    assert asks == {
        f'sparsegate_asks_total{{outcome="{outcome}"}}': count
        for outcome, count in {
            "answered": 3,
            "outcome-lost": 1,
            "condition": 1,
            "gate-closed": 1,
            "unknown-gate": 1,
            "status-422": 1,
        }.items()
    }
    assert told['sparsegate_requests_total{status="201"}'] == 3
    assert told["sparsegate_gates_open"] == 2
    assert told["sparsegate_overruns_total"] == 0
    assert told["sparsegate_delay_seconds"] == 0
    assert told['sparsegate_budget_epsilon{part="allowed"}'] == 1000
    spent, left = (told[f'sparsegate_budget_epsilon{{part="{part}"}}'] for part in ("spent", "remaining"))
    assert 200 < spent <= 300
    assert spent + left == 1000
    assert {told[f'sparsegate_waiting{{at="{place}"}}'] for place in ("gates", "places", "reading")} == {0}


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


def test_they_tell_overruns_and_what_is_left_of_d(service, monkeypatch):
    pressure = service.keeper.pressure
    pressure.overruns = 3
    assert "headroom" not in service.send("GET", "/metrics").text, "nobody asked in the last minute"
    monkeypatch.setattr(pressure, "headroom", lambda: 0.75)
    told = numbers(service.send("GET", "/metrics").text)
    assert told["sparsegate_overruns_total"] == 3
    assert told["sparsegate_delay_headroom_ratio"] == 0.75


def test_on_a_port_of_its_own_there_is_nothing_else(tmp_path, data):
    with closing(listen("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with serving(tmp_path, data, metrics_port=port) as service, listening(service.app, port=port) as url:
        assert "sparsegate_info" in httpx.get(f"{url}/metrics").text
        for path in ("/", "/v1/health", "/v1/gates"):
            headers = {"Authorization": f"Bearer {service.owner}"}
            assert_problem(httpx.get(url + path, headers=headers), 404, "not-found")


def test_the_same_port_of_another_address_is_the_service(tmp_path, data):
    with closing(listen("127.0.0.2", 0)) as outside:
        port = outside.getsockname()[1]
    with (
        serving(tmp_path, data, metrics_port=port) as service,
        listening(service.app, port=port, host="127.0.0.2") as url,
    ):
        assert_problem(httpx.get(f"{url}/metrics"), 401, "unauthenticated")
        assert httpx.get(f"{url}/v1/health").status_code == 200
