"""The service over HTTP: who may do what, what comes back, and how it is described."""

from __future__ import annotations

import pytest
from tests.support.serving import CERTAIN, MANY, NOBODY, TOP, assert_problem

GATE = "/v1/gates/g-0123456789abcdef"


def test_an_owner_opens_a_gate_and_an_analyst_asks_it(service):
    opened = service.send("POST", "/v1/gates", CERTAIN)
    assert opened.status_code == 201
    gate = opened.json()["id"]
    assert opened.headers["location"] == f"/v1/gates/{gate}"
    answer = service.ask(gate, MANY).json()
    carried = {name: answer.pop(name) for name in ("estimate", "standard_error", "spent")}
    rest = {"gate": gate, "number": 1, "above": True, "remaining": 2, "closed": False, "practice": False}
    assert answer == rest
    assert carried["spent"] == service.send("GET", f"/v1/gates/{gate}").json()["spent"] > "0"
    assert type(carried["estimate"]) is int
    assert carried["standard_error"] == opened.json()["standard_error"] > 0
    assert service.ask(gate, NOBODY).json()["above"] is False
    seen = service.send("GET", f"/v1/gates/{gate}", token="analyst").json()
    assert (seen["asked"], seen["positives"], seen["remaining"], seen["closed"]) == (2, 1, 2, False)
    assert [gate["id"] for gate in service.send("GET", "/v1/gates", token="analyst").json()] == [gate]


def test_a_closed_gate_is_not_asked(service):
    gate = service.open_gate()
    assert service.send("DELETE", f"/v1/gates/{gate}").json()["because"] == "it was closed by hand"
    problem = assert_problem(service.ask(gate, MANY), 409, "gate-closed")
    assert "closed by hand" in problem["detail"]


def test_the_budget_is_a_sum_of_exact_decimals(service):
    for _ in range(3):
        service.open_gate(epsilon=0.1)
    statement = service.send("GET", "/v1/budget").json()
    assert statement["dataset"] == "visits"
    assert statement["spent"] == {"epsilon": "0.3", "delta": "0"}
    assert statement["remaining"] == {"epsilon": "999.7", "delta": "0"}
    assert [entry["kind"] for entry in statement["entries"]] == ["budget", "spend", "spend", "spend"]


def test_more_than_the_budget_is_402_and_spends_nothing(service):
    problem = assert_problem(service.send("POST", "/v1/gates", CERTAIN | {"epsilon": "1000.1"}), 402, "budget-exceeded")
    assert "nothing was spent" in problem["detail"]
    assert service.send("GET", "/v1/budget").json()["spent"]["epsilon"] == "0"


def test_the_schema_names_the_declared_columns_and_not_the_person(standing):
    served = standing.send("GET", "/v1/schema", token="analyst").json()
    assert (served["dataset"], served["unit"], served["delay"]) == ("visits", "user", 0)
    assert [column["name"] for column in served["columns"]] == ["country", "page", "seconds"]


def test_an_owner_gets_a_top_list_once_for_each_key(service):
    first = service.send("POST", "/v1/top", TOP | {"answers_epsilon": 50}, key="k")
    assert first.status_code == 200, first.text
    assert [row["item"] for row in first.json()["items"]] == ["/home"]
    assert abs(first.json()["items"][0]["estimate"] - 300) < 30
    again = service.send("POST", "/v1/top", TOP | {"answers_epsilon": "50.0", "epsilon": 100}, key="k")
    assert again.json() == first.json()
    assert service.send("GET", "/v1/budget").json()["spent"]["epsilon"] == "150"
    assert_problem(service.send("POST", "/v1/top", TOP, key="k"), 409, "key-reused")


def test_an_owner_gets_all_above_a_bar(service):
    service.keeper.ledger.raise_budget(budget=1000, budget_delta=0.1, why="a test")
    bar = {"item": "page", "above": 200, "epsilon": 20, "delta": 1e-6, "domain": "observed", "max_items_per_user": 2}
    found = service.send("POST", "/v1/top", bar).json()
    assert ([row["item"] for row in found["items"]], found["record"]["method"]) == (["/home"], "partition-selection")
    assert 100 < found["record"]["never_below"] < found["record"]["always_from"] < 300
    for wrong in (bar | {"count": 3}, bar | {"above": None}):
        assert_problem(service.send("POST", "/v1/top", wrong), 422, "parameter")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("POST", "/v1/gates", CERTAIN), ("DELETE", GATE, None), ("GET", "/v1/budget", None), ("POST", "/v1/top", TOP)],
)
def test_an_analyst_may_not_do_what_is_the_owners(standing, method, path, body):
    assert_problem(standing.send(method, path, body, token="analyst"), 403, "forbidden")
    assert standing.send("GET", "/v1/budget").json()["spent"]["epsilon"] == "0"


PRIVATE = [
    ("GET", "/v1/gates"),
    ("POST", "/v1/gates"),
    ("GET", GATE),
    ("DELETE", GATE),
    ("POST", f"{GATE}/ask"),
    ("GET", f"{GATE}/answers"),
    ("GET", "/v1/budget"),
    ("POST", "/v1/top"),
    ("GET", "/v1/schema"),
    ("GET", "/v1/x"),
]


@pytest.mark.parametrize(("method", "path"), PRIVATE)
def test_nothing_under_v1_is_told_without_a_token_not_even_whether_a_body_is_right(standing, method, path):
    for token in (None, "", "sg_" + "A" * 43):
        response = standing.send(method, path, token=token, content=b"{", key=None)
        assert_problem(response, 401, "unauthenticated")
        assert response.headers["www-authenticate"] == "Bearer"


def test_every_operation_that_is_described_needs_a_token_except_health_and_readiness(standing):
    described = {
        (method.upper(), path) for path, operations in standing.app.openapi()["paths"].items() for method in operations
    }
    for method, path in sorted(described):
        response = standing.send(method, path.replace("{id}", "g-0123456789abcdef"), token=None)
        assert (response.status_code == 401) == (path not in ("/v1/health", "/v1/ready")), (method, path)


def test_a_token_in_another_scheme_is_none(standing):
    header = {"Authorization": f"Basic {standing.owner}"}
    assert_problem(standing.send("GET", "/v1/gates", token=None, headers=header), 401, "unauthenticated")


def test_a_revoked_token_is_turned_away(service):
    service.tokens.revoke("anna")
    assert_problem(service.send("GET", "/v1/gates", token="analyst"), 401, "unauthenticated")


def test_a_repeated_request_gets_the_first_answer_and_costs_nothing_more(service):
    first = service.send("POST", "/v1/gates", CERTAIN, key="k")
    assert service.send("POST", "/v1/gates", CERTAIN | {"epsilon": 100.0}, key="k").json() == first.json()
    assert service.send("GET", "/v1/budget").json()["spent"]["epsilon"] == "100"
    gate = first.json()["id"]
    answers = [service.ask(gate, MANY, key="k").json() for _ in range(3)]
    assert {answer["number"] for answer in answers} == {1}
    assert service.send("GET", f"/v1/gates/{gate}").json()["asked"] == 1


def test_a_key_with_another_body_is_409(service):
    gate = service.open_gate()
    service.ask(gate, MANY, key="k")
    assert_problem(service.ask(gate, NOBODY, key="k"), 409, "key-reused")
    assert service.ask(gate, NOBODY, key="k", token="owner").status_code == 200, "another token has keys of its own"


@pytest.mark.parametrize("path", ["/v1/health", "/v1/gates", "/v1/nothing", "/openapi.json", "/nothing", "/"])
def test_every_response_carries_the_safe_headers(standing, path):
    for token in ("owner", None):
        headers = standing.send("GET", path, token=token).headers
        assert headers["content-security-policy"].startswith("default-src 'self'; ")
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == ("no-store" if path.startswith("/v1") else "no-cache")


def test_the_description_has_an_example_for_every_request_response_and_problem(standing):
    description = standing.send("GET", "/openapi.json", token=None).json()
    schemas = description["components"]["schemas"]
    assert "HTTPValidationError" not in schemas
    operations = [each for path in description["paths"].values() for each in path.values()]
    assert len(operations) == 26
    for operation in operations:
        bodies = [operation["requestBody"]["content"]["application/json"]] if "requestBody" in operation else []
        for status, response in operation["responses"].items():
            if status < "4":
                bodies.append(response["content"]["application/json"])
                continue
            (problem,) = response["content"].values()
            assert list(response["content"]) == ["application/problem+json"]
            assert problem["examples"]
            for example in problem["examples"].values():
                assert example["value"]["status"] == int(status)
        for body in bodies:
            schema = body["schema"]
            name = schema.get("$ref", schema.get("items", {}).get("$ref")).rpartition("/")[2]
            assert schemas[name]["examples"], name
    assert all("examples" in schema for schema in schemas.values())


def test_the_examples_of_requests_are_requests_that_the_service_takes(service):
    schemas = service.app.openapi()["components"]["schemas"]
    (gate,), (question,), (top,) = (schemas[name]["examples"] for name in ("OpenGate", "AskGate", "AskTop"))
    opened = service.send("POST", "/v1/gates", gate)
    assert opened.status_code == 201
    assert service.ask(opened.json()["id"], question["where"]).status_code == 200
    assert service.send("POST", "/v1/top", top).status_code == 200
