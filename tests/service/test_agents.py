"""The MCP server in this process: what is paid and who agrees, what an agent is told, and when."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult
from tests.support.serving import MANY, NOBODY, TOP, listening, serving, visits

import sparsegate as sg
from sparsegate.service.agents import LOST, VOID, AgentServer, ServiceTable, SessionTable, http_app
from sparsegate.service.client import connect

PEOPLE = {"page": ["/home"] * 300 + ["/pay"] * 100, "visitor": [*range(300), *range(100)], "country": ["DE"] * 400}
CERTAIN = {"threshold": 150, "cutoff": 2, "epsilon": 100}
"""A gate with so little noise that its answers are sure, up to a chance of less than 1e-100."""
ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])  # asked during a call, and between two

Person = Callable[[Any, Any], Awaitable[ElicitResult]]


class Clock:
    """A time that only moves when somebody waits, or works."""

    def __init__(self) -> None:
        self.now = 100.0

    async def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        await anyio.lowlevel.checkpoint()
        self.now += seconds


@contextmanager
def server(*, confirm_above: float = 1000, delay: float = 1.0) -> Iterator[AgentServer]:
    with sg.session(PEOPLE, user="visitor", budget=1000, domains={"page": ["/home", "/pay", "/jobs"]}) as asked:
        clock = Clock()
        with closing(SessionTable(asked, delay=delay)) as table:
            made = AgentServer(table, confirm_above=confirm_above, clock=lambda: clock.now, sleep=clock.sleep)
            made.test_clock = clock  # type: ignore[attr-defined]
            yield made


def run(made: AgentServer, *calls: tuple[str, dict[str, Any]], mode: str = "auto", person: Person | None = None) -> Any:
    """The results of tools, one after another: a dict, or the text of a refusal."""

    async def main() -> list[Any]:
        async with Client(made, mode=mode, elicitation_callback=person) as client:
            return [_result(await client.call_tool(name, arguments)) for name, arguments in calls]

    results = anyio.run(main)
    return results[0] if len(calls) == 1 else results


def _result(result: Any) -> Any:
    return result.content[0].text if result.is_error else result.structured_content


def charged(made: AgentServer) -> list[str]:
    return [entry.kind.value for entry in made.table.statement().entries][1:]


def answering(action: str, content: dict[str, Any] | None = None) -> tuple[Person, list[str]]:
    questions: list[str] = []

    async def person(_: Any, question: Any) -> ElicitResult:
        questions.append(question.message)
        return ElicitResult(action=action, content=content)  # type: ignore[arg-type]

    return person, questions


@ERAS
def test_whoever_does_not_agree_pays_nothing(mode: str) -> None:
    """A person is told the cost, and asked before anything is spent."""
    selection = {"item": "page", "count": 1, "epsilon": 100}
    with server(confirm_above=0.1) as made:
        for action, content in (("decline", None), ("cancel", None), ("accept", {"spend": False}), ("accept", {})):
            person, questions = answering(action, content)
            calls = ("open_gate", {"terms": CERTAIN}), ("top", {"terms": selection})
            assert all(isinstance(text, str) for text in run(made, *calls, mode=mode, person=person))
            assert (charged(made), len(questions)) == ([], 2)
        person, questions = answering("accept", {"spend": True})
        opened = run(made, ("open_gate", {"terms": CERTAIN}), mode=mode, person=person)
        assert (opened["gate"], opened["cost"]) == ("gate-1", "epsilon 100")
        assert charged(made) == ["spend"]
    (question,) = questions
    assert question.startswith("Spend epsilon 100 of the budget of table? epsilon 1000 is left. A gate: threshold 150,")


@ERAS
def test_a_client_that_cannot_ask_must_say_the_cost_back_and_only_after_it_was_told(mode: str) -> None:
    asked = {"terms": CERTAIN}
    sure = asked | {"confirm": "epsilon 100"}
    with server(confirm_above=0.1) as made:
        guessed = run(made, ("open_gate", sure), mode=mode)
        assert "nothing was spent: this costs epsilon 100, and epsilon 1000 is left" in guessed
        assert charged(made) == []
        other = {"terms": CERTAIN | {"epsilon": 99}, "confirm": "epsilon 100"}
        results = run(made, ("open_gate", other), ("open_gate", asked | {"confirm": "epsilon 10"}), mode=mode)
        assert all("nothing was spent" in text for text in results)
        assert run(made, ("open_gate", sure), mode=mode)["gate"] == "gate-1"
        assert "nothing was spent" in run(made, ("open_gate", sure), mode=mode)  # what was agreed to is used up
        assert charged(made) == ["spend"]


def test_up_to_the_limit_nobody_is_asked_but_a_delta_is_always_asked_about() -> None:
    person, questions = answering("decline")
    selection = {"item": "page", "count": 1, "epsilon": 0.1}
    with server(confirm_above=0.1) as made:
        assert run(made, ("top", {"terms": selection}), person=person)["cost"] == "epsilon 0.1"
        more = ("top", {"terms": selection | {"answers_epsilon": 0.01}})
        assert "did not agree" in run(made, more, person=person)
        assert (charged(made), len(questions)) == (["spend"], 1)
    observed = selection | {"domain": "observed", "delta": 1e-6, "max_items_per_user": 1}
    with sg.session(PEOPLE, user="visitor", budget=(9, 1e-6)) as asked, closing(SessionTable(asked, delay=1)) as table:
        made = AgentServer(table, confirm_above=0.1, sleep=Clock().sleep)
        assert "did not agree" in run(made, ("top", {"terms": observed}), person=person)
        assert charged(made) == []


SMALL = {"terms": {"item": "page", "count": 1, "epsilon": 0.09}}


@ERAS
def test_many_small_releases_are_asked_about_by_their_sum(mode: str) -> None:
    person, questions = answering("accept", {"spend": True})
    with server(confirm_above=0.2) as made:
        run(made, *[("top", SMALL)] * 6, mode=mode, person=person)
        assert charged(made) == ["spend"] * 6
        assert len(questions) == 2  # the third, and the third after it
        assert "after epsilon 0.18 that nobody was asked about" in questions[1]
        declines, _ = answering("decline")
        results = run(made, *[("top", SMALL)] * 9, mode=mode, person=declines)
        assert [isinstance(result, str) for result in results] == [False] * 2 + [True] * 7
    with server(confirm_above=0.2) as made:
        together = at_once(made, *[("top", SMALL)] * 9)
        assert sorted(isinstance(result, str) for result in together) == [False] * 2 + [True] * 7
        assert charged(made) == ["spend"] * 2


def at_once(made: AgentServer, *calls: tuple[str, dict[str, Any]], **options: Any) -> list[Any]:
    """The results of tools that are all called at once."""
    results: list[Any] = []

    async def main() -> None:
        async with Client(made, **options) as client, anyio.create_task_group() as group:

            async def call(name: str, arguments: dict[str, Any]) -> None:
                results.append(_result(await client.call_tool(name, arguments)))

            for name, arguments in calls:
                group.start_soon(call, name, arguments)

    anyio.run(main)
    return results


def test_a_word_that_is_sent_again_does_not_pay_again() -> None:
    """One person's yes to one question, replayed: at once, afterwards, after the gate went back whole, elsewhere."""
    results: list[Any] = []

    async def main(made: AgentServer) -> None:
        async with Client(made, elicitation_callback=answering("decline")[0]) as client:
            asked = await client.session.call_tool("open_gate", {"terms": CERTAIN}, allow_input_required=True)
            yes = {key: ElicitResult(action="accept", content={"spend": True}) for key in asked.input_requests}

            async def again(terms: dict[str, Any] = CERTAIN, tool: str = "open_gate") -> None:
                state = {"input_responses": yes, "request_state": asked.request_state}
                try:
                    result = await client.session.call_tool(tool, {"terms": terms}, **state, allow_input_required=True)
                    results.append(_result(result) if hasattr(result, "content") else "asks again")
                except MCPError as error:
                    results.append(str(error))

            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(again)
            await again()
            await client.call_tool("close_gate", {"gate": "gate-1"})
            await again()
            await again(CERTAIN | {"epsilon": 900})
            await again({"item": "page", "count": 1, "epsilon": 100}, "top")

    with server(confirm_above=0.1) as made:
        anyio.run(main, made)
        assert charged(made) == ["spend", "refund"]
    assert [isinstance(result, dict) for result in results] == [True] + [False] * 6
    assert results[1:5] == [f"Error executing tool open_gate: {VOID}"] * 2 + ["asks again"] * 2


def test_an_agent_cannot_agree_in_the_place_of_a_person() -> None:
    """Nor is a person asked about what the budget cannot pay, or a plan waited for that takes minutes."""
    person, questions = answering("decline")
    forged = {"agreement": {"action": "accept", "data": {"spend": True}}, "price": {"cost": 0}, "unasked": True}
    endless = {"threshold": 1, "cutoff": 10**6, "epsilon": 1, "queries": 2 * 10**6}
    with server(confirm_above=0.1) as made:
        for sent in (forged, {"confirm": "epsilon 100"}, {"terms": CERTAIN | {"spend": True}}):
            assert isinstance(run(made, ("open_gate", {"terms": CERTAIN} | sent), person=person), str)
        dear = run(made, ("open_gate", {"terms": CERTAIN | {"epsilon": 1001}}), person=person)
        assert "epsilon 1001 is more than the ledger" in dear
        for refused in run(made, ("preview", {"terms": endless}), ("open_gate", {"terms": endless}), person=person):
            assert "cutoff must be at most" in refused
        assert charged(made) == []
    assert len(questions) == 2


def test_no_text_of_an_agent_makes_a_question_look_like_another() -> None:
    person, questions = answering("decline")
    lie = "page\n\nSpend epsilon 0.001? \u202e" + 100 * "x"
    with server(confirm_above=0.1) as made:
        run(made, ("top", {"terms": {"item": lie, "count": 1, "epsilon": 100, "domain": ["x"]}}), person=person)
    assert questions[0].startswith("Spend epsilon 100 of the budget of table? epsilon 1000 is left. A selection: item ")
    assert questions[0].isprintable()
    assert 60 * "x" not in questions[0]


def test_on_a_zcdp_ledger_a_cost_is_said_in_rho_too_and_is_no_less_than_what_is_charged() -> None:
    person, questions = answering("accept", {"spend": True})
    with (
        sg.session(PEOPLE, user="visitor", budget=(9, 1e-6), domains={"page": ["/home", "/pay"]}) as asked,
        closing(SessionTable(asked, delay=1)) as table,
    ):
        made = AgentServer(table, confirm_above=0.1, sleep=Clock().sleep)
        counted = {"item": "page", "count": 1, "epsilon": 0.5, "answers_epsilon": 0.5, "max_items_per_user": 1}
        run(made, ("open_gate", {"terms": CERTAIN | {"epsilon": 1}}), ("top", {"terms": counted}), person=person)
        for question, entry in zip(questions, made.table.statement().entries[1:], strict=True):
            said = re.search(r"^Spend epsilon 1 \(at most rho ([\d.]+)\)", question)
            assert said
            assert 0 < entry.amount.rho <= Fraction(said[1])


def test_questions_cost_nothing_more_until_the_gate_closes_and_unused_epsilon_goes_back() -> None:
    conditions = ["page = '/pay'", "page = '/home'", "pgae = 'x'", "country = 'DE'", "page = '/home'"]
    opening = ("open_gate", {"terms": CERTAIN})
    with server() as made:
        opened, asked, again, left, _, _, _, described = run(
            made,
            opening,
            ("ask", {"gate": "gate-1", "where": conditions}),
            ("ask", {"gate": "gate-1", "where": ["page = '/pay'"]}),
            ("remaining", {}),
            opening,
            opening,
            ("close_gate", {"gate": "gate-2"}),
            ("describe", {}),
        )
        assert [line["answer"] for line in asked["answers"]] == ["BELOW", "ABOVE", None, "ABOVE", None]
        assert "must name a declared column" in asked["answers"][2]["refused"]
        assert asked["answers"][4]["refused"] == "not asked"
        assert abs(asked["answers"][1]["estimate"] - 300) < 50
        assert (asked["remaining"], asked["closed"], again["closed"]) == (0, True, True)
        assert "this gate is closed" in again["answers"][0]["refused"]
        assert left["spent"] == opened["cost"] == "epsilon 100"
        assert [(line["gate"], line["threshold"]) for line in described["gates"]] == [("gate-3", 150)]
        made.table.close()
        assert charged(made) == ["spend", "spend", "spend", "refund", "refund"]
        assert "there is no such gate" in run(made, ("ask", {"gate": "gate-9", "where": ["page = '/pay'"]}))
        assert "1 to 50" in run(made, ("ask", {"gate": "gate-1", "where": []}))


def test_a_private_error_is_one_constant_sentence_and_reaches_neither_agent_nor_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Answers before it are paid for, and are not lost with it."""
    caplog.set_level(logging.DEBUG)
    counted = iter([1, "SECRET-CELL", 1, 300, "closed"])

    def count(*_: object) -> int:
        number = next(counted)
        if number == "closed":  # by somebody else, meanwhile
            gate.close()
        elif isinstance(number, str):
            raise RuntimeError(number)
        return 1 if number == "closed" else number

    def broken(**_: object) -> Any:
        raise RuntimeError("SECRET-CELL")

    with server() as made:
        run(made, ("open_gate", {"terms": CERTAIN}))
        gate = made.table.opened["gate-1"]
        monkeypatch.setattr(gate, "_count", count)
        three = ("ask", {"gate": "gate-1", "where": ["1 = 1"] * 3})
        asked = run(made, three)
        assert [(line["answer"], line["refused"]) for line in asked["answers"]] == [
            ("BELOW", None),
            (None, LOST),
            (None, "not asked"),
        ]
        next(counted)
        closed = run(made, three)["answers"]
        assert [line["answer"] for line in closed] == ["ABOVE", None, None]
        assert "this gate is closed" in closed[1]["refused"]
        monkeypatch.setattr(made.table, "top", broken)
        told = run(made, ("top", {"terms": {"item": "page", "count": 1, "epsilon": 1}}))
        assert told == f"Error executing tool top: {LOST}"
        monkeypatch.setattr(made.table, "statement", broken)
        results = run(made, ("statement", {}), ("remaining", {}), ("top", {"terms": {"item": "page", "count": 1}}))

        async def read() -> str:
            async with Client(made) as client:
                with pytest.raises(Exception, match="the reason may be private") as refused:
                    await client.read_resource("sparsegate://statement")
                return str(refused.value)

        everything = json.dumps([asked, told, results, anyio.run(read)])
    assert "SECRET" not in everything + caplog.text


def test_a_private_call_leaves_after_a_whole_multiple_of_the_delay_whatever_came_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with server(delay=2.0) as made:
        clock: Clock = made.test_clock  # type: ignore[attr-defined]
        run(made, ("open_gate", {"terms": CERTAIN}))
        works: list[tuple[float, Any]] = []

        def count(*_: object) -> int:
            seconds, outcome = works.pop(0)
            clock.now += seconds
            if isinstance(outcome, Exception):
                raise outcome
            return int(outcome)

        def lasts(*calls: tuple[str, dict[str, Any]]) -> float:
            began = clock.now
            run(made, *calls)
            return clock.now - began

        monkeypatch.setattr(made.table.opened["gate-1"], "_count", count)
        monkeypatch.setattr(made.table, "top", lambda **_: count())
        asked = ("ask", {"gate": "gate-1", "where": ["1 = 1"]})
        chosen = ("top", {"terms": {"item": "page", "count": 1, "epsilon": 1}})
        refusal = sg.ParameterError("where", "must be another")
        for call, work, multiple in (
            (asked, (0.0, 1), 2),
            (asked, (2.0, 1), 2),
            (asked, (2.1, 1), 4),
            (asked, (0.3, refusal), 2),
            (asked, (4.1, RuntimeError("x")), 6),
            (chosen, (0.3, sg.TableError("x")), 2),
            (chosen, (2.3, RuntimeError("x")), 4),
        ):
            works.append(work)
            assert lasts(call) == pytest.approx(multiple, abs=1e-9), (call, work)
        works = [(seconds, 1) for seconds in (0.1, 1.9, 2.1, 0.5)]
        several = ("ask", {"gate": "gate-1", "where": ["1 = 1"] * 4})
        assert lasts(several) == pytest.approx(2 + 2 + 4 + 2), "or their sum would tell what none of them does"
        assert "must have 1 to 25 conditions" in run(made, ("ask", {"gate": "gate-1", "where": ["1 = 1"] * 26}))
        assert lasts(("remaining", {}), ("describe", {}), ("preview", {"terms": CERTAIN})) == 0


def test_a_cancelled_call_ends_its_count_counts_what_it_drew_and_leaves_as_late_as_any(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with server(delay=2.0) as made:
        clock: Clock = made.test_clock  # type: ignore[attr-defined]
        run(made, ("open_gate", {"terms": CERTAIN}))
        began_to_count, go_on = threading.Event(), threading.Event()
        counts = iter([300, 300])

        def count(*_: object) -> int:
            began_to_count.set()
            assert go_on.wait(20)
            clock.now += 0.7
            return next(counts)

        monkeypatch.setattr(made.table.opened["gate-1"], "_count", count)

        async def main() -> tuple[float, int, Any]:
            async with Client(made, mode="legacy") as client:
                began = clock.now
                async with anyio.create_task_group() as group:
                    group.start_soon(client.call_tool, "ask", {"gate": "gate-1", "where": ["1 = 1", "1 = 1"]})
                    await anyio.to_thread.run_sync(began_to_count.wait)
                    group.cancel_scope.cancel()
                await client.list_tools()  # by now the server has heard of it
                go_on.set()
                left = _result(await client.call_tool("remaining", {}))  # waits for the turn
                return clock.now - began, made.table.opened["gate-1"].remaining, left

        lasted, remaining, left = anyio.run(main)
        assert lasted == pytest.approx(2.0)
        assert remaining == 1  # of the two questions the first was drawn, and the second not asked
        assert left["spent"] == "epsilon 100"


def test_calls_at_once_take_turns_and_a_free_one_waits_for_a_private_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with server() as made:
        inside = threading.Lock()

        def one_at_a_time(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*values: Any, **named: Any) -> Any:
                assert inside.acquire(blocking=False)
                try:
                    return function(*values, **named)
                finally:
                    inside.release()

            return call

        for name in ("open_gate", "top", "statement", "cost"):
            monkeypatch.setattr(made.table, name, one_at_a_time(getattr(made.table, name)))
        top = {"terms": {"item": "page", "count": 1, "epsilon": 1}}
        results = at_once(made, *[("open_gate", {"terms": CERTAIN}), ("remaining", {}), ("top", top)] * 4)
        assert [type(result) for result in results] == [dict] * 12
        assert charged(made) == ["spend"] * 8
        assert sorted(made.table.opened) == ["gate-1", "gate-2", "gate-3", "gate-4"]


@pytest.mark.parametrize("domain", ["pages.csv", ["/home", 1.5], {"path": "pages.csv"}])
def test_an_agent_cannot_have_a_file_of_this_machine_read_as_candidates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, domain: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pages.csv").write_text("page\n/home\n/secret\n")
    with server() as made:
        asked = {"terms": {"item": "page", "count": 1, "epsilon": 1, "domain": domain}}
        assert isinstance(run(made, ("top", asked)), str)
        assert charged(made) == []


def test_tools_say_what_they_take_and_give_and_resources_and_prompt_hold_no_data(tmp_path: Path) -> None:
    pages = tmp_path / "pages.csv"
    pages.write_text("page\n/home\n/pay\n/jobs\n")

    async def main(made: AgentServer) -> tuple[Any, dict[str, Any], str]:
        async with Client(made) as client:
            resources = (await client.list_resources()).resources
            read = {each.name: (await client.read_resource(each.uri)).contents[0] for each in resources}
            guide = (await client.get_prompt("guide")).messages[0].content
            return (await client.list_tools()).tools, read, guide.text  # type: ignore[union-attr]

    domains = {"page": pages, "visitor": 300}
    with sg.session(PEOPLE, user="visitor", budget=9, domains=domains) as asked:
        made = AgentServer(SessionTable(asked, delay=1), confirm_above=0.1)
        tools, read, guide = anyio.run(main, made)
        preview = run(made, ("preview", {"terms": {"item": "page", "count": 1}, "within": 10}))
    free = {tool.name for tool in tools if tool.annotations.read_only_hint}
    assert free == {"describe", "preview", "remaining", "statement"}
    assert {tool.name for tool in tools} - free == {"top", "open_gate", "ask", "close_gate"}
    assert [tool.name for tool in tools if not (tool.description and tool.output_schema)] == []
    assert json.loads(read["columns"].text)["columns"] == dict.fromkeys(["page", "visitor", "country"], "object")
    listed = {"page": {"candidates": ["/home", "/pay", "/jobs"], "number": 3}, "visitor": {"from": 0, "to": 299}}
    assert json.loads(read["domains"].text) == listed
    assert json.loads(read["statement"].text)["remaining"]["epsilon"] == "9"
    assert "ABOVE" in guide
    assert preview["accuracy"]["within"] <= 10


def test_over_a_service_its_own_rules_hold_and_gates_that_were_opened_here_are_closed(tmp_path: Path) -> None:
    top, gate = {**TOP, "epsilon": 100}, {"threshold": 100, "cutoff": 3, "epsilon": 100}
    with visits(tmp_path) as data, serving(tmp_path, data) as service, listening(service.app) as url:
        others = service.open_gate()
        with connect(url, service.owner) as client:
            with closing(ServiceTable(client)) as table:
                person, questions = answering("accept", {"spend": True})
                described, opened, chosen, asked, refused = run(
                    AgentServer(table, confirm_above=0.1),
                    ("describe", {}),
                    ("open_gate", {"terms": gate}),
                    ("top", {"terms": top}),
                    ("ask", {"gate": others, "where": [MANY, NOBODY, "x = 1"]}),
                    ("top", {"terms": {"item": "page", "count": 1, "epsilon": 1}}),
                    person=person,
                )
                assert described["columns"] == {"country": "text", "page": "text", "seconds": "text"}
                assert [line["gate"] for line in described["gates"]] == [others]
                assert (opened["cost"], chosen["cost"], len(questions)) == ("epsilon 100", "epsilon 100", 2)
                assert [row["item"] for row in chosen["items"]] == ["/home"]
                assert [line["answer"] for line in asked["answers"]] == ["ABOVE", "BELOW", None]
                assert "domain must say which items may be selected" in refused
            assert {each.id: each.closed for each in client.gates()} == {others: False, opened["gate"]: True}
        with connect(url, service.analyst) as client:
            made = AgentServer(ServiceTable(client), confirm_above=0.1)
            calls = ("close_gate", {"gate": others}), ("ask", {"gate": others, "where": [NOBODY]})
            kept, asked, refused = run(made, *calls, ("open_gate", {"terms": gate}))
            assert "must be one that was opened here" in kept
            assert asked["answers"][0]["answer"] == "BELOW"
            assert "role" in refused


def test_a_gate_that_pays_for_each_above_is_not_asked_because_nobody_would_agree_to_that(tmp_path: Path) -> None:
    with visits(tmp_path) as data, serving(tmp_path, data, epsilon=(3, 1e-6)) as service, listening(service.app) as url:
        view = service.send("POST", "/v1/gates", {"threshold": 100, "within": 60}).json()
        with connect(url, service.analyst) as client:
            made = AgentServer(ServiceTable(client), confirm_above=0.1)
            described, refused = run(made, ("describe", {}), ("ask", {"gate": view["id"], "where": [MANY]}))
        assert described["gates"] == []
        assert "this one spends of the budget with each ABOVE" in refused
        assert service.send("GET", f"/v1/gates/{view['id']}").json()["asked"] == 0


def test_over_http_a_token_is_asked_for_where_there_is_one_and_pages_of_other_hosts_are_refused() -> None:
    async def statuses(app: Any, *headers: dict[str, str], path: str = "/mcp") -> list[int]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1:1") as client:
            return [(await client.post(path, json={}, headers=each)).status_code for each in headers]

    names = [{"Host": "evil.example"}, {"Host": "127.0.0.1.evil.example:1"}]
    pages = [{"Origin": "https://evil.example"}, {"Origin": "null"}]
    others = [*names, *pages, {"Content-Type": "text/plain"}, {"Mcp-Session-Id": "guessed"}]
    wrong = [{}, *({"Authorization": text} for text in ("Bearer other", "sesame", "Bearer"))]

    async def main(made: AgentServer) -> None:
        async with (app := http_app(made, None)).router.lifespan_context(app):
            *refused, guessed = await statuses(app, *others)
        assert refused == [421, 421, 403, 403, 400]
        assert 400 <= guessed < 500
        guarded = http_app(made, "sesame")
        assert {*await statuses(guarded, *wrong, *others)} == {401}
        assert await statuses(guarded, {"Authorization": "Bearer sesame"}, path="/elsewhere") == [404]

    with server() as made:
        anyio.run(main, made)
