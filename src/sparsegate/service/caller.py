"""Who asks a keeper, and what everybody may see of a gate."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from sparsegate.ledger.account import exact_text
from sparsegate.mechanisms.sparse_vector import SparseVector
from sparsegate.service.gates import GateSpec, Request, Tally

CONFIDENCE: Final = 0.95


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who asks (the number of a token), and the idempotency key of the request."""

    token: int
    key: str

    def request(self, body: Mapping[str, Any]) -> Request:
        """Bound to what is asked, by a digest: the same key with another body is another request."""
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), default=str)  # a Decimal as its digits
        return Request(token=self.token, key=self.key, body=hashlib.sha256(text.encode()).hexdigest())


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The answer to one ask: public, and stored before it is given."""

    gate: str
    number: int
    above: bool
    remaining: int
    closed: bool


def gate_view(id: str, tally: Tally, margin: float, opened_at: str) -> dict[str, Any]:
    """A gate as everybody may see it."""
    spec = tally.spec
    return {
        "id": id,
        "threshold": spec.threshold,
        "cutoff": spec.cutoff,
        "epsilon": exact_text(spec.epsilon),
        "queries": spec.queries,
        "margin": margin,
        "confidence": CONFIDENCE,
        "asked": tally.asked,
        "positives": tally.positives,
        "lost": tally.unsettled,
        "remaining": max(tally.remaining, 0),
        "closed": bool(tally.closed),
        "because": tally.closed or None,
        "opened_at": opened_at,
    }


@lru_cache(maxsize=1024)
def margin(spec: GateSpec) -> float:
    """From the law of the noise, not from any gate's noise."""
    return SparseVector(**parameters(spec)).margin(CONFIDENCE)


def parameters(spec: GateSpec) -> dict[str, Any]:
    """A count of people: one person moves it by at most one, and all such counts in one direction."""
    return {
        "threshold": spec.threshold,
        "cutoff": spec.cutoff,
        "epsilon": spec.epsilon,
        "queries": spec.queries,
        "sensitivity": 1,
        "monotonic": True,
    }


def moment() -> str:
    """The time for the record, to the second: more would tell how long things took."""
    return datetime.now(UTC).replace(microsecond=0).isoformat()
