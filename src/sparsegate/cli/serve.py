"""`sparsegate serve`: hold the data, open gates and answer over HTTP.

Options come from the command line, then from the environment (SPARSEGATE_SERVE_PORT), then from a file in TOML
(``port = 8460``), then from the default. A name that is no option is an error, in both: a limit that was mistyped is a
limit that is not there. A password in the URL of a database belongs in the environment, because everybody on the
machine sees the command line.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand

from sparsegate.cli import options as opt
from sparsegate.cli.options import option
from sparsegate.cli.printing import counted
from sparsegate.cli.token import TokenFile, shown_once
from sparsegate.errors import ParameterError

if TYPE_CHECKING:
    from sparsegate.service.deadline import DelayPlan
    from sparsegate.service.web.admission import Refresh
    from sparsegate.service.web.connections import GuardedServer


PREFIX: Final = "SPARSEGATE_SERVE"
_LISTS: Final = {"files", "allowed_host", "trusted_proxy", "read", "cells"}


class ServeCommand(TyperCommand):
    """A command with its options from a file and from the environment too."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options["context_settings"] = {**(options.get("context_settings") or {}), "auto_envvar_prefix": PREFIX}
        super().__init__(*args, **options)
        for parameter in self.params:
            parameter.show_envvar = False  # type: ignore[attr-defined]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse names of the environment that mean nothing."""
        known = {f"{PREFIX}_{parameter.name.upper()}" for parameter in self.params if parameter.name}
        if unknown := sorted(name for name in os.environ if name.startswith(f"{PREFIX}_") and name not in known):
            raise ParameterError(
                "environment", "must name options of serve", ", ".join(unknown), "see `sparsegate serve --help`"
            )
        return super().parse_args(ctx, args)


def _read_config(ctx: typer.Context, path: Path | None) -> Path | None:
    """The file becomes the defaults of all other options."""
    if path is not None:
        ctx.default_map = read_settings(path, {str(parameter.name) for parameter in ctx.command.params} - {"config"})
    return path


def read_settings(path: Path, names: set[str]) -> dict[str, Any]:
    """The options in a file of TOML; each must be one of these."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise ParameterError("config", "must be a file in UTF-8 that can be read", str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError("config", f"must be TOML ({error})", str(path)) from None
    settings: dict[str, Any] = {}
    for key, value in entries.items():
        name = key.replace("-", "_")
        if name not in names:
            raise ParameterError("config", "must name options of serve", key, "see `sparsegate serve --help`")
        several = name in _LISTS
        if not isinstance(value, str | int | float | list) or (isinstance(value, list) and not several):
            rule = f"must give {key} one text, number or truth value{', or a list' if several else ''}"
            raise ParameterError("config", rule, next_step=f"see {path}")
        settings[name] = [value] if several and not isinstance(value, list) else value
    return settings


def _names_alone(names: list[str] | None) -> list[str] | None:
    for name in names or []:
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", name, re.ASCII):
            rule = "must be a name alone, without https://, a port or a path"
            raise ParameterError("allowed_host", rule, name, "for instance gates.example.org; addresses need none")
    return names


NEW_DELTA: Final = 1e-6
"""The delta in all of a ledger that `serve` makes, unless told otherwise: for a thousand datasets and their sizes."""
COMMAND = ServeCommand


@opt.grouped
def serve(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...|URL",
            envvar="SPARSEGATE_SERVE_FILES",
            help="Parquet, CSV, JSON, .dat, a database; postgresql://...",
        ),
    ],
    user: opt.User = None,
    unit: opt.Unit = None,
    columns: Annotated[str | None, option("A,B,...", "What may be asked about; all but --user unless given.")] = None,
    max_cell: Annotated[
        int, option("N", "Cut text cells to N characters: less is faster, and D shorter.", min=1)
    ] = 1000,
    read: Annotated[
        list[str] | None, option("COLUMN=TYPE", "Read text as a type: age=integer; may be repeated.")
    ] = None,
    cells: Annotated[
        list[str] | None,
        option("COLUMN=M", "Gates for each value of a column; a person counts in M of them at most; may be repeated."),
    ] = None,
    delay: Annotated[str | None, option("SECONDS|off", "D, after which answers leave; measured unless given.")] = None,
    headroom: Annotated[
        float, option("", "D is this many times what the longest count takes on a busy machine.", min=1, max=1000)
    ] = 3,
    most_asks: Annotated[
        int, option("N", "How many questions a new gate admits: what is kept is bounded.", min=1)
    ] = 1_000_000,
    refresh: Annotated[
        float | None, option("HOURS", "Read the data anew every so often; gates close only with --close-gates.")
    ] = None,
    config: Annotated[
        Path | None,
        option("FILE", "Options from a TOML file, by their names here.", callback=_read_config, is_eager=True),
    ] = None,
    ledger: Annotated[str | None, option("FILE|URL", "A file, or postgresql://...; FILE.ledger unless given.")] = None,
    new_ledger: Annotated[bool, option("", "Make the ledger; needs --budget.", "--new-ledger")] = False,
    budget: Annotated[float | None, option("", "The ledger's epsilon in all, for ever.")] = None,
    budget_delta: Annotated[
        float | None, option("", f"The ledger's delta in all; {NEW_DELTA:g} for a new ledger unless given.")
    ] = None,
    conversion_delta: opt.ConversionDelta = None,
    dataset: opt.Dataset = None,
    key: Annotated[str | None, option("FILE", "What gates are sealed with; LEDGER.key unless given.")] = None,
    new_key: Annotated[bool, option("", "The key is lost: make one, and close all gates.", "--new-key")] = False,
    close_gates: Annotated[
        bool, option("", "Close open gates that other data or another key opened, for good.", "--close-gates")
    ] = False,
    no_refund: opt.NoRefund = False,
    size_epsilon: Annotated[
        float, option("", "What it costs to show the sizes of the data, once for each dataset.")
    ] = 0.05,
    size_delta: Annotated[float, option("", "Its delta; --capacity needs none.")] = 1e-9,
    person_rows: Annotated[
        int, option("N", "Shown sizes protect people of up to N rows for that, others for more.", min=1)
    ] = 8,
    capacity: Annotated[
        str | None, option("N[,COLUMN=N...]", "Public sizes to fill up to: rows, and values of columns; free.")
    ] = None,
    host: Annotated[str, option("ADDRESS", "Where to listen; this machine alone unless told otherwise.")] = "127.0.0.1",
    port: Annotated[int, option("", "0 takes any that is free.")] = 8460,
    allowed_host: Annotated[
        list[str] | None,
        option("NAME", "A name it is reached by, as a browser shows it; may be repeated.", callback=_names_alone),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        option("ADDRESS", "A proxy, or a network of them, whose X-Forwarded-For is believed; may be repeated."),
    ] = None,
    tls_cert: Annotated[Path | None, option("FILE", "Serve https: the certificate and its chain, PEM.")] = None,
    tls_key: Annotated[Path | None, option("FILE", "The certificate's key, PEM.")] = None,
    max_connections: Annotated[int, option("N", "Connections at once, in all.", min=1)] = 1000,
    max_connections_of_one: Annotated[int, option("N", "Of one address; a trusted proxy may open all.", min=1)] = 250,
    metrics_port: Annotated[
        int | None, option("PORT", "/metrics without a token there, for this machine alone.")
    ] = None,
    workers: Annotated[int, option("N", "Processes that answer, each with a copy of the data.", min=1, max=64)] = 1,
    *,
    source: opt.InputOptions,
    log_format: Annotated[str, option("text|json", "How lines of the log are written.")] = "text",
    token_file: TokenFile = None,
) -> None:
    """Answer "above" or "below" over HTTP, from a ledger that no crash can cheat.

    Options can come from the environment too (SPARSEGATE_SERVE_PORT=8460), or from a file (--config).
    """
    from sparsegate.budget import exact_epsilon
    from sparsegate.errors import load_extra

    for module in ("sqlalchemy", "fastapi", "uvicorn"):
        load_extra(module, extra="serve")
    from sparsegate.service.client import is_loopback
    from sparsegate.service.data import sizes
    from sparsegate.service.data.copying import read_cells, read_declarations
    from sparsegate.service.data.dataset import ServedTable, TableSource
    from sparsegate.service.gate_store import GateStore
    from sparsegate.service.opening import KeeperTerms
    from sparsegate.service.tokens import Role, Tokens
    from sparsegate.service.web import server
    from sparsegate.service.web.admission import LOOPBACK, Limits
    from sparsegate.service.web.connections import ConnectionLimits
    from sparsegate.service.web.middleware import logging_of
    from sparsegate.service.web.trusted_proxies import TrustedProxies
    from sparsegate.service.web.workers import Crew, Orders

    wanted_delay = _delay(delay)
    if refresh is not None and not 0 < refresh <= 10_000:
        raise ParameterError("refresh", "must be a number of hours above 0", refresh, "for instance 24")
    if refresh is not None and workers > 1:
        rule = "is for a service of one worker: each has a copy of its own"
        raise ParameterError("refresh", rule, refresh, "restart the service instead, or leave out --workers")
    if ledger is None and "://" in files[0]:
        raise ParameterError("ledger", "must be given for a table in a database", next_step="give --ledger FILE")
    place = f"{files[0]}.ledger" if ledger is None else ledger
    if key is None and "://" in place:
        raise ParameterError("key", "must be given for a ledger in PostgreSQL", next_step="give --key FILE")
    sealing = Path(f"{place}.key" if key is None else key)
    allowed = opt.budget_like(budget, conversion_delta)
    if new_ledger and budget is None:
        raise ParameterError("budget", "must be given for a new ledger", next_step="for instance --budget 2.0")
    if token_file is not None and not new_ledger:
        rule = "is for the first token, of a new ledger"
        raise ParameterError("token_file", rule, next_step="see `sparsegate token add --token-file`")
    terms = sizes.FillTerms(
        epsilon=exact_epsilon(size_epsilon, "size_epsilon"),
        delta=exact_epsilon(size_delta, "size_delta", zero=True),
        person_rows=person_rows,
    )
    rows: dict[str, Any] = {"files": files, "user": user, "unit": unit, "table": source.table, "sql": source.sql}
    rows |= {"form": source.form, "max_cell": max_cell, "read": read_declarations(read), "cells": read_cells(cells)}
    asked = TableSource(**rows, columns=None if columns is None else [name.strip() for name in columns.split(",")])
    logging_of(log_format)
    if (tls_cert is None) != (tls_key is None):
        raise ParameterError("tls_cert", "and --tls-key must be given together", next_step="give both, or neither")
    tls = None if tls_cert is None or tls_key is None else (tls_cert, tls_key)
    if tls is not None:
        server.tls_context(*tls)  # whatever is wrong with them is said before anything is read
    proxies = TrustedProxies(trusted_proxy or ())
    limits = ConnectionLimits(most=max_connections, most_of_one=max_connections_of_one, proxies=proxies)
    with ExitStack() as stack:
        # First of all, so that two servers on one port do not both read the data.
        listening = stack.enter_context(closing(server.listen(host, port)))
        inside = None if metrics_port is None else stack.enter_context(closing(server.listen(LOOPBACK, metrics_port)))
        show = stack.enter_context(shown_once(token_file))
        data = stack.enter_context(ServedTable.read(asked))
        name = data.name if dataset is None else dataset
        public = {} if capacity is None else sizes.public_sizes(capacity, list(data.sizes))
        if new_ledger:
            spare = NEW_DELTA if budget_delta is None else budget_delta
            sizes.check_new_budget(data, terms, public, budget=allowed or 0, delta=spare)
            server.new_ledger(place, sealing, dataset=name, budget=allowed or 0, delta=spare)
        account = server.open_ledger(place, dataset=name, budget=allowed, delta=budget_delta)
        stack.callback(account.close)
        open_now = GateStore(account).open_gates(unlike="" if new_key else data.fingerprint)
        agreed = close_gates or (open_now > 0 and _agreed(open_now))
        secret = server.open_key(sealing, account, renew=new_key and not new_ledger, close_gates=agreed)
        bounds: dict[str, Any] = {"refund": not no_refund, "most_asks": most_asks}
        measured: dict[str, Any] = {"delay": wanted_delay, "headroom": headroom, "workers": workers}
        keeping = KeeperTerms(ledger=account, key=secret, sizes=terms, capacity=capacity, **bounds, **measured)
        keeper = stack.enter_context(closing(keeping.keeper(data, close_gates=agreed)))
        tokens = stack.enter_context(closing(Tokens(account)))
        statement = account.statement()
        number = counted(len(data.schema.columns), "column")
        typer.echo(f"dataset {name!r}, unit {data.unit}: {number} may be asked about")
        if left_out := data.schema.unreadable:
            step = "cast them with --sql, or say what may be asked about with --columns"
            typer.echo(f"        left out, of a type that cannot be asked about: {', '.join(left_out)}; {step}")
        left, whole = statement.says(statement.remaining), statement.says(statement.budget)
        typer.echo(f"ledger  {account.database.shown}: {left} left of {whole}")
        typer.echo(_about_delay(keeper.pace, data.look_seconds()))
        if new_ledger:
            typer.echo(f"token   {show(tokens.add('owner', Role.OWNER))}")
            once = ", shown this once" if token_file is None else ""
            typer.echo(f"        of the role owner{once}; more: `sparsegate token add`")
        if not is_loopback(host) and tls is None:
            typer.echo(
                "warning: this listens beyond this machine, without TLS: give --tls-cert and --tls-key, or put "
                "a proxy with TLS in front of it, or whoever is on the way reads tokens and answers",
                err=True,
            )
        if inside is not None:
            typer.echo(f"metrics {server.address(inside)}/metrics, on this machine")
        orders = Orders(
            ledger=place,
            dataset=name,
            key=sealing,
            keeping={"pace": keeper.pace, **bounds},
            limits=Limits().of_each(workers),
            connections=limits.of_each(workers),
            hosts=[host, *(allowed_host or [])],
            metrics_port=None if inside is None else inside.getsockname()[1],
            tls=tls,
            log_format=log_format,
        )
        crew = stack.enter_context(Crew(orders))
        crew.start(data, (listening, inside))

        def started(serving: GuardedServer) -> None:
            crew.watch(serving)
            typer.echo(f"serving {server.address(listening, tls=tls_cert is not None)}")

        def repeat(reading: Refresh) -> None:
            if refresh is not None:
                reading.every(3600 * refresh, close_gates=close_gates)

        orders.serve(
            keeper, tokens, (listening, inside), folder=crew.folder, terms=keeping, refresh=repeat, started=started
        )


def _agreed(count: int) -> bool:
    """A yes at the prompt; where nobody can be asked it is a no, and the start is refused."""
    gates = "1 gate is" if count == 1 else f"{count} gates are"
    question = f"{gates} open that other data or another key opened. Close for good?"
    try:
        return sys.stdin.isatty() and typer.confirm(question, err=True)
    except typer.Abort:
        raise KeyboardInterrupt("interrupted, nothing was spent") from None


def _delay(text: str | None) -> float | None:
    if text is None or text == "off":
        return None if text is None else 0.0
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise ParameterError("delay", 'must be a number of seconds up to 3600, or "off"', text)
    return seconds


def _about_delay(pace: DelayPlan, look: float) -> str:
    dearest = f"questions of up to {pace.capacity / look:.2g} times a look at every column are answered"
    if not pace.delay:
        return f"delay   off: whoever has a stopwatch sees how long a count takes, and that may be data; {dearest}"
    return f"delay   answers leave {pace.delay:g} s after their work began, whatever they are; {dearest}"
