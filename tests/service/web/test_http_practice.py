"""Gates to practise on: the same addresses, made-up rows, and nothing of the service is touched."""

from __future__ import annotations

from contextlib import closing

from tests.support.serving import CERTAIN, MANY, assert_problem, serving

from sparsegate.conditions import Column, Kind, Schema, read_condition
from sparsegate.service import practice
from sparsegate.service.gates import KeyedRequest
from sparsegate.service.practice import Practice, practice_condition
from sparsegate.service.web.admission import Limits

GATES = "/v1/practice/gates"
EVERY_KIND = Schema(tuple(Column(f"it's {kind}", kind) for kind in Kind))


def opened(service, **changes):
    response = service.send("POST", GATES, CERTAIN | changes, token="analyst")
    assert response.status_code == 201, response.text
    return response


def test_an_analyst_opens_asks_and_closes_a_practice_gate_and_the_ledger_does_not_change(service):
    before = service.send("GET", "/v1/budget").json()
    response = opened(service, name="Trying")
    gate = response.json()
    assert response.headers["location"] == f"{GATES}/{gate['id']}"
    assert (gate["practice"], gate["name"]) == (True, "Trying")
    (country, *_) = service.send("GET", "/v1/practice/schema", token="analyst").json()["columns"]
    assert country["example"] == "\"country\" = 'country 1'"
    path = f"{GATES}/{gate['id']}"
    answer = service.send("POST", f"{path}/ask", {"where": country["example"]}, token="analyst").json()
    assert (answer["above"], answer["practice"]) == (True, True)
    assert abs(answer["estimate"] - 600) < 300
    (past,) = service.send("GET", f"{path}/answers", token="analyst").json()
    assert (past["where"], past["practice"]) == (country["example"], True)
    assert service.send("GET", path, token="analyst").json()["asked"] == 1
    assert [each["id"] for each in service.send("GET", GATES, token="analyst").json()] == [gate["id"]]
    assert service.send("DELETE", path, token="analyst").json()["closed"] is True
    assert service.send("GET", "/v1/budget").json() == before
    assert service.send("GET", "/v1/gates").json() == []
    assert service.send("GET", "/v1/activity").json() == []
    assert service.send("GET", "/v1/whoami", token="analyst").json()["quota"]["above"] == 0


def test_errors_are_the_real_ones_and_a_gate_of_one_world_is_unknown_in_the_other(service):
    gate, real = opened(service).json()["id"], service.open_gate()
    refused = {"where": "cuntry = 'DE'"}
    assert_problem(service.send("POST", f"{GATES}/{gate}/ask", refused, token="analyst"), 422, "condition")
    assert_problem(service.send("POST", GATES, CERTAIN, token="analyst", key=None), 400, "idempotency-key")
    assert_problem(service.send("POST", GATES, CERTAIN | {"epsilon": "1001"}, token="analyst"), 402, "budget-exceeded")
    for path in ("/v1/practice/budget", "/v1/practice/tokens", "/v1/practice/top", "/v1/practice/activity"):
        assert_problem(service.send("GET", path), 404, "not-found")
    assert_problem(service.ask(gate, MANY), 404, "unknown-gate")
    assert_problem(service.send("POST", f"{GATES}/{real}/ask", {"where": MANY}), 404, "unknown-gate")


def test_the_rows_are_made_from_the_schema_alone_and_every_example_divides_them():
    with closing(Practice(EVERY_KIND, "user")) as made:
        data = made.keeper().dataset
        for column in data.schema.columns:
            count = data.count(read_condition(practice_condition(column), data.schema))
            assert 400 < count < practice.PEOPLE - 100, column


def test_practice_starts_anew_when_it_is_full_and_whoever_is_asking_may_finish(monkeypatch):
    monkeypatch.setattr(practice, "MOST_GATES", 2)
    question = {"threshold": 5, "cutoff": 3, "epsilon": 10}
    with closing(Practice(EVERY_KIND, "row")) as made:
        first = made.keeper(opens=True)
        gate = first.open_gate(KeyedRequest(token=1, key="a"), **question)["id"]
        assert made.keeper(opens=True) is first, "there is room for one more"
        first.open_gate(KeyedRequest(token=1, key="b"), **question)
        assert made.keeper() is first
        second = made.keeper(opens=True)
        assert second is not first
        where = practice_condition(EVERY_KIND.columns[0])
        assert first.ask(KeyedRequest(token=1, key="c"), gate, where).number == 1
        second.open_gate(KeyedRequest(token=1, key="a"), **question | {"epsilon": 501})
        assert made.keeper(opens=True) is not second, "half of the budget is spent"
        monkeypatch.setattr(practice, "MOST_REQUESTS", 2)
        third = made.keeper()
        assert made.keeper() is third
        assert made.keeper() is not third


def test_workers_practise_on_the_same_gates_whatever_starts_one_of_them_has_missed(tmp_path, monkeypatch):
    monkeypatch.setattr(practice, "MOST_GATES", 1)
    busy, idle, late = (Practice(EVERY_KIND, "row", folder=tmp_path) for _ in range(3))
    question = {"threshold": 5, "cutoff": 3, "epsilon": 10}
    try:
        assert idle.keeper().gates() == []
        for start in range(4):  # what the idle one has open is thrown away meanwhile
            gate = busy.keeper(opens=True).open_gate(KeyedRequest(token=1, key=str(start)), **question)["id"]
        assert [[each["id"] for each in other.keeper().gates()] for other in (idle, late)] == [[gate], [gate]]
        assert sorted(each.name for each in tmp_path.iterdir()) == ["3", "4"]
    finally:
        for each in (busy, idle, late):
            each.close()


def test_practice_of_one_token_is_bounded_and_that_of_others_goes_on(tmp_path, data):
    with serving(tmp_path, data, limits=Limits(practice_rate=1e-3, practice_burst=2)) as service:
        sent = [service.send("GET", GATES, token="analyst").status_code for _ in range(3)]
        assert sent == [200, 200, 429]
        assert service.send("GET", GATES).status_code == 200
        assert service.send("GET", "/v1/gates", token="analyst").status_code == 200


def test_a_practice_gate_that_takes_long_to_make_costs_its_sender(tmp_path, data):
    """Each plan is new to the caches. Free work without a bound would make the answers of others late."""
    with serving(tmp_path, data, limits=Limits(share=1e-3)) as service:
        plans = [CERTAIN | {"cutoff": 20_000, "queries": 60_010 + more} for more in range(9)]
        sent = [service.send("POST", GATES, plan, token="analyst").status_code for plan in plans]
        assert (sent[0], sent[-1]) == (201, 429), sent
        assert service.send("GET", "/v1/gates", token="analyst").status_code == 200
        assert service.send("POST", GATES, CERTAIN).status_code == 201, "others go on"
