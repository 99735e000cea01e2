"""`sparsegate mcp`: a table, or a running service, for agents that speak the Model Context Protocol."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing
from pathlib import Path
from socket import socket
from typing import Annotated, Any

import typer

import sparsegate as sg
from sparsegate.cli import options as opt
from sparsegate.cli.options import option
from sparsegate.errors import ParameterError, load_extra


@opt.grouped
def mcp(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE...", help="Parquet, CSV, JSON, baskets, a database.")
    ] = None,
    service: Annotated[str | None, option("URL", "Ask this service, in place of files.")] = None,
    service_token: Annotated[
        Path | None, option("FILE", "Its token; else the environment has it, as SPARSEGATE_TOKEN.", "--token-file")
    ] = None,
    user: opt.User = None,
    unit: opt.Unit = None,
    domain: Annotated[
        list[str] | None, option("COLUMN=FILE|N", "PUBLIC candidates of a column, for `top`; may be repeated.")
    ] = None,
    *,
    source: opt.InputOptions,
    account: opt.LedgerOptions,
    confirm_above: Annotated[
        float, option("EPSILON", "A person is asked before more than this is spent since the last yes.")
    ] = 0.1,
    delay: Annotated[float, option("SECONDS", "Answers from files leave in whole multiples of this.")] = 1.0,
    http: Annotated[
        bool, option("", "Streamable HTTP on this machine, not standard input and output.", "--http")
    ] = False,
    port: Annotated[int, option("", "With --http; 0 takes any that is free.")] = 8461,
) -> None:
    """Let agents ask a table: what they spend is said first, and a person agrees. See docs/how-to/agents.md.

    With --http, where the environment has SPARSEGATE_MCP_TOKEN, clients must send it: `Authorization: Bearer ...`.
    """
    if bool(files) == bool(service):
        raise ParameterError("service", "or files must be given, and not both", next_step="give one of them")
    if "-" in (files or ()):
        raise ParameterError("files", "must not be standard input, where the client speaks", "-", "give a file")
    load_extra("mcp.server.mcpserver", extra="mcp")  # which an older one lacks
    from sparsegate.service import agents

    with ExitStack() as stack:
        listening = None
        if http:
            load_extra("fastapi", extra="serve")
            from sparsegate.service.web.server import listen

            listening = stack.enter_context(closing(listen("127.0.0.1", port)))
        if service is None:
            if account.ledger is None:
                rule = "must be given: each start would spend the budget anew"
                raise ParameterError("ledger", rule, next_step="give --ledger FILE, and --budget for a new one")
            paid: dict[str, Any] = {"ledger": account.ledger, "budget": account.allowed, "dataset": account.dataset}
            read, spare = source.opened(files), account.budget_delta or 0
            session = sg.session(read, user=user, unit=unit, domains=_domains(domain or []), delta=spare, **paid)
            asked: agents.AskedTable = agents.SessionTable(stack.enter_context(session), delay=delay)
        else:
            for name, value in {"user": user, "unit": unit, "domain": domain, **vars(account)}.items():
                if value:
                    raise ParameterError(name, "is for files: a service has its own", next_step="leave it out")
            asked = agents.ServiceTable(stack.enter_context(sg.connect(service, _token(service_token))))
        stack.enter_context(closing(asked))
        server = agents.AgentServer(asked, confirm_above=confirm_above, version=sg.__version__)
        try:
            if listening is None:
                agents.serve_stdio(server)
            else:
                _serve_http(agents.http_app(server, os.environ.get("SPARSEGATE_MCP_TOKEN") or None), listening)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("stopped; its gates are closed") from None


def _serve_http(app: Any, listening: socket) -> None:
    import uvicorn

    from sparsegate.service.web.server import address

    options: dict[str, Any] = {"log_config": None, "access_log": False, "server_header": False, "ws": "none"}
    typer.echo(f"serving {address(listening)}/mcp")
    uvicorn.Server(uvicorn.Config(app, **options, timeout_graceful_shutdown=5)).run(sockets=[listening])


def _token(file: Path | None) -> str:
    """Never an argument: everybody on the machine sees those."""
    if file is None:
        if text := os.environ.get("SPARSEGATE_TOKEN", ""):
            return text
        step = "set SPARSEGATE_TOKEN, or give --token-file FILE"
        raise ParameterError("service_token", "or the variable SPARSEGATE_TOKEN must hold the token", next_step=step)
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise ParameterError("service_token", "must be a file with the token that can be read", str(file)) from None


def _domains(texts: list[str]) -> dict[str, Any]:
    domains: dict[str, Any] = {}
    for text in texts:
        column, equals, place = text.partition("=")
        candidates = opt.read_domain(place)
        if not column or not equals or not place or candidates == "observed" or column in domains:
            rule = "must be COLUMN=FILE or COLUMN=N, once for each column"
            raise ParameterError("domain", rule, text, "for instance --domain page=pages.csv")
        domains[column] = candidates
    return domains
