"""Bearer tokens: who may ask, and who may open gates and see the budget.

A token is 256 random bits, so its SHA-256 digest needs no salt, and the ledger holds that alone. A name is used once.
A token that was found is remembered for a few seconds, so one that was just revoked may still work that long. When each
was last used is written once a minute by a thread of its own: no request waits for it.

**Quotas** are how many ABOVE a token may be given, where an ask counts as one until it has left as a BELOW, and how
much epsilon it may charge, less what its gates gave back. Both are read in the transaction that would use them, before
data is touched. **Theorem.** Whether a request is refused for its quota, and what ``Standing`` shows, tells nothing
that is not paid for. Proof: docs/explanation/proofs_in_words/ledger.md
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

from sparsegate.budget import Number, check_choice, exact_count
from sparsegate.errors import LedgerError, ParameterError, QuotaExceeded
from sparsegate.ledger.account import exact_amount, exact_text, exact_value
from sparsegate.ledger.database import Connection, now
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.departures import Departures
from sparsegate.service.schema import make_tables

LONGEST_NAME: Final = 100
REMEMBERED: Final = 2.0  # for how many seconds a token that was found is not looked up again

NOTED: Final = 60.0  # every how many seconds it is written which tokens were used

_MOST_WHOLE: Final = 2**31 - 1
_SPAN: Final = re.compile(r"([1-9]\d{0,4})([dh])", re.ASCII)
_TOKEN: Final = re.compile(r"sg_[A-Za-z0-9_-]{43}", re.ASCII)
_MOST: Final = 1024


class Role(StrEnum):
    """What a token may do; an owner may do all that an analyst may."""

    OWNER = "owner"  # opens and closes gates, sees the budget, asks for a top-c

    ANALYST = "analyst"  # asks the gates that are open, and sees their answers


@dataclass(frozen=True, kw_only=True)
class Token:
    """Who sent a request; the secret itself is not in it."""

    number: int
    name: str
    role: Role
    expires_at: str | None = None


@dataclass(frozen=True, kw_only=True)
class TokenRecord:
    """A token as the ledger has it; ``revoked_at`` is None where it was not revoked, a quota where it has none."""

    number: int
    name: str
    role: Role
    added_at: str
    revoked_at: str | None = None
    expires_at: str | None = None
    last_used_at: str | None = None
    most_above: int | None = None
    most_epsilon: Fraction | None = None


class Tokens:
    """The tokens of one ledger. Thread-safe; ``close`` writes what was used last."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        remembered: float = REMEMBERED,
        noted: float = NOTED,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        make_tables(ledger.database)
        self._database = ledger.database
        self._remembered, self._noted, self._clock = remembered, noted, clock
        self._known: dict[str, tuple[float, Token]] = {}
        self._used: dict[int, float] = {}
        self._writing: threading.Timer | None = None
        self._guard = threading.Lock()

    def add(
        self,
        name: str,
        role: Role | str,
        *,
        expires: str | datetime | None = None,
        most_above: int | None = None,
        most_epsilon: Number | None = None,
        maker: int | None = None,
    ) -> str:
        """Make a token and return its text, which is not stored and cannot be shown again.

        It lets nobody in from ``expires`` on: a moment, a date (at 0:00 UTC), or a time from now such as 30d or 12h.
        ``maker`` is the number of the token that asks for it, whose own bounds must not be passed so.
        """
        wanted = _role(role)
        limits = {
            "expires_at": None if expires is None else _moment(expires).isoformat(),
            "most_above": None if most_above is None else exact_count(most_above, "most_above", most=_MOST_WHOLE),
            "most_epsilon": None if most_epsilon is None else _charge(most_epsilon, wanted),
        }
        if not (0 < len(name) <= LONGEST_NAME and name.isprintable() and name == name.strip()):
            raise ParameterError("name", f"must be 1 to {LONGEST_NAME} printable characters", name, "say who it is for")
        text = f"sg_{secrets.token_urlsafe(32)}"
        with self._database.writing() as connection:
            if connection.one(_NAMED, name=name) is not None:
                rule = "must be a new one: a name stands for one token for ever"
                raise ParameterError("name", rule, name, "choose another")
            if maker is not None:
                _bounded(connection.one("SELECT * FROM tokens WHERE number = :maker", maker=maker), wanted, limits)
            row = {"name": name, "role": wanted.value, "hash": _digest(text), "added_at": now().isoformat()}
            connection.add("tokens", **row, **limits)
        return text

    def list(self) -> list[TokenRecord]:
        """All tokens that were ever made, oldest first; with uses here that are not written yet."""
        with self._guard:
            used = {number: {"last_used_at": _second(at)} for number, at in self._used.items()}
        with self._database.reading() as connection:
            rows = connection.rows(f"SELECT {_SHOWN} FROM tokens ORDER BY number")
        read = [(row._asdict(), {"role": _role(row.role), "most_epsilon": _quota(row.most_epsilon)}) for row in rows]
        return [TokenRecord(**row | exact | used.get(row["number"], {})) for row, exact in read]

    def revoke(self, name: str) -> None:
        """Stop a token, in every process within ``remembered`` seconds; revoking it twice changes nothing."""
        with self._database.writing() as connection:
            if connection.one(_NAMED, name=name) is None:
                raise ParameterError("name", "must be that of a token", name, "see `sparsegate token list`")
            revoke = "UPDATE tokens SET revoked_at = :at WHERE name = :name AND revoked_at IS NULL"
            connection.run(revoke, at=now().isoformat(), name=name)
        with self._guard:
            self._known.clear()

    def authenticate(self, text: str) -> Token | None:
        """Whose token this is; None: nobody's, or it was revoked or has expired."""
        if not _TOKEN.fullmatch(text):
            return None
        if (known := self.remembered(text)) is not None:
            return known
        digest, at = _digest(text), self._clock()
        with self._database.reading() as connection:
            row = connection.one("SELECT * FROM tokens WHERE hash = :digest AND revoked_at IS NULL", digest=digest)
        if row is None:
            return None
        expires = datetime.max.replace(tzinfo=UTC) if row.expires_at is None else datetime.fromisoformat(row.expires_at)
        if (left := (expires - datetime.now(UTC)).total_seconds()) <= 0:
            return None
        token = Token(number=row.number, name=row.name, role=_role(row.role), expires_at=row.expires_at)
        until = at + min(left, self._remembered)
        with self._guard:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[digest] = (until, token)
            self._note(token)
        return token

    def remembered(self, text: str) -> Token | None:
        """Whose token this is, where it was found a moment ago; never touches the ledger."""
        with self._guard:
            until, token = self._known.get(_digest(text), (0.0, None))
            if token is None or self._clock() >= until:
                return None
            self._note(token)
            return token

    def _note(self, token: Token) -> None:
        """Under the guard, and without a look at the ledger."""
        self._used[token.number] = time.time()
        if self._writing is None:
            self._writing = threading.Timer(self._noted, _if_alive, [weakref.WeakMethod(self.write_uses)])
            self._writing.daemon = True
            self._writing.start()

    def write_uses(self) -> None:
        """Write which tokens were used since it was last written; if that cannot be, it is forgotten."""
        with self._guard:
            used, self._used, self._writing = self._used, {}, None
        if not used:
            return
        with suppress(LedgerError), self._database.writing() as connection:
            for token, at in used.items():
                connection.run(
                    "UPDATE tokens SET last_used_at = :at WHERE number = :token", token=token, at=_second(at)
                )

    def close(self) -> None:
        """Write the last uses. The ledger stays open: it is the caller's."""
        if self._writing is not None:
            self._writing.cancel()
        self.write_uses()


_SHOWN: Final = "number, name, role, added_at, revoked_at, expires_at, last_used_at, most_above, most_epsilon"
_NAMED: Final = "SELECT number FROM tokens WHERE name = :name"


def _if_alive(method: weakref.WeakMethod[Callable[[], None]]) -> None:
    """Whoever forgets its tokens without closing them also forgets which were used."""
    if (write := method()) is not None:
        write()


def _second(at: float) -> str:
    return datetime.fromtimestamp(int(at), UTC).isoformat()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _bounded(maker: Any, role: Role, limits: Mapping[str, Any]) -> None:
    """Whoever has a bound makes nobody without it."""
    until, expiry = maker.expires_at, limits["expires_at"]
    passed = {
        "most_above": maker.most_above is not None,
        "most_epsilon": maker.most_epsilon is not None and role is Role.OWNER,
        "expires": until is not None and (expiry is None or expiry > until),
    }
    for parameter in (name for name, beyond in passed.items() if beyond):
        rule = f"is bounded for the token {maker.name!r}, and what it makes must not pass that"
        raise ParameterError(parameter, rule, next_step="ask an owner without that bound, or `sparsegate token add`")


def _role(text: str) -> Role:
    check_choice(text, "role", Role)
    return Role(text)


def _quota(most_epsilon: str | None) -> Fraction | None:
    return None if most_epsilon is None else exact_value(most_epsilon)


def _moment(expires: str | datetime) -> datetime:
    """When a token expires: to the second, in UTC, and not in the past."""
    try:
        if isinstance(expires, str) and (span := _SPAN.fullmatch(expires)):
            moment = now() + timedelta(hours=int(span[1]) * (24 if span[2] == "d" else 1))
        else:
            moment = expires if isinstance(expires, datetime) else datetime.fromisoformat(expires)
            moment = moment.replace(tzinfo=moment.tzinfo or UTC, microsecond=0).astimezone(UTC)
    except (ValueError, OverflowError):
        moment = None
    if moment is None or moment <= now():
        rule = "must be a moment to come: a time from now such as 30d or 12h, or a date such as 2031-01-31"
        raise ParameterError("expires", rule, str(expires))
    return moment


def _charge(most_epsilon: Number, role: Role) -> str:
    if role is not Role.OWNER:
        rule = "is for an owner: an analyst charges nothing"
        raise ParameterError("most_epsilon", rule, next_step="bound an analyst by most_above")
    return exact_text(exact_amount(most_epsilon, 0, epsilon_name="most_epsilon").epsilon)


# One statement, which sees one moment: between two an outcome could be written, and be counted twice or not at all.
# The counts are ranges of the index ``asks_of_token``, and the newest ask of each gate is one row; neither grows with
# the BELOW that have left.
_GIVEN: Final = """SELECT entry, asked,
        (SELECT lasts FROM asks WHERE gate = entry AND number = asked AND token = :token AND above = 0) AS lasts,
        (SELECT count(*) FROM asks WHERE token = :token AND above IS NULL) AS unsettled,
        (SELECT count(*) FROM asks WHERE token = :token AND above = 1) AS above
    FROM gates WHERE asked > 0"""
_CHARGED: Final = """SELECT entries.epsilon, back.epsilon AS back
    FROM requests JOIN entries ON entries.number = requests.entry
    LEFT JOIN refunds ON of = requests.entry LEFT JOIN entries AS back ON back.number = refunds.entry
    WHERE token = :token"""
_QUOTA: Final = "SELECT most_above, most_epsilon FROM tokens WHERE number = :token"

MOST_ABOVE: Final = "(SELECT most_above FROM tokens WHERE number = :token)"
"""The quota of a token, as a column of another query; None: it has none."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a token has used of its quotas; None: it has no such quota."""

    most_above: int | None
    above: int
    most_epsilon: Fraction | None
    epsilon: Fraction


def standing(connection: Connection, token: int, departures: Departures) -> Standing:
    """What a token has used."""
    quota = connection.one(_QUOTA, token=token)
    return Standing(
        most_above=quota.most_above,
        above=_charged_above(connection, token, departures),
        most_epsilon=_quota(quota.most_epsilon),
        epsilon=_charged(connection, token),
    )


def admit_ask(connection: Connection, token: int, most: int, departures: Departures) -> None:
    """Refuse an ask that could be one ABOVE too many."""
    if _charged_above(connection, token, departures) >= most:
        raise QuotaExceeded(
            f"this token may be given {most} ABOVE in all, and they are given, lost or on their way; nothing was "
            "spent; wait for answers that are on their way, or ask an owner for another token"
        )


def admit_charge(connection: Connection, token: int, epsilon: Fraction, *, metered: bool = False) -> None:
    """Refuse a charge that would take a token beyond what it may charge in all; ``metered``: more will follow it."""
    quota = connection.one(_QUOTA, token=token)
    if quota is None or quota.most_epsilon is None:
        return
    if metered:
        raise QuotaExceeded(
            f"this token may charge {quota.most_epsilon} in all, and a gate without a cutoff charges whatever its "
            "answers come to; nothing was spent; pass a cutoff and an epsilon"
        )
    used = _charged(connection, token)
    if used + epsilon > exact_value(quota.most_epsilon):
        raise QuotaExceeded(
            f"epsilon {exact_text(epsilon)} is more than this token may still charge: of {quota.most_epsilon} in all, "
            f"{exact_text(used)} is used; nothing was spent; ask for less, or close a gate, which gives back what it "
            "did not use"
        )


def _charged_above(connection: Connection, token: int, departures: Departures) -> int:
    rows = connection.rows(_GIVEN, token=token)
    pending = sum(departures.left(row.entry, row.asked, row.lasts) > 0 for row in rows)
    return pending + sum(int(row.unsettled + row.above) for row in rows[:1])


def _charged(connection: Connection, token: int) -> Fraction:
    rows = connection.rows(_CHARGED, token=token)
    return sum((exact_value(row.epsilon) - exact_value(row.back or "0") for row in rows), start=Fraction(0))
