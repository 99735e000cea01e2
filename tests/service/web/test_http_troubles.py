"""What goes wrong behind the service: constant words, nothing overspent, and lines that have an end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import httpx
import pytest
from tests.support.serving import CERTAIN, MANY, NOBODY, TOP, UNLIMITED, Service, assert_problem, serving, visits

from sparsegate.errors import LedgerError, TableError
from sparsegate.ledger.account import exact_text

GATE = "/v1/gates/g-0123456789abcdef"


def test_an_unexpected_error_is_a_constant_500_and_the_log_has_its_class_alone(service, monkeypatch, caplog):
    def fail(**_: object) -> None:
        cell = "page /secret"
        raise RuntimeError(f"the engine saw {cell}")

    monkeypatch.setattr(service.keeper, "gates", fail)
    with caplog.at_level(logging.DEBUG):
        response = service.send("GET", "/v1/gates")
    problem = assert_problem(response, 500, "internal")
    assert (
        problem
        == service.app.openapi()["paths"]["/v1/gates"]["get"]["responses"]["500"]["content"][
            "application/problem+json"
        ]["examples"]["internal"]["value"]
    )
    ours = [record for record in caplog.records if record.name == "sparsegate.service"]
    assert [record.getMessage() for record in ours] == ["a request failed: RuntimeError"]
    assert "secret" not in caplog.text
    assert all(record.exc_info is None for record in caplog.records)


@pytest.mark.parametrize(("error", "kind"), [(LedgerError, "ledger-unavailable"), (TableError, "data-unavailable")])
def test_what_is_wrong_with_the_ledger_or_the_data_goes_to_the_log_alone(service, monkeypatch, caplog, error, kind):
    def fail() -> None:
        raise error("the ledger /srv/visits.ledger is damaged")

    monkeypatch.setattr(service.keeper, "budget", fail)
    with caplog.at_level(logging.ERROR):
        response = service.send("GET", "/v1/budget")
    assert_problem(response, 503, kind)
    assert "srv" not in response.text
    assert "/srv/visits.ledger" in caplog.text


def test_a_ledger_that_is_gone_is_503_for_everybody_and_for_nobody_500(service, tmp_path):
    (tmp_path / "visits.ledger").rename(tmp_path / "moved")
    for method, path, body in [("GET", "/v1/gates", None), ("POST", "/v1/gates", CERTAIN), ("GET", GATE, None)]:
        response = service.send(method, path, body)
        assert_problem(response, 503, "ledger-unavailable")
        assert str(tmp_path) not in response.text


def test_an_answer_is_lost_in_the_same_words_whether_it_was_still_counted_or_only_not_yet_written(
    tmp_path, data, monkeypatch
):
    def slowly(method, before, after):
        def slow(*arguments, **options):
            time.sleep(before)
            try:
                return method(*arguments, **options)
            finally:
                time.sleep(after)

        return slow

    with serving(tmp_path, data, delay=0.3) as service:
        store, count, settle = service.keeper._store, data.count, service.keeper._store.settle
        told = []
        for where in (MANY, NOBODY):
            for owner, name, method, before, after in [
                (data, "count", count, 0.6, 0),  # begins when D is over
                (data, "count", count, 0, 0.6),  # the engine is done, and D ends before the count is handed on
                (store, "settle", settle, 0.6, 0),
                (store, "settle", settle, 0, 0.6),
            ]:
                gate = service.open_gate()
                with monkeypatch.context() as patch:
                    patch.setattr(owner, name, slowly(method, before, after))
                    response = service.ask(gate, where)
                    assert_problem(response, 503, "outcome-lost")
                    told.append((response.content, dict(response.headers)))
                    time.sleep(0.5)  # until its thread has cleaned up
    assert all(each == told[0] for each in told)


@contextmanager
def held_question(service: Service, gate: str, monkeypatch) -> Iterator[tuple[Future[httpx.Response], list[str]]]:
    """A question that is being counted for as long as the block lasts, and the gates that are asked meanwhile."""
    begun, go, asked, ask = threading.Event(), threading.Event(), [], service.keeper.ask

    def held(caller, gate, where, **options):
        asked.append(gate)
        begun.set()
        assert go.wait(20)
        return ask(caller, gate, where, **options)

    monkeypatch.setattr(service.keeper, "ask", held)
    with ThreadPoolExecutor(1) as pool:
        question = pool.submit(service.ask, gate, MANY)
        try:
            assert begun.wait(20)
            yield question, asked
        finally:
            go.set()


def test_those_who_look_do_not_wait_behind_those_who_ask(tmp_path, data, monkeypatch):
    with serving(tmp_path, data, limits=replace(UNLIMITED, asks=1)) as service, ThreadPoolExecutor(1) as pool:
        first, second = service.open_gate(), service.open_gate()
        with held_question(service, first, monkeypatch) as (question, asked):
            behind = pool.submit(service.ask, second, MANY)
            assert service.send("GET", f"/v1/gates/{first}").status_code == 200
            assert asked == [first], "there is one place to count at"
        assert question.result().status_code == behind.result().status_code == 200
        assert asked == [first, second]


def test_a_line_at_a_gate_that_is_too_long_is_429_and_other_gates_are_asked(tmp_path, data, monkeypatch):
    with serving(tmp_path, data, limits=replace(UNLIMITED, waiting=0)) as service, ThreadPoolExecutor(1) as pool:
        gate, other = service.open_gate(), service.open_gate()
        with held_question(service, gate, monkeypatch) as (question, asked):
            busy = service.ask(gate, MANY)
            assert_problem(busy, 429, "gate-busy")
            assert busy.headers["retry-after"] == "1"
            elsewhere = pool.submit(service.ask, other, MANY)
            while other not in asked:
                assert not elsewhere.done()
                time.sleep(0.001)
        assert question.result().status_code == elsewhere.result().status_code == 200
        assert service.send("GET", f"/v1/gates/{gate}").json()["asked"] == 1


def test_a_data_file_that_vanishes_is_503_closes_its_gates_and_spends_nothing(tmp_path):
    with visits(tmp_path) as data, serving(tmp_path, data) as service:
        gate = service.open_gate()
        answered = service.ask(gate, MANY, key="before").json()
        cost = service.send("GET", f"/v1/gates/{gate}").json()["spent"]
        (tmp_path / "visits.csv").unlink()
        assert_problem(service.ask(gate, NOBODY), 503, "data-unavailable")
        assert_problem(service.send("POST", "/v1/gates", CERTAIN), 503, "data-unavailable")
        assert_problem(service.send("POST", "/v1/top", TOP), 503, "data-unavailable")
        assert exact_text(service.keeper.budget().spent.epsilon) == cost
        seen = service.send("GET", f"/v1/gates/{gate}").json()
        assert (seen["asked"], seen["closed"]) == (1, True)
        assert service.ask(gate, MANY, key="before").json()["above"] is answered["above"]
