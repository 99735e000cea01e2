"""What a client is told about gates, answers, tokens and who asked: records, and the calls that bring them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from fractions import Fraction
from typing import Any, Final
from urllib.parse import quote

from sparsegate.budget import Number
from sparsegate.display.plain import exact_text
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Printed
from sparsegate.service.client.calls import Call, decimal

PAGE: Final = 1000
"""The most on one page."""


@dataclass(frozen=True, kw_only=True)
class RemoteAnswer(Printed):
    """A question that was asked before: its ``number`` at its gate, when (``at``) and ``where`` what holds.

    ``above`` is None where the answer was lost, ``estimate`` where there is none, ``by`` where it is not told.
    """

    number: int
    at: datetime
    where: str
    above: bool | None
    estimate: int | None
    by: str | None


@dataclass(frozen=True, kw_only=True)
class RemoteAsk(RemoteAnswer):
    """A question at any ``gate``, called ``gate_name``, as an owner sees it; older ones come after its ``cursor``."""

    gate: str
    gate_name: str
    cursor: str


@dataclass(frozen=True, kw_only=True, repr=False)
class RemotePreview(Printed):
    """What a gate would be good for; ``curve`` has (epsilon, margin), ``by_cutoff`` (cutoff, margin).

    With this ``confidence`` an answer is right that is ``margin`` or more from the threshold; with ``margin_all`` as
    many at once are as the cutoff says, or the number of questions where that was given.  ``standard_error`` is that of
    the estimate of an ABOVE, ``noise`` the law that would be used, ``cost`` what the gate would be charged, and
    ``warning`` what speaks against it. ``remaining`` is told to owners. A service of an older version gives no
    ``by_cutoff``.
    """

    confidence: float
    margin: float
    margin_all: float
    standard_error: float | None
    noise: str
    cost: Fraction
    remaining: Fraction | None
    warning: str | None
    curve: tuple[tuple[float, float], ...]
    by_cutoff: tuple[tuple[int, float], ...] = ()

    def sheet(self) -> Sheet:
        """One row, and what speaks against the gate."""
        found = super().sheet()
        columns = {name: cells for name, cells in found.columns.items() if name != "warning"}
        return replace(found, title=f"a gate at ε = {exact_text(self.cost)}", brief=self.warning or "", columns=columns)


@dataclass(frozen=True, kw_only=True)
class RemoteQuota(Printed):
    """What a token may have, and had; None: no limit."""

    most_above: int | None
    above: int
    most_epsilon: Fraction | None
    epsilon: Fraction


@dataclass(frozen=True, kw_only=True)
class RemoteToken(Printed):
    """A token without its text: the ``name`` and the ``role`` of whoever has it; ``quota`` is None where it has none.

    It was made at ``added_at``, lets nobody in from ``expires_at`` on, was used at ``last_used_at`` and stopped at
    ``revoked_at``; each is None where that is not so.
    """

    name: str
    role: str
    expires_at: datetime | None = None
    added_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None
    quota: RemoteQuota | None = None


def _named(record: Any, body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record, moments and exact numbers as such; what a newer service adds is left out."""
    known = {name: body[name] for name in (field.name for field in fields(record)) if name in body}
    for name, value in known.items():
        if name == "at" or name.endswith("_at"):
            known[name] = None if value is None else datetime.fromisoformat(value)
        elif name in ("cost", "remaining", "epsilon", "most_epsilon"):
            known[name] = None if value is None else Fraction(value)
    return known


def _token(body: Mapping[str, Any]) -> RemoteToken:
    quota = body["quota"]
    return RemoteToken(
        **_named(RemoteToken, body) | {"quota": None if quota is None else RemoteQuota(**_named(RemoteQuota, quota))}
    )


def _preview(body: Mapping[str, Any]) -> RemotePreview:
    curve = tuple((point["epsilon"], point["margin"]) for point in body["curve"])
    by_cutoff = tuple((point["cutoff"], point["margin"]) for point in body.get("by_cutoff", ()))
    return RemotePreview(**_named(RemotePreview, body) | {"curve": curve, "by_cutoff": by_cutoff})


def list_gates(closed: bool | None, after: str | None) -> Call[list[dict[str, Any]]]:
    """A page of gates, newest first."""
    wanted = [f"limit={PAGE}"]
    wanted += [] if closed is None else [f"closed={str(closed).lower()}"]
    wanted += [] if after is None else [f"after={after}"]
    return Call(method="GET", path=f"v1/gates?{'&'.join(wanted)}", read=list)


def list_answers(gate: str, after: int) -> Call[list[RemoteAnswer]]:
    """A page of answers, oldest first."""
    path = f"v1/gates/{gate}/answers?after={after}&limit={PAGE}"
    return Call(
        method="GET", path=path, read=lambda body: [RemoteAnswer(**_named(RemoteAnswer, each)) for each in body]
    )


def list_activity(after: str | None) -> Call[list[RemoteAsk]]:
    """A page of who asked what, newest first."""
    path = f"v1/activity?limit={PAGE}" + ("" if after is None else f"&after={quote(after, safe='')}")
    return Call(method="GET", path=path, read=lambda body: [RemoteAsk(**_named(RemoteAsk, each)) for each in body])


def preview_gate(
    threshold: int, cutoff: int, epsilon: Number, queries: int | None, noise: str, closes: str
) -> Call[RemotePreview]:
    """What a gate would be good for."""
    body = {"threshold": threshold, "cutoff": cutoff, "epsilon": decimal(epsilon, "epsilon"), "queries": queries}
    return Call(method="POST", path="v1/preview", body=body | {"noise": noise, "closes": closes}, read=_preview)


def who_am_i() -> Call[RemoteToken]:
    """Whose token this is."""
    return Call(method="GET", path="v1/whoami", read=_token)


def list_tokens() -> Call[list[RemoteToken]]:
    """All tokens."""
    return Call(method="GET", path="v1/tokens", read=lambda body: [_token(each) for each in body])


def add_token(name: str, role: str, **limits: Any) -> Call[str]:
    """A new token; its text."""
    given = {limit: value for limit, value in limits.items() if value is not None}
    if "most_epsilon" in given:
        given["most_epsilon"] = decimal(given["most_epsilon"], "most_epsilon")
    # Not sent again: its name is taken then, and the text of the first one is lost.
    body = {"name": name, "role": role, **given}
    return Call(method="POST", path="v1/tokens", body=body, read=lambda told: str(told["token"]), again=False)


def revoke_token(name: str) -> Call[RemoteToken]:
    """The end of a token."""
    return Call(method="DELETE", path=f"v1/tokens/{quote(name, safe='')}", read=_token)
