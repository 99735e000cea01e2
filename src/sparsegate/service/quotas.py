"""Quotas of a token: how many ABOVE it may be given, and how much epsilon it may charge, both in all and for ever.

``most_above`` counts as a gate's cutoff does: an ask that was intended counts as an ABOVE until it has left as a BELOW,
and one whose outcome is lost counts for ever. ``most_epsilon`` counts what the requests of the token charged, gates and
top-c alike, less what those gates gave back. Both are read in the transaction that would use them, under the one write
lock of the ledger, so that two requests at once cannot both have the last of a quota; and before data is touched.

**Theorem.** Whether a request is refused for its quota, and what ``Standing`` shows, tells nothing that is not paid
for. *Proof.* Let one token ask several gates at once. An ask that is under way was intended and has no outcome, or has
one that was written and has not left; it counts as one in both cases, and as its outcome only when everybody may see
that. So the first count is a function of the answers that have left, of which asks are lost, which is the same whatever
they would have been (``keeper``), and of when asks came. The second is a function of charges, which are public, and of
what went back, which is a function of the answers that have left (``gates``). A function of what was released costs
nothing more. []
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from sqlalchemy import bindparam, func, select

from sparsegate.errors import QuotaExceeded
from sparsegate.ledger.account import exact_text, exact_value
from sparsegate.ledger.database import DriverConnection, DriverStatement
from sparsegate.ledger.schema import ENTRIES, GATES, REFUNDS
from sparsegate.service.departures import Departures
from sparsegate.service.schema import ASKS, REQUESTS, TOKENS

_BACK: Final = ENTRIES.alias()

_OF: Final = select(func.count()).select_from(ASKS).where(ASKS.c.token == bindparam("whose"))
# One statement, which sees one moment: between two an outcome could be written, and be counted twice or not at all.
# The counts are ranges of the index ``asks_of_token``, and the newest ask of each gate is one row; neither grows with
# the BELOW that have left.
_GIVEN: Final = DriverStatement(
    select(
        GATES.c.entry,
        GATES.c.asked,
        select(ASKS.c.lasts)
        .where(
            ASKS.c.gate == GATES.c.entry,
            ASKS.c.number == GATES.c.asked,
            ASKS.c.token == bindparam("whose"),
            ASKS.c.above == 0,
        )
        .scalar_subquery()
        .label("lasts"),
        _OF.where(ASKS.c.above.is_(None)).scalar_subquery().label("unsettled"),
        _OF.where(ASKS.c.above == 1).scalar_subquery().label("above"),
    ).where(GATES.c.asked > 0)
)
_CHARGED: Final = DriverStatement(
    select(ENTRIES.c.epsilon, _BACK.c.epsilon.label("back"))
    .select_from(REQUESTS)
    .join(ENTRIES, ENTRIES.c.number == REQUESTS.c.entry)
    .outerjoin(REFUNDS, REFUNDS.c.of == REQUESTS.c.entry)
    .outerjoin(_BACK, _BACK.c.number == REFUNDS.c.entry)
    .where(REQUESTS.c.token == bindparam("whose"))
)
_QUOTA: Final = DriverStatement(
    select(TOKENS.c.most_above, TOKENS.c.most_epsilon).where(TOKENS.c.number == bindparam("whose"))
)

MOST_ABOVE: Final = (
    select(TOKENS.c.most_above).where(TOKENS.c.number == bindparam("whose")).scalar_subquery().label("most_above")
)
"""The quota of the token ``whose``, as a column of another query; None: it has none."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a token has used of its quotas; None: it has no such quota."""

    most_above: int | None
    above: int
    most_epsilon: Fraction | None
    epsilon: Fraction


def standing(connection: DriverConnection, token: int, departures: Departures) -> Standing:
    """What a token has used."""
    quota = connection.one(_QUOTA, whose=token)
    return Standing(
        most_above=quota.most_above,
        above=_given(connection, token, departures),
        most_epsilon=None if quota.most_epsilon is None else exact_value(quota.most_epsilon),
        epsilon=_charged(connection, token),
    )


def admit_ask(connection: DriverConnection, token: int, most: int, departures: Departures) -> None:
    """Refuse an ask that could be one ABOVE too many."""
    if _given(connection, token, departures) >= most:
        raise QuotaExceeded(
            f"this token may be given {most} ABOVE in all, and they are given, lost or on their way; nothing was "
            "spent; wait for answers that are on their way, or ask an owner for another token"
        )


def admit_charge(connection: DriverConnection, token: int, epsilon: Fraction) -> None:
    """Refuse a charge that would take a token beyond what it may charge in all."""
    quota = connection.one(_QUOTA, whose=token)
    if quota is None or quota.most_epsilon is None:
        return
    used = _charged(connection, token)
    if used + epsilon > exact_value(quota.most_epsilon):
        raise QuotaExceeded(
            f"epsilon {exact_text(epsilon)} is more than this token may still charge: of {quota.most_epsilon} in all, "
            f"{exact_text(used)} is used; nothing was spent; ask for less, or close a gate, which gives back what it "
            "did not use"
        )


def _given(connection: DriverConnection, token: int, departures: Departures) -> int:
    rows = connection.rows(_GIVEN, whose=token)
    pending = sum(departures.left(row.entry, row.asked, row.lasts) > 0 for row in rows)
    return pending + sum(int(row.unsettled + row.above) for row in rows[:1])


def _charged(connection: DriverConnection, token: int) -> Fraction:
    rows = connection.rows(_CHARGED, whose=token)
    return sum((exact_value(row.epsilon) - exact_value(row.back or "0") for row in rows), start=Fraction(0))
