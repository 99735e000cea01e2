"""What both clients share: how a gate is seen from afar, each thing that can be asked, and where it may be sent."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import httpx

from sparsegate.budget import Number
from sparsegate.errors import GateClosed, ParameterError, SparsegateError
from sparsegate.gates.gate import BELOW, Answer
from sparsegate.ledger.account import Statement
from sparsegate.service.client.calls import (
    TIMEOUT,
    Call,
    Heard,
    RemoteAnswer,
    TopAnswer,
    decimal,
    list_answers,
    read_statement,
    read_top,
)

RETRIES: Final = 3

View = dict[str, Any]
Candidates = Sequence[Any] | int | str
_EXACT: Final = ("epsilon", "delta", "answers_epsilon")


class RemoteState:
    """A gate as it was when it was last heard of: by an answer, or by ``refresh``.

    ``id`` is what the service calls it; ``name`` and ``description`` are what ``opened_by``, whose token opened it,
    said of it. ``threshold``, ``cutoff``, ``epsilon``, ``queries``, ``noise`` and ``closes`` are as it was opened. With
    95 % probability an answer is right that is ``margin`` or more from the threshold; with ``margin_all`` as many at
    once are as ``cutoff`` says, or ``queries`` where that was given. ``standard_error`` is that of the estimate of an
    ABOVE.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self.id: str = view["id"]
        self.threshold: int = view["threshold"]
        self.cutoff: int = view["cutoff"]
        self.epsilon = Fraction(view["epsilon"])
        self.queries: int | None = view["queries"]
        self.noise: str = view["noise"]
        self.closes: str = view["closes"]
        self.standard_error: float | None = view["standard_error"]
        self.name: str = view.get("name", "")
        self.description: str = view.get("description", "")
        self.opened_by: str | None = view.get("opened_by")
        self.margin: float | None = view.get("margin")
        self.margin_all: float | None = view.get("margin_all")

    @property
    def closed(self) -> bool:
        """Whether the gate has stopped answering."""
        return bool(self._view["closed"])

    @property
    def positives(self) -> int:
        """How many ABOVE were given, or lost; of a two-sided gate when it was last looked at, and answers since."""
        return int(self._view["positives"]) if self.closes == "rarer" else self.cutoff - self.remaining

    @property
    def remaining(self) -> int:
        """How many ABOVE are left, or of a two-sided gate how many of the rarer answer."""
        return int(self._view["remaining"])

    @property
    def spent(self) -> Fraction:
        """What its answers had cost when it was last heard of."""
        return Fraction(self._view["spent"])

    @property
    def given_back(self) -> Fraction:
        """What went back to the ledger when it closed."""
        return Fraction(self._view["given_back"])

    @property
    def reserved(self) -> Fraction:
        """The rest of its epsilon, which the ledger keeps for it."""
        return self.epsilon - self.spent - self.given_back

    def _asking(self, where: str) -> Call[Answer]:
        """A question."""
        return Call(
            method="POST",
            path=f"v1/gates/{self.id}/ask",
            body={"where": where},
            read=self._answered,
            refused=self._refused,
            delayed=True,
        )

    def _reading(self, after: int) -> Call[list[RemoteAnswer]]:
        """A page of its answers."""
        return list_answers(self.id, after)

    def _looking(self) -> Call[None]:
        """A look at the gate."""
        return Call(method="GET", path=f"v1/gates/{self.id}", read=self._seen)

    def _closing(self) -> Call[None]:
        """The end of the gate."""
        return Call(method="DELETE", path=f"v1/gates/{self.id}", read=self._seen)

    def _answered(self, body: View) -> Answer:
        above, positives = body["above"], self._view["positives"] + body["above"]
        told = {name: body[name] for name in ("remaining", "closed", "spent") if name in body}
        self._seen(told | {"positives": positives})
        return Answer(True, body["estimate"], body["standard_error"]) if above else BELOW

    def _seen(self, body: View) -> None:
        self._view = self._view | body

    def _refused(self, error: SparsegateError) -> None:
        if isinstance(error, GateClosed):
            self._seen({"closed": True})

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        return f"<{type(self).__name__} {self.id}: {self.positives} of {self.cutoff} positives, {state}>"


def open_gate(
    threshold: int, cutoff: int, epsilon: Number, queries: int | None, noise: str, closes: str, **label: str
) -> Call[View]:
    """A new gate."""
    body = {"threshold": threshold, "cutoff": cutoff, "epsilon": decimal(epsilon, "epsilon"), "queries": queries}
    # What nobody said is left out: so an older service understands it, too.
    body |= {"noise": noise, "closes": closes} | {name: text for name, text in label.items() if text}
    return Call(method="POST", path="v1/gates", body=body, read=dict)


def look_at(id: str) -> Call[View]:
    """A gate that is there."""
    if not re.fullmatch(r"[A-Za-z0-9-]{1,40}", id, re.ASCII):
        raise ParameterError("id", "must be the name of a gate", id, "list the gates to see their names")
    return Call(method="GET", path=f"v1/gates/{id}", read=dict)


def look_at_budget() -> Call[Statement]:
    """The ledger's statement."""
    return Call(method="GET", path="v1/budget", read=read_statement)


def ask_top(**question: Any) -> Call[TopAnswer]:
    """A private top-c."""
    body = {name: decimal(value, name) if name in _EXACT else value for name, value in question.items()}
    if not isinstance(body["domain"], int | str):
        body["domain"] = list(body["domain"])
    return Call(method="POST", path="v1/top", body=body, read=read_top, delayed=True)


def settings(url: str, token: str, timeout: float | None, insecure: bool) -> dict[str, Any]:
    """The settings of an HTTP client, or a refusal that does not show the token."""
    try:
        base = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        base = httpx.URL("")
    if base.scheme not in ("http", "https") or not base.host or base.userinfo or base.query or base.fragment:
        raise ParameterError(
            "url", "must be http(s)://host[:port][/path]", next_step="see what `sparsegate serve` says"
        )
    if base.scheme == "http" and not insecure and not is_loopback(base.host):
        raise ParameterError(
            "url",
            "must be https for another machine: the token would travel in the clear",
            str(base),
            "pass insecure=True only where the way there is safe",
        )
    if not isinstance(token, str) or not re.fullmatch(r"[!-~]+", token, re.ASCII):
        raise ParameterError("token", "must be the text that `sparsegate token add` printed")
    if timeout is not None and not timeout > 0:
        raise ParameterError("timeout", "must be a positive number of seconds", timeout)
    return {
        "base_url": base,
        "headers": {"Authorization": f"Bearer {token}", "Accept": "application/json, application/problem+json"},
        "timeout": time_limit(TIMEOUT if timeout is None else timeout),
        # A proxy of the environment would read what is sent in the clear.
        "trust_env": base.scheme == "https",
    }


def time_limit(seconds: float) -> httpx.Timeout:
    """For an answer; a connection is there sooner, or not at all."""
    return httpx.Timeout(seconds, connect=min(seconds, 10.0))


def checked_retries(retries: int) -> int:
    """How often a call is sent again at most."""
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise ParameterError("retries", "must be a whole number of at least 0", retries)
    return retries


def heard_in(response: httpx.Response) -> Heard:
    """A response without the request that it answers, which holds the token."""
    wait = response.headers.get("retry-after", "")
    return Heard(status=response.status_code, content=response.content, wait=float(wait) if wait.isdecimal() else None)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone: there a token may travel in the clear.

    >>> is_loopback("localhost"), is_loopback("127.3.2.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def placed(path: str, practice: bool) -> str:
    """The same address among the gates to practise on."""
    return path.replace("v1/", "v1/practice/", 1) if practice else path
