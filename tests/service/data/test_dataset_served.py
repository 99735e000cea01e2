"""A table in PostgreSQL behind the service: over HTTP, through a restart, and with the database killed in mid-ask."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
from tests.support.postgres_cluster import Cluster, running_cluster
from tests.support.pretend_service import until
from tests.support.served_process import spawned
from tests.support.serving import MANY, NOBODY, TOP, Service, assert_problem, serving

from sparsegate.service.client.client import connect
from sparsegate.service.data.postgres_table import PostgresTable
from sparsegate.service.deadline import DelayPlan

SLOW = "country = 'slow'"
# Every place of a cell is tried against all of the pattern.
DEAR = " OR ".join(f"note LIKE '%b{'a' * 60}{place}%'" for place in range(30))


def filled(url: str) -> str:
    with psycopg.connect(url, autocommit=True) as session:
        session.execute(
            """CREATE TABLE visits AS SELECT i AS visitor, 'DE' AS country, '/home' AS page, repeat('a', 900) AS note
            FROM generate_series(1, 3000) AS i"""
        )
    return url


@pytest.fixture
def fragile() -> Iterator[Cluster]:
    """A cluster that may be killed."""
    with running_cluster() as cluster:
        yield cluster


def test_the_command_serves_a_table_of_a_database_and_goes_on_after_a_restart(cluster: Cluster, tmp_path: Path) -> None:
    url, ledger = filled(cluster.database()), tmp_path / "visits.ledger"
    arguments = (url, "--table", "visits", "--user", "visitor", "--ledger", ledger, "--delay", "off", "--budget", "400")
    with spawned(*arguments, "--new-ledger") as (_, service, said):
        token = re.search(r"sg_[\w-]{43}", said).group()  # type: ignore[union-attr]
        with connect(service, token) as owner:
            assert [column.name for column in owner.schema().schema.columns] == ["country", "page", "note"]
            gate = owner.open_gate(threshold=100, cutoff=3, epsilon=100)
            assert gate.ask(MANY)
            assert not gate.ask(NOBODY)
    with psycopg.connect(url, autocommit=True) as session:
        # The same rows, each in another place.
        session.execute("UPDATE visits SET page = page")
    with spawned(*arguments) as (_, service, _), connect(service, token) as owner:
        assert owner.gate(gate.id).ask(MANY)
        assert not owner.gate(gate.id).closed


def test_a_database_that_is_killed_in_mid_ask_costs_one_gate_and_says_nothing(
    fragile: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = filled(fragile.database())
    with PostgresTable.open(url, table="visits", user="visitor") as data, serving(tmp_path, data) as service:
        hurt, other = service.open_gate(), service.open_gate()
        assert service.ask(other, MANY).json()["above"]
        counted = data._count_sql
        monkeypatch.setattr(data, "_count_sql", lambda c: "SELECT pg_sleep(60)" if c.text == SLOW else counted(c))
        lost = assert_problem(asked_while_killed(service, hurt, fragile, url), 503, "outcome-lost")
        assert "postgres" not in str(lost).lower()
        # While it is down a question is refused before it spends anything.
        down = assert_problem(service.ask(other, MANY), 503, "data-unavailable")
        assert "cannot be read" in down["detail"]
        fragile.start()
        assert service.ask(other, MANY).json()["above"]
        assert service.send("GET", f"/v1/gates/{other}").json()["remaining"] == 1
        assert service.send("GET", f"/v1/gates/{hurt}").json()["closed"]


def asked_while_killed(service: Service, gate: str, cluster: Cluster, url: str) -> httpx.Response:
    answers: list[httpx.Response] = []
    asking = threading.Thread(target=lambda: answers.append(service.ask(gate, SLOW)))
    with psycopg.connect(url, autocommit=True) as session:
        asking.start()
        busy = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(60)'"
        until(lambda: session.execute(busy.encode()).fetchone() == (1,))
        cluster.kill()
    asking.join(30)
    return answers[0]


def test_top_counts_in_the_database_and_a_refusal_spends_nothing(cluster: Cluster, tmp_path: Path) -> None:
    with PostgresTable.open(filled(cluster.database()), table="visits", user="visitor") as data:
        with serving(tmp_path, data) as service:
            before = service.send("GET", "/v1/budget").json()
            assert_problem(service.send("POST", "/v1/top", {**TOP, "dbar": 9}), 422, "parameter")
            assert service.send("GET", "/v1/budget").json() == before
            told = service.send("POST", "/v1/top", TOP, key="once")
            assert [each["item"] for each in told.json()["items"]] == ["/home"]
            assert service.send("POST", "/v1/top", TOP, key="once").json() == told.json()
            assert service.send("GET", "/v1/budget").json() != before
            too_dear = DelayPlan(capacity=data.look_seconds() / 1000)
        (tmp_path / "dear").mkdir()
        with serving(tmp_path / "dear", data, pace=too_dear) as service:
            gate = service.open_gate()
            assert_problem(service.ask(gate, DEAR), 422, "condition")
            assert service.send("GET", f"/v1/gates/{gate}").json()["remaining"] == 3
