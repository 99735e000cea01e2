"""Bearer tokens: who may ask, and who may open gates and see the budget.

A token is 256 random bits, so its SHA-256 digest gives nothing away and needs no salt. The ledger holds the digest
alone; the token itself is shown once, when it is made. It is found again by its digest, so a stopwatch on the lookup
can learn at most something about digests, and a digest opens nothing.

A name is used once: the record must say for ever whose questions those were. A token that was found is remembered for
a few seconds, so one that was just revoked may still work that long.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sqlalchemy import insert, select, update

from sparsegate.errors import ParameterError
from sparsegate.ledger.database_schema import TOKENS
from sparsegate.ledger.ledger import Ledger
from sparsegate.ledger.rows import now

LONGEST_NAME: Final = 100
REMEMBERED: Final = 2.0
"""For how many seconds a token that was found is not looked up again."""

_TOKEN: Final = re.compile(r"sg_[A-Za-z0-9_-]{43}", re.ASCII)
_MOST: Final = 1024


class Role(StrEnum):
    """What a token may do; an owner may do all that an analyst may."""

    OWNER = "owner"
    """Opens and closes gates, sees the budget, asks for a top-c."""

    ANALYST = "analyst"
    """Asks the gates that are open, and sees their answers."""


@dataclass(frozen=True, kw_only=True)
class Token:
    """Who sent a request; the secret itself is not in it."""

    number: int
    name: str
    role: Role


@dataclass(frozen=True, kw_only=True)
class TokenRecord:
    """A token as the ledger has it; ``revoked_at`` is None where it is still good."""

    number: int
    name: str
    role: Role
    added_at: str
    revoked_at: str | None


class Tokens:
    """The tokens of one ledger. Thread-safe."""

    def __init__(
        self, ledger: Ledger, *, remembered: float = REMEMBERED, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._database = ledger.database
        self._remembered, self._clock = remembered, clock
        self._found: dict[str, tuple[float, Token]] = {}
        self._guard = threading.Lock()

    def add(self, name: str, role: Role | str) -> str:
        """Make a token and return its text, which is not stored and cannot be shown again."""
        wanted = _role(role)
        if not (0 < len(name) <= LONGEST_NAME and name.isprintable() and name == name.strip()):
            raise ParameterError("name", f"must be 1 to {LONGEST_NAME} printable characters", name, "say who it is for")
        text = f"sg_{secrets.token_urlsafe(32)}"
        with self._database.writing() as connection:
            if connection.execute(select(TOKENS.c.number).where(TOKENS.c.name == name)).first() is not None:
                raise ParameterError(
                    "name", "must be a new one: a name stands for one token for ever", name, "choose another"
                )
            connection.execute(
                insert(TOKENS).values(name=name, role=wanted.value, hash=_digest(text), added_at=now().isoformat())
            )
        return text

    def list(self) -> list[TokenRecord]:
        """All tokens that were ever made, oldest first."""
        columns = (TOKENS.c.number, TOKENS.c.name, TOKENS.c.role, TOKENS.c.added_at, TOKENS.c.revoked_at)
        with self._database.reading() as connection:
            rows = connection.execute(select(*columns).order_by(TOKENS.c.number)).all()
        return [
            TokenRecord(number=row[0], name=row[1], role=_role(row[2]), added_at=row[3], revoked_at=row[4])
            for row in rows
        ]

    def revoke(self, name: str) -> None:
        """Stop a token, in every process within ``remembered`` seconds; revoking it twice changes nothing."""
        with self._database.writing() as connection:
            if connection.execute(select(TOKENS.c.number).where(TOKENS.c.name == name)).first() is None:
                raise ParameterError("name", "must be that of a token", name, "see `sparsegate token list`")
            connection.execute(
                update(TOKENS)
                .where(TOKENS.c.name == name, TOKENS.c.revoked_at.is_(None))
                .values(revoked_at=now().isoformat())
            )
        with self._guard:
            self._found.clear()

    def authenticate(self, text: str) -> Token | None:
        """Whose token this is; None: nobody's, or it was revoked."""
        if not _TOKEN.fullmatch(text):
            return None
        if (known := self.remembered(text)) is not None:
            return known
        digest, until = _digest(text), self._clock() + self._remembered
        with self._database.reading() as connection:
            row = connection.execute(
                select(TOKENS.c.number, TOKENS.c.name, TOKENS.c.role).where(
                    TOKENS.c.hash == digest, TOKENS.c.revoked_at.is_(None)
                )
            ).one_or_none()
        if row is None:
            return None
        token = Token(number=row[0], name=row[1], role=_role(row[2]))
        with self._guard:
            if len(self._found) >= _MOST:
                self._found.clear()
            self._found[digest] = (until, token)
        return token

    def remembered(self, text: str) -> Token | None:
        """Whose token this is, where it was found a moment ago; never touches the ledger."""
        with self._guard:
            until, token = self._found.get(_digest(text), (0.0, None))
            return token if token is not None and self._clock() < until else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _role(text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        pass
    raise ParameterError("role", f"must be {' or '.join(Role)}", text)
