"""Agents that ask a table: a server of the Model Context Protocol (MCP) over a session, or over a running service.

An agent is an outsider who reads nothing but what is released. Its five rules, with the argument for each, are in
docs/explanation/proofs_in_words/web.md: the cost is said before it is paid, and a person agrees; no private words; one
call at a time; an answer leaves after a whole multiple of ``delay``; nothing half done.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import math
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar, cast

import anyio
import anyio.lowlevel
from anyio import to_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.mcpserver.resolve import AcceptedElicitation, Elicit, ElicitationResult, Resolve
from mcp.server.stdio import stdio_server
from mcp_types import ToolAnnotations
from mcp_types.version import is_version_at_least
from pydantic import BaseModel, ConfigDict, Field

from sparsegate.budget import Number, exact_epsilon, pure_rho
from sparsegate.display.plain import plain
from sparsegate.errors import ParameterError, SparsegateError, UnknownGate
from sparsegate.gates.gate import Answer
from sparsegate.gates.planning import check_plan_work
from sparsegate.gates.preview import Preview
from sparsegate.gates.sparse_vector import SparseVector
from sparsegate.ledger.account import Amount, Statement, exact_amount
from sparsegate.tables.domain import EXPLAINED, read_labels
from sparsegate.tables.preview import preview as table_preview
from sparsegate.tables.session import AmountLeft, Session

Result = TypeVar("Result")

LOST: Final = "this failed, and no more is told about it, because the reason may be private; look at `statement`"
"""What an agent is told of every error that is not the library's own."""

VOID: Final = "nothing was spent: something else was spent since this was agreed to; call again"
"""What an agent is told of a word that was for another moment."""

MOST_ASKED, MOST_SECONDS, LONGEST_DELAY = 1000, 50, 3600
"""Conditions in one call; how long they may take by their delays (clients wait a minute or so); the longest delay."""

_OFFERS, _SHOWN, _MOST_PLANNED = 100, 1000, 1000
_ASKS_BETWEEN: Final = "2026-07-28"  # from this protocol on a person is asked between two calls, and not during one

GUIDE: Final = """\
You can ask a private table, through differential privacy. You never see rows, and every answer is noisy.

- The budget is epsilon. `remaining` says what is left, for everybody and for ever. 0.1 is little, 1 is much; a small
  epsilon means much noise.
- `preview` is free, and looks at no data. Use it first: it says what a release costs and how exact it would be. With
  `within` in place of an epsilon it says which epsilon you need.
- Many yes-or-no questions: `open_gate` pays once, with a threshold and a cutoff. Then `ask` it conditions, as many as
  you like (`describe` says how many in one call). ABOVE means: more people than the threshold have a row that meets the
  condition. Asking costs nothing more, whatever the answer. After `cutoff` ABOVE the gate closes: choose a threshold
  that few conditions reach, and put first what matters.
- A condition is written like WHERE in SQL: "country = 'DE' AND page LIKE '/pay%'". Text is in single quotes; a column
  whose name is not a plain word in double quotes: "Book title" = 'Emma'. A varchar of a file may hold numbers:
  CAST(age AS INTEGER) >= 30.
- The margin: a count this far from the threshold is answered rightly with 95 %; nearer ones may go either way. The
  estimate of an ABOVE has a standard error. Report both. BELOW does not mean zero.
- `close_gate` when you are done: what its answers did not cost goes back, where epsilons add up (`remaining` shows it).
- The largest items of a column: `top`. Its candidates must be public: a declared domain (`describe` lists them), or a
  list that you know from elsewhere.
- Do not ask again to average the noise away: every release is charged. Say in your report what was paid.
"""


class Opened(BaseModel):
    """A gate that is paid for."""

    gate: str = Field(description="Its name, for `ask`.")
    threshold: int
    margin: float = Field(description="Counts this far from the threshold are answered rightly with 95 %.")
    cost: str = Field(description="What was paid; where epsilons add up, what is not used goes back when it closes.")


class Described(BaseModel):
    """What may be asked: none of it is data."""

    dataset: str
    person: str = Field(description="Whom the answers protect.")
    columns: Mapping[str, str] = Field(description="Each column and its type.")
    domains: Mapping[str, str] = Field(description="The columns with declared candidates, for `top`.")
    delay: float = Field(description="Each private answer takes a whole multiple of this many seconds.")
    most_asked: int = Field(default=MOST_ASKED, description="How many conditions `ask` takes in one call.")
    gates: list[Opened] = Field(default=[], description="Gates that are open.")


class GateTerms(BaseModel):
    """A gate: which counts of people are above a threshold."""

    model_config = ConfigDict(extra="forbid")
    threshold: int = Field(description="A PUBLIC number of people.")
    cutoff: int = Field(description="It closes after this many ABOVE.")
    epsilon: float | None = Field(None, description="What it costs, once, whatever it is asked.")
    queries: int | None = Field(None, description="Plan for so many questions: less noise, and it closes after them.")


class TopTerms(BaseModel):
    """A selection: the items of a column that most people have."""

    model_config = ConfigDict(extra="forbid")
    item: str = Field(description="The column.")
    count: int = Field(description="How many items.")
    epsilon: float | None = Field(None, description="What the selection costs.")
    # Never a path: it would be read on this machine.
    domain: list[str] | list[int] | int | Literal["observed"] | None = Field(
        None, description='PUBLIC candidates, where none are declared; n: 0 to n-1; "observed" needs a delta.'
    )
    where: str | None = Field(None, description="Only rows that meet this condition count.")
    delta: float | None = None
    answers_epsilon: float | None = Field(None, description="Costs this much more, and adds noisy counts.")
    max_items_per_user: int | None = None


class Previewed(BaseModel):
    """What a release would cost and be good for; nothing was spent."""

    cost: str
    statement: str
    warning: str | None
    confidence: float
    accuracy: dict[str, Any]


class AskedCondition(BaseModel):
    """The answer to one condition, or why there is none."""

    where: str
    answer: Literal["ABOVE", "BELOW"] | None = None
    estimate: float | None = Field(default=None, description="Of an ABOVE: about how many people.")
    standard_error: float | None = None
    refused: str | None = None


class GateAnswers(BaseModel):
    """Answers in the order of the conditions."""

    answers: list[AskedCondition]
    remaining: int | None = Field(description="How many more ABOVE the gate can give.")
    closed: bool
    cost: str = "nothing more: the gate was paid for when it was opened"


class Remaining(BaseModel):
    """What the ledger has left for everybody."""

    dataset: str
    budget: str
    spent: str
    remaining: str


class Agreement(BaseModel):
    """What a person is asked before something is spent."""

    spend: bool = Field(title="Spend it", description="Yes: it is spent, for good. No: nothing happens.")


class Unasked(Agreement):
    """So little that nobody was asked."""


@dataclass(frozen=True, kw_only=True)
class ReleasePrice:
    """What a release would cost, of which budget; ``number`` of them were agreed to before."""

    cost: Amount
    statement: Statement
    number: int

    def __str__(self) -> str:
        return str(self.cost) if self.statement.rule == "epsilon" else f"{self.cost} (at most {self.cost.in_rho})"


class AskedTable:
    """A table that agents may ask. ``people`` says whom it protects, ``domains`` has the declared candidates."""

    statement: Callable[[], Statement]
    top: Callable[..., dict[str, Any]]  # as "sparsegate/top/1"
    open_gate: Callable[..., Opened]  # which is kept in ``opened``
    gate: Callable[[str], Any]
    gates: Callable[[], list[Opened]]

    def __init__(self, description: Described, *, people: Mapping[str, Any], domains: Mapping[str, Any]) -> None:
        most = min(MOST_ASKED, max(1, int(MOST_SECONDS / (description.delay or 0.01))))
        self.description = description.model_copy(update={"most_asked": most})
        self.people, self.domains = people, domains
        self.opened: dict[str, Any] = {}
        self.delay = 0.0

    def preview(self, terms: GateTerms | TopTerms, within: int | None = None) -> Preview:
        """What a release would cost and be good for: nothing is looked at, drawn or charged."""
        if isinstance(terms, GateTerms):
            # A plan runs to its end, and all others wait for it.
            check_plan_work(cutoff=terms.cutoff, queries=terms.queries, most=_MOST_PLANNED)
            return SparseVector.preview(**terms.model_dump(), within=within, sensitivity=1, monotonic=True)
        return table_preview(**self.people, **self.selection(terms), within=within)

    def selection(self, terms: TopTerms) -> dict[str, Any]:
        """The parameters of a selection, with the candidates that were declared where it names none."""
        named = terms.model_dump(exclude_none=True)
        if "domain" not in named and terms.item not in self.domains:
            raise ParameterError("domain", EXPLAINED[0], next_step='pass a list, a number of labels, or "observed"')
        return {"domain": self.domains.get(terms.item), **named}

    def cost(self, terms: GateTerms | TopTerms) -> Amount:
        """What a release would be charged; its rho at most: a service charges a gate as whatever is epsilon-DP."""
        look = self.preview(terms)
        return exact_amount(look.epsilon, look.delta, max(look.cost.rho, pure_rho(look.epsilon)))

    def candidates(self) -> dict[str, Any]:
        """The declared candidates of each column, at most a thousand of each."""
        return {name: _listed(name, domain) for name, domain in self.domains.items()}

    def close_gate(self, name: str) -> None:
        """Close a gate that was opened here; others may still be asked by others."""
        if name not in self.opened:
            raise ParameterError("gate", "must be one that was opened here", next_step="whoever opened it closes it")
        self.opened[name].close()

    def close(self) -> None:
        """Close the gates that were opened here: what they did not use goes back."""
        for gate in self.opened.values():
            with suppress(SparsegateError):
                gate.close()


def _listed(name: str, domain: Any) -> dict[str, Any]:
    if isinstance(domain, int):
        return {"from": 0, "to": domain - 1}
    labels = read_labels(domain, item=name) if isinstance(domain, Path) else [*domain]
    return {"candidates": [plain(label) for label in labels[:_SHOWN]], "number": len(labels)}


class SessionTable(AskedTable):
    """A table of this process. What there is to ask is looked up once, at the start."""

    def __init__(self, session: Session, *, delay: float) -> None:
        if not 0 < delay <= LONGEST_DELAY:  # nor NaN
            raise ParameterError("delay", f"must be a number of seconds above 0, up to {LONGEST_DELAY}", delay)
        seen = session.describe()
        told = Described(dataset=seen.name, person=seen.person, columns=seen.columns, domains=seen.domains, delay=delay)
        super().__init__(told, people={"user": session.user, "unit": session.unit}, domains=session.domains)
        self.session, self.delay, self.statement = session, delay, session.statement
        self._terms: dict[str, Opened] = {}

    def top(self, **terms: Any) -> dict[str, Any]:
        return self.session.top(**terms).to_dict()

    def open_gate(self, **terms: Any) -> Opened:
        gate, name = self.session.gate(**terms), f"gate-{len(self.opened) + 1}"
        self.opened[name] = gate
        cost = str(exact_amount(terms["epsilon"], 0))
        self._terms[name] = Opened(gate=name, threshold=terms["threshold"], margin=gate.margin(), cost=cost)
        return self._terms[name]

    def gate(self, name: str) -> Any:
        if name not in self.opened:
            raise UnknownGate
        return self.opened[name]

    def gates(self) -> list[Opened]:
        return [self._terms[name] for name, gate in self.opened.items() if not gate.closed]


class ServiceTable(AskedTable):
    """A table behind a service: its D holds there."""

    def __init__(self, client: Any) -> None:
        served = client.schema()
        columns = {column.name: column.kind.value for column in served.schema.columns}
        public: dict[str, Any] = {"dataset": served.dataset, "person": f"each {served.unit}", "delay": served.delay}
        people = {"unit": "row"} if served.unit == "row" else {"user": "user"}
        super().__init__(Described(**public, columns=columns, domains={}), people=people, domains={})
        self.client, self.statement = client, client.budget

    def top(self, **terms: Any) -> dict[str, Any]:
        return cast("dict[str, Any]", self.client.top(**terms).to_dict())

    def open_gate(self, **terms: Any) -> Opened:
        gate = self.client.open_gate(**terms)
        self.opened[gate.id] = gate
        return _view(gate)

    def gate(self, name: str) -> Any:
        gate = self.opened.get(name) or self.client.gate(name)
        if gate.cutoff is None:
            rule = "must have a cutoff: this one spends of the budget with each ABOVE, and nobody would be asked"
            raise ParameterError("gate", rule, next_step="open a gate with a cutoff")
        return gate

    def gates(self) -> list[Opened]:
        return [_view(gate) for gate in self.client.gates(closed=False) if gate.cutoff is not None]


def _view(gate: Any) -> Opened:
    cost = str(exact_amount(gate.epsilon, 0))
    return Opened(gate=gate.id, threshold=gate.threshold, margin=gate.margin, cost=cost)


@contextmanager
def _told() -> Iterator[None]:
    """Errors as an agent may see them, without what they were made of."""
    try:
        yield
        return
    except ToolError:
        raise
    except SparsegateError as error:
        text = " ".join(str(error).split())
    except Exception:
        text = LOST
    raise ToolError(text) from None


async def _run(function: Callable[..., Result], *values: Any, **named: Any) -> Result:
    """Run it in a thread. A call that is cancelled waits for the thread: what it began it ends."""
    return await to_thread.run_sync(partial(function, *values, **named))


async def price(context: Context[Any, Any], terms: GateTerms | TopTerms) -> ReleasePrice:
    """What a release would cost, now."""
    return await cast("AgentServer", context.mcp_server).price(terms)


Priced = Annotated[ReleasePrice, Resolve(price)]


async def agree(
    context: Context[Any, Any], terms: GateTerms | TopTerms, confirm: str | None, price: Priced
) -> Agreement | Elicit[Agreement]:
    """What is needed before a release is paid for: nothing, a person's word, or its cost said back."""
    return cast("AgentServer", context.mcp_server).agree(terms, confirm, price, asks=_asks(context))


Agreed = Annotated[ElicitationResult[Agreement], Resolve(agree)]


def _asks(context: Context[Any, Any]) -> bool:
    """Whether the client can put a question to a person, and this connection carries it."""
    capabilities = context.client_capabilities
    asks = None if capabilities is None else capabilities.elicitation
    if asks is None or (asks.form is None and asks.url is not None):
        return False
    return is_version_at_least(context.protocol_version or "", _ASKS_BETWEEN) or context.session.can_send_request


def _shown(value: Any) -> str:
    """A term as a person is shown it: quoted, on one line, in the order it is read, or agents could write questions."""
    quoted = json.dumps(value, ensure_ascii=False)
    text = "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in quoted)
    return text if len(text) <= 80 else f"{text[:80]}…"


def _asked(gate: Any, where: str) -> tuple[AskedCondition, bool]:
    """An answer, or why there is none; and whether the next condition can be asked."""
    try:
        answer: Answer = gate.ask(where)
    except SparsegateError as error:
        return AskedCondition(where=where, refused=str(error)), isinstance(error, ParameterError)
    except Exception:  # answers before it are paid for: they are not lost with it
        return AskedCondition(where=where, refused=LOST), False
    if not answer:
        return AskedCondition(where=where, answer="BELOW"), not gate.closed
    about = {"estimate": plain(answer.estimate), "standard_error": answer.standard_error}
    return AskedCondition(where=where, answer="ABOVE", **about), not gate.closed


class AgentServer(MCPServer[Any]):
    """The tools, resources and the prompt over a table. ``clock`` and ``sleep`` are those of a monotonic time."""

    def __init__(
        self,
        table: AskedTable,
        *,
        confirm_above: Number,
        version: str = "",
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        super().__init__("sparsegate", instructions=GUIDE, version=version, log_level="CRITICAL", subscriptions=False)
        self.table = table
        self.confirm_above = exact_epsilon(confirm_above, "confirm_above", zero=True)
        self._clock, self._sleep = clock, sleep
        self._lock = anyio.Lock()
        self._offers: dict[str, None] = {}
        self._agreed, self._unasked = 0, Fraction(0)  # how often somebody agreed; what was spent since
        for free in (self.describe, self.preview, self.remaining, self.statement):
            self.add_tool(free, annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
        for changing in (self.top, self.open_gate, self.ask, self.close_gate):
            self.add_tool(changing, annotations=ToolAnnotations(destructive_hint=True, open_world_hint=False))
        for name, text, read in (
            ("columns", "What may be asked: columns, types, declared candidates.", self.describe),
            ("domains", "The public candidates of columns, at most a thousand of each.", self._candidates),
            ("statement", "What was spent, release by release.", self.statement),
        ):
            self.resource(f"sparsegate://{name}", name=name, description=text, mime_type="application/json")(
                partial(self._resource, read)
            )
        self.prompt("guide", description="What ABOVE, margin and budget mean, and how to ask.")(lambda: GUIDE)

    async def _resource(self, read: Callable[[], Awaitable[Any]]) -> str:
        try:
            content = await read()
            return json.dumps(content.model_dump() if isinstance(content, BaseModel) else content)
        except ToolError as error:
            text = str(error)
        raise ResourceError(text)

    @asynccontextmanager
    async def turn(self, *, private: bool = False) -> AsyncIterator[None]:
        """The one turn; a private one is ``timed``."""
        with _told():
            async with self._lock, self.timed() if private else nullcontext():
                yield

    @asynccontextmanager
    async def timed(self) -> AsyncIterator[None]:
        """It lasts a whole multiple of the delay, whatever happens in it."""
        began, delay = self._clock(), self.table.delay
        try:
            yield
        finally:
            if delay:
                elapsed = self._clock() - began
                with anyio.CancelScope(shield=True):
                    await self._sleep(max(1, math.ceil(elapsed / delay)) * delay - elapsed)

    async def price(self, terms: GateTerms | TopTerms) -> ReleasePrice:
        """What a release would cost; what cannot be paid is refused, so that nobody is asked about it."""
        async with self.turn():
            cost, statement = await _run(self.table.cost, terms), await _run(self.table.statement)
            if statement.rule == "epsilon":
                statement.admit(cost)
            return ReleasePrice(cost=cost, statement=statement, number=self._agreed)

    def agree(
        self, terms: GateTerms | TopTerms, confirm: str | None, price: ReleasePrice, *, asks: bool
    ) -> Agreement | Elicit[Agreement]:
        """``asks``: a person can be asked. The number makes each question another one: its answer holds once."""
        if self._is_small(price.cost):
            return Unasked(spend=True)
        statement = price.statement
        left = f"{statement.says(AmountLeft(**vars(statement.remaining)))} is left"
        if self._unasked:
            left += f", after {exact_amount(self._unasked, 0)} that nobody was asked about"
        if asks:
            shown = ", ".join(f"{name} {_shown(value)}" for name, value in terms if value is not None)
            what = "A gate" if isinstance(terms, GateTerms) else "A selection"
            question = f"Spend {price} of the budget of {statement.dataset}? {left}. {what}: {shown}."
            return Elicit(f"{question} (Question {price.number + 1}.)", Agreement)
        offer = hashlib.sha256(f"{price.cost}: {terms.model_dump_json()}".encode()).hexdigest()
        if confirm == str(price.cost) and offer in self._offers:
            del self._offers[offer]
            return Agreement(spend=True)
        self._offers = dict.fromkeys([*self._offers, offer][-_OFFERS:])
        step = f"ask the person whom you work for; to go on, make the same call again with confirm={str(price.cost)!r}"
        raise ToolError(f"nothing was spent: this costs {price}, and {left}; {step}")

    def _is_small(self, cost: Amount) -> bool:
        """Whether nobody is asked: it and all that was spent since somebody agreed are within the limit."""
        return not cost.delta and self._unasked + cost.epsilon <= self.confirm_above

    @asynccontextmanager
    async def paying(self, price: ReleasePrice, agreement: ElicitationResult[Agreement]) -> AsyncIterator[None]:
        """The turn of a release, if it is agreed to: looked at again in the turn, where no other is beside it."""
        if not isinstance(agreement, AcceptedElicitation) or not agreement.data.spend:
            raise ToolError("nothing was spent: the person whom you work for did not agree to this cost")
        async with self.turn(private=True):
            unasked = isinstance(agreement.data, Unasked)
            if not self._is_small(price.cost) if unasked else price.number != self._agreed:
                raise ToolError(VOID)
            if unasked:
                self._unasked += price.cost.epsilon
            else:
                self._agreed += 1
            yield
            if not unasked:
                self._unasked = Fraction(0)

    async def describe(self) -> Described:
        """What may be asked: columns, types, declared candidates, gates that are open. Free, and never data."""
        async with self.turn():
            return self.table.description.model_copy(update={"gates": await _run(self.table.gates)})

    async def remaining(self) -> Remaining:
        """What is left of the privacy budget. Free."""
        async with self.turn():
            statement = await _run(self.table.statement)
        amounts = {name: statement.says(getattr(statement, name)) for name in ("budget", "spent", "remaining")}
        return Remaining(dataset=statement.dataset, **amounts)

    async def statement(self) -> dict[str, Any]:
        """What was spent so far, release by release. Free."""
        async with self.turn():
            return (await _run(self.table.statement)).to_dict()

    async def _candidates(self) -> dict[str, Any]:
        async with self.turn():
            return await _run(self.table.candidates)

    async def preview(self, terms: GateTerms | TopTerms, within: int | None = None) -> Previewed:
        """What a gate or a top of these terms would cost and be good for. Free, and looks at no data.

        within, in place of an epsilon: which epsilon makes a gate right for counts that far from its threshold, or each
        selected item at most that many people worse than the last that belongs.
        """
        async with self.turn():
            look = await _run(self.table.preview, terms, within)
            return Previewed(
                cost=str(exact_amount(look.epsilon, look.delta)),
                statement=look.statement,
                warning=look.warning or None,
                confidence=look.confidence,
                accuracy=plain(look.accuracy),
            )

    async def top(
        self, terms: TopTerms, confirm: str | None = None, *, price: Priced, agreement: Agreed
    ) -> dict[str, Any]:
        """The items of a column that most people have. SPENDS epsilon, answers_epsilon and delta.

        error_bar holds for each noisy count, with 95 %; error_bar_all for all. confirm: the cost, as a call said it.
        """
        async with self.paying(price, agreement):
            released = await _run(self.table.top, **self.table.selection(terms))
            return {**released, "cost": str(price)}

    async def open_gate(
        self, terms: GateTerms, confirm: str | None = None, *, price: Priced, agreement: Agreed
    ) -> Opened:
        """Open a gate, to ask which counts of people are above a threshold. SPENDS epsilon; asking costs nothing more.

        confirm: the cost, as an earlier call said it.
        """
        async with self.paying(price, agreement):
            return (await _run(self.table.open_gate, **terms.model_dump())).model_copy(update={"cost": str(price)})

    async def ask(self, gate: str, where: list[str]) -> GateAnswers:
        """Ask an open gate conditions, in their order, such as "country = 'DE' AND page = '/pay'". Costs nothing more.

        Each is compared by the number of people with a row that meets it: ABOVE or BELOW the threshold. After the last
        ABOVE of the gate no more is asked. A condition that is refused changes nothing.
        """
        most = self.table.description.most_asked
        async with self.turn():
            if not 1 <= len(where) <= most:
                raise ParameterError("where", f"must have 1 to {most} conditions", len(where), "call again for more")
            asked = await _run(self.table.gate, gate)
            answers, more = [], True
            for condition in where:
                answer = AskedCondition(where=condition, refused="not asked")
                if more:
                    await anyio.lowlevel.checkpoint()  # a call that was cancelled ends here
                    async with self.timed():
                        answer, more = await _run(_asked, asked, condition)
                answers.append(answer)
            return GateAnswers(answers=answers, remaining=asked.remaining, closed=asked.closed)

    async def close_gate(self, gate: str) -> Remaining:
        """Close a gate that you opened. Where epsilons add up, what its answers did not cost goes back. Free."""
        async with self.turn():
            await _run(self.table.close_gate, gate)
        return await self.remaining()


def serve_stdio(server: AgentServer) -> None:
    """Serve on standard input and output, until the input ends or Ctrl-C, which is a KeyboardInterrupt."""

    async def serve() -> None:
        lines: Any = _lines()
        async with stdio_server(stdin=lines) as (received, sent):
            lowlevel = server._lowlevel_server
            await lowlevel.run(received, sent, lowlevel.create_initialization_options())

    anyio.run(serve)


async def _lines() -> AsyncIterator[str]:
    """Lines of standard input, from a thread that nobody waits for: the SDK's own would wait for another line."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[str | None]()

    def read() -> None:
        # Not sys.stdin: at the end of the process nobody may hold its lock.
        with suppress(OSError, RuntimeError), open(sys.stdin.fileno(), "rb", closefd=False) as sent:
            for line in sent:
                loop.call_soon_threadsafe(queue.put_nowait, line.decode(errors="replace"))
            loop.call_soon_threadsafe(queue.put_nowait, None)

    threading.Thread(target=read, daemon=True).start()
    while (line := await queue.get()) is not None:
        yield line


def http_app(server: AgentServer, token: str | None) -> Any:
    """The application of the streamable HTTP transport, at /mcp; with a token only for those who send it."""
    from starlette.responses import PlainTextResponse

    app = server.streamable_http_app(host="127.0.0.1")  # which refuses pages of other hosts
    expected = f"Bearer {token}".encode()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        sent = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "http" and not hmac.compare_digest(sent, expected):
            refusal = PlainTextResponse("a bearer token is needed", 401, {"WWW-Authenticate": "Bearer"})
            await refusal(scope, receive, send)
        else:
            await app(scope, receive, send)

    return app if token is None else guarded
