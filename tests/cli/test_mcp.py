"""`sparsegate mcp` as a process, asked by the client of the SDK over both transports; and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import ElicitResult
from tests.support.serving import MANY, NOBODY, write_visits

import sparsegate as sg
from sparsegate.cli.app import Commands

SERVE = ["-c", "from sparsegate.cli import main; main()", "mcp"]
GATE = {"threshold": 150, "cutoff": 2, "epsilon": 100}
PAID = ("--ledger", "l", "--user", "visitor", "--budget", "1", "--dataset", "visits")


def options(folder: Path) -> list[str]:
    """The command, on a table of 300 people who all saw /home."""
    (folder / "pages.csv").write_text("page\n/home\n/pay\n")
    files = [str(write_visits(folder)), "--ledger", str(folder / "visits.ledger"), "--domain"]
    return [*SERVE, *files, f"page={folder}/pages.csv", "--user", "visitor", "--budget", "1000", "--delay", "0.01"]


def kinds(folder: Path) -> list[str]:
    with sg.Ledger(folder / "visits.ledger") as ledger:
        return [entry.kind.value for entry in ledger.statement().entries]


async def agree(_: Any, question: Any) -> ElicitResult:
    assert "Spend epsilon 100" in question.message
    return ElicitResult(action="accept", content={"spend": True})


async def talk(client: Client) -> list[Any]:
    """What an agent does; all of it ended well."""
    async with client:
        results = [
            await client.call_tool("describe", {}),
            await client.call_tool("open_gate", {"terms": GATE}),
            await client.call_tool("ask", {"gate": "gate-1", "where": [MANY, NOBODY]}),
            await client.call_tool("top", {"terms": {"item": "page", "count": 1, "epsilon": 100}}),
        ]
    assert [result.content for result in results if result.is_error] == []
    return [result.structured_content for result in results]


def check(results: list[Any]) -> None:
    described, opened, asked, top = results
    assert described["domains"].keys() == {"page"}
    assert opened["cost"] == top["cost"] == "epsilon 100"
    assert [line["answer"] for line in asked["answers"]] == ["ABOVE", "BELOW"]
    assert [row["item"] for row in top["items"]] == ["/home"]


def test_an_agent_asks_over_standard_input_and_output_and_its_end_closes_the_gates(tmp_path: Path) -> None:
    started = StdioServerParameters(command=sys.executable, args=options(tmp_path), env=dict(os.environ))
    check(anyio.run(talk, Client(started, elicitation_callback=agree)))
    assert kinds(tmp_path) == ["budget", "spend", "spend", "refund"]


def test_an_agent_asks_over_http_and_a_signal_closes_the_gates(tmp_path: Path) -> None:
    command = [sys.executable, *options(tmp_path), "--http", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().removeprefix("serving ").strip()
        try:
            check(anyio.run(talk, Client(url, elicitation_callback=agree)))
            elsewhere = httpx.post(url, json={}, headers={"Host": "evil.example", "Accept": "application/json"})
            assert elsewhere.status_code == 421  # a page that had its name point here
        finally:
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "sparsegate: stopped; its gates are closed\n")
    assert kinds(tmp_path) == ["budget", "spend", "spend", "refund"]


def test_ctrl_c_does_not_wait_for_another_line_and_closes_the_gates(tmp_path: Path) -> None:
    command = [sys.executable, *options(tmp_path), "--confirm-above", "100"]
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "open_gate", "arguments": {"terms": GATE}}},
    ]
    with subprocess.Popen(command, **pipes, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in messages:
            print(json.dumps({"jsonrpc": "2.0", **message}), file=process.stdin, flush=True)
            answer = process.stdout.readline() if "id" in message else ""
        assert "gate-1" in answer
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130  # standard input is still open
    assert kinds(tmp_path) == ["budget", "spend", "refund"]


def test_the_entry_for_the_registry_names_this_version_and_options_that_are_there() -> None:
    root = Path(__file__).parents[2]
    entry = json.loads((root / "server.json").read_text(encoding="utf-8"))
    (package,) = entry["packages"]
    assert f"<!-- mcp-name: {entry['name']} -->" in (root / "README.md").read_text(encoding="utf-8")
    assert entry["version"] == package["version"] == sg.__version__
    assert package["runtimeArguments"][0]["value"] == f"sparsegate[mcp]=={sg.__version__}"
    assert len(entry["description"]) <= 100  # the registry takes no more
    command = Commands().get_command(None, package["packageArguments"][0]["value"])
    options = {name for parameter in command.params for name in parameter.opts}
    assert {each["name"] for each in package["packageArguments"] if each["type"] == "named"} <= options


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "--service or files must be given, and not both"),
        (["visits.csv", "--service", "http://127.0.0.1:9"], "--service or files must be given, and not both"),
        (["-", "--user", "visitor", "--ledger", "l"], "files must not be standard input"),
        (["visits.csv", "--user", "visitor"], "--ledger must be given: each start would spend the budget anew"),
        (["--service", "http://127.0.0.1:9"], "--token-file or the variable SPARSEGATE_TOKEN must hold the token"),
        (["--service", "http://127.0.0.1:9", "--token-file", "none"], "--token-file must be a file with the token"),
        (["--service", "http://127.0.0.1:9", "--budget", "2"], "--budget is for files: a service has its own"),
        (["--service", "http://gates.example", "--token-file", "token"], "url must be https for another machine"),
        (["visits.csv", "--ledger", "l", "--domain", "page=observed"], "--domain must be COLUMN=FILE or COLUMN=N"),
        (["visits.csv", *PAID, "--delay", "nan"], "--delay must be a"),
        (["visits.csv", *PAID, "--confirm-above", "nan"], "--confirm-above must be a"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(command, tmp_path, monkeypatch, words, says) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SPARSEGATE_TOKEN", raising=False)
    write_visits(tmp_path)
    Path("token").write_text("sg_x\n")
    code, out, err = command("mcp", *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"sparsegate: {says}")
